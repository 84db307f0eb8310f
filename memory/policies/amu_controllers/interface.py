"""What AMU's policy needs to be told about an utterance, and by whom."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memory.policy import Ask, Hit, Space

ASPECTS = ("personal_profile", "social_relationship", "activity", "health", "preference", "other")
INTENTS = ("inform", "request", "express", "plan", "reflect", "other")
CONFIDENCES = (0.9, 0.7, 0.4)
Sentiment = Literal["positive", "neutral", "negative"]
RelationKind = Literal["duplicate", "update", "separate", "none"]


@dataclass(frozen=True)
class Said:
    """The participant's words, and when they were said, in the participant's own zone."""

    text: str
    at: datetime


@dataclass(frozen=True)
class Labels:
    """The first stage. `is_personal`: something reusable about the person; `entities`: up to three short names.

    `aspects`, `intents`: where a controller is not sure, all that it may be: records of any of them are compared. Empty: its own only.
    """

    aspect: str
    intent: str
    is_personal: bool
    entities: tuple[str, ...]
    aspects: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """A structured memory. `summary`: one third-person statement of one lasting fact; `confidence`: .9, .7 or .4, by rubric.

    `said`: the words that it was made from, and `at`: when, for a controller that compares those; `aspects`, `intents`: as its labels'.
    """

    aspect: str
    intent: str
    is_personal: bool
    entities: tuple[str, ...]
    summary: str
    sentiment: Sentiment
    confidence: float
    said: str = ""
    at: datetime | None = None
    aspects: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """As stored beside the memory."""
        return {
            "aspect": self.aspect,
            "intent": self.intent,
            "entities": list(self.entities),
            "sentiment": self.sentiment,
            "confidence": self.confidence,
            "summary": self.summary,
        }


@dataclass(frozen=True)
class Relation:
    """Of a new record to an old one. `none`: could not be told; `why`: what decided."""

    kind: RelationKind
    confidence: float
    why: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Slot:
    """What a query needs to know, as a short phrase; empty: nothing that is remembered."""

    phrase: str
    confidence: float


class Controller(ABC):
    """Labels, describes, compares and fuses. Everything a language model needs comes through `ask`.

    Each method raises `memory.policy.Unparsable` where a model's answer could not be read, but for `relate` and `fuse`, whose failure has an
    outcome of its own.
    """

    @abstractmethod
    def label(self, said: Said, space: Space, ask: Ask) -> Labels:
        """Stage 1, from the words alone."""

    @abstractmethod
    def describe(self, said: Said, labels: Labels, space: Space, ask: Ask) -> Record:
        """Stage 2: the record, its relative dates resolved against the time at which it was said."""

    def candidate_threshold(self, space: Space) -> float:
        """The cosine from which a record is a candidate, where the study sets none: τ_s."""
        return space.threshold("amu_candidate")

    @abstractmethod
    def relate(self, new: Record, old: Sequence[Hit], space: Space, ask: Ask) -> Sequence[Relation]:
        """How a new record stands to each similar stored one, most similar first; an unreadable judgement is `none`."""

    @abstractmethod
    def fuse(self, new: Record, old: Sequence[Mapping[str, Any]], at: datetime, space: Space, ask: Ask) -> Record | None:
        """One record from the new one, which is right, and what the old ones' fields add without contradicting it; None: it failed."""

    @abstractmethod
    def aspect_of(self, query: Said, space: Space, ask: Ask) -> str | None:
        """The aspect that a query is about; None when that is not clear."""

    @abstractmethod
    def slot_of(self, query: Said, space: Space, ask: Ask) -> Slot:
        """What a query needs to know."""
