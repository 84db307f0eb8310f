"""The load: people on websockets who type as fast as they are answered (closed loop), or once in a while (open loop)."""

import asyncio
import json
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

TEXTS = (
    "I work as a bicycle mechanic in a small town by a river.",
    "My sister moved in with me last month, together with her parrot Biscuit.",
    "I am learning to bake rye bread, but the crust is always too hard.",
    "In spring I want to ride the whole coast road on my old green tandem.",
    "On Thursdays I sing in a choir, we practise a piece by a Norwegian composer.",
    "My favourite place is the old lighthouse, nobody goes there in winter.",
)
GRACE_S = 15.0


@dataclass(frozen=True)
class Seat:
    """Where one person sits: the socket's address and the cookie that opens it."""

    url: str
    cookie: str = ""


@dataclass
class Sample:
    """Times in ms. `ack` from sending; `first_token` and `reply` from the ack."""

    ack: list[float] = field(default_factory=list)
    first_token: list[float] = field(default_factory=list)
    reply: list[float] = field(default_factory=list)
    sent: int = 0
    finished: int = 0
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Someone:
    """One person. Messages are counted only while `counting`."""

    def __init__(self, seat: Seat, sample: Sample, number: int) -> None:
        self.seat = seat
        self.sample = sample
        self.number = number
        self.said = 0
        self.socket: ClientConnection | None = None

    async def sit_down(self) -> None:
        origin = "http://" + self.seat.url.split("/")[2]
        self.socket = await connect(
            self.seat.url, origin=origin, additional_headers={"Cookie": self.seat.cookie}, ping_interval=None, max_size=2**22, proxy=None,
            compression=None, open_timeout=60,
        )  # fmt: skip
        await self.socket.send('{"type":"hello","last_seq":0,"have":null}')
        while (frame := await self._frame())["type"] != "welcome":
            pass
        if "turns" in frame and not frame["turns"]:  # the bot speaks first
            while (await self._frame())["type"] != "reply":
                pass

    async def _frame(self) -> dict[str, Any]:
        assert self.socket is not None
        frame: dict[str, Any] = json.loads(await asyncio.wait_for(self.socket.recv(), 60))
        return frame

    async def leave(self) -> None:
        if self.socket is not None:
            await self.socket.close()

    async def say(self, *, counting: bool) -> bool:
        """Send one message and wait for its whole reply; False on an error."""
        assert self.socket is not None
        text = TEXTS[(self.number + self.said) % len(TEXTS)]
        self.said += 1
        client_id = uuid.uuid4().hex
        sent = perf_counter()
        self.sample.sent += counting
        await self.socket.send(f'{{"type":"say","client_id":"{client_id}","text":"{text}"}}')
        acked = first = 0.0
        seq: int | None = None
        while True:
            raw = str(await asyncio.wait_for(self.socket.recv(), 60))
            now = perf_counter()
            kind = raw[:24]
            if '"token"' in kind:
                if not first and seq is not None:
                    first = now
            elif '"ack"' in kind:
                acked, seq = now, json.loads(raw)["seq"]
            elif '"reply"' in kind:
                if seq is not None and json.loads(raw)["reply_to"] == seq:
                    break
            elif '"refused"' in kind or '"failed"' in kind:
                self.sample.errors.append(raw[:200])
                return False
        if counting:
            self.sample.finished += 1
            self.sample.ack.append((acked - sent) * 1000)
            self.sample.first_token.append(((first or now) - acked) * 1000)
            self.sample.reply.append((now - acked) * 1000)
        return True


async def _seated(seats: Sequence[Seat], sample: Sample) -> list[Someone]:
    people = [Someone(seat, sample, number) for number, seat in enumerate(seats)]
    for start in range(0, len(people), 20):
        await asyncio.gather(*(person.sit_down() for person in people[start : start + 20]))
    return people


async def closed_loop(seats: Sequence[Seat], *, warm_s: float, seconds: float) -> Sample:
    """Everybody sends the next message as soon as the last one is answered. Only what is sent after `warm_s` counts."""
    sample = Sample()
    people = await _seated(seats, sample)
    begin = perf_counter() + warm_s
    end = begin + seconds

    async def talk(person: Someone) -> None:
        try:
            while (now := perf_counter()) < end:
                if not await person.say(counting=now >= begin):
                    return
        except Exception as error:
            sample.errors.append(f"{type(error).__name__}: {error}")

    await asyncio.gather(*(talk(person) for person in people))
    sample.seconds = max(seconds, perf_counter() - begin)
    await asyncio.gather(*(person.leave() for person in people))
    return sample


async def open_loop(seats: Sequence[Seat], *, every_s: float, seconds: float, seed: int) -> Sample:
    """Everybody sends a message each `every_s`, whatever the server does; who is still unanswered waits, and is late from then on."""
    sample = Sample()
    people = await _seated(seats, sample)
    rng = random.Random(seed)
    start = perf_counter()

    async def talk(person: Someone, phase: float) -> None:
        due = start + phase
        try:
            while due < start + seconds:
                await asyncio.sleep(max(0.0, due - perf_counter()))
                if not await person.say(counting=True):
                    return
                due += every_s
        except Exception as error:
            sample.errors.append(f"{type(error).__name__}: {error}")

    talks = [asyncio.create_task(talk(person, rng.uniform(0, every_s))) for person in people]
    await asyncio.wait(talks, timeout=seconds + GRACE_S)
    for task in talks:
        task.cancel()
    sample.seconds = seconds
    await asyncio.gather(*(person.leave() for person in people), return_exceptions=True)
    return sample
