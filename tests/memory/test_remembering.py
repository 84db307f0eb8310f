"""Writes: in order, once, by whoever gets there, whatever fails on the way."""

import threading
from collections.abc import Callable

import pytest
from django.db import connection, transaction

from chat import exchanges
from memory import arms, remembering
from memory.models import Memory, MemoryEvent, MemoryWrite
from memory.policy import Exchange
from studyplatform.study import erasing
from studyplatform.study.models import Arm, Session
from tests import cast as people
from tests.memory.telling import ask, remembered, session_with, tell, write


@pytest.fixture
def talk(model, four):
    """Ana's shared session."""
    return people.session_of(four.ana)


def at_once(number: int, act: Callable[[], object]) -> list[object]:
    """`act` in so many threads, released together; what each returned or raised."""
    gate, results = threading.Barrier(number), []

    def one() -> None:
        gate.wait(20)
        try:
            results.append(act())
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def in_arm(participant, preset: str) -> Session:
    return session_with(participant, people.arm_of(participant, preset).pk, 2)


def test_exchanges_are_written_in_the_order_in_which_they_were_said(talk):
    seqs = tell(talk, "I have a cat.", "I have a dog.", "I have a horse.")
    assert write(talk) == 3
    events = MemoryEvent.objects.filter(arm=talk.arm_id, what="stored").order_by("pk")
    assert list(events.values_list("seq", flat=True)) == seqs
    assert Arm.objects.get(pk=talk.arm_id).version == 3


def test_the_bots_words_are_stored_with_the_reply_and_in_amu_never(talk, four):
    tell(talk, ("What animals do you have?", "I have a cat called Mo."))
    write(talk)
    assert remembered(talk.arm_id)[0].bot_text == "What animals do you have?"
    Session.objects.filter(pk=talk.pk).update(state="closed")
    own = in_arm(four.ana, "amu")
    tell(own, ("Do you like your sister's horse, Thunder?", "I have a cat called Mo."))
    write(own)
    (record,) = remembered(own.arm_id)
    assert record.bot_text == ""
    assert "Thunder" not in record.embed_text + str(record.fields)


def test_a_repeated_request_to_remember_changes_nothing(talk):
    (seq,) = tell(talk, "I have a cat.")
    remembering.open_for(talk.arm_id, talk.pk, [seq])
    write(talk)
    remembering.open_for(talk.arm_id, talk.pk, [seq])
    assert write(talk) == 0
    assert len(remembered(talk.arm_id)) == 1


def test_a_worker_that_lost_its_lease_changes_nothing(talk):
    (seq,) = tell(talk, "I have a cat.")
    slow = remembering.claim(talk.arm_id, "slow")
    assert remembering.claim(talk.arm_id, "other") is None
    MemoryWrite.objects.update(lease_until="2020-01-01T00:00Z")
    arm = arms.load(talk.arm_id)
    exchange = exchanges.one(talk.pk, seq)
    late = remembering.decide(arm, slow, exchange)
    assert write(talk) == 1
    with pytest.raises(remembering.LeaseLost):
        remembering.commit(arm, slow, exchange, late)
    assert len(remembered(talk.arm_id)) == 1
    assert MemoryEvent.objects.filter(arm=talk.arm_id).count() == 1


def test_a_decision_on_an_older_state_of_the_arm_is_made_again(talk):
    (seq,) = tell(talk, "I have a cat.")
    claimed = remembering.claim(talk.arm_id, "me")
    arm = arms.load(talk.arm_id)
    exchange = exchanges.one(talk.pk, seq)
    decision = remembering.decide(arm, claimed, exchange)
    Arm.objects.filter(pk=talk.arm_id).update(version=9)
    with pytest.raises(remembering.Changed):
        remembering.commit(arm, claimed, exchange, decision)
    assert MemoryWrite.objects.get(pk=claimed.pk).state == "open"
    remembering.commit(arm, claimed, exchange, remembering.decide(arm, claimed, exchange))
    assert len(remembered(talk.arm_id)) == 1


def test_an_encoder_that_is_down_delays_a_write_and_loses_nothing(talk, model):
    tell(talk, "I have a cat.")
    model.fail("server_error", endpoint="embeddings", count=1)
    write(talk)
    late = MemoryWrite.objects.get()
    assert (late.state, late.failures, remembered(talk.arm_id)) == ("open", 1, [])
    MemoryWrite.objects.update(due_at="2020-01-01T00:00Z")
    assert write(talk) == 1
    assert len(remembered(talk.arm_id)) == 1


def test_a_policy_that_breaks_costs_one_memory_and_not_the_queue(talk, monkeypatch):
    from memory.policies.naive_rag import NaiveRag

    real = NaiveRag.encode

    def breaks(self, exchange: Exchange, space, ask):
        if "cat" in exchange.user:
            raise ZeroDivisionError("a defect")
        return real(self, exchange, space, ask)

    monkeypatch.setattr(NaiveRag, "encode", breaks)
    tell(talk, "I have a cat.", "I have a dog.")
    write(talk)
    assert list(MemoryWrite.objects.order_by("seq").values_list("outcome", flat=True)) == ["error", "store"]
    assert [m.user_text for m in remembered(talk.arm_id)] == ["I have a dog."]


def test_amu_discards_a_repetition_and_replaces_what_changed(talk, four):
    own = in_arm(four.ana, "amu")
    lives = "I live in Leeds with my sister Ana."
    tell(own, lives, lives, "I no longer live in Leeds with my sister Ana.")
    write(own)
    assert list(MemoryWrite.objects.filter(arm=own.arm_id).order_by("seq").values_list("outcome", flat=True)) == [
        "store",
        "discard",
        "update",
    ]
    (record,) = remembered(own.arm_id)
    assert "no longer" in record.embed_text
    old = record.supersedes.get()
    assert (old.status, old.superseded_by_id) == ("superseded", record.pk)
    assert record.sources == ["2:2", "2:6"]


@pytest.mark.django_db(transaction=True)
def test_two_hundred_identical_writes_at_once_leave_one_row(script):
    ana = people.person(people.make_study("four"))
    talk = people.session_of(ana)
    (seq,) = tell(talk, "I have a cat.")

    def again() -> int:
        remembering.open_for(talk.arm_id, talk.pk, [seq])
        return write(talk)

    results = [result for _ in range(10) for result in at_once(20, again)]
    assert not [r for r in results if isinstance(r, Exception)]
    assert sum(results) == 1
    assert len(remembered(talk.arm_id)) == 1
    assert MemoryWrite.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_workers_on_one_arm_keep_the_order_and_write_each_exchange_once(script):
    ana = people.person(people.make_study("four"))
    talk = people.session_of(ana)
    seqs = tell(talk, *(f"I have {n} cats." for n in range(12)))
    results = at_once(2, lambda: write(talk))
    while remembering.open_writes(talk.arm_id):
        write(talk)
    assert not [r for r in results if isinstance(r, Exception)]
    stored = MemoryEvent.objects.filter(arm=talk.arm_id, what="stored").order_by("pk").values_list("seq", flat=True)
    assert list(stored) == seqs


def test_nobody_recalls_what_another_person_or_another_arm_remembers(talk, four):
    secret = "I keep a purple iguana called Zed."
    tell(talk, secret)
    write(talk)
    bens = people.session_of(four.ben)
    tell(bens, "I have a cat.")
    for session in (bens, *(in_arm(four.ana, preset) for preset in ("naive_rag", "memory_bank", "lufy", "amu"))):
        found, _ = ask(session, secret)
        assert found.used == ()
        assert found.passed_over == ()
    assert ask(talk, secret)[0].used[0].memory.user == secret


def test_withdrawal_takes_one_persons_memories_and_leaves_everybody_elses(talk, four):
    tell(talk, "I keep a purple iguana.")
    write(talk)
    bens = people.session_of(four.ben)
    tell(bens, "I have a cat.")
    write(bens)
    erasing.withdraw(four.ana, keep_until_now=False)
    assert remembered(talk.arm_id) == []
    for model_of in (Memory, MemoryEvent, MemoryWrite):
        rows = str(list(model_of.objects.filter(arm__participant=four.ana).values()))
        assert "iguana" not in rows
    assert len(remembered(bens.arm_id)) == 1


def test_an_arm_with_a_large_number_can_be_locked_as_well(db):
    with transaction.atomic():
        remembering.lock(2**40)
        remembering.lock(1)
