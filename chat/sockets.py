"""The websockets that this process holds, by session.

A socket never makes a reply wait: frames are put into its queue and written by its own task, in order. Until its `welcome`
has gone out, a socket holds back what happens meanwhile, so that nothing falls between the reading of the past and the present.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from chat.frames import Frame

Write = Callable[[str], Awaitable[None]]

# A browser that does not read for this many frames has gone; it catches up from the database when it is back.
MOST_WAITING = 2000


class Socket:
    """One open websocket."""

    def __init__(self, session_id: int, write: Write) -> None:
        self.session_id = session_id
        self.gone = False
        self._write = write
        self._waiting: deque[str] = deque()
        self._held: deque[str] | None = deque()
        self._woken = asyncio.Event()

    def put(self, *frames: Frame) -> None:
        """Send to this socket, at once."""
        for frame in frames:
            self._queue(frame.model_dump_json())

    def show(self, text: str) -> None:
        """Send what happened in the session; held back before the welcome."""
        if self._held is not None:
            self._held.append(text)
        else:
            self._queue(text)

    def hold(self) -> None:
        """A new welcome is on its way."""
        if self._held is None:
            self._held = deque()

    def welcome(self, frame: Frame) -> None:
        """The past, then what was held back."""
        held, self._held = self._held or deque(), None
        self.put(frame)
        for text in held:
            self._queue(text)

    def _queue(self, text: str) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self.gone = True
        self._waiting.append(text)
        self._woken.set()

    async def write(self) -> None:
        """Write what is put, until the socket is gone."""
        while not self.gone:
            await self._woken.wait()
            self._woken.clear()
            try:
                while self._waiting:
                    await self._write(self._waiting.popleft())
            except OSError:  # the browser has gone; its end is on its way through the door
                self.gone = True


_open: dict[int, set[Socket]] = {}


def add(socket: Socket) -> None:
    _open.setdefault(socket.session_id, set()).add(socket)


def remove(socket: Socket) -> None:
    mine = _open.get(socket.session_id, set())
    mine.discard(socket)
    if not mine:
        _open.pop(socket.session_id, None)


def of(session_id: int) -> Iterable[Socket]:
    return _open.get(session_id, ())


def sessions() -> list[int]:
    """Sessions that somebody watches here."""
    return list(_open)


def show(session_id: int, text: str, *, but: Socket | None = None) -> None:
    """Put a frame into every socket of the session here, except `but`."""
    for socket in of(session_id):
        if socket is not but:
            socket.show(text)
