"""What each web process does on a timer: keeps its leases, takes over replies whose writer died, tells browsers what changed.

It begins with the process (`chat.lifespan`) or with its first socket, whichever comes first.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from chat import occasions, pool, relay, replies, sockets, store, threads, turns
from chat.frames import Token
from studyplatform.llm import streaming

log = logging.getLogger(__name__)

PARTIAL_S = 0.5
RENEW_S = store.LEASE_S / 3
AT_ONCE = 20


@dataclass
class _Kept:
    """The timers of one event loop, and what they last saw of each watched session: (state, paused, turns)."""

    tasks: list["asyncio.Task[None]"] = field(default_factory=list)
    seen: dict[int, tuple[str, str]] = field(default_factory=dict)


_kept: dict[int, _Kept] = {}


def start() -> None:
    """Start the timers of this event loop; once is enough."""
    loop = asyncio.get_running_loop()
    if id(loop) in _kept:
        return
    kept = _kept[id(loop)] = _Kept()
    jobs: list[Awaitable[None]] = [
        _every(PARTIAL_S, keep_leases),
        _every(1, take_over),
        _every(2, lambda: tell_changes(kept)),
        _every(5, try_after_outage),
        _every(30, store.renew_connections),
        relay.listen(_relayed),
    ]
    kept.tasks = [loop.create_task(job) for job in jobs]  # type: ignore[arg-type]  # each is a coroutine


async def stop() -> None:
    """Stop, and let the next process begin at once with what is unfinished here."""
    kept = _kept.pop(id(asyncio.get_running_loop()), None)
    for task in [*(kept.tasks if kept else ()), *(w.task for w in replies.running())]:
        task.cancel()
    await asyncio.sleep(0)
    await store.give_up_leases()
    await streaming.close()
    await pool.close()


async def _every(seconds: float, act: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await act()
        except Exception as error:  # the database or the broker may be away for a while
            log.warning("%s: %s: %s", getattr(act, "__name__", "tell_changes"), type(error).__name__, error)


async def keep_leases() -> None:
    """Write down the text so far, and renew the leases, of the replies that take longer."""
    now = time.monotonic()
    for writing in replies.running():
        text, since = writing.reveal.text, now - writing.kept_at
        if writing.is_whole or since < PARTIAL_S or (text == writing.kept and since < RENEW_S):
            continue
        writing.kept, writing.kept_at = text, now
        is_ours = await store.renew(reply=writing.reply_id, attempt=writing.attempt, partial=text)
        if not is_ours and not writing.is_whole and replies.of(writing.occasion.id) is writing:
            writing.task.cancel()


async def take_over() -> None:
    """Write the replies whose writer died; not those over which one writer after the other does."""
    for claimed in await store.claim_expired(AT_ONCE):
        if claimed.attempt > store.MOST_ATTEMPTS:
            await replies.give_up(claimed)
        else:
            await replies.begin_claimed(claimed)


async def try_after_outage() -> None:
    """Where somebody waits here for an outage to end, try again."""
    watched = sockets.sessions()
    if watched:
        for claimed in await store.claim_after_outage(watched):
            await replies.begin_claimed(claimed)


async def tell_changes(kept: _Kept) -> None:
    """Tell browsers of what changed in their session elsewhere: ended, paused, going on."""
    watched = sockets.sessions()
    if not watched:
        return
    for session_id, standing in (await store.standings(watched)).items():
        now = (standing.state, standing.pause_reason)
        before = kept.seen.get(session_id)
        kept.seen[session_id] = now
        if now != (before or ("chatting", "")):
            occasion = await threads.run(occasions.load, session_id)
            sockets.show(session_id, turns.state_of(occasion, standing).model_dump_json())
    for gone in set(kept.seen) - set(watched):
        del kept.seen[gone]


async def _relayed(what: str, session_id: int, text: str) -> None:
    """Another process shows something here, or wants to watch a reply that is written here."""
    if what == "show":
        sockets.show(session_id, text)
        return
    writing = replies.of(session_id)
    if writing is not None and what == "watch":
        writing.others.add(text)
        reveal = writing.reveal
        whole = Token(reply_to=writing.reply_to, attempt=writing.attempt, at=0, text=reveal.text[: reveal.shown])
        relay.send(text, "show", session_id, whole.model_dump_json())
