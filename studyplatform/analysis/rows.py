"""What every table of a study is computed from: one frozen record per row of the study, whether it was read from the database or from a release.

Participants, sessions and annotators are named by their codes; `condition` is what the reader may see (a code while the study is blinded, the condition's
name afterwards), None in a shared first session. Sessions count from 1, utterances (`seq`) from 1. Times are milliseconds unless the name says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class PersonRow:
    """A participant. `state`: as in the study (active, finished, stopped, withdrawn …)."""

    participant: str
    state: str
    language: str = "en"


@dataclass(frozen=True)
class ArmRow:
    """A participant under a condition; `order`: its place in that participant's order of conditions, from 1."""

    participant: str
    condition: str
    order: int
    policy: str = ""


@dataclass(frozen=True)
class SessionRow:
    """One session that was planned. `condition` None: shared by all of the participant's conditions."""

    code: str
    participant: str
    condition: str | None
    number: int
    position: int
    state: str


@dataclass(frozen=True)
class TurnRow:
    """One utterance, as far as tables need it: its words, not its text."""

    session: str
    seq: int
    role: str
    words: int
    first_token_ms: float | None = None
    total_ms: float | None = None


@dataclass(frozen=True)
class MeasureRow:
    """One number about one utterance of the participant (`sentiment_<scorer>`, arousal …)."""

    session: str
    seq: int
    name: str
    value: float


@dataclass(frozen=True)
class HeldRow:
    """Memories in an arm's store after a session's forgetting (summaries included), and the session's exchanges that stand behind one.

    `exchanges`: made in this session; `kept_exchanges`: which of them survive, by their place from 0.
    """

    participant: str
    condition: str
    session: int
    exchanges: int
    kept: int
    kept_exchanges: frozenset[int]


@dataclass(frozen=True)
class AnswerRow:
    """One question about session `of`, asked of one arm after session `after`. `correct` None: nobody has graded the answer; `judge`: who has."""

    participant: str
    condition: str
    after: int
    of: int
    number: int
    answered: bool
    nothing_recalled: bool
    correct: bool | None
    judge: str


@dataclass(frozen=True)
class LabelRow:
    """One annotator's counted label of one utterance. `value`: 1 important, 0 not, None not sure; `exchange`: the utterance's place from 0."""

    session: str
    seq: int
    exchange: int
    annotator: str
    value: int | None


@dataclass(frozen=True)
class RatingRow:
    """One rating of a transcript, 1 to 5. `rater`: an annotator, or `participant`."""

    session: str
    rater: str
    scale: str
    score: int


@dataclass(frozen=True)
class ModelRatingRow:
    """One rating of a transcript by a language model, 1 to 10; `score` None: the answer could not be read."""

    session: str
    repetition: int
    score: float | None
    model: str = ""


@dataclass(frozen=True)
class GuessRow:
    """What somebody guessed a condition to be: `guesser` is participant or annotator; `truth` and `guess` name conditions."""

    guesser: str
    person: str
    truth: str
    guess: str


@dataclass(frozen=True)
class SystemRow:
    """A compared memory system: its preset, what it forgets by and recalls by, and its parameters as text."""

    condition: str
    policy: str
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class PlanRow:
    """The frozen analysis plan. `primary`: the outcome; `contrast`: the two conditions of the one confirmatory comparison, as the reader may see them."""

    primary: str = ""
    contrast: tuple[str, str] | None = None
    population: str = "all_assigned"
    minimum_sessions: int = 1
    latency_margin_ms: float = 200.0


@dataclass(frozen=True)
class StudyRows:
    """A whole study. `conditions`: in the study's order; `lacking`: inputs that this source cannot have, by name, with the reason."""

    conditions: tuple[str, ...]
    systems: tuple[SystemRow, ...] = ()
    people: tuple[PersonRow, ...] = ()
    arms: tuple[ArmRow, ...] = ()
    sessions: tuple[SessionRow, ...] = ()
    turns: tuple[TurnRow, ...] = ()
    measures: tuple[MeasureRow, ...] = ()
    held: tuple[HeldRow, ...] = ()
    answers: tuple[AnswerRow, ...] = ()
    labels: tuple[LabelRow, ...] = ()
    ratings: tuple[RatingRow, ...] = ()
    model_ratings: tuple[ModelRatingRow, ...] = ()
    guesses: tuple[GuessRow, ...] = ()
    plan: PlanRow = PlanRow()
    language: str = "en"
    lacking: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_code(self) -> Mapping[str, SessionRow]:
        return {s.code: s for s in self.sessions}

    @cached_property
    def conditions_of(self) -> Mapping[str, tuple[str, ...]]:
        """Each participant's conditions: a shared session counts in every one of them."""
        found: dict[str, list[str]] = {}
        for arm in self.arms:
            found.setdefault(arm.participant, []).append(arm.condition)
        return {person: tuple(sorted(mine, key=self.conditions.index)) for person, mine in found.items()}

    def counts_in(self, session: SessionRow) -> tuple[str, ...]:
        """The conditions in which a session counts: its own, or, shared, all of its participant's."""
        return (session.condition,) if session.condition is not None else self.conditions_of.get(session.participant, ())
