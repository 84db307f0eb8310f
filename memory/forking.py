"""The shared first session in every arm: each arm's own policy replays its exchanges, and takes over what was recalled meanwhile.

The exchanges go through the same queue of writes as any other, with the times at which they happened. What the shared arm counted (R1,
R2, last recalled) is carried over by source turn, once, in the transaction that ends the stage.
"""

from collections.abc import Sequence

from django.db import connection

from memory import remembering
from memory.arms import ArmRef
from memory.ledger import Entry, write
from memory.models import Memory, Summary
from memory.policy import Exchange
from studyplatform.study.models import Session


def open_writes(arm: ArmRef, shared: Session, exchanges: Sequence[Exchange]) -> None:
    """Put the shared session's exchanges into the arm's queue, once."""
    remembering.open_for(arm.id, shared.pk, [exchange.seq for exchange in exchanges])


# A memory that was fused from several turns takes over the counts of all of them.
_CARRY = """
    UPDATE memory_memory m SET r1 = m.r1 + c.r1, r2 = m.r2 + c.r2, last_recalled = greatest(m.last_recalled, c.last_recalled)
    FROM (
      SELECT own.id, sum(was.r1) AS r1, sum(was.r2) AS r2, max(was.last_recalled) AS last_recalled
      FROM memory_memory own JOIN memory_memory was ON was.arm_id = %s AND was.status = 'active' AND was.sources && own.sources
      WHERE own.arm_id = %s AND own.status = 'active' AND own.session_number = %s AND own.seq > 0
      GROUP BY own.id
    ) c WHERE m.id = c.id
    RETURNING m.id, c.r1, c.r2, c.last_recalled"""


def carry_over(arm: ArmRef, shared: Session, *, run_id: int | None = None) -> int:
    """Counters and summary of the shared arm, into this arm; inside the transaction that ends the fork, which makes it happen once."""
    remembering.lock(arm.id)
    with connection.cursor() as cursor:
        cursor.execute(_CARRY, [shared.arm_id, arm.id, shared.number])
        rows = cursor.fetchall()
    entries = [Entry("forked", pk, {"r1": int(r1), "r2": int(r2), "last_recalled": last}) for pk, r1, r2, last in rows]
    write(arm.id, shared.number, 0, entries, run_id=run_id)
    summary = Summary.objects.filter(arm_id=shared.arm_id, session=shared).first()
    if summary is not None:
        copy = Summary(arm_id=arm.id, session=shared, text=summary.text, key_summary=summary.key_summary)
        Summary.objects.bulk_create([copy], ignore_conflicts=True)
    return len(rows)


def forked(arm_id: int, shared: Session) -> int:
    """How many of the arm's memories come from the shared session."""
    return Memory.objects.filter(arm_id=arm_id, session_number=shared.number, seq__gt=0).count()
