"""Intervals over transcripts: seeded, wider than over utterances, and equal to a plain loop."""

import numpy as np

from studyplatform.analysis.agreement import coefficients
from studyplatform.analysis.agreement_intervals import coded, draws, intervals


def transcripts(n: int, size: int, seed: int, spread: float = 1.0) -> tuple[np.ndarray, list[int]]:
    """Three raters whose threshold for “important” differs between transcripts."""
    rng = np.random.default_rng(seed)
    where = np.repeat(np.arange(n), size)
    worth = rng.normal(size=n * size)[:, None] + rng.normal(scale=0.8, size=(n * size, 3)) + rng.normal(scale=spread, size=(n, 3))[where]
    return (worth > 1.2).astype(float), where.tolist()


def test_the_same_seed_gives_the_same_interval() -> None:
    ratings, where = transcripts(12, 20, seed=1)
    first, again = (intervals(ratings, where, categories=[0, 1], positive=1, seed=7, resamples=300) for _ in range(2))
    assert first == again
    assert first != intervals(ratings, where, categories=[0, 1], positive=1, seed=8, resamples=300)


def test_resamples_equal_a_plain_loop_over_clusters() -> None:
    ratings, where = transcripts(9, 15, seed=2)
    ratings[::7, 1] = np.nan
    found = intervals(ratings, where, categories=[0, 1], positive=1, seed=3, resamples=200)
    codes, n = coded(where)
    plain: dict[str, list[float]] = {name: [] for name in found}
    for weights in draws(n, 200, 3):
        for row in weights:
            rows = np.concatenate([np.flatnonzero(codes == c) for c in range(n) for _ in range(int(row[c]))])
            estimate = coefficients(ratings[rows], categories=[0, 1], positive=1)
            for name, values in plain.items():
                value = getattr(estimate, name).value
                values.append(np.nan if value is None else value)
    for name, interval in found.items():
        assert interval.low is not None
        assert np.allclose([interval.low, interval.high], np.nanquantile(plain[name], [0.025, 0.975])), name


def test_transcripts_give_a_wider_interval_than_utterances() -> None:
    ratings, where = transcripts(40, 50, seed=4)
    over = {
        name: intervals(ratings, clusters, categories=[0, 1], seed=5)["fleiss_kappa"]
        for name, clusters in {"transcripts": where, "utterances": list(range(len(ratings)))}.items()
    }
    width = {
        name: interval.high - interval.low for name, interval in over.items() if interval.high is not None and interval.low is not None
    }
    assert width["transcripts"] > 1.2 * width["utterances"]


def test_one_transcript_has_no_interval_but_a_reason() -> None:
    ratings, _ = transcripts(1, 20, seed=6)
    interval = intervals(ratings, ["only"] * 20, categories=[0, 1], seed=1)["fleiss_kappa"]
    assert (interval.low, interval.high) == (None, None)
    assert "one cluster" in interval.reason


def test_ratings_all_alike_have_no_interval() -> None:
    interval = intervals(np.zeros((20, 3)), [i // 5 for i in range(20)], categories=[0, 1], seed=1, resamples=50)["gwet_ac1"]
    assert (interval.low, interval.defined) == (None, 0)
    assert interval.reason
