"""The chat in a browser when things go wrong: offline, reload, two tabs, a failing model."""

import pytest
from playwright.sync_api import expect

from chat.models import Turn
from studyplatform.study import links, sessions
from tests.browser.conftest import Visit
from tests.cast import person, session_of

pytestmark = pytest.mark.browser


@pytest.fixture
def chat(visit, study) -> tuple[Visit, str]:
    """Somebody in her first conversation, greeted."""
    participant = person(study)
    session = session_of(participant)
    assert sessions.begin(session)
    here = visit()
    here.page.goto(links.personal_url(participant).replace("http://127.0.0.1:8000", here.site))
    path = f"/p/{participant.code}/s/{session.code}/"
    here.goto(path)
    expect(shown(here, 1)).to_be_visible()
    return here, path


def shown(here: Visit, seq: int, page=None):
    return (page or here.page).get_by_role("log").locator(f"[data-seq='{seq}']")


def say(here: Visit, text: str, page=None) -> None:
    box = (page or here.page).get_by_role("textbox")
    box.focus()
    (page or here.page).keyboard.type(text)
    (page or here.page).keyboard.press("Enter")


def stored() -> list[str]:
    return list(Turn.objects.filter(role="user").order_by("seq").values_list("text", flat=True))


def test_what_is_typed_offline_is_kept_said_so_and_sent_when_the_network_is_back(chat):
    here, _ = chat
    here.page.context.set_offline(True)
    here.page.evaluate("() => window.dispatchEvent(new Event('offline'))")
    say(here, "Written in a tunnel.")
    expect(here.page.get_by_role("log")).to_contain_text("Written in a tunnel.")
    here.check()
    here.page.context.set_offline(False)
    expect(shown(here, 3)).to_be_visible(timeout=40_000)
    assert stored() == ["Written in a tunnel."]


def test_a_reload_in_the_middle_of_an_answer_goes_on_where_it_was(chat, script):
    here, _ = chat
    script.set(token_ms=150, tokens=40)
    say(here, "Tell me something long.")
    expect(here.page.get_by_role("log")).to_contain_text("Tell me something long.")
    here.page.wait_for_timeout(1000)
    here.check()
    here.page.reload()
    expect(shown(here, 3)).to_be_visible(timeout=40_000)
    assert Turn.objects.filter(role="bot", reply_to=2).count() == 1
    assert Turn.objects.get(role="bot", reply_to=2).text in shown(here, 3).inner_text()


def test_a_draft_survives_a_reload(chat):
    here, _ = chat
    here.page.get_by_role("textbox").focus()
    here.page.keyboard.type("Half a thou")
    here.page.reload()
    expect(here.page.get_by_role("textbox")).to_have_value("Half a thou")
    assert stored() == []


def test_two_tabs_show_the_same_conversation(chat):
    here, path = chat
    other = here.page.context.new_page()
    other.goto(here.site + path)
    expect(shown(here, 1, other)).to_be_visible()
    say(here, "Said in the first tab.")
    expect(shown(here, 3)).to_be_visible()
    expect(shown(here, 3, other)).to_be_visible()
    say(here, "Said in the second.", other)
    expect(shown(here, 5)).to_be_visible()
    assert stored() == ["Said in the first tab.", "Said in the second."]
    assert [e.inner_text() for e in shown(here, 5).all()] == [e.inner_text() for e in shown(here, 5, other).all()]


def test_when_no_answer_comes_the_page_says_so_and_asks_again_by_keyboard(chat, script):
    here, _ = chat
    script.fail("server_error", count=20, purpose="reply")
    say(here, "Are you there?")
    again = here.page.get_by_role("log").get_by_role("button")
    expect(again).to_be_visible(timeout=60_000)
    here.check()
    script.heal()
    here.hands.press(again)
    expect(shown(here, 3)).to_be_visible(timeout=40_000)
    assert stored() == ["Are you there?"]


def test_shift_and_enter_breaks_the_line_and_emoji_arrive_as_they_were(chat):
    here, _ = chat
    box = here.page.get_by_role("textbox")
    box.focus()
    here.page.keyboard.insert_text("👩‍👩‍👧‍👦 first")
    here.page.keyboard.press("Shift+Enter")
    here.page.keyboard.insert_text("𝕊econd 日本語 ‮rtl")
    here.page.keyboard.press("Enter")
    expect(shown(here, 3)).to_be_visible()
    assert stored() == ["👩‍👩‍👧‍👦 first\n𝕊econd 日本語 ‮rtl"]


def test_on_a_computer_one_may_type_at_once_and_the_bar_counts_messages_where_no_minutes_are_asked(chat):
    here, _ = chat
    box, bar = here.page.get_by_role("textbox"), here.page.locator("#bar")
    expect(box).to_be_focused()
    expect(bar).to_have_js_property("value", 0)
    here.page.keyboard.type("Good morning.")
    here.page.keyboard.press("Enter")
    expect(bar).to_have_js_property("value", 1)
    expect(bar).to_have_js_property("max", 2)


def test_on_a_phone_no_keyboard_covers_the_conversation(visit, study):
    participant = person(study)
    session = session_of(participant)
    assert sessions.begin(session)
    here = visit(viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    here.page.goto(links.personal_url(participant).replace("http://127.0.0.1:8000", here.site))
    here.goto(f"/p/{participant.code}/s/{session.code}/")
    expect(shown(here, 1)).to_be_visible()
    expect(here.page.get_by_role("textbox")).not_to_be_focused()
