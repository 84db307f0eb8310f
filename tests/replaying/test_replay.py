"""A recorded conversation through several memory systems: the same words, the same ledger, whatever interrupts it."""

from itertools import groupby

import httpx
import pytest

from chat.models import Turn
from memory import forgetting
from memory.models import Measurement, Memory, MemoryEvent, MemoryWrite, QAAnswer, SecondAnswer
from memory.retention import keep_count
from studyplatform.replaying import running, walking
from studyplatform.replaying.gathering import gather
from studyplatform.replaying.running import Busy
from studyplatform.replaying.talking import Diverged, Talk
from studyplatform.replaying.variants import Variant
from studyplatform.study import joining
from studyplatform.study.models import Participant, QAPair, Session, StageRun, Study
from studyplatform.study.studies import Refused
from tests.replaying.conftest import LATER, SAID, begin, go_on, ledger, state, utterances, wish


@pytest.fixture
def done(model, source) -> Study:
    """Jo's two conversations through Naive RAG and LUFY."""
    return go_on(begin(wish(source)))


def spoken(talk) -> list[tuple[str, str]]:
    """(role, text) in order; two texts in a row by one speaker are one utterance."""
    said = [pair for exchange in talk for pair in zip(("bot", "user"), exchange, strict=True) if pair[1]]
    return [(role, "\n".join(text for _, text in texts)) for role, texts in groupby(said, key=lambda pair: pair[0])]


def test_everybody_says_what_was_recorded_in_every_arm(done):
    assert utterances(done, 1) == spoken(SAID)
    assert utterances(done, 2) == spoken(LATER) * 2


def test_a_reply_that_was_not_recorded_is_not_made_up(done):
    last = Turn.objects.filter(session__participant__study=done, role="bot").exclude(state="done")
    assert {(turn.state, turn.failure, turn.seq) for turn in last} == {("failed", "not_recorded", None)}
    assert last.count() == 3


def test_every_exchange_is_written_and_every_stage_done(done):
    assert not MemoryWrite.objects.filter(arm__participant__study=done).exclude(outcome="store").exists()
    assert set(StageRun.objects.filter(session__participant__study=done).values_list("state", flat=True)) == {"done"}
    assert set(Session.objects.filter(participant__study=done).values_list("state", flat=True)) == {"closed"}
    assert done.state == Study.State.CLOSED


def test_what_was_said_in_several_arms_is_measured_once(done, model):
    """Six exchanges of the first session and seven of the second; both arms have all measures of the second."""
    assert model.counts()["importance"]["requests"] == 6 + 7
    second = Measurement.objects.filter(session__participant__study=done, session__number=2)
    values = {
        code: sorted(second.filter(session__arm__condition__name=code).values_list("seq", "name", "value"))
        for code in ("naive_rag", "lufy")
    }
    assert values["naive_rag"] == values["lufy"]
    assert len(values["lufy"]) == 7 * 3


def test_recall_is_counted_as_in_a_conversation_with_a_person(done):
    events = MemoryEvent.objects.filter(arm__participant__study=done)
    used = events.filter(what="used", session_number=2, arm__condition__name="naive_rag")
    assert used.exists()
    for event in used:
        assert event.memory.r1 >= 1
        assert event.why["similarity"] >= event.why["threshold"]


def test_lufy_keeps_what_its_rule_says(done):
    kept = MemoryEvent.objects.filter(arm__condition__study=done, arm__condition__name="lufy", what="kept")
    first = keep_count(6 + 1, 1, 0.1)
    assert kept.filter(session_number=1).count() == first
    assert kept.filter(session_number=2).count() == keep_count(first + 7 + 1, 2, 0.1)


def test_the_questions_are_asked_of_every_arm_after_every_session(done):
    asked = QAAnswer.objects.filter(arm__participant__study=done)
    pairs = QAPair.objects.filter(session__participant__study=done, session__number=1).count()
    later = QAPair.objects.filter(session__arm__condition__name="lufy", session__participant__study=done).count()
    assert asked.filter(arm__condition__name="lufy").count() == pairs + pairs + later


def test_the_clock_is_the_replays_own(done):
    days = Memory.objects.filter(arm__participant__study=done, kind="exchange").values_list("session_number", "happened_at")
    assert {(number, at.date().isoformat()) for number, at in days} == {(1, "2025-01-06"), (2, "2025-01-07")}


def test_nobody_who_is_a_person_can_come_in(done):
    with pytest.raises(Refused):
        joining.new_participant(done)
    assert done.simulated
    assert not Participant.objects.filter(study=done, simulated=False).exists()


def test_a_second_replay_leaves_the_same_ledger_to_the_last_digit(done, source):
    again = go_on(begin(wish(source)))
    assert again.slug != done.slug
    assert ledger(again) == ledger(done)
    assert state(again) == state(done)


class Stop(Exception):
    """The process is killed here."""


def stopping(act, calls: int):
    """`act`, until its call number `calls`."""
    left = [calls]

    def stopped(*args, **kwargs):
        left[0] -= 1
        if left[0] < 0:
            raise Stop
        return act(*args, **kwargs)

    return stopped


def forget_leases(study: Study) -> None:
    """Some time passes: what the killed process held is free again."""
    long_ago = "2020-01-01T00:00Z"
    Turn.objects.filter(session__participant__study=study, state="pending").update(lease_until=long_ago)
    MemoryWrite.objects.filter(arm__participant__study=study, state="open").update(lease_until=long_ago)
    StageRun.objects.filter(session__participant__study=study, state="running").update(lease_until=long_ago)


KILLS = [
    (Talk, "_repeat", 0),
    (Talk, "_repeat", 4),
    (Talk, "_date", 7),
    (walking, "work", 1),
    (Talk, "_repeat", 2),
    (forgetting, "judge", 0),
]


def test_what_is_interrupted_again_and_again_goes_on_and_ends_the_same(done, source, monkeypatch):
    study = begin(wish(source))
    for where, name, calls in KILLS:
        with monkeypatch.context() as killed:
            killed.setattr(where, name, stopping(getattr(where, name), calls))
            with pytest.raises((Stop, walking.StageFailed)):
                go_on(study)
        forget_leases(study)
        StageRun.objects.filter(session__participant__study=study, state="failed").update(state="ready", failures=0, due_at=None)
    go_on(study)
    assert ledger(study) == ledger(done)
    assert state(study) == state(done)


def test_what_somebody_else_wrote_into_it_is_noticed(model, source):
    study = begin(wish(source))
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr(Talk, "_repeat", stopping(Talk._repeat, 3))
        with pytest.raises(Stop):
            go_on(study)
    forget_leases(study)
    Turn.objects.filter(session__participant__study=study, role="bot", seq=3).update(text="I am another process.")
    with pytest.raises(Diverged, match="another process"):
        go_on(study)


def test_two_processes_do_not_replay_the_same_study(model, source):
    study = begin(wish(source))
    with running._alone(study):
        from django.db import connections

        other = connections.create_connection("default")
        try:
            with other.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [running.LOCKS + study.pk])
                assert cursor.fetchone() == (False,)
        finally:
            other.close()
    assert issubclass(Busy, Exception)


def test_the_same_words_regenerated_through_the_live_chat_leave_the_same_ledger(model, source):
    """The scripted model says the recorded words: then the two ways may differ in nothing that memory sees."""
    as_recorded = go_on(begin(wish(source)))
    study = begin(wish(source, regenerate=True))
    bots = {number: [text for role, text in spoken(talk) if role == "bot"] for number, talk in enumerate((SAID, LATER), start=1)}
    for session in Session.objects.filter(participant__study=study):
        httpx.put(f"{model.root}/script/recordings/{session.code}", json=[*bots[session.number], "Bye."]).raise_for_status()
    go_on(study)
    assert [t for r, t in utterances(study, 1) if r == "bot"] == [*bots[1], "Bye."]

    last = {1: 12, 2: 14}  # only the live chat answers a session's last turn, and so recalls for it

    def moved(s: Study) -> list:
        return [row for row in ledger(s) if row[4] in ("stored", "kept", "forgotten") or row[3] < last[row[2]]]

    assert moved(study) == moved(as_recorded)


def test_another_model_answers_with_the_memory_that_was_recalled_then(done, model):
    model.reset()
    model.answer('{"answer": "Biscuit, of course"}', purpose="answer", count=None)
    before = ledger(done)
    first = list(QAAnswer.objects.filter(arm__participant__study=done).order_by("pk").values("answer", "used"))
    asked = running.answer_again(done, "scripted/other", lambda line: None)
    assert asked == len(first) == SecondAnswer.objects.filter(first__arm__participant__study=done).count()
    assert set(SecondAnswer.objects.values_list("answer", flat=True)) == {"Biscuit, of course"}
    assert list(QAAnswer.objects.filter(arm__participant__study=done).order_by("pk").values("answer", "used")) == first
    assert ledger(done) == before
    assert running.answer_again(done, "scripted/other", lambda line: None) == 0


def test_the_second_model_reads_the_same_notes_as_the_first(done, model):
    def prompts() -> list[str]:
        return sorted(r["messages"][-1]["content"] for r in model.requests("answer"))

    first = prompts()
    model.reset()
    running.answer_again(done, "scripted/other", lambda line: None)
    assert prompts() == first


def test_the_tables_are_made_of_the_second_model_s_answers_when_they_are_asked_for(done, model):
    model.reset()
    model.answer('{"answer": null}', purpose="answer", count=None)
    running.answer_again(done, "scripted/other", lambda line: None)
    found = gather(done, running.wish_of(done), answer_model="scripted/other")
    assert found.answered
    assert not any(a.answered for a in found.answered)


def test_leaving_out_a_term_that_plays_no_part_changes_nothing(model, source):
    """R2 has almost no weight: without it LUFY forgets and recalls the same here, and its terms say so."""
    variants = (Variant(preset="lufy"), Variant(preset="lufy", overrides={"w_r2": 0.0}, label="lufy -R2"))
    study = go_on(begin(wish(source, variants=variants)))
    kept = {
        name: set(
            MemoryEvent.objects.filter(arm__condition__study=study, arm__condition__name=name, what="kept").values_list(
                "session_number", "memory__session_number", "memory__seq"
            )
        )
        for name in ("lufy", "lufy_minus_r2")
    }
    assert kept["lufy"] == kept["lufy_minus_r2"]
    event = MemoryEvent.objects.filter(arm__condition__name="lufy_minus_r2", what="kept").first()
    assert event.why["terms"]["r2_term"] == 0
