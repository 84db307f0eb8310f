"""The work after a session, as rows: which stage may run, who has it, and what became of it.

    score → summarise → fork (shared session, per arm) → forget (per arm) → answer (per arm, when the pairs are there)

A row is claimed by a conditional update that raises `attempt` and sets a lease by the database's clock; it is finished by a
conditional update on that attempt, in the transaction of the stage's results, so that a worker which lost its lease changes nothing. Queue
messages are hints: `due` finds what they missed.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from studyplatform.study import enqueue
from studyplatform.study.models import Arm, Session, StageRun
from studyplatform.study.studies import config_of

LEASE_S = 20
RENEW_S = 5
FAILURES = 10  # named, passing errors in a row, with back-off: about a quarter of an hour
STAGES = ("score", "summarise", "fork", "forget", "answer")


class LeaseLost(Exception):
    """The run has another owner, or another state, by now: throw the work away."""


def start(session: Session) -> None:
    """The runs of a session whose chat has ended, once, however often it is called. The first one is enqueued."""
    shared = session.arm.condition_id is None
    arms = list(Arm.objects.filter(participant_id=session.participant_id).exclude(condition=None)) if shared else [session.arm]
    config = config_of(session.participant.study)
    deadline = timedelta(hours=config.sessions.questions_deadline_h)
    runs = [StageRun(session=session, stage="score", state="ready"), StageRun(session=session, stage="summarise")]
    for arm in arms:
        names = ("fork", "forget", "answer") if shared else ("forget", "answer")
        runs += [StageRun(session=session, arm=arm, stage=name) for name in names]
    with transaction.atomic():
        StageRun.objects.bulk_create(runs, ignore_conflicts=True)
        waiting = StageRun.objects.filter(session=session, stage="answer", state="waiting")
        waiting.update(due_at=(session.chat_ended_at + deadline) if session.chat_ended_at else Now() + deadline)
        _hint(StageRun.objects.filter(session=session, stage="score", state="ready"))


_CLAIM = """
    UPDATE study_stagerun SET state = 'running', owner = %s, attempt = attempt + 1, error = '', started_at = coalesce(started_at, statement_timestamp()),
      lease_until = statement_timestamp() + make_interval(secs => %s)
    WHERE id = %s AND ((state = 'ready' AND (due_at IS NULL OR due_at <= statement_timestamp())) OR (state = 'running' AND lease_until < statement_timestamp()))
    RETURNING id"""


def claim(run_id: int, owner: str) -> StageRun | None:
    """Lease a run that is due, or whose lease ran out; None when it is not for the taking."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [owner, LEASE_S, run_id])
        if cursor.fetchone() is None:
            return None
    return StageRun.objects.select_related("session__participant__study", "session__arm", "arm").get(pk=run_id)


def renew(run: StageRun) -> bool:
    """Prolong the lease; False when it is not ours any more."""
    return bool(_mine(run).update(lease_until=Now() + timedelta(seconds=LEASE_S)))


def progress(run: StageRun, done: int, total: int) -> None:
    """For the researcher's page; also prolongs the lease.

    Raises:
        LeaseLost: another worker has the run.
    """
    if not _mine(run).update(progress_done=done, progress_total=total, lease_until=Now() + timedelta(seconds=LEASE_S)):
        raise LeaseLost


def finish(run: StageRun) -> None:
    """The run is done. Called in the transaction that commits its results; what may run next is enqueued at its commit.

    Raises:
        LeaseLost: another worker has the run; the caller's transaction must roll back.
    """
    with transaction.atomic():
        if not _mine(run).update(state="done", lease_until=None, finished_at=Now(), error=""):
            raise LeaseLost
        promote(run.session_id)


def fail(run: StageRun, error: str, *, retry: bool) -> None:
    """The stage did not work: again later (with back-off, a limited number of times), or not before somebody says so."""
    failures = run.failures + 1
    again = retry and failures < FAILURES
    wait = timedelta(seconds=min(2**failures, 300))
    state = "ready" if again else "failed"
    _mine(run).update(state=state, failures=failures, error=error[:4000], lease_until=None, due_at=Now() + wait if again else None)


def put_off(run: StageRun, seconds: float, why: str) -> None:
    """Not yet, through no fault of the stage: it waits for something else, and says what."""
    _mine(run).update(state="ready", error=why, lease_until=None, due_at=Now() + timedelta(seconds=seconds))


def retry(run_id: int) -> bool:
    """Run a failed stage again, with all its attempts; what it had done already is kept. False when it had not failed."""
    with transaction.atomic():
        moved = StageRun.objects.filter(pk=run_id, state="failed").update(state="ready", failures=0, due_at=None, error="")
        _hint(StageRun.objects.filter(pk=run_id, state="ready"))
    return bool(moved)


# A waiting run becomes ready when the stage before it, of the same arm where both have one, is done. Answering waits for the pairs too.
_PROMOTE = """
    UPDATE study_stagerun r SET state = 'ready', due_at = NULL
    FROM study_session s
    WHERE r.session_id = s.id AND r.state = 'waiting' AND {which}
      AND CASE r.stage
        WHEN 'summarise' THEN {score}
        WHEN 'fork' THEN {summarise}
        WHEN 'forget' THEN {summarise} AND NOT EXISTS (
          SELECT 1 FROM study_stagerun f WHERE f.session_id = s.id AND f.stage = 'fork' AND f.arm_id = r.arm_id AND f.state <> 'done')
        WHEN 'answer' THEN {forget} AND (s.state = 'closed' OR r.due_at <= statement_timestamp() AND NOT EXISTS (
          SELECT 1 FROM study_participant p JOIN study_study y ON y.id = p.study_id WHERE p.id = s.participant_id AND y.state = 'paused'))
      END
    RETURNING r.id, r.stage"""
_DONE = "EXISTS (SELECT 1 FROM study_stagerun b WHERE b.session_id = s.id AND b.stage = '{}' AND b.state = 'done'{})"
_BEFORE = {
    "score": _DONE.format("score", ""),
    "summarise": _DONE.format("summarise", ""),
    "forget": _DONE.format("forget", " AND b.arm_id = r.arm_id"),
}
_PROMOTE_ONE = _PROMOTE.format(which="s.id = %s", **_BEFORE)
_PROMOTE_ALL = _PROMOTE.format(which="true", **_BEFORE)


def promote(session_id: int | None = None) -> int:
    """Make ready what may run now, of one session, or (as the sweep does) of all: how many."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(*((_PROMOTE_ONE, [session_id]) if session_id is not None else (_PROMOTE_ALL, [])))
        rows = cursor.fetchall()
        for run_id, name in rows:
            enqueue.stage(run_id, name)
    return len(rows)


def pairs_arrived(session_id: int) -> None:
    """The session's question-answer pairs are written: its answers may be asked; asked again where the deadline was before."""
    with transaction.atomic():
        StageRun.objects.filter(session_id=session_id, stage="answer", state="done").update(state="waiting", due_at=None, failures=0)
        promote(session_id)


def due() -> list[tuple[int, str]]:
    """(id, stage) of every run that is due, or whose worker has let its lease run out."""
    ready = Q(state="ready") & (Q(due_at=None) | Q(due_at__lte=Now()))
    expired = Q(state="running", lease_until__lt=Now())
    return list(StageRun.objects.filter(ready | expired).order_by("pk").values_list("pk", "stage"))


def _mine(run: StageRun) -> QuerySet[StageRun]:
    return StageRun.objects.filter(pk=run.pk, attempt=run.attempt, state="running")


def _hint(runs: Iterable[StageRun]) -> None:
    for run in runs:
        enqueue.stage(run.pk, run.stage)
