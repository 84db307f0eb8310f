"""Events for the ledger: what happened to a memory, when, and why. Only added to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memory.models import MemoryEvent


@dataclass(frozen=True)
class Entry:
    """One event. `seq` 0: at the session's close. `why` is written as JSON: terms, ranks, thresholds, relations."""

    what: str
    memory_id: int | None = None
    why: Mapping[str, Any] = field(default_factory=dict)


def write(arm_id: int, session_number: int, seq: int, entries: Iterable[Entry], *, run_id: int | None = None) -> None:
    """One statement for all entries."""
    MemoryEvent.objects.bulk_create(
        MemoryEvent(
            arm_id=arm_id,
            memory_id=entry.memory_id,
            session_number=session_number,
            seq=seq,
            what=entry.what,
            why=dict(entry.why),
            run_id=run_id,
        )
        for entry in entries
    )
