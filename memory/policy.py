"""The interface of a memory system. Plain Python: no Django, no network, no clock, no global chance.

A policy is a frozen dataclass whose fields are its parameters, so `dataclasses.asdict(policy)` is its provenance. Time,
chance, the encoder and the language model are arguments. To add a system, add one file in `memory/policies/` and one line in
`memory/registry.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from memory.lexical import Fused, by_both

Vector = NDArray[np.float32]
Kind = Literal["exchange", "summary", "record"]
Retriever = Literal["cosine", "hybrid"]
Schema = TypeVar("Schema", bound=BaseModel)

# What a later session's opener is looked up with, in every arm: nothing has been said yet.
OPENING_QUERY = "Something important that happened in this person's life."


class Unparsable(Exception):
    """The model's answer did not fit the schema, twice. `raw` is what it said."""

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message)
        self.raw = raw


@dataclass(frozen=True)
class Exchange:
    """A bot utterance (empty after an outage) and the participant's reply to it; `seq` is the reply's."""

    session: int
    seq: int
    bot: str
    user: str
    at: datetime


@dataclass(frozen=True)
class Memory:
    """What a policy may see of a stored memory. `id` is opaque; ties are broken by (session, seq), newest first."""

    id: int
    kind: Kind
    session: int
    seq: int
    bot: str
    user: str
    embed_text: str
    r1: int
    r2: int
    last_recalled: int
    at: datetime
    fields: Mapping[str, Any] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft:
    """A memory to be stored. `embed_text` is what its vector is made of. `measures`, `r1`: a summary brings its own."""

    kind: Kind
    bot: str
    user: str
    embed_text: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    r1: int = 0


@dataclass(frozen=True)
class Store:
    draft: Draft
    flags: tuple[str, ...] = ()
    why: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Update:
    """Store `draft`, which supersedes the memories `replaces` (fused into it) and `archives` (duplicates that it repeats)."""

    draft: Draft
    replaces: tuple[int, ...]
    archives: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()
    why: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Discard:
    """The exchange repeats the memory `of`."""

    of: int
    why: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Filter:
    """The exchange holds nothing to remember."""

    reason: str
    why: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Error:
    """The write failed; the turn is kept, the queue goes on."""

    reason: str
    raw: str = ""


Outcome = Store | Update | Discard | Filter | Error


@dataclass(frozen=True)
class Query:
    """`recent`: the last utterances, oldest first, within the study's context window; `last`: the participant's newest.

    `wanted`: how many memories are looked for, used and passed over together; a benchmark asks every policy for as many.
    """

    kind: Literal["reply", "opening", "question"]
    last: str
    recent: tuple[str, ...] = ()
    wanted: int = 2


@dataclass(frozen=True)
class When:
    """`session`: the arm's session number s; `instant`: aware; `zone`: the participant's IANA time zone.

    `began`: when each of the arm's sessions began, by number; given to a `retain` that forgets at the opening, in days.
    """

    session: int
    instant: datetime
    zone: str = "UTC"
    began: Mapping[int, datetime] = field(default_factory=dict)


@dataclass(frozen=True)
class Hit:
    memory: Memory
    similarity: float
    terms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Recall:
    """`used` goes into the prompt; `passed_over` was retrieved and left out."""

    used: tuple[Hit, ...] = ()
    passed_over: tuple[Hit, ...] = ()
    why: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """Where a scorer's values are cut off (`cap`) and what brings them to a common size (`divisor`); both belong to the scorer."""

    cap: float
    divisor: float


@dataclass(frozen=True)
class Verdict:
    """One memory's fate at forgetting. `rank`: 1 = strongest; `terms`: every term of the score."""

    memory: Memory
    kept: bool
    rank: int
    score: float
    terms: Mapping[str, float] = field(default_factory=dict)


class Space(Protocol):
    """One arm's memories, and the encoder that their vectors come from."""

    @property
    def encoder_name(self) -> str:
        """`provider/model`."""
        ...

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimension), float32."""
        ...

    def nearest(
        self,
        query: str | Vector,
        *,
        where: Mapping[str, Sequence[str]] | None = None,
        at_least: float | None = None,
        limit: int | None = None,
    ) -> Sequence[Hit]:
        """Exact cosine search over the arm's active memories, most similar first, ties newest (session, seq) first.

        `where` filters on `kind` or on `fields` (aspect, intent) before ranking; `at_least` is a cosine; memories in the
        context window (and, where the study says so, of the running session) are never in scope.
        """
        ...

    def newest(self, *, limit: int | None = None, where: Mapping[str, Sequence[str]] | None = None) -> Sequence[Memory]:
        """The arm's active memories by time, newest (session, seq) first; a session's summary comes before its turns. No encoder is asked.

        At most `limit`, None: all. `where` and what is in scope as in `nearest`.
        """
        ...

    def threshold(self, name: str) -> float:
        """A calibrated cosine of this encoder, by name (`memory.encoders.THRESHOLDS`)."""
        ...


class Ask(Protocol):
    """The language model, for a policy: one prompt by name and version, a schema that the answer must fit."""

    def __call__(self, prompt: str, schema: type[Schema], **variables: str) -> Schema:
        """Raises Unparsable after one retry."""
        ...


class MemoryPolicy(ABC):
    """One memory system. Subclasses are frozen dataclasses.

    `measures`: what is scored about every exchange before `retain`. `forgets_at`: a session's close, or the opening of the next one.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    measures: ClassVar[tuple[str, ...]] = ()
    forgets_at: ClassVar[Literal["close", "open"]] = "close"

    def calibrated(self, scales: Mapping[str, Scale]) -> Self:
        """This policy with the constants of the scorers that a study uses, by measure. Default: it has none."""
        return self

    def prompt_chars(self, allowed: int) -> int:
        """How much recalled text may go into a prompt, in characters, where a study allows `allowed`. Only a bound takes more."""
        return allowed

    def sees_summary(self) -> bool:
        """Whether the key summary stands in this system's prompts. Only a bound goes without."""
        return True

    def encode(self, exchange: Exchange, space: Space, ask: Ask) -> Outcome:
        """What one exchange becomes. Default: stored as it is."""
        text = exchange_text(exchange.bot, exchange.user)
        return Store(Draft("exchange", exchange.bot, exchange.user, text))

    @abstractmethod
    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """Which memories go into the prompt."""

    def consolidate(self, session: Sequence[Memory], summary: str, space: Space, ask: Ask) -> Sequence[Draft]:
        """What one finished session leaves behind besides its writes. Default: nothing."""
        return ()

    def retain(self, memories: Sequence[Memory], now: When, rng: Random) -> Sequence[Verdict]:
        """One verdict per memory. `now.session` is the session that just ended, `now.instant` its end or the next one's opening. Default: all kept."""
        return [Verdict(m, True, i, 1.0) for i, m in enumerate(sorted(memories, key=newest_first), start=1)]


def newest_first(memory: Memory) -> tuple[int, int]:
    """Sort key that breaks every tie: newest session, then newest seq; a summary (seq 0) comes after its session's turns."""
    return (-memory.session, -(memory.seq or 10**9))


def exchange_text(bot: str, user: str) -> str:
    """The text form of an exchange that is embedded."""
    return f"{bot}\n{user}" if bot else user


def query_text(query: Query, utterances: int = 5) -> str:
    """What is embedded to search with: the last utterances joined, or the question, or for an opener the fixed sentence."""
    if query.kind == "opening":
        return OPENING_QUERY
    recent = query.recent[-utterances:] if query.kind == "reply" and utterances > 1 else ()
    return "\n".join(text for text in recent if text) or query.last


def threshold_of(query: Query, space: Space, *, reply: float | None, opening: float | None, name: str = "reply") -> float:
    """The cosine that a memory must reach: the policy's own for this kind of query, else the encoder's calibrated one (`name`: a reply's)."""
    own = opening if query.kind == "opening" else reply
    return own if own is not None else space.threshold("opening" if query.kind == "opening" else name)


def recall_by(retriever: Retriever, query: Query, space: Space, *, at_least: float, utterances: int) -> Recall:
    """What the retriever that is named finds: rank 1 used, rank 2 passed over."""
    found = recall_by_both if retriever == "hybrid" else recall_by_cosine
    return found(query, space, at_least=at_least, utterances=utterances)


def recall_by_cosine(query: Query, space: Space, *, at_least: float, utterances: int) -> Recall:
    """Rank 1 by cosine is used, rank 2 passed over (LUFY paper, table 3: the retrieval of the arms without importance)."""
    hits = space.nearest(query_text(query, utterances), at_least=at_least, limit=query.wanted)
    return Recall(tuple(hits[:1]), tuple(hits[1:]), {"threshold": at_least})


def recall_by_both(query: Query, space: Space, *, at_least: float, utterances: int) -> Recall:
    """As `recall_by_cosine`, ranked by meaning and by words together (`memory.lexical`); an opener has no words of the person's: by cosine.

    The threshold decides whether anything is recalled: the nearest memory's cosine must reach it, as for cosine alone, so an encoder's
    calibrated value means the same for both. Which memory is recalled then, the fused ranking of all in scope decides.
    """
    if query.kind == "opening":
        return recall_by_cosine(query, space, at_least=at_least, utterances=utterances)
    text = query_text(query, utterances)
    hits = space.nearest(text)
    why = {"threshold": at_least, "retriever": "hybrid", "nearest": hits[0].similarity if hits else None, "candidates": len(hits)}
    if not hits or hits[0].similarity < at_least:
        return Recall(why=why)
    ranked = [_placed(hits, found) for found in by_both(text, [hit.memory.embed_text for hit in hits])[: query.wanted]]
    return Recall(tuple(ranked[:1]), tuple(ranked[1:]), why)


def _placed(hits: Sequence[Hit], found: Fused) -> Hit:
    terms = {"cosine_rank": found.first, "words_rank": found.second or 0, "words": found.words, "fused": found.score}
    return replace(hits[found.item], terms=terms)
