"""A small, bounded pool of threads for what is synchronous: recall, the session's moves, the page's own queries.

Each thread keeps its database connection; one that has died is dropped and the work, which is safe to repeat, is done again.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connections

P = ParamSpec("P")
T = TypeVar("T")


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.ENV.RECALL_THREADS, thread_name_prefix="chat")


async def run(act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`act(...)` in one of the pool's threads."""
    return await asyncio.get_running_loop().run_in_executor(_executor(), partial(_act, partial(act, *args, **kwargs)))


def _act(act: Callable[[], T]) -> T:
    try:
        return act()
    except (OperationalError, InterfaceError):
        connections.close_all()
        return act()


def close_connections() -> None:
    """Give every thread's connection back (for tests, which drop their database)."""
    executor = _executor()
    for _ in range(settings.ENV.RECALL_THREADS):
        executor.submit(connections.close_all).result()
