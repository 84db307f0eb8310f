"""Asynchronous connections to the database for the chat's hot path, one small pool per event loop.

Statements run in autocommit: one statement is one transaction and one round trip. A connection that the server has closed is
found out by using it, so whatever runs here must be safe to run again (every statement of `chat.store` is).
"""

import asyncio
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from psycopg import AsyncConnection, InterfaceError, OperationalError
from psycopg.conninfo import make_conninfo
from psycopg.rows import class_row
from psycopg_pool import AsyncConnectionPool

T = TypeVar("T")

# Under this name a process owns replies, holds sockets, and is reached by the others.
PROCESS = f"{socket.gethostname()[:40]}.{os.getpid()}.{secrets.token_hex(4)}"

_pools: dict[int, AsyncConnectionPool[AsyncConnection[Any]]] = {}


def _conninfo() -> str:
    """Django's own database, also the one that the tests put in its place."""
    wanted = connection.settings_dict
    parts = {
        "dbname": wanted["NAME"],
        "user": wanted["USER"],
        "password": wanted["PASSWORD"],
        "host": wanted["HOST"],
        "port": wanted["PORT"],
    }
    return make_conninfo("", **{k: v for k, v in parts.items() if v})


async def _pool() -> AsyncConnectionPool[AsyncConnection[Any]]:
    loop = id(asyncio.get_running_loop())
    if loop not in _pools:
        pool = AsyncConnectionPool(
            _conninfo(),
            min_size=1,
            max_size=settings.ENV.DB_POOL_SIZE,
            timeout=30,
            kwargs={"autocommit": True, "prepare_threshold": 1},
            open=False,
        )
        _pools[loop] = pool
        await pool.open()
    return _pools[loop]


async def close() -> None:
    """Close the running loop's pool."""
    pool = _pools.pop(id(asyncio.get_running_loop()), None)
    if pool:
        await pool.close()


Values = Mapping[str, Any] | Sequence[Any]
Act = Callable[[AsyncConnection[Any], type[Any], str, Values], Awaitable[Any]]


async def _again(act: Act, shape: type[Any], sql: str, values: Values) -> Any:
    """Run `act` with a connection; once more for each connection of the pool that turns out to be dead."""
    pool = await _pool()
    for tries_left in range(settings.ENV.DB_POOL_SIZE + 1, -1, -1):
        async with pool.connection() as held:
            try:
                return await act(held, shape, sql, values)
            except (OperationalError, InterfaceError):
                if not (held.closed or held.broken) or not tries_left:
                    raise
    raise AssertionError("the last try returns or raises")


async def _first(held: AsyncConnection[Any], shape: type[Any], sql: str, values: Values) -> Any:
    async with held.cursor(row_factory=class_row(shape)) as cursor:
        await cursor.execute(sql, values)
        return await cursor.fetchone()


async def _all(held: AsyncConnection[Any], shape: type[Any], sql: str, values: Values) -> Any:
    async with held.cursor(row_factory=class_row(shape)) as cursor:
        await cursor.execute(sql, values)
        return await cursor.fetchall()


async def _rows(held: AsyncConnection[Any], shape: type[Any], sql: str, values: Values) -> Any:
    return await (await held.execute(sql, values)).fetchall()


async def _count(held: AsyncConnection[Any], shape: type[Any], sql: str, values: Values) -> Any:
    return (await held.execute(sql, values)).rowcount


async def one(shape: type[T], sql: str, values: Mapping[str, Any]) -> T | None:
    """The first row as `shape`, whose fields are the columns; None without a row."""
    found: T | None = await _again(_first, shape, sql, values)
    return found


async def many(shape: type[T], sql: str, values: Mapping[str, Any]) -> list[T]:
    """All rows as `shape`."""
    found: list[T] = await _again(_all, shape, sql, values)
    return found


async def rows(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All rows as they are; JSON is read, and times are left to the statement to turn into numbers."""
    found: list[tuple[Any, ...]] = await _again(_rows, object, sql, values)
    return found


async def run(sql: str, values: Mapping[str, Any]) -> int:
    """Execute; the number of rows that changed."""
    return int(await _again(_count, object, sql, values))
