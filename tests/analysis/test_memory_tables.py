"""Tables 7, 9, 11 and 15 on small data worked by hand, and how a table is printed."""

import pytest

from studyplatform.analysis.tables import importance_agreement, retention, top_k
from studyplatform.analysis.tables.records import Held, Marked, Placed, Survived
from studyplatform.analysis.tables.table import as_json, as_text


def marked(*raters: set[int], exchanges: int = 10, session: int = 1, person: str = "Ana") -> Marked:
    return Marked(person, f"LUFY/{person}", "LUFY", session, exchanges, {f"Annotator{i}": frozenset(r) for i, r in enumerate(raters)})


def survived(condition: str, *kept: int, exchanges: int = 10, session: int = 1, person: str = "Ana") -> Survived:
    return Survived(person, f"LUFY/{person}", condition, session, exchanges, frozenset(kept))


def placed(rank: int | None, *, question: str = "Where?", condition: str = "naive_rag", held: int = 10, right: int = 1) -> Placed:
    return Placed("Ana", condition, "somebody", question, rank, held, right)


def test_what_survives_is_counted_against_all_exchanges_up_to_then():
    """29 exchanges and 3 kept; then 37 − 3 = 34 more and 5 kept of them all."""
    table = retention.table([Held("Ana", "lufy", 1, 29, 3), Held("Ana", "lufy", 2, 34, 5)])
    assert table.value("S1", system="lufy") == pytest.approx(100 * 3 / 29)
    assert table.value("S2", system="lufy") == pytest.approx(100 * 5 / 63)
    assert [cell.paper for cell in table.cells] == [12.7, 8.6]


def test_retention_sums_over_people_before_it_divides():
    table = retention.table([Held("Ana", "lufy", 1, 10, 5), Held("Ben", "lufy", 1, 90, 5)])
    assert table.value("S1", system="lufy") == 10.0


def test_three_raters_of_three_marks_each():
    """Pairs share 1, 2 and 0 of their 3 marks: a third on average; by chance 3 of 10."""
    table = importance_agreement.table([marked({0, 1, 2}, {2, 3, 4}, {3, 4, 5})], [])
    assert table.value("S1", system="annotators", what="agreement") == pytest.approx(100 / 3)
    assert table.value("S1", system="annotators", what="random") == pytest.approx(30)


def test_raters_who_marked_different_numbers_are_averaged_both_ways():
    assert importance_agreement.raters(marked({0, 1}, {1, 2, 3, 4})) == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert importance_agreement.chance(marked({0, 1}, {1, 2, 3, 4})) == pytest.approx((4 / 10 + 2 / 10) / 2)


def test_a_rater_without_marks_agrees_with_nobody_and_is_left_out():
    assert importance_agreement.raters(marked(set(), {1})) == 0
    assert importance_agreement.raters(marked(set(), set())) is None
    assert importance_agreement.raters(marked({1})) is None


def test_a_system_is_measured_by_the_marks_that_it_kept_and_by_what_it_kept_at_all():
    marks = [marked({0, 1, 2}, {2, 3, 4})]
    table = importance_agreement.table(marks, [survived("lufy", 2, 9)])
    assert table.value("S1", system="lufy", what="agreement") == pytest.approx(100 * (1 / 3 + 1 / 3) / 2)
    assert table.value("S1", system="lufy", what="random") == 20.0
    assert table.cell("S1", system="lufy", what="agreement").paper == 20.9


def test_the_average_is_the_sessions_mean():
    marks = [marked({0}, {0}), marked({0}, {1}, session=2)]
    table = importance_agreement.table(marks, [])
    assert table.value("average", system="annotators", what="agreement") == 50.0


def test_without_annotators_the_table_says_what_is_missing_and_prints_nothing():
    table = importance_agreement.table([], [survived("lufy", 1)])
    assert table.cells == ()
    assert "annotators' marks" in table.missing[0]


def test_a_right_memory_at_rank_three_counts_from_the_third_on():
    table = top_k.table([placed(3), placed(None, question="When?", right=0)])
    row = {"system": "naive_rag", "judge": "somebody", "questions": "distinct"}
    assert [table.value(f"top {k}", **row) for k in (1, 2, 3, 10)] == [0, 0, 50, 50]


def test_a_question_asked_in_three_arms_is_one_distinct_question():
    table = top_k.table([placed(1), placed(1), placed(1), placed(2, question="When?")])
    row = {"system": "naive_rag", "judge": "somebody"}
    assert table.value("top 1", **row, questions="all") == 75
    assert table.value("top 1", **row, questions="distinct") == 50


def test_a_random_order_finds_one_of_two_right_memories_among_four():
    """P(first is right) = 1/2; P(one of the first two) = 1 − (2/4)(1/3) = 5/6."""
    assert top_k.by_chance(4, 2, 1) == 0.5
    assert top_k.by_chance(4, 2, 2) == pytest.approx(5 / 6)
    assert top_k.by_chance(2, 1, 10) == 1


def test_a_printed_table_marks_the_paper_s_figures_as_the_paper_s():
    lines = list(as_text(retention.table([Held("Ana", "lufy", 1, 29, 3), Held("Ben", "lufy", 1, 31, 4)])))
    assert any(line.split()[0] == "lufy" and line.split()[1] == "11.7" for line in lines)
    assert any(line.split() == ["lufy", "(paper)", "12.7"] for line in lines)


def test_a_table_as_json_has_rows_notes_and_missing():
    found = as_json(retention.table([Held("Ana", "lufy", 1, 20, 3)]))
    assert found["rows"] == [{"system": "lufy", "column": "S1", "value": 15.0, "low": None, "high": None, "paper": 12.7, "n": 20}]
    assert {"notes", "missing", "unit", "title"} <= set(found)
