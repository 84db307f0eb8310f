"""MemoryBank as its own paper and code have it: chance decides what is kept, and the person's portrait is always in the prompt.

When a session opens, each exchange survives with probability R = exp(−t/S): t in days since it was last recalled, S = 1 + times recalled
(Zhong et al. 2023; the reference code multiplies by S where it means to divide, so that a stronger memory would fade faster; that is not
copied). All `top_k` recalled exchanges are strengthened. Summaries are not sampled: one goes when the last exchange of its session has gone.
After each session the model analyses the person, and makes one portrait out of all analyses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from math import exp
from random import Random
from typing import Annotated, ClassVar
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from memory.policy import (
    Ask,
    Draft,
    Hit,
    Memory,
    MemoryPolicy,
    Query,
    Recall,
    Space,
    Unparsable,
    Verdict,
    When,
    newest_first,
    query_text,
)
from memory.quotation import quoted, transcript

ANALYSIS = "memory_bank_analysis@1"
PORTRAIT = "memory_bank_portrait@1"
TRANSCRIPT_CHARS = 12_000  # the newest part of a longer one
LONGEST = 900  # characters of an analysis, or of a portrait
Text = Annotated[str, Field(min_length=1, max_length=LONGEST)]


class Analysis(BaseModel):
    """What one session shows of the person, and how to speak with them."""

    analysis: Text


class Portrait(BaseModel):
    """All analyses in one."""

    portrait: Text


@dataclass(frozen=True)
class MemoryBankOriginal(MemoryPolicy):
    """`top_k`: memories recalled, all used. `threshold`: a cosine; None: none, as in the code. `portraits`: whether they are made and shown."""

    name: ClassVar[str] = "memory_bank_original"
    version: ClassVar[int] = 1
    forgets_at: ClassVar = "open"

    top_k: int = 6
    threshold: float | None = None
    query_utterances: int = 1
    portraits: bool = True

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """The newest portrait, then the most similar exchanges and session summaries; nothing is passed over."""
        hits = space.nearest(
            query_text(query, self.query_utterances), where={"kind": ("exchange", "summary")}, at_least=self.threshold, limit=self.top_k
        )
        portrait = space.newest(where={"kind": ("record",)}, limit=1) if self.portraits else ()
        return Recall((*(Hit(m, 0.0) for m in portrait), *hits), (), {"portrait": len(portrait)})

    def consolidate(self, session: Sequence[Memory], summary: str, space: Space, ask: Ask) -> Sequence[Draft]:
        """The session's summary, and a new portrait: this session's analysis, then one portrait out of all of them."""
        made = [Draft("summary", "", "", summary)] if summary else []
        said = transcript((m for m in sorted(session, key=newest_first, reverse=True) if m.kind == "exchange"), TRANSCRIPT_CHARS)
        if self.portraits and said:
            made += _portrait(said, space, ask)
        return tuple(made)

    def retain(self, memories: Sequence[Memory], now: When, rng: Random) -> Sequence[Verdict]:
        """Drawn exchange by exchange, in an order that does not depend on ids; a summary stays as long as its session has an exchange."""
        ordered = sorted(memories, key=newest_first)
        drawn = {m.id: self._drawn(m, now, rng) for m in ordered if m.kind == "exchange"}
        alive = {m.session for m in ordered if m.kind == "exchange" and drawn[m.id]["survives"]}
        ranked = sorted(ordered, key=lambda m: (-drawn[m.id]["retention"] if m.id in drawn else -1.0, *newest_first(m)))
        return [
            Verdict(m, bool(drawn[m.id]["survives"]), rank, drawn[m.id]["retention"], drawn[m.id])
            if m.id in drawn
            else Verdict(m, m.kind == "record" or m.session in alive, rank, 1.0)
            for rank, m in enumerate(ranked, start=1)
        ]

    @staticmethod
    def _drawn(memory: Memory, now: When, rng: Random) -> dict[str, float]:
        days = (_day(now.instant, now.zone) - _day(now.began.get(memory.last_recalled, memory.at), now.zone)).days
        chance, draw = retention(max(0, days), memory.r1), rng.random()
        return {"days": float(days), "strength": 1.0 + memory.r1, "retention": chance, "draw": draw, "survives": float(draw <= chance)}


def retention(days: float, recalls: int) -> float:
    """exp(−days / (1 + recalls)).

    >>> round(retention(1, 0), 4), round(retention(1, 1), 4)
    (0.3679, 0.6065)
    """
    return exp(-days / (1.0 + recalls))


def _portrait(said: str, space: Space, ask: Ask) -> list[Draft]:
    """One record that holds the session's analysis and the portrait made of all; nothing where the model cannot be read."""
    before = [str(m.fields.get("analysis", "")) for m in reversed(space.newest(where={"kind": ("record",)}))]
    try:
        analysis = ask(ANALYSIS, Analysis, said=said).analysis
        portrait = analysis
        if before:
            portrait = ask(PORTRAIT, Portrait, analyses="\n".join(quoted(text, LONGEST) for text in [*before, analysis])).portrait
    except Unparsable:
        return []
    return [Draft("record", "", "", portrait, fields={"analysis": analysis})]


def _day(instant: datetime, zone: str) -> date:
    return instant.astimezone(ZoneInfo(zone)).date()
