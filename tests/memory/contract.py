"""What holds for every memory system. `check(policy)` runs all of it; the space is in memory, its encoder hashes words."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any

import numpy as np

from memory import encoders
from memory.policy import (
    Discard,
    Draft,
    Error,
    Exchange,
    Filter,
    Hit,
    Memory,
    MemoryPolicy,
    Query,
    Store,
    Update,
    Vector,
    When,
    newest_first,
)
from studyplatform.scripted import hashing, sentences

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = (
    "I live in Leeds with my sister Ana.",
    "My dog is called Biscuit.",
    "",
    "I am allergic to peanuts.",
    "私は京都に住んでいます。",
    "I love Thai curry more than anything!!!",
    "My dog is called Biscuit.",
    "What is the capital of Australia?",
    "🙂",
)


class MemorySpace:
    """A `Space` over a list, for a policy without a database."""

    encoder_name = "scripted/hash"

    def __init__(self) -> None:
        self.memories: list[Memory] = []

    def embed(self, texts: Sequence[str]) -> Vector:
        return np.array([hashing.embed(text) for text in texts], dtype=np.float32)

    def threshold(self, name: str) -> float:
        return encoders.get(self.encoder_name).thresholds[name]

    def nearest(
        self,
        query: str | Vector,
        *,
        where: Mapping[str, Sequence[str]] | None = None,
        at_least: float | None = None,
        limit: int | None = None,
    ) -> Sequence[Hit]:
        vector = self.embed([query])[0] if isinstance(query, str) else query
        found = [m for m in self.memories if all(_value(m, name) in values for name, values in (where or {}).items())]
        hits = [Hit(m, float(self.embed([m.embed_text])[0] @ vector)) for m in found]
        hits = [hit for hit in hits if at_least is None or hit.similarity >= at_least]
        return sorted(hits, key=lambda hit: (-hit.similarity, *newest_first(hit.memory)))[:limit]

    def newest(self, *, limit: int | None = None, where: Mapping[str, Sequence[str]] | None = None) -> Sequence[Memory]:
        found = [m for m in self.memories if all(_value(m, name) in values for name, values in (where or {}).items())]
        return sorted(found, key=newest_first)[:limit]

    def add(self, draft: Draft, session: int, seq: int) -> Memory:
        made = Memory(
            len(self.memories) + 1, draft.kind, session, seq, draft.bot, draft.user, draft.embed_text, draft.r1, 0, session, AT,
            draft.fields, draft.measures,
        )  # fmt: skip
        self.memories.append(made)
        return made


def _value(memory: Memory, name: str) -> Any:
    return memory.kind if name == "kind" else memory.fields.get(name)


def no_model(prompt: str, schema: Any, **variables: str) -> Any:
    raise AssertionError("this policy must not ask a model")


def scripted_model(prompt: str, schema: Any, **variables: str) -> Any:
    """What the scripted server answers, without the server."""
    said = " ".join(variables.values())
    return schema.model_validate(sentences.fit(schema.model_json_schema(), said, 0, said[:100]))


def model_for(policy: MemoryPolicy) -> Any:
    """A model for a policy that is told to ask one; any other must do without."""
    asks = getattr(policy, "controller", "") == "model" or hasattr(policy, "words") or hasattr(policy, "portraits")
    return scripted_model if asks else no_model


def filled(policy: MemoryPolicy) -> MemorySpace:
    """What the policy makes of the conversation."""
    space = MemorySpace()
    for i, said in enumerate(SAID):
        outcome = policy.encode(Exchange(1, 2 * i + 2, "How are you?", said, AT), space, model_for(policy))
        if isinstance(outcome, Store | Update):
            ended = {*outcome.replaces, *outcome.archives} if isinstance(outcome, Update) else set()
            space.memories = [m for m in space.memories if m.id not in ended]
            space.add(outcome.draft, 1, 2 * i + 2)
    return space


def check(policy: MemoryPolicy) -> None:
    """Every law of this module."""
    it_is_its_own_provenance(policy)
    every_exchange_ends_in_exactly_one_outcome(policy)
    it_recalls_only_what_is_there_and_no_memory_twice(policy)
    every_memory_gets_one_verdict(policy)
    it_is_deterministic(policy)
    it_finds_nothing_in_an_empty_store(policy)


def it_is_its_own_provenance(policy: MemoryPolicy) -> None:
    assert dataclasses.is_dataclass(policy)
    assert policy.name
    assert policy.version >= 1
    again = type(policy)(**dataclasses.asdict(policy))
    assert again == policy
    json.dumps(dataclasses.asdict(policy))
    try:
        policy.version_of_nothing = 1  # type: ignore[attr-defined]  # that is what is tried
    except dataclasses.FrozenInstanceError:
        return
    raise AssertionError("a policy's parameters must not change")


def every_exchange_ends_in_exactly_one_outcome(policy: MemoryPolicy) -> None:
    space = MemorySpace()
    for i, said in enumerate(SAID):
        outcome = policy.encode(Exchange(1, 2 * i + 2, "", said, AT), space, model_for(policy))
        assert isinstance(outcome, Store | Update | Discard | Filter | Error)
        json.dumps(dict(getattr(outcome, "why", {})))
        if isinstance(outcome, Store | Update):
            assert outcome.draft.embed_text or not said
            it_stores_an_exchange_as_it_was_said(outcome.draft, said)
            space.add(outcome.draft, 1, 2 * i + 2)


def it_stores_an_exchange_as_it_was_said(draft: Draft, said: str) -> None:
    """To the last character, in any script. A record is a statement made of it."""
    if draft.kind == "exchange":
        assert draft.user == said
        assert said in draft.embed_text


def queries() -> list[Query]:
    return [
        Query("reply", "What is my dog called?", ("Hello!", "What is my dog called?")),
        Query("opening", ""),
        Query("question", "What is the person allergic to?"),
        Query("reply", "", ()),
    ]


def it_recalls_only_what_is_there_and_no_memory_twice(policy: MemoryPolicy) -> None:
    space = filled(policy)
    known = {m.id for m in space.memories}
    for query in queries():
        found = policy.recall(query, space, When(2, AT), model_for(policy))
        ids = [hit.memory.id for hit in (*found.used, *found.passed_over)]
        assert set(ids) <= known
        assert len(ids) == len(set(ids))
        for hit in (*found.used, *found.passed_over):
            json.dumps(dict(hit.terms))
        json.dumps(dict(found.why))


def every_memory_gets_one_verdict(policy: MemoryPolicy) -> None:
    space = filled(policy)
    for draft in policy.consolidate(tuple(space.memories), "They live in Leeds.", space, model_for(policy)):
        space.add(draft, 1, 0)
    verdicts = policy.retain(tuple(space.memories), When(1, AT), Random(1))
    assert sorted(v.memory.id for v in verdicts) == sorted(m.id for m in space.memories)
    assert sorted(v.rank for v in verdicts) == list(range(1, len(verdicts) + 1))
    assert list(policy.retain((), When(1, AT), Random(1))) == []
    for verdict in verdicts:
        json.dumps(dict(verdict.terms))


def it_is_deterministic(policy: MemoryPolicy) -> None:
    first, second = filled(policy), filled(policy)
    assert first.memories == second.memories
    for query in queries():
        assert policy.recall(query, first, When(2, AT), model_for(policy)) == policy.recall(query, second, When(2, AT), model_for(policy))
    forwards = policy.retain(tuple(first.memories), When(1, AT), Random(1))
    backwards = policy.retain(tuple(reversed(first.memories)), When(1, AT), Random(1))
    assert {v.memory.id: v.kept for v in forwards} == {v.memory.id: v.kept for v in backwards}


def it_finds_nothing_in_an_empty_store(policy: MemoryPolicy) -> None:
    for query in queries():
        found = policy.recall(query, MemorySpace(), When(1, AT), model_for(policy))
        assert found.used == ()
        assert found.passed_over == ()
