"""Naive RAG: every exchange is kept for good, and the most similar one goes into the prompt (LUFY paper, table 3)."""

from dataclasses import dataclass
from typing import ClassVar

from memory.policy import Ask, MemoryPolicy, Query, Recall, Space, When, query_text


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
        opening = query.kind == "opening"
        own = self.opening_threshold if opening else self.threshold
        at_least = own if own is not None else space.threshold("opening" if opening else "reply")
        hits = space.nearest(query_text(query, self.query_utterances), at_least=at_least, limit=2)
        return Recall(tuple(hits[:1]), tuple(hits[1:2]), {"threshold": at_least})
