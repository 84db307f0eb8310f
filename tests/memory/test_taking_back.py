"""What a participant takes back is gone at once, from everything that is remembered and every prompt, in every arm; and can be undone."""

import threading

import pytest
from django.db import connection
from django.utils import timezone

from chat import exchanges
from memory import arms, forgetting, refreshing, remembering, summarising, taking_back
from memory.models import Memory, MemoryEvent, MemoryWrite, Summary, Wish
from memory.policy import Query
from memory.recalling import recall
from memory.summarising import Summaries
from memory.taking_back import Said
from studyplatform.study.models import Arm, Participant, Session
from tests import cast as people
from tests.memory.telling import ask, finish, remembered, session_with, tell, write

FATHER = "My father died in May."
CAT = "My cat Mo sleeps all day."
PRESETS = ("naive_rag", "memory_bank", "lufy", "amu")


@pytest.fixture
def talks(model, four) -> dict[str, Session]:
    """By preset, ana's second session with the arm; the shared one is over."""
    Session.objects.filter(participant=four.ana, arm__condition=None).update(state="closed")
    return {preset: session_with(four.ana, people.arm_of(four.ana, preset).pk, 2) for preset in PRESETS}


def words_left(arm_id: int) -> str:
    rows = Memory.objects.filter(arm_id=arm_id).values_list("bot_text", "user_text", "embed_text", "fields")
    return " ".join(str(row) for row in rows) + " ".join(
        text for pair in Summary.objects.filter(arm_id=arm_id).values_list("text", "key_summary") for text in pair
    )


def written(session: Session, *lines: str) -> list[int]:
    seqs = tell(session, *lines)
    write(session)
    return seqs


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_deleted_is_found_by_no_recall_and_its_words_are_gone(preset, talks):
    talk = talks[preset]
    father, _ = written(talk, FATHER, CAT)
    assert taking_back.delete(Said(talk, father))
    assert "father" not in words_left(talk.arm_id)
    assert not Memory.objects.filter(arm=talk.arm_id, status="deleted", vector__isnull=False).exists()
    found, _ = ask(talk, FATHER)
    assert [line for line in found.lines if "father" in line] == []


@pytest.mark.parametrize("preset", PRESETS)
def test_a_deletion_can_be_undone_and_the_counts_come_back(preset, talks):
    talk = talks[preset]
    (father,) = written(talk, FATHER)
    Memory.objects.filter(arm=talk.arm_id).update(r1=3, r2=1)
    taking_back.delete(Said(talk, father))
    assert taking_back.restore(Said(talk, father))
    write(talk)
    rows = remembered(talk.arm_id)
    assert [(m.r1, m.r2) for m in rows] == [(3, 1)] * len(rows)
    assert ("father" in words_left(talk.arm_id)) == bool(rows)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_correction_is_written_by_a_worker_and_the_old_words_are_gone_at_once(preset, talks):
    talk = talks[preset]
    (seq,) = written(talk, "My sister works as a nurse in Hull.")
    had = len(remembered(talk.arm_id))
    assert taking_back.correct(Said(talk, seq), "My sister works as a nurse in Leeds.")
    assert "Hull" not in words_left(talk.arm_id)
    assert remembered(talk.arm_id) == []
    assert MemoryWrite.objects.get(arm=talk.arm_id, session=talk, seq=seq).state == "open"
    write(talk)
    assert len(remembered(talk.arm_id)) == had
    assert ("Leeds" in words_left(talk.arm_id)) == bool(had)
    assert taking_back.uncorrect(Said(talk, seq))
    write(talk)
    assert "Leeds" not in words_left(talk.arm_id)


def test_each_act_twice_does_what_it_does_once(talks):
    talk = talks["lufy"]
    (seq,) = written(talk, FATHER)
    said = Said(talk, seq)
    for act, undo in ((taking_back.mute, taking_back.unmute), (taking_back.delete, taking_back.restore)):
        assert [act(said), act(said), undo(said), undo(said)] == [True, False, True, False]
    assert [taking_back.correct(said, "Other words."), taking_back.correct(said, " Other words. ")] == [True, False]
    events = MemoryEvent.objects.filter(arm=talk.arm_id, what__in=["muted", "unmuted", "deleted", "restored", "corrected"])
    assert events.count() == 5


@pytest.mark.django_db(transaction=True)
def test_two_tabs_at_once_leave_one_wish_and_one_memory(script):
    talk = people.session_of(people.person(people.make_study("two")))
    (seq,) = tell(talk, FATHER)
    write(talk)
    done: list[bool] = []

    def tab(text: str) -> None:
        done.append(taking_back.correct(Said(talk, seq), text))
        write(talk)
        connection.close()

    tabs = [threading.Thread(target=tab, args=(text,)) for text in ["My father moved in May.", "My father moved in June."] * 4]
    for one in tabs:
        one.start()
    for one in tabs:
        one.join(30)
    MemoryWrite.objects.update(due_at=timezone.now(), lease_until=None)  # who had to decide too often waits a moment
    write(talk)
    wish = Wish.objects.get(ended_at=None)
    assert len(done) == 8
    assert [m.user_text for m in remembered(talk.arm_id)] == [wish.text]


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_not_to_be_brought_up_stays_out_of_replies_and_openers_and_stays_remembered(preset, talks):
    """One rule in every arm: it is where memories are searched, not in a memory system."""
    talk = talks[preset]
    father, _ = written(talk, FATHER, CAT)
    before = len(remembered(talk.arm_id))
    taking_back.mute(Said(talk, father))
    later = session_with(talk.participant, talk.arm_id, 3)
    ref = arms.session_ref(later)
    opener = recall(session=ref, query=Query("opening", ""), instant=timezone.now(), context_from_seq=1)
    reply = recall(session=ref, query=Query("reply", FATHER, (FATHER,)), instant=timezone.now(), context_from_seq=1)
    assert [line for line in (*opener.lines, *reply.lines) if "father" in line] == []
    assert len(remembered(talk.arm_id)) == before
    taking_back.unmute(Said(talk, father))
    assert not Memory.objects.filter(arm=talk.arm_id, muted_at__isnull=False).exists()


def test_a_turn_that_was_muted_before_it_was_written_is_never_brought_up(talks):
    talk = talks["naive_rag"]
    (seq,) = tell(talk, FATHER)
    taking_back.mute(Said(talk, seq))
    write(talk)
    assert [m.muted_at is not None for m in remembered(talk.arm_id)] == [True]


def test_a_turn_that_was_deleted_before_it_was_written_is_never_stored(talks):
    talk = talks["naive_rag"]
    (seq,) = tell(talk, FATHER)
    taking_back.delete(Said(talk, seq))
    write(talk)
    assert Memory.objects.filter(arm=talk.arm_id).count() == 0
    assert MemoryWrite.objects.get(arm=talk.arm_id).outcome == "filter"


def test_what_is_taken_back_while_a_worker_decides_is_not_written(talks):
    talk = talks["naive_rag"]
    (seq,) = tell(talk, FATHER)
    arm, lease = arms.load(talk.arm_id), remembering.claim(talk.arm_id, "me")
    exchange = exchanges.one(talk.pk, seq)
    decision = remembering.decide(arm, lease, exchange)
    taking_back.delete(Said(talk, seq))
    with pytest.raises((remembering.Changed, remembering.LeaseLost)):
        remembering.commit(arm, lease, exchange, decision)
    assert Memory.objects.filter(arm=talk.arm_id).count() == 0


def ended(talk: Session, text: str = "Her father died; she has a cat.") -> None:
    """The close of a session, its summary said by us."""
    Session.objects.filter(pk=talk.pk).update(state="closed", chat_ended_at=timezone.now())
    talk.refresh_from_db()
    arm = arms.load(talk.arm_id)
    summarising.store(talk, Summaries(text, text))
    summarising.consolidate(arm, talk, summarising.drafts(arm, talk))
    verdicts, version = forgetting.judge(arm, talk)
    forgetting.apply(arm, talk, verdicts, version)


@pytest.mark.parametrize("act", [taking_back.delete, taking_back.mute])
def test_the_summaries_lose_it_at_once_and_are_made_anew_without_it(act, talks, model):
    talk = talks["lufy"]
    father, _ = written(talk, FATHER, CAT)
    ended(talk)
    act(Said(talk, father))
    assert "father" not in " ".join(Summary.objects.filter(arm=talk.arm_id).values_list("key_summary", flat=True))
    assert "father" not in " ".join(m.embed_text for m in remembered(talk.arm_id, seq=0))
    assert arms.key_summary(talk.arm_id, 3) == ""
    write(talk)
    model.reset()
    assert refreshing.refresh(talk.arm_id, exchanges.of_session, owner="me") == 1
    asked = str(model.requests())
    assert "cat Mo" in asked
    assert "father" not in asked
    assert arms.key_summary(talk.arm_id, 3)
    assert [m.superseded_by_id for m in Memory.objects.filter(arm=talk.arm_id, seq=0, status="superseded")] == [
        m.pk for m in remembered(talk.arm_id, seq=0)
    ]


def test_later_key_summaries_are_merged_again_from_what_is_left(talks):
    talk = talks["naive_rag"]
    father, _ = written(talk, FATHER, CAT)
    ended(talk)
    later = session_with(talk.participant, talk.arm_id, 3)
    written(later, "I love green tea.")
    ended(later, "She loves tea.")
    taking_back.delete(Said(talk, father))
    assert Summary.objects.filter(arm=talk.arm_id, stale=True).count() == 2
    write(talk)
    assert refreshing.refresh(talk.arm_id, exchanges.of_session, owner="me") == 2
    rows = Summary.objects.filter(arm=talk.arm_id).order_by("session__number")
    assert [row.text for row in rows][1] == "She loves tea."
    assert all(row.key_summary and "father" not in row.key_summary for row in rows)


def test_a_turn_of_the_shared_session_is_taken_back_in_every_arm(model, four):
    shared = people.session_of(four.ana)
    father, _ = written(shared, FATHER, CAT)
    finish(shared)
    taking_back.delete(Said(shared, father))
    for arm in Arm.objects.filter(participant=four.ana):
        assert "father" not in words_left(arm.pk)
        assert MemoryEvent.objects.filter(arm=arm, what="deleted").exists()
    for _ in range(2):
        for arm in Arm.objects.filter(participant=four.ana).order_by("pk"):
            remembering.write_open(arm.pk, exchanges.one)
            refreshing.refresh(arm.pk, exchanges.of_session, owner="me")
    summaries = set(Summary.objects.filter(session=shared).values_list("text", "key_summary", "stale"))
    assert len(summaries) == 1
    assert not summaries.pop()[2]


def test_ben_s_words_are_left_alone(model, four):
    hers, his = people.session_of(four.ana), people.session_of(four.ben)
    (seq,) = written(hers, FATHER)
    written(his, FATHER)
    taking_back.delete(Said(hers, seq))
    assert "father" in words_left(his.arm_id)


def test_the_ledger_of_a_deleted_turn_keeps_its_numbers_and_loses_what_quotes_it(talks):
    talk = talks["amu"]
    (seq,) = written(talk, FATHER)
    relation = {"memory": 1, "relation": "none", "confidence": 0.0}
    why = {"similarity": 0.7, "slot": "her father's death", "relations": [{**relation, "unreadable": "father"}]}
    MemoryEvent.objects.create(arm_id=talk.arm_id, session_number=2, seq=seq, what="nothing", why=why)
    taking_back.delete(Said(talk, seq))
    assert MemoryEvent.objects.get(arm=talk.arm_id, what="nothing").why == {"similarity": 0.7, "relations": [relation]}


def test_nothing_is_taken_back_after_a_withdrawal(model, four):
    session = people.session_of(four.ana)
    (seq,) = written(session, FATHER)
    Participant.objects.filter(pk=four.ana.pk).update(left_at=timezone.now())
    with pytest.raises(Participant.DoesNotExist):
        taking_back.delete(Said(session, seq))


def test_a_correction_needs_words(talks):
    with pytest.raises(ValueError, match="1 to 8000"):
        taking_back.correct(Said(talks["lufy"], 2), "  ")
