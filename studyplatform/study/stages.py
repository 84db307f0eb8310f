"""The work after a session, as rows: score → summarise → (fork) → forget → answer."""

from studyplatform.study.models import Session


def start(session: Session) -> None:
    """Create the session's stage runs."""


def pairs_arrived(session_id: int) -> None:
    """The session's question-answer pairs are written, or their time is over."""
