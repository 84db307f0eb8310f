"""Bootstrap intervals of the agreement coefficients, over whole clusters: utterances of one transcript are not independent.

A coefficient is a function of sums over items, so a resample of clusters is a weighted sum of the clusters' sums: 2,000 resamples are
matrix products in blocks, whatever the number of utterances. Percentile intervals (Efron and Tibshirani 1993, ch. 13), seeded.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from studyplatform.analysis.agreement import Additive, Floats, Level, counted, formulas, summed

RESAMPLES = 2_000
BLOCK_CELLS = 2_000_000  # resamples × clusters drawn at once: 16 MB
FEWEST_DEFINED = 0.5

S = TypeVar("S", bound=Additive)


@dataclass(frozen=True)
class Interval:
    """A percentile interval, or None and why there is none. `defined`: in how many of the `resamples` the coefficient had a value."""

    low: float | None
    high: float | None
    resamples: int
    defined: int
    clusters: int
    reason: str = ""


def coded(clusters: Sequence[Hashable]) -> tuple[NDArray[np.intp], int]:
    """Names of clusters as 0 .. n - 1 in the order of their first item, and n."""
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(name, len(numbers)) for name in clusters], dtype=np.intp)
    return codes, len(numbers)


def intervals(
    ratings: ArrayLike,
    clusters: Sequence[Hashable],
    *,
    categories: Sequence[float],
    seed: int,
    positive: float | None = None,
    full: int | None = None,
    level: Level = "nominal",
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> dict[str, Interval]:
    """An interval for each name of `agreement.formulas`. `clusters`: one name per item (its transcript, or its participant).

    ValueError: not one cluster per item, or what `agreement.coefficients` refuses.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if len(clusters) != len(table):
        raise ValueError(f"{len(table)} items need {len(table)} clusters, got {len(clusters)}")
    items = summed(counted(table, categories), full=full or table.shape[1])
    named = formulas(categories, positive=positive, level=level)
    return resampled(items, clusters, named, seed=seed, resamples=resamples, confidence=confidence)


def resampled(
    items: S,
    clusters: Sequence[Hashable],
    named: Mapping[str, Callable[[S], Floats]],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> dict[str, Interval]:
    """Intervals of any functions of sums over items, all from the same resamples."""
    codes, n = coded(clusters)
    if n < 2:
        why = "one cluster only: nothing to resample" if n else "no items"
        return {name: Interval(None, None, resamples, 0, n, why) for name in named}
    sums = items.added(codes, n)
    found: dict[str, list[Floats]] = {name: [] for name in named}
    for weights in draws(n, resamples, seed):
        drawn = sums.weighted(weights)
        for name, formula in named.items():
            found[name].append(formula(drawn))
    return {name: _interval(np.concatenate(values), n, confidence) for name, values in found.items()}


def draws(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Blocks (resamples, n) of how often each of n clusters was drawn with replacement; the same for the same seed and n."""
    rng = np.random.default_rng(seed)
    block = max(1, BLOCK_CELLS // n)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        picks = rng.integers(n, size=(rows, n)) + np.arange(rows)[:, None] * n
        yield np.bincount(picks.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _interval(values: Floats, clusters: int, confidence: float) -> Interval:
    defined = values[np.isfinite(values)]
    if len(defined) < FEWEST_DEFINED * len(values):
        return Interval(None, None, len(values), len(defined), clusters, "undefined in more than half of the resamples")
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), float(high), len(values), len(defined), clusters)
