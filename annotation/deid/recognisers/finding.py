"""All recognisers over one text, and which of overlapping suggestions stays."""

from collections.abc import Iterable, Sequence

from annotation.deid.recognisers import numbers, people, places, times
from annotation.deid.recognisers.found import Found, Recogniser
from annotation.deid.recognisers.profile import profile

RULES: tuple[Recogniser, ...] = (*numbers.RECOGNISERS, *times.RECOGNISERS, *places.RECOGNISERS, *people.RECOGNISERS)


def find(text: str, strings: Iterable[str] = (), further: Sequence[Recogniser] = ()) -> list[Found]:
    """Suggestions for `text` in order, none overlapping.

    Args:
        text: one utterance; offsets are code points of it.
        strings: of the participant's profile.
        further: recognisers beside the rules (a named-entity model).
    """
    every = [found for recognise in (*RULES, *further) for found in recognise(text)]
    every += profile(text, strings)
    return settle([_trimmed(text, found) for found in every])


def settle(every: Iterable[Found]) -> list[Found]:
    """Of overlapping suggestions the surest stays; of equally sure ones the longest."""
    kept: list[Found] = []
    for found in sorted(set(every), key=lambda f: (-f.score, f.start - f.end, f.start, f.kind)):
        if not any(found.start < other.end and other.start < found.end for other in kept):
            kept.append(found)
    return sorted(kept)


def _trimmed(text: str, found: Found) -> Found:
    """Without white space and closing punctuation at its ends."""
    start, end = found.start, found.end
    while start < end and text[start].isspace():
        start += 1
    while end > start + 1 and text[end - 1] in " \t\r\n,;:!?\"”’'":
        end -= 1
    return Found(start, end, found.kind, found.by, found.score, found.inside_word)
