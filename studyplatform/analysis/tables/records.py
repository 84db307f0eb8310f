"""What the tables are computed from. Sessions are counted from 1, a session's exchanges from 0.

`person` is who spoke: the unit of every interval. One person may have been recorded more than once: `recording` tells the recordings apart.
`condition` is the label under which a memory system, or a variant of it, stands in the tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Answered:
    """One question about session `of`, asked of one condition after session `after`. `answered`: it did not say that it does not know."""

    person: str
    condition: str
    after: int
    of: int
    answered: bool
    correct: bool


@dataclass(frozen=True)
class Placed:
    """Where the memory that answers a question stood among the memories held after its own session.

    `rank`: of the first right one, from 1; None where no memory held is right. `held`, `right`: how many memories there were, and how many right ones.
    """

    person: str
    condition: str
    judge: str
    question: str
    rank: int | None
    held: int
    right: int


@dataclass(frozen=True)
class Held:
    """One arm after one session: `exchanges` made in this session, `kept` memories (summaries included) in the store after it."""

    person: str
    condition: str
    session: int
    exchanges: int
    kept: int


@dataclass(frozen=True)
class Marked:
    """What each annotator marked as important in one session."""

    person: str
    recording: str
    system: str
    session: int
    exchanges: int
    raters: Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class Survived:
    """Which exchanges of one session a condition still held after that session's forgetting."""

    person: str
    recording: str
    condition: str
    session: int
    exchanges: int
    kept: frozenset[int]
