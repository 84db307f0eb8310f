"""Tables 12 and 13: recall and precision of the answers, per set of questions.

After session s every question of the sessions 1…s is asked; those about session q are the set Qq. Recall = correct / asked; precision = correct /
answered. Answered means that the answer does not say that it does not know; whether anything was recalled is not mixed in.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from studyplatform.analysis.tables import published, resampling
from studyplatform.analysis.tables.records import Answered
from studyplatform.analysis.tables.resampling import Draws
from studyplatform.analysis.tables.table import Cell, Table

Set = tuple[int, int]  # (asked after, about)
Measure = Literal["recall", "precision"]


@dataclass(frozen=True)
class Counts:
    """Per person (row) and question set (column): how many questions were asked, answered, and answered rightly."""

    sets: tuple[Set, ...]
    asked: Draws
    answered: Draws
    correct: Draws

    def draws(self, measure: Measure, weight: Draws) -> Draws:
        """Shape (draws, sets); NaN where nothing was asked, or answered."""
        return resampling.ratio(weight, self.correct, self.asked if measure == "recall" else self.answered)


def count(records: Iterable[Answered], place: Mapping[str, int]) -> Counts:
    """One condition's records, counted."""
    mine = list(records)
    sets = tuple(sorted({(r.after, r.of) for r in mine}))
    at = {name: i for i, name in enumerate(sets)}
    asked, answered, correct = (np.zeros((len(place), len(sets))) for _ in range(3))
    for r in mine:
        cell = place[r.person], at[r.after, r.of]
        asked[cell] += 1
        answered[cell] += r.answered
        correct[cell] += r.answered and r.correct
    return Counts(sets, asked, answered, correct)


def recall(records: Sequence[Answered], *, judge: str, seed: int = 1) -> Table:
    """Table 12."""
    return _table("12", "Recall of the answers by question set", "recall", records, judge, seed)


def precision(records: Sequence[Answered], *, judge: str, seed: int = 1) -> Table:
    """Table 13."""
    return _table("13", "Precision of the answers by question set", "precision", records, judge, seed)


def _table(name: str, title: str, measure: Measure, records: Sequence[Answered], judge: str, seed: int) -> Table:
    place = resampling.places([r.person for r in records])
    weight = resampling.weights(len(place), seed=seed)
    printed = published.RECALL if measure == "recall" else published.PRECISION
    cells: list[Cell] = []
    for condition in dict.fromkeys(r.condition for r in records):
        counts = count((r for r in records if r.condition == condition), place)
        draws = 100 * counts.draws(measure, weight)
        under = counts.asked if measure == "recall" else counts.answered
        for i, (after, of) in enumerate(counts.sets):
            value, low, high = resampling.estimate(draws[:, i])
            column = f"S{after} Q{of}"
            paper = printed.get(condition, {}).get(column)
            cells.append(Cell({"system": condition}, column, value, int(under[:, i].sum()), low, high, paper))
    counted = "questions asked" if measure == "recall" else "questions answered"
    notes = (f"Judge of the answers: {judge}.", "The paper's answers were judged by people.")
    return Table(name, title, "%", counted, tuple(cells), notes=notes)
