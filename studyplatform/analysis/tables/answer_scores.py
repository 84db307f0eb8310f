"""Tables 8 and 14: precision, recall and F1 of the answers per session.

A session's value is the unweighted mean over its question sets (30/44 and 22/31 are 69.6 %, as printed; pooled they would be 69.3); F1 is the harmonic mean
of that precision and recall; the average is the mean of the sessions' values, F1 included. Pooled values stand beside them. Table 14 is the same for
LUFY with one term of its strength left out.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from studyplatform.analysis.tables import published, resampling
from studyplatform.analysis.tables.question_sets import Counts, count
from studyplatform.analysis.tables.records import Answered
from studyplatform.analysis.tables.resampling import Draws
from studyplatform.analysis.tables.table import Cell, Table

MEASURES = ("precision", "recall", "F1")
POOLED = ("precision, pooled", "recall, pooled", "F1, pooled")
Scores = dict[tuple[str, str], Draws]  # by (measure, column)


def table(records: Sequence[Answered], *, judge: str, baseline: str | None = None, seed: int = 1, name: str = "8") -> Table:
    """Table 8, or, over LUFY and its ablations with `name` 14, table 14.

    `baseline`: every other condition's average is compared with this one's, on the same draws of people.
    """
    place = resampling.places([r.person for r in records])
    weight = resampling.weights(len(place), seed=seed)
    conditions = list(dict.fromkeys(r.condition for r in records))
    counts = {c: count((r for r in records if r.condition == c), place) for c in conditions}
    scores = {c: score(counts[c], weight) for c in conditions}
    cells = [cell for c in conditions for cell in _cells(c, counts[c], scores[c])]
    if baseline in scores:
        cells += [cell for c in conditions if c != baseline for cell in _less(c, baseline, counts[c], scores)]
    title = "Precision, recall and F1 of the answers" + (", one term of LUFY left out" if name == "14" else "")
    notes = [
        f"Judge of the answers: {judge}.",
        "Session values: unweighted means over the session's question sets; average: mean of the sessions.",
    ]
    undefined = [c for c in conditions if np.isnan(counts[c].draws("precision", weight[:1])).any()]
    if undefined:
        notes.append(f"Precision leaves out question sets of which nothing was answered: {', '.join(undefined)}.")
    return Table(name, title, "%", "questions asked", tuple(cells), notes=tuple(notes))


def score(counts: Counts, weight: Draws) -> Scores:
    """Every measure by session and on average, in percent, per draw."""
    found: Scores = {}
    sessions = sorted({after for after, _ in counts.sets})
    by_set = {m: counts.draws(m, weight) for m in ("precision", "recall")}
    for session in sessions:
        mine = [i for i, (after, _) in enumerate(counts.sets) if after == session]
        column = f"S{session}"
        p, r = (_mean(by_set[m][:, mine]) for m in ("precision", "recall"))
        found |= _three(MEASURES, column, p, r)
        correct, answered, asked = (part[:, mine].sum(axis=1) for part in (counts.correct, counts.answered, counts.asked))
        found |= _three(POOLED, column, resampling.ratio(weight, correct, answered), resampling.ratio(weight, correct, asked))
    for measure in (*MEASURES, *POOLED):
        found[measure, "average"] = _mean(np.stack([found[measure, f"S{s}"] for s in sessions], axis=1))
    return found


def _three(names: Sequence[str], column: str, precision: Draws, recall: Draws) -> Scores:
    return {(names[0], column): 100 * precision, (names[1], column): 100 * recall, (names[2], column): 100 * f1(precision, recall)}


def f1(precision: Draws, recall: Draws) -> Draws:
    """The harmonic mean; 0 where nothing was answered rightly, even if nothing was answered at all."""
    total = np.where(recall > 0, precision + recall, 1)
    return np.where(recall > 0, 2 * precision * recall / total, recall)


def _mean(parts: Draws) -> Draws:
    """Over the defined parts of each draw; NaN where none is."""
    defined = ~np.isnan(parts)
    n = defined.sum(axis=1)
    return np.where(n > 0, np.where(defined, parts, 0).sum(axis=1) / np.maximum(n, 1), np.nan)


def _cells(condition: str, counts: Counts, scores: Scores) -> Iterator[Cell]:
    printed: Mapping[str, published.Row] = published.SCORES.get(condition, {})
    for (measure, column), draws in sorted(scores.items(), key=lambda item: (*MEASURES, *POOLED).index(item[0][0])):
        value, low, high = resampling.estimate(draws)
        paper = published.columns(printed.get(measure)).get(column)
        yield Cell({"system": condition, "measure": measure}, column, value, _asked(counts, column), low, high, paper)


def _less(condition: str, baseline: str, counts: Counts, scores: Mapping[str, Scores]) -> Iterator[Cell]:
    for measure in MEASURES:
        draws = scores[condition][measure, "average"] - scores[baseline][measure, "average"]
        value, low, high = resampling.estimate(draws)
        yield Cell({"system": f"{condition} less {baseline}", "measure": measure}, "average", value, _asked(counts, "average"), low, high)


def _asked(counts: Counts, column: str) -> int:
    mine = [i for i, (after, _) in enumerate(counts.sets) if column in (f"S{after}", "average")]
    return int(counts.asked[:, mine].sum())
