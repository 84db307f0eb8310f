"""While a study is paused nobody loses time."""

from datetime import UTC, datetime, timedelta

from studyplatform.study import overtime, studies
from studyplatform.study.models import AuditEvent, Session
from tests.cast import Cast, session_of


def test_a_window_moves_by_the_length_of_the_pause(two: Cast) -> None:
    closes = datetime.now(UTC) + timedelta(hours=2)
    Session.objects.filter(pk=session_of(two.ana).pk).update(closes_at=closes)
    studies.move(two.study, "paused")
    AuditEvent.objects.filter(act="state: paused").update(at=datetime.now(UTC) - timedelta(hours=5))
    studies.move(two.study, "running")
    moved = session_of(two.ana).closes_at - closes
    assert timedelta(hours=5) <= moved < timedelta(hours=5, minutes=1)


def test_a_window_that_had_passed_before_stays_passed(two: Cast) -> None:
    closes = datetime.now(UTC) - timedelta(hours=9)
    Session.objects.filter(pk=session_of(two.ana).pk).update(closes_at=closes)
    studies.move(two.study, "paused")
    studies.move(two.study, "running")
    assert session_of(two.ana).closes_at == closes


def test_who_moved_the_study_is_written_down(two: Cast) -> None:
    studies.move(two.study, "paused", by=two.rae)
    assert AuditEvent.objects.get(act="state: paused").user == two.rae


def test_questions_are_not_closed_while_the_study_is_paused(two: Cast) -> None:
    session = session_of(two.ana)
    Session.objects.filter(pk=session.pk).update(state="questions", chat_ended_at=datetime.now(UTC) - timedelta(hours=99))
    studies.move(two.study, "paused")
    overtime.end(datetime.now(UTC))
    assert session_of(two.ana).state == "questions"
