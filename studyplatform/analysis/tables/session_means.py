"""Means per condition and session with intervals over people: what tables 4, 5 and 6 have in common.

A session's value is Σ total / Σ n over its people; the average is the mean of the values of the sessions that are not shared. A shared session counts in
each of its participant's conditions, stands in brackets, and enters neither the average nor a contrast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from studyplatform.analysis.rows import SessionRow, StudyRows
from studyplatform.analysis.tables import published, resampling
from studyplatform.analysis.tables.published import Row
from studyplatform.analysis.tables.resampling import Draws
from studyplatform.analysis.tables.table import Cell


@dataclass(frozen=True)
class Part:
    """What one session adds: `total` over `n` things."""

    session: SessionRow
    total: float
    n: int


def cells(
    rows: StudyRows, parts: Sequence[Part], *, labels: Mapping[str, str], printed: Mapping[str, Row], seed: int, scale: float = 1.0
) -> list[Cell]:
    """One row per condition, its columns S1 … and `average`. `labels`: added to each row; `scale`: the values' factor."""
    place = resampling.places([p.session.participant for p in parts])
    weight = resampling.weights(len(place), seed=seed)
    shared = {p.session.number for p in parts if p.session.condition is None}
    found: list[Cell] = []
    for condition in rows.conditions:
        mine = [p for p in parts if condition in rows.counts_in(p.session)]
        row, paper = {"system": condition, **labels}, published.columns(printed.get(condition))
        unshared: list[Draws] = []
        for number in sorted({p.session.number for p in mine}):
            total, n = np.zeros(len(place)), np.zeros(len(place))
            for p in (p for p in mine if p.session.number == number):
                total[place[p.session.participant]] += p.total
                n[place[p.session.participant]] += p.n
            draws = scale * resampling.ratio(weight, total, n)
            unshared += [] if number in shared else [draws]
            found.append(_cell(row, f"S{number}", draws, int(n.sum()), paper))
        if unshared:
            counted = sum(p.n for p in mine if p.session.number not in shared)
            found.append(_cell(row, "average", np.mean(unshared, axis=0), counted, paper))
    return found


def _cell(row: Mapping[str, str], column: str, draws: Draws, n: int, paper: Mapping[str, float]) -> Cell:
    value, low, high = resampling.estimate(draws)
    return Cell(row, column, value, n, low, high, paper.get(column))


def brackets(rows: StudyRows) -> tuple[str, ...]:
    """The note on a shared session, where there is one."""
    numbers = sorted({s.number for s in rows.sessions if s.condition is None})
    if not numbers:
        return ()
    return (
        f"Session {', '.join(map(str, numbers))} was shared by all conditions: the same value stands in each, and the average leaves it out.",
    )
