"""The four links that `make demo` prints."""

from urllib.parse import urlsplit

import pytest
from django.test import Client

from studyplatform.management.commands import demo
from studyplatform.stack.demo import ROLES, lines
from studyplatform.study import erasing
from studyplatform.study.models import Participant, Role, Study

pytestmark = pytest.mark.django_db


def path_of(link: str) -> str:
    return urlsplit(link).path


def test_the_demo_study_runs_and_each_role_has_one_person():
    demo.prepare({})
    assert Study.objects.get(slug="demo").state == Study.State.RUNNING
    assert sorted(Role.objects.filter(study__slug="demo").values_list("name", flat=True)) == ["annotator", "researcher", "reviewer"]


def test_a_second_run_keeps_people_passwords_and_the_participants_link():
    first = demo.prepare({})
    second = demo.prepare(first)
    assert second["participant"] == first["participant"]
    assert [second[name]["password"] for name in demo.STAFF] == [first[name]["password"] for name in demo.STAFF]
    assert Participant.objects.count() == 1


def test_a_participant_who_withdrew_is_replaced_by_a_new_one():
    first = demo.prepare({})
    erasing.withdraw(Participant.objects.get(code=first["participant"]["code"]), keep_until_now=False)
    assert demo.prepare(first)["participant"]["code"] != first["participant"]["code"]


@pytest.mark.parametrize("role", ROLES)
def test_every_link_opens_a_page(role: str):
    people = demo.prepare({})
    client = Client()
    page = client.get(path_of(people[role]["link"]), follow=True)
    if page.status_code == 200 and page.context and "form" in page.context:  # a link that signs in asks first
        page = client.post(path_of(people[role]["link"]), follow=True)
    assert page.status_code == 200


def test_a_password_that_was_lost_is_made_anew_and_works():
    demo.prepare({})
    people = demo.prepare({})
    researcher = people["researcher"]
    assert Client().login(email=researcher["email"], password=researcher["password"])


def test_the_links_and_the_passwords_are_printed():
    people = demo.prepare({})
    said = "\n".join(lines(people))
    assert all(people[role]["link"] in said for role in ROLES)
    assert people["researcher"]["password"] in said
