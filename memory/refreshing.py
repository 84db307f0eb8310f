"""Making anew what holds a participant's words that she took back: a session's summary, the key summaries from there on, and what an arm
made of them at its closes.

A stale `Summary` row is empty, so no prompt shows it; the lowest one of an arm is leased, made without what was taken back, and committed
under the arm's lock on the lease's attempt. An arm's copy of a shared session's summary waits for the shared arm's, and is a copy again.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from memory import arms, ledger, remembering, summarising
from memory.arms import ArmRef
from memory.ledger import Entry
from memory.models import Memory, Summary
from memory.policy import Draft, Exchange
from memory.summarising import Summaries
from studyplatform.llm.asking import BadAnswer
from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.llm.streaming import ModelFailed
from studyplatform.study.models import Arm

log = logging.getLogger(__name__)
LEASE_S = 20
AGAIN_S = 5

ExchangesOf = Callable[[int], Sequence[Exchange]]


@dataclass(frozen=True)
class _Made:
    """A session's summaries, and for each memory that was ended what stands in its place, with its vector."""

    summaries: Summaries
    memories: Sequence[tuple[Memory, Draft, list[float]]]


def refresh(arm_id: int, exchanges_of: ExchangesOf, *, owner: str) -> int:
    """Make the arm's stale summaries anew, lowest session first, until none is due or somebody else has it: how many."""
    done = 0
    while (row := claim(arm_id, owner)) is not None:
        try:
            if remembering.open_writes(arm_id, row.session.number):
                _put_off(row, 1)  # what is written anew belongs into what is made of it
                break
            done += _commit(row, _make(row, exchanges_of))
        except (ModelFailed, EndpointFailed, BadAnswer) as error:
            log.warning("summary of session %s: %s, trying again", row.session_id, error)
            _put_off(row, AGAIN_S)
            break
    return done


def renew(owner: str) -> int:
    """Prolong the leases of a worker that is still at it: how many it holds."""
    held = Summary.objects.filter(owner=owner, stale=True, lease_until__gt=Now())
    return held.update(lease_until=Now() + timedelta(seconds=LEASE_S))


def arms_due() -> list[int]:
    """Arms with a stale summary that is due and leased by nobody."""
    due = Summary.objects.filter(stale=True, due_at__lte=Now()).filter(Q(lease_until=None) | Q(lease_until__lt=Now()))
    return list(due.order_by("arm_id").values_list("arm_id", flat=True).distinct())


_CLAIM = """
    UPDATE memory_summary m SET owner = %s, attempt = attempt + 1, lease_until = statement_timestamp() + make_interval(secs => %s)
    WHERE m.stale AND m.due_at <= statement_timestamp() AND (m.lease_until IS NULL OR m.lease_until < statement_timestamp()) AND m.id = (
      SELECT o.id FROM memory_summary o JOIN study_session s ON s.id = o.session_id
      WHERE o.arm_id = %s AND o.stale ORDER BY s.number LIMIT 1
    ) AND NOT EXISTS (
      SELECT FROM memory_summary shared JOIN study_session s ON s.id = shared.session_id
      WHERE shared.session_id = m.session_id AND shared.arm_id = s.arm_id AND shared.id <> m.id AND shared.stale
    ) RETURNING m.id"""


def claim(arm_id: int, owner: str) -> Summary | None:
    """Lease the arm's lowest stale summary; None when there is none, it is not due, waits for the shared one, or another worker has it."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [owner, LEASE_S, arm_id])
        found = cursor.fetchone()
    return Summary.objects.select_related("session__participant__study").get(pk=found[0]) if found else None


def _make(row: Summary, exchanges_of: ExchangesOf) -> _Made:
    """Ask for what is missing; nothing is stored or locked.

    Raises:
        ModelFailed, EndpointFailed, BadAnswer: no usable answer.
    """
    summaries = _summaries(row, exchanges_of)
    ended = list(_ended(row))
    if not ended:
        return _Made(summaries, ())
    arm = arms.load(row.arm_id)
    drafts = summarising.drafts_of(arm, row.session, summaries.text)
    pairs = [(old, draft, vector) for old in ended for draft, vector in drafts if draft.kind == old.kind]
    return _Made(summaries, [(old, replace(draft, r1=0, measures=old.measures or draft.measures), vector) for old, draft, vector in pairs])


def _summaries(row: Summary, exchanges_of: ExchangesOf) -> Summaries:
    session = row.session
    if row.arm_id != session.arm_id:
        shared = Summary.objects.get(arm_id=session.arm_id, session=session)
        return Summaries(shared.text, shared.key_summary)
    return summarising.merge(session, row.text) if row.text else summarising.summarise(session, exchanges_of(session.pk))


def _ended(row: Summary) -> QuerySet[Memory]:
    """What the arm had made at this close, and was ended because its words may hold what was taken back."""
    made = Memory.objects.filter(arm_id=row.arm_id, session_number=row.session.number, seq=0, superseded_by=None)
    return made.filter(status=Memory.Status.SUPERSEDED, embed_text="").defer("vector").order_by("pk")


@transaction.atomic
def _commit(row: Summary, made: _Made) -> int:
    """Store it, all or nothing; 0 where somebody else has the row by now, or more was taken back meanwhile."""
    remembering.lock(row.arm_id)
    mine = Summary.objects.filter(pk=row.pk, attempt=row.attempt, stale=True)
    if not mine.update(text=made.summaries.text, key_summary=made.summaries.key, stale=False, lease_until=None, made_at=Now()):
        return 0
    if made.memories:
        _write(arms.load(row.arm_id), row, made.memories)
    return 1


def _write(arm: ArmRef, row: Summary, memories: Sequence[tuple[Memory, Draft, list[float]]]) -> None:
    session = row.session
    Arm.objects.filter(pk=arm.id).update(version=F("version") + 1)
    at = session.chat_ended_at or session.started_at or row.made_at
    source = Exchange(session.number, 0, "", "", at)
    entries = []
    for old, draft, vector in memories:
        memory = remembering.insert(arm, source, draft, vector, instead_of=old)
        entries.append(Entry("stored", memory.pk, {"summary": True, **remembering.made(memory, old)}))
    ledger.write(arm.id, session.number, 0, entries)


def _put_off(row: Summary, seconds: int) -> None:
    Summary.objects.filter(pk=row.pk, attempt=row.attempt).update(lease_until=None, due_at=Now() + timedelta(seconds=seconds))
