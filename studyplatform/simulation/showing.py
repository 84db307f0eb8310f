"""A tally as JSON for programs and as a table for people."""

from collections.abc import Iterator
from typing import Any

from studyplatform.simulation.tallying import Cell, Tally

_SHOWN = ("arm", "policy", "session", "exchanges", "kept", "retention", "used", "passed_over", "answered", "abstained")
_HEAD = (*_SHOWN[:7], "passed", *_SHOWN[8:], "failed", "writes", "stages (s)")


def as_json(tally: Tally) -> dict[str, Any]:
    """The document that `simulate --json` prints; its keys are fixed."""
    return {
        "participants": tally.participants,
        "sessions": tally.sessions,
        "messages": tally.messages,
        "by": [{name: getattr(cell, name) for name in _SHOWN} for cell in tally.by],
        "latency": tally.latency,
        "errors": list(tally.errors),
    }


def as_text(tally: Tally) -> Iterator[str]:
    """Lines for a terminal: totals, one line per arm and session, latencies, errors."""
    yield f"{tally.participants} participants, {tally.sessions} sessions, {tally.messages} messages"
    yield ""
    yield from _columns([_HEAD, *(_row(cell) for cell in tally.by)])
    yield ""
    for name, values in tally.latency.items():
        figures = ", ".join(f"p{p} {values[f'p{p}']} ms" for p in (50, 95, 99))
        yield f"{name.replace('_', ' ')}: {figures} (n = {values['n']})" if values["n"] else f"{name.replace('_', ' ')}: none"
    yield ""
    yield f"{len(tally.errors)} errors"
    for error in tally.errors:
        yield f"  {error['where']}: {error['message']}"


def _row(cell: Cell) -> tuple[str, ...]:
    retention = "" if cell.retention is None else f"{cell.retention:.1%}"
    actions = " ".join(f"{name} {count}" for name, count in cell.actions.items())
    stages = " ".join(f"{stage} {seconds:.1f}" for stage, seconds in cell.stage_s.items())
    counts = (cell.session, cell.exchanges, cell.kept, retention, cell.used, cell.passed_over, cell.answered, cell.abstained, cell.failed)
    return (cell.arm, cell.policy, *map(str, counts), actions, stages)


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
