"""The benchmark's document as a table on a terminal, with the published figures beside ours."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory.benchmark import published
from memory.benchmark.metrics import OUTCOMES

Row = Mapping[str, Any]
_WIDTH = 46
_SHARES = (
    ("P@3", "p_at_3"),
    ("R@3", "r_at_3"),
    ("F1@3", "f1_at_3"),
    ("HIT@3", "hit_at_3"),
    ("Red@3", "redundancy_at_3"),
    ("F1 all", "f1_at_3_all"),
    ("silent", "silent"),
    ("prompt", "in_prompt"),
    ("action", "action_accuracy"),
)
_COSTS = (
    ("calls", "calls_per_turn", 1.0, 2),
    ("prefill", "prefilled_per_turn", 1.0, 0),
    ("cached", "cached_per_turn", 1.0, 0),
    ("gen", "generated_per_turn", 1.0, 0),
    ("ms", "seconds_per_turn", 1000.0, 1),
    ("p95 ms", "seconds_per_turn_p95", 1000.0, 1),
    ("kept", "kept", 1.0, 1),
    ("misread", "parse_failures", 1.0, 0),
    ("fallback", "fallbacks", 1.0, 0),
)


def text(document: Mapping[str, Any]) -> Iterator[str]:
    """Everything in the document, in lines."""
    of = document["provenance"]
    yield f"{of['sessions']} sessions, {of['turns']} turns, {of['queries']} queries; encoder {of['encoder']['name']}, model {of['model']}, code {of['commit'][:12]}."
    yield "Per cent. P@3 to Red@3 over the queries that expect a memory; F1 all over every query; silent: of those that expect none."
    yield ""
    yield _header()
    rows: Sequence[Row] = document["rows"]
    for row in (r for r in rows if not r["bound"]):
        yield _line(_name(row), row)
        if row.get("unseen"):
            yield _line("  of these, sessions it was not trained on", row["unseen"])
    if bounds := [r for r in rows if r["bound"]]:
        yield "bounds: what remembering nothing, a window, a digest or everything gives; no systems to be compared"
        yield from (_line(_name(row), row) for row in bounds)
    yield f"published: {published.NOTE}"
    yield from (_line(f"{name} (paper)", figures, 1.0) for name, figures in published.SYSTEMS.items())
    for key, papers in (("ablations", published.ABLATIONS), ("sweeps", published.SWEEPS)):
        yield from _group(key, document.get(key, ()), papers)
    yield from _mixed(document.get("mixed", ()))
    yield from _judged(document.get("judged", ()))
    yield from _confusions(rows)


def _header() -> str:
    return f"{'':{_WIDTH}}" + "".join(f"{name:>8}" for name, _ in _SHARES) + "".join(f"{name:>9}" for name, *_ in _COSTS)


def _name(row: Row) -> str:
    named = f"{row['preset']} ({row['controller']})" if row["controller"] else row["preset"]
    named += f", {row['part']}" if row.get("part") else ""
    named += ", closed" if row.get("closed") else ""
    return f"{named} [{row['sessions']} s.]" if row.get("controller") == "model" and "sessions" in row else named


def _line(name: str, figures: Row, scale: float = 100.0) -> str:
    shares = "".join(_cell(figures.get(key), scale, 1, 8) for _, key in _SHARES)
    return f"{name:{_WIDTH}}{shares}" + "".join(_cell(figures.get(key), factor, digits, 9) for _, key, factor, digits in _COSTS)


def _cell(value: float | None, factor: float, digits: int, width: int) -> str:
    return " " * width if value is None else f"{value * factor:{width}.{digits}f}"


def _group(title: str, rows: Sequence[Row], papers: Mapping[str, Row]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield title
    for row in rows:
        yield _line(_name(row), row)
        if row["part"] in papers:
            yield _line("  (paper, not ours)", papers[row["part"]], 1.0)


def _mixed(rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield "mixed stores: means over five draws"
    for row in rows:
        yield _line(f"{_name(row)}, {row['mixed']} together", row)
        if row["preset"] == "amu":
            yield _line("  (paper, not ours)", {"f1_at_3": published.MIXED_F1[row["mixed"]]}, 1.0)


def _judged(rows: Sequence[Row]) -> Iterator[str]:
    if not rows:
        return
    yield ""
    yield f"{'judge, 1 to 5':{_WIDTH}}{'mean':>8}{'use':>8}{'avoids':>8}{'helps':>8}{'n':>8}{'unread':>8}{'paper':>8}"
    for row in rows:
        marks = "".join(_cell(row[key], 1.0, 2, 8) for key in ("score", "use", "avoidance", "helpfulness"))
        yield f"{row['label']:{_WIDTH}}{marks}{row['n']:8}{row['unreadable']:8}{_cell(published.JUDGED.get(row['preset']), 1.0, 2, 8)}"


def _confusions(rows: Sequence[Row]) -> Iterator[str]:
    """What each action became; a system that takes none of its own choosing has no matrix worth showing."""
    for row in rows:
        if row["controller"] is None or row.get("closed"):
            continue
        yield ""
        yield f"{_name(row)}: rows what a turn should become, columns what it became"
        yield f"{'':10}" + "".join(f"{outcome:>9}" for outcome in OUTCOMES)
        for gold, became in row["confusion"].items():
            yield f"{gold:10}" + "".join(f"{became[outcome]:9}" for outcome in OUTCOMES)
