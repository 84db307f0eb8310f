"""Intervals by resampling people: whole persons are drawn, with all that they said, since one person's utterances resemble each other."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
Draws = NDArray[np.float64]


def weights(people: int, *, seed: int, resamples: int = RESAMPLES) -> Draws:
    """How often each person counts, shape (1 + resamples, people); the first row is the sample itself: once each."""
    sample = np.ones((1, people))
    if people < 2:
        return sample
    drawn = np.random.default_rng(seed).multinomial(people, np.full(people, 1 / people), size=resamples)
    return np.vstack([sample, drawn]).astype(np.float64)


def ratio(weight: Draws, over: Draws, under: Draws) -> Draws:
    """Σ over / Σ under, per draw; `over`, `under` have shape (people,) or (people, cells); NaN where nothing is under the line."""
    top, bottom = weight @ over, weight @ under
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), np.nan)


def estimate(draws: Draws) -> tuple[float | None, float | None, float | None]:
    """(value, low, high) of a statistic's draws: the sample's own, and the 2.5th and 97.5th percentile of the others.

    Without a second person there is no interval. A draw in which the statistic is undefined is left out.
    """
    value = None if np.isnan(draws[0]) else float(draws[0])
    rest = draws[1:][~np.isnan(draws[1:])]
    if value is None or len(rest) < 2:
        return value, None, None
    low, high = np.percentile(rest, (2.5, 97.5))
    return value, float(low), float(high)


def places(people: Sequence[str]) -> dict[str, int]:
    """Each person's row in the arrays: by name, so that the order of the records does not matter."""
    return {person: i for i, person in enumerate(sorted(set(people)))}
