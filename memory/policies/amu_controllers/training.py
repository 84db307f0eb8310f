"""Fitting the prototype controller on labelled conversations and labelled sentences. Plain numpy; `manage.py train_amu_prototype` reads and writes.

A conversation is the benchmark's: turns with an action and the slot that it opens, changes or repeats. The relation is learned from what a
perfect store would hold at each turn, compared with labels as the classifiers give them to conversations that they have not seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import numpy as np

from memory.policies.amu_controllers import learning, signs
from memory.policies.amu_controllers.learning import Linear, Matrix
from memory.policies.amu_controllers.trained import Cuts, Trained, design
from memory.policy import Vector

FOLDER = Path(__file__).parent
Embed = Callable[[Sequence[str]], Vector]
SENTIMENTS = {"+": "positive", "0": "neutral", "-": "negative"}
FOLDS = 5


@dataclass(frozen=True)
class Penalties:
    """Of the ridge, for each model."""

    keep: float = 0.01
    label: float = 0.01
    relation: float = 0.003


PENALTIES, CUTS = Penalties(), Cuts()


@dataclass(frozen=True)
class Turn:
    """One labelled message. `slot`: what a store opens, an update changes, a discard repeats; aspect and intent where they are given."""

    text: str
    action: str
    at: datetime
    slot: str = ""
    aspect: str = ""
    intent: str = ""


@dataclass(frozen=True)
class Sentence:
    """One labelled sentence of `prototypes.tsv`."""

    aspect: str
    intent: str
    personal: str
    sentiment: str
    text: str


@dataclass(frozen=True)
class Statements:
    """Two statements and how the new one stands to the old one, of `relations.tsv`."""

    relation: str
    old: str
    new: str


@lru_cache(maxsize=1)
def sentences() -> tuple[Sentence, ...]:
    return tuple(Sentence(*row) for row in _rows("prototypes.tsv"))


@lru_cache(maxsize=1)
def statements() -> tuple[Statements, ...]:
    return tuple(Statements(*row) for row in _rows("relations.tsv"))


def _rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (FOLDER / name).read_text("utf-8").splitlines() if line and not line.startswith("#")]


def fit(conversations: Sequence[Sequence[Turn]], embed: Embed, penalties: Penalties = PENALTIES, cuts: Cuts = CUTS) -> Trained:
    """All models, from conversations (none: from the labelled sentences alone)."""
    keep = _fit_keep(conversations, embed, penalties.keep)
    aspect, intent = _fit_labels(conversations, embed, penalties.label)
    own = [row for row in sentences() if row.personal == "1"]
    sentiment = learning.fit(_designed(embed, [row.text for row in own]), [SENTIMENTS[row.sentiment] for row in own], penalties.label)
    relation = _fit_relation(conversations, embed, penalties)
    return Trained(keep, aspect, intent, sentiment, relation, cuts)


def _fit_keep(conversations: Sequence[Sequence[Turn]], embed: Embed, penalty: float) -> Linear:
    rows = [(turn.text, "filter" if turn.action == "filter" else "keep") for turns in conversations for turn in turns]
    rows += [(row.text, "keep" if row.personal == "1" else "filter") for row in sentences()]
    return learning.fit(_designed(embed, [text for text, _ in rows]), [label for _, label in rows], penalty)


def _fit_labels(conversations: Sequence[Sequence[Turn]], embed: Embed, penalty: float) -> tuple[Linear, Linear]:
    rows = [(turn.text, turn.aspect, turn.intent) for turns in conversations for turn in turns if turn.aspect and turn.intent]
    rows += [(row.text, row.aspect, row.intent) for row in sentences() if row.personal == "1"]
    rows = [row for row in rows if row[1] != "other" and row[2] != "other"]
    made = _designed(embed, [text for text, _, _ in rows])
    return learning.fit(made, [a for _, a, _ in rows], penalty), learning.fit(made, [i for _, _, i in rows], penalty)


def _fit_relation(conversations: Sequence[Sequence[Turn]], embed: Embed, penalties: Penalties) -> Linear:
    pairs: list[Matrix] = []
    kinds: list[str] = []
    for fold in range(min(FOLDS, len(conversations))):
        others = [turns for i, turns in enumerate(conversations) if i % FOLDS != fold]
        labels = _fit_labels(others, embed, penalties.label)
        for turns in conversations[fold::FOLDS]:
            found, named = pairs_of(turns, embed, labels)
            pairs += found
            kinds += named
    labels = _fit_labels(conversations, embed, penalties.label)
    for row in statements():
        pairs.append(_statement_pair(row, embed, labels))
        kinds.append(row.relation)
    return learning.fit(np.array(pairs), kinds, penalties.relation)


def pairs_of(turns: Sequence[Turn], embed: Embed, labels: tuple[Linear, Linear]) -> tuple[list[Matrix], list[str]]:
    """Each kept turn beside all that a perfect store holds then: (rows of `signs.PAIR`, relations)."""
    texts = [turn.text for turn in turns]
    vectors = embed(texts)
    named = [_labelled(made, turn.text, labels) for made, turn in zip(design(vectors, texts), turns, strict=True)]
    held: dict[str, int] = {}
    rows: list[Matrix] = []
    kinds: list[str] = []
    for i, turn in enumerate(turns):
        if turn.action == "filter":
            continue
        at_hand = list(held.items())
        cosines = [float(vectors[i] @ vectors[j]) for _, j in at_hand]
        for (slot, j), cosine in zip(at_hand, cosines, strict=True):
            lead = lead_of(cosine, cosines)
            rows.append(signs.pair(named[i], named[j], cosine, lead=lead, weeks=weeks_between(turns[j].at, turn.at)))
            kinds.append({"discard": "duplicate", "update": "update"}.get(turn.action, "separate") if slot == turn.slot else "separate")
        if turn.action != "discard":
            held[turn.slot] = i
    return rows, kinds


def lead_of(cosine: float, all_cosines: Sequence[float]) -> float:
    """How far a cosine is ahead of the best of the others, or behind it; of a single one, ahead of nothing."""
    others = sorted(all_cosines, reverse=True)
    others.remove(cosine)
    return cosine - (others[0] if others else 0.0)


def weeks_between(earlier: datetime, later: datetime) -> float:
    return max(0.0, (later - earlier).total_seconds() / 604800)


def _labelled(made: Matrix, text: str, labels: tuple[Linear, Linear]) -> Mapping[str, str]:
    aspect, intent = (model.of(made) for model in labels)
    return {"said": text, "aspect": max(aspect, key=aspect.__getitem__), "intent": max(intent, key=intent.__getitem__)}


def _statement_pair(row: Statements, embed: Embed, labels: tuple[Linear, Linear]) -> Matrix:
    vectors = embed([row.new, row.old])
    new, old = (_labelled(made, text, labels) for made, text in zip(design(vectors, [row.new, row.old]), (row.new, row.old), strict=True))
    cosine = float(vectors[0] @ vectors[1])
    return signs.pair(new, old, cosine, lead=lead_of(cosine, [cosine]), weeks=2.0)


def _designed(embed: Embed, texts: Sequence[str]) -> Matrix:
    return design(embed(texts), list(texts))
