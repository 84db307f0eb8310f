"""Who is where: one row per participant, one mark per session, one mark per stage of the work after the last session.

Pure: rows of the database come in as objects that are already fetched, nothing is queried here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from studyplatform.study.models import Participant, Session, StageRun

STAGES = tuple(StageRun.Stage.values)
# The stages that must be done before the arm's next session may open.
PREPARING = frozenset({StageRun.Stage.SCORE, StageRun.Stage.SUMMARISE, StageRun.Stage.FORK, StageRun.Stage.FORGET})
_GERUND = {"score": "scoring", "summarise": "summarising", "fork": "forking", "forget": "forgetting", "answer": "answering"}


@dataclass(frozen=True)
class Mark:
    """A state: `form` is the shape's class in the style sheet, `word` what a screen reader says."""

    form: str
    word: str


NONE = Mark("", "none")
_SESSION = {
    Session.State.LOCKED: Mark("wait", "waiting"),
    Session.State.OPEN: Mark("open", "open"),
    Session.State.CHATTING: Mark("live", "chatting"),
    Session.State.QUESTIONS: Mark("live", "writing questions"),
    Session.State.CLOSED: Mark("done", "done"),
    Session.State.MISSED: Mark("miss", "missed"),
}
_RUN = {
    StageRun.State.WAITING: Mark("wait", "waiting"),
    StageRun.State.READY: Mark("wait", "next in the queue"),
    StageRun.State.RUNNING: Mark("run", "running"),
    StageRun.State.DONE: Mark("done", "done"),
    StageRun.State.FAILED: Mark("fail", "failed"),
}
# Of several runs of one stage (one per arm after a shared session), the one that a researcher wants to know about.
_WORST_FIRST = (StageRun.State.FAILED, StageRun.State.RUNNING, StageRun.State.READY, StageRun.State.WAITING, StageRun.State.DONE)


@dataclass(frozen=True)
class Row:
    """One participant. `going_on` sorts those with something to look at first; `cost` in the study's currency."""

    code: str
    external_id: str
    where: str
    failed: bool
    going_on: bool
    marks: tuple[Mark, ...]
    stages: tuple[Mark, ...]
    cost: Decimal


def session_mark(session: Session, runs: Sequence[StageRun]) -> Mark:
    """A session's own state, or that of the work after it while that is failed or not done."""
    if any(run.state == StageRun.State.FAILED for run in runs):
        return Mark("fail", "work after it failed")
    if session.state == Session.State.CLOSED and not prepared(runs):
        return Mark("run", "being prepared")
    return _SESSION[Session.State(session.state)]


def prepared(runs: Iterable[StageRun]) -> bool:
    """Whether all that the arm's next session waits for is done."""
    return all(run.state == StageRun.State.DONE for run in runs if run.stage in PREPARING)


def run_mark(run: StageRun) -> Mark:
    """The mark of one stage of one arm."""
    return _RUN[StageRun.State(run.state)]


def stage_marks(runs: Sequence[StageRun]) -> tuple[Mark, ...]:
    """One mark per stage, in order; where a stage has a run per arm, the worst of them."""
    return tuple(_worst([run for run in runs if run.stage == stage]) for stage in STAGES)


def _worst(runs: Sequence[StageRun]) -> Mark:
    states = {run.state for run in runs}
    return next((_RUN[state] for state in _WORST_FIRST if state in states), NONE)


def row(participant: Participant, sessions: Sequence[Session], runs: Sequence[StageRun], *, cost: Decimal, now: datetime) -> Row:
    """`sessions` in the order of their position, `runs` of all of them."""
    of = {session.pk: [run for run in runs if run.session_id == session.pk] for session in sessions}
    worked = [session for session in sessions if of[session.pk]]
    where = _where(participant, sessions, of, now)
    return Row(
        code=participant.code,
        external_id=participant.external_id or "",
        where=where,
        failed=any(run.state == StageRun.State.FAILED for run in runs),
        going_on=any(s.state in (Session.State.CHATTING, Session.State.QUESTIONS) for s in sessions)
        or any(not prepared(of[s.pk]) for s in worked),
        marks=tuple(session_mark(session, of[session.pk]) for session in sessions),
        stages=stage_marks(of[worked[-1].pk]) if worked else (NONE,) * len(STAGES),
        cost=cost,
    )


def arm_code(session: Session) -> str:
    """The opaque code of the session's condition; the shared session belongs to none."""
    return session.arm.condition.code if session.arm.condition else "shared"


def _where(participant: Participant, sessions: Sequence[Session], of: dict[int, list[StageRun]], now: datetime) -> str:
    if participant.state != Participant.State.ACTIVE:
        return {"invited": "not begun", "finished": "finished", "stopped": "stopped, data kept", "withdrawn": "withdrawn"}[
            participant.state
        ]
    return _failure(sessions, of) or _presence(sessions) or _preparation(sessions, of) or _next(sessions, now)


def _failure(sessions: Sequence[Session], of: dict[int, list[StageRun]]) -> str:
    failed = [(s, run) for s in sessions for run in of[s.pk] if run.state == StageRun.State.FAILED]
    return f"after {failed[0][0].position}, {_GERUND[failed[0][1].stage]} failed" if failed else ""


def _presence(sessions: Sequence[Session]) -> str:
    words = {Session.State.CHATTING: "chatting in", Session.State.QUESTIONS: "questions of"}
    here = [f"{words[Session.State(s.state)]} {s.position}, {arm_code(s)}" for s in sessions if s.state in words]
    return here[0] if here else ""


def _preparation(sessions: Sequence[Session], of: dict[int, list[StageRun]]) -> str:
    busy = [(s, run) for s in sessions for run in of[s.pk] if run.stage in PREPARING and run.state != StageRun.State.DONE]
    return f"after {busy[0][0].position}, {_GERUND[busy[0][1].stage]}" if busy else ""


def _next(sessions: Sequence[Session], now: datetime) -> str:
    ahead = [s for s in sessions if s.state in (Session.State.OPEN, Session.State.LOCKED)]
    if not ahead:
        return "all sessions done"
    first = ahead[0]
    if first.state == Session.State.OPEN:
        return f"may open {first.position}, {arm_code(first)}"
    if first.opens_at and first.opens_at > now:
        return f"{first.position} opens {first.opens_at:%a %d %b, %H:%M} UTC"
    return f"waiting for {first.position}"
