"""Table 5: sentiment of the participant's utterances, the mean of +1, 0 and −1 pooled over utterances; each model by itself, and their mean.

The paper names two models and prints one number: it stands beside the mean of the models.
"""

from collections import defaultdict

from studyplatform.analysis.rows import StudyRows
from studyplatform.analysis.tables import session_means
from studyplatform.analysis.tables.published_outcomes import SENTIMENT
from studyplatform.analysis.tables.session_means import Part
from studyplatform.analysis.tables.table import Cell, Table

PREFIX = "sentiment_"
BOTH = "mean of the models"


def table(rows: StudyRows, *, seed: int = 1) -> Table:
    """A row per condition and model."""
    sums: dict[str, dict[str, tuple[float, int]]] = defaultdict(dict)
    for m in rows.measures:
        if m.name.startswith(PREFIX):
            total, n = sums[m.name.removeprefix(PREFIX)].get(m.session, (0.0, 0))
            sums[m.name.removeprefix(PREFIX)][m.session] = total + m.value, n + 1
    found: list[Cell] = []
    pooled: dict[str, tuple[float, int]] = {}
    for model, by_session in sorted(sums.items()):
        parts = [Part(rows.by_code[code], total, n) for code, (total, n) in by_session.items()]
        found += session_means.cells(rows, parts, labels={"model": model}, printed=SENTIMENT if len(sums) == 1 else {}, seed=seed)
        for code, (total, n) in by_session.items():
            before = pooled.get(code, (0.0, 0))
            pooled[code] = before[0] + total, before[1] + n
    if len(sums) > 1:
        parts = [Part(rows.by_code[code], total, n) for code, (total, n) in pooled.items()]
        found += session_means.cells(rows, parts, labels={"model": BOTH}, printed=SENTIMENT, seed=seed)
    notes = ("The paper names two models and prints one number for both.", *session_means.brackets(rows))
    missing = () if found else ("sentiment of the participants' utterances (score them with a sentiment model)",)
    return Table("5", "Sentiment of the participants' utterances", "−1 to +1", "utterances", tuple(found), notes, missing)
