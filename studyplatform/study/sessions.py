"""A session's states, moved by conditional updates only: open → chatting → questions → closed.

Every move returns whether it was this call that made it, so a repeat or a race is harmless. `clock` and `may_finish` decide
purely; the instants of the moves are the database's.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import BigIntegerField, F, Func, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

from studyplatform.study import scheduling, stages
from studyplatform.study.config import SessionsTable
from studyplatform.study.models import Participant, Session
from studyplatform.study.studies import admits, config_of

State = Session.State


@dataclass(frozen=True)
class Clock:
    """Seconds of conversation so far, without the pauses; `paused` while it stands still."""

    seconds: int
    paused: bool


@dataclass(frozen=True)
class Finish:
    """Whether the participant may finish. `seconds_left`, `turns_left`: until then, None once reached; `must`: over a maximum."""

    ok: bool
    seconds_left: int | None
    turns_left: int | None
    must: str = ""


def clock(session: Session, now: datetime) -> Clock:
    """The session's clock at `now`: it counts from the first moment, less all pauses, and stops with the chat."""
    if session.started_at is None:
        return Clock(0, False)
    paused = session.paused_at is not None and session.chat_ended_at is None
    end = session.chat_ended_at or session.paused_at or now
    ran = end - session.started_at - timedelta(milliseconds=session.paused_ms)
    return Clock(max(0, int(ran.total_seconds())), paused)


def may_finish(rules: SessionsTable, session: Session, now: datetime, *, pending: bool, simulated: bool, replay: bool = False) -> Finish:
    """The rules of finishing: enough minutes and turns and no reply on its way; or a maximum, or the window's end.

    Simulated participants are exempt from minutes and windows, in a replay also from the maximum of turns.
    """
    seconds = clock(session, now).seconds
    seconds_left = None if simulated else _left(round(rules.min_minutes * 60), seconds)
    turns_left = _left(rules.min_turns, session.user_turns)
    must = _must(rules, session, now, seconds=seconds, simulated=simulated, replay=replay)
    ok = not pending and (bool(must) or (seconds_left is None and turns_left is None))
    return Finish(ok, seconds_left, turns_left, must)


def _left(least: int, reached: int) -> int | None:
    return least - reached if reached < least else None


def _must(rules: SessionsTable, session: Session, now: datetime, *, seconds: int, simulated: bool, replay: bool) -> str:
    if rules.max_turns is not None and session.user_turns >= rules.max_turns and not replay:
        return "max_turns"
    if simulated:
        return ""
    if rules.max_minutes is not None and seconds >= rules.max_minutes * 60:
        return "max_minutes"
    return "window" if session.closes_at is not None and now >= session.closes_at else ""


def begin(session: Session) -> bool:
    """open → chatting: inside its window, for an active person of a study that runs, and while no other chat of theirs runs.

    The first session's window is counted from its beginning.
    """
    participant = session.participant
    if not admits(participant.study, pilot=participant.pilot):
        return False
    in_window = Q(closes_at=None) | Q(closes_at__gt=Now())
    moved = Session.objects.filter(in_window | Q(participant__simulated=True), pk=session.pk, state=State.OPEN, opens_at__lte=Now())
    moved = moved.filter(participant__state=Participant.State.ACTIVE)
    window = None if participant.simulated else config_of(participant.study).sessions.window_hours
    closing = {"closes_at": Now() + timedelta(hours=window)} if session.closes_at is None and window else {}
    try:
        with transaction.atomic():
            begun = moved.update(state=State.CHATTING, started_at=Now(), last_activity_at=Now(), **closing)
    except IntegrityError:  # one_chat_at_a_time
        return False
    session.refresh_from_db()
    return begun == 1


@transaction.atomic
def end_chat(session_id: int, reason: str) -> bool:
    """chatting → questions, or → closed in a study without questions; starts the work that follows a session."""
    ended = Session.objects.filter(pk=session_id, state=State.CHATTING).update(
        state=State.QUESTIONS, chat_ended_at=Now(), end_reason=reason, paused_ms=_paused_ms(), paused_at=None, pause_reason=""
    )
    if not ended:
        return False
    session = Session.objects.select_related("participant__study").get(pk=session_id)
    stages.start(session)
    if config_of(session.participant.study).sessions.questions == 0:
        close(session_id)
    return True


@transaction.atomic
def close(session_id: int) -> bool:
    """questions → closed: the pairs are written, or their time is over."""
    closed = Session.objects.filter(pk=session_id, state=State.QUESTIONS).update(state=State.CLOSED, closed_at=Now())
    if not closed:
        return False
    stages.pairs_arrived(session_id)
    participant_id = Session.objects.values_list("participant_id", flat=True).get(pk=session_id)
    scheduling.refresh(participant_id)
    return True


def pause(session_id: int, reason: str) -> bool:
    """Stop the clock of a running chat."""
    running = Session.objects.filter(pk=session_id, state=State.CHATTING, paused_at=None)
    return running.update(paused_at=Now(), pause_reason=reason) == 1


def resume(session_id: int, reason: str | None = None) -> bool:
    """Let the clock run again; with `reason`, only if it was stopped for that."""
    paused = Session.objects.filter(pk=session_id, state=State.CHATTING, paused_at__isnull=False)
    if reason is not None:
        paused = paused.filter(pause_reason=reason)
    return paused.update(paused_ms=_paused_ms(), paused_at=None, pause_reason="", last_activity_at=Now()) == 1


class _Milliseconds(Func):
    template = "COALESCE(EXTRACT(EPOCH FROM (%(expressions)s)) * 1000, 0)::bigint"
    output_field = BigIntegerField()


def _paused_ms() -> CombinedExpression:
    """`paused_ms` with the running pause, if any, added."""
    return F("paused_ms") + _Milliseconds(Now() - F("paused_at"))
