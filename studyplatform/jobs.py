"""Every Celery task, top to bottom, in the order in which they run.

Rows are the truth: a task takes an id, claims the row by lease, and does nothing when it is not for the taking. `sweep` finds what a lost
message, a killed worker or a passed deadline left behind.
"""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType

from celery import shared_task
from django.db import InterfaceError, OperationalError, connection, transaction

from chat import exchanges
from memory import answering, arms, forgetting, forking, refreshing, remembering, scoring, summarising, wishes
from memory.remembering import Changed, default_owner
from studyplatform.llm.asking import BadAnswer
from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.llm.streaming import ModelFailed
from studyplatform.study import enqueue, scheduling, stages
from studyplatform.study.models import StageRun

log = logging.getLogger(__name__)

# What passes by itself: tried again with back-off. Anything else is a defect, and waits for somebody to look at it.
PASSING = (ModelFailed, EndpointFailed, BadAnswer, Changed, OperationalError, InterfaceError)
DRAIN_S = 2.0


class Waiting(Exception):
    """Another worker holds what this stage needs; it will be done soon."""


class Heartbeat:
    """Renews leases from a thread of its own while the work goes on, and goes on itself when the database was away for a moment."""

    def __init__(self, renew: Callable[[], object]) -> None:
        self._renew = renew
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()

    def _beat(self) -> None:
        try:
            while not self._over.wait(stages.RENEW_S):
                try:
                    self._renew()
                except (OperationalError, InterfaceError) as error:
                    log.warning("could not renew a lease, trying again: %s", error)
                    connection.close()
        finally:
            connection.close()


@shared_task  # type: ignore[untyped-decorator]  # celery ships no types
def encode(*arm_ids: int) -> None:
    """Write the open exchanges of these arms into their memories, each arm's in order."""
    owner = default_owner()
    with Heartbeat(lambda: remembering.renew(owner)):
        for arm_id in arm_ids:
            remembering.write_open(arm_id, exchanges.one, owner=owner)


@shared_task  # type: ignore[untyped-decorator]  # celery ships no types
def refresh(arm_id: int) -> None:
    """Make the summaries anew that hold what a participant took back."""
    owner = default_owner()
    with Heartbeat(lambda: refreshing.renew(owner)):
        refreshing.refresh(arm_id, exchanges.of_session, owner=owner)


@shared_task  # type: ignore[untyped-decorator]  # celery ships no types
def run_stage(run_id: int) -> None:
    """One stage of one session, if it is due and nobody has it."""
    owner = default_owner()
    run = stages.claim(run_id, owner)
    if run is None:
        return
    with Heartbeat(lambda: (stages.renew(run), remembering.renew(owner))):  # a stage may write memories too
        try:
            _STAGES[run.stage](run)
        except stages.LeaseLost:
            log.info("stage run %s went to another worker", run.code)
        except Waiting as reason:
            stages.put_off(run, 1.0, str(reason))
        except PASSING as error:
            stages.fail(run, f"{type(error).__name__}: {error}", retry=True)
        except Exception as error:  # whatever it is, the researcher sees it and can press Retry
            log.exception("stage %s of session %s failed", run.stage, run.session_id)
            stages.fail(run, f"{type(error).__name__}: {error}", retry=False)


def _score(run: StageRun) -> None:
    scoring.score(run.session, exchanges.of_session(run.session_id), _progress(run))
    stages.finish(run)


def _summarise(run: StageRun) -> None:
    before = wishes.mark(run.session.participant_id)
    made = summarising.summarise(run.session, exchanges.of_session(run.session_id))
    with transaction.atomic():
        _hold(run.session.arm_id, run, before)
        summarising.store(run.session, made)
        stages.finish(run)


def _fork(run: StageRun) -> None:
    arm = arms.load(_arm_id(run))
    _drain(run.session.arm_id, run)
    forking.open_writes(arm, run.session, exchanges.of_session(run.session_id))
    _drain(arm.id, run)
    with transaction.atomic():
        forking.carry_over(arm, run.session, run_id=run.pk)
        stages.finish(run)


def _forget(run: StageRun) -> None:
    """Once everything said is written: the session's own memories, then the verdicts, then the arm's next session may open."""
    arm = arms.load(_arm_id(run))
    _drain(arm.id, run)
    before = wishes.mark(run.session.participant_id)
    made = summarising.drafts(arm, run.session)
    with transaction.atomic():
        _hold(arm.id, run, before)
        summarising.consolidate(arm, run.session, made)
        verdicts, version = forgetting.judge(arm, run.session)
        forgetting.apply(arm, run.session, verdicts, version, run_id=run.pk)
        stages.finish(run)
        scheduling.arm_ready(arm.id, run.session.number + 1)


def _hold(arm_id: int, run: StageRun, before: wishes.Mark) -> None:
    """Lock the arm for the commit of what was made of its words.

    Raises:
        Changed: the participant took something back meanwhile: make it again.
    """
    remembering.lock(arm_id)
    if wishes.mark(run.session.participant_id) != before:
        raise Changed


def _answer(run: StageRun) -> None:
    answering.answer(arms.load(_arm_id(run)), run.session, _progress(run))
    stages.finish(run)


_STAGES: dict[str, Callable[[StageRun], None]] = {
    "score": _score,
    "summarise": _summarise,
    "fork": _fork,
    "forget": _forget,
    "answer": _answer,
}


def _arm_id(run: StageRun) -> int:
    if run.arm_id is None:
        raise ValueError(f"stage {run.stage} needs an arm")
    return run.arm_id


def _drain(arm_id: int, run: StageRun) -> None:
    """Write what is open of the sessions up to the run's own, here or by waiting for the worker that has it.

    Raises:
        Waiting: some are still open after a while.
    """
    deadline = time.monotonic() + DRAIN_S
    number = run.session.number
    while remembering.open_writes(arm_id, number):
        if not remembering.write_open(arm_id, exchanges.one):
            if time.monotonic() > deadline:
                raise Waiting(f"{remembering.open_writes(arm_id, number)} exchanges are still being written")
            time.sleep(0.1)
        if not stages.renew(run):
            raise stages.LeaseLost


def _progress(run: StageRun) -> Callable[[int, int], None]:
    return lambda done, total: stages.progress(run, done, total)


@shared_task  # type: ignore[untyped-decorator]  # celery ships no types
def sweep() -> None:
    """Every five seconds: what is due, what a worker let go of, what has passed its deadline.

    What fails is logged and holds nothing else up: the next sweep comes back to it.
    """
    _apart(stages.promote)
    _apart(_enqueue_stages)
    _apart(_enqueue_writes)
    _apart(_enqueue_refreshes)
    _apart(scheduling.sweep)


def _apart(act: Callable[[], object]) -> None:
    try:
        act()
    except Exception:  # whatever it is, the rest of the sweep goes on
        log.exception("%s failed in the sweep", getattr(act, "__name__", act))


def _enqueue_stages() -> None:
    for run_id, name in stages.due():
        _apart(partial(enqueue.stage, run_id, name))


def _enqueue_writes() -> None:
    for arm_id in remembering.arms_due():
        _apart(partial(enqueue.encode, arm_id))


def _enqueue_refreshes() -> None:
    for arm_id in refreshing.arms_due():
        _apart(partial(enqueue.refresh, arm_id))
