"""The clock of a session, and when one may finish."""

from datetime import UTC, datetime, timedelta

import pytest

from studyplatform.study import overtime, sessions
from studyplatform.study.config import SessionsTable
from studyplatform.study.models import Session, StageRun
from tests.cast import Cast, make_study, person, session_of

NOON = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RULES = SessionsTable(per_arm=3, min_minutes=20, max_minutes=40, min_turns=10, max_turns=30)


def talk(**fields: object) -> Session:
    return Session(**({"started_at": NOON, "user_turns": 12, "state": "chatting"} | fields))


def test_the_clock_leaves_out_pauses() -> None:
    assert sessions.clock(talk(paused_ms=5 * 60_000), NOON + 20 * MINUTE).seconds == 15 * 60


def test_the_clock_stands_still_while_paused() -> None:
    paused = talk(paused_at=NOON + 6 * MINUTE)
    assert sessions.clock(paused, NOON + 50 * MINUTE) == sessions.Clock(6 * 60, True)


def test_the_clock_stops_with_the_chat() -> None:
    assert sessions.clock(talk(chat_ended_at=NOON + 8 * MINUTE), NOON + 50 * MINUTE) == sessions.Clock(8 * 60, False)


def test_a_session_that_has_not_begun_has_no_time() -> None:
    assert sessions.clock(talk(started_at=None), NOON).seconds == 0


@pytest.mark.parametrize(
    ("minutes", "turns", "pending", "ok"),
    [(20, 10, False, True), (19, 10, False, False), (20, 9, False, False), (25, 12, True, False)],
)
def test_finishing_needs_minutes_and_turns_and_no_reply_on_its_way(minutes: int, turns: int, pending: bool, ok: bool) -> None:
    finish = sessions.may_finish(RULES, talk(user_turns=turns), NOON + minutes * MINUTE, pending=pending, simulated=False)
    assert finish.ok is ok


def test_it_says_how_much_is_left() -> None:
    finish = sessions.may_finish(RULES, talk(user_turns=7), NOON + 15 * MINUTE, pending=False, simulated=False)
    assert (finish.seconds_left, finish.turns_left) == (300, 3)


@pytest.mark.parametrize(
    ("fields", "minutes", "reason"),
    [({"user_turns": 30}, 5, "max_turns"), ({}, 40, "max_minutes"), ({"closes_at": NOON + 10 * MINUTE}, 10, "window")],
)
def test_a_maximum_or_the_windows_end_is_the_end(fields: dict[str, object], minutes: int, reason: str) -> None:
    assert sessions.may_finish(RULES, talk(**fields), NOON + minutes * MINUTE, pending=False, simulated=False).must == reason


def test_simulated_people_are_exempt_from_minutes_and_windows_and_not_from_turns() -> None:
    session = talk(user_turns=9, closes_at=NOON)
    finish = sessions.may_finish(RULES, session, NOON + MINUTE, pending=False, simulated=True)
    assert (finish.ok, finish.seconds_left, finish.turns_left, finish.must) == (False, None, 1, "")


def test_a_replay_goes_over_the_maximum_of_turns() -> None:
    finish = sessions.may_finish(RULES, talk(user_turns=31), NOON, pending=False, simulated=True, replay=True)
    assert finish.must == ""


def test_ending_twice_ends_once_and_begins_the_work_once(two: Cast) -> None:
    session = session_of(two.ana)
    sessions.begin(session)
    assert [sessions.end_chat(session.pk, "participant"), sessions.end_chat(session.pk, "participant")] == [True, False]
    assert StageRun.objects.filter(session=session, stage="score").count() == 1


@pytest.mark.django_db
def test_without_questions_the_chats_end_is_the_sessions() -> None:
    session = session_of(person(make_study("two", questions=0)))
    sessions.begin(session)
    sessions.end_chat(session.pk, "participant")
    session.refresh_from_db()
    assert session.state == "closed"


def test_pausing_and_resuming_adds_up_in_the_database(two: Cast) -> None:
    session = session_of(two.ana)
    sessions.begin(session)
    assert sessions.pause(session.pk, "outage")
    assert not sessions.pause(session.pk, "idle")
    Session.objects.filter(pk=session.pk).update(paused_at=datetime.now(UTC) - 3 * MINUTE)
    assert not sessions.resume(session.pk, "idle")
    assert sessions.resume(session.pk, "outage")
    session.refresh_from_db()
    assert 179_000 < session.paused_ms < 200_000
    assert session.paused_at is None


def test_a_chat_left_standing_is_paused_and_one_over_its_window_is_ended(two: Cast) -> None:
    idle, late = session_of(two.ana), session_of(two.ben)
    sessions.begin(idle)
    sessions.begin(late)
    now = datetime.now(UTC)
    Session.objects.filter(pk=late.pk).update(closes_at=now)
    overtime.end(now + 11 * MINUTE)
    idle.refresh_from_db()
    late.refresh_from_db()
    assert (idle.state, idle.pause_reason) == ("chatting", "idle")
    assert (late.state, late.end_reason) == ("questions", "window")


def test_questions_past_their_deadline_are_closed(two: Cast) -> None:
    session = session_of(two.ana)
    sessions.begin(session)
    sessions.end_chat(session.pk, "participant")
    overtime.end(datetime.now(UTC) + timedelta(hours=23))
    assert session_of(two.ana).state == "questions"
    overtime.end(datetime.now(UTC) + timedelta(hours=25))
    assert session_of(two.ana).state == "closed"


def test_a_session_that_cannot_be_looked_at_holds_nobody_else_up(
    two: Cast, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, late = session_of(two.ana), session_of(two.ben)
    sessions.begin(broken)
    sessions.begin(late)
    now = datetime.now(UTC)
    Session.objects.filter(pk__in=[broken.pk, late.pk]).update(closes_at=now)
    end = sessions.end_chat

    def end_unless_broken(session_id: int, reason: str) -> bool:
        if session_id == broken.pk:
            raise ValueError("this one is broken")
        return end(session_id, reason)

    monkeypatch.setattr(sessions, "end_chat", end_unless_broken)
    overtime.end(now + MINUTE)
    assert (session_of(two.ana).state, session_of(two.ben).state) == ("chatting", "questions")
    assert "this one is broken" in caplog.text
