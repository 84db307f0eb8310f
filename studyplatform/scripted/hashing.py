"""Embeddings without a model: a signed, hashed bag of words and character n-grams, as unit vectors.

Texts that share words, or parts of words, are near each other; unrelated texts are near zero. It is deterministic on every
machine, so that a simulated study gives the same figures twice.
"""

import math
import re
from functools import lru_cache
from zlib import crc32

DIMENSION = 384
_WORD = re.compile(r"\w+")
_FUNCTION_WORDS_TEXT = """
a about all also am an and any are as at be been but by can could did do does for from had has have he her him his how
i if in is it its just like me more my no not of on one or our out really she so some than that the their them then
there they this to too up us very was we well were what when where which who why will with would you your
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_TEXT.split())
WORD_WEIGHT = 1.0
FUNCTION_WORD_WEIGHT = 0.15
GRAM_WEIGHT = 0.3
GRAM_LENGTH = 4


@lru_cache(maxsize=20_000)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """(index, signed weight) of a word and of its character n-grams; a function word brings no n-grams."""
    if word in _FUNCTION_WORDS:
        return (_slot(word, FUNCTION_WORD_WEIGHT),)
    framed = f"<{word}>"
    grams = {framed[i : i + GRAM_LENGTH] for i in range(max(1, len(framed) - GRAM_LENGTH + 1))}
    share = GRAM_WEIGHT / math.sqrt(len(grams))
    return (_slot(word, WORD_WEIGHT), *(_slot(f"#{gram}", share) for gram in sorted(grams)))


def _slot(feature: str, weight: float) -> tuple[int, float]:
    hashed = crc32(feature.encode())
    return hashed % DIMENSION, weight if hashed >> 31 else -weight


def embed(text: str) -> list[float]:
    """A unit vector of `DIMENSION` numbers; a text without words gets the first axis."""
    counts: dict[str, int] = {}
    for word in _WORD.findall(text.lower()):
        counts[word] = counts.get(word, 0) + 1
    vector = [0.0] * DIMENSION
    for word, count in counts.items():
        damped = 1.0 + math.log(count)
        for index, weight in _features(word):
            vector[index] += damped * weight
    norm = math.sqrt(sum(x * x for x in vector))
    if norm == 0.0:
        return [1.0] + [0.0] * (DIMENSION - 1)
    return [x / norm for x in vector]
