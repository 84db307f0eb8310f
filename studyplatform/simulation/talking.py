"""One chat over the websocket, as a browser holds it: acknowledged before it is believed, resumed after every break.

What was not acknowledged is sent again with the same client id, after a back-off.
"""

import asyncio
import json
import uuid
from collections.abc import Callable
from time import perf_counter
from typing import Protocol
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Origin

from studyplatform.simulation.pages import BACK_OFF_S, PATIENCE_S, Browser
from studyplatform.simulation.screen import Frame, Message, Screen, Timings

SILENCE_S = 20.0  # then a ping
ANSWER_S = 10.0  # to the ping, else the line is dead
TRIES = 10  # of one thing that is refused or fails


class TalkFault(Exception):
    """A chat cannot go on."""


class Speaker(Protocol):
    """What the person says next; None: nothing more, unless the study still asks for `turns_left` messages."""

    def line(self, index: int, turns_left: int) -> str | None: ...


class Conversation:
    """One session of one person.

    `think` gives the seconds before each message. `reconnects` counts the breaks that were mended.
    """

    def __init__(
        self, browser: Browser, socket_path: str, speaker: Speaker, timings: Timings, *, think: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.browser = browser
        self.path = socket_path
        self.speaker = speaker
        self.think = think
        self.screen = Screen(timings)
        self.spoken = 0
        self.reconnects = 0
        self._tries = 0

    async def hold(self) -> str:
        """Talk until the chat has ended; the address of the page that follows, empty where the server did not say.

        Raises:
            TalkFault: no connection for too long, or the server refuses what it must take.
        """
        loop = asyncio.get_running_loop()
        failures, since = 0, loop.time()
        while self.screen.next is None:
            try:
                async with self._connect() as socket:
                    await self._send(socket, self.screen.hello())
                    while self.screen.next is None:
                        await self._take(socket, await self._receive(socket))
            except (ConnectionClosed, InvalidHandshake, OSError, TimeoutError) as error:
                if self.screen.welcomed:
                    failures, since, self.screen.welcomed = 0, loop.time(), False
                if loop.time() - since > PATIENCE_S:
                    raise TalkFault(f"{self.path}: no connection for {PATIENCE_S:.0f} s ({type(error).__name__}: {error})") from error
                await asyncio.sleep(BACK_OFF_S[min(failures, len(BACK_OFF_S) - 1)])
                failures += 1
                self.reconnects += 1
        return self.screen.next

    def _connect(self) -> connect:
        site = urlsplit(self.browser.site)
        scheme = "wss" if site.scheme == "https" else "ws"
        return connect(
            f"{scheme}://{site.netloc}{self.path}",
            origin=Origin(self.browser.site),
            additional_headers={"Cookie": self.browser.cookies_for(self.path)},
            open_timeout=15,
            ping_interval=None,
            max_size=2**22,
            proxy=None,
        )

    async def _receive(self, socket: ClientConnection) -> Frame:
        try:
            raw = await asyncio.wait_for(socket.recv(), SILENCE_S)
        except TimeoutError:
            await self._send(socket, {"type": "ping"})
            raw = await asyncio.wait_for(socket.recv(), ANSWER_S)
        frame: Frame = json.loads(raw)
        return frame

    @staticmethod
    async def _send(socket: ClientConnection, frame: Frame) -> None:
        await socket.send(json.dumps(frame))

    async def _take(self, socket: ClientConnection, frame: Frame) -> None:
        kind, screen, now = frame["type"], self.screen, perf_counter()
        if kind == "token":
            if not screen.token(frame, now):
                await self._send(socket, screen.hello())
        elif kind == "ack":
            screen.ack(frame["client_id"], frame["seq"], now)
        elif kind in ("turn", "reply"):
            screen.turn(frame, now)
            self._tries = 0
            await self._go_on(socket)
        elif kind == "welcome":
            screen.welcome(frame)
            await self._pick_up(socket)
        elif kind == "state":
            screen.see_state(frame)
        elif kind == "ended":
            screen.next = frame["next"]
        elif kind in ("refused", "failed"):
            await self._set_back(socket, frame)

    async def _pick_up(self, socket: ClientConnection) -> None:
        """After a connection was made: say again what was not stored, ask again for a reply that nobody is writing."""
        message = self.screen.message
        if self.screen.next is not None or self.screen.pending:
            return
        if message is not None and message.seq is None:
            await self._say(socket, message)
        elif message is not None or self.screen.stalled:
            await self._send(socket, {"type": "retry", "reply_to": message.seq if message else None})
        else:
            await self._go_on(socket)

    async def _go_on(self, socket: ClientConnection) -> None:
        """When every message has its reply: the next line, or finish."""
        screen = self.screen
        if screen.next is not None or screen.message is not None or screen.pending or not screen.opened:
            return
        if wait := self.think():
            await asyncio.sleep(wait)
        text = self.speaker.line(self.spoken, screen.turns_left)
        if text is None:
            await self._send(socket, {"type": "finish"})
            return
        self.spoken += 1
        screen.message = Message(uuid.uuid4().hex, text)
        await self._say(socket, screen.message)

    async def _say(self, socket: ClientConnection, message: Message) -> None:
        message.sent_again = message.sent_at > 0
        message.sent_at = perf_counter()
        await self._send(socket, {"type": "say", "client_id": message.client_id, "text": message.text})

    async def _set_back(self, socket: ClientConnection, frame: Frame) -> None:
        """Refused or failed: wait a little, then do the same again; a closed chat is left."""
        screen = self.screen
        code = frame["code"]
        if code == "closed":
            screen.next = screen.next or ""
            return
        self._tries += 1
        given_up = self._tries > TRIES or not frame.get("retryable", code in ("busy", "paused", "not_yet"))
        if given_up:
            raise TalkFault(f"{self.path}: {frame['type']} {frame.get('ref', frame.get('reply_to'))}: {code}")
        await asyncio.sleep(BACK_OFF_S[min(self._tries, len(BACK_OFF_S)) - 1])
        if frame["type"] == "failed":
            screen.fail()
            await self._send(socket, {"type": "retry", "reply_to": frame["reply_to"]})
        elif screen.message is not None and screen.message.seq is None:
            await self._say(socket, screen.message)
        else:
            await self._go_on(socket)
