"""Table 6: ratings of the transcripts by a language model: the mean of its repetitions on 1 to 10, halved.

Beside it the same with a transcript's repetitions first reduced to one whole number, which the printed values imply: all eight are multiples of 1/34, that is
half steps of 17 people. The halving is inferred; the paper does not state it.
"""

import math
from collections import defaultdict
from statistics import fmean

from studyplatform.analysis.rows import StudyRows
from studyplatform.analysis.tables import session_means
from studyplatform.analysis.tables.published_outcomes import MODEL_RATING
from studyplatform.analysis.tables.session_means import Part
from studyplatform.analysis.tables.table import Table


def table(rows: StudyRows, *, seed: int = 1) -> Table:
    """Two rows per condition: the mean, and the mean of whole numbers."""
    scores: dict[str, list[float]] = defaultdict(list)
    for r in rows.model_ratings:
        if r.score is not None:
            scores[r.session].append(r.score)
    unread = sum(r.score is None for r in rows.model_ratings)
    means = [Part(rows.by_code[code], fmean(given) / 2, 1) for code, given in scores.items()]
    whole = [Part(rows.by_code[code], math.floor(fmean(given) + 0.5) / 2, 1) for code, given in scores.items()]
    found = session_means.cells(rows, means, labels={"reduced by": "mean"}, printed={}, seed=seed)
    found += session_means.cells(rows, whole, labels={"reduced by": "whole number"}, printed=MODEL_RATING, seed=seed)
    notes = (
        "Ratings on 1 to 10, halved; the halving is inferred from the printed values.",
        f"Answers that could not be read as a rating: {unread} of {len(rows.model_ratings)}.",
        *session_means.brackets(rows),
    )
    missing = () if found else ("ratings of the transcripts by a language model",)
    return Table("6", "Ratings of the conversations by a language model", "0.5 to 5", "transcripts", tuple(found), notes, missing)
