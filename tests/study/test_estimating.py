"""What a design means, worked out by hand for the designs of the cast."""

import pytest

from studyplatform.study.estimating import Meaning, meaning
from studyplatform.study.loading import parse
from tests.cast import study_toml


def of(kind: str, **changes: object) -> Meaning:
    return meaning(parse(study_toml(kind, **changes)).config)


def test_four_assistants_over_four_sessions_with_a_shared_first_are_thirteen_visits() -> None:
    assert of("four", per_arm=4).visits == 13


def test_without_a_shared_first_they_are_sixteen() -> None:
    assert of("four", per_arm=4, shared_first="false").visits == 16


def test_between_participants_each_person_comes_for_one_assistant_only() -> None:
    assert of("four", per_arm=4, design="between").visits == 4


def test_transcripts_count_visits_and_not_conditions() -> None:
    assert of("four", per_arm=4).transcripts_to_label == 13 * 8


def test_every_question_is_asked_again_after_every_later_session() -> None:
    # one question a session: after session 1, 2, 3, 4 an arm is asked 1 + 2 + 3 + 4 questions; four arms; eight people
    assert of("four", per_arm=4, questions=1).answers_to_grade == (1 + 2 + 3 + 4) * 4 * 8


def test_hours_are_minutes_and_the_time_for_questions() -> None:
    long = of("two", per_arm=2, questions=3, sessions="min_minutes = 30")
    assert long.visits == 3
    assert long.hours == pytest.approx(3 * (30 + 3 * 2) / 60)
    assert long.total_pay == 3 * 7.0 * 8


def test_a_number_that_does_not_divide_into_the_orders_is_warned_of() -> None:
    text = study_toml("four").replace("participants = 8", "participants = 17")
    warnings = meaning(parse(text).config).warnings
    assert any("17 participants do not divide into the 4 orders: 16 or 20" in w for w in warnings)
    assert of("four").warnings == ()


def test_one_alias_for_all_is_warned_of() -> None:
    four = study_toml("four")
    one = four[: four.index('[[aliases]]\nname = "Sora"')]
    assert any("One alias for all" in w for w in meaning(parse(one).config).warnings)


def test_the_models_cost_is_not_guessed_where_no_price_is_known() -> None:
    assert of("two").model_cost is None
    priced = meaning(parse(study_toml("two")).config, lambda model: (1.0, 2.0))
    assert priced.model_cost > 0
    assert priced.total_cost == pytest.approx(priced.total_pay + priced.model_cost, abs=0.01)
