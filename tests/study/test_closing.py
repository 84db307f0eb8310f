"""When a study is closed, nobody talks on, and nothing that was said is lost."""

from datetime import UTC, datetime

from studyplatform.study import moving, overtime, sessions
from studyplatform.study.models import Session, StageRun
from tests.cast import Cast, session_of


def test_a_running_chat_ends_with_its_study_and_its_work_begins(two: Cast) -> None:
    session = session_of(two.ana)
    assert sessions.begin(session)
    moving.move(two.study, "closed", by=two.rae)
    session.refresh_from_db()
    assert (session.state, session.end_reason) == ("questions", "study_closed")
    assert StageRun.objects.filter(session=session).exists()


def test_a_study_that_is_paused_leaves_its_chats_alone(two: Cast) -> None:
    session = session_of(two.ana)
    assert sessions.begin(session)
    moving.move(two.study, "paused")
    assert session_of(two.ana).state == "chatting"


def test_a_chat_that_began_in_the_instant_of_closing_ends_with_the_next_sweep(two: Cast) -> None:
    moving.move(two.study, "closed")
    Session.objects.filter(pk=session_of(two.ana).pk).update(
        state="chatting", started_at=datetime.now(UTC), last_activity_at=datetime.now(UTC)
    )
    overtime.end(datetime.now(UTC))
    assert session_of(two.ana).end_reason == "study_closed"
