"""A participant's whole way, by the keyboard alone, with every page looked at by axe on the way."""

import re

import pytest
from playwright.sync_api import expect

from studyplatform.study.models import Participant, Session
from tests.browser.conftest import DESKTOP, PHONE, Visit, invited

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    ("viewport", "options"), [(DESKTOP, {}), (PHONE, {"has_touch": True, "is_mobile": True})], ids=["desktop", "phone"]
)
def test_the_whole_way_by_keyboard(visit, study, viewport, options):
    participant, link = invited(study)
    here: Visit = visit(viewport=viewport, **options)
    here.goto(link)
    agree(here)
    read_instructions(here)
    try_out(here)
    positions = Session.objects.filter(participant=participant).count()
    for position in range(1, positions + 1):
        begin(here)
        talk(here, ["I baked bread this morning.", "With rye, from my grandmother's recipe."], look=position <= 2)
        write_questions(here, f"What did I bake on day {position}?", "Rye bread", look=position <= 2)
    expect(here.page).to_have_url(re.compile(r"/end/$"))
    here.check()
    assert Participant.objects.get(pk=participant.pk).state == "finished"


def agree(here: Visit) -> None:
    expect(here.page.get_by_role("heading", name="Before you decide")).to_be_visible()
    here.check()
    here.hands.press(here.page.get_by_role("checkbox").first, "Space")
    here.hands.press(here.hands.button("I agree and take part"))


def read_instructions(here: Visit) -> None:
    expect(here.page.get_by_role("heading", name="How it goes")).to_be_visible()
    here.check()


def try_out(here: Visit) -> None:
    here.hands.press(here.hands.link("Try it out"))
    expect(here.page).to_have_url(re.compile(r"/try/$"))
    here.check()
    here.hands.write(here.page.get_by_role("textbox"), "Is this thing on?")
    here.hands.press(here.hands.button("Send"))
    expect(here.page.get_by_role("log")).to_contain_text("Is this thing on?")
    here.check()
    here.hands.press(here.hands.link("Back to how it goes"))
    here.hands.press(here.hands.button("I have read this"))


def begin(here: Visit) -> None:
    expect(here.page.get_by_role("heading", name="Your conversations")).to_be_visible()
    here.check()
    expect(here.hands.button("Begin")).to_be_visible(timeout=60_000)  # the home page changes by itself when it is prepared
    here.hands.press(here.hands.button("Begin"))


def talk(here: Visit, lines: list[str], *, look: bool) -> None:
    log = here.page.get_by_role("log")
    box = here.page.get_by_role("textbox")
    expect(log.locator("[data-seq='1']")).to_be_visible()
    if look:
        here.check()
    for seq, line in enumerate(lines):
        here.hands.write(box, line)
        here.page.keyboard.press("Enter")
        expect(log.locator(f"[data-seq='{2 * seq + 3}']")).to_be_visible()
        expect(box).to_be_focused()
    here.hands.press(here.hands.button("Finish this conversation"))
    if look:
        here.check()
    here.hands.press(here.hands.button("Yes, finish"))


def write_questions(here: Visit, question: str, answer: str, *, look: bool) -> None:
    expect(here.page).to_have_url(re.compile(r"/questions/"))
    if look:
        here.check()
    here.hands.write(here.page.locator("[name=question]"), question)
    here.hands.write(here.page.locator("[name=answer]"), answer)
    messages = here.page.locator("[name=evidence]")
    here.hands.press(messages.first, "Space")
    here.hands.reach(here.hands.button("Keep question 1"), steps=messages.count())  # it comes after the messages, not before them
    here.page.keyboard.press("Enter")
    close = here.hands.button("Close this conversation")
    expect(close).to_be_visible()
    if look:
        here.check()
    here.hands.press(close)
