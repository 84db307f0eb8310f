"""Studies: their design as it holds now, and the state that they are in."""

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from studyplatform.study.config import StudyConfig
from studyplatform.study.models import AuditEvent, Session, Study, User

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

    While a study is paused nobody's window passes: the edges of the sessions that were open move by the length of the
    pause.

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
    waiting.update(closes_at=F("closes_at") + (timezone.now() - since))
