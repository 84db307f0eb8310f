"""The figures of a simulated study, per arm and session, from its rows: the same rows that any study's tables are made of."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.db.models import Exists, F, OuterRef, Q

from chat.models import Turn
from memory.models import Memory, MemoryEvent, MemoryWrite, QAAnswer
from studyplatform.simulation.run import Run
from studyplatform.study.models import Arm, Condition, Session, StageRun, Study

ENDED = (MemoryEvent.What.FORGOTTEN, MemoryEvent.What.SUPERSEDED, MemoryEvent.What.DELETED)
PERCENTILES = (50, 95, 99)


@dataclass
class Cell:
    """One condition and session number, over all participants.

    `kept`: memories (summaries included) that the arms hold after the session's forgetting, of this and earlier sessions;
    `retention`: these as a share of all exchanges up to then; `used`, `passed_over`: recalls while chatting; `answered`, `abstained`,
    `failed`: questions asked after the session, `failed` where the model's answer could not be read, twice; `actions`: what the
    exchanges of the session became; `stage_s`: mean seconds.
    """

    arm: str
    policy: str
    session: int
    exchanges: int = 0
    kept: int = 0
    retention: float | None = None
    used: int = 0
    passed_over: int = 0
    answered: int = 0
    abstained: int = 0
    failed: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    stage_s: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Tally:
    participants: int
    sessions: int
    messages: int
    by: tuple[Cell, ...]
    latency: dict[str, dict[str, float | int | None]]
    errors: tuple[dict[str, str], ...]


def tally(run: Run) -> Tally:
    """Everything that `simulate` prints about a run."""
    study = run.study
    closed = Session.objects.filter(participant__study=study, state=Session.State.CLOSED)
    return Tally(
        participants=study.participants.count(),
        sessions=closed.count(),
        messages=Turn.objects.filter(session__participant__study=study, role=Turn.Role.USER, state=Turn.State.DONE).count(),
        by=tuple(cell for condition in study.conditions.order_by("order") for cell in _cells(study, condition)),
        latency=_latency(run),
        errors=tuple(_errors(run)),
    )


def _cells(study: Study, condition: Condition) -> list[Cell]:
    """The condition's sessions in order. A shared session is the shared arms', and counts here too."""
    arms = Arm.objects.filter(condition=condition, participant__study=study)
    people = arms.values("participant")
    sessions = Session.objects.filter(Q(arm__in=arms) | Q(arm__condition=None, participant__in=people)).exclude(state=Session.State.LOCKED)
    cells = []
    made = 0
    for number in sorted(set(sessions.values_list("number", flat=True))):
        here = sessions.filter(number=number)
        cell = Cell(condition.code, condition.preset, number)
        cell.exchanges = Turn.objects.filter(session__in=here, role=Turn.Role.USER, state=Turn.State.DONE).count()
        made += cell.exchanges
        cell.kept = _kept(arms, number)
        cell.retention = cell.kept / made if made else None
        recalls = MemoryEvent.objects.filter(arm__in=here.values("arm"), session_number=number)
        cell.used = recalls.filter(what=MemoryEvent.What.USED).count()
        cell.passed_over = recalls.filter(what=MemoryEvent.What.PASSED_OVER).count()
        asked = QAAnswer.objects.filter(arm__in=arms, after_session=number)
        cell.failed = asked.exclude(failed="").count()
        cell.abstained = asked.filter(abstained=True, failed="").count()
        cell.answered = asked.filter(abstained=False, failed="").count()
        writes = MemoryWrite.objects.filter(arm__in=arms, session__in=here, state=MemoryWrite.State.DONE)
        cell.actions = dict(sorted(Counter(writes.values_list("outcome", flat=True)).items()))
        cell.stage_s = _stage_seconds(here, arms)
        cells.append(cell)
    return cells


def _kept(arms: Any, number: int) -> int:
    """Memories of sessions up to `number` that had not ended by the close of that session."""
    ended = MemoryEvent.objects.filter(memory=OuterRef("pk"), what__in=ENDED, session_number__lte=number)
    return Memory.objects.filter(~Exists(ended), arm__in=arms, session_number__lte=number).count()


def _stage_seconds(sessions: Any, arms: Any) -> dict[str, float]:
    runs = StageRun.objects.filter(Q(arm=None) | Q(arm__in=arms), session__in=sessions, state=StageRun.State.DONE)
    seconds: dict[str, list[float]] = {}
    for stage, took in runs.order_by("pk").values_list("stage", F("finished_at") - F("started_at")):
        if took is not None:
            seconds.setdefault(stage, []).append(took.total_seconds())
    return {stage: float(np.mean(values)) for stage, values in seconds.items()}


def _latency(run: Run) -> dict[str, dict[str, float | int | None]]:
    names = ("ack", "first_token", "reply")
    return {name: percentiles([ms for j in run.journals for ms in getattr(j.timings, name)]) for name in names}


def percentiles(values: list[float]) -> dict[str, float | int | None]:
    """p50, p95, p99 in the values' unit, and n; null without values."""
    if not values:
        return {**{f"p{p}": None for p in PERCENTILES}, "n": 0}
    found = np.percentile(values, PERCENTILES)
    return {**{f"p{p}": round(float(v), 2) for p, v in zip(PERCENTILES, found, strict=True)}, "n": len(values)}


def _errors(run: Run) -> Iterable[dict[str, str]]:
    """What went wrong on the way, in the work after the sessions, and in single writes.

    A model that answers so that nobody can read it, twice, is none of these: it is a result, counted as a failed answer or as a write
    that ended in an error, and its words are kept.
    """
    study = run.study
    for number, journal in enumerate(run.journals, start=1):
        for where, message in journal.errors:
            yield {"where": f"participant {number}, {where}", "message": message}
    for what in run.unfinished:
        yield {"where": "work after the sessions", "message": f"not done: {what}"}
    for failed in StageRun.objects.filter(session__participant__study=study, state=StageRun.State.FAILED).select_related("session"):
        yield {"where": f"{failed.stage} of session {failed.session.code}", "message": failed.error}
    erred = MemoryWrite.objects.filter(arm__participant__study=study, outcome=MemoryWrite.Outcome.ERROR, raw="")
    for write in erred.select_related("session"):
        yield {"where": f"write of session {write.session.code}, turn {write.seq}", "message": write.reason}
