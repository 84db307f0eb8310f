"""All calls into Celery. Rows are the truth; these messages are hints, sent after the commit that made them true."""

import logging

from django.db import transaction
from kombu.exceptions import OperationalError

from studyplatform.celery import app

log = logging.getLogger(__name__)

# A hint that nobody took in this time is dropped: the sweep repeats it every few seconds, and must not fill the queue.
EXPIRES_S = 60

# Which queue a stage runs on; the workers that listen to each are in docker-compose.yml and studyplatform/stack.
QUEUE_OF_STAGE = {
    "score": "gpu",
    "summarise": "llm",
    "fork": "default",
    "forget": "default",
    "answer": "llm",
}


def _send(task: str, args: list[object], queue: str) -> None:
    try:
        app.send_task(f"studyplatform.jobs.{task}", args=args, queue=queue, retry=False, expires=EXPIRES_S)
    except (
        OperationalError,
        OSError,
    ) as error:  # the row stays due: the sweep sends it again
        log.warning("could not enqueue %s%r, the sweep will: %s", task, args, error)


def encode(*arm_ids: int) -> None:
    """Write the open memory writes of these arms, each arm's in order."""
    transaction.on_commit(lambda: _send("encode", [*arm_ids], "default"))


def stage(run_id: int, name: str) -> None:
    """Run one stage."""
    transaction.on_commit(lambda: _send("run_stage", [run_id], QUEUE_OF_STAGE[name]))


def refresh(arm_id: int) -> None:
    """Make an arm's stale summaries anew."""
    transaction.on_commit(lambda: _send("refresh", [arm_id], "llm"))
