"""One conversation's fixed surroundings: who, with which assistant, under which rules. Loaded once per connection or reply."""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

from django.http import parse_cookie
from django.urls import reverse

from chat.frames import State
from chat.store import Standing
from memory.arms import SessionRef, session_ref
from studyplatform.study import seats, sessions
from studyplatform.study.config import StudyConfig
from studyplatform.study.models import Session
from studyplatform.study.sessions import Finish
from studyplatform.study.studies import config_of


@dataclass(frozen=True)
class Occasion:
    """A session as the chat needs it. `assistant` is the alias, all that anybody here knows of the arm."""

    id: int
    code: str
    number: int
    participant: str
    study: int
    assistant: str
    language: str
    simulated: bool
    config: StudyConfig
    memory: SessionRef

    @property
    def questions_url(self) -> str:
        return reverse("questions", args=[self.participant, self.code])

    @property
    def home_url(self) -> str:
        return reverse("home", args=[self.participant])

    @property
    def given_opener(self) -> str | None:
        """The first session's opener, where the study file has it."""
        return self.config.chat.first_opener if self.number == 1 else None

    @property
    def most_turns(self) -> int | None:
        return None if self.simulated else self.config.sessions.max_turns


def load(session_id: int) -> Occasion:
    """The surroundings of a session. Asks the database."""
    session = Session.objects.select_related("participant__study", "arm").get(pk=session_id)
    participant = session.participant
    return Occasion(
        id=session.pk,
        code=session.code,
        number=session.number,
        participant=participant.code,
        study=participant.study_id,
        assistant=session.arm.alias_name,
        language=participant.language,
        simulated=participant.simulated,
        config=config_of(participant.study),
        memory=session_ref(session),
    )


def seated(cookies: str, code: str, session_code: str) -> Occasion | None:
    """The conversation with this code, if it belongs to who holds these cookies (a Cookie header) and the seat `code`."""
    participant = seats.participant_of(parse_cookie(cookies), code)
    if participant is None:
        return None
    session = Session.objects.filter(participant=participant, code=session_code).first()
    return load(session.pk) if session else None


def finish(occasion: Occasion, standing: Standing, *, pending: bool, now: datetime | None = None) -> Finish:
    """Whether the person may, or must, finish now."""
    return sessions.may_finish(
        occasion.config.sessions,
        _session(standing),
        now or standing.now,
        pending=pending,
        simulated=occasion.simulated,
        replay=occasion.simulated,
    )


def state(occasion: Occasion, standing: Standing, *, pending: bool) -> State:
    """The frame that says where the session stands."""
    clock = sessions.clock(_session(standing), standing.now)
    finishing = finish(occasion, standing, pending=pending)
    reason = standing.pause_reason
    return State(
        phase="chatting" if standing.state == "chatting" else "questions" if standing.state == "questions" else "closed",
        seconds=clock.seconds,
        user_turns=standing.user_turns,
        seconds_left=finishing.seconds_left,
        turns_left=finishing.turns_left,
        may_finish=finishing.ok and standing.state == "chatting",
        paused=clock.paused,
        paused_reason="outage" if reason == "outage" else "idle" if clock.paused else "",
    )


def _session(standing: Standing) -> Session:
    """The row as the rules of `study.sessions` read it: they look at these columns only, and a model instance is dear."""
    return cast(Session, standing)
