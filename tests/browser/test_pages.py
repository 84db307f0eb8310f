"""Pages beside the way: stopping, leaving, strangers, errors, and the staff's pages, without a violation."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from studyplatform.console.entering import entry_url
from studyplatform.study import links
from studyplatform.study.models import Session, StageRun
from tests.browser.conftest import PHONE, Visit
from tests.cast import person, session_of, staff

pytestmark = pytest.mark.browser


def seated(visit, study) -> tuple[Visit, str]:
    participant = person(study)
    here = visit()
    here.page.goto(links.personal_url(participant).replace("http://127.0.0.1:8000", here.site))
    return here, f"/p/{participant.code}"


def researching(visit, study, *roles: str) -> Visit:
    user = staff("rae@example.org", study, *roles)
    here = visit()
    here.page.goto(entry_url(user).replace("http://127.0.0.1:8000", here.site))
    return here


@pytest.mark.parametrize("page", ["/", "/stop/", "/leave/", "/instructions/", "/consent/", "/try/"])
def test_a_participant_s_pages(page, visit, study):
    here, base = seated(visit, study)
    here.goto(base + page)
    here.check()


def test_leaving_asks_twice_and_erases(visit, study):
    here, base = seated(visit, study)
    here.goto(base + "/leave/")
    radio = here.page.get_by_role("radio", name="Erase it")
    here.hands.reach(here.page.get_by_role("radio").first)
    here.page.keyboard.press("ArrowDown")
    expect(radio).to_be_checked()
    here.hands.press(here.hands.button("Continue"))
    here.check()
    here.hands.press(here.hands.button("Leave and erase"))
    expect(here.page.get_by_role("heading", name="You have left the study")).to_be_visible()
    here.check()


def test_pages_for_whoever_comes_without_a_link(visit, study):
    here = visit()
    for path in ("/", "/p/22222222222/", "/nowhere/", f"/join/{study.code}/", "/accounts/login/", "/accounts/signup/"):
        here.goto(path)
        here.check()


def test_the_researcher_s_pages(visit, study):
    ana, ben = person(study), person(study)
    first = session_of(ana)
    Session.objects.filter(pk=first.pk).update(state="closed", closed_at=timezone.now(), started_at=timezone.now())
    StageRun.objects.create(session=first, stage="score", state="failed", attempt=3, error="The scorer ran out of memory.")
    StageRun.objects.create(session=first, stage="summarise", state="waiting", progress_done=1, progress_total=4)
    Session.objects.filter(participant=ben, position=1).update(state="chatting", started_at=timezone.now())
    here = researching(visit, study, "researcher", "annotator", "reviewer")
    here.check()
    base = f"/console/studies/{study.slug}"
    for path in (
        "/",
        "/people/",
        f"/people/{ana.code}/",
        "/design/",
        "/conditions/",
        "/record/",
        "/close/",
        f"/sessions/{session_of(ben).code}/end/",
    ):
        here.goto(base + path)
        here.check()
    for path in ("/console/annotating/", "/console/reviewing/"):
        here.goto(path)
        here.check()


def test_the_monitor_changes_by_itself(visit, study):
    ana = person(study)
    here = researching(visit, study, "researcher")
    here.goto(f"/console/studies/{study.slug}/")
    expect(here.page.get_by_role("row", name=ana.code)).to_contain_text("may open 1")
    Session.objects.filter(participant=ana, position=1).update(state="chatting", started_at=timezone.now())
    expect(here.page.get_by_role("row", name=ana.code)).to_contain_text("chatting in 1")


def test_a_failure_is_retried_by_keyboard(visit, study):
    session = session_of(person(study))
    run = StageRun.objects.create(
        session=session, stage="answer", arm=session.participant.arms.last(), state="failed", error="The model was away."
    )
    here = researching(visit, study, "researcher")
    here.goto(f"/console/studies/{study.slug}/")
    here.hands.press(here.page.locator(f"#retry-{run.code}"))
    expect(here.page.get_by_text("nothing at present")).to_be_visible()


def test_unblinding_by_keyboard_is_refused_without_a_reason_and_done_with_one(visit, study):
    here = researching(visit, study, "researcher")
    here.goto(f"/console/studies/{study.slug}/conditions/")
    here.hands.press(here.hands.button("Unblind the study"))
    study.refresh_from_db()
    assert study.unblinded_at is None
    here.hands.write(here.page.get_by_label("Reason"), "The data are complete.")
    here.hands.press(here.page.get_by_role("checkbox"), "Space")
    here.hands.press(here.hands.button("Unblind the study"))
    expect(here.page.get_by_role("table")).to_contain_text("cond_lufy")
    here.check()


def test_a_reason_that_says_nothing_is_refused_where_the_keyboard_is(visit, study):
    here = researching(visit, study, "researcher")
    here.goto(f"/console/studies/{study.slug}/conditions/")
    reason = here.page.get_by_label("Reason")
    here.hands.write(reason, "     ")
    here.hands.press(here.page.get_by_role("checkbox"), "Space")
    here.hands.press(here.hands.button("Unblind the study"))
    expect(here.page.get_by_text("Say why in at least five characters.")).to_be_visible()
    expect(reason).to_be_focused()
    expect(reason).to_have_accessible_description(re.compile("Say why in at least five characters"))
    here.check()


def test_on_a_phone_every_page_of_a_study_is_in_sight(visit, study):
    here = researching(visit, study, "researcher")
    here.page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    here.goto(f"/console/studies/{study.slug}/")
    pages = here.page.get_by_role("navigation", name="Study").get_by_role("link").all()
    assert pages
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for page in pages if (box := page.bounding_box()))


def test_the_study_file_is_shown_line_by_line(visit, study):
    here = researching(visit, study, "researcher")
    here.goto(f"/console/studies/{study.slug}/design/")
    text = here.page.get_by_role("region", name="Text of the study file").inner_text()
    assert len(text.splitlines()) >= len(study.source.strip().splitlines())


def test_a_personal_link_can_be_copied_by_keyboard(visit, study):
    ana = person(study)
    here = researching(visit, study, "researcher")
    here.goto(f"/console/studies/{study.slug}/people/{ana.code}/")
    link = here.page.get_by_label("Personal link")
    here.hands.reach(link)
    assert link.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)") == links.personal_url(ana)
