"""The participant's pages of a conversation: the chat, the questions after it, and the try-out before it."""

from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat import questions, trying
from chat.models import Turn
from chat.question_checks import Check, Pair
from chat.words import words
from studyplatform.study import sessions
from studyplatform.study.config import SessionsTable, StudyConfig
from studyplatform.study.models import Participant, Session
from studyplatform.study.seats import SeatedRequest, seated
from studyplatform.study.studies import config_of, questions_end

State = Session.State


def _session(participant: Participant, session_code: str) -> Session:
    """The participant's own session with this code, or 404."""
    found = Session.objects.select_related("arm").filter(participant=participant, code=session_code).first()
    if found is None:
        raise Http404
    found.participant = participant
    return found


def _around(request: SeatedRequest, session: Session) -> dict[str, Any]:
    """What every page of a conversation shows: with whom, which of how many, and the rules."""
    participant = request.participant
    return {
        "participant": participant,
        "session": session,
        "arm": session.arm,
        "of": Session.objects.filter(participant=participant).count(),
        "design": config_of(participant.study),
        "zone": participant.time_zone,
    }


@seated
@require_GET
def chat(request: SeatedRequest, session_code: str) -> HttpResponse:
    """The conversation. What was said is in the page; what is said from here on comes through the websocket."""
    participant = request.participant
    session = _session(participant, session_code)
    if session.state == State.QUESTIONS:
        return redirect("questions", participant.code, session.code)
    if session.state != State.CHATTING:  # a conversation is begun on the person's own page
        return redirect("home", participant.code)
    turns = list(Turn.objects.filter(session=session, state=Turn.State.DONE).order_by("seq"))
    around = _around(request, session)
    rules = around["design"].sessions
    clock = sessions.clock(session, timezone.now())
    return render(
        request,
        "chat/chat.html",
        {
            **around,
            "turns": _by_day(turns, ZoneInfo(participant.time_zone)),
            "last_seq": turns[-1].seq if turns else 0,
            "rules": rules,
            "minutes": clock.seconds // 60,
            "bar": _bar(rules, minutes=clock.seconds // 60, turns=session.user_turns),
            "most_chars": around["design"].chat.max_chars,
            "words": words(session.arm.alias_name),
            "today": timezone.now().astimezone(ZoneInfo(participant.time_zone)).date(),
        },
    )


def _bar(rules: SessionsTable, *, minutes: int, turns: int) -> dict[str, Any]:
    """How far the conversation has come: in minutes, where the study asks for any, else in messages."""
    most_minutes = rules.max_minutes or rules.min_minutes
    if most_minutes:
        return {"by": "minutes", "value": minutes, "max": most_minutes}
    return {"by": "turns", "value": turns, "max": rules.max_turns or rules.min_turns}


def _by_day(turns: list[Turn], zone: ZoneInfo) -> list[tuple[date | None, Turn]]:
    """Each turn, and the day where a new one begins in the person's own zone."""
    marked: list[tuple[date | None, Turn]] = []
    before: date | None = None
    for turn in turns:
        day = (turn.done_at or turn.created_at).astimezone(zone).date()
        marked.append((day if day != before else None, turn))
        before = day
    return marked


@seated
@require_http_methods(["GET", "POST"])
def write_questions(request: SeatedRequest, session_code: str) -> HttpResponse:
    """Write the pairs, one after the other; each can be changed until the conversation is closed."""
    session = _session(request.participant, session_code)
    elsewhere = _elsewhere(request.participant, session)
    if elsewhere is not None:
        return elsewhere
    design = config_of(request.participant.study)
    if request.method == "GET":
        return _questions_page(request, session, design, chosen=_number(request.GET.get("pair")))
    number, pair = _number(request.POST.get("number")), _pair(request, session)
    if number is None or number > design.sessions.questions:
        raise Http404
    blocking = questions.keep(session, number, pair)
    if blocking:
        return _questions_page(request, session, design, chosen=number, pair=pair, blocking=blocking, status=422)
    return redirect("questions", request.participant.code, session.code)


@seated
@require_POST
def check_question(request: SeatedRequest, session_code: str) -> HttpResponse:
    """The checks of a pair while it is being written. Stores nothing."""
    session = _session(request.participant, session_code)
    number = _number(request.POST.get("number")) or 1
    found = questions.look(session, number, _pair(request, session))
    return render(request, "chat/_checks.html", {"checks": [c for c in found if c.where == "evidence" or not c.blocks], "number": number})


@seated
@require_POST
def close_questions(request: SeatedRequest, session_code: str) -> HttpResponse:
    """All pairs are written: close the conversation."""
    session = _session(request.participant, session_code)
    elsewhere = _elsewhere(request.participant, session)
    if elsewhere is not None:
        return elsewhere
    missing = any(step.pair is None for step in questions.steps(session, config_of(request.participant.study).sessions.questions))
    if missing:
        return redirect("questions", request.participant.code, session.code)
    sessions.close(session.pk)
    return redirect("home", request.participant.code)


def _elsewhere(participant: Participant, session: Session) -> HttpResponse | None:
    """Where to go when this is not the time for questions."""
    if session.state == State.CHATTING:
        return redirect("chat", participant.code, session.code)
    return None if session.state == State.QUESTIONS else redirect("home", participant.code)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and 1 <= int(text) <= 20 else None


def _pair(request: HttpRequest, session: Session) -> Pair:
    """The pair in the form; ticks that are no own turns are dropped."""
    ticked = [int(seq) for seq in request.POST.getlist("evidence") if seq.isascii() and seq.isdigit() and len(seq) < 9]
    clean = {name: request.POST.get(name, "").replace("\0", "") for name in ("question", "answer")}
    return Pair(**clean, evidence=questions.known(session, ticked))


def _questions_page(
    request: SeatedRequest,
    session: Session,
    design: StudyConfig,
    *,
    chosen: int | None = None,
    pair: Pair | None = None,
    blocking: list[Check] | None = None,
    status: int = 200,
) -> HttpResponse:
    steps = questions.steps(session, design.sessions.questions, chosen)
    current = next((step for step in steps if step.current), None)
    kept = current.pair if current else None
    shown = pair or (Pair(kept.question, kept.answer, tuple(kept.evidence)) if kept else Pair("", ""))
    found = questions.look(session, current.number, shown) if current else []
    context = {
        **_around(request, session),
        "steps": steps,
        "current": current,
        "pair": shown,
        "checks": [c for c in found if c.where == "evidence" or not c.blocks],
        "errors": {c.where: c.text for c in blocking or ()},
        "all_kept": all(step.pair for step in steps),
        "talk": questions.turns_of(session),
        "heading": _heading(design.sessions.questions, session.arm.alias_name),
        "closes_at": questions_end(session, timezone.now()),
    }
    return render(request, "chat/questions.html", context, status=status)


def _heading(count: int, name: str) -> str:
    words = [_("no"), _("one"), _("two"), _("three"), _("four"), _("five")]
    number = words[count] if count < len(words) else str(count)
    if count == 1:
        return _("Write one question about what you told %(name)s") % {"name": name}
    return _("Write %(number)s questions about what you told %(name)s") % {"number": number, "name": name}


@seated
@require_http_methods(["GET", "POST"])
def try_out(request: SeatedRequest) -> HttpResponse:
    """See how it works: one or two messages with a real answer. Nothing of it is stored."""
    design = config_of(request.participant.study)
    if not design.instructions.try_out:
        raise Http404
    said = [text[: trying.MOST_CHARS] for text in request.POST.getlist("said")][: trying.MOST_MESSAGES]
    answered = [text[: trying.MOST_CHARS] for text in request.POST.getlist("answered")][: len(said)]
    text = request.POST.get("text", "").replace("\0", "").strip()[: trying.MOST_CHARS]
    failed = False
    if request.method == "POST" and text and len(said) < trying.MOST_MESSAGES:
        answer = trying.answer(request.participant, design, [*zip(said, answered, strict=False)], text)
        failed = answer is None
        if answer is not None:
            said, answered, text = [*said, text], [*answered, answer], ""
    context = {
        "participant": request.participant,
        "design": design,
        "talk": [*zip(said, answered, strict=False)],
        "text": text,
        "failed": failed,
        "over": len(said) >= trying.MOST_MESSAGES,
        "most_chars": trying.MOST_CHARS,
    }
    return render(request, "chat/try_out.html", context)
