"""No memory: the lower bound. Nothing is stored, nothing recalled, and the key summary is withheld; only the recent utterances are known."""

from dataclasses import dataclass
from typing import ClassVar

from memory.policy import Ask, Exchange, Filter, MemoryPolicy, Outcome, Query, Recall, Space, When


@dataclass(frozen=True)
class NoMemory(MemoryPolicy):
    """`key_summary`: true shows the summary of earlier sessions all the same, as every other arm does."""

    name: ClassVar[str] = "no_memory"
    version: ClassVar[int] = 1

    key_summary: bool = False

    def sees_summary(self) -> bool:
        return self.key_summary

    def encode(self, exchange: Exchange, space: Space, ask: Ask) -> Outcome:
        """Filtered, always."""
        return Filter("this system stores nothing")

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """Nothing."""
        return Recall()
