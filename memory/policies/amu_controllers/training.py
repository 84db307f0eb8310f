"""Fitting the prototype controller on labelled conversations and labelled sentences. Plain numpy; `manage.py train_amu_prototype` reads and writes.

A conversation is the benchmark's: turns with an action and the slot that it opens, changes or repeats. The relation is learned from what a
perfect store would hold at each turn, compared with labels as the classifiers give them to conversations that they have not seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import numpy as np

from memory.policies.amu_controllers import learning, signs, trained
from memory.policies.amu_controllers.learning import Linear, Matrix
from memory.policies.amu_controllers.trained import Cuts, Trained, design
from memory.policy import Vector

FOLDER = Path(__file__).parent
Embed = Callable[[Sequence[str]], Vector]
SENTIMENTS = {"+": "positive", "0": "neutral", "-": "negative"}
FILES = ("prototypes.tsv", "relations.tsv", "conversations.tsv")
FOLDS = 5
FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)
ACTIONS = ("store", "update", "discard", "filter")


@dataclass(frozen=True)
class Penalties:
    """Of the ridge, for each model."""

    keep: float = 0.03
    label: float = 0.01
    match: float = 0.003
    verdict: float = 0.01


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


@lru_cache(maxsize=1)
def own_conversations() -> tuple[tuple["Turn", ...], ...]:
    """The labelled conversations of `conversations.tsv`, one message a day."""
    found: dict[str, list[Turn]] = {}
    for name, action, slot, aspect, intent, text in _rows("conversations.tsv"):
        said = found.setdefault(name, [])
        said.append(Turn(text, action, FIRST_DAY + timedelta(days=len(said)), slot, aspect, intent))
    return tuple(map(tuple, found.values()))


def _rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (FOLDER / name).read_text("utf-8").splitlines() if line and not line.startswith("#")]


def fit(conversations: Sequence[Sequence[Turn]], embed: Embed, penalties: Penalties = PENALTIES, cuts: Cuts = CUTS) -> Trained:
    """All models, from these conversations and the ones and the sentences of this folder."""
    conversations = [*conversations, *own_conversations()]
    keep = _fit_keep(conversations, embed, penalties.keep)
    aspect, intent = _fit_labels(conversations, embed, penalties.label)
    own = [row for row in sentences() if row.personal == "1"]
    sentiment = learning.fit(_designed(embed, [row.text for row in own]), [SENTIMENTS[row.sentiment] for row in own], penalties.label)
    match, verdict = _fit_relation(conversations, embed, penalties)
    return Trained(keep, aspect, intent, sentiment, match, verdict, cuts)


def _fit_keep(conversations: Sequence[Sequence[Turn]], embed: Embed, penalty: float) -> Linear:
    alone = [(row.text, "keep" if row.personal == "1" else "filter") for row in sentences()]
    labels = [label for _, label in alone]
    rows = [trained.keep_design(_designed(embed, [text for text, _ in alone]), np.zeros((len(alone), len(signs.KNOWN))))]
    for turns in conversations:
        rows.append(trained.keep_design(_designed(embed, [turn.text for turn in turns]), _known_of(turns, embed)))
        labels += ["filter" if turn.action == "filter" else "keep" for turn in turns]
    return learning.fit(np.vstack(rows), labels, penalty)


def _known_of(turns: Sequence[Turn], embed: Embed) -> Matrix:
    """`signs.KNOWN` of each turn, over what a perfect store holds then."""
    vectors = embed([turn.text for turn in turns])
    held: dict[str, int] = {}
    rows = []
    for i, turn in enumerate(turns):
        cosines = sorted(((float(vectors[i] @ vectors[j]), turns[j].text) for j in held.values()), reverse=True)
        rows.append(signs.known(turn.text, [(text, cosine) for cosine, text in cosines[: trained.NEAREST]]))
        if turn.action in ("store", "update"):
            held[turn.slot] = i
    return np.array(rows)


def _fit_labels(conversations: Sequence[Sequence[Turn]], embed: Embed, penalty: float) -> tuple[Linear, Linear]:
    rows = [(turn.text, turn.aspect, turn.intent) for turns in conversations for turn in turns if turn.aspect and turn.intent]
    rows += [(row.text, row.aspect, row.intent) for row in sentences() if row.personal == "1"]
    rows = [row for row in rows if row[1] != "other" and row[2] != "other"]
    made = _designed(embed, [text for text, _, _ in rows])
    return learning.fit(made, [a for _, a, _ in rows], penalty), learning.fit(made, [i for _, _, i in rows], penalty)


@dataclass(frozen=True)
class Compared:
    """A kept turn beside all that a perfect store holds then: `rows` of `signs.PAIR`, and the slots that they are for."""

    turn: Turn
    vector: Vector
    rows: Matrix
    slots: tuple[str, ...]

    @property
    def relation(self) -> str:
        return {"discard": "duplicate", "update": "update"}.get(self.turn.action, "separate")

    @property
    def is_match(self) -> list[str]:
        return ["same" if slot == self.turn.slot else "other" for slot in self.slots]


def _fit_relation(conversations: Sequence[Sequence[Turn]], embed: Embed, penalties: Penalties) -> tuple[Linear, Linear]:
    """(match, verdict): which record is about the same matter, and what a message does to the likeliest one."""
    compared: list[Compared] = []
    for fold in range(min(FOLDS, len(conversations))):
        labels = _fit_labels([turns for i, turns in enumerate(conversations) if i % FOLDS != fold], embed, penalties.label)
        for turns in conversations[fold::FOLDS]:
            compared += [found for found in comparisons(turns, embed, labels) if found.slots]
    pairs, named = np.vstack([found.rows for found in compared]), [name for found in compared for name in found.is_match]
    labels = _fit_labels(conversations, embed, penalties.label)
    stated = np.array([_statement_pair(row, embed, labels) for row in statements()])
    match = learning.fit(
        np.vstack([pairs, stated]), [*named, *("other" if row.relation == "separate" else "same" for row in statements())], penalties.match
    )
    verdicts = np.array([_verdict_row(found, match) for found in compared])
    return match, learning.fit(verdicts, [found.relation for found in compared], penalties.verdict)


def _verdict_row(found: Compared, match: Linear) -> Matrix:
    likely = match.probabilities(found.rows)[:, match.classes.index("same")]
    best = int(likely.argmax())
    return trained.verdict_row(found.rows[best], float(likely[best]), len(found.slots), found.turn.text, found.vector)


def comparisons(turns: Sequence[Turn], embed: Embed, labels: tuple[Linear, Linear]) -> list[Compared]:
    """Each kept turn beside what a perfect store holds then."""
    texts = [turn.text for turn in turns]
    vectors = embed(texts)
    named = [_labelled(made, turn.text, labels) for made, turn in zip(design(vectors, texts), turns, strict=True)]
    held: dict[str, int] = {}
    found = []
    for i, turn in enumerate(turns):
        if turn.action == "filter":
            continue
        cosines = [float(vectors[i] @ vectors[j]) for j in held.values()]
        rows = [
            signs.pair(named[i], named[j], cosine, lead=lead_of(cosine, cosines), weeks=weeks_between(turns[j].at, turn.at))
            for j, cosine in zip(held.values(), cosines, strict=True)
        ]
        found.append(Compared(turn, vectors[i], np.array(rows), tuple(held)))
        if turn.action != "discard":
            held[turn.slot] = i
    return found


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
