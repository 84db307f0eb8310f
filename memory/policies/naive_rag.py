"""Naive RAG: every exchange is kept for good, and the most similar one goes into the prompt (LUFY paper, table 3)."""

from dataclasses import dataclass
from typing import ClassVar

from memory.policy import Ask, MemoryPolicy, Query, Recall, Space, When, recall_by_cosine, threshold_of


@dataclass(frozen=True)
class NaiveRag(MemoryPolicy):
    """`threshold`, `opening_threshold`: cosines; None: the encoder's calibrated ones. `query_utterances`: how many are joined."""

    name: ClassVar[str] = "naive_rag"
    version: ClassVar[int] = 1

    threshold: float | None = None
    opening_threshold: float | None = None
    query_utterances: int = 5

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """Rank 1 by cosine is used, rank 2 passed over."""
        at_least = threshold_of(query, space, reply=self.threshold, opening=self.opening_threshold)
        return recall_by_cosine(query, space, at_least=at_least, utterances=self.query_utterances)
