"""Many people at once: nobody twice, and the assignment stays balanced."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from studyplatform.study import consenting, joining
from studyplatform.study.models import Arm, Participant, Session, Study
from studyplatform.study.studies import Refused
from tests.cast import agree, make_study, person


def at_once(call, items):  # type: ignore[no-untyped-def]  # a test's own tool
    """Call for every item, from many threads, each with its own connection."""

    def one(item):  # type: ignore[no-untyped-def]  # as above
        try:
            return call(item)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=40) as threads:
        return list(threads.map(one, items))


@pytest.mark.django_db(transaction=True)
def test_two_hundred_people_join_at_once_and_stay_balanced() -> None:
    study = make_study("four")
    people = [joining.new_participant(study) for _ in range(200)]
    at_once(lambda p: agree(Participant.objects.select_related("study").get(pk=p.pk)), people)
    assert sorted(Participant.objects.values_list("number", flat=True)) == list(range(200))
    first_met = Counter(Arm.objects.filter(order=1).values_list("condition__name", flat=True))
    assert set(first_met.values()) == {50}
    aliases = Counter(Arm.objects.exclude(condition=None).values_list("condition__name", "alias_name"))
    assert set(aliases.values()) == {50}
    assert Session.objects.filter(state="open").count() == 200


@pytest.mark.django_db(transaction=True)
def test_one_link_opened_forty_times_at_once_is_one_person() -> None:
    study = make_study("two")
    found = at_once(
        lambda _: joining.open_by_external_id(Study.objects.get(pk=study.pk), "P-1", time_zone="UTC", language=None).code, range(40)
    )
    assert len(set(found)) == 1
    assert Participant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_person_agreeing_in_ten_tabs_at_once_gets_one_place() -> None:
    study = make_study("two")
    eve = joining.new_participant(study)
    at_once(lambda _: agree(Participant.objects.select_related("study").get(pk=eve.pk)), range(10))
    assert eve.consents.count() == 1
    assert eve.arms.count() == 3


def test_pilot_people_have_a_list_of_their_own(db: None) -> None:
    study = make_study("two")
    assert [person(study, pilot=True).number, person(study).number, person(study, pilot=True).number] == [0, 0, 1]


@pytest.mark.parametrize("state", ["draft", "pilot", "paused", "closed"])
def test_nobody_is_taken_while_the_study_does_not_run(db: None, state: str) -> None:
    eve = joining.new_participant(make_study("two", state=state))
    with pytest.raises(Refused):
        consenting.give(eve, version="1", text_sha256="x", scopes=["study"])


def test_a_real_study_refuses_simulated_people_and_a_simulated_one_real_people(db: None) -> None:
    with pytest.raises(Refused):
        joining.new_participant(make_study("two"), simulated=True)
    with pytest.raises(Refused):
        joining.new_participant(make_study("two", slug="sim", simulated=True))


@pytest.mark.parametrize(
    ("given", "kept"), [("Asia/Tokyo", "Asia/Tokyo"), ("Mars/Olympus", "UTC"), ("../../etc/passwd", "UTC"), ("", "UTC")]
)
def test_a_time_zone_that_does_not_exist_becomes_utc(given: str, kept: str) -> None:
    assert joining.zone_or_utc(given) == kept
