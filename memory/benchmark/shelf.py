"""One arm's memories in memory: the `Space` of a benchmark, and what writing, recalling and forgetting do to it.

The same rules as in the database (`memory.space`, `memory.remembering`, `memory.recalling`, `memory.forgetting`), and beside each memory the turns that
it was made of.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import numpy as np

from memory.policy import Discard, Draft, Exchange, Hit, Memory, Outcome, Recall, Store, Update, Vector, Verdict, newest_first

STRUCTURE = ("aspect", "intent")


class Encodes(Protocol):
    """What a shelf needs of an encoder."""

    @property
    def name(self) -> str: ...

    @property
    def window_chars(self) -> int: ...

    def threshold(self, name: str) -> float: ...

    def embed(self, texts: Sequence[str]) -> Vector: ...


@dataclass(frozen=True)
class _Item:
    memory: Memory
    vector: Vector
    turns: frozenset[str]


class Shelf:
    """`structured` off: searches do not filter by aspect or intent (an ablation). `before_seq`: of the running session only exchanges before it are in scope."""

    def __init__(self, encoding: Encodes, *, structured: bool = True) -> None:
        self._encoding = encoding
        self._structured = structured
        self._items: dict[int, _Item] = {}
        self._made = 0
        self.before_seq: int | None = None

    def copy(self) -> "Shelf":
        """The same memories; what happens to one shelf does not happen to the other."""
        other = Shelf(self._encoding, structured=self._structured)
        other._items, other._made = dict(self._items), self._made
        return other

    @property
    def encoder_name(self) -> str:
        return self._encoding.name

    def embed(self, texts: Sequence[str]) -> Vector:
        return self._encoding.embed(texts)

    def threshold(self, name: str) -> float:
        return self._encoding.threshold(name)

    def nearest(
        self,
        query: str | Vector,
        *,
        where: Mapping[str, Sequence[str]] | None = None,
        at_least: float | None = None,
        limit: int | None = None,
    ) -> Sequence[Hit]:
        vector = self.embed([query[-self._encoding.window_chars :]])[0] if isinstance(query, str) else query
        found = self._in_scope(where)
        if not found:
            return []
        cosines = np.stack([item.vector for item in found]) @ vector
        hits = [Hit(item.memory, float(cosine)) for item, cosine in zip(found, cosines, strict=True)]
        hits = [hit for hit in hits if at_least is None or hit.similarity >= at_least]
        return sorted(hits, key=lambda hit: (-hit.similarity, *newest_first(hit.memory), hit.memory.kind))[:limit]

    def newest(self, *, limit: int | None = None, where: Mapping[str, Sequence[str]] | None = None) -> Sequence[Memory]:
        return sorted((item.memory for item in self._in_scope(where)), key=lambda m: (*newest_first(m), m.kind))[:limit]

    def _in_scope(self, where: Mapping[str, Sequence[str]] | None) -> list[_Item]:
        wanted = {name: values for name, values in (where or {}).items() if self._structured or name not in STRUCTURE}
        return [
            item
            for item in self._items.values()
            if (self.before_seq is None or 1 <= item.memory.seq < self.before_seq)
            and all(_value(item.memory, name) in values for name, values in wanted.items())
        ]

    def memories(self) -> list[Memory]:
        return list(self.newest())

    def turns_of(self, memory_id: int) -> frozenset[str]:
        """The ids of the turns that a memory was made of."""
        return self._items[memory_id].turns

    def write(self, exchange: Exchange, turn: str, outcome: Outcome) -> None:
        """Carry an outcome out, as `memory.remembering` does: what is updated goes, and its sources and counters with the new memory."""
        if isinstance(outcome, Store):
            self._insert(outcome.draft, exchange, frozenset({turn}))
        elif isinstance(outcome, Update):
            old = [self._items.pop(memory_id) for memory_id in dict.fromkeys((*outcome.replaces, *outcome.archives))]
            self._insert(outcome.draft, exchange, frozenset({turn}).union(*(item.turns for item in old)), [item.memory for item in old])
        elif isinstance(outcome, Discard) and outcome.of not in self._items:
            raise KeyError(f"there is no memory {outcome.of} that could be repeated")

    def add(self, draft: Draft, session: int, at: datetime, turns: frozenset[str]) -> None:
        """A finished session's own memory (seq 0)."""
        self._insert(draft, Exchange(session, 0, "", "", at), turns)

    def count(self, found: Recall, session: int) -> None:
        """R1 and last recalled of what was used, R2 of what was passed over."""
        for hit in found.used:
            self._change(hit.memory.id, r1=self._items[hit.memory.id].memory.r1 + 1, last_recalled=session)
        for hit in found.passed_over:
            self._change(hit.memory.id, r2=self._items[hit.memory.id].memory.r2 + 1)

    def measure(self, measures: Mapping[int, Mapping[str, float]]) -> None:
        """What was scored about the exchanges, by seq; a memory's own measures win."""
        for memory_id, item in list(self._items.items()):
            if item.memory.seq in measures:
                self._change(memory_id, measures={**measures[item.memory.seq], **item.memory.measures})

    def keep(self, verdicts: Sequence[Verdict]) -> None:
        """Forget what is not kept."""
        for verdict in verdicts:
            if not verdict.kept:
                del self._items[verdict.memory.id]

    def _insert(self, draft: Draft, exchange: Exchange, turns: frozenset[str], heirs_of: Sequence[Memory] = ()) -> None:
        self._made += 1
        memory = Memory(
            id=self._made,
            kind=draft.kind,
            session=exchange.session,
            seq=exchange.seq,
            bot=draft.bot,
            user=draft.user,
            embed_text=draft.embed_text,
            r1=draft.r1 + sum(old.r1 for old in heirs_of),
            r2=sum(old.r2 for old in heirs_of),
            last_recalled=max([exchange.session, *(old.last_recalled for old in heirs_of)]),
            at=exchange.at,
            fields=dict(draft.fields),
            measures=dict(draft.measures),
        )
        self._items[memory.id] = _Item(memory, self.embed([draft.embed_text])[0], turns)

    def _change(self, memory_id: int, **values: Any) -> None:
        item = self._items[memory_id]
        self._items[memory_id] = replace(item, memory=replace(item.memory, **values))


def _value(memory: Memory, name: str) -> Any:
    return memory.kind if name == "kind" else memory.fields.get(name)
