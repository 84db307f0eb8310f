"""Two people who have gone all the way through a study with the four memory systems, and what their browsers got."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from studyplatform.simulation.people import speak
from studyplatform.study import joining, links
from studyplatform.study.models import Condition, Participant, Session, Study
from tests.blinding.journey import Luggage, WatchedWalk, walk
from tests.cast import make_study
from tests.chat.conftest import Web, web  # noqa: F401  # a fixture
from tests.scripted_server import Scripted
from tests.worker import work_all, working

FIRST_ID = 731_000_001
# What no text of ours, no code and no token can hold: a code that is found is a code that leaked.
MARKS = ("«1»", "«2»", "«3»", "«4»")


@dataclass
class Walked:
    participant: Participant
    way: WatchedWalk
    luggage: Luggage


@pytest.fixture(scope="module")
def walked(django_db_setup: None, web: Web, scripted: Scripted, django_db_blocker: DjangoDbBlocker) -> Iterator[list[Walked]]:  # noqa: F811  # the fixture
    with django_db_blocker.unblock():
        scripted.reset()
        _empty()
        _plant_ids()
        try:
            yield _walk_all(web.site)
        finally:
            _empty()


def _walk_all(site: str) -> list[Walked]:
    study = make_study("four", slug="blinded", per_arm=2, sessions="min_minutes = 0")
    for condition, mark in zip(Condition.objects.filter(study=study), MARKS, strict=True):
        Condition.objects.filter(pk=condition.pk).update(code=mark)
    with working():
        people = [_walk(site, study, number) for number in range(2)]
    work_all()
    return people


def _walk(site: str, study: Study, number: int) -> Walked:
    participant = joining.new_participant(study)
    link = urlsplit(links.personal_url(participant)).path
    person = speak(number, sessions=2, messages=2, questions=1)
    way, luggage = async_to_sync(walk)(site, link, person)
    return Walked(participant, way, luggage)


def _tables() -> list[str]:
    ours = ("study", "chat", "memory", "llm")
    return [model._meta.db_table for label in ours for model in apps.get_app_config(label).get_models()]


def _plant_ids() -> None:
    """From here on every database id is a number that nothing else is."""
    with connection.cursor() as cursor:
        for i, table in enumerate(_tables()):
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, FIRST_ID + i * 1_000_000])


def _empty() -> None:
    """Nothing of an earlier walk is left, and ids are small again."""
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(_tables())} RESTART IDENTITY CASCADE")


def ids() -> list[str]:
    """Every database id that the walk made."""
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT id FROM {table} WHERE id > {FIRST_ID}" for table in _tables()))
        return [str(row[0]) for row in cursor.fetchall()]


def sessions_of(walked: Walked) -> list[Session]:
    return list(Session.objects.filter(participant=walked.participant).select_related("arm__condition").order_by("position"))
