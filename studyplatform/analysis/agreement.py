"""Agreement between raters, from counts: what is published about labels, and why a coefficient has no value where it has none.

Each coefficient is a function of sums over items (`Sums`), so the same formula gives the estimate (one row) and 2,000 resamples
(one row each, `agreement_intervals`). NaN inside means undefined; outside it is None with a reason, never 0 or 1.

Sources: Fleiss 1971 (kappa, its null variance: Fleiss, Nee, Landis 1979; per category: Fleiss 1971, eq. 15); Krippendorff 2011,
"Computing Krippendorff's alpha-reliability"; Gwet 2008 (AC1, its variance, unequal numbers of raters: Gwet 2014, ch. 5); specific
agreement: Cicchetti and Feinstein 1990, for many raters Uebersax; Randolph 2005; Cohen 1960, 1968.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval", "ratio"]

NOTHING = "nothing was rated"
ONE_RATER = "fewer than two raters: no item has two ratings"
ONE_CATEGORY = "all ratings are in one category"


class Coefficient(NamedTuple):
    """A value, or None and why there is none."""

    value: float | None
    reason: str = ""


@dataclass(frozen=True)
class Additive:
    """Arrays with one row per item (or cluster, or resample) that add up over items."""

    def added(self, clusters: NDArray[np.intp], n: int) -> Self:
        """One row per cluster. `clusters`: (items,), 0 .. n - 1."""
        order = np.argsort(clusters, kind="stable")
        starts = np.searchsorted(clusters[order], np.arange(n))
        return type(self)(*(np.add.reduceat(getattr(self, f.name)[order], starts, axis=0) for f in fields(self)))

    def weighted(self, weights: Floats) -> Self:
        """One row per resample. `weights`: (resamples, rows), how often each row was drawn."""
        return type(self)(*(np.tensordot(weights, getattr(self, f.name), axes=1) for f in fields(self)))

    def total(self) -> Self:
        return type(self)(*(np.asarray(getattr(self, f.name)).sum(axis=0, keepdims=True) for f in fields(self)))


@dataclass(frozen=True)
class Sums(Additive):
    """What the coefficients need of a table of counts (items × q categories). Shapes: (rows,) or (rows, q) or (rows, q, q)."""

    complete: Floats  # items with the full number of raters
    complete_counts: Floats  # (q) their ratings by category
    complete_agreed: Floats  # their pairwise agreement, summed
    complete_split: Floats  # (q) n_ij (n - n_ij), for kappa per category
    raters: Floats  # the full number × complete items
    rated: Floats  # items with any rating
    shares: Floats  # (q) each item's shares of the categories
    ratings: Floats  # (q) all ratings by category
    pairable: Floats  # items with two ratings or more
    agreed: Floats  # their pairwise agreement, summed
    coincidences: Floats  # (q, q) Krippendorff's matrix
    same: Floats  # (q) ordered pairs of ratings that are both of the category
    possible: Floats  # (q) ordered pairs whose first rating is of the category


def counted(ratings: ArrayLike, categories: Sequence[float]) -> Floats:
    """Ratings (items × raters, NaN = missing) as counts (items × categories). ValueError: no such table, or a value off the scale."""
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must be items × raters, got {table.ndim} dimensions")
    if len(set(categories)) != len(categories) or not categories:
        raise ValueError("name the categories of the scale, each once")
    counts = np.stack([(table == value).sum(axis=1) for value in categories], axis=1).astype(np.float64)
    if counts.sum() != np.isfinite(table).sum():
        strange = sorted(set(table[np.isfinite(table)].tolist()) - set(map(float, categories)))
        raise ValueError(f"ratings hold values that the scale has not: {strange[:5]}")
    return counts


def summed(counts: ArrayLike, *, full: int) -> Sums:
    """The sums of each item. `counts`: items × categories; `full`: how many raters an item should have."""
    table = np.asarray(counts, dtype=np.float64)
    n = table.sum(axis=1)
    complete = ((n == full) & (full >= 2)).astype(np.float64)
    pairable = n >= 2
    pairs = table * (table - 1)
    others = np.where(pairable, n - 1, 1)
    agreed = np.where(pairable, pairs.sum(axis=1) / np.maximum(n * (n - 1), 1), 0.0)
    q = table.shape[1]
    outer = (table[:, :, None] * table[:, None, :] - table[:, :, None] * np.eye(q)) * (pairable / others)[:, None, None]
    return Sums(
        complete=complete,
        complete_counts=table * complete[:, None],
        complete_agreed=agreed * complete,
        complete_split=table * (full - table) * complete[:, None],
        raters=complete * full,
        rated=(n > 0).astype(np.float64),
        shares=table / np.maximum(n, 1)[:, None],
        ratings=table,
        pairable=pairable.astype(np.float64),
        agreed=agreed,
        coincidences=outer,
        same=pairs,
        possible=table * np.maximum(n - 1, 0)[:, None],
    )


def _varied(counts: Floats) -> NDArray[np.bool_]:
    return np.asarray((counts > 0).sum(axis=-1) > 1, dtype=np.bool_)


def _ratio(top: Floats, bottom: Floats, where: NDArray[np.bool_]) -> Floats:
    out = np.full(np.broadcast_shapes(np.shape(top), np.shape(bottom)), np.nan)
    np.divide(top, bottom, out=out, where=np.broadcast_to(where & (bottom != 0), out.shape))
    return out


def _chance_corrected(observed: Floats, expected: Floats, where: NDArray[np.bool_]) -> Floats:
    return _ratio(observed - expected, 1 - expected, where)


def fleiss_kappa(s: Sums) -> Floats:
    """Over items with the full number of raters."""
    p = _ratio(s.complete_counts, s.raters[:, None], s.raters[:, None] > 0)
    observed = _ratio(s.complete_agreed, s.complete, s.complete > 0)
    return _chance_corrected(observed, (p**2).sum(axis=1), _varied(s.complete_counts))


def category_kappas(s: Sums) -> Floats:
    """(rows, q): 1 - Σ n_ij (n - n_ij) / (N n (n - 1) p_j (1 - p_j)); undefined for a category that nobody or everybody used."""
    n = _ratio(s.raters, s.complete, s.complete > 0)[:, None]
    p = _ratio(s.complete_counts, s.raters[:, None], s.raters[:, None] > 0)
    used = (s.complete_counts > 0) & (s.complete_counts < s.raters[:, None])
    return 1 - _ratio(s.complete_split, s.raters[:, None] * (n - 1) * p * (1 - p), used)


def fleiss_z(s: Sums) -> Floats:
    """Kappa over its standard error if raters agreed by chance only."""
    n = _ratio(s.raters, s.complete, s.complete > 0)
    p = _ratio(s.complete_counts, s.raters[:, None], s.raters[:, None] > 0)
    spread = (p * (1 - p)).sum(axis=1)
    variance = 2 * (spread**2 - (p * (1 - p) * (1 - 2 * p)).sum(axis=1))
    error = np.sqrt(_ratio(variance, s.complete * n * (n - 1) * spread**2, _varied(s.complete_counts)))
    return _ratio(fleiss_kappa(s), error, error > 0)


def _distances(values: Floats, totals: Floats, level: Level) -> Floats:
    """Krippendorff's squared differences, (rows or 1, q, q)."""
    if level == "nominal":
        return 1 - np.eye(len(values))[None]
    if level == "ordinal":
        middles = np.cumsum(totals, axis=1) - totals / 2
        return (middles[:, :, None] - middles[:, None, :]) ** 2
    difference, both = values[:, None] - values[None, :], values[:, None] + values[None, :]
    if level == "interval":
        return (difference**2)[None]
    if (values < 0).any():
        raise ValueError("the ratio level needs values of 0 or more")
    return (np.divide(difference, both, out=np.zeros_like(difference), where=both != 0) ** 2)[None]


def krippendorff_alpha(s: Sums, values: Sequence[float], level: Level = "nominal") -> Floats:
    """Over every item with two ratings or more. `values`: the categories as numbers, ascending for an ordered level."""
    if level != "nominal" and list(values) != sorted(values):
        raise ValueError("give the categories of an ordered scale in ascending order")
    totals = s.coincidences.sum(axis=2)
    distances = _distances(np.asarray(values, dtype=np.float64), totals, level)
    observed = (s.coincidences * distances).sum(axis=(1, 2))
    expected = (totals[:, :, None] * totals[:, None, :] * distances).sum(axis=(1, 2))
    return 1 - _ratio((totals.sum(axis=1) - 1) * observed, expected, _varied(s.possible))


def _gwet_chance(s: Sums) -> tuple[Floats, Floats]:
    shares = _ratio(s.shares, s.rated[:, None], s.rated[:, None] > 0)
    return shares, (shares * (1 - shares)).sum(axis=1) / max(shares.shape[1] - 1, 1)


def gwet_ac1(s: Sums) -> Floats:
    """Observed agreement over items with two ratings or more, chance from every rated item and the scale's number of categories."""
    return _chance_corrected(percent_agreement(s), _gwet_chance(s)[1], _varied(s.ratings))


def percent_agreement(s: Sums) -> Floats:
    """The mean share of an item's pairs of ratings that agree, a fraction."""
    return _ratio(s.agreed, s.pairable, s.pairable > 0)


def specific_agreement(s: Sums) -> Floats:
    """(rows, q): of two ratings of an item one of which is this category, how often the other is too."""
    return _ratio(s.same, s.possible, s.possible > 0)


def prevalences(s: Sums) -> Floats:
    """(rows, q): each category's share of all ratings."""
    everything = s.ratings.sum(axis=1, keepdims=True)
    return _ratio(s.ratings, everything, everything > 0)


def randolph_kappa(s: Sums) -> Floats:
    """Free-marginal: chance is one in the scale's number of categories; over items with the full number of raters."""
    observed = _ratio(s.complete_agreed, s.complete, s.complete > 0)
    chance = np.full_like(observed, 1 / s.complete_counts.shape[1])
    return _chance_corrected(observed, chance, _varied(s.complete_counts))


def gwet_ac1_error(counts: ArrayLike) -> Floats:
    """(1,) Gwet's standard error of AC1 over items (not clustered); NaN with fewer than two rated items."""
    table = np.asarray(counts, dtype=np.float64)
    table = table[table.sum(axis=1) > 0]
    items = summed(table, full=2)
    s = items.total()
    shares, chance = _gwet_chance(s)
    ac1, n = gwet_ac1(s)[0], len(table)
    if n < 2 or not np.isfinite(ac1):
        return np.array([np.nan])
    room = 1 - chance[0]
    own = n / s.pairable[0] * (items.agreed - chance[0] * items.pairable) / room
    own_chance = items.shares @ (1 - shares[0]) / (shares.shape[1] - 1)
    influence = own - 2 * (1 - ac1) * (own_chance - chance[0]) / room
    return np.array([np.sqrt(((influence - ac1) ** 2).sum() / (n * (n - 1)))])


def cohen_kappa(matrix: Floats, weights: Floats | None = None) -> Floats:
    """(rows,) from two raters' cross tables (rows, q, q); `weights` (q, q) are disagreements, 0 on the diagonal."""
    q = matrix.shape[-1]
    weights = 1 - np.eye(q) if weights is None else weights
    first, second = matrix.sum(axis=2), matrix.sum(axis=1)
    n = matrix.sum(axis=(1, 2))
    observed = (matrix * weights).sum(axis=(1, 2)) * n
    expected = (first[:, :, None] * second[:, None, :] * weights).sum(axis=(1, 2))
    return 1 - _ratio(observed, expected, expected > 0)


def crossed(first: ArrayLike, second: ArrayLike, categories: Sequence[float]) -> Floats:
    """(items, q, q): 1 in the cell of the two raters' categories, zeros where one of them rated nothing."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    scale = np.asarray(categories, dtype=np.float64)
    cells = (a[:, None] == scale)[:, :, None] & (b[:, None] == scale)[:, None, :]
    return np.asarray(cells, dtype=np.float64)


@dataclass(frozen=True)
class Coefficients:
    """What is always shown together. Shares are fractions; `n_items` items with the full number of raters, `n_excluded` rated items without."""

    fleiss_kappa: Coefficient
    fleiss_z: Coefficient
    krippendorff_alpha: Coefficient
    gwet_ac1: Coefficient
    gwet_ac1_error: Coefficient
    percent_agreement: Coefficient
    positive_agreement: Coefficient
    prevalence: Coefficient
    randolph_kappa: Coefficient
    by_category: Mapping[float, Coefficient]
    pairs: Mapping[tuple[int, int], Coefficient]  # Cohen's kappa of two raters, by their columns
    n_items: int
    n_excluded: int
    n_pairable: int
    n_ratings: int


def formulas(
    categories: Sequence[float], *, positive: float | None = None, level: Level = "nominal"
) -> dict[str, Callable[[Sums], Floats]]:
    """The coefficients that can be resampled, by the names of `Coefficients`. `positive`: the category of the last two."""
    chosen: dict[str, Callable[[Sums], Floats]] = {
        "fleiss_kappa": fleiss_kappa,
        "krippendorff_alpha": lambda s: krippendorff_alpha(s, categories, level),
        "gwet_ac1": gwet_ac1,
        "percent_agreement": percent_agreement,
        "randolph_kappa": randolph_kappa,
    }
    if positive is not None:
        at = list(categories).index(positive)
        chosen["positive_agreement"] = lambda s: specific_agreement(s)[:, at]
        chosen["prevalence"] = lambda s: prevalences(s)[:, at]
    return chosen


def coefficients(
    ratings: ArrayLike, *, categories: Sequence[float], positive: float | None = None, full: int | None = None, level: Level = "nominal"
) -> Coefficients:
    """Every coefficient of `ratings` (items × raters, NaN = missing).

    `categories`: the whole scale, also what nobody used. `positive`: the category of positive agreement and prevalence. `full`: how
    many ratings an item should have (a pool of ten of whom three rate each item: 3); default: the number of columns.
    ValueError: not a table, or a value that the scale has not.
    """
    table = np.asarray(ratings, dtype=np.float64)
    found = from_counts(counted(table, categories), categories=categories, positive=positive, full=full or table.shape[1], level=level)
    columns = table.T
    shared = {
        (a, b): crossed(columns[a], columns[b], categories).sum(axis=0, keepdims=True) for a, b in combinations(range(len(columns)), 2)
    }
    pairs = {pair: _read(cohen_kappa(matrix), _why_pair(matrix)) for pair, matrix in shared.items()}
    return Coefficients(**{f.name: getattr(found, f.name) for f in fields(found)} | {"pairs": pairs})


def from_counts(
    counts: ArrayLike, *, categories: Sequence[float], positive: float | None = None, full: int, level: Level = "nominal"
) -> Coefficients:
    """As `coefficients`, from counts (items × categories) alone: without the pairs of raters, whom counts do not name."""
    items = np.asarray(counts, dtype=np.float64)
    s = summed(items, full=full).total()
    complete, all_data = _why_complete(s, full), _why_all(s)
    chosen = formulas(categories, positive=positive, level=level)
    none = np.array([np.nan])
    positives = {name: chosen[name](s) if name in chosen else none for name in ("positive_agreement", "prevalence")}
    nobody = NOTHING if not s.rated[0] else "" if positive is not None else "no category was named as positive"
    return Coefficients(
        fleiss_kappa=_read(fleiss_kappa(s), complete),
        fleiss_z=_read(fleiss_z(s), complete),
        krippendorff_alpha=_read(chosen["krippendorff_alpha"](s), _why_paired(s)),
        gwet_ac1=_read(gwet_ac1(s), all_data),
        gwet_ac1_error=_read(gwet_ac1_error(items), all_data or "fewer than two items were rated"),
        percent_agreement=_read(percent_agreement(s), NOTHING if not s.rated[0] else ONE_RATER),
        positive_agreement=_read(positives["positive_agreement"], nobody or "nobody used the category where two raters could agree on it"),
        prevalence=_read(positives["prevalence"], nobody),
        randolph_kappa=_read(randolph_kappa(s), complete),
        by_category={
            value: _read(kappa, complete or "nobody used this category")
            for value, kappa in zip(categories, category_kappas(s).T, strict=True)
        },
        pairs={},
        n_items=int(s.complete[0]),
        n_excluded=int(s.rated[0] - s.complete[0]),
        n_pairable=int(s.pairable[0]),
        n_ratings=int(s.ratings.sum()),
    )


def _read(values: Floats, reason: str) -> Coefficient:
    value = float(values[0])
    return Coefficient(value) if np.isfinite(value) else Coefficient(None, reason)


def _why_complete(s: Sums, full: int) -> str:
    if not s.rated[0]:
        return NOTHING
    if not s.pairable[0] or full < 2:
        return ONE_RATER
    if not s.complete[0]:
        return f"no item has all {full} ratings"
    return "" if _varied(s.complete_counts)[0] else ONE_CATEGORY


def _why_all(s: Sums) -> str:
    if not s.pairable[0]:
        return ONE_RATER if s.rated[0] else NOTHING
    return "" if _varied(s.ratings)[0] else ONE_CATEGORY


def _why_paired(s: Sums) -> str:
    return _why_all(s) or ("" if _varied(s.possible)[0] else "all ratings that can be paired are in one category")


def _why_pair(matrix: Floats) -> str:
    return ONE_CATEGORY if matrix.sum() else "the two rated no item in common"
