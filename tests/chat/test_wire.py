"""The wire, against a real web process: what a person's browser sends, and what it gets to see."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from websockets.exceptions import InvalidStatus

from chat.models import Connection, Turn
from memory.models import MemoryWrite
from studyplatform.llm.models import LLMCall
from studyplatform.study import moving
from studyplatform.study.models import Session
from tests.chat.conftest import tab


def turns(session: Session) -> list[tuple[int | None, str, str]]:
    return [(t.seq, t.role, t.text) for t in Turn.objects.filter(session=session).order_by("seq")]


async def test_ana_is_greeted_speaks_and_is_answered(web, ana, first):
    async with tab(web, ana, first) as page:
        opener = await page.begin()
        assert (opener["seq"], opener["text"]) == (1, "Hello! How was your day?")
        reply = await page.talk("Fine, I baked bread.")
        state = await page.until("state")
    assert (reply["seq"], reply["reply_to"]) == (3, 2)
    assert (state["user_turns"], state["turns_left"], state["may_finish"]) == (1, 1, False)
    stored = await sync_to_async(turns)(first)
    assert stored == [(1, "bot", opener["text"]), (2, "user", "Fine, I baked bread."), (3, "bot", reply["text"])]
    assert await MemoryWrite.objects.filter(session=first, seq=2, arm=first.arm_id).acount() == 1


async def test_the_ack_comes_before_any_token_and_after_the_commit(web, ana, first):
    async with tab(web, ana, first) as page:
        await page.begin()
        ack = await page.say("I was at the sea.")
        assert ack["type"] == "ack"
        assert await Turn.objects.filter(session=first, seq=ack["seq"], text="I was at the sea.").aexists()
        await page.until("reply")
    kinds = [f["type"] for f in page.seen]
    assert kinds.index("ack") < kinds.index("token", kinds.index("ack"))


async def test_what_streamed_is_the_reply(web, ana, first, script):
    script.set(token_ms=20, tokens=20)
    async with tab(web, ana, first) as page:
        await page.begin()
        reply = await page.talk("Tell me about rusks.")
    shown = ""
    tokens = [f for f in page.seen if f["type"] == "token" and f["reply_to"] == 2]
    for token in tokens:
        shown = shown[: token["at"]] + token["text"]
    assert len(tokens) > 2
    assert shown
    assert reply["text"].startswith(shown.strip())


async def test_the_same_message_twice_is_stored_once_and_acknowledged_twice(web, ana, first):
    async with tab(web, ana, first) as page:
        await page.begin()
        one = await page.say("Hello hello", "client-id-1")
        await page.until("reply")
        two = await page.say("Hello hello", "client-id-1")
    assert one == two
    assert await Turn.objects.filter(session=first, role="user").acount() == 1


async def test_a_message_sent_while_a_reply_is_coming_is_refused_and_not_stored(web, ana, first, script):
    script.set(first_token_ms=600)
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.say("One")
        refused = await page.say("Two")
        await page.until("reply")
    assert (refused["type"], refused["code"]) == ("refused", "busy")
    assert await Turn.objects.filter(session=first, role="user").acount() == 1


@pytest.mark.parametrize(("text", "code"), [("", "empty"), (" \n\t ", "empty"), ("x" * 8001, "too_long"), ("a\0b", "bad_frame")])
async def test_what_is_no_message_is_refused(web, ana, first, text, code):
    async with tab(web, ana, first) as page:
        await page.begin()
        refused = await page.say(text)
    assert (refused["type"], refused["code"]) == ("refused", code)


@pytest.mark.parametrize(
    "raw",
    [
        "not json",
        '{"type": "say", "client_id": "client-id-1", "text": "x", "colour": "red"}',
        '{"type": "dance"}',
        '{"type": "say", "client_id": "short", "text": "x"}',
        '{"type": "say", "client_id": "client-id-1", "text": "\\ud800"}',
        "[]",
        '{"type": "hello", "last_seq": 99999999999999999999}',
        '{"type": "retry", "reply_to": 2147483648}',
    ],
)
async def test_unknown_fields_and_malformed_frames_are_refused_and_the_line_stays_open(web, ana, first, raw):
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.socket.send(raw)
        assert (await page.until("refused"))["code"] == "bad_frame"
        await page.send(type="ping")
        await page.until("pong")


async def test_a_second_tab_sees_the_message_the_tokens_and_the_reply(web, ana, first, script):
    script.set(token_ms=20)
    async with tab(web, ana, first) as one, tab(web, ana, first) as two:
        await one.begin()
        await two.hello()
        reply = await one.talk("Do you see this?")
        turn = await two.until("turn")
        assert (turn["seq"], turn["role"], turn["text"]) == (2, "user", "Do you see this?")
        await two.until("token")
        assert await two.until("reply") == reply


async def test_two_tabs_at_once_give_two_orders_but_one_pending_reply(web, ana, first, script):
    script.set(first_token_ms=300)
    async with tab(web, ana, first) as one, tab(web, ana, first) as two:
        await one.begin()
        await two.hello()
        answers = await asyncio.gather(one.say("From one"), two.say("From two"))
    assert sorted(a["type"] for a in answers) == ["ack", "refused"]
    assert await Turn.objects.filter(session=first, role="user").acount() == 1


async def test_a_refresh_in_the_middle_of_an_answer_goes_on_with_it(web, ana, first, script):
    script.set(token_ms=60, tokens=25)
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.say("Tell me something long.")
        await page.until("token")
        await page.until("token")
    async with tab(web, ana, first) as again:
        welcome = await again.hello()
        shown = welcome["pending"]["text"]
        assert welcome["pending"]["reply_to"] == 2
        assert shown
        reply = await again.until("reply")
    for token in (f for f in again.seen if f["type"] == "token"):
        assert token["at"] <= len(shown)
        shown = shown[: token["at"]] + token["text"]
    assert reply["text"].startswith(shown.strip())
    assert [t["seq"] for t in welcome["turns"]] == [1, 2]


async def test_a_browser_that_was_away_gets_only_what_it_missed(web, ana, first):
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.talk("One")
        await page.talk("Two")
    async with tab(web, ana, first) as again:
        welcome = await again.hello(last_seq=3)
    assert [(t["seq"], t["role"]) for t in welcome["turns"]] == [(4, "user"), (5, "bot")]
    assert welcome["pending"] is None


async def test_an_idle_socket_stays_open_for_16_seconds(web, ana, first):
    async with tab(web, ana, first) as page:
        await page.begin()
        await asyncio.sleep(16)
        await page.talk("Still here?")


async def test_nobody_else_gets_the_socket(web, ana, first, somebody):
    stranger, own = await sync_to_async(somebody)()
    for participant, session in [(stranger, first)]:
        with pytest.raises(InvalidStatus):
            async with tab(web, participant, session):
                pass
    async with tab(web, stranger, own) as page:
        await page.begin()


async def test_who_was_there_when_is_written_down(web, ana, first):
    async with tab(web, ana, first) as page:
        await page.begin()
        there = await Connection.objects.aget(session=first)
        assert there.closed_at is None
    for _ in range(100):
        left = await Connection.objects.aget(session=first)
        if left.closed_at:
            break
        await asyncio.sleep(0.05)
    assert left.code == 1000


async def test_finishing_too_early_is_refused_and_later_leads_to_the_questions(web, ana, first):
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.send(type="finish")
        assert (await page.until("refused"))["code"] == "not_yet"
        await page.talk("One")
        await page.talk("Two")
        await page.send(type="finish")
        ended = await page.until("ended")
        refused = await page.say("Too late")
    assert ended["next"] == f"/p/{ana.code}/s/{first.code}/questions/"
    assert (refused["type"], refused["code"]) == ("refused", "closed")
    await first.arefresh_from_db()
    assert (first.state, first.end_reason) == ("questions", "finished")


async def test_the_last_turn_that_the_study_allows_ends_the_chat(web, somebody):
    participant, session = await sync_to_async(somebody)(sessions="max_turns = 2")
    async with tab(web, participant, session) as page:
        await page.begin()
        await page.talk("One")
        await page.talk("Two")
        await page.until("ended")
    await session.arefresh_from_db()
    assert (session.state, session.end_reason) == ("questions", "max_turns")


async def test_every_call_to_the_model_is_stored_with_its_prompt_and_what_came(web, ana, first):
    async with tab(web, ana, first) as page:
        await page.begin()
        reply = await page.talk("Hello there")
    call = await LLMCall.objects.aget(session=first, purpose="reply")
    assert call.raw.strip() == reply["text"]
    assert (call.prompt, call.model_asked, call.seq, call.tag) == ("reply@1", "scripted/script", 3, f"{first.code}.reply.2.1")
    assert call.messages[-1] == {"role": "user", "content": "Hello there"}
    assert call.tokens_out


@pytest.mark.parametrize(("state", "answered"), [("closed", False), ("paused", True)])
async def test_in_a_closed_study_nothing_more_is_said_and_in_a_paused_one_a_chat_goes_on(web, ana, first, state, answered):
    async with tab(web, ana, first) as page:
        await page.begin()
        await sync_to_async(lambda: moving.move(ana.study, state))()
        await page.say("One more thing.")
        if answered:
            await page.until("reply")
        else:
            assert (await page.until("ended"))["next"].endswith("/questions/")
    assert await Turn.objects.filter(session=first, role="user").aexists() is answered
