"""What LUFY's reference code computes, quirks included (memory-systems 1.2 to 1.6): an oracle for tests, written from the description, and no preset."""

import math
from collections.abc import Sequence

WEIGHTS = (0.44776699, -0.2801391, 2.76290708, 1.02800192, -0.01241566)
ALIKE = (2.1297349437869455, 2.8709762924617905, 1.5012260479089086, 0.62885264522, 2.2459023043571427)


def strength(importance: float, perplexity: float, arousal: float, r1: int, r2: int, divisor: float) -> float:
    parts = (importance / 27.5, perplexity / divisor, arousal / 15, r1)
    raised = sum(a * w * x for a, w, x in zip(ALIKE[:4], WEIGHTS[:4], parts, strict=True))
    return max(raised - ALIKE[4] * WEIGHTS[4] * r2, 0.1)


def at_recall(values: tuple[float, ...], dt: float) -> float:
    return math.exp(-dt / (0.5 * strength(*values, 250)))  # type: ignore[arg-type]  # five numbers


def at_forgetting(values: tuple[float, ...], dt: float) -> float:
    return math.exp(-dt / (0.33 * strength(*values, 400)))  # type: ignore[arg-type]  # five numbers


def keep(chances: Sequence[float], session: int) -> int:
    """`session`: the one that just ended. A mean of exactly 0.1 falls through both comparisons to 0.15."""
    mean = sum(chances) / len(chances)
    clipped = mean if 0.1 < mean < 0.15 else 0.1 if mean < 0.1 else 0.15
    return math.ceil(clipped * len(chances) + (session + 1) - 2)


def ranked(hits: Sequence[tuple[float, float]], cutoff: float) -> list[int]:
    """Indexes of (cosine, importance) pairs: the two nearest, then the cutoff, then by cosine + importance / 10."""
    nearest = sorted(range(len(hits)), key=lambda i: -hits[i][0])[:2]
    return sorted((i for i in nearest if hits[i][0] >= cutoff), key=lambda i: -(hits[i][0] + hits[i][1] / 10))


def perplexity(probabilities: Sequence[float]) -> float:
    """Probabilities rounded to ten decimals; those that become 0 are left out; none left, or over 160: 160."""
    left = [p for p in (round(p, 10) for p in probabilities) if p]
    return min(160.0, 2 ** (-sum(map(math.log2, left)) / len(left))) if left else 160.0
