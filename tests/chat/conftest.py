"""A real web process for the chat's tests, and a browser's side of its websocket."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.db import connection
from websockets.asyncio.client import ClientConnection, connect

from studyplatform.study import seats, sessions
from studyplatform.study.models import Participant, Session
from tests.cast import make_study, person
from tests.scripted_server import Scripted, free_port

Frame = dict[str, Any]


@dataclass
class Web:
    """One web process, on one port, over the test database. It can be killed, and started again on the same port."""

    env: dict[str, str]
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Web":
        command = [sys.executable, "-m", "uvicorn", "studyplatform.asgi:application", "--port", str(self.port), "--log-level", "warning"]
        self.process = subprocess.Popen(command, cwd=settings.BASE_DIR, env=self.env)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            try:
                httpx.get(self.site + "/static/look.css", timeout=2)
            except httpx.HTTPError:
                time.sleep(0.1)
            else:
                return self
        self.kill()
        raise RuntimeError("the web process did not start within 120 s")

    def kill(self) -> None:
        """As a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(20)
            self.process = None


def _env() -> dict[str, str]:
    wanted = connection.settings_dict
    where = f"{wanted['USER']}:{wanted['PASSWORD']}@{wanted['HOST']}:{wanted['PORT']}"
    return {**os.environ, "DATABASE_URL": f"postgresql://{where}/{wanted['NAME']}", "SCRIPTED_URL": settings.ENV.SCRIPTED_URL}


@pytest.fixture(scope="module")
def web(django_db_setup: None, scripted: Scripted) -> Iterator[Web]:
    web = Web(_env()).start()
    yield web
    web.kill()


@pytest.fixture
def another_web(transactional_db: None, scripted: Scripted) -> Iterator[Web]:
    """A web process of this test's own."""
    web = Web(_env()).start()
    yield web
    web.kill()


@dataclass
class Tab:
    """One open page of a conversation: sends frames, and remembers all that came."""

    socket: ClientConnection
    seen: list[Frame] = field(default_factory=list)

    async def send(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))

    async def take(self, seconds: float = 20) -> Frame:
        frame: Frame = json.loads(await asyncio.wait_for(self.socket.recv(), seconds))
        self.seen.append(frame)
        return frame

    async def until(self, kind: str, seconds: float = 20, **fields: Any) -> Frame:
        """The next frame of this kind, with these fields."""
        async with asyncio.timeout(seconds):
            while True:
                frame = await self.take(seconds)
                if frame["type"] == kind and all(frame[k] == v for k, v in fields.items()):
                    return frame
                assert kind != "reply" or frame["type"] != "failed", frame

    async def hello(self, last_seq: int = 0) -> Frame:
        await self.send(type="hello", last_seq=last_seq)
        return await self.until("welcome")

    async def begin(self) -> Frame:
        """Say hello and wait for the opener."""
        welcome = await self.hello()
        if not welcome["turns"]:
            return await self.until("reply")
        return welcome["turns"][-1]  # type: ignore[no-any-return]  # JSON

    async def say(self, text: str, client_id: str | None = None) -> Frame:
        """Say something; the ack or the refusal."""
        ref = client_id or uuid.uuid4().hex
        await self.send(type="say", client_id=ref, text=text)
        while True:
            frame = await self.take()
            if ref in (frame.get("client_id"), frame.get("ref")):
                return frame

    async def talk(self, text: str) -> Frame:
        """Say something and hear the reply."""
        ack = await self.say(text)
        assert ack["type"] == "ack", ack
        return await self.until("reply", reply_to=ack["seq"])


@asynccontextmanager
async def tab(web: Web, participant: Participant, session: Session) -> AsyncIterator[Tab]:
    """Open a page of this person's conversation."""
    headers = {"Cookie": f"{seats.COOKIE}={seats.cookie_of(participant)}"}
    address = f"ws://127.0.0.1:{web.port}/p/{participant.code}/s/{session.code}/ws"
    async with connect(address, additional_headers=headers, origin="http://127.0.0.1", open_timeout=20, ping_interval=None) as socket:  # type: ignore[arg-type]  # a plain string is an origin
        yield Tab(socket)


@pytest.fixture
def ana(transactional_db: None, script: Scripted) -> Participant:
    """A participant who may begin her first conversation."""
    return person(make_study("two", sessions="min_minutes = 0"))


@pytest.fixture
def first(ana: Participant) -> Session:
    """Her first conversation, begun."""
    return begun(ana)


def begun(participant: Participant) -> Session:
    """The participant's first conversation, begun as the home page does it."""
    session = Session.objects.select_related("participant__study", "arm").get(participant=participant, position=1)
    assert sessions.begin(session)
    return session


@pytest.fixture
def somebody(transactional_db: None, script: Scripted) -> Callable[..., tuple[Participant, Session]]:
    """One more person, in a study of their own, with changes as for `tests.cast.study_toml`."""

    def make(simulated: bool = False, **changes: Any) -> tuple[Participant, Session]:
        study = make_study("two", slug=f"own-{uuid.uuid4().hex[:8]}", simulated=simulated, **changes)
        participant = person(study)
        return participant, begun(participant)

    return make
