"""The beginning and end of a web process, as ASGI servers announce them."""

from typing import Any

from chat import keeping


async def lifespan(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Start and stop what runs on a timer."""
    while True:
        event = await receive()
        if event["type"] == "lifespan.startup":
            keeping.start()
        else:
            await keeping.stop()
        await send({"type": f"{event['type']}.complete"})
        if event["type"] == "lifespan.shutdown":
            return
