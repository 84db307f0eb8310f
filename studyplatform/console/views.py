"""The study's live page, its people, and the acts on them. Rules are in `acts`, numbers in `monitoring`."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from studyplatform.console import acts, monitoring, rows
from studyplatform.console.forms import Reason
from studyplatform.study import links
from studyplatform.study.access import researching, staff
from studyplatform.study.models import Participant, Session, StageRun, Study
from studyplatform.study.moving import move
from studyplatform.study.studies import Refused


@require_GET
@researching
def monitor(request: HttpRequest, study: Study) -> HttpResponse:
    """The live page of one study."""
    everyone = "all" in request.GET
    board = monitoring.board(study, now=timezone.now(), everyone=everyone)
    return render(request, "console/monitor.html", _board_context(study, board, everyone))


@require_GET
@researching
def live(request: HttpRequest, study: Study) -> HttpResponse:
    """The part of the page that changes; 204 (nothing is swapped) while the browser has the same version."""
    everyone = "all" in request.GET
    board = monitoring.board(study, now=timezone.now(), everyone=everyone)
    if request.GET.get("have") == board.version:
        return HttpResponse(status=204)
    return render(request, "console/_live.html", _board_context(study, board, everyone))


def _board_context(study: Study, board: monitoring.Board, everyone: bool) -> dict[str, object]:
    return {"study": study, "board": board, "everyone": everyone, "stages": rows.STAGES, "page": "monitor", "changed": timezone.now()}


@require_POST
@researching
def state(request: HttpRequest, study: Study) -> HttpResponse:
    """Pilot, start, pause, resume. Closing has a page of its own."""
    to = request.POST.get("to", "")
    if to == Study.State.CLOSED:
        return redirect("console:close", study.slug)
    try:
        move(study, to, by=staff(request))
    except Refused as refusal:
        messages.error(request, f"{refusal} Nothing was changed.")
    return redirect("console:monitor", study.slug)


@require_http_methods(["GET", "POST"])
@researching
def close(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask once before the study is closed."""
    form = Reason(request.POST or None)
    if form.is_valid():
        try:
            move(study, Study.State.CLOSED, by=staff(request))
            acts.record(study, staff(request), "reason for closing", form.cleaned_data["reason"])
        except Refused as refusal:
            messages.error(request, f"{refusal} Nothing was changed.")
        return redirect("console:monitor", study.slug)
    return render(request, "console/close.html", {"study": study, "form": form, "page": "monitor"})


@require_GET
@researching
def people(request: HttpRequest, study: Study) -> HttpResponse:
    """The general link, and everybody's personal one."""
    everyone = study.participants.order_by("-created_at", "code")
    invited = [(p, links.personal_url(p)) for p in everyone if p.state != Participant.State.WITHDRAWN]
    context = {"study": study, "invited": invited, "general": links.general_url(study), "page": "people"}
    return render(request, "console/people.html", context)


@require_POST
@researching
def invite(request: HttpRequest, study: Study) -> HttpResponse:
    """One more place."""
    if study.state == Study.State.CLOSED:
        messages.error(request, "The study is closed: nobody can be invited any more.")
    else:
        new = acts.invite(study, by=staff(request))
        messages.success(request, f"Invited {new.code}. The link is the first in the list.")
    return redirect("console:people", study.slug)


@require_GET
@researching
def person(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """One participant: link, sessions, the work after them."""
    who = get_object_or_404(study.participants, code=code)
    sessions = list(who.sessions.select_related("arm__condition").order_by("position"))
    runs = list(monitoring.runs_of(study).filter(session__participant=who))
    lines = [(s, rows.session_mark(s, [r for r in runs if r.session_id == s.pk]), rows.arm_code(s)) for s in sessions]
    context = {
        "study": study, "who": who, "lines": lines, "runs": [monitoring.run_line(run) for run in runs], "link": links.personal_url(who),
        "consents": who.consents.order_by("given_at"), "page": "people",
    }  # fmt: skip
    return render(request, "console/person.html", context)


@require_http_methods(["GET", "POST"])
@researching
def end_session(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """Complete a session for a person, with a reason."""
    session = get_object_or_404(Session.objects.select_related("participant"), participant__study=study, code=code)
    form = Reason(request.POST or None)
    if form.is_valid():
        if not acts.end_session(session, by=staff(request), reason=form.cleaned_data["reason"]):
            messages.error(request, "That session is not going on (any more). Nothing was changed.")
        return redirect("console:person", study.slug, session.participant.code)
    return render(request, "console/end_session.html", {"study": study, "session": session, "form": form, "page": "people"})


@require_POST
@researching
def retry(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """Run a failed stage again."""
    run = get_object_or_404(StageRun.objects.select_related("session__participant__study"), session__participant__study=study, code=code)
    if not acts.retry(run, by=staff(request)):
        messages.info(request, "That stage is not failed any more; nothing had to be done.")
    return redirect("console:monitor", study.slug)


@require_http_methods(["GET", "POST"])
@researching
def conditions(request: HttpRequest, study: Study) -> HttpResponse:
    """Which code is which condition: closed until a reason is given, and that is recorded."""
    form = Reason(request.POST or None)
    if study.unblinded_at is None and form.is_valid():
        acts.unblind(study, by=staff(request), reason=form.cleaned_data["reason"], at=timezone.now())
        return redirect("console:conditions", study.slug)
    codes = study.conditions.order_by("code")
    context = {
        "study": study,
        "form": form,
        "codes": codes,
        "reasons": study.audit.filter(act="unblinded").order_by("at"),
        "page": "conditions",
    }
    return render(request, "console/conditions.html", context)
