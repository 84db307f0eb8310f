"""AMU: each utterance becomes a structured record, is admitted or not, and is stored, fused with what it updates, or discarded.

Record {aspect, intent, is_personal, entities, summary, sentiment, confidence}; admission G = p·q_a·q_i·r_e·r_s·c ≥ τ_g; candidates of the same
(aspect, intent), else of the same aspect and a compatible intent, over τ_s; a relation to each; a deterministic action (AMU
paper, sections on admission and management). Who describes and compares is a controller: `prototype` (nearest labelled examples in
the embedding space) here; a language model's comes through `ask`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from memory.policies.amu_controllers import CONTROLLERS, Controller, Record, Relation
from memory.policy import (
    OPENING_QUERY,
    Ask,
    Discard,
    Draft,
    Exchange,
    Filter,
    Hit,
    MemoryPolicy,
    Outcome,
    Query,
    Recall,
    Space,
    Store,
    Update,
    When,
)

# Symmetric, "other" with none. The paper leaves the relation open: this is ours.
COMPATIBLE: Mapping[str, tuple[str, ...]] = {
    "inform": ("express", "reflect", "plan", "request"),
    "express": ("inform", "reflect"),
    "reflect": ("inform", "express", "plan"),
    "plan": ("inform", "reflect", "request"),
    "request": ("inform", "plan"),
}


@dataclass(frozen=True)
class Amu(MemoryPolicy):
    """Parameters.

    `admission`: τ_g, the least G that is admitted (0.8: only confidence .9). `candidate_threshold`: τ_s, `recall_threshold`: τ_r,
    cosines; None: the encoder's calibrated ones for the paper's .60 and .55. `relation_confidence`: a relation counts only above it. `top_k`: records
    used in a prompt. `compatible_intents`: whether candidates of a compatible intent are looked at when there are none of the same.
    `fall_back`: whether recall searches all records when none has the query's aspect.
    """

    name: ClassVar[str] = "amu"
    version: ClassVar[int] = 1

    controller: Literal["prototype"] = "prototype"
    admission: float = 0.8
    candidate_threshold: float | None = None
    recall_threshold: float | None = None
    relation_confidence: float = 0.7
    top_k: int = 3
    compatible_intents: bool = True
    fall_back: bool = True

    def encode(self, exchange: Exchange, space: Space, ask: Ask) -> Outcome:
        """Store, update, discard or filter, from the participant's words alone."""
        controller = CONTROLLERS[self.controller]
        record = controller.describe(exchange.user, space, ask)
        terms = admission_terms(record)
        gate = 1.0
        for value in terms.values():
            gate *= value
        why: dict[str, Any] = {"gate": gate, "terms": terms, "admission": self.admission}
        if gate < self.admission:
            return Filter(_refusal(terms), why)
        candidates, branch = self._candidates(record, space)
        why |= {"branch": branch, "candidates": [{"memory": hit.memory.id, "similarity": hit.similarity} for hit in candidates]}
        return self._act(exchange, record, candidates, controller, space, ask, why)

    def _candidates(self, record: Record, space: Space) -> tuple[list[Hit], str]:
        """(records over τ_s, which branch found any in scope): the same aspect and intent, else a compatible intent."""
        at_least = self.candidate_threshold if self.candidate_threshold is not None else space.threshold("amu_candidate")
        branches: dict[str, tuple[str, ...]] = {"same": (record.intent,)}
        if self.compatible_intents:
            branches["compatible"] = COMPATIBLE.get(record.intent, ())
        for branch, intents in branches.items():
            found = space.nearest(record.summary, where={"kind": ("record",), "aspect": (record.aspect,), "intent": intents})
            if found:
                return [hit for hit in found if hit.similarity >= at_least], branch
        return [], "none"

    def _act(
        self,
        exchange: Exchange,
        record: Record,
        candidates: Sequence[Hit],
        controller: Controller,
        space: Space,
        ask: Ask,
        why: dict[str, Any],
    ) -> Outcome:
        relations = [(hit, self._relation(controller, record, hit, space, ask)) for hit in candidates]
        why["relations"] = [{"memory": hit.memory.id, "relation": r.kind, "confidence": r.confidence, **r.why} for hit, r in relations]
        updates = [hit.memory for hit, relation in relations if relation.kind == "update"]
        duplicates = [hit.memory for hit, relation in relations if relation.kind == "duplicate"]
        if not updates and duplicates:
            return Discard(duplicates[0].id, why)
        flags = ("relation_failed",) if relations and all(relation.kind == "none" for _, relation in relations) else ()
        if not updates:
            return Store(_draft(exchange, record), flags, why)
        fused = controller.fuse(record, [memory.fields for memory in updates], space, ask)
        if fused is None:
            return Store(_draft(exchange, record), ("fusion_failed",), why)
        draft = _draft(exchange, replace(fused, aspect=record.aspect, intent=record.intent))
        return Update(draft, tuple(m.id for m in updates), tuple(m.id for m in duplicates), (), why)

    def _relation(self, controller: Controller, record: Record, hit: Hit, space: Space, ask: Ask) -> Relation:
        """A relation that is not sure enough counts as none, which is treated as separate."""
        relation = controller.relate(record, hit, space, ask)
        return relation if relation.confidence > self.relation_confidence else replace(relation, kind="none")

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """Up to `top_k` records of the query's aspect over τ_r; of any aspect, where the query has none or no record has it."""
        at_least = self.recall_threshold if self.recall_threshold is not None else space.threshold("amu_recall")
        text = OPENING_QUERY if query.kind == "opening" or not query.last else query.last
        aspect = CONTROLLERS[self.controller].aspect_of(text, space, ask) if query.kind != "opening" else None
        records = {"kind": ("record",)}
        hits: Sequence[Hit] = ()
        if aspect is not None:
            found = space.nearest(text, where={**records, "aspect": (aspect,)}, limit=self.top_k)
            hits = [hit for hit in found if hit.similarity >= at_least]
            if found or not self.fall_back:
                return Recall(tuple(hits), (), {"threshold": at_least, "aspect": aspect, "branch": "aspect"})
        hits = space.nearest(text, where=records, at_least=at_least, limit=self.top_k)
        return Recall(tuple(hits), (), {"threshold": at_least, "aspect": aspect, "branch": "all"})


def admission_terms(record: Record) -> dict[str, float]:
    """The factors of G: personal, a known aspect, a known intent (no pure request), entities, a summary, the confidence."""
    return {
        "personal": float(record.is_personal),
        "aspect": float(record.aspect != "other"),
        "intent": float(record.intent != "other" and not (record.intent == "request" and not record.is_personal)),
        "entities": float(bool(record.entities)),
        "summary": float(bool(record.summary.strip())),
        "confidence": record.confidence,
    }


def _refusal(terms: Mapping[str, float]) -> str:
    missing = [name for name, value in terms.items() if value == 0]
    return f"no {', '.join(missing)}" if missing else "not sure enough"


def _draft(exchange: Exchange, record: Record) -> Draft:
    return Draft("record", "", exchange.user, record.summary, fields=record.fields())
