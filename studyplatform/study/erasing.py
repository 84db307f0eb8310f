"""Leaving a study: one eraser per kind of personal data, registered by the app that holds it.

An eraser says where its data hides and removes it in a few statements. Each app registers its own in `AppConfig.ready`;
they run from the top layer down, so that nobody's rows are pulled away from under them.

What stays of somebody who asked for erasure: the participant's random code, that and when they consented (version, hash
and scopes: the proof that the data was held rightly, and no content), their place in the list of assignments, and the
times of their sessions. These say that somebody took part and left, and not who or what they said.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from django.db import connection, transaction
from django.utils import timezone

from studyplatform.study import scheduling, sessions
from studyplatform.study.models import AuditEvent, Participant, QAPair, Session, StageRun, User


class Eraser(ABC):
    """One kind of personal data. `layer`: 0 for the lowest app, higher ones are erased first."""

    name: ClassVar[str]
    where: ClassVar[str]
    layer: ClassVar[int]

    @abstractmethod
    def erase(self, participant: Participant) -> int:
        """Remove it; returns the number of rows that held it. Runs inside the withdrawal's transaction."""


@dataclass(frozen=True)
class Receipt:
    """What a withdrawal did: rows per kind of data. `kept`: the person stopped and what was given until then stays."""

    participant: str
    at: datetime
    kept: bool
    rows: Mapping[str, int] = field(default_factory=dict)


ERASERS: dict[str, Eraser] = {}


def register(*erasers: type[Eraser]) -> None:
    """Add erasers to the registry; the same one again changes nothing."""
    for eraser in erasers:
        ERASERS[eraser.name] = eraser()


@transaction.atomic
def withdraw(participant: Participant, *, keep_until_now: bool, by: User | None = None) -> Receipt:
    """Take a person out of their study, now and for good.

    Open conversations end where they are and nothing opens any more. With `keep_until_now` what was given stays in the
    study, and the work that follows a conversation is done for the last one too; without it every registered eraser runs, in this same transaction. A person who stopped may still ask for
    erasure later; erasing twice finds nothing more.
    """
    person = Participant.objects.select_for_update().get(pk=participant.pk)
    now = timezone.now()
    if keep_until_now:
        _end_for_good(person)
    _miss_the_rest(person, now)
    rows: dict[str, int] = {}
    if not keep_until_now:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('studyplatform.erasing', 'on', true)")
        for eraser in sorted(ERASERS.values(), key=lambda e: (-e.layer, e.name)):
            rows[eraser.name] = eraser.erase(person)
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('studyplatform.erasing', 'off', true)")
    erased = person.state == Participant.State.WITHDRAWN or not keep_until_now
    person.state = Participant.State.WITHDRAWN if erased else Participant.State.STOPPED
    person.left_at = person.left_at or now
    person.save(update_fields=["state", "left_at"])
    act = "withdrawal: kept until now" if keep_until_now else "withdrawal: erased"
    AuditEvent.objects.create(study_id=person.study_id, user=by, act=act, detail=person.code)
    participant.refresh_from_db()
    return Receipt(person.code, now, keep_until_now, rows)


def _end_for_good(person: Participant) -> None:
    """What is being said ends as any conversation does, without questions: it is kept, so it is scored, remembered and asked about."""
    running = Session.objects.filter(participant=person, state__in=[Session.State.CHATTING, Session.State.QUESTIONS])
    for session_id in list(running.values_list("pk", flat=True)):
        sessions.end_chat(session_id, "left")
        sessions.close(session_id)


def _miss_the_rest(person: Participant, now: datetime) -> None:
    """Close what still runs, and let nothing open any more."""
    State = Session.State
    mine = Session.objects.filter(participant=person)
    mine.filter(state=State.CHATTING).update(chat_ended_at=now)
    mine.filter(state__in=[State.CHATTING, State.QUESTIONS]).update(
        state=State.CLOSED, closed_at=now, end_reason="left", paused_at=None, pause_reason=""
    )
    mine.exclude(state__in=scheduling.OVER).update(state=State.MISSED)


class Identity(Eraser):
    """Whatever ties the code to a person: the recruiting service's id, the time zone."""

    name = "identity"
    where = "study.Participant: external_id, time_zone"
    layer = 0

    def erase(self, participant: Participant) -> int:
        participant.external_id = None
        participant.time_zone = "UTC"
        participant.save(update_fields=["external_id", "time_zone"])
        return 1


class QuestionPairs(Eraser):
    """The questions and answers that the person wrote (and, by cascade, what the arms answered)."""

    name = "question pairs"
    where = "study.QAPair"
    layer = 0

    def erase(self, participant: Participant) -> int:
        return QAPair.objects.filter(session__participant=participant).delete()[0]


class Stages(Eraser):
    """Work on the person's sessions that is still to be done, or is being done: its commit finds its row gone."""

    name = "stage runs"
    where = "study.StageRun: errors may quote text"
    layer = 0

    def erase(self, participant: Participant) -> int:
        return StageRun.objects.filter(session__participant=participant).delete()[0]
