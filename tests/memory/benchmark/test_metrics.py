"""The benchmark's figures, on cases worked out by hand."""

import pytest

from memory.benchmark import metrics
from memory.benchmark.metrics import Found, Retrieval, Wrote


def found(expected: str, *slots: str) -> Found:
    """`found("ab", "a", "xy")`: slots a and b are expected; a memory of a, and one of x and y, came."""
    return Found(frozenset(expected), tuple(frozenset(held) for held in slots))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param(found("a", "a"), (1, 1, 1, 1, 0), id="the one that was sought"),
        pytest.param(found("a", "a", "b", "c"), (1 / 3, 1, 1 / 2, 1, 0), id="with two others"),
        pytest.param(found("ab", "a", "c"), (1 / 2, 1 / 2, 1 / 2, 1, 0), id="half of what was sought"),
        pytest.param(found("a", "a", "a", "b"), (1 / 2, 1, 2 / 3, 1, 1 / 3), id="the same twice"),
        pytest.param(found("a", "b", "b", "b"), (0, 0, 0, 0, 2 / 3), id="the wrong one three times"),
        pytest.param(found("a"), (0, 0, 0, 0, 0), id="nothing"),
        pytest.param(found("a", "abcd"), (1 / 4, 1, 2 / 5, 1, 0), id="one memory made of four slots"),
        pytest.param(found("a", "ab", "a", "b"), (1 / 2, 1, 2 / 3, 1, 2 / 3), id="two that repeat a fused one"),
        pytest.param(found("d", "a", "b", "c", "d"), (0, 0, 0, 0, 0), id="only the first three count"),
        pytest.param(found(""), (1, 1, 1, 1, 0), id="silence where nothing is needed"),
        pytest.param(found("", "a", "a"), (0, 0, 0, 0, 1 / 2), id="talk where nothing is needed"),
    ],
)
def test_a_query_is_marked_as_on_paper(query, expected):
    assert metrics.of_query(query) == pytest.approx(Retrieval(*expected))


def test_averages_are_over_the_queries_that_expect_a_memory_and_again_over_all():
    queries = [found("a", "a"), found("a", "b"), found(""), found("", "c")]
    figures = metrics.retrieval(queries)
    assert (figures["p_at_3"], figures["f1_at_3"], figures["hit_at_3"]) == (0.5, 0.5, 0.5)
    assert (figures["p_at_3_all"], figures["r_at_3_all"]) == (0.5, 0.5)
    assert figures["silent"] == 0.5


def test_over_one_set_of_queries_recall_is_never_above_hit():
    queries = [found("ab", "a"), found("ab", "a", "b"), found("c", "d"), found("ef", "f")]
    figures = metrics.retrieval(queries)
    assert (figures["r_at_3"], figures["hit_at_3"]) == (0.5, 0.75)


def test_without_queries_that_need_none_their_share_is_unknown():
    assert metrics.retrieval([found("a", "a")])["silent"] is None
    assert metrics.retrieval([])["p_at_3"] is None


def test_writing_is_counted_per_turn():
    written = [
        Wrote("store", "store", None, 2, 0, 0, 100, 900, 30, 0.1),
        Wrote("store", "error", None, 4, 2, 0, 200, 800, 50, 0.3),
        Wrote("update", "update", True, 3, 0, 1, 0, 0, 0, 0.2),
        Wrote("discard", "discard", False, 3, 0, 0, 100, 300, 20, 0.4),
        Wrote("filter", "store", None, 0, 0, 0, 0, 0, 0, 1.0),
    ]
    figures = metrics.writing(written)
    assert figures["action_accuracy"] == 3 / 5
    assert figures["target_accuracy"] == 1 / 2
    assert (figures["parse_failures"], figures["errors"], figures["fallbacks"]) == (2, 1, 1)
    assert figures["calls_per_turn"] == 12 / 5
    assert (figures["prefilled_per_turn"], figures["cached_per_turn"], figures["generated_per_turn"]) == (80, 400, 20)
    assert figures["tokens_per_turn"] == 500
    assert figures["seconds_per_turn"] == pytest.approx(0.3)
    assert figures["seconds_per_turn_p95"] == pytest.approx(0.88)  # between the 4th and 5th of 5, at 3.8 of 0 to 4
    assert figures["confusion"]["store"] == {"store": 1, "update": 0, "discard": 0, "filter": 0, "error": 1}
    assert figures["confusion"]["filter"]["store"] == 1
