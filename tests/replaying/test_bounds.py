"""The bounds, and the system that forgets when a session opens, in a replay: through the live code, to the tables."""

import pytest

from memory.models import Memory, MemoryEvent
from studyplatform.replaying import running
from studyplatform.replaying.gathering import gather
from studyplatform.study.models import Arm
from tests.replaying.conftest import begin, go_on, wish

PRESETS = ("no_memory", "sliding_window", "compressed_history", "full_history", "memory_bank_original")


@pytest.fixture
def done(model, source):
    return go_on(begin(wish(source, *PRESETS)))


def test_each_is_replayed_to_its_end_and_marked_as_a_bound_where_it_is_one(done):
    found = gather(done, running.wish_of(done))
    assert found.labels == (*(f"{preset} (bound)" for preset in PRESETS[:-1]), PRESETS[-1])
    held = {(h.condition, h.session): h.kept for h in found.held}
    after_two = [held[label, 2] for label in found.labels[:-1]]
    assert after_two == [0, 10, 1, 13]
    assert {a.condition for a in found.answered} == set(found.labels)
    assert not any(a.correct for a in found.answered if a.condition.startswith("no_memory"))


def test_what_is_forgotten_at_an_opening_is_drawn_by_the_replays_clock(done):
    arm = Arm.objects.get(participant__study=done, condition__preset="memory_bank_original")
    events = MemoryEvent.objects.filter(arm=arm, what__in=["kept", "forgotten"], memory__kind="exchange")
    assert {e.why["terms"]["days"] for e in events} == {1.0}
    assert {e.session_number for e in events} == {1}
    assert Memory.objects.filter(arm=arm, kind="record", status="active").count() == 2
