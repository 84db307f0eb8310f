"""What holds whatever happens in which order: random interleavings of writers, recalls and departures, and real races."""

import os
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat import exchanges
from memory import arms, forgetting, recalling, remembering
from memory.models import Memory, MemoryEvent, MemoryWrite
from memory.policy import Draft
from studyplatform.study import erasing
from studyplatform.study.models import Arm, Participant, Session
from tests import cast as people
from tests.memory.telling import ask, session_with, tell
from tests.memory.test_recalling import count
from tests.memory.test_remembering import at_once

LINES = (
    "My cat Mo sleeps all day.",
    "My cat Mo sleeps all night now.",
    "I moved from Leeds to York last week.",
    "I love green tea.",
    "I do not like green tea any more.",
    "ok",
    "Could you tell me a joke?",
    "My sister works as a nurse in Hull.",
)
PRESETS = ("naive_rag", "memory_bank", "lufy", "amu")
WRITTEN = ("stored", "fused", "discarded", "filtered", "erred")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("say", "claim", "decide", "commit", "recall", "reply", "expire", "forget", "leave")),
        st.integers(0, 1),  # the person
        st.integers(0, 1),  # the worker, or the reply
        st.integers(0, len(LINES) - 1),
    ),
    min_size=6,
    max_size=24,
)


@dataclass
class Worker:
    """What a worker has in its hands between its steps."""

    write: MemoryWrite | None = None
    decision: remembering.Decision | None = None


@dataclass
class Scene:
    """Two people under one policy, two workers at each arm, two replies on their way, and what must have happened so far."""

    talks: tuple[Session, ...]
    arms: tuple[arms.ArmRef, ...]
    workers: dict[tuple[int, int], Worker] = field(default_factory=dict)
    replies: dict[tuple[int, int], Any] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    said: Counter[int] = field(default_factory=Counter)
    uses: Counter[tuple[int, str]] = field(default_factory=Counter)
    versions: dict[int, int] = field(default_factory=dict)
    answered: int = 0

    def step(self, what: str, person: int, who: int, line: int) -> None:
        getattr(self, f"_{what}")(person, who, line)

    def _say(self, person: int, who: int, line: int) -> None:
        if person not in self.gone:
            tell(self.talks[person], LINES[line])
            self.said[person] += 1

    def _claim(self, person: int, who: int, line: int) -> None:
        self.workers[person, who] = Worker(remembering.claim(self.arms[person].id, f"worker {who}"))

    def _decide(self, person: int, who: int, line: int) -> None:
        worker = self.workers.get((person, who), Worker())
        exchange = exchanges.one(worker.write.session_id, worker.write.seq) if worker.write else None
        if worker.write and exchange and person not in self.gone:
            worker.decision = remembering.decide(self.arms[person], worker.write, exchange)

    def _commit(self, person: int, who: int, line: int) -> None:
        worker = self.workers.get((person, who), Worker())
        exchange = exchanges.one(worker.write.session_id, worker.write.seq) if worker.write else None
        if worker.write is None or worker.decision is None or exchange is None:
            return
        try:
            remembering.commit(self.arms[person], worker.write, exchange, worker.decision)
            worker.write = worker.decision = None
        except (remembering.Changed, remembering.LeaseLost):
            worker.decision = None

    def _recall(self, person: int, who: int, line: int) -> None:
        if person not in self.gone:
            found, ref = ask(self.talks[person], LINES[line])
            assert {hit.memory.id for hit in recalling.hits_in_order(found)} <= set(self._memories(person).values_list("pk", flat=True))
            self.replies[person, who] = (found, ref)

    def _reply(self, person: int, who: int, line: int) -> None:
        if (person, who) not in self.replies or person in self.gone:  # the chat commits no reply to who left
            return
        found, ref = self.replies.pop((person, who))
        self.answered += 1
        there = set(self._memories(person).values_list("pk", flat=True))
        count(found, ref, 1000 + self.answered)
        for hits, what in ((found.used, "used"), (found.passed_over, "passed_over")):
            self.uses.update((hit.memory.id, what) for hit in hits if hit.memory.id in there)

    def _expire(self, person: int, who: int, line: int) -> None:
        MemoryWrite.objects.filter(arm_id=self.arms[person].id, state="open").update(
            lease_until="2020-01-01T00:00Z", due_at="2020-01-01T00:00Z"
        )

    def _forget(self, person: int, who: int, line: int) -> None:
        if person not in self.gone and self.talks[person].started_at:
            verdicts, version = forgetting.judge(self.arms[person], self.talks[person])
            forgetting.apply(self.arms[person], self.talks[person], verdicts, version)

    def _leave(self, person: int, who: int, line: int) -> None:
        if line == 0 and person not in self.gone:  # rarely
            erasing.withdraw(self.talks[person].participant, keep_until_now=False)
            self.gone.add(person)

    def _memories(self, person: int):
        return Memory.objects.filter(arm_id=self.arms[person].id)

    def check(self) -> None:
        for person, arm in enumerate(self.arms):
            if person in self.gone:
                self._check_nothing_is_left(arm.id)
                continue
            self._check_writes(person, arm.id)
            self._check_memories(arm.id)

    def _check_nothing_is_left(self, arm: int) -> None:
        """No word and no vector of a person who left, and nothing that could still be written."""
        left = Memory.objects.filter(arm_id=arm)
        assert not left.exclude(bot_text="", user_text="", embed_text="", vector=None, fields={}, status="deleted").exists()
        assert not MemoryEvent.objects.filter(arm_id=arm).exclude(why={}).exists()
        assert not MemoryWrite.objects.filter(arm_id=arm).exclude(state="done", reason="", raw="").exists()

    def _check_writes(self, person: int, arm: int) -> None:
        """Every exchange ends once, in its order, in one event and no other; the arm's version never goes back."""
        writes = list(MemoryWrite.objects.filter(arm_id=arm).order_by("seq"))
        assert len(writes) == self.said[person]
        done = [w for w in writes if w.state == "done"]
        assert writes[: len(done)] == done
        assert all(bool(w.outcome) == (w.state == "done") for w in writes)
        events = MemoryEvent.objects.filter(arm_id=arm, what__in=WRITTEN).order_by("pk")
        assert list(events.values_list("seq", flat=True)) == [w.seq for w in done]
        version = Arm.objects.values_list("version", flat=True).get(pk=arm)
        assert version >= self.versions.get(arm, 0)
        self.versions[arm] = version

    def _check_memories(self, arm: int) -> None:
        """One memory per source, nothing of an exchange that was never said, counters as the ledger says."""
        memories = list(Memory.objects.filter(arm_id=arm))
        sources = Counter((m.session_number, m.seq) for m in memories if m.status == "active" or m.kind != "record")
        assert all(n == 1 for n in sources.values())
        done = set(MemoryWrite.objects.filter(arm_id=arm, state="done").values_list("seq", flat=True))
        assert {m.seq for m in memories} <= done
        events = Counter(MemoryEvent.objects.filter(arm_id=arm, what__in=("used", "passed_over")).values_list("memory_id", "what"))
        assert events == Counter({key: n for key, n in self.uses.items() if key[0] in {m.pk for m in memories}})
        for memory in memories:
            if memory.status == "superseded":
                assert memory.superseded_by is None or memory.superseded_by.arm_id == arm
        own = [m for m in memories if len(m.sources) == 1]
        assert all((m.r1, m.r2) == (events[m.pk, "used"], events[m.pk, "passed_over"]) for m in own)


_doors = threading.BoundedSemaphore(80)


def _with_a_connection(act):
    with _doors:
        try:
            return act()
        finally:
            connection.close()


@pytest.fixture
def stage(model, four):
    """By preset, the second session of two people and its arm."""

    def set_up(preset: str) -> Scene:
        both: tuple[Participant, ...] = (four.ana, four.ben)
        Session.objects.filter(participant__in=both, position=1).update(state="closed")
        talks = tuple(session_with(person, people.arm_of(person, preset).pk, 2) for person in both)
        return Scene(talks, tuple(arms.load(talk.arm_id) for talk in talks))

    return set_up


@pytest.mark.parametrize("preset", PRESETS)
def test_no_order_of_writes_recalls_forgetting_and_departures_breaks_what_holds(stage, preset):
    """25 interleavings per policy, 250 with CHAOS=full; a worker's claim, decision and commit are steps of their own, so that anything comes between."""

    @settings(
        max_examples=250 if os.environ.get("CHAOS") == "full" else 25, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(STEPS)
    def interleaved(steps):
        with transaction.atomic():
            scene = stage(preset)
            for step in steps:
                scene.step(*step)
                scene.check()
            transaction.set_rollback(True)

    interleaved()


@pytest.mark.django_db(transaction=True)
def test_two_hundred_writers_of_one_exchange_leave_one_memory(script):
    """Two hundred at once, as many together as the database lets in."""
    talk = people.session_of(people.person(people.make_study("four")))
    tell(talk, "My cat Mo sleeps all day.")
    results = at_once(200, lambda: _with_a_connection(lambda: remembering.write_open(talk.arm_id, exchanges.one)))
    assert sum(results) == 1
    assert Memory.objects.filter(arm_id=talk.arm_id).count() == 1
    assert list(MemoryEvent.objects.filter(arm_id=talk.arm_id).values_list("what", flat=True)) == ["stored"]


@pytest.mark.django_db(transaction=True)
def test_two_hundred_rows_of_one_source_without_lease_or_lock_leave_one_memory(script):
    """The constraint alone, should everything before it fail."""
    talk = people.session_of(people.person(people.make_study("four")))
    (seq,) = tell(talk, "My cat Mo sleeps all day.")
    arm, exchange = arms.load(talk.arm_id), exchanges.one(talk.pk, seq)
    draft = Draft("exchange", "", exchange.user, exchange.user)
    results = at_once(200, lambda: _with_a_connection(lambda: remembering.insert(arm, exchange, draft, None)))
    assert sum(isinstance(result, Memory) for result in results) == 1
    assert sum(isinstance(result, IntegrityError) for result in results) == 199
    assert Memory.objects.filter(arm_id=talk.arm_id).count() == 1
