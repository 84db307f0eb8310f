"""The participant's own profile, matched everywhere: whole words, and inside longer ones, reported apart."""

import re
from collections.abc import Iterable, Iterator

from annotation.deid.recognisers.found import Found

SHORTEST = 3
"""Characters. A shorter string is looked for as a whole word only."""


def profile(text: str, strings: Iterable[str]) -> Iterator[Found]:
    """Every occurrence of every string, in any case; several words may be parted by any white space."""
    for string in {s.strip() for s in strings if s and s.strip()}:
        pattern = re.compile(r"\s+".join(re.escape(word) for word in string.split()), re.IGNORECASE)
        for match in pattern.finditer(text):
            inside = _inside(text, match.start(), match.end())
            if not inside or len(string) >= SHORTEST:
                yield Found(match.start(), match.end(), "profile", "the participant's profile", 0.5 if inside else 0.99, inside)


def _inside(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return (before.isalnum() and text[start].isalnum()) or (after.isalnum() and text[end - 1].isalnum())
