"""Studies: their design as it holds now, and the state that they are in."""

from datetime import datetime, timedelta

from studyplatform.study.config import StudyConfig
from studyplatform.study.models import AuditEvent, Session, Study

PAUSED = "state: paused"  # as the audit trail says it
_designs: dict[str, StudyConfig] = {}


class Refused(Exception):
    """What was asked cannot be done; the message says why, and what can."""


def config_of(study: Study) -> StudyConfig:
    """The design that holds now, amendments applied. Parsed once per process and version."""
    design = _designs.get(study.config_sha256)
    if design is None:
        if len(_designs) > 256:
            _designs.clear()
        design = _designs[study.config_sha256] = StudyConfig.model_validate(study.config)
    return design


def admits(study: Study, *, pilot: bool) -> bool:
    """Whether people may come in and begin conversations: pilot people while it is piloted, others while it runs."""
    return study.state == Study.State.RUNNING or (pilot and study.state == Study.State.PILOT)


def questions_end(session: Session, now: datetime) -> datetime | None:
    """Until when the session's questions can be written: the design's hours after the chat, longer by what the study was paused since.

    None while the chat goes on. `now`: how long a pause that has not ended has lasted.
    """
    if session.chat_ended_at is None:
        return None
    study = session.participant.study
    hours = timedelta(hours=config_of(study).sessions.questions_deadline_h)
    return session.chat_ended_at + hours + _paused_since(study, session.chat_ended_at, now)


def _paused_since(study: Study, start: datetime, now: datetime) -> timedelta:
    """How much of the time from `start` to `now` the study was paused, by its audit trail."""
    total, since = timedelta(0), None
    moves = AuditEvent.objects.filter(study=study, act__startswith="state: ").order_by("at", "pk")
    for act, at in moves.values_list("act", "at"):
        if since is not None:
            total += max(timedelta(0), at - max(since, start))
        since = at if act == PAUSED else None
    return total + (max(timedelta(0), now - max(since, start)) if since is not None else timedelta(0))
