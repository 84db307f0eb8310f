"""MemoryBank as the LUFY study used it: Ebbinghaus' curve decides what is kept, cosine alone what is recalled.

Importance = exp(−Δt / S), S = 1 + times injected, Δt in sessions since the last injection (LUFY paper, sections 2 and table 3,
appendix D). Which hits count as a recall is left open there; here it is rank 1, the memory that was in the prompt. The number kept is
LUFY's (`memory.retention`), so that both arms have the same budget. A memory never recalled ties with its peers of the session
(exp(−1) after one session): the newest wins, and the tie's size is in the terms' ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from random import Random
from typing import ClassVar

from memory.policy import (
    Ask,
    Draft,
    Memory,
    MemoryPolicy,
    Query,
    Recall,
    Retriever,
    Space,
    Verdict,
    When,
    newest_first,
    recall_by,
    threshold_of,
)
from memory.retention import keep_count


@dataclass(frozen=True)
class MemoryBank(MemoryPolicy):
    """`keep_share`: of all memories held, per session's end; `session_slots`: one more place per earlier session.

    `retriever`: as of Naive RAG.
    """

    name: ClassVar[str] = "memory_bank"
    version: ClassVar[int] = 1

    threshold: float | None = None
    opening_threshold: float | None = None
    query_utterances: int = 5
    keep_share: float = 0.10
    session_slots: bool = True
    retriever: Retriever = "cosine"

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """Rank 1 of the retriever is used, rank 2 passed over."""
        at_least = threshold_of(query, space, reply=self.threshold, opening=self.opening_threshold)
        return recall_by(self.retriever, query, space, at_least=at_least, utterances=self.query_utterances)

    def consolidate(self, session: Sequence[Memory], summary: str, space: Space, ask: Ask) -> Sequence[Draft]:
        """The session's summary becomes a memory, as strong as the strongest exchange of its session."""
        if not summary:
            return ()
        return (Draft("summary", "", "", summary, r1=max((m.r1 for m in session), default=0)),)

    def retain(self, memories: Sequence[Memory], now: When, rng: Random) -> Sequence[Verdict]:
        """The strongest `keep_count` memories by exp(−Δt/S) at the start of the next session."""
        kept = keep_count(len(memories), now.session, self.keep_share, session_slots=self.session_slots)
        scored = [(importance(m.r1, now.session + 1 - m.last_recalled), m) for m in memories]
        ranked = sorted(scored, key=lambda pair: (-pair[0], *newest_first(pair[1])))
        return [
            Verdict(m, rank <= kept, rank, score, {"strength": 1.0 + m.r1, "dt": now.session + 1 - m.last_recalled, "importance": score})
            for rank, (score, m) in enumerate(ranked, start=1)
        ]


def importance(recalls: int, dt: float) -> float:
    """exp(−dt / (1 + recalls)), dt in sessions.

    >>> round(importance(0, 1), 4)
    0.3679
    """
    return exp(-dt / (1.0 + recalls))
