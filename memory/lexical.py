"""Search by words: Okapi BM25 over one arm's texts, and its fusion with a search by cosine.

BM25 as in Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework", section 3, with the inverse document frequency that
is never negative; reciprocal rank fusion as in Cormack, Clarke and Büttcher (2009). An arm holds hundreds of texts, so the
statistics are counted anew for each search: nothing to keep in step with what is corrected or deleted.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
B = 0.75
FUSION = 60  # how much the very first ranks count more than those after them

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")  # scripts that put no space between words


def terms(text: str) -> list[str]:
    """The words of a text, case folded; of a script without spaces, every two neighbouring characters.

    >>> terms("My dog's name")
    ['my', "dog's", 'name']
    >>> terms("東京へ")
    ['東京', '京へ']
    """
    found: list[str] = []
    for match in _WORD.finditer(text.casefold()):
        word = match[0].replace("’", "'")
        if _UNSPACED.search(word):
            found += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            found.append(word)
    return found


def bm25(query: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """The score of every text for the query, shape (len(texts),), at least 0; 0: no word in common."""
    bags = [Counter(terms(text)) for text in texts]
    lengths = np.array([sum(bag.values()) for bag in bags], dtype=np.float64)
    scores = np.zeros(len(texts))
    if not lengths.any():
        return scores
    norm = K1 * (1 - B + B * lengths / lengths.mean())
    for word in dict.fromkeys(terms(query)):
        counts = np.array([bag[word] for bag in bags], dtype=np.float64)
        holding = int(np.count_nonzero(counts))
        if holding:
            scores += math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5)) * counts * (K1 + 1) / (counts + norm)
    return scores


def fused(*rankings: Sequence[int]) -> list[int]:
    """Reciprocal rank fusion of rankings of the same items, best first: an item's score is the sum of 1 / (60 + rank). Ties: as in the first.

    >>> fused([0, 1, 2], [2, 0, 1])
    [0, 2, 1]
    """
    scores = Counter[int]()
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] += 1 / (FUSION + rank)  # type: ignore[assignment]  # Counter holds any number
    first = {item: rank for rank, item in enumerate(rankings[0])} if rankings else {}
    return sorted(scores, key=lambda item: (-scores[item], first.get(item, len(first))))


@dataclass(frozen=True)
class Fused:
    """One text in the fused ranking. `item`: its index; `first`, `second`: its ranks by cosine and by words, `second` None: no word in common.

    `words`: its BM25; `score`: what it was ranked by.
    """

    item: int
    first: int
    second: int | None
    words: float
    score: float


def by_both(query: str, texts: Sequence[str]) -> list[Fused]:
    """The texts, given nearest first, by reciprocal rank fusion of that order with BM25's; a text without a word of the query has no rank there.

    >>> [(found.item, found.first, found.second) for found in by_both("Biscuit", ["a dog", "a cat", "Biscuit"])]
    [(2, 3, 1), (0, 1, None), (1, 2, None)]
    """
    scores = bm25(query, texts)
    by_words = sorted(np.flatnonzero(scores).tolist(), key=lambda item: -scores[item])
    second = {item: rank for rank, item in enumerate(by_words, start=1)}
    return [
        Fused(
            item, item + 1, second.get(item), float(scores[item]), sum(1 / (FUSION + rank) for rank in (item + 1, second.get(item)) if rank)
        )
        for item in fused(range(len(texts)), by_words)
    ]
