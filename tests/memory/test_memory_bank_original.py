"""MemoryBank as its own paper has it: forgetting by chance when a session opens, six memories strengthened, a portrait in every prompt."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.utils import timezone

from memory import arms, recalling
from memory.models import Memory as Row
from memory.models import MemoryEvent
from memory.policies.memory_bank_original import MemoryBankOriginal, retention
from memory.policy import Draft, Memory, Query, Unparsable, When
from studyplatform.study.models import Session
from tests import cast as people
from tests.memory import contract
from tests.memory.telling import ask, finish, remembered, tell, write

AT = datetime(2026, 3, 1, 22, tzinfo=UTC)
POLICY = MemoryBankOriginal()


def memory(seq, *, session=1, r1=0, kind="exchange", at=AT, last=None):
    return Memory(1000 - seq - 100 * session, kind, session, seq, "", f"{seq}", f"{seq}", r1, 0, last or session, at)


def kept(memories, when, seed=1):
    return {(m.session, m.seq) for m in (v.memory for v in POLICY.retain(memories, when, Random(seed)) if v.kept)}


def test_a_memory_that_was_recalled_more_often_fades_slower_unlike_in_the_reference_code():
    assert retention(5, 3) > retention(5, 0)
    assert f"{retention(1, 0):.4f}" == "0.3679"


def test_survival_is_as_frequent_as_the_curve_says():
    many = [memory(2 * i) for i in range(1, 2001)]
    share = len(kept(many, When(1, AT + timedelta(days=1)))) / len(many)
    assert share == pytest.approx(0.3679, abs=0.03)


def test_the_same_seed_forgets_the_same_and_another_does_not():
    many = [memory(2 * i) for i in range(1, 101)]
    later = When(1, AT + timedelta(days=1))
    assert kept(many, later) == kept(list(reversed(many)), later)
    assert kept(many, later) != kept(many, later, seed=2)


def test_days_are_the_participants_calendar_days_since_the_last_recall():
    tokyo = When(1, AT + timedelta(hours=4), "Asia/Tokyo")
    assert POLICY.retain([memory(2)], tokyo, Random(1))[0].terms["days"] == 0
    utc = When(1, AT + timedelta(hours=4))
    assert POLICY.retain([memory(2)], utc, Random(1))[0].terms["days"] == 1
    recalled = When(2, AT + timedelta(days=9), "UTC", {2: AT + timedelta(days=7)})
    assert POLICY.retain([memory(2, last=2)], recalled, Random(1))[0].terms["days"] == 2


def test_on_the_same_day_nothing_is_forgotten():
    many = [memory(2 * i) for i in range(1, 51)]
    assert len(kept(many, When(1, AT))) == 50


def test_a_summary_is_not_sampled_and_goes_with_the_last_exchange_of_its_session():
    late = When(2, AT + timedelta(days=400))
    held = [memory(0, kind="summary"), memory(2), memory(0, session=2, kind="summary"), memory(2, session=2, at=AT + timedelta(days=400))]
    assert kept(held, late) == {(2, 0), (2, 2)}


def test_six_are_recalled_and_all_are_used():
    space = contract.MemorySpace()
    for i in range(1, 10):
        space.add(Draft("exchange", "", f"I have {i} cats.", f"I have {i} cats."), 1, 2 * i)
    found = POLICY.recall(Query("reply", "How many cats?", ("How many cats?",)), space, When(2, AT), contract.no_model)
    assert (len(found.used), len(found.passed_over)) == (6, 0)


def test_the_newest_portrait_is_in_every_prompt_and_earlier_ones_are_not():
    space = contract.MemorySpace()
    space.add(Draft("record", "", "", "Shy.", {"analysis": "Shy."}), 1, 0)
    space.add(Draft("record", "", "", "Open by now.", {"analysis": "Open."}), 2, 0)
    found = POLICY.recall(Query("reply", "Hello", ("Hello",)), space, When(3, AT), contract.no_model)
    assert [hit.memory.embed_text for hit in found.used] == ["Open by now."]


def test_a_portrait_is_made_of_all_analyses():
    space, asked = contract.MemorySpace(), []

    def model(prompt, schema, **variables):
        asked.append((prompt, variables))
        return contract.scripted_model(prompt, schema, **variables)

    first = space.add(Draft("exchange", "", "I am tired.", "I am tired."), 1, 2)
    for draft in POLICY.consolidate([first], "Tired.", space, model):
        space.add(draft, 1, 0)
    second = space.add(Draft("exchange", "", "I slept well.", "I slept well."), 2, 2)
    drafts = POLICY.consolidate([second], "Rested.", space, model)
    assert [draft.kind for draft in drafts] == ["summary", "record"]
    assert [prompt for prompt, _ in asked] == ["memory_bank_analysis@1", "memory_bank_analysis@1", "memory_bank_portrait@1"]
    analyses = asked[-1][1]["analyses"].splitlines()
    assert len(analyses) == 2
    assert "I am tired." in asked[0][1]["said"]


def test_a_model_that_cannot_be_read_leaves_the_summary_and_no_portrait():
    def mute(prompt, schema, **variables):
        raise Unparsable("no JSON")

    said = contract.MemorySpace().add(Draft("exchange", "", "Hi.", "Hi."), 1, 2)
    drafts = POLICY.consolidate([said], "A greeting.", contract.MemorySpace(), mute)
    assert [draft.kind for draft in drafts] == ["summary"]


@pytest.fixture
def first(model, monkeypatch):
    """A first conversation of twelve exchanges, and the second one, which opens ten days later."""
    monkeypatch.setitem(people.CONDITIONS, "original", ("memory_bank_original", "naive_rag"))
    ana = people.person(people.make_study("original", shared_first="false"))
    arm = people.arm_of(ana, "memory_bank_original")
    session = Session.objects.select_related("participant__study", "arm").get(arm=arm, number=1)
    tell(session, *(f"I have {n} cats." for n in range(12)))
    write(session)
    finish(session)
    return session


def opened(session, days: int):
    second = Session.objects.select_related("participant__study", "arm").get(arm=session.arm_id, number=2)
    at = timezone.now() + timedelta(days=days)
    return recalling.recall(session=arms.session_ref(second), query=Query("opening", ""), instant=at, context_from_seq=1)


def test_nothing_is_forgotten_at_the_close_and_most_when_the_next_session_opens(first):
    assert len(remembered(first.arm_id, kind="exchange")) == 12
    opened(first, days=10)
    assert len(remembered(first.arm_id, kind="exchange")) < 6
    events = MemoryEvent.objects.filter(arm=first.arm_id, what__in=["kept", "forgotten"])
    assert events.count() == Row.objects.filter(arm=first.arm_id).count()
    assert {e.why["seed"] for e in events} == {f"13:{first.participant.number}:{first.arm.order}:1"}
    assert all(e.why["terms"]["draw"] >= 0 for e in events if e.memory.kind == "exchange")


def test_an_opening_that_is_tried_again_forgets_no_second_time(first):
    opened(first, days=1)
    left = {m.pk for m in remembered(first.arm_id)}
    opened(first, days=90)
    assert {m.pk for m in remembered(first.arm_id)} == left


def test_a_live_session_ends_with_a_portrait_in_the_store_that_the_next_prompt_quotes(first):
    (portrait,) = remembered(first.arm_id, kind="record")
    assert portrait.fields["analysis"]
    found, _ = ask(Session.objects.select_related("participant__study", "arm").get(arm=first.arm_id, number=2), "cats", context_from_seq=1)
    assert portrait.embed_text[:20] in found.lines[0]
