"""The person's own page: what is done, what is next and when it opens; and the end."""

import hashlib
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from studyplatform.study import consenting, devices, joining, planning, scheduling, sessions, steps, wording, zones
from studyplatform.study.models import Participant, Session
from studyplatform.study.pages.frame import earned, show
from studyplatform.study.seats import SeatedRequest, seated
from studyplatform.study.studies import config_of


@require_GET
@seated
def home(request: SeatedRequest) -> HttpResponse:
    """Leads through consent and instructions first, and to the end when all is over."""
    participant = request.participant
    step = steps.before(participant)
    if step:
        return redirect(step, participant.code)
    if participant.state == Participant.State.FINISHED:
        return redirect("end", participant.code)
    context = _plan(request) | {"earned": earned(participant), "zones": zones.NAMES, "languages": settings.LANGUAGES}
    return show(request, "home.html", participant.study, statement=consenting.statement(config_of(participant.study)), **context)


@require_GET
@seated
def plan(request: SeatedRequest) -> HttpResponse:
    """The part of the home page that changes by itself; 204 where what the page has (`?have=`) still holds."""
    participant = request.participant
    if steps.before(participant) or participant.state == Participant.State.FINISHED:
        return HttpResponse(headers={"HX-Redirect": reverse("home", args=[participant.code])})
    found = _plan(request)
    if found["version"] == request.GET.get("have"):
        return HttpResponse(status=204)
    return show(request, "_plan.html", participant.study, changed=True, **found)


@require_POST
@seated
def begin(request: SeatedRequest, session_code: str) -> HttpResponse:
    """Begin the next conversation. A device that the study does not allow is told so before the visit counts."""
    participant = request.participant
    session = get_object_or_404(Session.objects.select_related("participant__study"), participant=participant, code=session_code)
    if steps.before(participant):
        return redirect("home", participant.code)
    words = devices.refusal(request, config_of(participant.study))
    if words:
        return show(request, "device.html", participant.study, words=words)
    scheduling.refresh(participant.pk)
    session.refresh_from_db()
    sessions.begin(session)
    if session.state == Session.State.CHATTING:
        return redirect("chat", participant.code, session.code)
    return redirect("home", participant.code)


@require_POST
@seated
def preferences(request: SeatedRequest) -> HttpResponse:
    participant = request.participant
    participant.time_zone = joining.zone_or_utc(request.POST.get("time_zone", ""))
    if request.POST.get("language") in dict(settings.LANGUAGES):
        participant.language = request.POST["language"]
    participant.save(update_fields=["time_zone", "language"])
    return redirect("home", participant.code)


@require_GET
@seated
def end(request: SeatedRequest) -> HttpResponse:
    """The last page. The completion code is shown only when everything is over and stored."""
    participant = request.participant
    if participant.state != Participant.State.FINISHED:
        return redirect("home", participant.code)
    done = Session.objects.filter(participant=participant, state=Session.State.CLOSED).count()
    statement = consenting.statement(config_of(participant.study))
    return show(request, "end.html", participant.study, done=done, earned=earned(participant), statement=statement)


def _plan(request: SeatedRequest) -> dict[str, Any]:
    participant = request.participant
    config = config_of(participant.study)
    scheduling.refresh(participant.pk)
    mine = list(Session.objects.filter(participant=participant).select_related("arm"))
    found = planning.plan(mine, config, timezone.now(), ZoneInfo(participant.time_zone))
    shown = {
        "lede": found.lede,
        "news": found.news,
        "days": found.days,
        "next": _link(found.next, request) if found.next else None,
        "place": wording.place(participant.time_zone),
    }
    return shown | {"version": hashlib.sha256(repr(shown).encode()).hexdigest()[:16]}


def _link(found: planning.Next, request: SeatedRequest) -> dict[str, str]:
    """The next thing with its button, or with what stands in its way."""
    shown = {"title": found.title, "about": found.about, "button": found.button, "colour": found.colour, "shape": found.shape}
    hindrance = steps.hindrance(request, request.participant) if found.action == "begin" else ""
    if hindrance:
        return shown | {"hindrance": hindrance}
    if not found.action:
        return shown
    way = "begin" if found.action == "begin" else "href"
    return shown | {way: reverse(found.action, args=[request.participant.code, found.session.code])}
