"""The participant's page about what is remembered of her. What the acts do is in `memory.taking_back`."""

from collections.abc import Callable

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from chat import about_me
from chat.about_me import Line
from memory import taking_back
from memory.taking_back import Said
from studyplatform.study import consenting, wording
from studyplatform.study.models import Session
from studyplatform.study.seats import SeatedRequest, seated
from studyplatform.study.studies import config_of

ACTS: dict[str, Callable[[Said], bool]] = {
    "delete": taking_back.delete,
    "restore": taking_back.restore,
    "uncorrect": taking_back.uncorrect,
    "mute": taking_back.mute,
    "unmute": taking_back.unmute,
}


@seated
@require_GET
def what_is_remembered(request: SeatedRequest) -> HttpResponse:
    """One conversation after the other, newest first; found again by its words."""
    participant = request.participant
    if not about_me.is_open(participant):
        return _show(request, "memory/not_open.html", statement=consenting.statement(config_of(participant.study)))
    held = about_me.conversations(participant)
    chosen = next((s for s in held if str(s.position) == request.GET.get("conversation")), held[-1] if held else None)
    sought = request.GET.get("words", "").strip()[:100]
    lines = about_me.lines(chosen) if chosen else []
    found = [line for line in lines if sought.lower() in line.words.lower()] if sought else lines
    return _show(
        request,
        "memory/about_me.html",
        conversations=held,
        chosen=chosen,
        lines=found,
        sought=sought,
        in_short=about_me.in_short(participant),
        news=_news(request.GET.get("done", "")),
    )


@seated
@require_http_methods(["GET", "POST"])
def one_line(request: SeatedRequest, session_code: str, seq: int) -> HttpResponse:
    """Correct one line, or do one of the other things to it."""
    participant = request.participant
    if not about_me.is_open(participant):
        return redirect("about_me", participant.code)
    session = Session.objects.select_related("arm", "participant__study").filter(participant=participant, code=session_code).first()
    line = next(iter(about_me.lines(session, only=seq)), None) if session else None
    if session is None or line is None:
        raise Http404
    if request.method == "GET":
        return _show(request, "memory/correct.html", session=session, line=line, most_chars=taking_back.MOST_CHARS)
    return _act(request, session, line)


def _act(request: SeatedRequest, session: Session, line: Line) -> HttpResponse:
    """Once or twice, from one tab or two: the same."""
    what, said = request.POST.get("act", ""), Said(session, line.seq)
    if what == "correct":
        return _correct(request, session, line)
    if what not in ACTS:
        raise Http404
    if what == "restore" and line.deleted and line.undo_until is None:
        return _back(request, session, line, "late")
    ACTS[what](said)
    return _back(request, session, line, what)


def _correct(request: SeatedRequest, session: Session, line: Line) -> HttpResponse:
    text = request.POST.get("text", "").replace("\0", "").strip()
    if text == line.words and not line.deleted:
        return _back(request, session, line, "correct")
    if request.POST.get("have") != line.have:
        return _back(request, session, line, "changed")
    try:
        taking_back.correct(Said(session, line.seq), text)
    except ValueError:
        context = {"session": session, "line": line, "text": text, "most_chars": taking_back.MOST_CHARS, "wrong": True}
        return _show(request, "memory/correct.html", status=422, **context)
    return _back(request, session, line, "correct")


def _back(request: SeatedRequest, session: Session, line: Line, done: str) -> HttpResponse:
    page = reverse("about_me", args=[request.participant.code])
    return redirect(f"{page}?conversation={session.position}&done={done}#line-{line.seq}")


def _news(done: str) -> str:
    """What was done, in words."""
    return {
        "delete": _("Deleted. No assistant will find it, and the short notes are written again without it."),
        "restore": _("The deletion is undone."),
        "correct": _("Corrected. From now on your new words count."),
        "uncorrect": _("What you said at first counts again."),
        "mute": _("Noted. No assistant will bring this up again."),
        "unmute": _("Noted. Assistants may bring this up again."),
        "late": _("This can no longer be undone."),
        "changed": _("This was changed in another window meanwhile. Nothing was done; here it is as it stands now."),
    }.get(done, "")


def _show(request: SeatedRequest, template: str, *, status: int = 200, **context: object) -> HttpResponse:
    participant = request.participant
    around = {"participant": participant, "design": config_of(participant.study), "moment_format": wording.moment_format()}
    return render(request, template, {**around, **context}, status=status)
