"""What goes wrong, and what the person then has: an empty answer, a model that is away, a process that dies, a second web process."""

import asyncio
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db.models import F
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat import store
from chat.models import Turn
from memory import encoders
from memory.models import Memory, MemoryEvent
from studyplatform.llm.models import LLMCall
from studyplatform.study import overtime, sessions
from studyplatform.study.models import Session
from tests.chat.conftest import Web, tab


async def texts(session, role):
    return [t.text async for t in Turn.objects.filter(session=session, role=role).order_by("seq")]


async def test_an_empty_answer_is_asked_for_once_more_and_not_shown(web, ana, first, script):
    script.fail("empty", purpose="reply")
    async with tab(web, ana, first) as page:
        await page.begin()
        reply = await page.talk("Are you there?")
    assert reply["text"]
    assert [c.error[:5] async for c in LLMCall.objects.filter(session=first, purpose="reply").order_by("id")] == ["empty", ""]


async def test_when_no_answer_comes_the_message_is_kept_and_asking_again_works(web, ana, first, script):
    script.fail("empty", purpose="reply", count=2)
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.say("Please remember this.")
        failed = await page.until("failed")
        assert (failed["reply_to"], failed["code"], failed["retryable"]) == (2, "no_answer", True)
        state = await page.until("state")
        assert state["paused"] is False
        await page.send(type="retry", reply_to=2)
        reply = await page.until("reply")
    assert reply["reply_to"] == 2
    assert await texts(first, "user") == ["Please remember this."]
    assert await Turn.objects.filter(session=first, role="bot", reply_to=2).acount() == 1


async def test_however_often_it_was_tried_during_an_outage_the_answer_comes_after_it(web, ana, first, script):
    async with tab(web, ana, first) as page:
        await page.begin()
        script.fail("server_error", purpose="reply", count=None)
        await page.say("Is anybody there?")
        await page.until("failed")
        for _ in range(store.MOST_ATTEMPTS + 1):
            await page.send(type="retry", reply_to=2)
            await page.until("failed")
        script.heal()
        await page.send(type="retry", reply_to=2)
        await page.until("reply")
        state = await page.until("state")
    assert state["paused"] is False


async def test_an_answer_over_which_process_after_process_died_waits_until_it_is_asked_for(web, ana, first, script):
    async with tab(web, ana, first) as page:
        await page.begin()
        script.set(first_token_ms=4000)
        await page.say("Something deadly.")
        gone = timezone.now() - timedelta(seconds=1)
        await Turn.objects.filter(session=first, reply_to=2).aupdate(attempt=store.MOST_ATTEMPTS, lease_until=gone)
        await page.until("failed", reply_to=2)
        script.set(first_token_ms=0)
        await page.send(type="retry", reply_to=2)
        await page.until("reply")
    assert await Turn.objects.filter(session=first, role="bot", reply_to=2).acount() == 1


async def test_a_failed_answer_is_there_after_a_refresh(web, ana, first, script):
    script.fail("empty", purpose="reply", count=2)
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.say("Hm?")
        await page.until("failed")
    async with tab(web, ana, first) as again:
        welcome = await again.hello()
    assert (welcome["pending"]["reply_to"], welcome["pending"]["failed"]) == (2, True)


async def test_after_a_failed_answer_the_person_may_go_on_talking(web, ana, first, script):
    script.fail("empty", purpose="reply", count=2)
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.say("One")
        await page.until("failed")
        reply = await page.talk("Two")
        await page.send(type="retry", reply_to=2)
        welcome = await page.until("welcome")
    assert (reply["seq"], reply["reply_to"]) == (4, 3)
    assert [t["seq"] for t in welcome["turns"]] == [3, 4]


async def test_an_outage_stops_the_clock_until_an_answer_comes(web, ana, first, script):
    script.fail("server_error", count=2)
    async with tab(web, ana, first) as page:
        await page.hello()
        await page.until("state", may_finish=False)
        script.fail("server_error", count=2)
        await page.say("Is it broken?")
        await page.until("failed")
        state = await page.until("state")
        assert (state["paused"], state["paused_reason"]) == (True, "outage")
        refused = await page.say("Hello?")
        assert (refused["type"], refused["code"]) == ("refused", "paused")
        script.heal()
        await page.send(type="retry", reply_to=2)
        await page.until("reply")
        state = await page.until("state")
    assert state["paused"] is False
    await first.arefresh_from_db()
    assert first.paused_at is None
    assert first.paused_ms > 0


async def test_when_an_outage_ends_the_answer_comes_by_itself_to_who_waits(web, ana, first, script):
    async with tab(web, ana, first) as page:
        await page.begin()
        script.fail("server_error", purpose="reply", count=None)
        await page.say("Is it broken?")
        await page.until("failed", reply_to=2)
        await page.until("state", paused=True, paused_reason="outage")
        script.heal()
        await sync_to_async(as_if_waited)(first, seconds=20)
        reply = await page.until("reply")
        state = await page.until("state", paused=False)
    assert (reply["seq"], reply["reply_to"]) == (3, 2)
    assert state["paused_reason"] == ""
    await first.arefresh_from_db()
    assert (first.paused_at, first.pause_reason) == (None, "")
    assert first.paused_ms >= 20_000
    assert await texts(first, "user") == ["Is it broken?"]
    assert await Turn.objects.filter(session=first, reply_to=2).acount() == 1


async def test_a_try_in_the_middle_of_an_outage_leaves_the_clock_standing(web, ana, first, script):
    async with tab(web, ana, first) as page:
        await page.begin()
        script.fail("server_error", purpose="reply", count=None)
        await page.say("Is it broken?")
        await page.until("failed", reply_to=2)
        await page.until("state", paused=True, paused_reason="outage")
        await sync_to_async(as_if_waited)(first, seconds=20)
        await page.until("failed", reply_to=2)
    await first.arefresh_from_db()
    assert first.pause_reason == "outage"
    assert first.paused_ms == 0
    assert await texts(first, "user") == ["Is it broken?"]


def as_if_waited(session, seconds):
    """As if the outage of this conversation had begun so much earlier."""
    earlier = timedelta(seconds=seconds)
    Session.objects.filter(pk=session.pk).update(paused_at=F("paused_at") - earlier)
    Turn.objects.filter(session=session, reply_to=2).update(done_at=F("done_at") - earlier)


async def test_a_stream_that_breaks_off_is_no_answer(web, ana, first, script):
    script.set(token_ms=5, tokens=12)
    script.fail("cut", purpose="reply", after_tokens=3)
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.say("Tell me more.")
        await page.until("failed")
        await page.send(type="retry", reply_to=2)
        reply = await page.until("reply")
    attempts = {f["attempt"] for f in page.seen if f["type"] == "token" and f["reply_to"] == 2}
    assert attempts == {1, 2}
    assert await texts(first, "bot") == ["Hello! How was your day?", reply["text"]]


async def test_an_answer_goes_on_when_everybody_has_left(web, ana, first, script):
    script.set(first_token_ms=400)
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.say("I must go.")
    for _ in range(60):
        if await Turn.objects.filter(session=first, reply_to=2, state="done").aexists():
            break
        await asyncio.sleep(0.1)
    async with tab(web, ana, first) as again:
        welcome = await again.hello(last_seq=2)
    assert [(t["seq"], t["reply_to"]) for t in welcome["turns"]] == [(3, 2)]


async def test_a_process_killed_in_the_middle_of_an_answer_leaves_it_to_the_next(another_web, ana, first, script):
    script.set(token_ms=80, tokens=40)
    async with tab(another_web, ana, first) as page:
        await page.begin()
        await page.say("Something long, please.")
        await page.until("token", reply_to=2)
        another_web.kill()
    script.set(token_ms=0)
    await sync_to_async(another_web.start)()
    async with tab(another_web, ana, first) as again:
        turns = (await again.hello())["turns"]
        if len(turns) == 2:  # the next process may have answered already, while this one started
            turns.append(await again.until("reply", seconds=30))
        assert [(t["seq"], t["reply_to"]) for t in turns] == [(1, None), (2, None), (3, 2)]
    turn = await Turn.objects.aget(session=first, reply_to=2)
    assert turn.attempt == 2
    assert await Turn.objects.filter(session=first).acount() == 3


async def test_a_process_that_stops_in_order_hands_its_answer_over_at_once(another_web, ana, first, script):
    script.set(first_token_ms=3000)
    async with tab(another_web, ana, first) as page:
        await page.begin()
        await page.say("Are you being restarted?")
        await sync_to_async(another_web.stop)()
    turn = await Turn.objects.aget(session=first, reply_to=2)
    # Free to be taken, or taken already by a process that other tests started.
    assert turn.attempt > 1 or turn.lease_until <= turn.created_at.now(turn.created_at.tzinfo)


async def test_two_tabs_on_two_web_processes_see_the_same(web, another_web, ana, first, script):
    script.set(token_ms=40, tokens=25)
    async with tab(web, ana, first) as one, tab(another_web, ana, first) as two:
        await one.begin()
        await two.hello()
        reply = await one.talk("Do both of you see this?")
        turn = await two.until("turn")
        token = await two.until("token")
        assert await two.until("reply") == reply
    assert turn["text"] == "Do both of you see this?"
    assert reply["text"].startswith(token["text"].strip())


async def test_a_tab_that_comes_to_another_process_in_the_middle_gets_the_whole_answer_so_far(web, another_web, ana, first, script):
    script.set(token_ms=80, tokens=30)
    async with tab(web, ana, first) as one:
        await one.begin()
        await one.say("Slowly, please.")
        await one.until("token", reply_to=2)
        await asyncio.sleep(0.5)
        async with tab(another_web, ana, first) as two:
            welcome = await two.hello()
            assert welcome["pending"]["reply_to"] == 2
            token = await two.until("token")
            assert token["at"] == 0
            assert len(token["text"]) > 5
            reply = await two.until("reply")
    assert reply["text"].startswith(token["text"].strip())


WORDS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=200)
STRANGE = st.sampled_from(
    ["👩‍👩‍👧‍👦", "🇯🇵🇫🇷", "👍🏽", "e\u0301", "한국어", "שלום עולם", "مرحبا", "नमस्ते", "a\r\nb", "\ufeffx", "\u202eabc", "𝔘𝔫𝔦"]
)


async def test_any_text_is_stored_and_shown_byte_for_byte(web, somebody):
    participant, session = await sync_to_async(somebody)(simulated=True)
    said: list[str] = []
    async with tab(web, participant, session) as page:
        await page.begin()
        for text in _examples():
            await page.talk(text)
            said.append(text)
    assert await texts(session, "user") == said
    async with tab(web, participant, session) as again:
        welcome = await again.hello()
    assert [t["text"] for t in welcome["turns"] if t["role"] == "user"] == said


def _examples() -> list[str]:
    """Thirty texts by hypothesis, each with something strange in it; and one of the greatest length."""
    found: list[str] = []

    @settings(max_examples=30, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(WORDS, STRANGE)
    def collect(words: str, strange: str) -> None:
        found.append(f"{words}{strange}{words}")

    collect()
    return [*found, "👩‍🚀" * 2666 + "ab"]


def test_a_web_process_starts_without_a_client(another_web: Web):
    assert another_web.process is not None
    assert another_web.process.poll() is None


async def test_a_person_who_is_silent_for_long_is_asked_and_the_clock_goes_on_when_they_write(web, somebody):
    participant, session = await sync_to_async(somebody)(sessions="idle_minutes = 10")
    async with tab(web, participant, session) as page:
        await page.begin()
        await Session.objects.filter(pk=session.pk).aupdate(last_activity_at=timezone.now() - timedelta(minutes=11))
        await sync_to_async(overtime.end)(timezone.now())
        state = await page.until("state", paused=True)
        assert state["paused_reason"] == "idle"
        await page.talk("I am back.")
        state = await page.until("state", paused=False)
    await session.arefresh_from_db()
    assert session.paused_at is None
    assert session.paused_ms > 0


async def test_a_chat_that_is_ended_elsewhere_leads_its_page_on(web, ana, first):
    async with tab(web, ana, first) as page:
        await page.begin()
        await sync_to_async(sessions.end_chat)(first.pk, "max_minutes")
        ended = await page.until("ended")
    assert ended["next"].endswith("/questions/")


async def test_without_its_encoder_nobody_is_answered_as_if_nothing_were_remembered(web, ana, first, script):
    async with tab(web, ana, first) as page:
        await page.begin()
        script.fail("server_error", endpoint="embeddings", count=None)
        await page.say("What did I tell you?")
        await page.until("failed")
        state = await page.until("state")
        assert state["paused_reason"] == "outage"
        script.heal()
        await page.send(type="retry", reply_to=2)
        await page.until("reply")


async def test_the_floor_holds_the_first_word_back_in_every_arm(web, somebody):
    participant, session = await sync_to_async(somebody)(chat="first_token_floor_ms = 700\npace_chars_per_s = 200")
    async with tab(web, participant, session) as page:
        await page.begin()
        reply = await page.talk("Quick, please.")
    turn = await Turn.objects.aget(session=session, reply_to=2)
    assert turn.total_ms >= 700 + (len(reply["text"]) - 1) / 200 * 1000
    assert turn.first_token_ms is not None
    assert turn.over_floor == (turn.first_token_ms > 700)
    assert len([f for f in page.seen if f["type"] == "token" and f["reply_to"] == 2]) > 1


async def test_what_a_reply_remembers_is_counted_once_with_the_reply(web, ana, first):
    await sync_to_async(remember)(first, "My sister Mia lives in Lyon and bakes rusks.")
    async with tab(web, ana, first) as page:
        await page.begin()
        await page.talk("My sister Mia lives in Lyon and bakes rusks.")
    memory = await Memory.objects.aget(arm=first.arm_id)
    events = [e.what async for e in MemoryEvent.objects.filter(memory=memory)]
    assert (memory.r1, events) == (1, ["used"])


def remember(session, text):
    """As if it had been said in an earlier conversation."""
    vector = encoders.get("scripted/hash").embed([text])[0]
    Memory.objects.create(
        arm=session.arm, kind="exchange", session_number=0, seq=2, user_text=text, embed_text=text, vector=vector.tolist(),
        encoder="scripted/hash", last_recalled=0, happened_at=timezone.now(),
    )  # fmt: skip
