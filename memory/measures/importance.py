"""Importance: the model's judgement, 1 to 10, of what the participant said, given the key summary (LUFY paper, appendix A; own wording)."""

import re
from typing import ClassVar

from pydantic import BaseModel, Field

from memory.measures.scorer import Context, Score, Scorer
from memory.policy import Exchange
from memory.quotation import quoted
from studyplatform.llm import asking

FALLBACK = 5.0
MOST_CHARS = 2000  # of a message or a key summary in the prompt
_NUMBER = re.compile(r"(?<![\d.])(?:10|[1-9])(?:\.\d+)?(?![\d.]*\d)")


class Importance(BaseModel):
    """What an endpoint that can constrain its answer is constrained to; any other answer is searched for a number."""

    importance: int = Field(ge=1, le=10)


class ModelImportance(Scorer):
    """Asked twice at most; an answer without a number from 1 to 10 counts as 5, marked as a fallback."""

    measure: ClassVar[str] = "importance"

    def __init__(self, model: str, prompt: str) -> None:
        self.id = f"model:{model}"
        self.version = prompt
        self._model = asking.Model(model, max_tokens=24)

    def score(self, exchange: Exchange, context: Context) -> Score:
        known = quoted(context.key_summary, MOST_CHARS) or "Nothing yet."
        try:
            value = asking.read(
                context.purpose("importance"),
                self._model,
                self.version,
                read_number,
                Importance,
                key_summary=known,
                said=quoted(exchange.user, MOST_CHARS),
            )
        except asking.BadAnswer:
            return Score(FALLBACK, fallback=True)
        return Score(value)


def read_number(answer: str) -> float:
    """The first number from 1 to 10 in an answer.

    Raises:
        ValueError: there is none.

    >>> read_number("I would say 7 of 10."), read_number("10")
    (7.0, 10.0)
    """
    for found in _NUMBER.finditer(answer):
        value = float(found[0])
        if 1 <= value <= 10:
            return value
    raise ValueError("no number from 1 to 10 in the answer")
