"""A study moves from state to state: draft, pilot, running, paused, closed."""

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from studyplatform.study import sessions
from studyplatform.study.models import AuditEvent, Session, StageRun, Study, User
from studyplatform.study.overtime import STUDY_CLOSED
from studyplatform.study.studies import PAUSED, Refused

_MOVES = {
    "draft": {"pilot", "running"},
    "pilot": {"draft", "running", "closed"},
    "running": {"paused", "closed"},
    "paused": {"running", "closed"},
    "closed": {"paused", "running"},
}


@transaction.atomic
def move(study: Study, state: str, *, by: User | None = None) -> Study:
    """Bring a study into another state, and write down who did.

    While a study is paused nobody's window passes: the edges of the sessions that were open, and the times at which answers are asked
    without waiting for questions any longer, move by the length of the pause. When a study is closed, what is being said ends as any
    conversation does: it is kept, and its questions can still be written.

    Raises:
        Refused: when the study cannot go there from where it is.
    """
    locked = Study.objects.select_for_update().get(pk=study.pk)
    if locked.state == state:
        return locked
    if state not in _MOVES[locked.state]:
        raise Refused(f"{locked.slug} is {locked.state}; from there it can become {', '.join(sorted(_MOVES[locked.state]))}.")
    if locked.state == Study.State.PAUSED and state == Study.State.RUNNING:
        _shift_windows(locked)
    locked.state = state
    locked.save(update_fields=["state"])
    AuditEvent.objects.create(study=locked, user=by, act=f"state: {state}")
    if state == Study.State.CLOSED:
        for session_id in list(
            Session.objects.filter(participant__study=locked, state=Session.State.CHATTING).values_list("pk", flat=True)
        ):
            sessions.end_chat(session_id, STUDY_CLOSED)
    study.state = state
    return locked


def _shift_windows(study: Study) -> None:
    since = AuditEvent.objects.filter(study=study, act=PAUSED).order_by("-at").values_list("at", flat=True).first()
    if since is None:
        return
    waiting = Session.objects.filter(participant__study=study, state__in=["locked", "open", "chatting"], closes_at__gt=since)
    pause = timezone.now() - since
    waiting.update(closes_at=F("closes_at") + pause)
    unasked = StageRun.objects.filter(session__participant__study=study, stage="answer", state="waiting", due_at__gt=since)
    unasked.update(due_at=F("due_at") + pause)
