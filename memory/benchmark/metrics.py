"""What a store is worth, by what it finds and by what it wrote. Plain Python.

Per query that expects memories (memory-systems 3.7): E the expected slots, T the memories found (three at most), U the slots that these hold.
P@3 = |U ∩ E| / |U|, R@3 = |U ∩ E| / |E|, F1@3 their harmonic mean, HIT@3 = 1 where U ∩ E is not empty, all 0 where nothing was found;
Redundancy@3 = the share of T that brings no slot that T has not shown before. Where each memory holds one slot, that is (|T| − |U|) / |T|; a memory that
holds many could make that form negative. A query that expects nothing is answered rightly by silence: P, R, F1 and HIT are 1 when
nothing is found, else 0. Averages are over queries (macro).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

OUTCOMES = ("store", "update", "discard", "filter", "error")
MOST = 3


@dataclass(frozen=True)
class Found:
    """What one query expected, and the slots of each memory that it got, best first."""

    expected: frozenset[str]
    slots: tuple[frozenset[str], ...]


@dataclass(frozen=True)
class Retrieval:
    """Shares, 0 to 1."""

    p_at_3: float
    r_at_3: float
    f1_at_3: float
    hit_at_3: float
    redundancy_at_3: float


def of_query(found: Found) -> Retrieval:
    """The figures of one query.

    >>> of_query(Found(frozenset("a"), (frozenset("a"), frozenset("b"))))
    Retrieval(p_at_3=0.5, r_at_3=1.0, f1_at_3=0.6666666666666666, hit_at_3=1.0, redundancy_at_3=0.0)
    """
    shown = found.slots[:MOST]
    if not found.expected:
        silent = float(not shown)
        return Retrieval(silent, silent, silent, silent, _redundancy(shown))
    held = frozenset().union(*shown)
    right = len(held & found.expected)
    precision = right / len(held) if held else 0.0
    recall = right / len(found.expected)
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return Retrieval(precision, recall, f1, float(right > 0), _redundancy(shown))


def _redundancy(shown: Sequence[frozenset[str]]) -> float:
    seen: set[str] = set()
    repeated = 0
    for slots in shown:
        repeated += slots <= seen
        seen |= slots
    return repeated / len(shown) if shown else 0.0


def macro(founds: Iterable[Found]) -> Retrieval | None:
    """The mean over queries; None of none."""
    each = [astuple(of_query(found)) for found in founds]
    return Retrieval(*(float(mean) for mean in np.mean(each, axis=0))) if each else None


def retrieval(founds: Sequence[Found]) -> dict[str, float | None]:
    """`p_at_3` … over the queries that expect a memory, `p_at_3_all` … over all, and `silent`: of those that expect none, the share that found none."""
    named: dict[str, float | None] = {}
    for ending, over in (("", [f for f in founds if f.expected]), ("_all", founds)):
        mean = macro(over)
        named |= {f"{f.name}{ending}": getattr(mean, f.name) if mean else None for f in fields(Retrieval)}
    without = [not found.slots for found in founds if not found.expected]
    return named | {"silent": sum(without) / len(without) if without else None}


@dataclass(frozen=True)
class Wrote:
    """What a turn should have become and became. `on_target`: whether what it changed or repeated holds its slot; None where it did neither rightly.

    `misread`: requests whose answer could not be read, the turn's own retries included. `fallbacks`: decisions made without the model's answer.
    `reason`: of a filter or an error, its first words. Tokens as the endpoint counts them; `prefilled`: of the prompt, those that its cache did not hold. `seconds`: of the whole write.
    """

    gold: str
    outcome: str
    on_target: bool | None = None
    calls: int = 0
    misread: int = 0
    fallbacks: int = 0
    prefilled: int = 0
    cached: int = 0
    generated: int = 0
    seconds: float = 0.0
    reason: str = ""


def confusion(written: Iterable[Wrote]) -> dict[str, dict[str, int]]:
    """How often each gold action became each outcome: {gold: {outcome: n}}."""
    counted = Counter((turn.gold, turn.outcome) for turn in written)
    return {gold: {outcome: counted[gold, outcome] for outcome in OUTCOMES} for gold in OUTCOMES[:-1]}


def writing(written: Sequence[Wrote]) -> dict[str, Any]:
    """Accuracy, confusion, failures, and what a turn cost; `seconds_per_turn` is the median."""
    n = len(written) or 1
    aimed = [turn.on_target for turn in written if turn.on_target is not None]
    seconds = [turn.seconds for turn in written] or [0.0]
    tokens = {name: sum(getattr(turn, name) for turn in written) / n for name in ("prefilled", "cached", "generated")}
    return {
        "turns": len(written),
        "action_accuracy": sum(turn.gold == turn.outcome for turn in written) / n,
        "target_accuracy": sum(aimed) / len(aimed) if aimed else None,
        "confusion": confusion(written),
        "reasons": dict(Counter(f"{turn.outcome}: {turn.reason}" for turn in written if turn.reason).most_common()),
        "errors": sum(turn.outcome == "error" for turn in written),
        "parse_failures": sum(turn.misread for turn in written),
        "fallbacks": sum(turn.fallbacks for turn in written),
        "calls_per_turn": sum(turn.calls for turn in written) / n,
        "tokens_per_turn": sum(tokens.values()),
        **{f"{name}_per_turn": value for name, value in tokens.items()},
        "seconds_per_turn": float(np.median(seconds)),
        "seconds_per_turn_p95": float(np.percentile(seconds, 95)),
    }
