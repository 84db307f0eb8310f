"""Forgetting: the policy gives every memory a verdict, and one transaction of a few statements carries them out.

At a session's end, or, where the policy says so, when the next one opens: before its opener is made, once. In the ledger both stand at the end of the
session before, since nothing is said in between.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from memory import space
from memory.arms import ArmRef
from memory.ledger import Entry, write
from memory.models import Memory, MemoryEvent
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
    rng = Random(_seed(arm, session.participant.number, session.number))  # noqa: S311  # a study's chance, not a secret
    return arm.policy.retain(memories, When(session.number, instant, arm.zone), rng), version


def at_opening(arm: ArmRef, number: int, instant: datetime) -> int:
    """What a policy forgets when the arm's session `number` opens at `instant`, once per session: how many memories.

    The seed of its chance is the study's, and stands in the ledger beside every draw: the same study forgets the same again.
    """
    if arm.policy.forgets_at != "open" or number == 1:
        return 0
    before = Session.objects.select_related("participant").get(pk=arm.sources[number - 1])
    with transaction.atomic():
        lock(arm.id)
        if MemoryEvent.objects.filter(arm_id=arm.id, session_number=before.number, seq=0, what__in=_JUDGED).exists():
            return 0
        version = Arm.objects.values_list("version", flat=True).get(pk=arm.id)
        seed = _seed(arm, before.participant.number, before.number)
        rows = Session.objects.filter(pk__in=arm.sources.values()).values_list("number", "started_at")
        began = {held: started for held, started in rows if started is not None}
        when = When(before.number, instant, arm.zone, began)
        verdicts = arm.policy.retain(space.memories(arm), when, Random(seed))  # noqa: S311  # a study's chance, not a secret
        return apply(arm, before, verdicts, version, why={"seed": seed})


_JUDGED = (MemoryEvent.What.KEPT, MemoryEvent.What.FORGOTTEN)


def _seed(arm: ArmRef, participant: int | None, session: int) -> str:
    return f"{arm.config.seeds.forgetting}:{participant}:{arm.order}:{session}"


def apply(
    arm: ArmRef,
    session: Session,
    verdicts: Sequence[Verdict],
    version: int,
    *,
    run_id: int | None = None,
    why: Mapping[str, Any] | None = None,
) -> int:
    """Carry the verdicts out: how many memories were forgotten. Inside the caller's transaction, a constant number of statements.

    `why` is added to every event's reasons.

    Raises:
        Changed: the arm changed since they were given.
    """
    lock(arm.id)
    if not Arm.objects.filter(pk=arm.id, version=version).update(version=F("version") + 1):
        raise Changed
    gone = [verdict.memory.id for verdict in verdicts if not verdict.kept]
    among = Memory.objects.filter(arm_id=arm.id, status=Memory.Status.ACTIVE).extra(where=["id = ANY(%s::bigint[])"], params=[gone])
    among.update(status=Memory.Status.FORGOTTEN, ended_at=Now())
    entries = [Entry("kept" if v.kept else "forgotten", v.memory.id, {**_why(v, len(verdicts)), **(why or {})}) for v in verdicts]
    write(arm.id, session.number, 0, entries, run_id=run_id)
    return len(gone)


def _why(verdict: Verdict, of: int) -> dict[str, object]:
    return {"rank": verdict.rank, "of": of, "score": verdict.score, "terms": dict(verdict.terms)}
