"""Tables 8, 12, 13 and 14, worked by hand, and the paper's printed cells from whole numbers of its 51 questions per set."""

import math

import pytest

from studyplatform.analysis.tables import answer_scores, published, question_sets
from studyplatform.analysis.tables.records import Answered

JUDGE = "somebody"
ASKED = 51  # three questions of seventeen people
# Printed as 53.0, which is no share of 51 questions; the printed precision, 81.3 = 26/32, makes it 51.0. Table 8's S2 was made with the 53.0.
FLAWED = ("lufy", "S2 Q1")
FLAWED_8 = {("lufy", measure, column) for measure in ("recall", "F1") for column in ("S2", "average")}


def answers(condition: str, after: int, of: int, *, asked: int, answered: int, correct: int, person: str = "Ana") -> list[Answered]:
    return [Answered(person, condition, after, of, i < answered, i < correct) for i in range(asked)]


def as_printed(percent: float) -> float:
    """One decimal, halves upwards."""
    return math.floor(10 * percent + 0.5 + 1e-9) / 10


def printed(condition: str) -> list[Answered]:
    """Questions that give the printed recall and precision: right ones of 51, and as many answered as the precision says."""
    found = []
    for column, recall in published.RECALL[condition].items():
        after, of = (int(part[1:]) for part in column.split())
        correct = 26 if (condition, column) == FLAWED else round(recall * ASKED / 100)
        precision = published.PRECISION[condition][column]
        answered = next(n for n in range(correct, ASKED + 1) if n and as_printed(100 * correct / n) == precision)
        found += answers(condition, after, of, asked=ASKED, answered=answered, correct=correct)
    return found


def test_of_51_questions_41_answered_and_31_of_them_rightly():
    table = answer_scores.table(answers("naive_rag", 1, 1, asked=51, answered=41, correct=31), judge=JUDGE)
    cells = {measure: table.value("S1", system="naive_rag", measure=measure) for measure in answer_scores.MEASURES}
    assert {measure: round(value, 1) for measure, value in cells.items()} == {"recall": 60.8, "precision": 75.6, "F1": 67.4}


def test_a_sessions_precision_is_the_mean_of_its_sets_and_the_pooled_one_stands_beside_it():
    second = answers("a", 2, 1, asked=51, answered=44, correct=30) + answers("a", 2, 2, asked=51, answered=31, correct=22)
    table = answer_scores.table(second, judge=JUDGE)
    assert round(table.value("S2", system="a", measure="precision"), 1) == 69.6
    assert round(table.value("S2", system="a", measure="precision, pooled"), 1) == 69.3


@pytest.mark.parametrize("condition", published.RECALL)
def test_every_printed_recall_is_a_share_of_51_questions(condition):
    table = question_sets.recall(printed(condition), judge=JUDGE)
    differing = [c.column for c in table.cells if as_printed(c.value) != c.paper and (condition, c.column) != FLAWED]
    assert differing == []


@pytest.mark.parametrize("condition", published.PRECISION)
def test_every_printed_precision_follows_from_the_same_counts(condition):
    table = question_sets.precision(printed(condition), judge=JUDGE)
    assert [c.column for c in table.cells if as_printed(c.value) != c.paper] == []


@pytest.mark.parametrize("condition", published.RECALL)
def test_table_8_as_printed_follows_from_table_12_and_13(condition):
    """To the last digit but for sums of rounded figures: a tenth."""
    table = answer_scores.table(printed(condition), judge=JUDGE)
    for cell in table.cells:
        if cell.paper is not None and (condition, cell.row["measure"], cell.column) not in FLAWED_8:
            assert cell.value == pytest.approx(cell.paper, abs=0.1), (cell.row, cell.column)


def test_the_average_f1_is_the_mean_of_the_sessions_f1():
    said = answers("a", 1, 1, asked=4, answered=4, correct=4) + answers("a", 2, 1, asked=4, answered=2, correct=0)
    table = answer_scores.table(said, judge=JUDGE)
    assert table.value("average", system="a", measure="F1") == 50.0


def test_a_set_of_which_nothing_was_answered_has_no_precision_and_an_f1_of_zero():
    said = answers("a", 1, 1, asked=3, answered=0, correct=0)
    table = answer_scores.table(said, judge=JUDGE)
    assert table.value("S1", system="a", measure="precision") is None
    assert table.value("S1", system="a", measure="F1") == 0
    assert "nothing was answered: a" in " ".join(table.notes)


def test_a_difference_is_resampled_over_the_same_people_for_both():
    """Everybody has one right answer more of four with b than with a: however people are drawn, the difference is 25."""
    said = []
    for n, person in enumerate(["Ana", "Ben", "Cem", "Dee"]):
        said += answers("a", 1, 1, asked=4, answered=4, correct=n % 3, person=person)
        said += answers("b", 1, 1, asked=4, answered=4, correct=n % 3 + 1, person=person)
    cell = answer_scores.table(said, judge=JUDGE, baseline="a").cell("average", system="b less a", measure="recall")
    assert (cell.value, cell.low, cell.high) == pytest.approx((25, 25, 25))


def test_one_person_alone_has_no_interval():
    cell = question_sets.recall(answers("a", 1, 1, asked=4, answered=4, correct=2), judge=JUDGE).cells[0]
    assert (cell.value, cell.low, cell.high, cell.n) == (50.0, None, None, 4)


def test_table_14_is_compared_with_the_paper_s_ablations():
    table = answer_scores.table(answers("lufy -A", 1, 1, asked=51, answered=28, correct=19), judge=JUDGE, name="14")
    cell = table.cell("S1", system="lufy -A", measure="recall")
    assert (round(cell.value, 1), cell.paper) == (37.3, 37.3)


def test_the_same_records_and_seed_give_the_same_intervals_in_any_order():
    said = [a for n, p in enumerate(["Ana", "Ben", "Cem"]) for a in answers("a", 1, 1, asked=3, answered=3, correct=n, person=p)]
    assert question_sets.recall(said, judge=JUDGE, seed=7) == question_sets.recall(said[::-1], judge=JUDGE, seed=7)
