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
from psycopg.pq import TransactionStatus
from psycopg.rows import class_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool
from pydantic_core import from_json

T = TypeVar("T")

# Under this name a process owns replies, holds sockets, and is reached by the others.
PROCESS = f"{socket.gethostname()[:40]}.{os.getpid()}.{secrets.token_hex(4)}"


class _Held:
    """The connections of one event loop.

    They are opened, and opened again, by psycopg's pool, from which each is borrowed once: lending one out for every statement would take as
    long as a third of the statement.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._source: AsyncConnectionPool[AsyncConnection[Any]] = AsyncConnectionPool(
            _conninfo(),
            min_size=1,
            max_size=size,
            timeout=30,
            kwargs={"autocommit": True, "prepare_threshold": 1},
            configure=_configure,
            open=False,
        )
        self._slots = asyncio.Semaphore(size)
        self._idle: list[AsyncConnection[Any]] = []

    async def open(self) -> None:
        await self._source.open()

    async def close(self) -> None:
        while self._idle:
            await self._source.putconn(self._idle.pop())
        await self._source.close()

    async def use(self, act: "Act", shape: type[Any], sql: str, values: "Values") -> Any:
        """Run `act` with a connection; `Dead`, if that turns out to be lost."""
        async with self._slots:
            held = self._idle.pop() if self._idle else await self._source.getconn()
            try:
                return await act(held, shape, sql, values)
            except (OperationalError, InterfaceError) as error:
                if held.closed or held.broken:
                    raise Dead from error
                raise
            finally:
                if held.pgconn.transaction_status == TransactionStatus.IDLE and not self._source.closed:
                    self._idle.append(held)
                else:  # lost, or left by a task that was cancelled in the middle
                    await self._source.putconn(held)


class Dead(Exception):
    """The connection was lost, and what was run on it may or may not have been done."""


_pools: dict[int, _Held] = {}


async def _configure(connection: AsyncConnection[Any]) -> None:
    """Few statements run here, each in one shape: a plan is made once, not for every new set of values."""
    set_json_loads(from_json, connection)
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    await connection.execute("SET jit = off")


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


async def _pool() -> _Held:
    loop = id(asyncio.get_running_loop())
    held = _pools.get(loop)
    if held is None:
        held = _pools[loop] = _Held(settings.ENV.DB_POOL_SIZE)
        await held.open()
    return held


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
    for _ in range(pool.size + 1):
        try:
            return await pool.use(act, shape, sql, values)
        except Dead:
            continue
    try:
        return await pool.use(act, shape, sql, values)
    except Dead as error:
        raise OperationalError("every connection is lost at once") from error


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
