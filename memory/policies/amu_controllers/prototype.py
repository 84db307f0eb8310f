"""AMU's controller without a language model: labels of the nearest examples in the embedding space.

The examples, each with aspect, intent, whether it is personal, and sentiment, are our own (`prototypes.tsv`). Confidence comes in
AMU's three steps: a margin counts as .9 from where nine in ten examples of at least that margin are labelled rightly by the others (leave one
out), as .7 from where seven in ten are, else as .4; so the steps belong to the encoder.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from memory.policies.amu_controllers import dates, wording
from memory.policies.amu_controllers.interface import Controller, Labels, Record, Relation, Said, Sentiment, Slot
from memory.policy import Ask, Hit, Space, Vector

EXAMPLES = Path(__file__).parent / "prototypes.tsv"
NEIGHBOURS = 3
STEPS = ((0.9, 0.9), (0.7, 0.7))  # (confidence, share of right labels that earns it)
# What a sentence about the speaker gains as a fact of theirs, and what a question gains as none, in cosine. The pair that earns .9 at the
# smallest margin is taken: embeddings of meaning need little of it, hashed words much.
SURFACE = ((0.06, 0.08), (0.15, 0.15), (0.25, 0.2))
SENTIMENTS = {"+": "positive", "0": "neutral", "-": "negative"}


@dataclass(frozen=True)
class Example:
    aspect: str
    intent: str
    personal: str
    sentiment: str
    text: str


@lru_cache(maxsize=1)
def examples() -> tuple[Example, ...]:
    """The labelled sentences."""
    rows = [line.split("\t") for line in EXAMPLES.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return tuple(Example(*row) for row in rows)


@dataclass(frozen=True)
class Labelling:
    """One label of all examples: their vectors, their values, and from which margin each confidence step counts."""

    vectors: Vector
    values: NDArray[np.str_]
    margins: tuple[tuple[float, float], ...]
    surface: tuple[float, float] = (0.0, 0.0)

    def label(self, vector: Vector, sentence: str = "") -> tuple[str, float, float]:
        """(best value, its margin over the second, confidence step) for one vector of shape (d,)."""
        scores = _scores(self.vectors @ vector, self.values)
        for value, extra in _bonus(sentence, self.surface).items():
            scores[value] = scores.get(value, 0.0) + extra
        ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
        margin = ranked[0][1] - (ranked[1][1] if len(ranked) > 1 else 0.0)
        return ranked[0][0], margin, self.confidence(margin)

    def confidence(self, margin: float) -> float:
        return next((step for step, least in self.margins if margin >= least), 0.4)


class Prototype(Controller):
    """Nearest examples. Asks no model."""

    def label(self, said: Said, space: Space, ask: Ask) -> Labels:
        sentence, is_personal, _ = _kept(said.text, space)
        if not is_personal:
            return Labels("other", "other", False, wording.entities(sentence))
        labels, vector = _labellings(space), space.embed([sentence])[0]
        return Labels(labels["aspect"].label(vector)[0], labels["intent"].label(vector)[0], True, wording.entities(sentence))

    def describe(self, said: Said, labels: Labels, space: Space, ask: Ask) -> Record:
        sentence, _, confidence = _kept(said.text, space)
        tone = _labellings(space)["sentiment"].label(space.embed([sentence])[0])[0]
        return Record(
            aspect=labels.aspect,
            intent=labels.intent,
            is_personal=labels.is_personal,
            entities=labels.entities,
            summary=dates.resolve(wording.third_person(sentence), said.at),
            sentiment=cast(Sentiment, SENTIMENTS[tone]),
            confidence=confidence,
            said=said.text,
        )

    def relate(self, new: Record, old: Hit, space: Space, ask: Ask) -> Relation:
        """By calibrated similarity, then by what differs: names, numbers, a denial, a word of change."""
        before = str(old.memory.fields.get("summary", old.memory.embed_text))
        differs = {
            "denial": wording.denies(new.summary) != wording.denies(before),
            "numbers": wording.numbers(new.summary) != wording.numbers(before),
            "change": wording.speaks_of_change(new.summary),
            "new_names": not set(_lower(new.entities)) <= set(_lower(old.memory.fields.get("entities", ()))),
        }
        why: dict[str, Any] = {"similarity": old.similarity, **differs}
        contradicts = differs["denial"] or differs["numbers"] or differs["change"]
        if old.similarity >= space.threshold("amu_duplicate") and not contradicts:
            return Relation("duplicate", 0.9, why)
        if old.similarity >= space.threshold("amu_update") and (contradicts or differs["new_names"]):
            return Relation("update", 0.9, why)
        return Relation("separate", 0.9, why)

    def fuse(self, new: Record, old: Sequence[Mapping[str, Any]], at: datetime, space: Space, ask: Ask) -> Record | None:
        """The new statement stands; of the old ones, names are added as far as there is room."""
        names = [*new.entities, *(name for fields in old for name in fields.get("entities", ()))]
        return Record(new.aspect, new.intent, new.is_personal, tuple(dict.fromkeys(names))[:3], new.summary, new.sentiment, new.confidence)

    def aspect_of(self, query: Said, space: Space, ask: Ask) -> str | None:
        """A filter on a weakly predicted aspect loses more than it gains: only a sure one is named."""
        aspect, _, confidence = _labellings(space)["aspect"].label(space.embed([query.text])[0])
        return aspect if confidence >= STEPS[0][0] and aspect != "other" else None

    def slot_of(self, query: Said, space: Space, ask: Ask) -> Slot:
        """The query itself."""
        return Slot(query.text, STEPS[0][0])


def _kept(said: str, space: Space) -> tuple[str, bool, float]:
    """(the sentence that says most about the person, whether it says anything lasting, confidence step)."""
    parts = wording.sentences(said)
    if not parts:
        return "", False, STEPS[0][0]
    personal = _labellings(space)["personal"]
    judged = [(*personal.label(v, p), p) for p, v in zip(parts, space.embed(parts), strict=True)]
    label, _, confidence, sentence = max(judged, key=lambda j: j[1] if j[0] == "1" else -j[1])
    return sentence, label == "1", confidence


def _bonus(sentence: str, surface: tuple[float, float]) -> dict[str, float]:
    """What the sentence's surface adds to "personal" (1) or to "not personal" (0); nothing where a label has no use for it."""
    speaker, question = surface
    if not any(surface):
        return {}
    if wording.asks(sentence):
        return {"0": question}
    return {"1": speaker} if wording.names_the_speaker(sentence) else {}


def _lower(names: Sequence[str]) -> list[str]:
    return [name.lower() for name in names]


_known: dict[str, dict[str, Labelling]] = {}
_making = threading.Lock()


def _labellings(space: Space) -> dict[str, Labelling]:
    """The examples in this encoder's space, made once per process."""
    with _making:
        if space.encoder_name not in _known:
            _known[space.encoder_name] = labellings(space.embed([example.text for example in examples()]))
        return _known[space.encoder_name]


def labellings(vectors: Vector) -> dict[str, Labelling]:
    """The four labels over the examples' vectors, shape (len(examples()), d). Aspect, intent and sentiment are told of personal ones only."""
    rows = examples()
    personal = np.array([row.personal == "1" for row in rows])
    values = [row.personal for row in rows]
    tried = [_labelling(vectors, values, [row.text for row in rows], surface) for surface in SURFACE]
    made = {"personal": min(tried, key=lambda labelling: labelling.margins[0][1])}
    for name in ("aspect", "intent", "sentiment"):
        values = [getattr(row, name) for row in rows if row.personal == "1"]
        made[name] = _labelling(vectors[personal], values, [row.text for row in rows if row.personal == "1"], (0.0, 0.0))
    return made


def _labelling(vectors: Vector, values: Sequence[str], texts: Sequence[str], surface: tuple[float, float]) -> Labelling:
    named = np.array(values)
    bonuses = [_bonus(text, surface) for text in texts]
    return Labelling(vectors, named, calibrated_margins(vectors, named, bonuses), surface)


def calibrated_margins(
    vectors: Vector, values: NDArray[np.str_], bonuses: Sequence[Mapping[str, float]]
) -> tuple[tuple[float, float], ...]:
    """(confidence, least margin) of each step, by leaving one example out at a time; a step that is never earned needs an infinite margin."""
    judged: list[tuple[float, bool]] = []
    similarities = vectors @ vectors.T
    for i, value in enumerate(values):
        others = np.arange(len(values)) != i
        found = _scores(similarities[i][others], values[others])
        scores = sorted(((v, score + bonuses[i].get(v, 0.0)) for v, score in found.items()), key=lambda item: -item[1])
        judged.append((scores[0][1] - scores[1][1], scores[0][0] == value))
    judged.sort(reverse=True)
    right = np.cumsum([ok for _, ok in judged]) / np.arange(1, len(judged) + 1)
    steps = []
    for confidence, share in STEPS:
        earned = np.flatnonzero(right >= share)
        steps.append((confidence, judged[earned[-1]][0] if len(earned) else float("inf")))
    return tuple(steps)


def _scores(similarities: NDArray[np.float32], values: NDArray[np.str_]) -> dict[str, float]:
    """Each value's mean similarity over its `NEIGHBOURS` nearest examples."""
    scores = {}
    for value in np.unique(values):
        own = np.sort(similarities[values == value])[::-1][:NEIGHBOURS]
        scores[str(value)] = float(own.mean())
    return scores
