"""The figures of the benchmark, on cases worked out by hand."""

import pytest

from memory.benchmark import metrics
from memory.benchmark.metrics import Found, Retrieval, Wrote


def found(expected: str, *slots: str) -> Found:
    """Each letter is a slot."""
    return Found(frozenset(expected), tuple(frozenset(held) for held in slots))


@pytest.mark.parametrize(
    ("query", "figures"),
    [
        (found("a", "a"), Retrieval(1, 1, 1, 1, 0)),
        (found("a", "a", "b", "c"), Retrieval(1 / 3, 1, 1 / 2, 1, 0)),
        (found("ab", "a", "c"), Retrieval(1 / 2, 1 / 2, 1 / 2, 1, 0)),
        (found("ab", "b", "b", "a"), Retrieval(1, 1, 1, 1, 1 / 3)),
        (found("a", "b", "b", "b"), Retrieval(0, 0, 0, 0, 2 / 3)),
        (found("a"), Retrieval(0, 0, 0, 0, 0)),
        (found("a", "abcd"), Retrieval(1 / 4, 1, 2 / 5, 1, 0)),
        (found("a", "ab", "a"), Retrieval(1 / 2, 1, 2 / 3, 1, 1 / 2)),
        (found("d", "a", "b", "c", "d"), Retrieval(0, 0, 0, 0, 0)),
        (found(""), Retrieval(1, 1, 1, 1, 0)),
        (found("", "a", "a"), Retrieval(0, 0, 0, 0, 1 / 2)),
    ],
    ids=[
        "the one slot alone",
        "among two others",
        "one of two slots",
        "twice the same slot",
        "three times the wrong slot",
        "nothing found",
        "one memory of four slots",
        "a memory within another",
        "only the first three count",
        "silence where none is needed",
        "found where none is needed",
    ],
)
def test_one_query(query: Found, figures: Retrieval) -> None:
    assert vars(metrics.of_query(query)) == pytest.approx(vars(figures))


def test_the_plain_figures_leave_out_queries_that_expect_nothing() -> None:
    figures = metrics.retrieval([found("a", "a"), found("b", "c"), found(""), found("", "a")])
    assert figures["f1_at_3"] == 0.5
    assert figures["f1_at_3_all"] == 0.5
    assert figures["silent"] == 0.5
    assert metrics.retrieval([found("a", "a"), found("", "a")])["f1_at_3_all"] == 0.5


def test_of_no_queries_there_are_no_figures() -> None:
    assert metrics.retrieval([])["p_at_3"] is None
    assert metrics.retrieval([found("a", "a")])["silent"] is None


def test_what_became_of_the_turns() -> None:
    written = [
        Wrote("store", "store", calls=2, prefilled=10, cached=90, generated=20, seconds=0.1),
        Wrote("store", "filter", calls=1, misread=1, prefilled=40, generated=4, seconds=0.2),
        Wrote("update", "update", True, calls=4, fallbacks=1, prefilled=50, cached=110, generated=36, seconds=0.3),
        Wrote("update", "update", False, seconds=0.4),
        Wrote("filter", "error", seconds=1.0),
    ]
    figures = metrics.writing(written)
    assert figures["action_accuracy"] == 3 / 5
    assert figures["target_accuracy"] == 1 / 2
    assert figures["confusion"]["store"] == {"store": 1, "update": 0, "discard": 0, "filter": 1, "error": 0}
    assert sum(n for row in figures["confusion"].values() for n in row.values()) == 5
    assert (figures["errors"], figures["parse_failures"], figures["fallbacks"]) == (1, 1, 1)
    assert figures["calls_per_turn"] == 7 / 5
    assert (figures["prefilled_per_turn"], figures["cached_per_turn"], figures["generated_per_turn"]) == (20, 40, 12)
    assert figures["tokens_per_turn"] == 72
    assert figures["seconds_per_turn"] == 0.3
    assert figures["seconds_per_turn_p95"] == pytest.approx(0.88)
