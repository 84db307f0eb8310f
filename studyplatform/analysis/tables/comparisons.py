"""Paired comparisons of conditions: difference with its interval, effect size with its interval, sign-flip test, Holm's correction.

The unit is the participant: each contributes one mean per condition, over sessions that are not shared. The p value is that of the exact sign-flip
(permutation) test up to 12 people, and of `FLIPS` random flips beyond; d_z is the mean difference over the standard deviation of the differences.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from studyplatform.analysis.rows import StudyRows
from studyplatform.analysis.tables import resampling
from studyplatform.analysis.tables.sentiment import PREFIX
from studyplatform.analysis.tables.table import Cell, Table
from studyplatform.analysis.tables.transcript_ratings import PARTICIPANT

EXACT, FLIPS = 12, 9999
Outcomes = Mapping[str, Mapping[str, Mapping[str, float]]]  # outcome → condition → participant → mean
Floats = NDArray[np.float64]


def outcomes(rows: StudyRows) -> Outcomes:
    """Each participant's mean per condition of every outcome that the study has; recall in percent."""
    found: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))

    def add(outcome: str, code: str, value: float) -> None:
        session = rows.by_code[code]
        if session.condition is not None:
            found[outcome][session.condition][session.participant].append(value)

    shared = {s.number for s in rows.sessions if s.condition is None}
    for r in rows.ratings:
        add(f"{'own ' if r.rater == PARTICIPANT else ''}{r.scale}", r.session, r.score)
    for m in rows.measures:
        if m.name.startswith(PREFIX):
            add(m.name, m.session, m.value)
    for g in rows.model_ratings:
        if g.score is not None:
            add("rating by a language model", g.session, g.score / 2)
    for a in rows.answers:
        if a.correct is not None and a.after not in shared:
            found["recall"][a.condition][a.participant].append(100.0 * (a.answered and a.correct))
    return {o: {c: {p: fmean(v) for p, v in people.items()} for c, people in by.items()} for o, by in found.items()}


def table(rows: StudyRows, *, seed: int = 1) -> Table:
    """A row per outcome and pair: difference, d_z, p and p corrected (Holm) over the outcome's pairs that are exploratory."""
    found: list[Cell] = []
    for outcome, by in sorted(outcomes(rows).items()):
        family: list[tuple[dict[str, str], list[Cell], float, bool]] = []
        for a, b in combinations([c for c in rows.conditions if c in by], 2):
            both = sorted(by[a].keys() & by[b].keys())
            if len(both) < 2:
                continue
            differences = np.array([by[a][p] - by[b][p] for p in both])
            planned = outcome == rows.plan.primary and rows.plan.contrast is not None and {a, b} == set(rows.plan.contrast)
            row = {"outcome": outcome, "pair": f"{a} less {b}", "kind": "confirmatory" if planned else "exploratory"}
            p = sign_flip(differences, seed=seed)
            family.append((row, _effects(row, differences, seed), p, planned))
        corrected = iter(holm([p for _, _, p, planned in family if not planned]))
        for row, cells, p, planned in family:
            n = cells[0].n
            found += [*cells, Cell(row, "p", p, n), Cell(row, "p (Holm)", p if planned else next(corrected), n)]
    notes = (
        "The unit is the participant; shared sessions enter no contrast. p: two-sided sign-flip test; d_z: mean difference over the differences' standard deviation.",
        "Only the plan's primary outcome and contrast is confirmatory; Holm's correction runs over an outcome's other pairs."
        if rows.plan.contrast
        else "The study file plans no contrast: everything here is exploratory.",
    )
    missing = () if found else ("an outcome of two conditions in at least two participants",)
    return Table("comparisons", "Paired comparisons of the conditions", "the outcome's", "participants", tuple(found), notes, missing)


def _effects(row: dict[str, str], differences: Floats, seed: int) -> list[Cell]:
    weight = resampling.weights(len(differences), seed=seed)
    n = len(differences)
    mean = resampling.ratio(weight, differences, np.ones(n))
    square = resampling.ratio(weight, differences**2, np.ones(n))
    spread = np.sqrt(np.maximum(square - mean**2, 0) * n / (n - 1))
    size = np.where(spread > 1e-12, mean / np.where(spread > 1e-12, spread, 1), np.nan)
    t = Cell(row, "difference", *_t_interval(differences))
    value, low, high = resampling.estimate(size)
    return [t, Cell(row, "d_z", value, n, low, high)]


def _t_interval(differences: Floats) -> tuple[float, int, float, float]:
    """(mean, n, low, high): Student's 95 % interval, which holds its level with few people better than the percentile bootstrap."""
    from scipy.stats import t as student  # type: ignore[attr-defined]  # scipy ships no types

    n, mean = len(differences), float(np.mean(differences))
    half = float(student.ppf(0.975, n - 1) * np.std(differences, ddof=1) / n**0.5)
    return mean, n, mean - half, mean + half


def sign_flip(differences: Floats, *, seed: int) -> float:
    """Two-sided p of the mean under random signs.

    >>> sign_flip(np.array([1.0, 2.0, 3.0]), seed=1)
    0.25
    """
    n = len(differences)
    if n <= EXACT:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12))
    signs = np.random.default_rng(seed).choice((-1, 1), size=(FLIPS, n))
    return float((1 + np.sum(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12)) / (FLIPS + 1))


def holm(ps: Sequence[float]) -> list[float]:
    """Holm (1979): the i-th smallest p times the number of those not yet passed, never falling, at most 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    found, running = [0.0] * len(ps), 0.0
    for done, i in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        running = max(running, min(1.0, (len(ps) - done) * ps[i]))
        found[i] = running
    return found
