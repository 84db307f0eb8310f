"""Agreement on the labels of a study: overall, by condition, session and transcript, by pair of annotators, with what explains it.

Takes rows of any shape that has the fields of `Labelled`, so that it runs on a study's database and on a release alike.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, Protocol

import numpy as np

from studyplatform.analysis.agreement import Coefficient, Coefficients, Floats, coefficients
from studyplatform.analysis.agreement_intervals import RESAMPLES, Interval, intervals

CATEGORIES = (0.0, 1.0)  # not important, important
PUBLISHED = ("fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "percent_agreement", "positive_agreement", "prevalence")
SHARED = "shared"  # a shared session's transcripts belong to no condition


class Labelled(Protocol):
    """One label; `value`: 1 important, 0 not, None unsure."""

    @property
    def session_code(self) -> str: ...
    @property
    def participant_code(self) -> str: ...
    @property
    def condition_code(self) -> str | None: ...
    @property
    def session_number(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def annotator(self) -> str: ...
    @property
    def value(self) -> int | None: ...


@dataclass(frozen=True)
class Matrix:
    """Labels as items × annotators, NaN where none. An item is an utterance (session code, seq)."""

    items: tuple[tuple[str, int], ...]
    annotators: tuple[str, ...]
    ratings: Floats
    participants: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """One line of the report. `chance`: kappa if all had put their number of marks anywhere in each transcript; `most`: if as alike as can be."""

    name: str
    found: Coefficients
    around: Mapping[str, Interval]
    annotators: tuple[str, ...]
    transcripts: int
    chance: Coefficient
    most: Coefficient


@dataclass(frozen=True)
class Report:
    overall: Group
    by: Mapping[str, Mapping[str, Group]]  # condition, session, conversation


@dataclass(frozen=True)
class Setting:
    """How a report is computed. `full`: annotators per transcript; `cluster`: what is drawn again."""

    full: int
    seed: int
    cluster: Literal["transcript", "participant"] = "transcript"
    resamples: int = RESAMPLES


def matrix_of(rows: Iterable[Labelled]) -> Matrix:
    """ValueError: one annotator has two labels on an utterance."""
    cells: dict[tuple[str, int], dict[str, int | None]] = defaultdict(dict)
    people: dict[str, str] = {}
    for row in rows:
        cell = cells[row.session_code, row.seq]
        if row.annotator in cell:
            raise ValueError(f"{row.annotator} has two labels on utterance {row.seq} of {row.session_code}")
        cell[row.annotator] = row.value
        people[row.session_code] = row.participant_code
    items = tuple(sorted(cells))
    annotators = tuple(sorted({name for cell in cells.values() for name in cell}, key=_natural))
    ratings = np.full((len(items), len(annotators)), np.nan)
    column = {name: i for i, name in enumerate(annotators)}
    for i, item in enumerate(items):
        for name, value in cells[item].items():
            ratings[i, column[name]] = math.nan if value is None else value
    return Matrix(items, annotators, ratings, tuple(people[session] for session, _ in items))


def _natural(name: str) -> tuple[str, int, str]:
    """A2 before A10."""
    head = name.rstrip("0123456789")
    return head, int(name[len(head) :] or 0), name


def report_of(rows: Sequence[Labelled], setting: Setting) -> Report:
    """The whole report of one round's labels; without labels, a report whose values are None with the reason."""
    keys: Mapping[str, Callable[[Labelled], str]] = {
        "condition": lambda row: row.condition_code or SHARED,
        "session": lambda row: str(row.session_number),
        "conversation": lambda row: row.session_code,
    }
    return Report(overall=group_of("overall", rows, setting), by={kind: _grouped(rows, key, setting) for kind, key in keys.items()})


def _grouped(rows: Sequence[Labelled], key: Callable[[Labelled], str], setting: Setting) -> dict[str, Group]:
    parts: dict[str, list[Labelled]] = defaultdict(list)
    for row in rows:
        parts[key(row)].append(row)
    return {name: group_of(name, parts[name], setting) for name in sorted(parts, key=_natural)}


def group_of(name: str, rows: Iterable[Labelled], setting: Setting) -> Group:
    matrix = matrix_of(rows)
    transcripts = [session for session, _ in matrix.items]
    clusters = transcripts if setting.cluster == "transcript" else matrix.participants
    found = coefficients(matrix.ratings, categories=CATEGORIES, positive=1.0, full=setting.full)
    around = intervals(
        matrix.ratings, clusters, categories=CATEGORIES, positive=1.0, full=setting.full, seed=setting.seed, resamples=setting.resamples
    )
    chance, most = reachable(matrix, setting.full)
    return Group(name, found, around, matrix.annotators, len(set(transcripts)), chance, most)


def reachable(matrix: Matrix, full: int) -> tuple[Coefficient, Coefficient]:
    """Fleiss' kappa by chance and at most, given how many marks each annotator set in each transcript. Over complete items.

    Of n utterances a and b marked m and k. At random they agree on (mk + (n - m)(n - k)) / n² of them, at most on 1 - |m - k| / n (all
    annotators at once, if each one's marks contain those of whoever marked fewer). The prevalence, hence kappa's own chance, is as it is.
    """
    rated = np.isfinite(matrix.ratings)
    complete = np.flatnonzero(rated.sum(axis=1) == full) if full >= 2 else np.array([], dtype=np.intp)
    groups: dict[tuple[str, bytes], list[int]] = defaultdict(list)
    for i in complete.tolist():
        groups[matrix.items[i][0], rated[i].tobytes()].append(i)
    random = best = 0.0
    for members in groups.values():
        n = len(members)
        marks = matrix.ratings[members][:, rated[members[0]]].sum(axis=0).tolist()
        for m, k in combinations(marks, 2):
            random += (m * k + (n - m) * (n - k)) / n
            best += n - abs(m - k)
    share = float(np.nanmean(matrix.ratings[complete])) if len(complete) else 0.0
    if not 0 < share < 1:
        why = "all ratings are in one category" if len(complete) else f"no item has all {full} ratings"
        return Coefficient(None, why), Coefficient(None, why)
    pairs = len(complete) * full * (full - 1) / 2
    expected = share**2 + (1 - share) ** 2
    return Coefficient((random / pairs - expected) / (1 - expected)), Coefficient((best / pairs - expected) / (1 - expected))


def values_of(group: Group) -> dict[str, Any]:
    """One group as `manage.py agreement --json` prints it; shares are fractions, `ci95` is of Fleiss' kappa."""
    found, around = group.found, group.around["fleiss_kappa"]
    reasons = {name: getattr(found, name).reason for name in PUBLISHED if getattr(found, name).value is None}
    if around.low is None:
        reasons["ci95"] = around.reason
    return {
        **{name: getattr(found, name).value for name in PUBLISHED},
        "n_items": found.n_items,
        "n_excluded": found.n_excluded,
        "ci95": None if around.low is None else [around.low, around.high],
        "reason": "; ".join(f"{name}: {reason}" for name, reason in reasons.items()) or None,
    }


def document_of(report: Report) -> dict[str, Any]:
    """The whole of `manage.py agreement --json`."""
    by = {kind: {name: values_of(group) for name, group in groups.items()} for kind, groups in report.by.items()}
    return {"overall": values_of(report.overall), "by": by}
