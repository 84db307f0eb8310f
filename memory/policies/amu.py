"""AMU: each utterance becomes a structured record, is admitted or not, and is stored, fused with what it updates, or discarded.

Record {aspect, intent, is_personal, entities, summary, sentiment, confidence}; admission G = p·q_a·q_i·r_e·r_s·c ≥ τ_g; candidates of the same
(aspect, intent), else of the same aspect and a compatible intent, over τ_s; a relation to each; a deterministic action (AMU
paper, sections on admission and management). Who labels, describes and compares is a controller: `prototype` (a small classifier over
embeddings) or `model` (a language model through `ask`: the paper's). Nothing is stored before all of it is decided, so a fusion is whole or
has not happened.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar, Literal

from memory.policies.amu_controllers import CONTROLLERS, Controller, Labels, Record, Relation, Said, Slot
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
    Unparsable,
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
RECORDS: Mapping[str, tuple[str, ...]] = {"kind": ("record",)}


@dataclass(frozen=True)
class Amu(MemoryPolicy):
    """Parameters.

    `controller`: who labels, describes, compares and fuses. `admission`: τ_g, the least G that is admitted (0.8: only confidence .9).
    `personal_requests`: whether a request that holds a fact about the person may be admitted (the paper: yes; its code filters all).
    `candidate_threshold`: τ_s, `recall_threshold`: τ_r, cosines; None: the encoder's own (the paper's .60 and .55 for its encoder, calibrated
    ones for another). `relation_confidence`: a relation counts only above it. `most_candidates`: of the most similar, how many are compared.
    `compatible_intents`: whether candidates of a compatible intent are looked at when there are none of the same. `top_k`: records used in a
    prompt. `fall_back`: whether recall searches all records when none has the query's aspect. `query_form`: what is searched with, the
    participant's message or the phrase for what it needs to know; then a query that needs nothing, or not with more than
    `query_confidence`, recalls nothing.
    """

    name: ClassVar[str] = "amu"
    version: ClassVar[int] = 2

    controller: Literal["prototype", "model"] = "prototype"
    admission: float = 0.8
    personal_requests: bool = True
    candidate_threshold: float | None = None
    recall_threshold: float | None = None
    relation_confidence: float = 0.7
    most_candidates: int = 8
    top_k: int = 3
    compatible_intents: bool = True
    fall_back: bool = True
    query_form: Literal["message", "slot"] = "message"
    query_confidence: float = 0.8

    def encode(self, exchange: Exchange, space: Space, ask: Ask) -> Outcome:
        """Store, update, discard or filter, from the participant's words alone.

        Raises:
            Unparsable: the controller's labels or description could not be read.
        """
        controller = CONTROLLERS[self.controller]
        said = Said(exchange.user, exchange.at)
        if not said.text.strip():
            return Filter("nothing was said")
        labels = controller.label(said, space, ask)
        terms = label_terms(labels, personal_requests=self.personal_requests)
        if not prod(terms.values()) and self.admission > 0:
            return Filter(_refusal(terms), {"gate": 0.0, "terms": terms, "admission": self.admission})
        record = controller.describe(said, labels, space, ask)
        terms |= record_terms(record)
        why: dict[str, Any] = {"gate": prod(terms.values()), "terms": terms, "admission": self.admission}
        if why["gate"] < self.admission:
            return Filter(_refusal(terms), why)
        candidates, found = self._candidates(record, controller, space)
        return self._act(exchange, record, candidates, controller, space, ask, why | found)

    def _candidates(self, record: Record, controller: Controller, space: Space) -> tuple[Sequence[Hit], dict[str, Any]]:
        """The records over τ_s of the same aspect and intent, else of a compatible intent; and which branch had any in scope."""
        at_least = self.candidate_threshold if self.candidate_threshold is not None else controller.candidate_threshold(space)
        aspects, intents = record.aspects or (record.aspect,), record.intents or (record.intent,)
        branches: dict[str, tuple[str, ...]] = {"same": intents}
        if self.compatible_intents:
            branches["compatible"] = tuple(dict.fromkeys(other for intent in intents for other in COMPATIBLE.get(intent, ())))
        for branch, wanted in branches.items():
            in_scope = space.nearest(record.summary, where={**RECORDS, "aspect": aspects, "intent": wanted})
            if in_scope:
                over = [hit for hit in in_scope if hit.similarity >= at_least]
                candidates = over[: self.most_candidates]
                named = [{"memory": hit.memory.id, "similarity": hit.similarity} for hit in candidates]
                return candidates, {"branch": branch, "threshold": at_least, "candidates": named, "left_out": len(over) - len(candidates)}
        return [], {"branch": "none", "threshold": at_least, "candidates": []}

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
        """The action that the relations leave no choice about."""
        found = controller.relate(record, candidates, space, ask) if candidates else ()
        relations = [(hit, self._counted(relation)) for hit, relation in zip(candidates, found, strict=True)]
        why["relations"] = [{"memory": hit.memory.id, "relation": r.kind, "confidence": r.confidence, **r.why} for hit, r in relations]
        updates = [hit.memory for hit, relation in relations if relation.kind == "update"]
        duplicates = [hit.memory for hit, relation in relations if relation.kind == "duplicate"]
        if not updates and duplicates:
            return Discard(duplicates[0].id, why)
        flags = ("relation_failed",) if relations and all(relation.kind == "none" for _, relation in relations) else ()
        if not updates:
            return Store(_draft(exchange, record), flags, why)
        earlier = [{**memory.fields, "summary": memory.embed_text} for memory in updates]
        fused = controller.fuse(record, earlier, exchange.at, space, ask)
        if fused is None:
            return Store(_draft(exchange, record), ("fusion_failed",), why)
        draft = _draft(exchange, replace(fused, aspect=record.aspect, intent=record.intent))
        return Update(draft, tuple(m.id for m in updates), tuple(m.id for m in duplicates), (), why)

    def _counted(self, relation: Relation) -> Relation:
        """A relation that is not sure enough counts as none, which is treated as separate."""
        return relation if relation.confidence > self.relation_confidence else replace(relation, kind="none")

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """Up to `top_k` records of the query's aspect over τ_r; of any aspect, where the query has none or no record has it."""
        if query.kind == "opening" or not query.last.strip():
            return self._search(OPENING_QUERY, None, {}, space)
        controller = CONTROLLERS[self.controller]
        said = Said(query.last, now.instant)
        try:
            if self.query_form == "message":
                return self._search(query.last, controller.aspect_of(said, space, ask), {}, space)
            aspect, slot = controller.aspect_of(said, space, ask), controller.slot_of(said, space, ask)
        except Unparsable as error:
            why = {"unreadable": error.raw[:500]}
            return self._search(query.last, None, why, space) if self.query_form == "message" else Recall(why=why)
        return self._look_up(slot, aspect, space)

    def _look_up(self, slot: Slot, aspect: str | None, space: Space) -> Recall:
        """As the paper's code: a query that needs no memory, or not surely, gets none."""
        why = {"slot": slot.phrase, "slot_confidence": slot.confidence}
        if not slot.phrase or slot.confidence < self.query_confidence:
            return Recall(why=why)
        return self._search(slot.phrase, aspect, why, space)

    def _search(self, text: str, aspect: str | None, why: Mapping[str, Any], space: Space) -> Recall:
        at_least = self.recall_threshold if self.recall_threshold is not None else space.threshold("amu_recall")
        why = {**why, "threshold": at_least, "aspect": aspect}
        if aspect is not None:
            found = space.nearest(text, where={**RECORDS, "aspect": (aspect,)}, limit=self.top_k)
            if found or not self.fall_back:
                return Recall(tuple(hit for hit in found if hit.similarity >= at_least), (), {**why, "branch": "aspect"})
        hits = space.nearest(text, where=RECORDS, at_least=at_least, limit=self.top_k)
        return Recall(tuple(hits), (), {**why, "branch": "all"})


def label_terms(labels: Labels, *, personal_requests: bool = True) -> dict[str, float]:
    """The factors of G after stage 1: personal, a known aspect, a known intent (no pure request), entities.

    A request without a fact about the person is not personal; with `personal_requests` off, no request is let through.
    """
    is_pure = labels.intent == "request" and not (labels.is_personal and personal_requests)
    return {
        "personal": float(labels.is_personal),
        "aspect": float(labels.aspect != "other"),
        "intent": float(labels.intent != "other" and not is_pure),
        "entities": float(bool(labels.entities)),
    }


def record_terms(record: Record) -> dict[str, float]:
    """The factors of G after stage 2: a summary, and the confidence."""
    return {"summary": float(bool(record.summary.strip())), "confidence": record.confidence}


def _refusal(terms: Mapping[str, float]) -> str:
    missing = [name for name, value in terms.items() if value == 0]
    return f"no {', '.join(missing)}" if missing else "not sure enough"


def _draft(exchange: Exchange, record: Record) -> Draft:
    return Draft("record", "", exchange.user, record.summary, fields=record.fields())
