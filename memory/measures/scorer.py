"""The interface of a scorer: a number about an exchange, with the constants that belong to its scale."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import emoji

from memory.policy import Exchange, Scale
from studyplatform.llm.asking import Purpose


@dataclass(frozen=True)
class Score:
    """`fallback`: the scorer could not tell, and this is the value that stands for that."""

    value: float
    fallback: bool = False


@dataclass(frozen=True)
class Context:
    """What a scorer may need beside the exchange: the key summary of the sessions before, and in whose name it asks a model."""

    key_summary: str
    study_id: int
    session_id: int | None
    session_code: str
    seq: int

    def purpose(self, name: str) -> Purpose:
        return Purpose(name, self.study_id, self.session_code, self.session_id, self.seq)


def in_words(text: str) -> str:
    """What was said with every emoji by its name, for models that were not trained on emoji (memory-systems 1.7, row 20). What is stored stays as it is.

    >>> in_words("Yes 🙂")
    'Yes :slightly_smiling_face:'
    """
    return emoji.demojize(text)


class Scorer(ABC):
    """One way to measure. `measure` is what policies know it by; id and version are stored with every value.

    `scale` is the cap (its 95th percentile on a calibration set) and the divisor that the value is used with; None where the value has
    a fixed scale of its own.
    """

    measure: ClassVar[str]
    id: str
    version: str
    scale: Scale | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """(measure, scorer, version): which stored values are this scorer's."""
        return (self.measure, self.id, self.version)

    @abstractmethod
    def score(self, exchange: Exchange, context: Context) -> Score:
        """The measure of one exchange.

        Raises:
            studyplatform.llm.streaming.ModelFailed, studyplatform.llm.embeddings.EndpointFailed: no answer; try again later.
        """
