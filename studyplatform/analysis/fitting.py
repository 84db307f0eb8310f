"""Fitting LUFY's weights to what annotators found important (LUFY paper, section 3.2, appendices B and C).

p = exp(−1/S), S = w_A·A + w_P·P + w_L·L + w_R1·R1 − w_R2·R2, floored at 0.1; squared loss + λ‖w‖² by Levenberg–Marquardt, the penalty as
extra residuals √λ·w. Two stages: w_A, w_P, w_L from the rows without retrieval counts; then these stay, and w_R1, w_R2 come from the rows
with counts. The paper publishes no constants of rescaling: they are part of the result, and neither rescaling is "the paper's".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Rescaling = Literal["reference", "three_point"]

STATIC = ("arousal", "perplexity", "importance")
COUNTS = ("r1", "r2")
NAMES = STATIC + COUNTS
DIVISORS = {"arousal": 15.0, "perplexity": 400.0, "importance": 27.5, "r1": 1.0, "r2": 1.0}
PERPLEXITY_CAP = 160.0
FLOOR = 0.1
COMMON_MEAN = 0.3  # near the mean that the reference code's constants give its own measures
GUESSES = (0.5, 1.0, 2.0)
ELSEWHERE = 1e-3  # a difference of weights that counts as another end, relative to 1 + |w|
Z = 1.959964


class CannotFit(ValueError):
    """The rows do not determine the weights; the message says what is missing."""


@dataclass(frozen=True)
class FitRow:
    """One utterance. `important`: 0, 1 or a share of annotators; arousal 1–5, perplexity ≥ 1, importance 1–10; counts of recalls."""

    important: float
    arousal: float
    perplexity: float
    importance: float
    r1: float = 0.0
    r2: float = 0.0

    @property
    def counted(self) -> bool:
        """Whether retrieval says something about it: with both counts 0, S is what it is without them."""
        return bool(self.r1 or self.r2)


@dataclass(frozen=True)
class Constants:
    """How one measure is rescaled: x/d·a; or ((x − low)/(high − low))^gamma."""

    d: float = 1.0
    a: float = 1.0
    low: float | None = None
    high: float | None = None
    gamma: float | None = None

    def apply(self, values: Array) -> Array:
        """The rescaled values, of the same shape (n,)."""
        if self.gamma is None or self.low is None or self.high is None:
            return values / self.d * self.a
        return np.asarray(np.clip((values - self.low) / (self.high - self.low), 0, 1) ** self.gamma, dtype=np.float64)


@dataclass(frozen=True)
class Weight:
    """An estimate with its standard error and 95 % interval."""

    value: float
    standard_error: float

    @property
    def ci95(self) -> tuple[float, float]:
        return self.value - Z * self.standard_error, self.value + Z * self.standard_error


@dataclass(frozen=True)
class Stage:
    """One stage's end. `elsewhere`: initial guesses that ended at other weights, with their weights and loss."""

    loss: float
    n: int
    positives: float
    elsewhere: tuple[tuple[tuple[float, ...], tuple[float, ...], float], ...]


@dataclass(frozen=True)
class Fit:
    """Weights by measure; a measure of counts is absent where no row had counts."""

    weights: dict[str, Weight]
    constants: dict[str, Constants]
    stages: tuple[Stage, ...]
    rescaling: Rescaling
    penalty: float
    perplexity_cap: float

    def strength(self, rows: Sequence[FitRow]) -> Array:
        """S of each row, floored: shape (n,)."""
        x = design(rows, self.constants, self.perplexity_cap)
        w = np.array([self.weights[name].value if name in self.weights else 0.0 for name in NAMES])
        return np.asarray(np.maximum(x @ w, FLOOR), dtype=np.float64)


def fit(
    rows: Sequence[FitRow],
    *,
    rescaling: Rescaling = "reference",
    penalty: float = 0.0,
    perplexity_cap: float = PERPLEXITY_CAP,
    perplexity_divisor: float = DIVISORS["perplexity"],
    constants: dict[str, Constants] | None = None,
) -> Fit:
    """Fit the weights in two stages. `constants`: rescale by these instead of by the rows' own.

    Raises:
        CannotFit: too few rows, labels all alike, or a measure that never varies.
    """
    plain = [row for row in rows if not row.counted]
    counted = [row for row in rows if row.counted]
    _enough(plain, STATIC)
    scale = constants or constants_of(rows, rescaling, perplexity_cap, perplexity_divisor)
    x, y = design(plain, scale, perplexity_cap)[:, :3], _targets(plain)
    first, static_cov, stage = _stage(x, y, np.zeros(len(y)), penalty)
    weights = {n: Weight(float(v), float(np.sqrt(c))) for n, v, c in zip(STATIC, first, np.diag(static_cov), strict=True)}
    stages = [stage]
    if counted:
        _enough(counted, COUNTS)
        x2, y2 = design(counted, scale, perplexity_cap), _targets(counted)
        second, cov, stage = _stage(x2[:, 3:], y2, x2[:, :3] @ first, penalty)
        cov = cov + _carried(x2, second, first, static_cov, penalty)
        weights |= {n: Weight(float(v), float(np.sqrt(c))) for n, v, c in zip(COUNTS, second, np.diag(cov), strict=True)}
        stages.append(stage)
    return Fit(weights, scale, tuple(stages), rescaling, penalty, perplexity_cap)


def constants_of(rows: Sequence[FitRow], rescaling: Rescaling, perplexity_cap: float, perplexity_divisor: float) -> dict[str, Constants]:
    """The constants that give every measure a common mean: of all rows, for the counts of the rows that have counts."""
    found = {}
    for name in NAMES:
        used = [row for row in rows if row.counted] if name in COUNTS else list(rows)
        values = _column(used, name, perplexity_cap)
        if not len(values) or values.max() == values.min():
            found[name] = Constants(d=perplexity_divisor if name == "perplexity" else DIVISORS[name])
        elif rescaling == "reference":
            d = perplexity_divisor if name == "perplexity" else DIVISORS[name]
            found[name] = Constants(d=d, a=COMMON_MEAN / float(np.mean(values / d)))
        else:
            low, high = float(values.min()), float(values.max())
            found[name] = Constants(low=low, high=high, gamma=_gamma((values - low) / (high - low)))
    return found


def _gamma(u: Array) -> float:
    """The exponent that gives values from 0 to 1 the common mean; the mean falls as it grows."""
    from scipy.optimize import brentq  # when something is fitted: a web process fits nothing

    share_of_highest = float(np.mean(u >= 1.0))
    if share_of_highest >= COMMON_MEAN or float(np.mean(u > 0)) <= COMMON_MEAN:
        raise CannotFit("three_point: no exponent gives this measure the common mean 0.3; too many values are its lowest or its highest.")
    return float(brentq(lambda g: float(np.mean(u**g)) - COMMON_MEAN, 1e-4, 1e4))


def design(rows: Sequence[FitRow], constants: dict[str, Constants], perplexity_cap: float) -> Array:
    """Rescaled measures, shape (n, 5) in the order of `NAMES`; R2's column is negative, since its term is subtracted."""
    columns = [constants[name].apply(_column(rows, name, perplexity_cap)) for name in NAMES]
    columns[4] = -columns[4]
    return np.column_stack(columns)


def _column(rows: Sequence[FitRow], name: str, perplexity_cap: float) -> Array:
    values = np.array([getattr(row, name) for row in rows], dtype=np.float64)
    return np.minimum(values, perplexity_cap) if name == "perplexity" else values


def _targets(rows: Sequence[FitRow]) -> Array:
    return np.array([row.important for row in rows], dtype=np.float64)


def _enough(rows: Sequence[FitRow], names: tuple[str, ...]) -> None:
    what = "without retrieval counts" if names == STATIC else "with retrieval counts"
    if len(rows) <= len(names):
        raise CannotFit(f"There are {len(rows)} rows {what}; fitting {', '.join(names)} needs at least {len(names) + 1}.")
    if len({row.important for row in rows}) == 1:
        raise CannotFit(f"All {len(rows)} rows {what} have the same label; there is nothing to tell apart.")
    if names == STATIC:
        flat = [name for name in names if len({getattr(row, name) for row in rows}) == 1]
        if flat:
            raise CannotFit(f"{', '.join(flat)} has the same value in every row {what}; its weight cannot be told.")


def retention(strength: Array) -> Array:
    """p = exp(−1/S) with the floor."""
    return np.asarray(np.exp(-1 / np.maximum(strength, FLOOR)), dtype=np.float64)


def gradient(x: Array, w: Array, offset: Array) -> Array:
    """∂p/∂w, shape (n, k): exp(−1/S)/S²·x, and 0 where S stands on its floor."""
    raw = x @ w + offset
    s = np.maximum(raw, FLOOR)
    slope = np.where(raw > FLOOR, np.exp(-1 / s) / s**2, 0.0)
    return np.asarray(slope[:, None] * x, dtype=np.float64)


def _residuals(x: Array, y: Array, offset: Array, penalty: float) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    root = np.sqrt(penalty)

    def residual(w: Array) -> Array:
        return np.concatenate([retention(x @ w + offset) - y, root * w])

    def jacobian(w: Array) -> Array:
        return np.vstack([gradient(x, w, offset), root * np.eye(x.shape[1])])

    return residual, jacobian


def _stage(x: Array, y: Array, offset: Array, penalty: float) -> tuple[Array, Array, Stage]:
    """(weights from a start at ones, their covariance, the stage). The covariance is the sandwich: labels of 0 and 1 do not vary evenly."""
    from scipy.optimize import least_squares  # when something is fitted: a web process fits nothing

    residual, jacobian = _residuals(x, y, offset, penalty)

    def solve(start: Array) -> tuple[Array, float]:
        found = least_squares(residual, start, jac=jacobian, method="lm", max_nfev=2000)  # type: ignore[operator]  # scipy ships no types
        return np.asarray(found.x), float(2 * found.cost)

    k = x.shape[1]
    best, loss = solve(np.ones(k))
    elsewhere = []
    for guess in product(GUESSES, repeat=k):
        end, its_loss = solve(np.array(guess))
        if np.any(np.abs(end - best) > ELSEWHERE * (1 + np.abs(best))):
            elsewhere.append((guess, tuple(float(v) for v in end), its_loss))
    slopes = gradient(x, best, offset)
    bread = np.linalg.pinv(slopes.T @ slopes + penalty * np.eye(k))
    wrong = retention(x @ best + offset) - y
    n = len(y)
    cov = bread @ ((slopes * wrong[:, None] ** 2).T @ slopes) @ bread * n / (n - k)
    return best, cov, Stage(loss, n, float(np.mean(y)), tuple(elsewhere))


def _carried(x: Array, counts: Array, static: Array, static_cov: Array, penalty: float) -> Array:
    """What the first stage's uncertainty adds to the covariance of the second's weights (Murphy and Topel 1985), shape (2, 2)."""
    slopes = gradient(x, np.concatenate([static, counts]), np.zeros(len(x)))
    own, other = slopes[:, 3:], slopes[:, :3]
    passed_on = np.linalg.pinv(own.T @ own + penalty * np.eye(2)) @ own.T @ other
    return np.asarray(passed_on @ static_cov @ passed_on.T, dtype=np.float64)
