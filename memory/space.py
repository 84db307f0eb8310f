"""One arm's memories in Postgres, searched exactly.

An arm holds hundreds of memories: a B-tree finds the arm's active ones, and all of them are compared. No approximate index, whose answers would
depend on the order of building and on other people's rows. The arm is a required argument of every query here, and every query
starts from it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from django.db import connection
from django.db.backends.utils import CursorDebugWrapper, CursorWrapper
from psycopg import Cursor
from pydantic_core import to_json

from memory.arms import ArmRef
from memory.policy import Hit, Memory, Vector

_KEPT = "m.id, m.kind, m.session_number, m.seq, m.bot_text, m.user_text, m.embed_text, m.r1, m.r2, m.last_recalled"
# An instant as a number: psycopg reads a timestamp in Python, which takes as long as the rest of the row.
_COLUMNS = f"{_KEPT}, extract(epoch FROM m.happened_at)::float8 AS instant, m.fields"
_FOUND = f"{_KEPT}, m.instant, m.fields"
_NEWEST = "m.session_number DESC, (CASE m.seq WHEN 0 THEN 2147483647 ELSE m.seq END) DESC, m.kind"
_FILTERS = {"kind": "m.kind", "aspect": "m.fields->>'aspect'", "intent": "m.fields->>'intent'"}


@dataclass(frozen=True)
class Scope:
    """Which of the arm's memories may be found, by a recall those that the participant does not want to be brought up never.

    `before`: only sessions before this one, and of this one the exchanges before `before_seq` (0: none of them, a
    running session out of scope). None: all sessions.
    """

    before: int | None = None
    before_seq: int = 0


EVERYTHING = Scope()


class ArmSpace:
    """The `memory.policy.Space` of one arm. Embeddings of one instance are kept, so that a text is encoded once per decision."""

    def __init__(self, arm: ArmRef, scope: Scope = EVERYTHING) -> None:
        self._arm = arm
        self._scope = scope
        self._known: dict[str, Vector] = {}

    @property
    def encoder_name(self) -> str:
        return self._arm.encoder.name

    def embed(self, texts: Sequence[str]) -> Vector:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._arm.encoder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts]) if texts else np.zeros((0, self._arm.encoder.dimension), dtype=np.float32)

    def threshold(self, name: str) -> float:
        return self._arm.threshold(name)

    def nearest(
        self,
        query: str | Vector,
        *,
        where: Mapping[str, Sequence[str]] | None = None,
        at_least: float | None = None,
        limit: int | None = None,
    ) -> Sequence[Hit]:
        vector = self.embed([query[-self._arm.encoder.window_chars :]])[0] if isinstance(query, str) else query
        with planned_once() as cursor:
            cursor.execute(*nearest_sql(self._arm, self._scope, vector, where or {}, at_least, limit))
            rows = cursor.fetchall()
        return hits(rows)

    def newest(self, *, limit: int | None = None, where: Mapping[str, Sequence[str]] | None = None) -> Sequence[Memory]:
        with planned_once() as cursor:
            cursor.execute(*newest_sql(self._arm, self._scope, where or {}, limit))
            return [memory(row) for row in cursor.fetchall()]


@contextmanager
def planned_once() -> Iterator[CursorWrapper]:
    """A cursor on Django's connection whose statements the server plans once per connection: recall's take longer to plan than to run.

    Parameters go to the server apart from the text, so the types of literals that it cannot infer must be given.
    """
    connection.ensure_connection()
    wrapper = CursorDebugWrapper if connection.queries_logged else CursorWrapper
    with Cursor(connection.connection) as cursor:
        yield wrapper(cursor, connection)


def memories(arm: ArmRef, *, session: int | None = None) -> list[Memory]:
    """Every active memory of the arm, newest first; of one session only, where a number is given."""
    only = " AND m.session_number = %s" if session is not None else ""
    join, measured = _measures_sql(arm)
    sql = (
        f"SELECT {_COLUMNS}, 0, {measured} FROM memory_memory m {join} WHERE m.arm_id = %s AND m.status = 'active'{only} ORDER BY {_NEWEST}"  # noqa: S608  # only constants are joined in
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [*_measures_params(arm), arm.id, *([session] if session is not None else [])])
        return [memory(row) for row in cursor.fetchall()]


def named(arm: ArmRef, ids: Sequence[int]) -> list[Memory]:
    """These memories of the arm, whatever has become of them, in no order; without measures."""
    sql = f"SELECT {_COLUMNS}, 0, m.measures FROM memory_memory m WHERE m.arm_id = %s AND m.id = ANY(%s)"  # noqa: S608  # only constants are joined in
    with connection.cursor() as cursor:
        cursor.execute(sql, [arm.id, list(ids)])
        return [memory(row) for row in cursor.fetchall()]


def literal(vector: Vector) -> str:
    """A vector as pgvector reads it. Rust's writer of JSON takes a fifth of the time that `str` takes."""
    return to_json(vector.tolist()).decode()


def _in_scope(arm: ArmRef, scope: Scope, where: Mapping[str, Sequence[str]]) -> tuple[list[str], list[Any]]:
    """The conditions that a memory must meet to be found at all, and their parameters."""
    conditions = ["m.arm_id = %s", "m.status = 'active'"]
    params: list[Any] = [arm.id]
    if scope.before is not None:
        conditions.append("(m.session_number < %s OR (m.session_number = %s AND m.seq BETWEEN 1 AND %s))")
        params += [scope.before, scope.before, scope.before_seq - 1]
        conditions.append("m.muted_at IS NULL")  # the one rule for what is not to be brought up: no recall of any arm finds it
    for name, values in where.items():
        conditions.append(f"{_FILTERS[name]} = ANY(%s)")
        params.append(list(values))
    return conditions, params


def newest_sql(arm: ArmRef, scope: Scope, where: Mapping[str, Sequence[str]], limit: int | None) -> tuple[str, list[Any]]:
    """The statement that finds the newest memories in scope, and its parameters."""
    conditions, params = _in_scope(arm, scope, where)
    join, measured = _measures_sql(arm)
    sql = f"SELECT {_COLUMNS}, 0, {measured} FROM memory_memory m {join} WHERE {' AND '.join(conditions)} ORDER BY {_NEWEST} LIMIT %s"  # noqa: S608  # only constants are joined in
    return sql, [*_measures_params(arm), *params, limit]


def nearest_sql(
    arm: ArmRef, scope: Scope, vector: Vector, where: Mapping[str, Sequence[str]], at_least: float | None, limit: int | None
) -> tuple[str, list[Any]]:
    """The statement that finds the memories in scope nearest to a vector, and its parameters."""
    conditions, params = _in_scope(arm, scope, where)
    conditions.append("m.vector IS NOT NULL")
    join, measured = _measures_sql(arm)
    found = f"SELECT {_COLUMNS}, -(m.vector <#> %s::vector) AS similarity, {measured} FROM memory_memory m {join} WHERE {' AND '.join(conditions)}"  # noqa: S608  # only constants are joined in
    over = "WHERE m.similarity >= %s" if at_least is not None else ""
    sql = f"SELECT {_FOUND}, m.similarity, m.measured FROM ({found}) m {over} ORDER BY m.similarity DESC, {_NEWEST} LIMIT %s"  # noqa: S608  # only constants are joined in
    thresholds = [at_least] if at_least is not None else []
    return sql, [literal(vector), *_measures_params(arm), *params, *thresholds, limit]


def _measures_sql(arm: ArmRef) -> tuple[str, str]:
    """The join that brings an exchange's measures, where the arm's policy wants any."""
    if not arm.policy.measures:
        return "", "m.measures AS measured"
    join = """
        LEFT JOIN LATERAL (
          SELECT jsonb_object_agg(v.name, v.value) AS found
          FROM unnest(%s::int[], %s::bigint[]) AS source(number, session_id)
          JOIN memory_measurement v ON v.session_id = source.session_id AND v.seq = m.seq
          JOIN unnest(%s::text[], %s::text[], %s::text[]) AS wanted(name, scorer, version)
            ON v.name = wanted.name AND v.scorer = wanted.scorer AND v.version = wanted.version
          WHERE source.number = m.session_number
        ) measured ON m.seq > 0"""
    return join, "coalesce(measured.found, '{}'::jsonb) || m.measures AS measured"


def _measures_params(arm: ArmRef) -> list[Any]:
    if not arm.policy.measures:
        return []
    keys = [scorer.key for scorer in arm.scorers]
    return [list(arm.sources), list(arm.sources.values()), *([key[i] for key in keys] for i in range(3))]


def hits(rows: Sequence[Sequence[Any]]) -> list[Hit]:
    """What `nearest_sql` found, in its order."""
    return [Hit(memory(row), float(row[-2])) for row in rows]


def memory(row: Sequence[Any]) -> Memory:
    """A row of `nearest_sql` or `newest_sql`."""
    return Memory(
        id=row[0],
        kind=row[1],
        session=row[2],
        seq=row[3],
        bot=row[4],
        user=row[5],
        embed_text=row[6],
        r1=row[7],
        r2=row[8],
        last_recalled=row[9],
        at=datetime.fromtimestamp(row[10], UTC),
        fields=_json(row[11]),
        measures=_json(row[-1]),
    )


def _json(value: Any) -> dict[str, Any]:
    return json.loads(value) if isinstance(value, str) else dict(value)
