"""AMU's controller without a language model: small linear models over sentence embeddings and the surface of the words (`trained`).

Confidence comes in AMU's three steps, from the probability that a message is worth keeping. Labels are weak, and a filter on weak labels loses more than
it gains: a record is compared with all records of the aspects and intents that it may have, and recall filters by an aspect only where it is sure.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import numpy as np

from memory.policies.amu_controllers import dates, signs, trained, wording
from memory.policies.amu_controllers.interface import INTENTS, Controller, Labels, Record, Relation, RelationKind, Said, Sentiment, Slot
from memory.policies.amu_controllers.learning import Matrix
from memory.policies.amu_controllers.training import weeks_between
from memory.policy import Ask, Hit, Space

LONGEST = 600  # characters of a message that are read
SURE_ASPECT = 0.9


class Prototype(Controller):
    """Asks no model."""

    def label(self, said: Said, space: Space, ask: Ask) -> Labels:
        text = _text(said)
        models, made = trained.of(space), _made(text, space)
        entities = wording.entities(text)
        if _kept(text, made, space) < models.cuts.maybe:
            return Labels("other", "other", False, entities)
        aspects, intents = models.aspect.of(made), models.intent.of(made)
        plausible = tuple(sorted((a for a, p in aspects.items() if p >= models.cuts.plausible), key=lambda a: -aspects[a]))
        return Labels(_best(aspects), _best(intents), True, entities, plausible, INTENTS)

    def describe(self, said: Said, labels: Labels, space: Space, ask: Ask) -> Record:
        text = _text(said)
        models, made = trained.of(space), _made(text, space)
        kept = _kept(text, made, space)
        return Record(
            aspect=labels.aspect,
            intent=labels.intent,
            is_personal=labels.is_personal,
            entities=labels.entities,
            summary=dates.resolve(wording.third_person(_statement(text, space)), said.at),
            sentiment=cast(Sentiment, _best(models.sentiment.of(made))),
            confidence=0.9 if kept >= models.cuts.keep else 0.7,
            said=text,
            at=said.at,
            aspects=labels.aspects,
            intents=labels.intents,
        )

    def candidate_threshold(self, space: Space) -> float:
        """Messages are compared as they were said, which are less alike than the statements that a language model makes of them."""
        return trained.of(space).cuts.candidate

    def relate(self, new: Record, old: Sequence[Hit], space: Space, ask: Ask) -> Sequence[Relation]:
        """The likeliest candidate is what the message does to it; all others are separate."""
        models = trained.of(space)
        held = space.nearest(new.summary, where={"kind": ("record",)})
        rows = np.array(_pairs(new, old, held, space))
        likely = models.match.probabilities(rows)[:, models.match.classes.index("same")]
        best = int(likely.argmax())
        text = new.said or new.summary
        found = models.verdict.of(trained.verdict_row(rows[best], float(likely[best]), len(held), text, space.embed([text])[0]))
        relations = [Relation("separate", 0.9, {"match": round(float(p), 3)}) for p in likely]
        why = {"match": round(float(likely[best]), 3), **{kind: round(p, 3) for kind, p in found.items()}}
        relations[best] = Relation(cast(RelationKind, _best(found)), 0.9, why)
        return relations

    def fuse(self, new: Record, old: Sequence[Mapping[str, Any]], at: datetime, space: Space, ask: Ask) -> Record | None:
        """The new statement stands; of the old ones, names are added as far as there is room."""
        names = [*new.entities, *(name for fields in old for name in fields.get("entities", ()))]
        return Record(new.aspect, new.intent, new.is_personal, tuple(dict.fromkeys(names))[:3], new.summary, new.sentiment, new.confidence)

    def aspect_of(self, query: Said, space: Space, ask: Ask) -> str | None:
        aspects = trained.of(space).aspect.of(_made(_text(query), space))
        best = _best(aspects)
        return best if aspects[best] >= SURE_ASPECT else None

    def slot_of(self, query: Said, space: Space, ask: Ask) -> Slot:
        """The query itself."""
        return Slot(query.text, 0.9)


def _text(said: Said) -> str:
    return " ".join(said.text.split())[:LONGEST]


def _made(text: str, space: Space) -> Matrix:
    return np.asarray(trained.design(space.embed([text]), [text])[0])


def _kept(text: str, made: Matrix, space: Space) -> float:
    """The probability that a message is worth keeping, seen against what is known already."""
    hits = space.nearest(text, where={"kind": ("record",)}, limit=trained.NEAREST)
    known = signs.known(text, [(hit.memory.user or hit.memory.embed_text, hit.similarity) for hit in hits])
    return trained.of(space).keep.of(trained.keep_design(made[None], known[None])[0])["keep"]


def _best(probabilities: Mapping[str, float]) -> str:
    return max(probabilities, key=probabilities.__getitem__)


def _statement(text: str, space: Space) -> str:
    """The sentences of a message that are worth keeping by themselves; all of it where none is, or in a script without our sentences."""
    parts = wording.sentences(text)
    if len(parts) < 2:
        return text
    keep = trained.of(space).keep
    column = keep.classes.index("keep")
    nothing_known = np.zeros((len(parts), len(signs.KNOWN)))
    kept = keep.probabilities(trained.keep_design(trained.design(space.embed(parts), parts), nothing_known))[:, column]
    return " ".join(part for part, probability in zip(parts, kept, strict=True) if probability >= 0.5) or text


def _pairs(new: Record, old: Sequence[Hit], held: Sequence[Hit], space: Space) -> list[Matrix]:
    """Rows of `signs.PAIR`: the words as they were said, where they are known, else the summaries. `held`: all records, most similar first."""
    told = {"said": new.said or new.summary, "aspect": new.aspect, "intent": new.intent}
    befores = [hit.memory.user or hit.memory.embed_text for hit in old]
    vectors = space.embed([told["said"], *befores])
    rows = []
    for hit, before, vector in zip(old, befores, vectors[1:], strict=True):
        fields = {"said": before, "aspect": hit.memory.fields.get("aspect"), "intent": hit.memory.fields.get("intent")}
        weeks = weeks_between(hit.memory.at, new.at) if new.at else 0.0
        others = [other.similarity for other in held[:2] if other.memory.id != hit.memory.id]
        lead = hit.similarity - (others[0] if others else 0.0)
        rows.append(signs.pair(told, fields, float(vectors[0] @ vector), lead=lead, weeks=weeks))
    return rows
