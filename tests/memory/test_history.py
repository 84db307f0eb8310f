"""What the ledger alone says of an arm is what its rows say, whatever happened, under every memory system."""

import json
from datetime import timedelta
from random import Random

import pytest
from django.core.management import call_command
from django.utils import timezone

from chat import exchanges
from memory import arms, explaining, forgetting, history, ledger, refreshing, remembering, summarising, taking_back
from memory.history import Happened
from memory.models import Memory
from memory.policy import Query
from memory.recalling import recall
from memory.registry import PRESETS
from memory.taking_back import Said
from studyplatform.study.models import Condition, Session
from tests import cast as people
from tests.memory.telling import ask, session_with, tell, write
from tests.memory.test_recalling import count

LINES = (
    "My cat Mo sleeps all day.",
    "My cat Mo sleeps all night now.",
    "I moved from Leeds to York last week.",
    "I love green tea.",
    "I do not like green tea any more.",
    "ok",
    "Could you tell me a joke?",
    "My sister works as a nurse in Hull.",
    "My father died in May.",
)
ACTS = ("delete", "restore", "correct", "uncorrect", "mute", "unmute")


def live(arm_id: int) -> dict[int, tuple[object, ...]]:
    rows = Memory.objects.filter(arm_id=arm_id)
    return {m.pk: (m.status, m.r1, m.r2, m.last_recalled, m.superseded_by_id, m.muted_at is not None) for m in rows}


def told(arm_id: int, upto: tuple[int, int] | None = None) -> dict[int, tuple[object, ...]]:
    held = history.state(ledger.read(arm_id), upto)
    return {m.id: (m.status, m.r1, m.r2, m.last_recalled, m.superseded_by, m.muted) for m in held.values()}


def act(rng: Random, said: list[Said]) -> None:
    what = rng.choice(ACTS)
    turn = rng.choice(said)
    words = (rng.choice(LINES),) if what == "correct" else ()
    getattr(taking_back, what)(turn, *words)


def talk(rng: Random, session: Session, said: list[Said], photos: dict[tuple[int, int], object]) -> None:
    """Seven turns: said, written, answered, now and then something is taken back; a picture of the rows after each."""
    if session.number > 1:
        opener, ref = opening(session)
        count(opener, ref, 1)
    for _ in range(7):
        (seq,) = tell(session, rng.choice(LINES))
        said.append(Said(session, seq))
        write(session)
        found, ref = ask(session, rng.choice(LINES), context_from_seq=max(1, seq - 1))
        count(found, ref, seq)
        if rng.random() < 0.4:
            act(rng, said)
            write(session)
            refreshing.refresh(session.arm_id, exchanges.of_session, owner="me")
        photos[session.number, session.last_seq] = live(session.arm_id)


def opening(session: Session):
    ref = arms.session_ref(session)
    return recall(session=ref, query=Query("opening", ""), instant=timezone.now() + timedelta(days=2), context_from_seq=1), ref


def close(session: Session) -> None:
    arm = arms.load(session.arm_id)
    Session.objects.filter(pk=session.pk).update(state="closed", chat_ended_at=timezone.now())
    session.refresh_from_db()
    summarising.store(session, summarising.Summaries("Cat Mo, green tea.", "Cat Mo, green tea."))
    summarising.consolidate(arm, session, summarising.drafts(arm, session))
    verdicts, version = forgetting.judge(arm, session)
    forgetting.apply(arm, session, verdicts, version)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_ledger_rebuilds_an_arm_at_every_turn(preset, seed, model, two):
    rng = Random(f"{preset}{seed}")
    arm = people.arm_of(two.ana, "lufy")
    Condition.objects.filter(pk=arm.condition_id).update(preset=preset)
    Session.objects.filter(participant=two.ana, arm__condition=None).update(state="closed")
    said: list[Said] = []
    photos: dict[tuple[int, int], object] = {}
    for number in (2, 3):
        session = session_with(two.ana, arm.pk, number)
        Session.objects.filter(pk=session.pk).update(state="chatting", started_at=timezone.now())
        session.refresh_from_db()
        talk(rng, session, said, photos)
        assert told(arm.pk) == live(arm.pk)
        close(session)
        refreshing.refresh(arm.pk, exchanges.of_session, owner="me")
        assert told(arm.pk) == live(arm.pk)
    assert {place: told(arm.pk, place) for place in photos} == photos
    for _ in range(4):
        act(rng, said)
        remembering.write_open(arm.pk, exchanges.one)
        refreshing.refresh(arm.pk, exchanges.of_session, owner="me")
        assert told(arm.pk) == live(arm.pk)


def test_the_state_before_anything_happened_is_empty():
    assert history.state([]) == {}
    assert history.state([happened("stored", 7, seq=4)], (1, 2)) == {}


def happened(what: str, memory: int | None, *, seq: int = 0, session: int = 1, id: int = 1, **why: object) -> Happened:
    return Happened(id, session, seq, what, memory, why, timezone.now())


def test_a_use_counts_from_its_own_turn_on_though_the_write_came_later():
    events = [
        happened("stored", 7, seq=2, made={"r1": 0, "r2": 0, "last_recalled": 1}),
        happened("used", 7, seq=8, id=2),
        happened("passed_over", 7, seq=6, id=3),
    ]
    assert (history.state(events, (1, 6))[7].r1, history.state(events, (1, 6))[7].r2) == (0, 1)
    assert (history.state(events)[7].r1, history.state(events)[7].r2) == (1, 1)


def test_a_verdict_is_told_with_its_rank_its_places_and_every_term():
    terms = {"arousal_term": 0.94, "r1_term": 0.65, "perplexity_term": -0.08, "strength": 1.51, "dt": 1, "importance": 0.44}
    kept = happened("kept", 7, rank=3, of=41, score=0.44, terms=terms)
    others = [happened("kept", 8, id=2), happened("forgotten", 9, id=3)]
    said = explaining.sentence(kept, [kept, *others])
    assert said == (
        "kept: rank 3 of 41, importance .44 at strength 1.51 = arousal .94 + recalled and used .65 − surprise of the wording .08; "
        "there were 2 places"
    )
    assert sum(line.adds for line in explaining.explain(kept).lines) == pytest.approx(1.51)


def test_a_recall_that_found_nothing_is_in_the_ledger_with_its_threshold(model, two):
    session = session_with(two.ana, people.arm_of(two.ana, "naive_rag").pk, 2)
    tell(session, "My cat Mo sleeps all day.")
    found, ref = ask(session, "Interest rates in Peru?", context_from_seq=1)
    count(found, ref, 2)
    (event,) = ledger.read(session.arm_id)
    assert event.what == "nothing"
    assert "the threshold was" in explaining.sentence(event)
    assert told(session.arm_id) == {}


def test_the_command_tells_state_recall_and_forgetting(model, two, capsys):
    arm = people.arm_of(two.ana, "lufy")
    session = session_with(two.ana, arm.pk, 2)
    tell(session, "My cat Mo sleeps all day.", "My sister works as a nurse in Hull.")
    write(session)
    found, ref = ask(session, "My cat Mo sleeps all day.")
    count(found, ref, 4)
    close(session)
    at = ["--participant", two.ana.code, "--arm", arm.condition.code]
    state = printed(capsys, "state", *at)
    assert state["active"] == Memory.objects.filter(arm=arm, status="active").count() > 0
    assert printed(capsys, "state", *at, "--session", "2", "--turn", "2")["active"] == 1
    recall_ = printed(capsys, "recall", *at, "--session", "2", "--turn", "4")
    assert "recalled and used: rank 1" in recall_["lines"][0]["said"]
    assert "score" in recall_["lines"][0]["said"]
    verdicts = printed(capsys, "forgetting", *at, "--session", "2")
    assert any("kept: rank 1 of" in line["said"] for line in verdicts["lines"])


def printed(capsys, *arguments: str):
    call_command("memory", *arguments, "--json")
    return json.loads(capsys.readouterr().out)
