"""When sessions open: after the gap, when the arm is ready, in order; and when they are missed."""

from datetime import UTC, datetime, timedelta

import pytest

from studyplatform.study import scheduling, sessions
from studyplatform.study.config import SessionsTable
from studyplatform.study.models import Participant, Session, Study
from studyplatform.study.scheduling import Slot, decide
from tests.cast import Cast, arm_of, make_study, person, session_of

MONDAY = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
RULES = SessionsTable(per_arm=3, gap_hours=20, window_hours=10)


def slot(position: int, state: str = "locked", *, arm: int = 1, number: int | None = None, **at: datetime | None) -> Slot:
    times = {"opens_at": None, "closes_at": None, "ready_at": None, "ended_at": None} | at
    return Slot(position, arm, arm == 0, number or position, position, state, **times)


def first_over(at: datetime = MONDAY) -> Slot:
    return slot(1, "closed", arm=0, ended_at=at)


def test_the_first_session_opens_at_once() -> None:
    (change,) = decide([slot(1, arm=0), slot(2)], RULES, MONDAY, began_at=MONDAY)
    assert (change.state, change.opens_at, change.closes_at) == ("open", MONDAY, None)


def test_the_second_waits_for_the_gap_from_the_close_of_the_first() -> None:
    (change,) = decide([first_over(), slot(2, ready_at=MONDAY + HOUR)], RULES, MONDAY + 2 * HOUR, began_at=MONDAY)
    assert (change.state, change.opens_at) == ("locked", MONDAY + 20 * HOUR)


def test_a_window_is_half_open() -> None:
    before, opens, closes = (MONDAY + 20 * HOUR - timedelta(microseconds=1)), MONDAY + 20 * HOUR, MONDAY + 30 * HOUR
    slots = [first_over(), slot(2, ready_at=MONDAY, opens_at=opens, closes_at=closes)]
    assert decide(slots, RULES, before, began_at=MONDAY) == []
    assert decide(slots, RULES, opens, began_at=MONDAY)[0].state == "open"
    waiting = [first_over(), slot(2, "open", ready_at=MONDAY, opens_at=opens, closes_at=closes)]
    assert decide(waiting, RULES, closes - timedelta(microseconds=1), began_at=MONDAY) == []
    assert decide(waiting, RULES, closes, began_at=MONDAY)[0].state == "missed"


def test_an_arm_that_is_not_ready_opens_nothing() -> None:
    assert decide([first_over(), slot(2)], RULES, MONDAY + 50 * HOUR, began_at=MONDAY) == []


def test_a_late_arm_moves_the_whole_window() -> None:
    ready = MONDAY + 26 * HOUR
    (change,) = decide([first_over(), slot(2, ready_at=ready)], RULES, ready, began_at=MONDAY)
    assert (change.state, change.opens_at, change.closes_at) == ("open", ready, ready + 10 * HOUR)


def test_a_later_position_waits_its_turn_even_when_its_own_time_has_come() -> None:
    slots = [first_over(), slot(2, "open", arm=1, opens_at=MONDAY), slot(3, arm=2, number=2, ready_at=MONDAY)]
    assert decide(slots, RULES, MONDAY + 25 * HOUR, began_at=MONDAY) == []


def test_a_missed_session_lets_the_next_have_its_turn_in_the_same_pass() -> None:
    closes = MONDAY + 30 * HOUR
    slots = [first_over(), slot(2, "open", arm=1, opens_at=MONDAY, closes_at=closes), slot(3, arm=2, number=2, ready_at=MONDAY)]
    missed, following = decide(slots, RULES, closes, began_at=MONDAY)
    assert (missed.state, following.state, following.opens_at) == ("missed", "open", closes)


def test_the_gap_is_counted_within_the_arm_and_not_from_other_arms() -> None:
    slots = [first_over(), slot(2, "closed", arm=1, ended_at=MONDAY + 21 * HOUR), slot(3, arm=2, number=2, ready_at=MONDAY)]
    (change,) = decide(slots, RULES, MONDAY + 21 * HOUR, began_at=MONDAY)
    assert (change.state, change.opens_at) == ("open", MONDAY + 21 * HOUR)


def test_simulated_people_wait_for_no_gap_and_miss_nothing() -> None:
    slots = [first_over(), slot(2, ready_at=MONDAY)]
    (change,) = decide(slots, RULES, MONDAY + HOUR, began_at=MONDAY, exempt=True)
    assert (change.state, change.closes_at) == ("open", None)
    opened = [first_over(), slot(2, "open", opens_at=MONDAY, closes_at=MONDAY + HOUR)]
    assert decide(opened, RULES, MONDAY + 99 * HOUR, began_at=MONDAY, exempt=True) == []


def test_a_day_of_twenty_five_hours_is_still_a_gap_of_hours() -> None:
    evening = datetime(2026, 10, 24, 18, 0, tzinfo=UTC)  # 21:00 in Helsinki, the night before summer time ends there
    rules = SessionsTable(per_arm=3, gap_hours=24)
    slots = [first_over(evening), slot(2, ready_at=evening)]
    (change,) = decide(slots, rules, evening, began_at=evening)
    assert change.opens_at == evening + 24 * HOUR


def test_ana_goes_on_when_her_arm_is_ready_and_not_before(two: Cast) -> None:
    finish(session_of(two.ana))
    second = session_of(two.ana, 2)
    assert second.state == "locked"
    scheduling.arm_ready(second.arm_id, 2)
    second.refresh_from_db()
    assert second.state == "open"


def test_readiness_said_twice_counts_once(two: Cast) -> None:
    finish(session_of(two.ana))
    second = session_of(two.ana, 2)
    scheduling.arm_ready(second.arm_id, 2)
    first_time = session_of(two.ana, 2).ready_at
    scheduling.arm_ready(second.arm_id, 2)
    assert session_of(two.ana, 2).ready_at == first_time


def test_two_chats_of_one_person_never_run_at_once(two: Cast) -> None:
    assert sessions.begin(session_of(two.ana))
    Session.objects.filter(participant=two.ana, position=2).update(state="open", opens_at=MONDAY)
    assert not sessions.begin(session_of(two.ana, 2))


def test_begun_twice_is_begun_once(two: Cast) -> None:
    one, same = session_of(two.ana), session_of(two.ana)
    assert [sessions.begin(one), sessions.begin(same)] == [True, False]


@pytest.mark.django_db
def test_the_first_window_counts_from_its_beginning() -> None:
    ana = person(make_study("two", sessions="window_hours = 5"))
    session = session_of(ana)
    assert session.closes_at is None
    sessions.begin(session)
    assert session.closes_at - session.started_at == 5 * HOUR


@pytest.mark.django_db
def test_a_missed_session_passes_its_readiness_on() -> None:
    ana = person(make_study("two", sessions="window_hours = 5"))
    finish(session_of(ana))
    second = session_of(ana, 2)
    for arm in ana.arms.exclude(condition=None):
        scheduling.arm_ready(arm.pk, 2)
    scheduling.sweep(now=datetime.now(UTC) + 6 * HOUR)
    second.refresh_from_db()
    assert second.state == "missed"
    assert Session.objects.get(arm=second.arm_id, number=3).ready_at is not None
    assert session_of(ana, 3).state == "open"


def test_a_paused_study_opens_nothing_and_nobody_misses_anything(two: Cast) -> None:
    finish(session_of(two.ana))
    Study.objects.filter(pk=two.study.pk).update(state="paused")
    scheduling.arm_ready(session_of(two.ana, 2).arm_id, 2)
    scheduling.sweep(now=datetime.now(UTC) + 100 * HOUR)
    assert session_of(two.ana, 2).state == "locked"


def test_ana_is_finished_when_her_last_session_is_over(two: Cast) -> None:
    Session.objects.filter(participant=two.ana, position__lt=5).update(state="closed", closed_at=MONDAY)
    Session.objects.filter(participant=two.ana, position=5).update(state="questions", chat_ended_at=MONDAY)
    sessions.close(session_of(two.ana, 5).pk)
    two.ana.refresh_from_db()
    assert two.ana.state == Participant.State.FINISHED


def test_the_arms_of_another_person_open_nothing_for_ana(two: Cast) -> None:
    finish(session_of(two.ana))
    scheduling.arm_ready(arm_of(two.ben, "lufy").pk, 2)
    assert session_of(two.ana, 2).state == "locked"


def finish(session: Session) -> None:
    """Chat and questions of this session are over."""
    assert sessions.begin(session)
    assert sessions.end_chat(session.pk, "participant")
    assert sessions.close(session.pk)
