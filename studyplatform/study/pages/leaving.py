"""Stopping: for today, or for good."""

from zoneinfo import ZoneInfo

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from studyplatform.study import erasing, scheduling, sessions, wording
from studyplatform.study.models import Participant, Session
from studyplatform.study.pages.frame import earned, show
from studyplatform.study.seats import SeatedRequest, seated, seated_after_leaving


@require_http_methods(["GET", "POST"])
@seated
def stop(request: SeatedRequest) -> HttpResponse:
    """Stop for today, leave for good, or get help: on the way out of every page."""
    participant = request.participant
    session = scheduling.next_of(participant)
    if request.method == "GET":
        return show(request, "stop.html", participant.study, today=_today(session))
    if session is not None:
        sessions.pause(session.pk, "idle")
        session.refresh_from_db()
    return show(request, "stopped_today.html", participant.study, when=_come_back(session, participant))


@require_http_methods(["GET", "POST"])
@seated
def leave(request: SeatedRequest) -> HttpResponse:
    """Two steps: what should happen to what was said, then whether they are sure."""
    participant = request.participant
    choice = request.POST.get("choice", "")
    if request.method == "GET":
        return show(request, "leave.html", participant.study)
    if choice not in ("keep", "erase"):
        return show(request, "leave.html", participant.study, error=_("Choose one of the two."))
    if request.POST.get("sure") != "yes":
        return show(request, "leave.html", participant.study, choice=choice)
    erasing.withdraw(participant, keep_until_now=choice == "keep")
    return redirect("left", participant.code)


@require_http_methods(["GET", "POST"])
@seated_after_leaving
def left(request: SeatedRequest) -> HttpResponse:
    """The receipt; and, for who left something behind, the way to have it erased after all."""
    participant = request.participant
    asked = request.method == "POST" and participant.state == Participant.State.STOPPED
    if asked and request.POST.get("sure") == "yes":
        erasing.withdraw(participant, keep_until_now=False)
        return redirect("left", participant.code)
    place = wording.place(participant.time_zone)
    return show(request, "left.html", participant.study, sure=asked, earned=earned(participant), place=place)


def _today(session: Session | None) -> str:
    if session is not None and session.state == Session.State.CHATTING:
        return _("The conversation waits for you where you left it, and its time stands still.")
    return _("Nothing is lost. You can come back whenever you like.")


def _come_back(session: Session | None, participant: Participant) -> str:
    if session is None:
        return _("There is nothing more to do.")
    now, zone = timezone.now(), ZoneInfo(participant.time_zone)
    if session.closes_at is not None and session.state in (Session.State.OPEN, Session.State.CHATTING):
        return _("Your place is kept until %(when)s.") % {"when": wording.moment(session.closes_at, now, zone)}
    if session.opens_at is not None and session.state == Session.State.LOCKED:
        return _("The next conversation opens at %(when)s.") % {"when": wording.moment(session.opens_at, now, zone)}
    return _("Your place is kept. Come back whenever you like.")
