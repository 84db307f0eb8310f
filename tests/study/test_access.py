"""Who of the staff sees which study; and that only people who count are counted."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core import mail
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from studyplatform.study import access
from studyplatform.study.models import Study, User
from tests.cast import PASSWORD, Cast, make_study, person


def opened(user: object, slug: str, *roles: str) -> HttpResponse:
    request = RequestFactory().get("/")
    request.user = user  # type: ignore[assignment]  # a user of the cast

    @access.require_role(*roles)
    def view(request: HttpRequest, study: Study) -> HttpResponse:
        return HttpResponse(study.slug)

    return view(request, slug)


def test_rae_sees_her_study_and_not_sams(two: Cast) -> None:
    assert list(access.studies_of(two.rae)) == [two.study]
    assert list(access.studies_of(two.sam, access.RESEARCHER)) == [two.other_study]


def test_lee_is_an_annotator_and_no_researcher(two: Cast) -> None:
    assert access.has_role(two.lee, two.study, access.ANNOTATOR)
    assert not access.has_role(two.lee, two.study, access.RESEARCHER)
    with pytest.raises(Http404):
        opened(two.lee, two.study.slug, access.RESEARCHER)


def test_sam_with_every_role_elsewhere_finds_nothing_here(two: Cast) -> None:
    with pytest.raises(Http404):
        opened(two.sam, two.study.slug, access.RESEARCHER, access.ANNOTATOR, access.REVIEWER)


def test_rae_opens_what_is_hers(two: Cast) -> None:
    assert opened(two.rae, two.study.slug, access.RESEARCHER).text == two.study.slug


def test_who_is_not_logged_in_is_asked_to(two: Cast) -> None:
    assert opened(AnonymousUser(), two.study.slug, access.RESEARCHER).status_code == 302


def test_a_member_of_staff_who_left_sees_nothing(two: Cast) -> None:
    two.rae.is_active = False
    assert not access.studies_of(two.rae).exists()


def test_pilot_people_never_count(two: Cast) -> None:
    assert set(access.participants_of(two.study)) == {two.ana, two.ben, two.eve}
    assert set(access.participants_of(two.study, pilot=True)) == {two.pia}
    assert not access.sessions_of(two.study).filter(participant=two.pia).exists()


def test_simulated_people_count_in_their_own_study_only(db: None) -> None:
    study = make_study("two", simulated=True)
    robot = person(study)
    assert list(access.participants_of(study)) == [robot]


def test_rae_logs_in_and_nobody_signs_up(two: Cast) -> None:
    browser = Client()
    assert "Nobody signs up here" in browser.get(reverse("account_signup")).text
    browser.post(reverse("account_signup"), {"email": "mal@example.org", "password1": PASSWORD, "password2": PASSWORD})
    assert not User.objects.filter(email="mal@example.org").exists()
    answer = browser.post(reverse("account_login"), {"login": "rae@example.org", "password": PASSWORD})
    assert answer["Location"] == "/console/"


def test_a_wrong_password_is_told_and_does_not_say_who_exists(two: Cast) -> None:
    known = Client().post(reverse("account_login"), {"login": "rae@example.org", "password": "wrong-wrong-wrong"})
    unknown = Client().post(reverse("account_login"), {"login": "mal@example.org", "password": "wrong-wrong-wrong"})
    assert error_in(known) == error_in(unknown) != ""


def test_rae_forgot_her_password_and_gets_a_letter(two: Cast) -> None:
    answer = Client().post(reverse("account_reset_password"), {"email": "rae@example.org"}, follow=True)
    assert answer.status_code == 200
    (letter,) = mail.outbox
    assert (letter.to, letter.from_email) == (["rae@example.org"], "study@localhost")


def error_in(page: HttpResponse) -> str:
    return page.text.split('class="error"')[1].split("</p>")[0] if 'class="error"' in page.text else ""
