"""In a replay the same words are said in arm after arm: what was measured about them once is taken over, not asked again.

Only where everything that a scorer sees is equal: every utterance of the session, and the key summary before it.
"""

from chat.models import Turn
from memory import arms
from memory.models import Measurement
from studyplatform.study.models import Session

COLUMNS = ("seq", "name", "value", "scorer", "version", "fallback")


def take_over(session: Session) -> int:
    """Copy the measures of another arm's session in which the same was said: how many there were; none where nothing is the same."""
    twins = Session.objects.filter(participant=session.participant_id, number=session.number, measurements__isnull=False)
    mine = _heard(session)
    for twin in twins.exclude(pk=session.pk).distinct().order_by("position"):
        if _heard(twin) == mine:
            rows = Measurement.objects.filter(session=twin).order_by("pk").values(*COLUMNS)
            copies = [Measurement(session=session, **row) for row in rows]
            Measurement.objects.bulk_create(copies, ignore_conflicts=True)
            return len(copies)
    return 0


def _heard(session: Session) -> tuple[str, list[tuple[int | None, str, str]]]:
    turns = Turn.objects.filter(session=session, state=Turn.State.DONE).order_by("seq")
    return arms.key_summary(session.arm_id, session.number), list(turns.values_list("seq", "role", "text"))
