"""The work that Celery's workers do, done here by a thread while a test's people walk: the same rows, the same functions, no broker."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from memory import refreshing, remembering
from studyplatform import jobs
from studyplatform.study import scheduling, stages

IDLE_S = 0.2


def work_once() -> int:
    """Everything that is due now; how many things that were."""
    stages.promote()
    done = 0
    for arm_id in remembering.arms_due():
        jobs.encode(arm_id)
        done += 1
    for arm_id in refreshing.arms_due():
        jobs.refresh(arm_id)
        done += 1
    for run_id, _ in stages.due():
        jobs.run_stage(run_id)
        done += 1
    scheduling.sweep()
    return done


def work_all() -> None:
    """Until nothing is due."""
    while work_once():
        pass


@contextmanager
def working() -> Iterator[None]:
    """A worker beside the test."""
    over = threading.Event()

    def go() -> None:
        try:
            while not over.is_set():
                if not work_once():
                    over.wait(IDLE_S)
        finally:
            connection.close()

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(60)
