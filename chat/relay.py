"""Between web processes: frames for sockets that another process holds, through the channel layer.

Who holds sockets of a session is in the database (`Connection`), so that nothing is sent where nobody listens. Frames travel in
batches, 100 ms apart, in order. A lost batch is no loss of data: a browser that hears nothing asks again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from channels.layers import get_channel_layer

from chat.pool import PROCESS

log = logging.getLogger(__name__)

EVERY_S = 0.1
Item = tuple[str, int, str]
_outgoing: dict[str, list[Item]] = {}
_sender: set[asyncio.Task[None]] = set()


def send(process: str, what: str, session_id: int, text: str) -> None:
    """Send to another process, with the next batch. `what`: `show` a frame, or `watch`: tell me, `text`, about this session."""
    _outgoing.setdefault(process, []).append((what, session_id, text))
    if not _sender:
        task = asyncio.get_running_loop().create_task(_send())
        _sender.add(task)
        task.add_done_callback(_sender.discard)


async def _send() -> None:
    layer: Any = get_channel_layer()
    while _outgoing:
        await asyncio.sleep(EVERY_S)
        batches = dict(_outgoing)
        _outgoing.clear()
        for process, items in batches.items():
            try:
                await layer.group_send(group_of(process), {"type": "relayed", "items": items})
            except Exception as error:  # any failure of the broker, whose client has many: browsers ask again
                log.warning("could not relay %d frames: %s", len(items), error)


def group_of(process: str) -> str:
    return f"web.{process}"[:99]


async def listen(act: Callable[[str, int, str], Awaitable[None]]) -> None:
    """Hand what other processes send to `act(what, session_id, text)`, for as long as this process lives."""
    layer: Any = get_channel_layer()
    while True:
        try:
            channel = await layer.new_channel()
            await layer.group_add(group_of(PROCESS), channel)
            while True:
                message = await layer.receive(channel)
                for what, session_id, text in message["items"]:
                    await act(what, session_id, text)
        except Exception as error:  # any failure of the broker: begin again
            log.warning("the relay lost its broker, trying again: %s", error)
            await asyncio.sleep(1)
