"""What each exchange becomes in an arm's memory: one at a time, in order, decided without a lock, committed under one.

A `MemoryWrite` row stands for one exchange in one arm. The lowest open one is leased, the policy decides (it may ask a model and the
encoder, so nothing is locked meanwhile), and the commit holds the arm's advisory lock, checks the lease's attempt, and compares `Arm.version`:
if the arm changed since the decision, the policy decides again. Constraints stand behind all of it: one memory per source.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from memory import arms, ledger, wishes
from memory.arms import ArmRef
from memory.asking import Asker
from memory.encoders import BadVectors
from memory.ledger import Entry
from memory.models import Memory, MemoryWrite
from memory.policy import Discard, Draft, Error, Exchange, Filter, Outcome, Store, Unparsable, Update
from memory.space import ArmSpace
from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.llm.streaming import ModelFailed
from studyplatform.study.models import Arm

log = logging.getLogger(__name__)

LEASE_S = 20
LOCKS = 7301 << 48  # where this package's advisory locks begin; the arm's id is added
DECISIONS = 5
# How often an exchange is tried while the endpoints do not answer, with back-off up to a minute: some ten minutes in all.
FAILURES = 15

ExchangeOf = Callable[[int, int], Exchange | None]


class Changed(Exception):
    """The arm changed between the decision and the commit: decide again."""


class LeaseLost(Exception):
    """Another worker has this write now, or has done it."""


@dataclass(frozen=True)
class Decision:
    """An outcome, the arm's version that it was made on, and the vector of its draft, if it stores one."""

    outcome: Outcome
    version: int
    vector: list[float] | None


def open_for(arm_id: int, session_id: int, seqs: Sequence[int]) -> None:
    """Write rows for these exchanges, once each, however often it is called."""
    rows = [MemoryWrite(arm_id=arm_id, session_id=session_id, seq=seq) for seq in seqs]
    MemoryWrite.objects.bulk_create(rows, ignore_conflicts=True)


def write_open(arm_id: int, exchange_of: ExchangeOf, *, owner: str | None = None) -> int:
    """Write the arm's open exchanges in order, until none is due or another worker has the next one: how many were written.

    `exchange_of(session_id, seq)` is given by the layer above, which holds the turns.
    """
    me = owner or default_owner()
    arm = arms.load(arm_id)
    written = 0
    while (write := claim(arm_id, me)) is not None:
        try:
            _write_one(arm, write, exchange_of)
            written += 1
        except LeaseLost:
            log.info("write %s of arm %s went to another worker", write.pk, arm_id)
    return written


def renew(owner: str) -> int:
    """Prolong the leases of a worker that is still deciding: how many it holds."""
    held = MemoryWrite.objects.filter(owner=owner, state=MemoryWrite.State.OPEN, lease_until__gt=Now())
    return held.update(lease_until=Now() + timedelta(seconds=LEASE_S))


def open_writes(arm_id: int, up_to_session: int | None = None) -> int:
    """How many exchanges of the arm wait to be written, of the sessions up to this number."""
    rows = MemoryWrite.objects.filter(arm_id=arm_id, state=MemoryWrite.State.OPEN)
    return rows.filter(session__number__lte=up_to_session).count() if up_to_session is not None else rows.count()


def arms_due() -> list[int]:
    """Arms whose lowest open write is due and leased by nobody."""
    due = MemoryWrite.objects.filter(state=MemoryWrite.State.OPEN, due_at__lte=Now()).filter(Q(lease_until=None) | Q(lease_until__lt=Now()))
    return list(due.order_by("arm_id").values_list("arm_id", flat=True).distinct())


def default_owner() -> str:
    """This thread of this process, for people who read the rows."""
    return f"{socket.gethostname()}:{os.getpid()}:{threading.get_ident()}"


_CLAIM = """
    UPDATE memory_memorywrite SET owner = %s, attempt = attempt + 1, lease_until = statement_timestamp() + make_interval(secs => %s)
    WHERE state = 'open' AND due_at <= statement_timestamp() AND (lease_until IS NULL OR lease_until < statement_timestamp()) AND id = (
      SELECT w.id FROM memory_memorywrite w JOIN study_session s ON s.id = w.session_id
      WHERE w.arm_id = %s AND w.state = 'open' ORDER BY s.number, w.seq LIMIT 1
    ) RETURNING id"""


def claim(arm_id: int, owner: str) -> MemoryWrite | None:
    """Lease the arm's lowest open write; None when there is none, it is not due, or another worker has it."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [owner, LEASE_S, arm_id])
        row = cursor.fetchone()
    return MemoryWrite.objects.select_related("session").get(pk=row[0]) if row else None


def _write_one(arm: ArmRef, write: MemoryWrite, exchange_of: ExchangeOf) -> None:
    exchange = exchange_of(write.session_id, write.seq)
    if exchange is None:
        _close(write, Filter("the turn is gone"))
        return
    for _ in range(DECISIONS):
        try:
            decision = decide(arm, write, exchange)
        except (ModelFailed, EndpointFailed) as error:
            _put_off(write, error)
            return
        try:
            commit(arm, write, exchange, decision)
            return
        except Changed:
            continue
    _put_off(write, Changed(f"the arm changed {DECISIONS} times while deciding"))


def decide(arm: ArmRef, write: MemoryWrite, exchange: Exchange) -> Decision:
    """What the policy makes of the exchange; its own failures are an outcome, an endpoint's are raised.

    Raises:
        ModelFailed, EndpointFailed: no answer; nothing is known about this exchange yet.
    """
    version = Arm.objects.values_list("version", flat=True).get(pk=arm.id)
    space = ArmSpace(arm)
    ask = Asker(arm, purpose="extract", session_code=write.session.code, session_id=write.session_id, seq=write.seq)
    left = wishes.honour(write.session_id, [exchange])  # after the version: what is taken back meanwhile raises it
    if not left:
        return Decision(Filter("the participant took it back"), version, None)
    local = replace(left[0], at=exchange.at.astimezone(ZoneInfo(arm.zone)))  # "tomorrow" is the participant's
    try:
        outcome = arm.policy.encode(local, space, ask)
        vector = space.embed([outcome.draft.embed_text])[0].tolist() if isinstance(outcome, Store | Update) else None
    except (ModelFailed, EndpointFailed):
        raise
    except Unparsable as error:
        return Decision(Error(str(error), error.raw), version, None)
    except BadVectors as error:
        return Decision(Error(str(error)), version, None)
    except Exception as error:  # a policy's defect must cost one memory, not the queue; it is logged with its trace
        log.exception("policy %s failed on session %s seq %s", arm.policy.name, write.session_id, write.seq)
        return Decision(Error(f"{type(error).__name__}: {error}"), version, None)
    return Decision(outcome, version, vector)


def commit(arm: ArmRef, write: MemoryWrite, exchange: Exchange, decision: Decision) -> None:
    """Store the outcome, its memory and its events, all or nothing, under the arm's advisory lock.

    Raises:
        Changed: the arm's version is not the decision's any more.
        LeaseLost: the write was done, or leased again, by another.
    """
    with transaction.atomic():
        lock(arm.id)
        _close(write, decision.outcome)
        if not Arm.objects.filter(pk=arm.id, version=decision.version).update(version=F("version") + 1):
            raise Changed
        entries = _apply(arm, exchange, decision, write.heir_of)
        ledger.write(arm.id, exchange.session, exchange.seq, entries)


def lock(arm_id: int) -> None:
    """Hold the arm's lock until this transaction ends. Never while a model or an encoder is asked."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCKS + arm_id])


_OUTCOMES = {Store: "store", Update: "update", Discard: "discard", Filter: "filter", Error: "error"}


def _close(write: MemoryWrite, outcome: Outcome) -> None:
    done = MemoryWrite.objects.filter(pk=write.pk, attempt=write.attempt, state=MemoryWrite.State.OPEN).update(
        state=MemoryWrite.State.DONE,
        outcome=_OUTCOMES[type(outcome)],
        flags=list(getattr(outcome, "flags", ())),
        reason=getattr(outcome, "reason", ""),
        raw=getattr(outcome, "raw", ""),
        lease_until=None,
        heir_of=None,
        done_at=Now(),
    )
    if not done:
        raise LeaseLost


def _apply(arm: ArmRef, exchange: Exchange, decision: Decision, heir_of: Memory | None = None) -> list[Entry]:
    outcome = decision.outcome
    if isinstance(outcome, Store):
        memory = insert(arm, exchange, outcome.draft, decision.vector, instead_of=heir_of)
        return [Entry("stored", memory.pk, {**outcome.why, "flags": list(outcome.flags), **made(memory, heir_of)})]
    if isinstance(outcome, Update):
        return _supersede(arm, exchange, outcome, decision.vector, heir_of)
    if isinstance(outcome, Discard):
        return [Entry("discarded", outcome.of, outcome.why)]
    if isinstance(outcome, Filter):
        return [Entry("filtered", None, {"reason": outcome.reason, **outcome.why})]
    return [Entry("erred", None, {"reason": outcome.reason})]


def _supersede(arm: ArmRef, exchange: Exchange, outcome: Update, vector: list[float] | None, heir_of: Memory | None) -> list[Entry]:
    """The fused memory replaces the old ones: it takes over their sources and their counters, and they are archived."""
    ended = [*outcome.replaces, *outcome.archives]
    old = list(Memory.objects.filter(arm_id=arm.id, pk__in=ended, status=Memory.Status.ACTIVE).order_by("session_number", "seq"))
    if {m.pk for m in old} != set(ended):
        raise Changed
    Memory.objects.filter(pk__in=ended).update(status=Memory.Status.SUPERSEDED, ended_at=Now())
    memory = insert(arm, exchange, outcome.draft, vector, heirs_of=old, instead_of=heir_of)
    Memory.objects.filter(pk__in=ended).update(superseded_by=memory)
    why = {**outcome.why, "by": memory.pk}
    fused = Entry(
        "fused",
        memory.pk,
        {
            **outcome.why,
            "flags": list(outcome.flags),
            "replaces": list(outcome.replaces),
            "archives": list(outcome.archives),
            **made(memory, heir_of),
        },
    )
    return [fused, *(Entry("superseded", m.pk, {**why, "archived_as": "duplicate" if m.pk in outcome.archives else "update"}) for m in old)]


def insert(
    arm: ArmRef,
    exchange: Exchange,
    draft: Draft,
    vector: list[float] | None,
    *,
    heirs_of: Sequence[Memory] = (),
    instead_of: Memory | None = None,
) -> Memory:
    """A new memory, its text and its vector in one statement.

    It takes over sources and counters of `heirs_of`, which are fused into it, and the counters of `instead_of`, whose words were taken back.
    """
    inherited = [source for old in heirs_of for source in old.sources]
    sources = list(dict.fromkeys([*inherited, f"{exchange.session}:{exchange.seq}"]))
    counted = [*heirs_of, *([instead_of] if instead_of else ())]
    memory = Memory.objects.create(
        arm_id=arm.id,
        kind=draft.kind,
        session_number=exchange.session,
        seq=exchange.seq,
        sources=sources,
        bot_text=draft.bot,
        user_text=draft.user,
        embed_text=draft.embed_text,
        vector=vector,
        encoder=arm.encoder.name,
        r1=draft.r1 + sum(old.r1 for old in counted),
        r2=sum(old.r2 for old in counted),
        last_recalled=max([exchange.session, *(old.last_recalled for old in counted)]),
        fields=dict(draft.fields),
        measures=dict(draft.measures),
        happened_at=exchange.at,
        muted_at=Now() if wishes.is_muted(arm, sources) else None,
    )
    if instead_of is not None:
        Memory.objects.filter(pk=instead_of.pk).update(superseded_by=memory)
    return memory


def made(memory: Memory, instead_of: Memory | None = None) -> dict[str, Any]:
    """What a memory began with, for the ledger: all that later events change is here, so that they can be counted from it."""
    return {
        "made": {
            "r1": memory.r1,
            "r2": memory.r2,
            "last_recalled": memory.last_recalled,
            "muted": memory.muted_at is not None,
            "instead_of": instead_of.pk if instead_of else None,
        }
    }


def _put_off(write: MemoryWrite, error: Exception) -> None:
    """Try again later; after the last attempt the write ends as an error, and the queue goes on."""
    mine = MemoryWrite.objects.filter(pk=write.pk, attempt=write.attempt, state=MemoryWrite.State.OPEN)
    failures = write.failures + 1
    if failures < FAILURES:
        wait = timedelta(seconds=min(2**failures, 60))
        mine.update(lease_until=None, failures=failures, due_at=Now() + wait, reason=str(error)[:500])
        return
    with transaction.atomic():
        lock(write.arm_id)
        _close(write, Error(f"given up after {failures} attempts: {error}"))
        ledger.write(write.arm_id, write.session.number, write.seq, [Entry("erred", None, {"reason": str(error)[:500]})])
