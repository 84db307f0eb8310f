"""Paired comparisons: by hand, and on simulated studies of 17 people and four conditions with a known difference."""

import os

import numpy as np
import pytest

from studyplatform.analysis.rows import ArmRow, PlanRow, RatingRow, SessionRow, StudyRows
from studyplatform.analysis.tables import comparisons

SEEDS = 200 if os.environ.get("COVERAGE") == "full" else 10


def test_holm_multiplies_the_smallest_by_the_number_of_tests_and_never_falls():
    assert comparisons.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_of_eight_sign_patterns_two_are_as_extreme_as_three_gains():
    assert comparisons.sign_flip(np.array([1.0, 2.0, 3.0]), seed=1) == 0.25


def simulated(seed: int, effect: float) -> StudyRows:
    rng = np.random.default_rng(seed)
    people, conditions = [f"p{i:02}" for i in range(17)], ("a", "b", "c", "d")
    lifted = {"b": effect}
    sessions = [SessionRow(f"{p}{c}", p, c, 2, 2, "closed") for p in people for c in conditions]
    base = dict(zip(people, rng.normal(0, 1, 17), strict=True))
    scores = [RatingRow(s.code, "A1", "overall", base[s.participant] + lifted.get(s.condition, 0) + rng.normal(0, 0.5)) for s in sessions]
    arms = tuple(ArmRow(p, c, 1) for p in people for c in conditions)
    return StudyRows(conditions, arms=arms, sessions=tuple(sessions), ratings=tuple(scores), plan=PlanRow("overall", ("a", "b")))


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_the_planned_contrast_finds_what_was_planted_and_nothing_where_nothing_was(effect):
    covered = right = 0
    for seed in range(SEEDS):
        table = comparisons.table(simulated(seed, effect), seed=seed)
        row = {"outcome": "overall", "pair": "a less b", "kind": "confirmatory"}
        difference = table.cell("difference", **row)
        covered += difference.low <= -effect <= difference.high
        right += (table.value("p", **row) < 0.05) == (effect != 0)
    print(f"effect {effect}: covered {covered}, right {right} of {SEEDS}")
    assert min(covered, right) >= (0.93 if SEEDS > 10 else 0.7) * SEEDS
