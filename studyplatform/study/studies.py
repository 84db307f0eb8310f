"""Studies: their design as it holds now, and the state that they are in."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from studyplatform.study.config import StudyConfig
from studyplatform.study.models import AuditEvent, Session, StageRun, Study, User

_MOVES = {
    "draft": {"pilot", "running"},
    "pilot": {"draft", "running", "closed"},
    "running": {"paused", "closed"},
    "paused": {"running", "closed"},
    "closed": {"paused", "running"},
}
_PAUSED = "state: paused"
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


@transaction.atomic
def move(study: Study, state: str, *, by: User | None = None) -> Study:
    """Bring a study into another state, and write down who did.

    While a study is paused nobody's window passes: the edges of the sessions that were open, and the times at which answers are asked
    without waiting for questions any longer, move by the length of the pause.

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
    study.state = state
    return locked


def _shift_windows(study: Study) -> None:
    since = AuditEvent.objects.filter(study=study, act=_PAUSED).order_by("-at").values_list("at", flat=True).first()
    if since is None:
        return
    waiting = Session.objects.filter(participant__study=study, state__in=["locked", "open", "chatting"], closes_at__gt=since)
    pause = timezone.now() - since
    waiting.update(closes_at=F("closes_at") + pause)
    unasked = StageRun.objects.filter(session__participant__study=study, stage="answer", state="waiting", due_at__gt=since)
    unasked.update(due_at=F("due_at") + pause)


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
        since = at if act == _PAUSED else None
    return total + (max(timedelta(0), now - max(since, start)) if since is not None else timedelta(0))
