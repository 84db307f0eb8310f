"""What a turn writes and reads, in as few statements as can be: two for a message and its reply.

Every statement is safe to run twice. Times are the database's. `Standing` is what the clock and the counters are made of.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import errors
from psycopg.types.json import Jsonb
from pydantic_core import to_json

from chat import pool
from chat.pool import PROCESS

Clauses = tuple[str, Mapping[str, Any]]  # further WITH clauses of a statement, each after a comma, and their parameters

LEASE_S = 8.0
MOST_COUNTED = 100  # open writes of an arm; that it has more says no more
MOST_ATTEMPTS = 6  # of those that take over from a dead writer; who asks again, or an outage that ends, is never refused

_STANDING = (
    "s.state, s.started_at, s.paused_at, s.paused_ms, s.pause_reason, s.chat_ended_at, s.closes_at, s.user_turns, s.last_seq, now() AS now"
)
_LEASE = f"now() + interval '{LEASE_S:g} seconds'"


@dataclass(frozen=True)
class Standing:
    """A session's row, as far as its clock, counters and rules go, and the database's time at which it was read."""

    state: str
    started_at: datetime | None
    paused_at: datetime | None
    paused_ms: int
    pause_reason: str
    chat_ended_at: datetime | None
    closes_at: datetime | None
    user_turns: int
    last_seq: int
    now: datetime


@dataclass(frozen=True)
class Said(Standing):
    """A stored message: its turn is `last_seq`, its reply is the row `reply_id`, already claimed by this process.

    `recent`: [seq, role, text] of the utterances before it, oldest first. `others`: processes that hold sockets of the session.
    `open_writes`: of the arm's earlier exchanges, how many are not written yet of those before the window, and of all,
    counted up to `MOST_COUNTED`.
    """

    reply_id: int
    recent: list[tuple[int, str, str]]
    others: list[str]
    open_writes: tuple[int, int]


async def standing(session: int) -> Standing | None:
    """Where a session stands."""
    return await pool.one(Standing, f"SELECT {_STANDING} FROM study_session s WHERE s.id = %(session)s", {"session": session})


async def standings(sessions: list[int]) -> dict[int, Standing]:
    """Where several sessions stand, by id; a session whose person has left the study counts as closed."""
    sql = f"""
    SELECT s.id, CASE WHEN p.left_at IS NULL THEN s.state ELSE 'closed' END AS state, {_STANDING.removeprefix("s.state, ")}
    FROM study_session s JOIN study_participant p ON p.id = s.participant_id WHERE s.id = ANY(%(sessions)s)
    """
    return {row.id: row for row in await pool.many(Watched, sql, {"sessions": sessions})}


@dataclass(frozen=True)
class Watched(Standing):
    id: int


@dataclass(frozen=True)
class Past(Standing):
    """`turns`: what came after `after`; `unfinished`: the reply to the last turn, where it is not done."""

    turns: list[dict[str, Any]]
    unfinished: dict[str, Any] | None


async def past(*, session: int, after: int) -> Past | None:
    """What a browser that shows everything up to seq `after` has missed."""
    sql = f"""
    SELECT {_STANDING},
      COALESCE((SELECT json_agg(json_build_object('seq', seq, 'role', role, 'client_id', client_id, 'reply_to', reply_to, 'text', text,
                 'at', COALESCE(done_at, created_at)) ORDER BY seq)
                FROM chat_turn WHERE session_id = s.id AND state = 'done' AND seq > %(after)s), '[]') AS turns,
      (SELECT json_build_object('reply_to', reply_to, 'attempt', attempt, 'text', partial, 'failed', state = 'failed', 'owner', owner)
       FROM chat_turn WHERE session_id = s.id AND state <> 'done' AND COALESCE(reply_to, 0) = s.last_seq) AS unfinished
    FROM study_session s WHERE s.id = %(session)s
    """
    return await pool.one(Past, sql, {"session": session, "after": after})


_SAY = f"""
WITH s AS (
  UPDATE study_session SET last_seq = last_seq + 1, user_turns = user_turns + 1, last_activity_at = now()
  WHERE id = %(session)s AND state = 'chatting' AND paused_at IS NULL
    AND (%(most)s::int IS NULL OR user_turns < %(most)s)
    AND NOT EXISTS (SELECT FROM chat_turn WHERE session_id = %(session)s AND (state = 'pending' OR client_id = %(client_id)s))
  RETURNING *
), mine AS (
  INSERT INTO chat_turn (session_id, seq, role, client_id, text, partial, state, owner, attempt, failure, done_at, acked_ms, over_floor, unseen_writes)
  SELECT id, last_seq, 'user', %(client_id)s, %(text)s, '', 'done', '', 0, '', now(), %(acked_ms)s, false, 0 FROM s
), reply AS (
  INSERT INTO chat_turn (session_id, role, reply_to, text, partial, state, owner, attempt, lease_until, failure, over_floor, unseen_writes)
  SELECT id, 'bot', last_seq, '', '', 'pending', %(process)s, 1, {_LEASE}, '', false, 0 FROM s
  RETURNING id
), write AS (
  INSERT INTO memory_memorywrite (arm_id, session_id, seq, state, outcome, flags, reason, raw, owner, attempt, failures)
  SELECT arm_id, id, last_seq, 'open', '', '{{}}', '', '', '', 0, 0 FROM s
)
SELECT {_STANDING}, reply.id AS reply_id,
  ARRAY(SELECT process FROM chat_connection WHERE session_id = %(session)s AND closed_at IS NULL AND process <> %(process)s) AS others,
  COALESCE((SELECT json_agg(json_build_array(seq, role, text) ORDER BY seq) FROM (
    SELECT seq, role, text FROM chat_turn WHERE session_id = %(session)s AND seq < s.last_seq AND state = 'done'
    ORDER BY seq DESC LIMIT %(window)s - 1) w), '[]') AS recent,
  (SELECT json_build_array(count(*) FILTER (WHERE session_id <> s.id OR seq <= s.last_seq - %(window)s), count(*))
   FROM (SELECT session_id, seq FROM memory_memorywrite WHERE arm_id = s.arm_id AND state = 'open' AND (session_id <> s.id OR seq < s.last_seq)
         ORDER BY session_id, seq LIMIT {MOST_COUNTED}) w) AS open_writes
FROM s, reply
"""


async def say(*, session: int, client_id: str, text: str, window: int, most: int | None, acked_ms: float) -> Said | None:
    """Store the participant's turn, its open reply and its memory write. None: nothing was stored, `why_not` says why.

    `window`: utterances in the prompt, this one included; `most`: turns that the study allows.
    """
    values = {
        "session": session, "client_id": client_id, "text": text, "window": window, "most": most, "acked_ms": acked_ms, "process": PROCESS,
    }  # fmt: skip
    try:
        return await pool.one(Said, _SAY, values)
    except errors.UniqueViolation:  # another tab was faster
        return None


@dataclass(frozen=True)
class WhyNot(Standing):
    seq: int | None
    pending: bool


async def why_not(*, session: int, client_id: str) -> WhyNot | None:
    """Why a message was not stored: `seq` is set if it had been stored before."""
    sql = f"""
    SELECT {_STANDING}, (SELECT seq FROM chat_turn WHERE session_id = s.id AND client_id = %(client_id)s) AS seq,
      EXISTS (SELECT FROM chat_turn WHERE session_id = s.id AND state = 'pending') AS pending
    FROM study_session s WHERE s.id = %(session)s
    """
    return await pool.one(WhyNot, sql, {"session": session, "client_id": client_id})


@dataclass(frozen=True)
class Claimed:
    """An unfinished reply that is this process's to write now. `reply_to` is None for the opener."""

    reply_id: int
    session_id: int
    reply_to: int | None
    attempt: int
    recent: list[tuple[int, str, str]]
    others: list[str]


_CLAIMED = """
SELECT c.id AS reply_id, c.session_id, c.reply_to, c.attempt,
  ARRAY(SELECT process FROM chat_connection k WHERE k.session_id = c.session_id AND k.closed_at IS NULL AND process <> %(process)s) AS others,
  COALESCE((SELECT json_agg(json_build_array(seq, role, text) ORDER BY seq) FROM chat_turn t
            WHERE t.session_id = c.session_id AND t.seq > COALESCE(c.reply_to, 0) - 100 AND t.state = 'done'), '[]') AS recent
FROM c
"""
_CLAIM = f"UPDATE chat_turn SET state = 'pending', attempt = attempt + 1, owner = %(process)s, partial = '', lease_until = {_LEASE}"


async def open_opener(session: int) -> Claimed | None:
    """Make and claim the opener of a session in which nothing was said; None if there is one."""
    sql = f"""
    WITH c AS (
      INSERT INTO chat_turn (session_id, role, text, partial, state, owner, attempt, lease_until, failure, over_floor, unseen_writes)
      SELECT id, 'bot', '', '', 'pending', %(process)s, 1, {_LEASE}, '', false, 0 FROM study_session
      WHERE id = %(session)s AND state = 'chatting' AND last_seq = 0
      ON CONFLICT DO NOTHING RETURNING *
    ) {_CLAIMED}
    """
    return await pool.one(Claimed, sql, {"session": session, "process": PROCESS})


async def claim_failed(*, session: int, reply_to: int | None) -> Claimed | None:
    """Claim the failed reply to the last turn once more; None if it is not there to be claimed."""
    sql = f"""
    WITH c AS (
      {_CLAIM}
      WHERE session_id = %(session)s AND role = 'bot' AND state = 'failed' AND reply_to IS NOT DISTINCT FROM %(reply_to)s
        AND EXISTS (SELECT FROM study_session WHERE id = %(session)s AND state = 'chatting' AND last_seq = COALESCE(%(reply_to)s::int, 0))
      RETURNING *
    ) {_CLAIMED}
    """
    return await pool.one(Claimed, sql, {"session": session, "reply_to": reply_to, "process": PROCESS})


async def claim_expired(most: int) -> list[Claimed]:
    """Claim replies whose writer is gone: the lease ran out."""
    sql = f"""
    WITH c AS (
      {_CLAIM}
      WHERE id IN (SELECT id FROM chat_turn WHERE state = 'pending' AND lease_until < now() ORDER BY lease_until LIMIT %(most)s
                   FOR UPDATE SKIP LOCKED)
      RETURNING *
    ) {_CLAIMED}
    """
    return await pool.many(Claimed, sql, {"most": most, "process": PROCESS})


async def claim_after_outage(sessions: list[int]) -> list[Claimed]:
    """Claim the failed last replies of these sessions, where an outage has stopped the clock for 15 s or more."""
    sql = f"""
    WITH c AS (
      {_CLAIM}
      WHERE id IN (
        SELECT t.id FROM chat_turn t JOIN study_session s ON s.id = t.session_id
        WHERE t.session_id = ANY(%(sessions)s) AND t.state = 'failed' AND COALESCE(t.reply_to, 0) = s.last_seq AND s.state = 'chatting'
          AND s.pause_reason = 'outage' AND GREATEST(s.paused_at, t.done_at) < now() - interval '15 seconds'
        FOR UPDATE OF t SKIP LOCKED)
      RETURNING *
    ) {_CLAIMED}
    """
    return await pool.many(Claimed, sql, {"sessions": sessions, "process": PROCESS})


async def renew(*, reply: int, attempt: int, partial: str) -> bool:
    """Keep the lease and the text so far; False: the reply is no longer this process's."""
    sql = f"UPDATE chat_turn SET partial = %(partial)s, lease_until = {_LEASE} WHERE id = %(reply)s AND state = 'pending' AND attempt = %(attempt)s"
    return await pool.run(sql, {"reply": reply, "attempt": attempt, "partial": partial}) == 1


async def give_up_leases() -> None:
    """A process that stops lets the next one begin at once."""
    sql = "UPDATE chat_turn SET lease_until = now() WHERE state = 'pending' AND owner = %(process)s"
    await pool.run(sql, {"process": PROCESS})


@dataclass(frozen=True)
class Call:
    """One row for LLMCall."""

    study: int
    purpose: str
    prompt: str
    prompt_sha256: str
    model_asked: str
    parameters: dict[str, Any]
    messages: list[Any]
    tag: str
    raw: str = ""
    error: str = ""
    model_answered: str = ""
    finish_reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost: Any = 0
    first_token_ms: float | None = None
    total_ms: float | None = None


_CALL = """
  INSERT INTO llm_llmcall (study_id, session_id, seq, purpose, prompt, prompt_sha256, model_asked, model_answered, parameters, messages, raw, error,
    finish_reason, tokens_in, tokens_out, tokens_cached, cost, first_token_ms, total_ms, tag)
  SELECT %(study)s, session_id, seq, %(purpose)s, %(prompt)s, %(prompt_sha256)s, %(model_asked)s, %(model_answered)s, %(parameters)s, %(messages)s,
    %(raw)s, %(error)s, %(finish_reason)s, %(tokens_in)s, %(tokens_out)s, %(tokens_cached)s, %(cost)s, %(call_first_ms)s, %(call_ms)s, %(tag)s
"""


def _call_values(call: Call) -> dict[str, Any]:
    values = dict(vars(call))
    values["parameters"], values["messages"] = Jsonb(call.parameters, dumps=_dumps), Jsonb(call.messages, dumps=_dumps)
    values["call_first_ms"], values["call_ms"] = values.pop("first_token_ms"), values.pop("total_ms")
    return values


def _dumps(value: Any) -> str:
    return to_json(value).decode().replace("\\u0000", "")


@dataclass(frozen=True)
class Times:
    """Of a reply, in ms from the ack; see `Turn`."""

    recall_ms: float | None = None
    first_token_ms: float | None = None
    total_ms: float | None = None
    over_floor: bool = False
    unseen_writes: int = 0


_COMMIT = """
WITH mine AS (
  SELECT id, session_id FROM chat_turn WHERE id = %(reply)s AND state = 'pending' AND attempt = %(attempt)s FOR UPDATE
), s AS (
  UPDATE study_session SET last_seq = last_seq + 1, last_activity_at = now(),
    paused_ms = CASE WHEN pause_reason = 'outage' THEN paused_ms + (EXTRACT(EPOCH FROM now() - paused_at) * 1000)::bigint ELSE paused_ms END,
    paused_at = CASE WHEN pause_reason = 'outage' THEN NULL ELSE paused_at END,
    pause_reason = CASE WHEN pause_reason = 'outage' THEN '' ELSE pause_reason END
  FROM mine WHERE study_session.id = mine.session_id RETURNING study_session.*
), t AS (
  UPDATE chat_turn SET seq = s.last_seq, text = %(text)s, partial = '', state = 'done', failure = '', done_at = now(), lease_until = NULL,
    recall_ms = %(recall_ms)s, first_token_ms = %(first_token_ms)s, total_ms = %(total_ms)s, over_floor = %(over_floor)s,
    unseen_writes = %(unseen_writes)s
  FROM s WHERE chat_turn.id = %(reply)s RETURNING chat_turn.session_id, chat_turn.seq
)"""
_LOGGED = f", call AS ({_CALL} FROM t)"


async def commit(*, reply: int, attempt: int, text: str, times: Times, call: Call | None, counts: Clauses) -> Standing | None:
    """Give the reply its text and seq, with its call and what `counts`, all or nothing: one statement.

    `counts`: clauses that do nothing unless the clause `t` has a row. None: somebody else has the reply by now. An outage
    ends with a reply.
    """
    values = {"reply": reply, "attempt": attempt, "text": text.replace("\0", ""), **vars(times), **(_call_values(call) if call else {})}
    counting, counted = counts
    sql = f"{_COMMIT}{_LOGGED if call else ''}{counting} SELECT {_STANDING} FROM s"
    return await pool.one(Standing, sql, {**values, **counted})


async def log_call(call: Call, *, reply: int, attempt: int) -> None:
    """A try that failed and is followed by another; of a reply that was taken away meanwhile, nothing is written down."""
    sql = f"""
    WITH t AS (
      SELECT session_id, COALESCE(reply_to, 1) AS seq FROM chat_turn
      WHERE id = %(reply)s AND state = 'pending' AND attempt = %(attempt)s FOR UPDATE
    ) {_CALL} FROM t
    """
    await pool.run(sql, {**_call_values(call), "reply": reply, "attempt": attempt})


async def fail(*, reply: int, attempt: int, failure: str, call: Call | None) -> bool:
    """The reply has failed: it may be asked for again. False: somebody else has it by now."""
    logged = f", call AS ({_CALL} FROM t)" if call else ""
    sql = f"""
    WITH t AS (
      UPDATE chat_turn SET state = 'failed', failure = %(failure)s, done_at = now(), lease_until = NULL, partial = ''
      WHERE id = %(reply)s AND state = 'pending' AND attempt = %(attempt)s RETURNING session_id, reply_to AS seq
    ){logged}
    SELECT count(*) AS count FROM t
    """
    values = {"reply": reply, "attempt": attempt, "failure": failure, **(_call_values(call) if call else {})}
    counted = await pool.one(_Count, sql, values)
    return counted is not None and counted.count == 1


@dataclass(frozen=True)
class _Count:
    count: int


async def connected(session: int) -> int:
    """Write down that a socket was opened; the row's id."""
    sql = "INSERT INTO chat_connection (session_id, process, reason) VALUES (%(session)s, %(process)s, '') RETURNING id AS count"
    row = await pool.one(_Count, sql, {"session": session, "process": PROCESS})
    return row.count if row else 0


async def disconnected(connection: int, *, code: int | None, reason: str) -> None:
    """Write down that a socket was closed, and why."""
    sql = "UPDATE chat_connection SET closed_at = now(), code = %(code)s, reason = %(reason)s WHERE id = %(id)s AND closed_at IS NULL"
    await pool.run(sql, {"id": connection, "code": code, "reason": reason[:40]})


async def renew_connections() -> None:
    """This process's sockets are alive; those of a process that has been silent for 90 s are not."""
    sql = "UPDATE chat_connection SET seen_at = now() WHERE process = %(process)s AND closed_at IS NULL"
    await pool.run(sql, {"process": PROCESS})
    sql = "UPDATE chat_connection SET closed_at = now(), reason = 'process lost' WHERE closed_at IS NULL AND seen_at < now() - interval '90 seconds'"
    await pool.run(sql, {})


async def others(session: int) -> set[str]:
    """Other processes that hold sockets of a session."""
    sql = "SELECT ARRAY(SELECT process FROM chat_connection WHERE session_id = %(session)s AND closed_at IS NULL AND process <> %(process)s) AS names"
    row = await pool.one(_Names, sql, {"session": session, "process": PROCESS})
    return set(row.names) if row else set()


@dataclass(frozen=True)
class _Names:
    names: list[str]
