"""The beginning and end of a web process, as ASGI servers announce them."""

import gc
from typing import Any

from chat import keeping

# A collection per so many new containers: the default, 700, is a few messages' worth.
COLLECT_PER = 20_000


async def lifespan(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Start and stop what runs on a timer."""
    while True:
        event = await receive()
        if event["type"] == "lifespan.startup":
            keeping.start()
            settle()
        else:
            await keeping.stop()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return


def settle() -> None:
    """Spare the garbage collector what was loaded for good, and most of its visits: a full one stops every conversation for a while."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_PER, 10, 10)
