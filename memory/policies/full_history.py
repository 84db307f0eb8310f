"""Full history: everything that was ever said goes into the prompt, as far as it fits. The upper bound of what remembering can give."""

from dataclasses import dataclass
from typing import ClassVar

from memory.budget import chars, recall_newest
from memory.policy import Ask, MemoryPolicy, Query, Recall, Space, When


@dataclass(frozen=True)
class FullHistory(MemoryPolicy):
    """`budget_tokens`: the most that goes into a prompt, estimated; the oldest is left out, and how much of it is in the ledger."""

    name: ClassVar[str] = "full_history"
    version: ClassVar[int] = 1

    budget_tokens: int = 4000

    def prompt_chars(self, allowed: int) -> int:
        return max(allowed, chars(self.budget_tokens))

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """All exchanges in the order in which they happened, the newest ones where not all fit."""
        return recall_newest(query, space, space.newest(), self.budget_tokens)
