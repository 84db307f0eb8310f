"""What an arm remembered at any turn, counted from its ledger alone. Pure: events come in, nothing is looked up.

The ledger says with what a memory began and everything that changed it; its words stand in the memory's own row, where they never
change but to be taken out. Writes are made after the turn that they are about, so a state "at a turn" is made of the events that turns
up to it caused, in the order in which they happened.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Any

WRITING = frozenset({"stored", "fused", "superseded", "discarded", "filtered", "erred"})
RECALLING = frozenset({"used", "passed_over", "nothing"})
JUDGING = frozenset({"kept", "forgotten"})
TAKING_BACK = frozenset({"corrected", "deleted", "muted", "unmuted", "restored"})


@dataclass(frozen=True)
class Happened:
    """One event of the ledger. `seq` 0: at the session's close."""

    id: int
    session: int
    seq: int
    what: str
    memory: int | None
    why: Mapping[str, Any]
    at: datetime

    @property
    def place(self) -> tuple[int, float]:
        """Where it belongs: after all turns of its session, if it is of the close."""
        return place(self.session, self.seq)


@dataclass(frozen=True)
class Held:
    """What the ledger says about one memory. `status`, `r1`, `r2`, `last_recalled`, `superseded_by`, `muted` as in the memory's row.

    `since`: session and seq of the turn that it came from.
    """

    id: int
    since: tuple[int, int]
    status: str = "active"
    r1: int = 0
    r2: int = 0
    last_recalled: int = 0
    superseded_by: int | None = None
    muted: bool = False


def place(session: int, seq: int) -> tuple[int, float]:
    """A turn's place in an arm's time; seq 0 is the close, after every turn.

    >>> place(2, 14) < place(2, 0) < place(3, 1)
    True
    """
    return session, seq or inf


def state(events: Iterable[Happened], upto: tuple[int, int] | None = None) -> dict[int, Held]:
    """Every memory that the arm had made by then, by id, ended ones included. `upto`: session and seq (0: its close); None: now."""
    end = place(*upto) if upto else (inf, inf)
    held: dict[int, Held] = {}
    for event, when in in_time(events):
        if when <= end:
            _take(held, event)
    return held


def in_time(events: Iterable[Happened]) -> Iterator[tuple[Happened, tuple[int, float]]]:
    """The events in the order in which they happened, each with its place in the arm's time.

    That is the turn's that it is about; but what is written again, because the participant took something back, belongs to the place of
    that act, which may be sessions later.
    """
    written: set[tuple[int, int]] = set()
    made_at: dict[int, tuple[int, float]] = {}
    act = (0, 0.0)
    for event in sorted(events, key=lambda e: e.id):
        when = event.place
        if event.what in TAKING_BACK:
            act = max(act, when)
        elif event.what == "superseded":
            when = made_at.get(event.why.get("by", 0), when)
        elif event.what in WRITING:
            if (event.session, event.seq) in written or event.why.get("made", {}).get("instead_of"):
                when = max(when, act)
            if event.seq:
                written.add((event.session, event.seq))
            if event.memory is not None and event.what in ("stored", "fused"):
                made_at[event.memory] = when
        yield event, when


def active(held: Mapping[int, Held]) -> list[Held]:
    """Those that a search could find, newest source first."""
    return sorted((m for m in held.values() if m.status == "active"), key=lambda m: place(*m.since), reverse=True)


def _take(held: dict[int, Held], event: Happened) -> None:
    if event.memory is None:
        return
    if event.what in ("stored", "fused"):
        _begin(held, event)
    elif event.memory in held:
        held[event.memory] = _changed(held[event.memory], event)


def _begin(held: dict[int, Held], event: Happened) -> None:
    made = event.why.get("made", {"r1": event.why.get("r1", 0)})
    held[event.memory or 0] = Held(
        id=event.memory or 0,
        since=(event.session, event.seq),
        r1=made.get("r1", 0),
        r2=made.get("r2", 0),
        last_recalled=made.get("last_recalled", event.session),
        muted=made.get("muted", False),
    )
    before = made.get("instead_of")
    if before in held:
        held[before] = replace(held[before], superseded_by=event.memory)


def _changed(memory: Held, event: Happened) -> Held:
    why = event.why
    match event.what:
        case "used":
            return replace(memory, r1=memory.r1 + 1, last_recalled=event.session)
        case "passed_over":
            return replace(memory, r2=memory.r2 + 1)
        case "forked":
            last = max(memory.last_recalled, why.get("last_recalled", 0))
            return replace(memory, r1=memory.r1 + why.get("r1", 0), r2=memory.r2 + why.get("r2", 0), last_recalled=last)
        case "superseded":
            return replace(memory, status="superseded", superseded_by=why.get("by"))
        case "forgotten":
            return replace(memory, status="forgotten") if memory.status == "active" else memory
        case "corrected":
            return replace(memory, status="superseded") if memory.status == "active" else memory
        case "deleted":
            return replace(memory, status="deleted")
        case "muted" | "unmuted":
            return replace(memory, muted=event.what == "muted")
    return memory
