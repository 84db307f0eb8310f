"""Simulated people: what each says in a session of a given number, and which pairs of question and answer they write.

A person says the same in every arm. There are two kinds: those who speak the shipped script, and those who repeat a recording.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pydantic import BaseModel, ConfigDict, TypeAdapter

from studyplatform.simulation.recordings import RecordedPair, RecordedSession, Recording


class _ScriptPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Pair(_ScriptPart):
    """`turns` counts the visit's lines from 1."""

    question: str
    answer: str
    turns: tuple[int, ...]


class _Visit(_ScriptPart):
    lines: tuple[str, ...]
    pairs: tuple[_Pair, ...]
    leave_alone: tuple[int, ...] = ()


class _ScriptedPerson(_ScriptPart):
    name: str
    visits: tuple[_Visit, ...]


@dataclass(frozen=True)
class Part:
    """What one person does in one session: `lines` are said in order, `bot` (of a recording) is what is answered to them.

    `leave_alone`: lines, counted from 1, that nobody is to bring up again.
    """

    lines: tuple[str, ...]
    pairs: tuple[RecordedPair, ...]
    bot: tuple[str, ...] = ()
    leave_alone: tuple[int, ...] = ()

    def line(self, index: int, turns_left: int) -> str | None:
        """The line with this index; after the last one, lines are repeated only as long as the study asks for more."""
        if index < len(self.lines):
            return self.lines[index]
        return self.lines[index % len(self.lines)] if turns_left > 0 else None


@dataclass(frozen=True)
class Person:
    """`parts[n - 1]` is for every arm's session number n. `recorded`: the bot's side is known too."""

    name: str
    parts: tuple[Part, ...]
    recorded: bool = False


def speak(number: int, *, sessions: int, messages: int | None, questions: int) -> Person:
    """The shipped script's person for participant `number`; beyond the script's visits it begins again, saying which visit it is."""
    people = _script()
    person = people[number % len(people)]
    parts = []
    for n in range(sessions):
        visit = person.visits[n % len(person.visits)]
        again = f" (visit {n + 1})" if n >= len(person.visits) else ""
        lines = _fill(visit.lines, messages or len(visit.lines))
        alone = tuple(n for n in visit.leave_alone if n <= len(lines))
        parts.append(Part(lines, _pairs(person.name, visit, lines, again, questions), leave_alone=alone))
    return Person(person.name, tuple(parts))


def _pairs(name: str, visit: _Visit, lines: tuple[str, ...], again: str, count: int) -> tuple[RecordedPair, ...]:
    """The visit's pairs; where the study asks for more, further ones about what was said when."""
    pairs = [RecordedPair(p.question + again, p.answer, tuple(min(t, len(lines)) - 1 for t in p.turns)) for p in visit.pairs]
    for n in range(len(pairs), count):
        turn = n % len(lines)
        pairs.append(RecordedPair(f"What did {name} say in message {n + 1}{again}?", lines[turn], (turn,)))
    return tuple(pairs[:count])


def repeat(recording: Recording, *, sessions: int, messages: int | None, live: bool) -> Person:
    """A recorded person; `live`: the bot answers by itself."""
    parts = tuple(_part(session, messages, live=live) for session in recording.sessions[:sessions])
    return Person(recording.person, parts, recorded=not live)


def _part(session: RecordedSession, messages: int | None, *, live: bool) -> Part:
    lines = session.user[:messages]
    last = len(lines) - 1
    pairs = tuple(RecordedPair(p.question, p.answer, tuple(sorted({min(t, last) for t in p.turns}))) for p in session.pairs)
    if live:
        return Part(lines, pairs)
    closing = (session.closing,) if session.closing is not None and len(lines) == len(session.user) else ()
    return Part(lines, pairs, session.bot[: len(lines) + 1] + closing)


def _fill(lines: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple(lines[i % len(lines)] for i in range(count))


@cache
def _script() -> tuple[_ScriptedPerson, ...]:
    text = resources.files("studyplatform.simulation").joinpath("script.toml").read_text("utf-8")
    return TypeAdapter(tuple[_ScriptedPerson, ...]).validate_python(tomllib.loads(text)["people"])
