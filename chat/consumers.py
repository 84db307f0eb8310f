"""The chat's door: a bare ASGI websocket application, without the hop through a thread that a consumer class makes per frame."""

import asyncio
import time
from typing import Any

from pydantic import ValidationError

from chat import keeping, occasions, sockets, store, threads, turns
from chat.frames import Refused, from_browser
from chat.occasions import Occasion
from chat.sockets import Socket

MOST_BYTES = 200_000


async def chat(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """One websocket from its opening to its end. A stranger is turned away before it opens."""
    cookies = b"; ".join(value for key, value in scope["headers"] if key == b"cookie").decode("latin-1")
    occasion = await threads.run(occasions.seated, cookies, **scope["url_route"]["kwargs"])
    if occasion is None:
        await send({"type": "websocket.close", "code": 4404})
        return
    keeping.start()
    await receive()
    await send({"type": "websocket.accept"})
    socket = Socket(occasion.id, lambda text: send({"type": "websocket.send", "text": text}))
    sockets.add(socket)
    writer = asyncio.create_task(socket.write())
    row, event = 0, dict[str, Any]()
    try:
        row = await store.connected(occasion.id)
        while not socket.gone and (event := await receive())["type"] != "websocket.disconnect":
            await _take(occasion, socket, event.get("text") or "")
    finally:
        sockets.remove(socket)
        writer.cancel()
        reason = event.get("reason") or ("does not read" if socket.gone else "")
        await asyncio.shield(store.disconnected(row, code=event.get("code"), reason=reason))


async def _take(occasion: Occasion, socket: Socket, text: str) -> None:
    arrived = time.perf_counter()
    try:
        frame = from_browser.validate_json(text if len(text) <= MOST_BYTES else "")
    except ValidationError:
        socket.put(Refused(ref="", code="bad_frame"))
        return
    await turns.act(occasion, socket, frame, arrived=arrived)
