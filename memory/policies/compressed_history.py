"""Compressed history: one text holds everything that was said so far. After each session the model works the session into it, and the exchanges go.

During a session its own exchanges are there too, since nothing has been compressed yet. If the model's answer cannot be read, the exchanges stay and
are compressed with the next session's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from memory.budget import chars, recall_newest
from memory.policy import (
    Ask,
    Draft,
    Exchange,
    Memory,
    MemoryPolicy,
    Outcome,
    Query,
    Recall,
    Space,
    Store,
    Unparsable,
    Verdict,
    When,
    exchange_text,
    newest_first,
)
from memory.quotation import quoted, transcript

PROMPT = "compressed_history_merge@1"
TRANSCRIPT_CHARS = 12_000  # the newest part of a longer one
NOTHING = "(nothing yet)"
LONGEST = 4000  # characters of the text


class Compressed(BaseModel):
    """The model's answer."""

    history: Annotated[str, Field(min_length=1, max_length=LONGEST)]


@dataclass(frozen=True)
class CompressedHistory(MemoryPolicy):
    """`words`: how long the text may be, as the model is told. `budget_tokens`: the most that goes into a prompt, estimated."""

    name: ClassVar[str] = "compressed_history"
    version: ClassVar[int] = 1

    words: int = 150
    budget_tokens: int = 2000

    def prompt_chars(self, allowed: int) -> int:
        return max(allowed, chars(self.budget_tokens))

    def encode(self, exchange: Exchange, space: Space, ask: Ask) -> Outcome:
        """As it was said, with the day on which it was said where the participant lives."""
        text = exchange_text(exchange.bot, exchange.user)
        return Store(Draft("exchange", exchange.bot, exchange.user, text, {"day": exchange.at.date().isoformat()}))

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """The text, and after it what has not been compressed yet."""
        return recall_newest(query, space, space.newest(), self.budget_tokens)

    def consolidate(self, session: Sequence[Memory], summary: str, space: Space, ask: Ask) -> Sequence[Draft]:
        """The text so far with everything uncompressed worked into it; one question to the model."""
        held = sorted(space.newest(), key=newest_first, reverse=True)
        said = _dated([m for m in held if m.kind == "exchange"])
        if not said:
            return ()
        earlier = next((m.embed_text for m in reversed(held) if m.kind == "summary"), NOTHING)
        try:
            made = ask(PROMPT, Compressed, earlier=quoted(earlier, LONGEST), latest=said, words=str(self.words))
        except Unparsable:
            return ()
        return (Draft("summary", "", "", made.history),)

    def retain(self, memories: Sequence[Memory], now: When, rng: Random) -> Sequence[Verdict]:
        """The newest text stays, and exchanges that are not in it."""
        ranked = sorted(memories, key=newest_first)
        text = next((m for m in ranked if m.kind == "summary"), None)
        compressed = text.session if text else 0
        return [Verdict(m, m is text or m.session > compressed, rank, 1.0 / rank) for rank, m in enumerate(ranked, start=1)]


def _dated(exchanges: Sequence[Memory]) -> str:
    """A transcript, oldest first, each day under its date; the newest part of a long one."""
    days: list[str] = []
    left = TRANSCRIPT_CHARS
    for day, said in reversed([(day, list(group)) for day, group in groupby(exchanges, lambda m: m.fields.get("day"))]):
        head = f"{day}:\n" if day else ""
        if left <= len(head):
            break
        days.append(head + transcript(said, left - len(head)))
        left -= len(days[-1]) + 1
    return "\n".join(reversed(days))
