"""Events for the ledger: what happened to a memory, when, and why. Only added to, and read back in order."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from memory.history import Happened
from memory.models import MemoryEvent


@dataclass(frozen=True)
class Entry:
    """One event. `seq` 0: at the session's close. `why` is written as JSON: terms, ranks, thresholds, relations."""

    what: str
    memory_id: int | None = None
    why: Mapping[str, Any] = field(default_factory=dict)


_WRITE = """
INSERT INTO memory_memoryevent (arm_id, session_number, seq, run_id, memory_id, what, why)
SELECT %s, %s, %s, %s, (entry ->> 0)::bigint, entry ->> 1, entry -> 2
FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS listed(entry, place) ORDER BY place
"""


def write(arm_id: int, session_number: int, seq: int, entries: Iterable[Entry], *, run_id: int | None = None) -> None:
    """One statement for all entries, in their order."""
    listed = [(entry.memory_id, entry.what, dict(entry.why)) for entry in entries]
    if listed:
        with connection.cursor() as cursor:
            cursor.execute(_WRITE, [arm_id, session_number, seq, run_id, json.dumps(listed)])


def read(arm_id: int) -> list[Happened]:
    """Everything that happened in an arm, in order."""
    return [happened(event) for event in MemoryEvent.objects.filter(arm_id=arm_id).order_by("pk")]


def happened(event: MemoryEvent) -> Happened:
    """A row of the ledger as `memory.history` reads it."""
    return Happened(event.pk, event.session_number, event.seq, event.what, event.memory_id, event.why, event.at)
