"""HTTP/1.1 for the hot path: what one streamed reply needs, under httpx's client in place of its default transport.

The default one looks at every idle connection for every request and parses each chunk in several layers, which together takes
longer than everything else that a reply does here. Only what chat completions use is spoken: a request with a whole body, an
answer with a length, in chunks, or until the connection ends.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress

import httpx

MOST_IDLE = 100
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Stale(Exception):
    """A kept connection that the other side had closed: nothing was answered on it."""


class StreamTransport(httpx.AsyncBaseTransport):
    """Keeps connections open, per origin, in the event loop that made it."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, int], deque[_Streams]] = {}
        self._tls: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send, and read the answer's head; its body is read as it is asked for."""
        body = await request.aread()
        message = _head(request) + body
        limits = request.extensions.get("timeout", {})
        origin = (request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80))
        while self._idle.get(origin):
            streams = self._idle[origin].pop()
            with suppress(_Stale):
                return await self._exchange(origin, streams, message, limits.get("read"), is_kept=True)
        streams = await self._connect(request.url, origin, limits.get("connect"))
        return await self._exchange(origin, streams, message, limits.get("read"), is_kept=False)

    async def _connect(self, url: httpx.URL, origin: tuple[str, int], seconds: float | None) -> _Streams:
        if url.scheme == "https" and self._tls is None:
            self._tls = ssl.create_default_context()
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.open_connection(*origin, ssl=self._tls if url.scheme == "https" else None)
        except TimeoutError as error:
            raise httpx.ConnectTimeout(f"no connection to {origin[0]}:{origin[1]} within {seconds} s") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error

    async def _exchange(
        self, origin: tuple[str, int], streams: _Streams, message: bytes, seconds: float | None, *, is_kept: bool
    ) -> httpx.Response:
        reader, writer = streams
        try:
            writer.write(message)
            await writer.drain()
            async with asyncio.timeout(seconds):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError as error:
            writer.close()
            raise httpx.ReadTimeout(f"no answer within {seconds} s") from error
        except (OSError, asyncio.IncompleteReadError) as error:
            writer.close()
            if is_kept and not getattr(error, "partial", b""):
                raise _Stale from error
            raise httpx.RemoteProtocolError(f"the connection ended before an answer: {error}") from error
        except BaseException:
            writer.close()
            raise
        status, headers = _parse(head)
        return httpx.Response(status, headers=headers, stream=_Body(self, origin, streams, headers, seconds))

    def keep(self, origin: tuple[str, int], streams: _Streams) -> None:
        """Back to the idle ones, for the next request."""
        idle = self._idle.setdefault(origin, deque())
        if len(idle) < MOST_IDLE and not streams[0].at_eof():
            idle.append(streams)
        else:
            streams[1].close()

    async def aclose(self) -> None:
        for idle in self._idle.values():
            for _, writer in idle:
                writer.close()
        self._idle.clear()


class _Body(httpx.AsyncByteStream):
    """The body of one answer. Read to its end, its connection can be used again."""

    def __init__(
        self,
        transport: StreamTransport,
        origin: tuple[str, int],
        streams: _Streams,
        headers: list[tuple[bytes, bytes]],
        seconds: float | None,
    ) -> None:
        known = {name.lower(): value.lower() for name, value in headers}
        self._transport, self._origin, self._streams, self._seconds = transport, origin, streams, seconds
        self._chunked = b"chunked" in known.get(b"transfer-encoding", b"")
        self._length = int(known[b"content-length"]) if b"content-length" in known else None
        self._keeps = (self._chunked or self._length is not None) and known.get(b"connection") != b"close"
        self._is_open = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async with asyncio.timeout(self._seconds):
                async for part in self._chunks() if self._chunked else self._rest():
                    yield part
        except TimeoutError as error:
            raise httpx.ReadTimeout(f"no whole answer within {self._seconds} s") from error
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            raise httpx.RemoteProtocolError(f"the answer stopped before its end: {error}") from error
        if self._keeps:
            self._is_open = False
            self._transport.keep(self._origin, self._streams)

    async def _chunks(self) -> AsyncIterator[bytes]:
        reader = self._streams[0]
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield (await reader.readexactly(size + 2))[:-2]
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass

    async def _rest(self) -> AsyncIterator[bytes]:
        reader = self._streams[0]
        if self._length is not None:
            yield await reader.readexactly(self._length)
            return
        while part := await reader.read(65536):
            yield part

    async def aclose(self) -> None:
        if self._is_open:
            self._is_open = False
            self._streams[1].close()


def _head(request: httpx.Request) -> bytes:
    lines = [f"{request.method} ".encode() + request.url.raw_path + b" HTTP/1.1"]
    lines += [name + b": " + value for name, value in request.headers.raw]
    return b"\r\n".join([*lines, b"", b""])


def _parse(head: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
    first, *lines = head[:-4].split(b"\r\n")
    try:
        status = int(first.split(b" ", 2)[1])
    except (IndexError, ValueError) as error:
        raise httpx.RemoteProtocolError(f"this is no HTTP: {first[:80]!r}") from error
    pairs = (line.partition(b":") for line in lines)
    return status, [(name, value.strip()) for name, _, value in pairs]
