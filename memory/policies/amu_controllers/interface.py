"""What AMU's policy needs to be told about an utterance, and by whom."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from memory.policy import Ask, Hit, Space

ASPECTS = ("personal_profile", "social_relationship", "activity", "health", "preference", "other")
INTENTS = ("inform", "request", "express", "plan", "reflect", "other")
Sentiment = Literal["positive", "neutral", "negative"]
RelationKind = Literal["duplicate", "update", "separate", "none"]


@dataclass(frozen=True)
class Record:
    """A structured memory. `summary`: one third-person statement of one lasting fact; `confidence`: .9, .7 or .4, by rubric."""

    aspect: str
    intent: str
    is_personal: bool
    entities: tuple[str, ...]
    summary: str
    sentiment: Sentiment
    confidence: float

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


class Controller(ABC):
    """Describes, compares and fuses. Everything a language model needs comes through `ask`."""

    @abstractmethod
    def describe(self, said: str, space: Space, ask: Ask) -> Record:
        """The record of an utterance, from its words alone.

        Raises:
            memory.policy.Unparsable: a model's answer could not be read.
        """

    @abstractmethod
    def relate(self, new: Record, old: Hit, space: Space, ask: Ask) -> Relation:
        """How a new record stands to a similar stored one; an unreadable judgement is `none`."""

    @abstractmethod
    def fuse(self, new: Record, old: Sequence[Mapping[str, Any]], space: Space, ask: Ask) -> Record | None:
        """One record from the new one, which is right, and what the old ones add without contradicting it; None: it failed."""

    @abstractmethod
    def aspect_of(self, query: str, space: Space, ask: Ask) -> str | None:
        """The aspect that a query is about; None when that is not clear."""
