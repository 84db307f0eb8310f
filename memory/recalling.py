"""Recall, on the path of every reply: one embedding, one or two statements, no model (unless the policy itself asks one).

It only reads, but for a policy that forgets when a session opens: that is done before its opener. What it moves (R1 of what is used, R2 of what is passed over, the ledger) goes into the statement with which the chat commits the
reply, so that a reply that is made twice counts once.
"""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from memory import forgetting, lookups
from memory.arms import SessionRef, session_ref, shown_summary
from memory.asking import Asker
from memory.lookups import Reads
from memory.policy import Hit, Memory, Query, Recall, When
from memory.quotation import shortened, unquoted
from memory.space import ArmSpace, Scope, planned_once

__all__ = ["Recalled", "SessionRef", "counters", "recall", "session_ref"]

POLL_S = 0.04
LEAST_CHARS = 12  # of a memory, else it is left out


@dataclass(frozen=True)
class Recalled:
    """What one reply remembers.

    `lines`: the recalled memories as quoted, capped data for the prompt. `unseen_writes`: earlier exchanges whose writing had not ended.
    `recall_ms`: of the whole recall, `waited_ms`: of that, waiting for writes. `looked`: whether memory was asked at all.
    """

    used: tuple[Hit, ...] = ()
    passed_over: tuple[Hit, ...] = ()
    lines: tuple[str, ...] = ()
    key_summary: str = ""
    unseen_writes: int = 0
    recall_ms: float = 0.0
    waited_ms: float = 0.0
    why: Mapping[str, Any] = field(default_factory=dict)
    looked: bool = False


def recall(*, session: SessionRef, query: Query, instant: datetime, context_from_seq: int) -> Recalled:
    """As `recall_soon`, for who may hold a thread: once every exchange in scope is written, or the study's limit for that is over."""
    began = time.perf_counter()
    while True:
        waited = (time.perf_counter() - began) * 1000
        found = recall_unless_writing(session=session, query=query, instant=instant, context_from_seq=context_from_seq, waited_ms=waited)
        if found is not None:
            return found
        time.sleep(POLL_S)


def recall_unless_writing(
    *, session: SessionRef, query: Query, instant: datetime, context_from_seq: int, waited_ms: float
) -> Recalled | None:
    """What the arm's policy recalls for this query; None, while an exchange in scope is being written and there is time left to wait.

    Args: as of `recall_soon`. `waited_ms`: for how long the caller has waited for writes already.

    Raises:
        studyplatform.llm.embeddings.EndpointFailed: the encoder does not answer.
    """
    started = time.perf_counter()
    scope = _scope(session, context_from_seq)
    with planned_once() as cursor:
        cursor.execute(_OPEN_WRITES, _open_writes_of(session, scope))
        in_scope, unseen = cursor.fetchone()
    if in_scope and waited_ms < session.arm.config.chat.write_wait_ms:
        return None
    if query.kind == "opening":
        forgetting.at_opening(session.arm, session.number, instant)
    found = session.arm.policy.recall(query, ArmSpace(session.arm, scope), _when(session, instant), _asker(session))
    recall_ms = waited_ms + (time.perf_counter() - started) * 1000
    return _recalled(session, found, _key_summary(session), unseen=unseen, recall_ms=recall_ms, waited_ms=waited_ms)


async def recall_soon(
    *, session: SessionRef, query: Query, instant: datetime, context_from_seq: int, reads: Reads, known: tuple[int, int] | None = None
) -> Recalled:
    """As `recall`, for who must not hold a thread: the policy runs on the event loop, and all that it looks up is awaited.

    Args:
        session: made once by `session_ref`.
        query: kind reply or opening, with the utterances of the context window.
        instant: aware; when the reply is being made.
        context_from_seq: seq of the oldest turn that the prompt quotes anyway; exchanges from there on are out of scope. For
            an opener 1.
        reads: how this process asks the database.
        known: of the arm's earlier exchanges those not written yet: before `context_from_seq`, and in all. None: looked up.

    Raises:
        studyplatform.llm.embeddings.EndpointFailed: the encoder does not answer.
    """
    began = time.perf_counter()
    scope = _scope(session, context_from_seq)
    in_scope, unseen = (known if scope.before_seq else None) or await _open_writes(session, scope, reads)
    while in_scope and (time.perf_counter() - began) * 1000 < session.arm.config.chat.write_wait_ms:
        await asyncio.sleep(POLL_S)  # no event: the writer is another process
        in_scope, unseen = await _open_writes(session, scope, reads)
    waited_ms = (time.perf_counter() - began) * 1000
    if query.kind == "opening":
        await reads.run(partial(forgetting.at_opening, session.arm, session.number, instant))
    policy, now = session.arm.policy, _when(session, instant)
    found = await lookups.recall(policy, query, now, arm=session.arm, scope=scope, ask=_asker(session), reads=reads)
    summary = await reads.run(partial(_key_summary, session)) if _may_change(session) else session.key_summary
    recall_ms = (time.perf_counter() - began) * 1000
    return _recalled(session, found, summary, unseen=unseen, recall_ms=recall_ms, waited_ms=waited_ms)


def _scope(session: SessionRef, context_from_seq: int) -> Scope:
    return Scope(session.number, context_from_seq if session.arm.config.chat.same_session_recall else 0)


def _when(session: SessionRef, instant: datetime) -> When:
    return When(session.number, instant, session.arm.zone)


def _asker(session: SessionRef) -> Asker:
    return Asker(session.arm, purpose="recall", session_code=session.code, session_id=session.id, hurried=True)


def _recalled(session: SessionRef, found: Recall, key_summary: str, *, unseen: int, recall_ms: float, waited_ms: float) -> Recalled:
    chars = session.arm.policy.prompt_chars(session.arm.config.chat.memory_chars)
    return Recalled(
        used=found.used,
        passed_over=found.passed_over,
        lines=prompt_lines(found, chars, session.arm.zone),
        key_summary=key_summary,
        unseen_writes=unseen,
        recall_ms=recall_ms,
        waited_ms=waited_ms,
        why=found.why,
        looked=True,
    )


def _may_change(session: SessionRef) -> bool:
    """Whether people may take something back while they talk, so that the key summary is not what it was when the session began."""
    return session.arm.config.memory.about_me == "during"


def _key_summary(session: SessionRef) -> str:
    return shown_summary(session.arm, session.number) if _may_change(session) else session.key_summary


_OPEN_WRITES = """
    SELECT count(*) FILTER (WHERE s.number < %s OR (s.number = %s AND w.seq < %s)), count(*)
    FROM memory_memorywrite w JOIN study_session s ON s.id = w.session_id
    WHERE w.arm_id = %s AND w.state = 'open' AND (s.number < %s OR w.seq < (SELECT last_seq FROM study_session WHERE id = %s))"""


def _open_writes_of(session: SessionRef, scope: Scope) -> list[int]:
    """The parameters of `_OPEN_WRITES`."""
    return [session.number, session.number, scope.before_seq, session.arm.id, session.number, session.id]


async def _open_writes(session: SessionRef, scope: Scope, reads: Reads) -> Sequence[int]:
    """Of the arm's earlier exchanges those not written yet: in scope, and in all."""
    return (await reads.rows(_OPEN_WRITES, _open_writes_of(session, scope)))[0]


def prompt_lines(found: Recall, at_most_chars: int, zone: str = "UTC") -> tuple[str, ...]:
    """The used memories as quoted data, best first, together at most `at_most_chars` characters. `zone`: the participant's.

    Quotation marks, angle brackets and line breaks are taken out of the words (`memory.quotation`), so that nothing in a memory can end its
    quotation and speak as an instruction.
    """
    lines: list[str] = []
    left = at_most_chars
    for hit in found.used:
        line = describe(hit.memory, left, zone)
        if not line:
            break
        lines.append(line)
        left -= len(line)
    return tuple(lines)


def describe(memory: Memory, at_most: int, zone: str | None = None) -> str:
    """One memory in one line of at most `at_most` characters, every quotation closed; empty where not even a few words of it fit.

    With `zone`, the day on which it was said, there: against it "tomorrow" in somebody's words can be understood later.
    Where not all fits, what the bot said gives way first, down to a quarter of the room.
    """
    bot = unquoted(memory.bot) if memory.kind == "exchange" else ""
    said = unquoted(memory.user if memory.kind == "exchange" else memory.embed_text)
    day = f", {day_of(memory.at, zone)}" if zone else ""
    before = f"Conversation {memory.session}{day}: " + ("after “" if bot else "")
    between = ("” " if bot else "") + ("the person said “" if memory.kind == "exchange" else "“")
    room = at_most - len(f"{before}{between}”")
    if room < len(bot) + len(said):
        if room < LEAST_CHARS:
            return ""
        bot = shortened(bot, max(room - len(said), room // 4))
        said = shortened(said, room - len(bot))
    return f"{before}{bot}{between}{said}”"


def day_of(instant: datetime, zone: str) -> str:
    """A date in words, as it was where somebody lives.

    >>> from datetime import UTC
    >>> day_of(datetime(2026, 1, 5, 20, tzinfo=UTC), "Asia/Tokyo")
    '6 January 2026'
    """
    there = instant.astimezone(ZoneInfo(zone))
    return f"{there.day} {_MONTHS[there.month - 1]} {there.year}"


_MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]


_COUNT = """, hit AS (
  SELECT (h ->> 0)::bigint AS memory_id, (h ->> 1)::bool AS used, h -> 2 AS why FROM jsonb_array_elements(%(hits)s::jsonb) AS h
), moved AS (
  UPDATE memory_memory m
  SET r1 = m.r1 + h.used::int, r2 = m.r2 + (NOT h.used)::int, last_recalled = CASE WHEN h.used THEN %(hit_session)s ELSE m.last_recalled END
  FROM hit h WHERE m.id = h.memory_id AND m.arm_id = %(hit_arm)s AND EXISTS (SELECT FROM {once})
  RETURNING m.id, h.used, h.why
), counted AS (
  INSERT INTO memory_memoryevent (arm_id, memory_id, session_number, seq, what, why)
  SELECT %(hit_arm)s, id, %(hit_session)s, %(hit_seq)s, CASE WHEN used THEN 'used' ELSE 'passed_over' END, why FROM moved
)"""


_NOTHING = """, counted AS (
  INSERT INTO memory_memoryevent (arm_id, session_number, seq, what, why)
  SELECT %(hit_arm)s, %(hit_session)s, %(hit_seq)s, 'nothing', %(nothing)s::jsonb FROM {once}
)"""


def counters(recalled: Recalled, session: SessionRef, seq: int, *, once: str) -> tuple[str, dict[str, Any]]:
    """What the recall moves, as WITH clauses for the very statement that commits the reply, and their parameters.

    Nothing moves unless that statement's clause `once` has a row. `seq`: of the participant's turn that is answered; for an opener 1.
    R1 and last recalled of what was used, R2 of what was passed over, and one ledger event each with its rank and every term of its score; where
    nothing was found, one event that says so.
    """
    hits = [(hit.memory.id, True, _why(hit, rank, recalled)) for rank, hit in enumerate(recalled.used, start=1)]
    hits += [(hit.memory.id, False, _why(hit, rank, recalled)) for rank, hit in enumerate(recalled.passed_over, start=len(hits) + 1)]
    if not hits and not recalled.looked:
        return "", {}
    if not hits:
        why = {"unseen_writes": recalled.unseen_writes, **recalled.why}
        values = {"nothing": json.dumps(why, ensure_ascii=False, default=str)}
        return _NOTHING.format(once=once), {**values, "hit_arm": session.arm.id, "hit_session": session.number, "hit_seq": seq}
    return _COUNT.format(once=once), {
        "hits": json.dumps(hits),
        "hit_arm": session.arm.id,
        "hit_session": session.number,
        "hit_seq": seq,
    }


def _why(hit: Hit, rank: int, recalled: Recalled) -> dict[str, Any]:
    return {"rank": rank, "similarity": hit.similarity, "terms": dict(hit.terms), "unseen_writes": recalled.unseen_writes, **recalled.why}


def hits_in_order(recalled: Recalled | Recall) -> Sequence[Hit]:
    """Used, then passed over."""
    return (*recalled.used, *recalled.passed_over)
