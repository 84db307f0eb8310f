"""Forgetting at a session's end: the policy gives every memory a verdict, and one transaction of a few statements carries them out."""

from collections.abc import Sequence
from random import Random

from django.db.models import F
from django.db.models.functions import Now

from memory import space
from memory.arms import ArmRef
from memory.ledger import Entry, write
from memory.models import Memory
from memory.policy import Verdict, When
from memory.remembering import Changed, lock
from studyplatform.study.models import Arm, Session


def judge(arm: ArmRef, session: Session) -> tuple[Sequence[Verdict], int]:
    """One verdict per memory of the arm, and the arm's version that they were made on. Chance comes from the study's seed."""
    version = Arm.objects.values_list("version", flat=True).get(pk=arm.id)
    memories = space.memories(arm)
    if arm.policy.forgets_at == "open":
        return [], version
    instant = session.chat_ended_at or session.started_at
    if instant is None:
        raise ValueError(f"session {session.code} has not been held")
    rng = Random(f"{arm.config.seeds.forgetting}:{session.participant.number}:{arm.order}:{session.number}")  # noqa: S311  # a study's chance, not a secret
    return arm.policy.retain(memories, When(session.number, instant, arm.zone), rng), version


def apply(arm: ArmRef, session: Session, verdicts: Sequence[Verdict], version: int, *, run_id: int | None = None) -> int:
    """Carry the verdicts out: how many memories were forgotten. Inside the caller's transaction, a constant number of statements.

    Raises:
        Changed: the arm changed since they were given.
    """
    lock(arm.id)
    if not Arm.objects.filter(pk=arm.id, version=version).update(version=F("version") + 1):
        raise Changed
    gone = [verdict.memory.id for verdict in verdicts if not verdict.kept]
    among = Memory.objects.filter(arm_id=arm.id, status=Memory.Status.ACTIVE).extra(where=["id = ANY(%s::bigint[])"], params=[gone])
    among.update(status=Memory.Status.FORGOTTEN, ended_at=Now())
    entries = [Entry("kept" if v.kept else "forgotten", v.memory.id, _why(v, len(verdicts))) for v in verdicts]
    write(arm.id, session.number, 0, entries, run_id=run_id)
    return len(gone)


def _why(verdict: Verdict, of: int) -> dict[str, object]:
    return {"rank": verdict.rank, "of": of, "score": verdict.score, "terms": dict(verdict.terms)}
