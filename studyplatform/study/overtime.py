"""Sessions that are over time: a maximum or a window reached, a person gone, questions past their deadline."""

import logging
from datetime import datetime, timedelta

from studyplatform.study import sessions
from studyplatform.study.models import Session, Study
from studyplatform.study.studies import config_of, questions_end

State = Session.State
STUDY_CLOSED = "study_closed"
log = logging.getLogger(__name__)


def end(now: datetime) -> None:
    """End chats over their maximum or window or of a closed study, pause chats that stand idle, close questions past their deadline.

    In a paused study nobody's time runs out. A session that cannot be ended holds up no other one.
    """
    running = Session.objects.filter(state__in=[State.CHATTING, State.QUESTIONS], participant__simulated=False)
    running = running.exclude(participant__study__state=Study.State.PAUSED).select_related("participant__study")
    designs = ("participant__study__config", "participant__study__source")  # long, and known to this process already
    for session in running.defer(*designs).iterator():
        try:
            act = _end_chat if session.state == State.CHATTING else _close_questions
            act(session, now)
        except Exception:  # whatever it is, it is this session's alone; the next sweep comes back to it
            log.exception("session %s, %s, could not be looked at", session.pk, session.state)


def _end_chat(session: Session, now: datetime) -> None:
    if session.participant.study.state == Study.State.CLOSED:  # begun in the instant in which the study was closed
        sessions.end_chat(session.pk, STUDY_CLOSED)
        return
    rules = config_of(session.participant.study).sessions
    must = sessions.may_finish(rules, session, now, pending=False, simulated=False).must
    if must:
        sessions.end_chat(session.pk, must)
        return
    idle_since = session.last_activity_at or session.started_at
    if idle_since and session.paused_at is None and now - idle_since >= timedelta(minutes=rules.idle_minutes):
        sessions.pause(session.pk, "idle")


def _close_questions(session: Session, now: datetime) -> None:
    end = questions_end(session, now)
    if end is not None and now >= end:
        sessions.close(session.pk)
