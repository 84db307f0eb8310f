"""The chat page, the questions after it and the try-out, over HTTP."""

import html

import pytest
from django.urls import reverse
from django.utils import translation

from chat import exchanges
from chat.models import Turn
from chat.words import words
from studyplatform.study import erasing, sessions
from studyplatform.study.models import Participant, QAPair, Session
from tests.cast import seat


@pytest.fixture
def talk(two):
    """Ana's first conversation: two exchanges, the second with three hearts and an angle bracket."""
    session = Session.objects.select_related("participant__study", "arm").get(participant=two.ana, position=1)
    assert sessions.begin(session)
    said = [
        (1, "bot", "How was\nyour day?"),
        (2, "user", "I <baked> rusks."),
        (3, "bot", "Nice."),
        (4, "user", "On Sunday I run ♥♥♥"),
        (5, "bot", "Where?"),
    ]
    for seq, role, text in said:
        Turn.objects.create(session=session, seq=seq, role=role, text=text, reply_to=seq - 1 if role == "bot" and seq > 1 else None)
    Session.objects.filter(pk=session.pk).update(last_seq=5, user_turns=2)
    session.refresh_from_db()
    return session


@pytest.fixture
def asked(talk):
    """The same conversation, when its questions are to be written."""
    assert sessions.end_chat(talk.pk, "finished")
    talk.refresh_from_db()
    return talk


def address(session, rest=""):
    return f"/p/{session.participant.code}/s/{session.code}/{rest}"


def pair(**changes):
    return {"number": "1", "question": "When do I run?", "answer": "On Sundays", "evidence": ["4"]} | changes


def test_the_page_holds_what_was_said_and_who_it_is(two, talk):
    page = seat(two.ana).get(address(talk)).content.decode()
    assert "I &lt;baked&gt; rusks." in page
    assert talk.arm.alias_name in page
    assert f"shape-{talk.arm.alias_shape}" in page
    assert 'data-last="5"' in page
    assert page.index("baked") < page.index("Nice.") < page.index("On Sunday")


def test_aiko_meets_no_english_on_the_pages_of_a_conversation(two, talk):
    Participant.objects.filter(pk=two.ana.pk).update(language="ja", time_zone="Asia/Tokyo")
    browser = seat(two.ana)
    pages = [browser.get(address(talk)).text, browser.get(reverse("try_out", args=[two.ana.code])).text]
    assert sessions.end_chat(talk.pk, "finished")
    pages.append(browser.get(address(talk, "questions/")).text)
    with translation.override("en"):
        english = {text for text in words("Fig").values() if len(text) > len("{minutes} minutes")}
    for page in pages:
        assert '<html lang="ja">' in page
        assert not [text for text in english if text in html.unescape(page)]
    assert "今日" in pages[0]


def test_a_stranger_and_another_participant_find_no_page(two, talk, client):
    for browser in (client, seat(two.ben), seat(two.noa)):
        for rest in ("", "questions/"):
            assert browser.get(address(talk, rest)).status_code == 404
    assert seat(two.ben).get(f"/p/{two.ben.code}/s/{talk.code}/").status_code == 404


def test_before_it_begins_and_after_it_ends_the_page_leads_on(two, asked):
    ana = seat(two.ana)
    assert ana.get(address(asked)).headers["Location"] == address(asked, "questions/")
    later = Session.objects.get(participant=two.ana, position=2)
    assert ana.get(f"/p/{two.ana.code}/s/{later.code}/").headers["Location"] == f"/p/{two.ana.code}/"


def test_the_questions_page_offers_the_participants_own_messages_as_evidence(two, asked):
    page = seat(two.ana).get(address(asked, "questions/")).content.decode()
    assert 'name="evidence" value="4"' in page
    assert 'name="evidence" value="3"' not in page


def test_a_pair_is_kept_changed_and_the_conversation_closed(two, asked):
    ana = seat(two.ana)
    assert ana.post(address(asked, "questions/"), pair()).status_code == 302
    assert ana.post(address(asked, "questions/"), pair(answer="Every Sunday")).status_code == 302
    row = QAPair.objects.get(session=asked)
    assert (row.question, row.answer, row.evidence, row.revised_at is not None) == ("When do I run?", "Every Sunday", [4], True)
    assert ana.post(address(asked, "questions/close/")).headers["Location"] == f"/p/{two.ana.code}/"
    asked.refresh_from_db()
    assert asked.state == "closed"


@pytest.mark.parametrize(
    ("changes", "words"), [({"question": " "}, "empty"), ({"answer": ""}, "empty"), ({"evidence": ["3", "99", "x"]}, "Tick")]
)
def test_a_pair_that_is_not_whole_comes_back_with_what_was_typed(two, asked, changes, words):
    answer = seat(two.ana).post(address(asked, "questions/"), pair(**changes))
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert pair(**changes)["answer"] in answer.content.decode()
    assert not QAPair.objects.exists()


def test_a_conversation_is_not_closed_before_all_pairs_are_kept(two, asked):
    seat(two.ana).post(address(asked, "questions/close/"))
    asked.refresh_from_db()
    assert asked.state == "questions"


def test_the_live_checks_store_nothing(two, asked):
    answer = seat(two.ana).post(address(asked, "questions/check/"), pair(question="What did I eat today?"))
    assert "next week" in answer.content.decode()
    assert not QAPair.objects.exists()


def test_the_try_out_answers_and_stores_nothing(two, script):
    ana = seat(two.ana)
    page = ana.post(f"/p/{two.ana.code}/try/", {"text": "Hello, is this it?"}).content.decode()
    assert "Hello, is this it?" in page
    assert script.requests("try_out")[-1]["answer"].strip()[:20] in page.replace("&#x27;", "'")
    assert not Turn.objects.exists()


def test_the_try_out_keeps_the_words_when_no_answer_comes(two, script):
    script.fail("server_error")
    page = seat(two.ana).post(f"/p/{two.ana.code}/try/", {"text": "Hello again"}).content.decode()
    assert "No answer came." in page
    assert "Hello again</textarea>" in page


def test_the_try_out_is_over_after_two_messages(two, script):
    said = {"text": "three", "said": ["one", "two"], "answered": ["a", "b"]}
    seat(two.ana).post(f"/p/{two.ana.code}/try/", said)
    assert script.counts() == {}


def test_exchanges_are_bot_and_reply_and_a_last_word_of_the_bot_is_none(talk):
    assert [(e.seq, e.bot, e.user) for e in exchanges.of_session(talk.pk)] == [
        (2, "How was\nyour day?", "I <baked> rusks."),
        (4, "Nice.", "On Sunday I run ♥♥♥"),
    ]
    assert exchanges.one(talk.pk, 4) == exchanges.of_session(talk.pk)[1]
    assert exchanges.one(talk.pk, 3) is None


def test_after_an_outage_the_exchange_has_no_bot_text(talk):
    Turn.objects.filter(session=talk, seq=3).update(state="failed", seq=None)
    assert [(e.seq, e.bot) for e in exchanges.of_session(talk.pk)] == [(2, "How was\nyour day?"), (4, "")]


def test_a_withdrawal_takes_the_words_and_leaves_when_they_were_said(two, talk):
    Turn.objects.create(session=talk, role="bot", reply_to=6, state="pending", partial="Half an ans")
    erasing.withdraw(two.ana, keep_until_now=False)
    rows = list(Turn.objects.filter(session=talk).order_by("id"))
    assert {(t.text, t.partial, t.client_id) for t in rows} == {("", "", None)}
    assert [t.seq for t in rows] == [1, 2, 3, 4, 5, None]
    assert rows[-1].state == "failed"
