"""The monitor's numbers: what is going on in one study, in a fixed number of queries however many people take part."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import sha256

from django.db import connection
from django.db.models import Count, Q, QuerySet, Sum

from studyplatform.console import rows
from studyplatform.llm.models import LLMCall
from studyplatform.study.models import Arm, Participant, Session, StageRun, Study

SHOWN = 50
RUNS_SHOWN = 30


@dataclass(frozen=True)
class Figures:
    """The first line. Times in seconds; `cost` in the study's currency; people of a pilot count while it is a pilot."""

    chatting: int
    people: int
    done_today: int
    done: int
    sessions: int
    preparing: int
    longest_s: int
    failures: int
    stopped: int
    cost: Decimal


@dataclass(frozen=True)
class ArmLine:
    """One condition by its code: people by place of the arm, closed sessions, 99th percentile of the first token (s)."""

    code: str
    places: tuple[int, ...]
    sessions: int
    first_token_s: float | None


@dataclass(frozen=True)
class Run:
    """One stage of the work after a session. `share` is 0-100, None where the stage does not count its steps."""

    code: str
    person: str
    position: int
    arm: str
    stage: str
    mark: rows.Mark
    attempt: int
    share: int | None
    progress: str
    error: str
    failed: bool
    since: datetime | None


@dataclass(frozen=True)
class Board:
    """Everything the live part of the monitor shows. `version` changes when anything on it does."""

    figures: Figures
    arms: tuple[ArmLine, ...]
    places: tuple[int, ...]
    spread: int
    runs: tuple[Run, ...]
    failed: tuple[Run, ...]
    rows: tuple[rows.Row, ...]
    hidden: int
    positions: tuple[int, ...]

    @property
    def version(self) -> str:
        return sha256(repr(self).encode()).hexdigest()[:16]


def board(study: Study, *, now: datetime, everyone: bool = False) -> Board:
    """The whole monitor of a study at `now` (aware)."""
    people = list(_people(study))
    sessions = list(Session.objects.filter(participant__in=people).select_related("arm__condition").order_by("position"))
    runs = _worth_showing(study)
    lines = _rows(people, sessions, runs, study, now)
    arms = _arms(study, people)
    failed = tuple(run_line(run) for run in runs if run.state == StageRun.State.FAILED)
    return Board(
        figures=_figures(study, people, sessions, runs, now),
        arms=arms,
        places=tuple(range(1, len(arms[0].places) + 1)) if arms else (),
        spread=_spread(arms),
        runs=_lately(runs),
        failed=failed,
        rows=tuple(lines if everyone else lines[:SHOWN]),
        hidden=0 if everyone else max(0, len(lines) - SHOWN),
        positions=tuple(range(1, max((len(line.marks) for line in lines), default=0) + 1)),
    )


def _people(study: Study) -> Sequence[Participant]:
    """Pilot people while the study is a draft or a pilot, the real ones afterwards."""
    pilot = study.state in (Study.State.DRAFT, Study.State.PILOT)
    return list(study.participants.filter(pilot=pilot).order_by("created_at", "code"))


def runs_of(study: Study) -> QuerySet[StageRun]:
    """Every stage of the work after the study's sessions, with what a line about it needs, in order of creation."""
    runs = StageRun.objects.filter(session__participant__study=study)
    return runs.select_related("session__participant", "session__arm__condition", "arm__condition").order_by("created_at", "pk")


def _worth_showing(study: Study) -> list[StageRun]:
    """What the board says something about: work that is not done, that of each person's last session, and what finished last.

    The rest is done and of earlier sessions: its marks follow from the sessions. A long study has tens of thousands of such runs, and the board
    is asked for every four seconds.
    """
    done = StageRun.State.DONE
    worked = Session.objects.filter(participant__study=study, runs__isnull=False)
    last = worked.order_by("participant_id", "-position").distinct("participant_id").values("pk")
    lately = (
        StageRun.objects.filter(session__participant__study=study, state=done).order_by("-finished_at", "-pk").values("pk")[:RUNS_SHOWN]
    )
    return list(runs_of(study).filter(~Q(state=done) | Q(session__in=last) | Q(pk__in=lately)))


def _rows(
    people: Sequence[Participant], sessions: Sequence[Session], runs: Sequence[StageRun], study: Study, now: datetime
) -> list[rows.Row]:
    of_person = defaultdict(list)
    for session in sessions:
        of_person[session.participant_id].append(session)
    after = defaultdict(list)
    for run in runs:
        after[run.session.participant_id].append(run)
    costs = _costs(study)
    lines = [rows.row(p, of_person[p.pk], after[p.pk], cost=costs.get(p.pk, Decimal(0)), now=now) for p in people]
    return sorted(lines, key=lambda line: (not line.failed, not line.going_on))


def _costs(study: Study) -> dict[int, Decimal]:
    calls = LLMCall.objects.filter(study=study, session__isnull=False).values_list("session__participant_id")
    return {person: total for person, total in calls.annotate(total=Sum("cost")) if person is not None}


def _figures(study: Study, people: Sequence[Participant], sessions: Sequence[Session], runs: Sequence[StageRun], now: datetime) -> Figures:
    closed = [s for s in sessions if s.state == Session.State.CLOSED]
    unready = [r for r in runs if r.stage in rows.PREPARING and r.state not in (StageRun.State.DONE, StageRun.State.FAILED)]
    began = min((r.created_at for r in unready), default=now)
    cost = LLMCall.objects.filter(study=study).aggregate(total=Sum("cost"))["total"]
    return Figures(
        chatting=sum(s.state == Session.State.CHATTING for s in sessions),
        people=len(people),
        done_today=sum(bool(s.closed_at and s.closed_at > now - timedelta(hours=24)) for s in closed),
        done=len(closed),
        sessions=len(sessions),
        preparing=len({r.session_id for r in unready}),
        longest_s=round((now - began).total_seconds() / 30) * 30,
        failures=sum(r.state == StageRun.State.FAILED for r in runs),
        stopped=sum(p.state in (Participant.State.STOPPED, Participant.State.WITHDRAWN) for p in people),
        cost=cost or Decimal(0),
    )


def _arms(study: Study, people: Sequence[Participant]) -> tuple[ArmLine, ...]:
    """By code, never by the order of the study file, which would give the names away."""
    of = Arm.objects.filter(participant__in=people, condition__isnull=False)
    counts = {(code, order): n for code, order, n in of.values_list("condition__code", "order").annotate(n=Count("pk"))}
    closed = dict(of.values_list("condition__code").annotate(n=Count("sessions", filter=Q(sessions__state="closed"))))
    orders = sorted({order for _, order in counts})
    waits = _first_tokens(study)
    codes = study.conditions.order_by("code").values_list("code", flat=True)
    return tuple(ArmLine(c, tuple(counts.get((c, o), 0) for o in orders), closed.get(c, 0), waits.get(c)) for c in codes)


def _spread(arms: Sequence[ArmLine]) -> int:
    by_place = zip(*(arm.places for arm in arms), strict=True)
    return max((max(place) - min(place) for place in by_place), default=0)


def _first_tokens(study: Study) -> dict[str, float]:
    """99th percentile of the time from the ack to the first token, seconds, by condition code."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.code, percentile_cont(0.99) WITHIN GROUP (ORDER BY t.first_token_ms) / 1000
               FROM chat_turn t JOIN study_session s ON s.id = t.session_id JOIN study_arm a ON a.id = s.arm_id
               JOIN study_condition c ON c.id = a.condition_id
               WHERE c.study_id = %s AND t.role = 'bot' AND t.first_token_ms IS NOT NULL GROUP BY c.code""",
            [study.pk],
        )
        return {code: round(seconds, 2) for code, seconds in cursor.fetchall()}


def _lately(runs: Sequence[StageRun]) -> tuple[Run, ...]:
    """What is unfinished, then what finished last."""
    order = {"failed": 0, "running": 1, "ready": 2, "waiting": 3, "done": 4}

    def key(run: StageRun) -> tuple[int, float]:
        return order[run.state], -(run.finished_at or run.created_at).timestamp()

    return tuple(run_line(run) for run in sorted(runs, key=key)[:RUNS_SHOWN])


def run_line(run: StageRun) -> Run:
    """One stage as it is shown."""
    condition = run.arm.condition if run.arm else None
    total, done = run.progress_total, run.progress_done
    return Run(
        code=run.code,
        person=run.session.participant.code,
        position=run.session.position,
        arm=condition.code if condition else "all" if run.session.arm.condition is None else rows.arm_code(run.session),
        stage=run.stage,
        mark=rows.run_mark(run),
        attempt=run.attempt,
        share=round(100 * done / total) if total else None,
        progress=f"{done} of {total}" if total else "",
        error=run.error,
        failed=run.state == StageRun.State.FAILED,
        since=run.finished_at or run.started_at or run.created_at,
    )
