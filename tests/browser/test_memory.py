"""What is remembered, in a browser: the participant's page by keyboard, and the researcher's inspector, both looked at by axe."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from memory import arms, forgetting
from memory.models import Memory, Wish
from studyplatform.study import links
from studyplatform.study.models import Participant, Session
from tests import cast as people
from tests.browser.conftest import PHONE
from tests.browser.test_pages import researching
from tests.cast import person
from tests.memory.telling import ask, session_with, tell, write
from tests.memory.test_recalling import count

pytestmark = pytest.mark.browser
FATHER = "My father died in May."


def talked(participant: Participant) -> Session:
    """A second session with an arm: said, written, recalled, judged."""
    session = session_with(participant, people.arm_of(participant, "lufy").pk, 2)
    tell(session, FATHER, "The harvest was late.", "I love green tea.")
    write(session)
    found, ref = ask(session, FATHER)
    count(found, ref, 6)
    Session.objects.filter(pk=session.pk).update(state="closed", chat_ended_at=timezone.now())
    session.refresh_from_db()
    verdicts, version = forgetting.judge(arms.load(session.arm_id), session)
    forgetting.apply(arms.load(session.arm_id), session, verdicts, version)
    return session


def test_a_participant_corrects_deletes_undoes_and_silences_by_keyboard(visit, study):
    ana = person(study)
    session = talked(ana)
    Participant.objects.filter(pk=ana.pk).update(state="finished")
    here = visit(viewport=PHONE)
    here.page.goto(links.personal_url(ana).replace("http://127.0.0.1:8000", here.site))
    here.hands.press(here.hands.link("What is remembered about you"))
    expect(here.page.get_by_text(FATHER)).to_be_visible()
    here.check()
    line = here.page.locator("#line-2")
    here.hands.press(line.get_by_role("button", name="Do not bring this up again"))
    expect(here.page.get_by_role("status")).to_contain_text("No assistant will bring this up again")
    assert Memory.objects.get(arm=session.arm_id, seq=2).muted_at
    here.hands.press(line.get_by_role("button", name="Delete"))
    expect(line).not_to_contain_text("father")
    here.check()
    here.hands.press(line.get_by_role("button", name="Undo"))
    expect(line).to_contain_text(FATHER)
    here.hands.press(here.page.locator("#line-4").get_by_role("link", name="Correct"))
    here.check()
    box = here.page.get_by_role("textbox")
    here.hands.reach(box)
    here.page.keyboard.press("Control+a")
    here.page.keyboard.type("The harvest was early.")
    here.hands.press(here.hands.button("Correct it"))
    expect(here.page.locator("#line-4")).to_contain_text("The harvest was early.")
    assert Wish.objects.get(what="correct").text == "The harvest was early."


def test_a_researcher_looks_at_an_arm_by_keyboard(visit, study):
    ana = person(study)
    session = talked(ana)
    here = researching(visit, study, "researcher")
    here.goto(f"/console/studies/{study.slug}/memories/")
    here.check()
    code = session.arm.condition.code
    here.hands.press(here.page.locator(f"a[href$='/{ana.code}/{code}/']"))
    here.check()
    here.hands.write(here.page.get_by_label("Reason"), "A check of the forgetting rule.")
    here.hands.press(here.page.get_by_role("checkbox"), "Space")
    here.hands.press(here.hands.button("Show the arm"))
    expect(here.page.get_by_role("heading", name="Strength over the sessions")).to_be_visible()
    here.check()
    here.hands.press(here.page.locator(".mem").get_by_role("link", name="The harvest was late."))
    expect(here.page.get_by_role("heading", name="Forgotten, after session 2")).to_be_visible()
    here.hands.press(here.hands.link("All its events"))
    here.check()
    here.goto(f"/console/studies/{study.slug}/memories/{ana.code}/{code}/2/6/")
    expect(here.page.get_by_role("table")).to_contain_text("Recalled and used")
    here.check()
