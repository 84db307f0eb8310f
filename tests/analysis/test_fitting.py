"""Known weights are found again, the gradient is the closed form's, and rescaling gives what it promises."""

import os

import numpy as np
import pytest

from studyplatform.analysis import fitting
from studyplatform.analysis.fitting import CannotFit, Constants, FitRow

KNOWN = {"arousal": 1.2, "perplexity": -0.4, "importance": 0.9, "r1": 0.5, "r2": 0.3}
CONSTANTS = {
    "arousal": Constants(15, 1.5),
    "perplexity": Constants(400, 2.87),
    "importance": Constants(27.5, 2.13),
    "r1": Constants(1, 0.63),
    "r2": Constants(1, 0.63),
}


def people(seed: int, n: int = 3000) -> list[FitRow]:
    rng = np.random.default_rng(seed)
    rows = [
        FitRow(0, a, p, i, r1, r2)
        for a, p, i, r1, r2 in zip(
            rng.uniform(1, 5, n),
            rng.uniform(5, 160, n),
            rng.integers(1, 11, n).astype(float),
            rng.poisson(1.0, n) * (np.arange(n) % 2),
            rng.poisson(1.5, n) * (np.arange(n) % 2),
            strict=True,
        )
    ]
    s = fitting.design(rows, CONSTANTS, 160.0) @ np.array(list(KNOWN.values()))
    labels = rng.random(n) < fitting.retention(s)
    return [FitRow(float(y), r.arousal, r.perplexity, r.importance, float(r.r1), float(r.r2)) for y, r in zip(labels, rows, strict=True)]


def test_known_weights_lie_inside_the_intervals_of_simulated_labels() -> None:
    """`SIMULATIONS=200` for the number that was measured once: A 193, P 188, L 186, R1 190, R2 182 of 200 with 3,000 rows: R2's are a little narrow."""
    times = int(os.environ.get("SIMULATIONS", "40"))
    inside = dict.fromkeys(KNOWN, 0)
    for seed in range(times):
        found = fitting.fit(people(seed), constants=CONSTANTS)
        for name, known in KNOWN.items():
            low, high = found.weights[name].ci95
            inside[name] += low <= known <= high
    assert sum(inside.values()) >= 0.90 * times * len(KNOWN), inside
    assert min(inside.values()) >= 0.85 * times, inside


def test_the_gradient_is_that_of_small_differences() -> None:
    rng = np.random.default_rng(1)
    x, w, offset = rng.random((50, 3)), np.array([1.0, 0.7, 0.4]), np.zeros(50)
    small = 1e-6
    steps = np.eye(3) * small
    numeric = [(fitting.retention(x @ (w + h)) - fitting.retention(x @ (w - h))) / (2 * small) for h in steps]
    assert np.allclose(fitting.gradient(x, w, offset), np.column_stack(numeric), atol=1e-8)


def test_the_reference_rescaling_makes_the_means_agree() -> None:
    rows = people(3, 400)
    constants = fitting.constants_of(rows, "reference", 160.0, 400.0)
    means = np.abs(fitting.design(rows, constants, 160.0)[:, :3].mean(axis=0))
    assert np.allclose(means, fitting.COMMON_MEAN)


def test_three_points_agree_under_the_other_rescaling() -> None:
    rows = people(4, 400)
    constants = fitting.constants_of(rows, "three_point", 160.0, 400.0)
    x = fitting.design(rows, constants, 160.0)[:, :3]
    for value, points in ((0.0, x.min(axis=0)), (1.0, x.max(axis=0)), (fitting.COMMON_MEAN, x.mean(axis=0))):
        assert np.allclose(points, value)


def test_labels_that_are_all_alike_are_refused() -> None:
    with pytest.raises(CannotFit, match="same label"):
        fitting.fit([FitRow(1, 1 + i % 4, 20 + i, 1 + i % 9) for i in range(20)])
