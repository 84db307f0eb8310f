"""Sliding window: the last exchanges are remembered, whatever they are about, and everything older is forgotten."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from memory.budget import chars, recall_newest
from memory.policy import Ask, Memory, MemoryPolicy, Query, Recall, Space, Verdict, When, newest_first


@dataclass(frozen=True)
class SlidingWindow(MemoryPolicy):
    """`window`: exchanges. `budget_tokens`: the most of them that goes into a prompt, estimated; what is left out is in the ledger."""

    name: ClassVar[str] = "sliding_window"
    version: ClassVar[int] = 1

    window: int = 10
    budget_tokens: int = 2000

    def prompt_chars(self, allowed: int) -> int:
        return max(allowed, chars(self.budget_tokens))

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """The newest exchanges, in the order in which they happened."""
        return recall_newest(query, space, space.newest(limit=self.window), self.budget_tokens)

    def retain(self, memories: Sequence[Memory], now: When, rng: Random) -> Sequence[Verdict]:
        """The newest `window` stay."""
        ranked = sorted(memories, key=newest_first)
        return [Verdict(m, rank <= self.window, rank, 1.0 / rank) for rank, m in enumerate(ranked, start=1)]
