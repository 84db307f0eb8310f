"""Whose fact it is, and on which day: a third person's fact stays that person's, and "tomorrow" is the speaker's own."""

from datetime import UTC, datetime

import pytest

from chat.models import Turn
from memory.policies.amu_controllers import wording
from studyplatform.study.models import Participant
from tests import cast as people
from tests.memory import listening
from tests.memory.listening import heard
from tests.memory.telling import remembered, tell, write

THIRD = {
    "My coworker has a PhD in chemistry.": "The user's coworker has a PhD in chemistry.",
    "My brother is a nurse and I am proud of him.": "The user's brother is a nurse and the user is proud of him.",
    "My sister Ana says she is allergic to nuts.": "The user's sister Ana says she is allergic to nuts.",
    "My friend's mother has two horses.": "The user's friend's mother has two horses.",
    "Mine died, but Kim's dog is ten.": "The user's died, but Kim's dog is ten.",
    'My boss said: "I have a PhD and my wife is a judge."': 'The user\'s boss said: "I have a PhD and my wife is a judge."',
    "“I quit my job”, my uncle told me.": "“I quit my job”, the user's uncle told the user.",
    "姉が「私は医者です」と言った。": "姉が「私は医者です」と言った。",
}


@pytest.mark.parametrize("said", THIRD)
def test_a_third_persons_fact_stays_that_persons_and_quoted_speech_is_not_the_users(said):
    assert wording.third_person(said) == THIRD[said]


@pytest.fixture
def talk(model, monkeypatch):
    """A conversation in AMU's arm, held when and where the test says."""

    def held(said, at, zone):
        ana = people.person(listening.study_of("amu", monkeypatch))
        Participant.objects.filter(pk=ana.pk).update(time_zone=zone)
        session = listening.session_in(ana, people.arm_of(ana, "amu"), 1)
        tell(session, said)
        Turn.objects.filter(session=session).update(created_at=at)
        write(session)
        return session

    return held


def test_a_record_of_the_prototype_is_about_whom_it_is_about(talk):
    session = talk("My coworker Kim is allergic to peanuts.", datetime(2026, 3, 1, 12, tzinfo=UTC), "UTC")
    (record,) = remembered(session.arm_id)
    assert record.embed_text == "The user's coworker Kim is allergic to peanuts."


@pytest.mark.parametrize(
    ("at", "zone", "day"),
    [
        (datetime(2026, 3, 1, 14, 30, tzinfo=UTC), "Asia/Tokyo", "2 March 2026"),  # 23:30 on the 1st there
        (datetime(2026, 3, 1, 15, 30, tzinfo=UTC), "Asia/Tokyo", "3 March 2026"),  # half past midnight on the 2nd
        (datetime(2026, 3, 1, 23, 30, tzinfo=UTC), "UTC", "2 March 2026"),
        (datetime(2026, 3, 2, 3, 30, tzinfo=UTC), "America/New_York", "2 March 2026"),  # still the 1st
        (datetime(2026, 3, 28, 22, 30, tzinfo=UTC), "Europe/Berlin", "29 March 2026"),  # the night that has an hour less
        (datetime(2026, 3, 28, 23, 30, tzinfo=UTC), "Europe/Berlin", "30 March 2026"),
        (datetime(2026, 10, 24, 21, 59, tzinfo=UTC), "Europe/Berlin", "25 October 2026"),  # and one more
        (datetime(2026, 10, 24, 22, 30, tzinfo=UTC), "Europe/Berlin", "26 October 2026"),
        (datetime(2026, 12, 31, 10, 30, tzinfo=UTC), "Pacific/Kiritimati", "2 January 2027"),  # 14 hours ahead
    ],
)
def test_tomorrow_is_the_day_after_the_turns_own_in_the_participants_zone(talk, at, zone, day):
    session = talk("I am getting married to my girlfriend Kim tomorrow.", at, zone)
    (record,) = remembered(session.arm_id)
    assert f"on {day}" in record.embed_text
    assert "tomorrow" not in record.embed_text


def test_a_model_that_resolves_dates_is_told_the_turns_own_time_where_the_participant_is(model, monkeypatch):
    ana = people.person(listening.study_of("amu_reference", monkeypatch))
    Participant.objects.filter(pk=ana.pk).update(time_zone="Asia/Tokyo")
    session = listening.session_in(ana, people.arm_of(ana, "amu_reference"), 1)
    model.answer('{"aspect": "activity", "intent": "plan", "is_personal": true, "entities": ["exam"]}', contains="Task: LABEL", count=None)
    model.answer(
        '{"memory_summary": "The user has an exam tomorrow.", "sentiment": "neutral", "confidence": 0.9}', contains="Task: DESCRIBE"
    )
    tell(session, "I have an exam tomorrow.")
    Turn.objects.filter(session=session).update(created_at=datetime(2026, 3, 1, 14, 30, tzinfo=UTC))
    write(session)
    written = [request.slots["written"] for request in heard(model) if request.label == "amu_describe@1"]
    assert written == ["Sunday, 1 March 2026, 23:30 (UTC+09:00)"]
    (record,) = remembered(session.arm_id)
    assert record.embed_text == "The user has an exam on 2 March 2026."  # a model that left the word is put right
