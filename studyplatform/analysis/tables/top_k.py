"""Table 7: where the memory that answers a question stands among the memories held, nearest to the question first.

Needs a judgement which memory answers the question; the judge is named in the row. The paper's were people, who looked at the ten memories
nearest by cosine; its 612 questions count those of the shared session three times, so the distinct ones stand beside them.
"""

from collections.abc import Iterable, Sequence
from math import comb

import numpy as np

from studyplatform.analysis.tables import published, resampling
from studyplatform.analysis.tables.records import Placed
from studyplatform.analysis.tables.resampling import Draws
from studyplatform.analysis.tables.table import Cell, Table

K = range(1, 11)
PRINTED = {"system": "naive_rag", "judge": "people", "questions": "all"}


def table(records: Sequence[Placed], *, seed: int = 1) -> Table:
    """Per condition, judge and population (all, distinct) the share of questions with a right memory among the first k, and a random order's."""
    cells: list[Cell] = []
    place = resampling.places([r.person for r in records])
    weight = resampling.weights(len(place), seed=seed)
    cells += [Cell(PRINTED, f"top {k}", None, 612, paper=published.TOP_K[k - 1]) for k in K]
    for condition in dict.fromkeys(r.condition for r in records):
        for judge in dict.fromkeys(r.judge for r in records if r.condition == condition):
            mine = [r for r in records if (r.condition, r.judge) == (condition, judge)]
            once = distinct(mine)
            row = {"system": condition, "judge": judge, "questions": "distinct"}
            if len(once) < len(mine):
                cells += _row({**row, "questions": "all"}, mine, place, weight)
            cells += _row(row, once, place, weight)
            cells += _random(row, once)
    notes = (
        "A question without any right memory in the store counts as not found. The paper's judges were people, its encoder another.",
        "random: the expectation of a random order of the memories held.",
    )
    return Table("7", "Position of the memory that answers the question", "%", "questions", tuple(cells), notes=notes)


def distinct(records: Iterable[Placed]) -> list[Placed]:
    """Each person's question once."""
    return list({(r.person, r.question): r for r in reversed(list(records))}.values())[::-1]


def by_chance(held: int, right: int, k: int) -> float:
    """That one of `right` among `held` stands in the first k of a random order: 1 − C(held − right, k) / C(held, k).

    >>> by_chance(4, 1, 1), by_chance(4, 1, 4), by_chance(4, 0, 2)
    (0.25, 1.0, 0.0)
    """
    k = min(k, held)
    return 1 - comb(held - right, k) / comb(held, k)


def _row(row: dict[str, str], asked: Sequence[Placed], place: dict[str, int], weight: Draws) -> list[Cell]:
    n = np.zeros(len(place))
    found = np.zeros((len(place), len(K)))
    for r in asked:
        n[place[r.person]] += 1
        if r.rank is not None:
            found[place[r.person], max(r.rank - 1, 0) :] += 1
    cells = []
    for i, k in enumerate(K):
        value, low, high = resampling.estimate(100 * resampling.ratio(weight, found[:, i], n))
        cells.append(Cell(row, f"top {k}", value, len(asked), low, high))
    return cells


def _random(row: dict[str, str], asked: Sequence[Placed]) -> list[Cell]:
    shown = {**row, "questions": "distinct, random"}
    if not asked:
        return []
    return [Cell(shown, f"top {k}", 100 * float(np.mean([by_chance(r.held, r.right, k) for r in asked])), len(asked)) for k in K]
