"""The reference values of the literature, and what has no value."""

import math
from typing import Any

import numpy as np
import pytest

from studyplatform.analysis.agreement import Coefficient, coefficients, from_counts

NAN = math.nan
TEXTBOOK = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
# Fleiss 1971, table 1: 30 patients, 6 psychiatrists, 5 diagnoses.
FLEISS_1971 = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0], [0, 0, 4, 0, 2], [2, 0, 3, 1, 0],
    [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0], [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1],
    [3, 0, 0, 1, 2], [5, 1, 0, 0, 0], [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
    [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
]  # fmt: skip
# Krippendorff 2011: 4 observers × 12 units.
OBSERVERS = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]).T  # fmt: skip
FIVE = [1, 2, 3, 4, 5]


def near(coefficient: Coefficient, expected: float, digits: int = 5) -> bool:
    return coefficient.value is not None and abs(coefficient.value - expected) <= 0.6 * 10**-digits


def test_ten_subjects_and_fourteen_raters() -> None:
    found = from_counts(TEXTBOOK, categories=FIVE, full=14)
    assert near(found.fleiss_kappa, 0.209931, 6)
    assert near(found.krippendorff_alpha, 0.21557)
    assert near(found.gwet_ac1, 0.22561)
    for category, expected in zip(FIVE, [0.201, 0.080, 0.172, 0.030, 0.508], strict=True):
        assert near(found.by_category[category], expected, 3)


def test_the_diagnoses_of_fleiss_1971() -> None:
    found = from_counts(FLEISS_1971, categories=FIVE, full=6)
    assert near(found.fleiss_kappa, 0.4302445, 6)
    assert near(found.fleiss_z, 17.65183)
    assert near(found.gwet_ac1, 0.44788)
    assert near(found.krippendorff_alpha, 0.43341)
    for category, expected in zip(FIVE, [0.245, 0.245, 0.520, 0.471, 0.566], strict=True):
        assert near(found.by_category[category], expected, 3)


@pytest.mark.parametrize(
    ("counts", "kappa", "randolph"), [([[7, 1], [3, 5]], 0.161905, 0.214286), ([[6, 1, 0], [0, 7, 0]], 0.708333, 0.785714)]
)
def test_small_tables(counts: list[list[int]], kappa: float, randolph: float) -> None:
    found = from_counts(counts, categories=range(len(counts[0])), full=sum(counts[0]))
    assert near(found.fleiss_kappa, kappa, 6)
    assert near(found.randolph_kappa, randolph, 6)


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)])
def test_krippendorffs_observers(level: Any, alpha: float) -> None:
    assert near(coefficients(OBSERVERS, categories=FIVE, level=level).krippendorff_alpha, alpha, 3)


def test_two_raters_who_mark_nearly_everything() -> None:
    first, second = np.repeat([1, 1, 0, 0], [130, 56, 9, 5]), np.repeat([1, 0, 1, 0], [130, 56, 9, 5])
    found = coefficients(np.stack([first, second], axis=1), categories=[0, 1], positive=1)
    assert near(found.pairs[0, 1], 0.022, 3)
    assert near(found.fleiss_kappa, -0.0667, 4)
    assert near(found.gwet_ac1, 0.53258)
    assert near(found.positive_agreement, 2 * 130 / (2 * 130 + 65))
    assert near(found.prevalence, (2 * 130 + 65) / 400)


def test_ratings_all_alike_have_no_kappa_but_full_agreement() -> None:
    found = from_counts([[3, 0]] * 10, categories=[0, 1], positive=1, full=3)
    for name in ("fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "gwet_ac1_error", "randolph_kappa"):
        assert getattr(found, name) == (None, "all ratings are in one category")
    assert found.percent_agreement.value == 1
    assert found.prevalence.value == 0
    assert found.positive_agreement.value is None
    assert found.positive_agreement.reason


def test_nothing_rated_and_one_rater_have_reasons() -> None:
    nothing = coefficients(np.full((4, 3), NAN), categories=[0, 1], positive=1)
    alone = coefficients([[1, NAN], [0, NAN]], categories=[0, 1], positive=1)
    for name in ("fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "percent_agreement"):
        assert getattr(nothing, name) == (None, "nothing was rated")
        assert getattr(alone, name).value is None
        assert "fewer than two raters" in getattr(alone, name).reason
    assert alone.prevalence.value == 0.5
    assert alone.pairs[0, 1] == (None, "the two rated no item in common")


def test_an_unused_category_moves_ac1_and_not_kappa() -> None:
    ratings = [[0, 0], [1, 1], [0, 1], [1, 1]]
    two, three = coefficients(ratings, categories=[0, 1]), coefficients(ratings, categories=[0, 1, 2])
    assert two.fleiss_kappa == three.fleiss_kappa
    assert two.krippendorff_alpha == three.krippendorff_alpha
    assert two.gwet_ac1 != three.gwet_ac1
    assert three.by_category[2] == (None, "nobody used this category")


def test_items_without_all_ratings_leave_fleiss_kappa_and_stay_in_alpha() -> None:
    found = coefficients([[1, 1, 1], [0, 0, 1], [0, 0, NAN], [NAN, NAN, 1]], categories=[0, 1], positive=1)
    assert (found.n_items, found.n_excluded, found.n_pairable, found.n_ratings) == (2, 2, 3, 9)
    assert found.fleiss_kappa == coefficients([[1, 1, 1], [0, 0, 1]], categories=[0, 1]).fleiss_kappa


def test_a_pool_of_ten_of_whom_three_rate_counts_as_three() -> None:
    pool = np.full((3, 10), NAN)
    pool[0, [0, 4, 9]], pool[1, [1, 2, 3]], pool[2, [5, 6, 7]] = [1, 1, 0], [0, 0, 0], [1, 1, 1]
    together = coefficients([[1, 1, 0], [0, 0, 0], [1, 1, 1]], categories=[0, 1])
    assert coefficients(pool, categories=[0, 1], full=3).fleiss_kappa == together.fleiss_kappa


def test_a_value_off_the_scale_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2\.0"):
        coefficients([[0, 2], [1, 1]], categories=[0, 1])
