"""A benchmark session made to order: fifty turns and ten queries with invented words, any line of it changed."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Line = dict[str, Any]
FIRST = datetime(2026, 3, 2, 9, tzinfo=UTC)
THINGS = ("kettle", "canoe", "violin", "stamp album", "greenhouse")


def lines(number: int = 1) -> list[Line]:
    """Twenty stores, ten updates, ten discards, ten filters, in this order; every query expects one slot, the last one none."""
    code = f"s{number:02}"
    made: list[Line] = [{"kind": "session", "id": code, "theme": f"theme {number}", "language": "en"}]
    for n in range(1, 51):
        action = "store" if n <= 20 else "update" if n <= 30 else "discard" if n <= 40 else "filter"
        line: Line = {"kind": "turn", "id": f"{code}-t{n:02}", "at": _at(n), "text": _said(number, n), "action": action}
        if action != "filter":
            line["memory_id"] = f"{code}-m{(n - 1) % 20 + 1:02}" if n <= 20 else f"{code}-m{(n - 1) % 10 + 1:02}"
        if action in ("store", "update"):
            line |= {"aspect": "activity", "intent": "inform"}
        made.append(line)
    for n in range(1, 11):
        expected = [f"{code}-m{n:02}"] if n < 10 else []
        made.append(
            {"kind": "query", "id": f"{code}-q{n:02}", "at": _at(60 + n), "text": f"What about {n} of {code}?", "expected": expected}
        )
    return made


def write(folder: Path, made: list[Line], number: int = 1) -> Path:
    """The session's file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"session-{number:02}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in made), "utf-8")
    return path


def _at(hours: int) -> str:
    return (FIRST + timedelta(hours=hours)).isoformat()


def _said(number: int, n: int) -> str:
    return f"I have {n} of the {THINGS[n % len(THINGS)]} kind at place {number}."
