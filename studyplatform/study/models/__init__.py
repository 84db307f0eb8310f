"""The rows of a study: people, design, sessions, stages of the work after a session, questions."""

from studyplatform.study.models.design import (
    Amendment,
    AuditEvent,
    Condition,
    Role,
    Study,
    User,
)
from studyplatform.study.models.people import Arm, Consent, Participant
from studyplatform.study.models.runs import StageRun
from studyplatform.study.models.sessions import QAPair, Session

__all__ = [
    "Amendment",
    "Arm",
    "AuditEvent",
    "Condition",
    "Consent",
    "Participant",
    "QAPair",
    "Role",
    "Session",
    "StageRun",
    "Study",
    "User",
]
