"""Naive RAG: every exchange is kept for good, and the most similar one goes into the prompt (LUFY paper, table 3)."""

from dataclasses import dataclass
from typing import ClassVar

from memory.policy import Ask, MemoryPolicy, Query, Recall, Retriever, Space, When, recall_by, threshold_of


@dataclass(frozen=True)
class NaiveRag(MemoryPolicy):
    """`threshold`, `opening_threshold`: cosines; None: the encoder's calibrated ones. `query_utterances`: how many are joined.

    `retriever`: `cosine`, the paper's, or `hybrid`, cosine and words together (docs/memory/retrieval.md).
    """

    name: ClassVar[str] = "naive_rag"
    version: ClassVar[int] = 1

    threshold: float | None = None
    opening_threshold: float | None = None
    query_utterances: int = 5
    retriever: Retriever = "cosine"

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """Rank 1 of the retriever is used, rank 2 passed over."""
        at_least = threshold_of(query, space, reply=self.threshold, opening=self.opening_threshold)
        return recall_by(self.retriever, query, space, at_least=at_least, utterances=self.query_utterances)
