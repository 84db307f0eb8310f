"""Whether the conditions answer equally fast: each pair's difference in the time to the first token, tested for equivalence.

Two one-sided t tests (Schuirmann 1987) on the participants' paired differences of their mean latency; equivalent where the 90 % interval lies within the margin.
"""

from collections import defaultdict
from itertools import combinations
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from studyplatform.analysis.rows import StudyRows
from studyplatform.analysis.tables.table import Cell, Table

Floats = NDArray[np.float64]


def table(rows: StudyRows) -> Table:
    """A row per pair of conditions: difference in ms with its 90 % interval, and the larger of the two one-sided p values."""
    by_arm: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in rows.turns:
        session = rows.by_code[turn.session]
        if turn.first_token_ms is not None and session.condition is not None:
            by_arm[session.condition][session.participant].append(turn.first_token_ms)
    mean = {c: {p: fmean(values) for p, values in people.items()} for c, people in by_arm.items()}
    margin = rows.plan.latency_margin_ms
    found: list[Cell] = []
    for a, b in combinations([c for c in rows.conditions if c in mean], 2):
        both = sorted(mean[a].keys() & mean[b].keys())
        if len(both) > 1:
            found += _pair({"pair": f"{a} less {b}"}, np.array([mean[a][p] - mean[b][p] for p in both]), margin)
    notes = (f"Equivalent: the 90 % interval lies within ±{margin:g} ms (two one-sided tests, 5 % each). Shared sessions are left out.",)
    missing = () if found else ("times to the first token of two conditions in at least two participants",)
    return Table("latency", "Equality of the time to the first token", "ms", "participants", tuple(found), notes, missing)


def tost(differences: Floats, margin: float) -> tuple[float, float, float, float]:
    """(mean, low and high of the 90 % interval, the larger one-sided p). Differences without any spread give p 0 or 1.

    >>> [round(x, 3) for x in tost(np.array([1.0, -1.0, 2.0, -2.0]), 10.0)]
    [0.0, -2.148, 2.148, 0.001]
    """
    from scipy.stats import t as student  # type: ignore[attr-defined]  # scipy ships no types

    n, mean = len(differences), float(np.mean(differences))
    error = float(np.std(differences, ddof=1)) / n**0.5
    if error == 0:
        return mean, mean, mean, float(abs(mean) >= margin)
    half = float(student.ppf(0.95, n - 1)) * error
    above, below = student.sf((mean + margin) / error, n - 1), student.cdf((mean - margin) / error, n - 1)
    return mean, mean - half, mean + half, float(max(above, below))


def _pair(row: dict[str, str], differences: Floats, margin: float) -> list[Cell]:
    mean, low, high, p = tost(differences, margin)
    n = len(differences)
    return [Cell(row, "difference", mean, n, low, high), Cell(row, "p", p, n), Cell(row, "equivalent", float(p < 0.05), n)]
