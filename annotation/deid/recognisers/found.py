"""One suggestion, and what a family of recognisers gives."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Found:
    """[start, end) in code points; `score` only orders overlapping suggestions (1 = certain). `inside_word`: a part of a longer word."""

    start: int
    end: int
    kind: str
    by: str
    score: float
    inside_word: bool = False


Recogniser = Callable[[str], Iterator[Found]]


def matches(pattern: re.Pattern[str], kind: str, by: str, score: float, group: int | str = 0) -> Recogniser:
    """A recogniser of one pattern; `group`: the part of the match that is the identifier."""

    def recognise(text: str) -> Iterator[Found]:
        for match in pattern.finditer(text):
            start, end = match.span(group)
            if end > start:
                yield Found(start, end, kind, by, score)

    return recognise
