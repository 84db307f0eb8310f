"""Every address of the product, opened by everybody: who may, may; everybody else finds a door or nothing."""

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from studyplatform.study.models import AuditEvent, Session, Study
from tests.access import addresses
from tests.access.addresses import ROLES, Address
from tests.cast import Cast, logged_in, seat

EVERY = sorted(addresses.walk(), key=lambda address: address.route)
# Where a page decides by what it is asked rather than by who asks: what "allowed" may look like.
REFUSED_FOR_CONTENT = {
    "account_reset_password_from_key": "an invalid key is told so",
    "account_confirm_email": "an invalid key is told so",
}


def browser(role: str, cast: Cast) -> Client:
    who = {
        "anonymous": lambda: Client(),
        "participant": lambda: seat(cast.ana),
        "other participant": lambda: seat(cast.ben),
        "stranger": lambda: logged_in(cast.sam),
        "annotator": lambda: logged_in(cast.lee),
        "reviewer": lambda: logged_in(cast.max),
        "researcher": lambda: logged_in(cast.rae),
    }
    return who[role]()


def answers(client: Client, url: str):
    """What the page answers to looking and to sending; 405 says only that it is not for looking."""
    return [r for r in (client.get(url), client.post(url)) if r.status_code != 405]


def refused(response) -> bool:
    to_login = response.status_code == 302 and response.url.startswith(reverse(settings.LOGIN_URL))
    return to_login or response.status_code in (401, 403, 404)


def test_every_address_has_a_rule():
    assert [address for address in EVERY if not addresses.rules_of(address)] == []


def test_every_rule_is_about_something():
    unused = [rule.says for rule in addresses.RULES if not any(rule in addresses.rules_of(a) for a in EVERY)]
    assert [says for says in unused if "texts of the interface" not in says] == []


@pytest.mark.parametrize("address", EVERY, ids=lambda a: a.route)
def test_who_may_open(address: Address, two: Cast):
    """Those who may not come first, so that nothing they are refused was changed by one who may."""
    rule = addresses.rules_of(address)[0]
    url = addresses.fill(address, two)
    for role in sorted(ROLES, key=lambda role: role in rule.allowed):
        for response in answers(browser(role, two), url):
            said = f"{rule.says}: {role} got {response.status_code}"
            if role not in rule.allowed:
                assert refused(response), said
                assert response.status_code == 404 or not rule.hidden, said
            else:
                assert response.status_code < 500, said
                assert not refused(response) or address.name in REFUSED_FOR_CONTENT, said


@pytest.mark.parametrize("role", [r for r in ROLES if r != "participant"])
def test_nobody_else_changes_anything_of_ana_s(role: str, two: Cast):
    before = Session.objects.filter(participant=two.ana).order_by("pk").values()
    person = type(two.ana).objects.filter(pk=two.ana.pk).values()
    then = list(before), list(person)
    for address in EVERY:
        if address.route.startswith("p/<"):
            answers(browser(role, two), addresses.fill(address, two))
    assert (list(before.all()), list(person.all())) == then


@pytest.mark.parametrize("role", [r for r in ROLES if r != "researcher"])
def test_nobody_else_changes_anything_of_the_study_s(role: str, two: Cast):
    for address in EVERY:
        if address.route.startswith("console/studies/<"):
            answers(browser(role, two), addresses.fill(address, two))
    study = Study.objects.get(pk=two.study.pk)
    assert (study.state, study.unblinded_at) == ("running", None)
    assert not AuditEvent.objects.filter(study=two.study, user__isnull=False).exists()


def test_a_seat_is_for_one_person_even_on_one_computer(two: Cast):
    """Two people, one browser: each cookie belongs to its owner's pages, and neither opens the other's."""
    for owner, other in ((two.ana, two.ben), (two.ben, two.ana)):
        client = seat(owner)
        assert client.get(reverse("home", args=[owner.code])).status_code < 400
        assert client.get(reverse("home", args=[other.code])).status_code == 404


def test_a_forged_seat_opens_nothing(two: Cast):
    client = Client()
    for forged in ("", two.ana.code, f"{two.ana.code}.1", f"{two.ana.code}.1:bm90LWEtc2lnbmF0dXJl"):
        client.cookies["seat"] = forged
        assert client.get(reverse("home", args=[two.ana.code])).status_code == 404


def test_a_revoked_link_opens_nothing(two: Cast):
    client = seat(two.ana)
    type(two.ana).objects.filter(pk=two.ana.pk).update(key_version=2)
    assert client.get(reverse("home", args=[two.ana.code])).status_code == 404


@pytest.mark.parametrize("name", ["home", "chat", "questions"])
def test_what_does_not_exist_looks_like_what_is_somebody_else_s(name: str, two: Cast):
    session = Session.objects.get(participant=two.noa, position=1).code
    arguments = {"home": ["2" * 12], "chat": [two.ana.code, session], "questions": [two.ana.code, session]}[name]
    assert seat(two.ana).get(reverse(name, args=arguments)).status_code == 404


def test_nobody_can_sign_up(client: Client, db: None):
    from studyplatform.study.models import User

    client.post(
        reverse("account_signup"),
        {"email": "new@example.org", "password1": "a-long-enough-password", "password2": "a-long-enough-password"},
    )
    assert not User.objects.exists()
