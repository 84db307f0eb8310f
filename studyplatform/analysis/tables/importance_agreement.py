"""Tables 9 and 15: how far annotators, and the systems' forgetting, agree on what is important.

Annotators: per session, the mean over pairs of raters of n(A ∩ B) / k, k marks each; where raters marked different numbers, the mean of n(A ∩ B) / n(A) over
the ordered pairs, which is the same for equal numbers. Random: the chance of that, k / n of the session's n exchanges. A system: n(kept ∩ A) / n(A), kept being its
memories of that session after that session's forgetting, with its own chance level kept / n beside it, since it does not keep k.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from statistics import fmean

import numpy as np

from studyplatform.analysis.tables import published, resampling
from studyplatform.analysis.tables.records import Marked, Survived
from studyplatform.analysis.tables.resampling import Draws
from studyplatform.analysis.tables.table import Cell, Table

Transcript = tuple[str, int, float | None]  # person, session, the transcript's value


def table(marked: Sequence[Marked], survived: Sequence[Survived], *, seed: int = 1, name: str = "9") -> Table:
    """Table 9, or, over LUFY and its ablations with `name` 15, table 15."""
    place = resampling.places([m.person for m in marked])
    weight = resampling.weights(len(place), seed=seed)
    marks = {(m.recording, m.session): m for m in marked}
    systems = list(dict.fromkeys(m.system for m in marked))
    cells: list[Cell] = []

    def add(label: str, transcripts: Iterable[Transcript], kind: str, printed: published.Row | None = None) -> None:
        cells.extend(_row(label, kind, list(transcripts), place, weight, printed))

    for system in systems:
        mine = [m for m in marked if m.system == system]
        label = "annotators" if len(systems) == 1 else f"annotators, {system}"
        add(label, _each(mine, raters), "agreement", published.AGREEMENT["annotators"])
        add(label, _each(mine, chance), "random", published.AGREEMENT["random"])
    for condition in dict.fromkeys(s.condition for s in survived):
        both = [(s, marks[s.recording, s.session]) for s in survived if s.condition == condition and (s.recording, s.session) in marks]
        add(condition, ((s.person, s.session, kept_of_marked(s, m)) for s, m in both), "agreement", published.AGREEMENT.get(condition))
        add(condition, ((s.person, s.session, len(s.kept) / s.exchanges if s.exchanges else None) for s, _ in both), "random")
    missing = () if marked else ("annotators' marks of what is important",)
    title = "Agreement on what is important" + (", one term of LUFY left out" if name == "15" else "")
    notes = (
        "A system's random: the share of the session's exchanges that it kept, which is not the annotators' k.",
        "Summaries are no exchanges and are left out here. The paper prints one condition's annotators and one random row.",
    )
    return Table(name, title, "%", "transcripts", tuple(cells) if marked else (), notes=notes, missing=missing)


def raters(marked: Marked) -> float | None:
    """Mean over ordered pairs of raters of n(A ∩ B) / n(A); None with fewer than two raters that marked anything."""
    shares = [len(a & b) / len(a) for a, b in permutations(marked.raters.values(), 2) if a]
    return fmean(shares) if shares else None


def chance(marked: Marked) -> float | None:
    """The mean of k / n over the raters of a pair."""
    shares = [len(b) / marked.exchanges for a, b in permutations(marked.raters.values(), 2) if a]
    return fmean(shares) if shares and marked.exchanges else None


def kept_of_marked(survived: Survived, marked: Marked) -> float | None:
    """Mean over raters of n(kept ∩ A) / n(A)."""
    shares = [len(survived.kept & a) / len(a) for a in marked.raters.values() if a]
    return fmean(shares) if shares else None


def _each(marked: Iterable[Marked], measure: Callable[[Marked], float | None]) -> Iterable[Transcript]:
    return ((m.person, m.session, measure(m)) for m in marked)


def _row(
    label: str, kind: str, transcripts: Sequence[Transcript], place: dict[str, int], weight: Draws, printed: published.Row | None
) -> list[Cell]:
    """Means over transcripts per session, and the mean of the sessions."""
    paper = published.columns(printed)
    cells, sessions = [], []
    row = {"system": label, "what": kind}
    for session in sorted({s for _, s, _ in transcripts}):
        total, n = np.zeros(len(place)), np.zeros(len(place))
        for person, at, value in transcripts:
            if at == session and value is not None:
                total[place[person]] += value
                n[place[person]] += 1
        draws = 100 * resampling.ratio(weight, total, n)
        sessions.append(draws)
        cells.append(Cell(row, f"S{session}", *_ordered(draws, int(n.sum())), paper.get(f"S{session}")))
    if sessions:
        counted = sum(cell.n for cell in cells)
        cells.append(Cell(row, "average", *_ordered(np.mean(sessions, axis=0), counted), paper.get("average")))
    return cells


def _ordered(draws: Draws, n: int) -> tuple[float | None, int, float | None, float | None]:
    value, low, high = resampling.estimate(draws)
    return value, n, low, high
