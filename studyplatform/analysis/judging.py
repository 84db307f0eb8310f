"""The lexical judge: whether a text holds an answer, by the words that carry its meaning. Cheap, repeatable, and no person's judgement.

It takes a paraphrase for wrong, and a text that shares words by chance for right; tables name it wherever it was used.
"""

import re
from functools import lru_cache
from typing import Literal

from studyplatform.scripted.sentences import content_words

Strictness = Literal["half", "all"]
NAMES: dict[Strictness, str] = {
    "half": "lexical: at least half of the answer's content words",
    "all": "lexical: all of the answer's content words",
}
_TOKEN = re.compile(r"\w+")


def holds(text: str, answer: str, strictness: Strictness = "half") -> bool:
    """Whether `text` holds so many of the answer's content words. An answer without any (“yes”, “3”) is held with all its words.

    >>> holds("We climbed Mount Fuji in June", "Mount Fuji in August"), holds("We climbed Mount Fuji", "Mount Fuji in August", "all")
    (True, False)
    >>> holds("No, 3 of them", "3"), holds("No", "3")
    (True, False)
    """
    wanted = set(content_words(answer))
    if not wanted:
        words = set(_TOKEN.findall(answer.casefold()))
        return bool(words) and words <= set(_TOKEN.findall(text.casefold()))
    found = len(wanted & _words(text))
    return found == len(wanted) if strictness == "all" else 2 * found >= len(wanted)


@lru_cache(maxsize=20_000)
def _words(text: str) -> frozenset[str]:
    return frozenset(content_words(text))
