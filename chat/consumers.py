"""The chat's door: a bare ASGI websocket application, without the hop through a thread that a consumer class makes per frame."""

import asyncio
import time
from http.cookies import SimpleCookie
from typing import Any

from pydantic import ValidationError

from chat import keeping, occasions, sockets, store, threads, turns
from chat.frames import Refused, from_browser
from chat.occasions import Occasion
from chat.sockets import Socket
from studyplatform.study import seats
from studyplatform.study.models import Session

MOST_BYTES = 200_000


async def chat(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """One websocket from its opening to its end. A stranger is turned away before it opens."""
    occasion = await threads.run(_occasion, scope)
    if occasion is None:
        await send({"type": "websocket.close", "code": 4404})
        return
    keeping.start()
    await receive()
    await send({"type": "websocket.accept"})
    socket = Socket(occasion.id, lambda text: send({"type": "websocket.send", "text": text}))
    sockets.add(socket)
    writer = asyncio.create_task(socket.write())
    row, event = await store.connected(occasion.id), dict[str, Any]()
    try:
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


def _occasion(scope: dict[str, Any]) -> Occasion | None:
    """The conversation in the address, if it belongs to who sits at this browser."""
    names = scope["url_route"]["kwargs"]
    cookies = SimpleCookie(b"; ".join(value for key, value in scope["headers"] if key == b"cookie").decode("latin-1"))
    participant = seats.participant_of({name: morsel.value for name, morsel in cookies.items()}, names["code"])
    session = participant and Session.objects.filter(participant=participant, code=names["session_code"]).first()
    return occasions.load(session.pk) if session else None
