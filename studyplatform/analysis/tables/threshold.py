"""Figures 4 and 5 of the LUFY paper: at which similarity a retrieved memory is right, and what a threshold keeps.

A pair is a question and one of the memories retrieved for it (the paper: the ten nearest), with its cosine and whether it holds the answer.
Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Pair = tuple[float, bool]


@dataclass(frozen=True)
class Band:
    """Pairs with low ≤ cosine < high: how many, and the share of them that is right (None: there are none). Figure 4."""

    low: float
    high: float
    pairs: int
    right: float | None


@dataclass(frozen=True)
class AtThreshold:
    """What is kept at `threshold`: the share of it that is right, the share of all right pairs that is kept, and their F1. Figure 5."""

    threshold: float
    precision: float | None
    recall: float
    f1: float


def bands(pairs: Sequence[Pair], width: float = 0.05) -> list[Band]:
    """Bands of `width` from the lowest to the highest cosine.

    >>> bands([(0.51, True), (0.53, False), (0.62, True)])[0]
    Band(low=0.5, high=0.55, pairs=2, right=0.5)
    """
    if not pairs:
        return []
    steps = [_step(cosine, width) for cosine, _ in pairs]
    found = []
    for step in range(min(steps), max(steps) + 1):
        inside = [right for at, (_, right) in zip(steps, pairs, strict=True) if at == step]
        share = sum(inside) / len(inside) if inside else None
        found.append(Band(round(step * width, 6), round((step + 1) * width, 6), len(inside), share))
    return found


def _step(cosine: float, width: float) -> int:
    return int(cosine / width + 1e-9) if cosine >= 0 else -int(-cosine / width + 1 - 1e-9)


def curve(pairs: Sequence[Pair], thresholds: Sequence[float]) -> list[AtThreshold]:
    """Precision, recall and F1 at each threshold.

    >>> curve([(0.9, True), (0.8, False), (0.4, True)], [0.5])
    [AtThreshold(threshold=0.5, precision=0.5, recall=0.5, f1=0.5)]
    """
    rights = sum(right for _, right in pairs)
    found = []
    for threshold in thresholds:
        kept = [right for cosine, right in pairs if cosine >= threshold]
        hits = sum(kept)
        recall = hits / rights if rights else 0.0
        f1 = 2 * hits / (len(kept) + rights) if hits else 0.0
        found.append(AtThreshold(threshold, hits / len(kept) if kept else None, recall, f1))
    return found


def best(points: Sequence[AtThreshold]) -> AtThreshold:
    """The point with the highest F1; of equal ones the highest threshold, which recalls least."""
    return max(points, key=lambda point: (point.f1, point.threshold))
