"""Small data in the benchmark's form, for its tests."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memory.benchmark import sessions

BEGIN = datetime(2026, 3, 2, 10, tzinfo=UTC)


def rows(code: str = "s01") -> list[dict[str, Any]]:
    """A session without fault: 20 stores, 10 updates and 10 discards of the first slots, 10 turns to filter, 10 queries."""
    made: list[dict[str, Any]] = [{"kind": "session", "id": code, "theme": f"theme {code}", "language": "en"}]
    labels = {"aspect": "activity", "intent": "inform"}
    plan = [("store", i, labels) for i in range(20)] + [("update", i, labels) for i in range(10)] + [("discard", i, {}) for i in range(10)]
    for n, (action, slot, given) in enumerate(plan, start=1):
        text = f"{code} {action} fact{slot} number {n}"
        made.append(_turn(code, n, text, action) | {"memory_id": f"{code}-m{slot + 1:02}"} | given)
    made += [_turn(code, n, f"{code} idle chatter {n}", "filter") for n in range(41, 51)]
    for n in range(1, 11):
        expected = [f"{code}-m{n:02}"] if n < 10 else []
        made.append(
            {"kind": "query", "id": f"{code}-q{n:02}", "at": _at(50 + n), "text": f"{code} what of fact{n - 1}?", "expected": expected}
        )
    return made


def _turn(code: str, n: int, text: str, action: str) -> dict[str, Any]:
    return {"kind": "turn", "id": f"{code}-t{n:02}", "at": _at(n), "text": text, "action": action}


def _at(hours: int) -> str:
    return (BEGIN + timedelta(hours=hours)).isoformat()


def save(folder: Path, *files: list[dict[str, Any]]) -> Path:
    """One file for each list of rows."""
    for number, lines in enumerate(files, start=1):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"session-{number:02}.jsonl").write_text(text, "utf-8")
    return folder


def faults(folder: Path) -> list[tuple[str, int, str]]:
    """What is wrong with a folder, without the advice."""
    with pytest.raises(sessions.BadData) as found:
        sessions.read(folder)
    assert all(fault.remedy for fault in found.value.faults)
    return [(fault.file, fault.line, fault.wrong) for fault in found.value.faults]
