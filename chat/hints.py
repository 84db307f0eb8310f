"""Telling the workers which memories to write: gathered for a moment, since sending a message costs more than storing a turn.

A hint that is lost with its process is given again by the sweep: the rows are the truth.
"""

import asyncio

from chat import threads
from studyplatform.study import enqueue

GATHER_S = 0.1  # a person reads the reply for longer than this, and the next message waits for what is open
TOGETHER = 16  # arms in one message: they are written one after the other

_due: dict[int, set[int]] = {}
_senders: set["asyncio.Task[None]"] = set()


def encode(arm_id: int) -> None:
    """There is something to be written into this arm's memory."""
    loop = asyncio.get_running_loop()
    due = _due.setdefault(id(loop), set())
    if not due:
        task = loop.create_task(_send(due))
        _senders.add(task)
        task.add_done_callback(_senders.discard)
    due.add(arm_id)


async def _send(due: set[int]) -> None:
    await asyncio.sleep(GATHER_S)
    arms = sorted(due)
    due.clear()
    for first in range(0, len(arms), TOGETHER):
        await threads.run(enqueue.encode, *arms[first : first + TOGETHER])
