"""Recall and precision of suggestions against gold spans."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.deid.recognisers.found import Found

Gold = tuple[int, int, str]
"""start, end (code points), kind"""


@dataclass(frozen=True)
class Shares:
    """`recall`: share of gold spans of which every character is suggested, whatever the suggestion's kind. `precision`: share of suggestions that touch a gold span. None: there were none."""

    recall: float | None
    precision: float | None
    n_gold: int
    n_suggested: int


def evaluate(texts: Iterable[tuple[Sequence[Found], Sequence[Gold]]]) -> tuple[Shares, dict[str, Shares]]:
    """Over all texts, and by kind (of the gold span for recall, of the suggestion for precision).

    Recall asks for the whole span: a reader who is shown half an address may miss the rest. Precision asks only for a place worth
    looking at: people decide about the edges.
    """
    gold, covered, made, right = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for suggested, spans in texts:
        marked = {i for found in suggested for i in range(found.start, found.end)}
        for start, end, kind in spans:
            gold[kind] += 1
            covered[kind] += marked.issuperset(range(start, end))
        for found in suggested:
            made[found.kind] += 1
            right[found.kind] += any(found.start < end and start < found.end for start, end, _ in spans)
    return _shares(gold.total(), covered.total(), made.total(), right.total()), {
        kind: _shares(gold[kind], covered[kind], made[kind], right[kind]) for kind in sorted(gold.keys() | made.keys())
    }


def _shares(gold: int, covered: int, made: int, right: int) -> Shares:
    return Shares(covered / gold if gold else None, right / made if made else None, gold, made)
