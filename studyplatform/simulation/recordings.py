"""Recorded conversations to be spoken again: `lufy:DIR` (a released dataset) or `locomo:FILE`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studyplatform.simulation import evidence


class BadRecording(Exception):
    """A recording cannot be read, or there are too few; the message lists every fault and says where."""


@dataclass(frozen=True)
class RecordedPair:
    """A question about a session; `turns`: which of the participant's utterances hold the answer, from 0, at least one."""

    question: str
    answer: str
    turns: tuple[int, ...]


@dataclass(frozen=True)
class RecordedSession:
    """`bot[i]` precedes `user[i]`, and may be empty (an outage); `closing` is a last bot utterance without a reply."""

    bot: tuple[str, ...]
    user: tuple[str, ...]
    pairs: tuple[RecordedPair, ...] = ()
    closing: str | None = None


@dataclass(frozen=True)
class Recording:
    """One (person, system) conversation over its sessions."""

    person: str
    system: str
    sessions: tuple[RecordedSession, ...]


def paired(question: str, answer: str, user: Sequence[str], turns: Sequence[int] = ()) -> RecordedPair:
    """A pair with its evidence: the turns given, else those that share most words with it."""
    return RecordedPair(question, answer, tuple(turns) or evidence.choose(question, answer, user))


def read(source: str, *, system: str | None, seed: int) -> list[Recording]:
    """Every recording of `source`, in the order in which participants get them.

    Raises:
        BadRecording: an unknown kind of source, nothing there, or files that cannot be read.
    """
    from studyplatform.simulation import locomo, lufy

    kind, _, place = source.partition(":")
    path = Path(place)
    if kind == "lufy" and place:
        return lufy.read(path, system=system)
    if kind == "locomo" and place:
        return locomo.read(path, seed=seed)
    raise BadRecording(f"--replay {source}: expected lufy:DIR or locomo:FILE.")
