"""1,000 random tables against three packages: equal where a coefficient is defined, None with a reason where it is not.

The packages are oracles of the tests only. AC1 of ratings that are all alike is 1 by its formula; here it is undefined, as the rest.
"""

import math
import warnings
from collections import Counter

import numpy as np
import pytest

from studyplatform.analysis.agreement import Coefficient, coefficients, counted

irr_raw = pytest.importorskip("irrCAC.raw")
krippendorff = pytest.importorskip("krippendorff")
inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
pandas = pytest.importorskip("pandas")

TABLES = 1_000
IRR_EVERY = 5  # irrCAC takes 20 ms a table


def random_table(rng: np.random.Generator) -> tuple[np.ndarray, list[float]]:
    """Items × raters: unequal numbers of raters, unused categories, constant columns, sometimes nothing at all."""
    items, raters, q = rng.integers(1, 25), rng.integers(1, 9), rng.integers(2, 6)
    used = q - rng.integers(q) if rng.random() < 0.5 else q
    truth = rng.integers(used, size=items)
    noise = rng.integers(used, size=(items, raters))
    table = np.where(rng.random((items, raters)) < rng.random(), truth[:, None], noise).astype(float)
    if rng.random() < 0.2:
        table[:, rng.integers(raters)] = rng.integers(used)
    if rng.random() < 0.6:
        table[rng.random((items, raters)) < rng.choice([0.1, 0.4, 0.9])] = np.nan
    return table, [float(value) for value in range(q)]


def same(found: Coefficient, oracle: float, tolerance: float = 1e-9) -> bool:
    return found.value is not None and math.isclose(found.value, oracle, abs_tol=tolerance)


def undefined(found: Coefficient) -> bool:
    return found.value is None and bool(found.reason)


def test_a_thousand_random_tables_equal_the_oracles() -> None:
    rng = np.random.default_rng(20260101)
    seen: Counter[str] = Counter()
    for number in range(TABLES):
        table, categories = random_table(rng)
        found = coefficients(table, categories=categories)
        seen[check_fleiss(table, categories, found.fleiss_kappa, found.randolph_kappa)] += 1
        seen[check_alpha(table, categories)] += 1
        seen[check_pairs(table, categories)] += 1
        if number % IRR_EVERY == 0:
            seen[check_gwet(table, categories)] += 1
    assert min(seen[kind] for kind in ("fleiss", "alpha", "pair")) > 400, seen
    assert seen["ac1"] > 80
    assert min(seen[f"no {kind}"] for kind in ("fleiss", "alpha", "pair", "ac1")) > 10, seen


def check_fleiss(table: np.ndarray, categories: list[float], kappa: Coefficient, randolph: Coefficient) -> str:
    counts = counted(table, categories)
    complete = counts[np.isfinite(table).all(axis=1)]
    if table.shape[1] < 2 or not len(complete) or (complete.sum(axis=0) > 0).sum() < 2:
        assert undefined(kappa)
        assert undefined(randolph)
        return "no fleiss"
    assert same(kappa, inter_rater.fleiss_kappa(complete, method="fleiss"))
    assert same(randolph, inter_rater.fleiss_kappa(complete, method="randolph"))
    return "fleiss"


def check_alpha(table: np.ndarray, categories: list[float]) -> str:
    pairable = table[np.isfinite(table).sum(axis=1) >= 2]
    defined = len(np.unique(pairable[np.isfinite(pairable)])) > 1
    for level in ("nominal", "ordinal", "interval", "ratio"):
        found = coefficients(table, categories=categories, level=level).krippendorff_alpha  # type: ignore[arg-type]  # one of the four
        if not defined:
            assert undefined(found)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            oracle = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level, value_domain=categories)
        assert same(found, oracle), level
    return "alpha" if defined else "no alpha"


def check_pairs(table: np.ndarray, categories: list[float]) -> str:
    pairs = coefficients(table, categories=categories).pairs
    if not pairs:
        return "single rater"
    both = table[:, :2][np.isfinite(table[:, :2]).all(axis=1)]
    if len(np.unique(both)) < 2:
        assert undefined(pairs[0, 1])
        return "no pair"
    cells = np.array([[((both[:, 0] == a) & (both[:, 1] == b)).sum() for b in categories] for a in categories])
    assert same(pairs[0, 1], inter_rater.cohens_kappa(cells, return_results=False))
    return "pair"


def check_gwet(table: np.ndarray, categories: list[float]) -> str:
    found = coefficients(table, categories=categories)
    values = table[np.isfinite(table)]
    if not (np.isfinite(table).sum(axis=1) >= 2).any() or len(np.unique(values)) < 2:
        assert undefined(found.gwet_ac1)
        assert undefined(found.gwet_ac1_error)
        return "no ac1"
    if np.isfinite(table).any(axis=1).sum() < 2:  # irrCAC divides by zero
        assert undefined(found.gwet_ac1_error)
        return "single item"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = irr_raw.CAC(pandas.DataFrame(table), categories=categories, digits=12).gwet()["est"]
    assert same(found.gwet_ac1, oracle["coefficient_value"])
    assert same(found.percent_agreement, oracle["pa"])
    if oracle["se"] > 1e-12:
        assert same(found.gwet_ac1_error, oracle["se"])
    return "ac1"
