"""Tables 1, 4, 5 and 6, the flow and the latencies, worked by hand on two people with two conditions and a shared first session."""

import numpy as np
import pytest

from studyplatform.analysis.rows import (
    ArmRow,
    MeasureRow,
    ModelRatingRow,
    PersonRow,
    RatingRow,
    SessionRow,
    StudyRows,
    TurnRow,
)
from studyplatform.analysis.tables import conversation_size, latencies, model_ratings, participant_flow, sentiment, transcript_ratings


def study(**more) -> StudyRows:
    """Ana and Ben: one shared session each, then sessions 2 and 3 with `a` and session 2 with `b`."""
    people = ("ana", "ben")
    sessions = [SessionRow(f"{p}1", p, None, 1, 1, "closed") for p in people]
    sessions += [SessionRow(f"{p}{c}{n}", p, c, n, n, "closed") for p in people for c, n in (("a", 2), ("a", 3), ("b", 2))]
    arms = [ArmRow(p, c, i) for p in people for i, c in enumerate("ab", start=1)]
    return StudyRows(("a", "b"), people=tuple(PersonRow(p, "active") for p in people), arms=tuple(arms), sessions=tuple(sessions), **more)


def test_a_shared_session_counts_in_every_conversation_and_a_blank_utterance_is_a_turn():
    turns = (TurnRow("ana1", 1, "bot", 4), TurnRow("ana1", 2, "user", 6), TurnRow("anaa2", 1, "bot", 0), TurnRow("anab2", 1, "user", 5))
    table = conversation_size.table(study(turns=turns))
    assert (table.value("turns", system="a"), table.value("words", system="a")) == (3, 10)
    assert (table.value("turns", system="b"), table.value("words", system="b")) == (3, 15)
    assert table.value("words", system="all") == 12.5
    assert table.cell("words", system="all").paper == 5538.5


def test_ratings_are_averaged_over_raters_before_transcripts_and_the_average_leaves_the_shared_session_out():
    scores = [("ana1", "A1", 5), ("anaa2", "A1", 4), ("anaa2", "A2", 2), ("bena2", "A1", 5), ("anaa3", "A1", 2), ("anab2", "A1", 1)]
    table = transcript_ratings.table(study(ratings=tuple(RatingRow(code, who, "overall", score) for code, who, score in scores)))
    a = {c.column: c.value for c in table.cells if c.row["system"] == "a"}
    assert a == {"S1": 5, "S2": (3 + 5) / 2, "S3": 2, "average": 3}
    assert table.value("S1", system="b", criterion="overall") == 5


def test_what_participants_say_themselves_is_a_table_of_its_own():
    rows = study(ratings=(RatingRow("anaa2", "participant", "overall", 2), RatingRow("anaa2", "A1", "overall", 4)))
    assert transcript_ratings.own(rows).value("S2", system="a", criterion="overall") == 2
    assert transcript_ratings.table(rows).value("S2", system="a", criterion="overall") == 4


def test_sentiment_is_pooled_over_utterances_and_two_models_are_shown_with_their_mean():
    values = [("anaa2", 1, 1), ("anaa2", 3, 1), ("bena2", 1, -1)]
    one = [MeasureRow(code, seq, "sentiment_x", value) for code, seq, value in values]
    two = [MeasureRow(code, seq, "sentiment_y", 0) for code, seq, _ in values]
    table = sentiment.table(study(measures=(*one, *two)))
    assert table.value("S2", system="a", model="x") == pytest.approx(1 / 3)
    assert table.value("S2", system="a", model=sentiment.BOTH) == pytest.approx(1 / 6)


def test_a_models_ratings_are_halved_and_unreadable_ones_counted():
    given = [7, 8, None, 8]
    rows = study(model_ratings=tuple(ModelRatingRow("anaa2", i, score) for i, score in enumerate(given)))
    table = model_ratings.table(rows)
    assert table.value("S2", system="a", **{"reduced by": "mean"}) == pytest.approx(23 / 6)
    assert table.value("S2", system="a", **{"reduced by": "whole number"}) == 4
    assert any("1 of 4" in note for note in table.notes)


def test_every_printed_model_rating_is_a_mean_of_17_half_steps():
    from studyplatform.analysis.tables.published_outcomes import MODEL_RATING

    for row in MODEL_RATING.values():
        for printed in row[:4]:
            assert round(round(printed * 34) / 34, 2) == printed


def test_the_flow_counts_a_shared_session_in_each_condition():
    table = participant_flow.table(study())
    assert (table.value("S1 closed", system="b"), table.value("S2 closed", system="b"), table.value("S3 closed", system="b")) == (2, 2, 0)


@pytest.mark.parametrize("make", [conversation_size.table, transcript_ratings.table, sentiment.table, model_ratings.table, latencies.table])
def test_what_is_not_there_is_named_and_never_a_zero(make):
    table = make(study())
    assert table.missing
    assert table.cells == ()


def test_two_conditions_that_differ_by_less_than_the_margin_are_equivalent_and_else_not():
    shift = np.array([5.0, -5.0, 4.0, -4.0, 2.0])
    assert latencies.tost(shift, 50.0)[3] < 0.05
    assert latencies.tost(shift + 60, 50.0)[3] > 0.05
