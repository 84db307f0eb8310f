"""One system through the benchmark: every turn written, the session closed, every query asked, by the code that a study runs.

The bot's text is empty. Where a system's forgetting looks at what was recalled, each turn is first answered by a recall, as in a study; elsewhere that would
change nothing. A query asks for three memories and changes nothing.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from memory import encoders
from memory.arms import ArmRef
from memory.benchmark.encoding import Encoding, NoThreshold
from memory.benchmark.meter import Metered
from memory.benchmark.metrics import MOST, Found, Wrote
from memory.benchmark.sessions import Question, Session, Turn
from memory.benchmark.shelf import Shelf
from memory.encoders import BadVectors
from memory.measures.scorer import Scorer
from memory.policy import (
    Discard,
    Error,
    Exchange,
    Filter,
    MemoryPolicy,
    Outcome,
    Query,
    Store,
    Unparsable,
    Update,
    When,
)
from memory.recalling import prompt_lines
from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.llm.streaming import ModelFailed
from studyplatform.study.config import StudyConfig

log = logging.getLogger(__name__)
CONTEXT = 5  # utterances
_NAMES: Mapping[type[Outcome], str] = {Store: "store", Update: "update", Discard: "discard", Filter: "filter", Error: "error"}


@dataclass(frozen=True)
class Setting:
    """What is the same for all systems. `study_id`: whose requests to a model are; `config`: prompts, models and limits of a study."""

    config: StudyConfig
    study_id: int
    encoding: Encoding
    scorers: tuple[Scorer, ...] = ()
    seed: int = 1


@dataclass(frozen=True)
class Said:
    """One turn in the order in which it is written. `seq` counts from 1; `slot`: None for what is to be filtered."""

    seq: int
    code: str
    turn: Turn

    @property
    def slot(self) -> str | None:
        return f"{self.code}/{self.turn.memory_id}" if self.turn.memory_id else None

    @property
    def exchange(self) -> Exchange:
        return Exchange(1, self.seq, "", self.turn.text, self.turn.at)


@dataclass(frozen=True)
class Answered:
    """What one query found. `in_prompt`: whether an expected slot is in what goes into the prompt; `lines`: that, as it stands there."""

    query: str
    found: Found
    in_prompt: bool
    lines: tuple[str, ...]
    calls: int
    tokens: int
    seconds: float


def said(sessions: Sequence[Session]) -> list[Said]:
    """The turns of one session, or of several in order of time."""
    pairs = sorted(((s.id, turn) for s in sessions for turn in s.turns), key=lambda pair: pair[1].at)
    return [Said(seq, code, turn) for seq, (code, turn) in enumerate(pairs, start=1)]


def forgets(policy: MemoryPolicy) -> bool:
    """Whether closing a session can change the store."""
    kind = type(policy)
    return kind.retain is not MemoryPolicy.retain or kind.consolidate is not MemoryPolicy.consolidate


def _reason(outcome: Outcome) -> str:
    """The first line of why a turn was filtered or failed; no participant's words are in it."""
    reason: str = getattr(outcome, "reason", "")
    return reason.splitlines()[0][:90] if reason else ""


class Run:
    """One system over one store. `structured`: whether its searches filter by aspect and intent."""

    def __init__(self, setting: Setting, policy: MemoryPolicy, turns: Sequence[Said], *, structured: bool = True) -> None:
        self._setting, self._policy, self._turns = setting, policy, turns
        self._slots = {said.turn.id: said.slot for said in turns}
        self.shelf = Shelf(setting.encoding, structured=structured)
        config = setting.config
        self._arm = ArmRef(0, 0, setting.study_id, config, policy, encoders.get(setting.encoding.name), setting.scorers, {}, "UTC")

    def write(self) -> Iterator[Wrote]:
        """Every turn in order."""
        ask = Metered(self._arm, "extract", "benchmark")
        for i, said in enumerate(self._turns):
            if forgets(self._policy):
                self._reply(i)
            yield self._write(said, ask)

    def _reply(self, i: int) -> None:
        """The recall before a reply, and what it counts; what the prompt quotes anyway is out of scope."""
        said = self._turns[i]
        recent = tuple(earlier.turn.text for earlier in self._turns[max(0, i + 1 - CONTEXT) : i + 1])
        self.shelf.before_seq = max(1, said.seq + 1 - CONTEXT)
        ask = Metered(self._arm, "recall", "benchmark", said.seq)
        found = self._policy.recall(Query("reply", said.turn.text, recent), self.shelf, When(1, said.turn.at), ask)
        self.shelf.before_seq = None
        self.shelf.count(found, session=1)

    def _write(self, said: Said, ask: Metered) -> Wrote:
        encoding = self._setting.encoding
        encoding.begin()
        ask.begin(said.seq)
        began = time.perf_counter()
        outcome = self._decide(said, ask)
        if isinstance(outcome, Store | Update):
            self.shelf.embed([outcome.draft.embed_text])
        seconds = time.perf_counter() - began - encoding.spent + encoding.charged
        on_target = self._on_target(said, outcome)
        self.shelf.write(said.exchange, said.turn.id, outcome)
        used, flags = ask.read(), getattr(outcome, "flags", ())
        return Wrote(
            said.turn.action,
            _NAMES[type(outcome)],
            on_target,
            used.calls,
            used.misread,
            len(flags),
            used.prefilled,
            used.cached,
            used.generated,
            seconds,
            _reason(outcome),
        )

    def _decide(self, said: Said, ask: Metered) -> Outcome:
        """As `memory.remembering.decide`: a policy's failure costs one memory, an endpoint's ends the run."""
        try:
            return self._policy.encode(said.exchange, self.shelf, ask)
        except (ModelFailed, EndpointFailed, NoThreshold):
            raise
        except Unparsable as error:
            return Error(str(error), error.raw)
        except BadVectors as error:
            return Error(str(error))
        except Exception as error:
            log.exception("policy %s failed on %s", self._policy.name, said.turn.id)
            return Error(f"{type(error).__name__}: {error}")

    def _on_target(self, said: Said, outcome: Outcome) -> bool | None:
        if _NAMES[type(outcome)] != said.turn.action or not isinstance(outcome, Update | Discard):
            return None
        targets = outcome.replaces if isinstance(outcome, Update) else (outcome.of,)
        return any(said.slot in self.slots_of(target) for target in targets)

    def slots_of(self, memory_id: int) -> frozenset[str]:
        """The slots of the turns that a memory was made of; one made of filtered turns alone is a slot of its own."""
        turns = self.shelf.turns_of(memory_id)
        slots = frozenset(slot for slot in (self._slots.get(turn) for turn in turns) if slot)
        return slots or frozenset({f"filtered:{min(turns)}"} if turns else {f"memory:{memory_id}"})

    def close(self, measures: Mapping[int, Mapping[str, float]], summary: str, opened_at: Any) -> None:
        """End the session as a study does: measures, what it leaves behind, forgetting (or at the next one's opening)."""
        ended = self._turns[-1].turn.at
        self.shelf.measure(measures)
        ask = Metered(self._arm, "consolidate", "benchmark")
        for draft in self._policy.consolidate(self.shelf.memories(), summary, self.shelf, ask):
            self.shelf.add(draft, 1, ended, frozenset(self._slots))
        instant = ended if self._policy.forgets_at == "close" else opened_at
        rng = Random(f"{self._setting.seed}:{self._turns[0].code}")  # noqa: S311  # a benchmark's chance, not a secret
        now = When(1, instant, "UTC", {1: self._turns[0].turn.at})
        self.shelf.keep(self._policy.retain(self.shelf.memories(), now, rng))

    def ask(self, code: str, question: Question, *, session: int) -> Answered:
        """One query of the store as it is. `session`: the one that is running, 1, or the next one."""
        encoding = self._setting.encoding
        encoding.begin()
        ask = Metered(self._arm, "recall", "benchmark")
        ask.begin(0)
        began = time.perf_counter()
        found = self._policy.recall(Query("question", question.text, wanted=MOST), self.shelf, When(session, question.at), ask)
        seconds = time.perf_counter() - began - encoding.spent + encoding.charged
        used = ask.read()
        expected = frozenset(f"{code}/{slot}" for slot in question.expected)
        slots = tuple(self.slots_of(hit.memory.id) for hit in (*found.used, *found.passed_over)[:MOST])
        shown = frozenset().union(*(self.slots_of(hit.memory.id) for hit in found.used))
        allowed = self._policy.prompt_chars(self._setting.config.chat.memory_chars)
        return Answered(
            question.id,
            Found(expected, slots),
            bool(expected & shown),
            prompt_lines(found, allowed),
            used.calls,
            used.prefilled + used.cached + used.generated,
            seconds,
        )
