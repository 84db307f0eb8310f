"""The floor: what the machine gives without a product. A bare ASGI websocket that commits two INSERTs per message and streams 20 tokens."""

import json
import os
from typing import Any

from psycopg import AsyncConnection
from psycopg_pool import AsyncConnectionPool

TOKENS = 20
TABLE = "CREATE TABLE IF NOT EXISTS bench_turn (id bigserial PRIMARY KEY, client_id text, text text NOT NULL, at timestamptz NOT NULL DEFAULT now())"
INSERT = "INSERT INTO bench_turn (client_id, text) VALUES (%s, %s) RETURNING id"

_pool: AsyncConnectionPool[AsyncConnection[Any]] | None = None


async def _pooled() -> AsyncConnectionPool[AsyncConnection[Any]]:
    global _pool
    if _pool is None:
        size = int(os.environ.get("DB_POOL_SIZE", "6"))
        settings = {"autocommit": True, "prepare_threshold": 1}
        _pool = AsyncConnectionPool(os.environ["DATABASE_URL"], min_size=1, max_size=size, kwargs=settings, open=False)
        await _pool.open()
    return _pool


async def _insert(client_id: str | None, text: str) -> int:
    async with (await _pooled()).connection() as held:
        row = await (await held.execute(INSERT, (client_id, text))).fetchone()
    return int(row[0]) if row else 0


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})

    async def put(**frame: Any) -> None:
        await send({"type": "websocket.send", "text": json.dumps(frame)})

    while (event := await receive())["type"] != "websocket.disconnect":
        frame = json.loads(event["text"])
        if frame["type"] == "hello":
            await put(type="welcome")
            continue
        seq = await _insert(frame["client_id"], frame["text"])
        await put(type="ack", client_id=frame["client_id"], seq=seq)
        said = ""
        for number in range(TOKENS):
            piece = f"token{number} "
            await put(type="token", reply_to=seq, attempt=1, at=len(said), text=piece)
            said += piece
        reply = await _insert(None, said)
        await put(type="reply", seq=reply, reply_to=seq, text=said)
