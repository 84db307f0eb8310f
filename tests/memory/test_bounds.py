"""What remembering nothing, or everything, gives: the bounds, live and as policies."""

from datetime import UTC, datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest

from memory import registry
from memory.budget import PER_MEMORY, tokens
from memory.models import MemoryEvent, MemoryWrite
from memory.policies.compressed_history import CompressedHistory
from memory.policies.full_history import FullHistory
from memory.policies.sliding_window import SlidingWindow
from memory.policy import Draft, Exchange, Query, Unparsable, When
from studyplatform.study.models import Session
from tests import cast as people
from tests.memory import contract
from tests.memory.telling import ask, finish, remembered, tell, write
from tests.memory.test_recalling import count

AT = datetime(2026, 3, 1, tzinfo=UTC)
QUERY = Query("reply", "And?", ("And?",))
BOUNDS = ("no_memory", "sliding_window", "compressed_history", "full_history")


def said(*texts, session=1, space=None):
    space = space or contract.MemorySpace()
    for i, text in enumerate(texts, start=1):
        space.add(Draft("exchange", "", text, text), session, 2 * i)
    return space


def used(policy, space, session=2):
    return [hit.memory.embed_text for hit in policy.recall(QUERY, space, When(session, AT), contract.no_model).used]


def test_the_bounds_are_marked_so_and_no_other_preset_is():
    assert tuple(name for name, preset in registry.PRESETS.items() if preset.bound) == BOUNDS


def test_full_history_is_everything_in_the_order_in_which_it_happened():
    assert used(FullHistory(), said("One.", "Two.", "Three.")) == ["One.", "Two.", "Three."]


def test_a_question_gets_the_same_memories_nearest_first():
    space = said("I like tea.", "My dog is called Mo.", "It rains.")
    found = SlidingWindow(window=2).recall(Query("question", "What is my dog called?"), space, When(2, AT), contract.no_model)
    assert [hit.memory.user for hit in found.used] == ["My dog is called Mo.", "It rains."]
    assert found.used[0].similarity > found.used[1].similarity


def test_full_history_leaves_out_the_oldest_and_says_how_many():
    one = tokens("Three.") + PER_MEMORY
    found = FullHistory(budget_tokens=2 * one).recall(QUERY, said("First.", "Second", "Third."), When(2, AT), contract.no_model)
    assert [hit.memory.user for hit in found.used] == ["Second", "Third."]
    assert found.why == {"budget_tokens": 2 * one, "tokens": 2 * one, "held": 3, "left_out": 1}


def test_a_sliding_window_recalls_and_keeps_the_last_exchanges_only():
    policy, space = SlidingWindow(window=2), said("One.", "Two.", "Three.")
    assert used(policy, space) == ["Two.", "Three."]
    verdicts = policy.retain(space.memories, When(1, AT), Random(1))
    assert [v.memory.user for v in verdicts if v.kept] == ["Three.", "Two."]


def test_a_compressed_history_keeps_one_text_and_forgets_what_is_in_it():
    policy, space = CompressedHistory(), said("I have a cat.")
    for number in (1, 2):
        (text,) = policy.consolidate([], "", space, contract.scripted_model)
        space.add(text, number, 0)
        kept = [v.memory for v in policy.retain(space.memories, When(number, AT), Random(1)) if v.kept]
        assert [m.embed_text for m in kept] == [text.embed_text]
        space.memories = kept
        said(f"I have {number} dogs.", session=number + 1, space=space)
    assert used(policy, space, 3) == [text.embed_text, "I have 2 dogs."]


def test_what_could_not_be_compressed_stays_until_it_can():
    def mute(prompt, schema, **variables):
        raise Unparsable("no JSON")

    policy, space = CompressedHistory(), said("I have a cat.")
    assert policy.consolidate([], "", space, mute) == ()
    assert all(v.kept for v in policy.retain(space.memories, When(1, AT), Random(1)))
    asked = {}
    said("I have a dog.", session=2, space=space)
    policy.consolidate([], "", space, lambda prompt, schema, **given: asked.update(given) or schema(history="Pets."))
    assert asked["latest"] == "Person: I have a cat.\nPerson: I have a dog."


def test_what_is_compressed_stands_under_the_day_on_which_it_was_said():
    policy, space, asked = CompressedHistory(), contract.MemorySpace(), {}
    for session, day in ((1, 5), (2, 6)):
        said_at = datetime(2026, 1, day, 23, tzinfo=ZoneInfo("Asia/Tokyo"))
        outcome = policy.encode(Exchange(session, 2, "", "I move tomorrow.", said_at), space, contract.no_model)
        space.add(outcome.draft, session, 2)
    policy.consolidate([], "", space, lambda prompt, schema, **given: asked.update(given) or schema(history="They move."))
    assert asked["latest"] == "2026-01-05:\nPerson: I move tomorrow.\n2026-01-06:\nPerson: I move tomorrow."


@pytest.fixture
def talk(model, monkeypatch, request):
    """The first conversation of the arm that the test names."""
    monkeypatch.setitem(people.CONDITIONS, "bound", (request.param, "naive_rag"))
    ana = people.person(people.make_study("bound", shared_first="false"))
    arm = people.arm_of(ana, request.param)
    return Session.objects.select_related("participant__study", "arm").get(arm=arm, number=1)


def second(talk):
    return Session.objects.select_related("participant__study", "arm").get(arm=talk.arm_id, number=2)


@pytest.mark.parametrize("talk", ["no_memory"], indirect=True)
def test_without_memory_nothing_is_stored_recalled_or_summarised_into_the_prompt(talk):
    tell(talk, "I have a cat.")
    finish(talk, ("What do I have?", "A cat."))
    found, _ = ask(second(talk), "What do I have?")
    assert (found.lines, found.key_summary) == ((), "")
    assert remembered(talk.arm_id) == []
    assert [w.outcome for w in MemoryWrite.objects.filter(arm=talk.arm_id)] == ["filter"]


@pytest.mark.parametrize("talk", ["full_history"], indirect=True)
def test_a_full_history_is_not_cut_to_what_other_arms_may_show_and_its_truncation_is_in_the_ledger(talk):
    tell(talk, *(f"On day {n} I walked {'very ' * 40}far." for n in range(80)))
    write(talk)
    found, ref = ask(talk, "And?")
    assert sum(map(len, found.lines)) > 4 * ref.arm.config.chat.memory_chars
    assert len(found.lines) == len(found.used)
    assert "day 79" in found.lines[-1]
    count(found, ref, 999)
    event = MemoryEvent.objects.filter(arm=talk.arm_id, what="used").first()
    assert event.why["left_out"] == 80 - len(found.used) > 0


@pytest.mark.parametrize("talk", ["compressed_history"], indirect=True)
def test_a_compressed_history_is_what_the_next_session_knows(talk):
    tell(talk, "I have a cat.", "I have a dog.")
    finish(talk)
    (text,) = remembered(talk.arm_id)
    assert text.kind == "summary"
    assert [hit.memory.id for hit in ask(second(talk), "What do I have?")[0].used] == [text.pk]


@pytest.mark.parametrize("talk", ["sliding_window"], indirect=True)
def test_a_sliding_window_runs_to_its_forgetting(talk):
    tell(talk, *(f"I have {n} cats." for n in range(12)))
    finish(talk)
    assert [m.user_text for m in remembered(talk.arm_id)] == [f"I have {n} cats." for n in range(2, 12)]
