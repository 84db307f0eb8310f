"""The participant's way through the pages, in their own words."""

import re
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from studyplatform.study import consenting, erasing, joining, links
from studyplatform.study.models import Participant, Session, Study
from studyplatform.study.studies import config_of
from tests.cast import Cast, seat, session_of

PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148"


def path_of(link: str) -> str:
    return urlsplit(link).path


def walk_in(participant: Participant) -> Client:
    browser = Client()
    browser.get(path_of(links.personal_url(participant)))
    return browser


def test_eve_reads_agrees_is_told_how_it_goes_and_sees_her_plan(two: Cast) -> None:
    browser = walk_in(two.eve)
    asked = browser.get(reverse("home", args=[two.eve.code]), follow=True)
    assert "Before you decide" in asked.text
    assert "until the study ends in March 2027" in asked.text
    sha256 = consenting.statement(config_of(two.study)).sha256
    told = browser.post(
        reverse("consent", args=[two.eve.code]),
        {"answer": "yes", "sha256": sha256, "scopes": ["annotators"], "time_zone": "Europe/Helsinki"},
        follow=True,
    )
    assert "How it goes" in told.text
    home = browser.post(reverse("instructions", args=[two.eve.code]), {"version": "1"}, follow=True)
    assert "Your conversations" in home.text
    assert "in Helsinki" in home.text
    assert two.eve.consents.get().scopes == ["annotators", "study"]


def test_the_address_that_stays_holds_no_token_and_the_cookie_is_for_eves_pages_only(two: Cast) -> None:
    answer = Client().get(path_of(links.personal_url(two.eve)))
    assert answer["Location"] == f"/p/{two.eve.code}/"
    cookie = answer.cookies["seat"]
    assert cookie["path"] == f"/p/{two.eve.code}/"
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_ben_at_anas_computer_is_not_ana(two: Cast) -> None:
    browser = seat(two.ana)
    assert browser.get(reverse("home", args=[two.ben.code])).status_code == 404
    assert browser.get(reverse("home", args=[two.ana.code])).status_code == 200


def test_a_revoked_link_and_its_cookie_open_nothing(two: Cast) -> None:
    old, browser = path_of(links.personal_url(two.ana)), seat(two.ana)
    new = path_of(links.renew(two.ana))
    assert Client().get(new).status_code == 302
    assert Client().get(old).status_code == 404
    assert browser.get(reverse("home", args=[two.ana.code])).status_code == 404


def test_a_forged_link_opens_nothing(two: Cast) -> None:
    assert Client().get(reverse("open_link", args=[f"{two.ana.code}.1:AAAA"])).status_code == 404


def test_not_you_frees_the_seat(two: Cast) -> None:
    answer = seat(two.ana).post(reverse("not_you", args=[two.ana.code]))
    assert answer.cookies["seat"]["max-age"] == 0
    assert answer.cookies["seat"]["path"] == f"/p/{two.ana.code}/"


def test_the_general_link_creates_nobody_before_the_button_is_pressed(two: Cast) -> None:
    before = Participant.objects.count()
    page = Client().get(reverse("join", args=[two.study.code]) + "?id=P-77")
    assert page.status_code == 200
    assert Participant.objects.count() == before


def test_the_general_link_opened_twice_is_one_person_on_two_devices(two: Cast) -> None:
    address = reverse("join", args=[two.study.code])
    first = Client().post(address, {"id": "P-77", "time_zone": "Asia/Tokyo", "language": "ja-JP"})
    second = Client().get(address + "?id=P-77")
    person = Participant.objects.get(external_id="P-77")
    assert first["Location"] == second["Location"] == f"/p/{person.code}/"
    assert (person.time_zone, person.language) == ("Asia/Tokyo", "ja")


def test_a_full_study_takes_nobody_by_the_general_link_and_still_whom_it_invited(two: Cast) -> None:
    design = {**two.study.config, "study": {**two.study.config["study"], "participants": 2}}
    Study.objects.filter(pk=two.study.pk).update(config=design, config_sha256="f" * 64)
    browser = Client()
    address = reverse("join", args=[two.study.code])
    assert "The study is full" in browser.get(address, {"id": "P-9"}).text
    assert "The study is full" in browser.post(address, {"id": "P-9"}).text
    assert not Participant.objects.filter(external_id="P-9").exists()
    assert "I agree and take part" in walk_in(two.eve).get(reverse("consent", args=[two.eve.code])).text
    erasing.withdraw(two.ana, keep_until_now=True)
    assert "The study is full" not in browser.get(address, {"id": "P-9"}).text


def test_without_an_id_the_general_link_asks_for_one(two: Cast) -> None:
    page = Client().post(reverse("join", args=[two.study.code]), {"id": "  "})
    assert "The id is missing" in page.text


def test_agreeing_twice_as_when_the_first_answer_was_lost_leads_home_and_is_kept_once(two: Cast) -> None:
    browser, sha256 = walk_in(two.eve), consenting.statement(config_of(two.study)).sha256
    for _ in range(2):
        page = browser.post(reverse("consent", args=[two.eve.code]), {"answer": "yes", "sha256": sha256})
        assert page.headers["Location"] == reverse("home", args=[two.eve.code])
    assert two.eve.consents.count() == 1


def test_a_changed_consent_text_is_shown_again_and_nothing_is_stored(two: Cast) -> None:
    browser = walk_in(two.eve)
    page = browser.post(reverse("consent", args=[two.eve.code]), {"answer": "yes", "sha256": "of an older text"})
    assert "The text has changed" in page.text
    assert not two.eve.consents.exists()


def test_saying_no_stores_nothing(two: Cast) -> None:
    page = walk_in(two.eve).post(reverse("consent", args=[two.eve.code]), {"answer": "no"})
    assert "You do not take part" in page.text
    two.eve.refresh_from_db()
    assert two.eve.state == "invited"


def test_begin_starts_the_first_conversation(two: Cast) -> None:
    session = session_of(two.ana)
    answer = seat(two.ana).post(reverse("begin", args=[two.ana.code, session.code]))
    session.refresh_from_db()
    assert session.state == "chatting"
    assert answer.status_code == 302


def test_a_phone_is_refused_politely_before_the_visit_counts(two: Cast) -> None:
    allow_only(two.study, ["desktop"])
    session = session_of(two.ana)
    page = seat(two.ana).post(reverse("begin", args=[two.ana.code, session.code]), headers={"User-Agent": PHONE})
    session.refresh_from_db()
    assert "Please use another device" in page.text
    assert session.state == "open"


def test_ben_cannot_begin_anas_session(two: Cast) -> None:
    session = session_of(two.ana)
    assert seat(two.ben).post(reverse("begin", args=[two.ben.code, session.code])).status_code == 404


def test_a_paused_study_says_so_and_begins_nothing(two: Cast) -> None:
    Study.objects.filter(pk=two.study.pk).update(state="paused")
    browser, session = seat(two.ana), session_of(two.ana)
    assert "The study is paused" in browser.get(reverse("home", args=[two.ana.code])).text
    browser.post(reverse("begin", args=[two.ana.code, session.code]))
    session.refresh_from_db()
    assert session.state == "open"


def test_the_end_and_its_code_come_only_when_everything_is_over(two: Cast) -> None:
    Study.objects.filter(pk=two.study.pk).update(
        config=two.study.config | {"study": two.study.config["study"] | {"completion_code": "C-123"}}, config_sha256="with code"
    )
    browser = seat(two.ana)
    early = browser.get(reverse("end", args=[two.ana.code]), follow=True)
    assert "C-123" not in early.text
    Session.objects.filter(participant=two.ana).update(state="closed", closed_at="2026-11-02T10:00Z")
    Participant.objects.filter(pk=two.ana.pk).update(state="finished")
    assert "C-123" in browser.get(reverse("home", args=[two.ana.code]), follow=True).text


def test_ana_stops_for_today_and_the_clock_stands_still(two: Cast) -> None:
    browser, session = seat(two.ana), session_of(two.ana)
    browser.post(reverse("begin", args=[two.ana.code, session.code]))
    page = browser.post(reverse("stop", args=[two.ana.code]))
    session.refresh_from_db()
    assert "That is all for today" in page.text
    assert session.state == "chatting"
    assert session.paused_at is not None


@pytest.mark.parametrize(("choice", "state"), [("keep", "stopped"), ("erase", "withdrawn")])
def test_ana_leaves_in_two_steps(two: Cast, choice: str, state: str) -> None:
    browser, leave = seat(two.ana), reverse("leave", args=[two.ana.code])
    assert "Are you sure?" in browser.post(leave, {"choice": choice}).text
    two.ana.refresh_from_db()
    assert two.ana.state == "active"
    page = browser.post(leave, {"choice": choice, "sure": "yes"}, follow=True)
    two.ana.refresh_from_db()
    assert "You have left the study" in page.text
    assert two.ana.state == state


def test_who_left_is_sent_to_the_last_page_from_everywhere(two: Cast) -> None:
    browser = seat(two.ana)
    browser.post(reverse("leave", args=[two.ana.code]), {"choice": "keep", "sure": "yes"})
    for name in ("home", "stop", "consent", "instructions", "end", "leave"):
        assert browser.get(reverse(name, args=[two.ana.code]))["Location"] == f"/p/{two.ana.code}/left/"


def test_every_page_has_a_way_out(two: Cast) -> None:
    browser = seat(two.ana)
    for name in ("home", "consent", "instructions"):
        assert reverse("stop", args=[two.ana.code]) in browser.get(reverse(name, args=[two.ana.code])).text


def test_no_page_holds_inline_style_or_script(two: Cast) -> None:
    browser = seat(two.ana)
    for name in ("home", "consent", "instructions", "stop", "leave"):
        page = browser.get(reverse(name, args=[two.ana.code])).text
        assert not re.search(r"\sstyle=|<style|<script>|\son[a-z]+=", page)


def allow_only(study: Study, kinds: list[str]) -> None:
    Study.objects.filter(pk=study.pk).update(config=study.config | {"device": {"allow": kinds}}, config_sha256="-".join(kinds))


def test_two_people_with_one_id_in_two_studies_are_two_people(two: Cast) -> None:
    here = joining.open_by_external_id(two.study, "P-1", time_zone="UTC", language=None)
    there = joining.open_by_external_id(two.other_study, "P-1", time_zone="UTC", language=None)
    assert here.pk != there.pk


def test_the_plan_changes_by_itself_and_only_when_something_changed(two: Cast) -> None:
    browser = seat(two.ana)
    home = browser.get(reverse("home", args=[two.ana.code])).text
    (ask,) = re.findall(r'hx-get="([^"]+)"', home)
    assert browser.get(ask).status_code == 204
    Session.objects.filter(participant=two.ana, position=1).update(state="closed", closed_at="2026-11-02T10:00Z")
    assert "One is done." in browser.get(ask).text


def test_a_finished_person_is_led_on_from_the_open_page(two: Cast) -> None:
    Participant.objects.filter(pk=two.ana.pk).update(state="finished")
    assert seat(two.ana).get(reverse("plan", args=[two.ana.code]))["HX-Redirect"] == f"/p/{two.ana.code}/"
