"""What a researcher may change from the console. Each act is one transaction and leaves an audit row with her name."""

from datetime import datetime

from django.db import transaction

from studyplatform.study import joining, sessions, stages
from studyplatform.study.models import AuditEvent, Participant, Session, StageRun, Study, User


def record(study: Study, by: User, act: str, detail: str = "") -> None:
    """One line of the study's record of acts."""
    AuditEvent.objects.create(study=study, user=by, act=act, detail=detail)


@transaction.atomic
def invite(study: Study, *, by: User) -> Participant:
    """A new place with a personal link. In a pilot the person is a pilot person and never counts."""
    participant = joining.new_participant(study, pilot=study.state == Study.State.PILOT)
    record(study, by, "invited", participant.code)
    return participant


@transaction.atomic
def unblind(study: Study, *, by: User, reason: str, at: datetime) -> None:
    """Open the names of the conditions to this study's researchers; the first time is the one that is kept."""
    Study.objects.filter(pk=study.pk, unblinded_at=None).update(unblinded_at=at)
    record(study, by, "unblinded", reason)


@transaction.atomic
def end_session(session: Session, *, by: User, reason: str) -> bool:
    """Complete a session for a person who cannot; what was said is kept and counts. False where there is nothing to end."""
    ended = {
        Session.State.CHATTING: lambda: sessions.end_chat(session.pk, "experimenter"),
        Session.State.QUESTIONS: lambda: sessions.close(session.pk),
    }.get(Session.State(session.state), lambda: False)()
    if ended:
        record(session.participant.study, by, "ended a session", f"{session.participant.code}, session {session.position}: {reason}")
    return ended


@transaction.atomic
def retry(run: StageRun, *, by: User) -> bool:
    """Make a failed stage due again; False where it is not failed (any more)."""
    if not stages.retry(run.pk):
        return False
    participant = run.session.participant
    record(participant.study, by, "retried a stage", f"{run.stage} of {participant.code}, session {run.session.position}")
    return True
