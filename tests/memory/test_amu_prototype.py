"""AMU's prototype controller and its wording: a store without a model, dates that stay true, sentences about the user."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from memory.policies.amu import Amu
from memory.policies.amu_controllers import dates, wording
from memory.policy import Discard, Exchange, Filter, Store, Update
from tests.memory import contract

# Dates

AT = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)  # a Monday; in Tokyo it is Tuesday


@pytest.mark.parametrize(
    ("said", "resolved"),
    [
        ("I see the dentist tomorrow.", "I see the dentist on 3 March 2026."),
        ("We met the day before yesterday.", "We met on 28 February 2026."),
        ("The exam is next Monday.", "The exam is on 9 March 2026."),
        ("I left last Friday.", "I left on 27 February 2026."),
        ("I start this Wednesday.", "I start on 4 March 2026."),
        ("I move next month.", "I move in April 2026."),
        ("It was in three weeks, not two months ago.", "It was around 23 March 2026, not in January 2026."),
        ("We went there last year.", "We went there in 2025."),
        ("Today's paper is on the table.", "Today's paper is on the table."),
        ("I run on Fridays.", "I run on Fridays."),
        ("明日試験があります。", "2026年3月3日試験があります。"),
        ("来月引っ越します。", "2026年4月引っ越します。"),
    ],
)
def test_a_relative_date_is_resolved_against_the_turns_own_time(said, resolved):
    assert dates.resolve(said, AT) == resolved


def test_a_relative_date_is_resolved_in_the_speakers_zone():
    assert dates.resolve("I fly tomorrow.", AT.astimezone(ZoneInfo("Asia/Tokyo"))) == "I fly on 4 March 2026."
    assert dates.spoken(AT.astimezone(ZoneInfo("Asia/Tokyo"))) == "Tuesday, 3 March 2026, 08:30 (UTC+09:00)"


# The prototype controller


def prototype(space: contract.MemorySpace, said: str, seq: int = 2):
    return Amu().encode(Exchange(1, seq, "", said, contract.AT), space, contract.no_model)


def test_a_greeting_is_filtered():
    outcome = prototype(contract.MemorySpace(), "Hello!")
    assert isinstance(outcome, Filter)
    assert "personal" in outcome.reason


def test_a_fact_told_twice_is_discarded_and_a_changed_one_replaces_the_old():
    space = contract.MemorySpace()
    first = prototype(space, "I live in Leeds with my sister Ana.")
    assert isinstance(first, Store)
    old = space.add(first.draft, 1, 2)
    again = prototype(space, "I live in Leeds with my sister Ana.", 4)
    assert isinstance(again, Discard)
    assert again.of == old.id
    changed = prototype(space, "I no longer live in Leeds with my sister Ana.", 6)
    assert isinstance(changed, Update)
    assert changed.replaces == (old.id,)


def test_somebody_elses_fact_keeps_its_subject():
    assert wording.third_person("My coworker has a PhD.") == "The user's coworker has a PhD."
    assert wording.third_person("She moved to Kyoto.") == "She moved to Kyoto."


def test_words_in_another_script_pass_through():
    assert wording.third_person("私は京都に住んでいます。") == "私は京都に住んでいます。"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I really prefer tea.", "The user really prefers tea."),
        ("I no longer live in Leeds.", "The user no longer lives in Leeds."),
        ("I don't eat fish, I try to avoid it.", "The user doesn't eat fish, the user tries to avoid it."),
        ("I went home and I'm glad I switched.", "The user went home and the user is glad the user switched."),
    ],
)
def test_a_statement_about_the_user_is_a_sentence(said, told):
    assert wording.third_person(said) == told
