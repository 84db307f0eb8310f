"""HTTP/1.1 for the hot path: what one streamed reply needs, on connections that are kept open.

A general client looks at every idle connection for each request, builds and normalises URLs, headers and cookies, and parses each
chunk in several layers, which together takes longer than everything else that a reply does here. Only what chat completions use is
spoken: a request with a whole body, an answer with a length, in chunks, or until the connection ends. The caller limits the time.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

MOST_IDLE = 100
LONGEST_LINE = 1000  # of a chunk's size
_BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError)
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NoConnection(Exception):
    """Nobody answers at that address."""


class Broken(Exception):
    """The answer stopped before its end, or is no HTTP."""


class _Stale(Exception):
    """A kept connection that the other side had closed: nothing was answered on it."""


@dataclass(frozen=True)
class _Target:
    """Where a URL leads, and the request's first lines."""

    host: str
    port: int
    is_tls: bool
    head: bytes


@lru_cache(maxsize=64)
def _target(url: str) -> _Target:
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"
    return _Target(parts.hostname or "", parts.port or (443 if is_tls else 80), is_tls, head.encode("ascii"))


class Connections:
    """Open connections by their target, in the event loop that made them."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], deque[_Streams]] = {}
        self._tls: ssl.SSLContext | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, *, connect_s: float) -> "Answer":
        """Send, and read the answer's head; its body is read as it is asked for. The caller closes the answer.

        Raises:
            NoConnection: nobody is there. TimeoutError: nobody within `connect_s`. Broken: no answer, or none that is HTTP.
        """
        target = _target(url)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        message = b"%s%sContent-Length: %d\r\n\r\n%s" % (target.head, lines.encode("latin-1"), len(body), body)
        idle = self._idle.setdefault((target.host, target.port), deque())
        while idle:
            with suppress(_Stale):
                return await _exchange(idle, idle.pop(), message, is_kept=True)
        return await _exchange(idle, await self._connect(target, connect_s), message, is_kept=False)

    async def _connect(self, target: _Target, seconds: float) -> _Streams:
        if target.is_tls and self._tls is None:
            self._tls = ssl.create_default_context()
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.open_connection(target.host, target.port, ssl=self._tls if target.is_tls else None)
        except TimeoutError:
            raise
        except OSError as error:
            raise NoConnection(str(error)) from error

    def close(self) -> None:
        for idle in self._idle.values():
            for _, writer in idle:
                writer.close()
        self._idle.clear()


_of_loop: dict[int, Connections] = {}


def here() -> Connections:
    """The running loop's connections."""
    return _of_loop.setdefault(id(asyncio.get_running_loop()), Connections())


async def close() -> None:
    """Close the connections of the running loop."""
    mine = _of_loop.pop(id(asyncio.get_running_loop()), None)
    if mine:
        mine.close()


async def _exchange(idle: deque[_Streams], streams: _Streams, message: bytes, *, is_kept: bool) -> "Answer":
    reader, writer = streams
    try:
        writer.write(message)
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
        return Answer(idle, streams, head)
    except _BROKEN as error:
        writer.close()
        if is_kept and isinstance(error, OSError | asyncio.IncompleteReadError) and not getattr(error, "partial", b""):
            raise _Stale from error
        raise Broken(f"no answer that is HTTP: {error}") from error
    except BaseException:
        writer.close()
        raise


class Answer:
    """One answer, whose body is still on its way. Read to its end, its connection is used again; otherwise `close` ends it."""

    def __init__(self, idle: deque[_Streams], streams: _Streams, head: bytes) -> None:
        first, *lines = head[:-4].split(b"\r\n")
        self.status = int(first.removeprefix(b"HTTP/1.").split(b" ", 2)[1] if first.startswith(b"HTTP/1.") else b"")
        known = {name.lower(): value.strip().lower() for name, _, value in (line.partition(b":") for line in lines)}
        self._idle, self._streams = idle, streams
        self._is_chunked = b"chunked" in known.get(b"transfer-encoding", b"")
        self._length = int(known[b"content-length"]) if b"content-length" in known else None
        self._keeps = (self._is_chunked or self._length is not None) and known.get(b"connection") != b"close"
        self._is_open = True

    async def parts(self) -> AsyncIterator[bytes]:
        """The body, as it comes.

        Raises:
            Broken: it stopped before its end.
        """
        try:
            async for part in self._chunks() if self._is_chunked else self._rest():
                yield part
        except _BROKEN as error:
            raise Broken(f"the answer stopped before its end: {error}") from error
        if self._keeps and len(self._idle) < MOST_IDLE and not self._streams[0].at_eof():
            self._is_open = False
            self._idle.append(self._streams)

    async def whole(self) -> bytes:
        """All of the body."""
        return b"".join([part async for part in self.parts()])

    async def _chunks(self) -> AsyncIterator[bytes]:
        reader, held, is_over = self._streams[0], b"", False
        while not is_over:
            if not (read := await reader.read(65536)):
                raise asyncio.IncompleteReadError(held, None)
            body, held, is_over = _unpacked(held + read)
            if body:
                yield body
        self._keeps = self._keeps and not held

    async def _rest(self) -> AsyncIterator[bytes]:
        reader = self._streams[0]
        if self._length is not None:
            yield await reader.readexactly(self._length)
            return
        while part := await reader.read(65536):
            yield part

    def close(self) -> None:
        """The connection ends, if its answer was not read whole."""
        if self._is_open:
            self._is_open = False
            self._streams[1].close()


def _unpacked(held: bytes) -> tuple[bytes, bytes, bool]:
    """The chunks that are whole, joined; what is left; and whether the last one was among them, with what may follow it.

    Raises:
        ValueError: these are no chunks.
    """
    bodies: list[bytes] = []
    at = 0
    while (end := held.find(b"\r\n", at, at + LONGEST_LINE)) >= 0:
        size = int(held[at:end].split(b";")[0], 16)
        if size == 0:
            last = held.find(b"\r\n\r\n", end)
            return b"".join(bodies), held[last + 4 :] if last >= 0 else held[at:], last >= 0
        if size < 0:
            raise ValueError("a chunk of a negative size")
        if len(held) < end + 2 + size + 2:
            break
        bodies.append(held[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    if end < 0 and len(held) - at >= LONGEST_LINE:
        raise ValueError("a chunk without a size")
    return b"".join(bodies), held[at:], False
