"""While a study is paused nobody loses time."""

from datetime import UTC, datetime, timedelta

from studyplatform.study import moving, overtime, sessions, stages, studies
from studyplatform.study.models import AuditEvent, Session, StageRun
from tests.cast import Cast, session_of


def test_a_window_moves_by_the_length_of_the_pause(two: Cast) -> None:
    closes = datetime.now(UTC) + timedelta(hours=2)
    Session.objects.filter(pk=session_of(two.ana).pk).update(closes_at=closes)
    moving.move(two.study, "paused")
    AuditEvent.objects.filter(act="state: paused").update(at=datetime.now(UTC) - timedelta(hours=5))
    moving.move(two.study, "running")
    moved = session_of(two.ana).closes_at - closes
    assert timedelta(hours=5) <= moved < timedelta(hours=5, minutes=1)


def test_a_window_that_had_passed_before_stays_passed(two: Cast) -> None:
    closes = datetime.now(UTC) - timedelta(hours=9)
    Session.objects.filter(pk=session_of(two.ana).pk).update(closes_at=closes)
    moving.move(two.study, "paused")
    moving.move(two.study, "running")
    assert session_of(two.ana).closes_at == closes


def test_who_moved_the_study_is_written_down(two: Cast) -> None:
    moving.move(two.study, "paused", by=two.rae)
    assert AuditEvent.objects.get(act="state: paused").user == two.rae


def test_questions_are_not_closed_while_the_study_is_paused(two: Cast) -> None:
    session = session_of(two.ana)
    Session.objects.filter(pk=session.pk).update(state="questions", chat_ended_at=datetime.now(UTC) - timedelta(hours=99))
    moving.move(two.study, "paused")
    overtime.end(datetime.now(UTC))
    assert session_of(two.ana).state == "questions"


def test_the_time_for_questions_is_longer_by_the_pause(two: Cast) -> None:
    ended = datetime.now(UTC) - timedelta(hours=20)
    Session.objects.filter(pk=session_of(two.ana).pk).update(state="questions", chat_ended_at=ended)
    moving.move(two.study, "paused")
    AuditEvent.objects.filter(act="state: paused").update(at=datetime.now(UTC) - timedelta(hours=5))
    moving.move(two.study, "running")
    AuditEvent.objects.filter(act="state: running").update(at=datetime.now(UTC))
    overtime.end(ended + timedelta(hours=28))
    assert session_of(two.ana).state == "questions"
    overtime.end(ended + timedelta(hours=30))
    assert session_of(two.ana).state == "closed"


def test_a_pause_before_the_chat_ended_gives_no_more_time_for_its_questions(two: Cast) -> None:
    moving.move(two.study, "paused")
    moving.move(two.study, "running")
    now = datetime.now(UTC)
    AuditEvent.objects.filter(act="state: paused").update(at=now - timedelta(hours=9))
    AuditEvent.objects.filter(act="state: running").order_by("-pk").update(at=now - timedelta(hours=1))
    session = session_of(two.ana)
    session.chat_ended_at = now
    assert studies.questions_end(session, now) == now + timedelta(hours=24)
    session.chat_ended_at = now - timedelta(hours=3)
    assert studies.questions_end(session, now) == now - timedelta(hours=3) + timedelta(hours=26)


def test_while_the_study_is_paused_an_answer_does_not_stop_waiting_for_its_questions(two: Cast) -> None:
    session = session_of(two.ana)
    assert sessions.begin(session)
    assert sessions.end_chat(session.pk, "finished")
    StageRun.objects.filter(session=session).exclude(stage="answer").update(state="done")
    overdue = datetime.now(UTC) - timedelta(minutes=1)
    waiting = StageRun.objects.filter(session=session, stage="answer", state="waiting")
    waiting.update(due_at=overdue)
    assert waiting.exists()
    moving.move(two.study, "paused")
    stages.promote()
    assert waiting.exists()
    AuditEvent.objects.filter(act="state: paused").update(at=overdue - timedelta(minutes=1))
    moving.move(two.study, "running")
    assert waiting.filter(due_at__gt=datetime.now(UTC)).exists()
    waiting.update(due_at=overdue)
    stages.promote()
    assert not waiting.exists()
