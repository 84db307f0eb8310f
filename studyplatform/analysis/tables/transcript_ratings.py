"""Table 4: ratings of the transcripts per criterion, session and condition, 1 to 5; and the participants' own, in the same form.

Mean over the raters of a transcript, then over transcripts.
"""

from collections import defaultdict
from statistics import fmean

from studyplatform.analysis.rows import StudyRows
from studyplatform.analysis.tables import session_means
from studyplatform.analysis.tables.published_outcomes import RATINGS
from studyplatform.analysis.tables.session_means import Part
from studyplatform.analysis.tables.table import Cell, Table

PARTICIPANT = "participant"


def table(rows: StudyRows, *, seed: int = 1) -> Table:
    """Table 4, by annotators."""
    notes = (
        "Mean over a transcript's annotators, then over transcripts.",
        "A shared session is rated once here; the paper's was rated once for each condition.",
    )
    missing = "annotators' ratings of transcripts"
    return _table(rows, own=False, name="4", title="Ratings of the conversations by annotators", notes=notes, missing=missing, seed=seed)


def own(rows: StudyRows, *, seed: int = 1) -> Table:
    """The participants' ratings of their own sessions."""
    title, missing = "Ratings of the conversations by the participants themselves", "participants' ratings of their sessions"
    return _table(rows, own=True, name="own ratings", title=title, notes=(), missing=missing, seed=seed)


def _table(rows: StudyRows, *, own: bool, name: str, title: str, notes: tuple[str, ...], missing: str, seed: int) -> Table:
    scores: dict[tuple[str, str], list[int]] = defaultdict(list)
    for r in rows.ratings:
        if (r.rater == PARTICIPANT) == own:
            scores[r.scale, r.session].append(r.score)
    found: list[Cell] = []
    for scale in dict.fromkeys(scale for scale, _ in scores):
        parts = [Part(rows.by_code[code], fmean(given), 1) for (of, code), given in scores.items() if of == scale]
        printed = {} if own else {c: RATINGS[c][scale] for c in RATINGS if scale in RATINGS[c]}
        found += session_means.cells(rows, parts, labels={"criterion": scale}, printed=printed, seed=seed)
    lacking = () if found else (missing,)
    return Table(name, title, "1 to 5", "transcripts", tuple(found), (*notes, *session_means.brackets(rows)), lacking)
