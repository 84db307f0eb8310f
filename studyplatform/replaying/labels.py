"""What the annotators of a released dataset marked as important: `{System}/{Person}/Session{n}/Annotator{k}.xlsx`, sheet `Conversation`.

A label stands on the participant's row; 1 is important, anything else is not (a missing one is “not sure”). Oddities of the real files are borne
as in `simulation.lufy`.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from openpyxl import load_workbook

from studyplatform.analysis.tables.records import Marked
from studyplatform.simulation.recordings import Recording

_ANNOTATOR = re.compile(r"Annotator(\d+)\.xlsx$")


def read(root: Path, recordings: Sequence[Recording], sessions: int) -> tuple[list[Marked], list[str]]:
    """(one record per session with its annotators' marks, what had to be left out and why)."""
    marked: list[Marked] = []
    left_out: list[str] = []
    for recording in recordings:
        for number, session in enumerate(recording.sessions[:sessions], start=1):
            folder = root / recording.system / recording.person / f"Session{number}"
            raters = dict(_raters(folder, recording.person, len(session.user), left_out))
            key = f"{recording.system}/{recording.person}"
            marked.append(Marked(recording.person, key, recording.system, number, len(session.user), raters))
    return marked, left_out


def _raters(folder: Path, person: str, said: int, left_out: list[str]) -> Iterator[tuple[str, frozenset[int]]]:
    for file in sorted(folder.glob("Annotator*.xlsx")):
        if not _ANNOTATOR.search(file.name):
            continue
        name = f"{folder.parent.parent.name}/{person}/{folder.name}/{file.name}"
        try:
            labels = _labels(file, person)
        except (BadZipFile, KeyError, OSError, ValueError) as error:
            left_out.append(f"{name}: {error}")
            continue
        if len(labels) != said:
            left_out.append(f"{name}: {len(labels)} utterances of {person}, and {said} in the first annotator's file")
            continue
        yield file.stem, frozenset(i for i, is_important in enumerate(labels) if is_important)


def _labels(file: Path, person: str) -> list[bool]:
    book = load_workbook(file, read_only=True)
    try:
        rows = list(book["Conversation"].iter_rows(values_only=True))
    finally:
        book.close()
    return [_is_one(row[0]) for row in rows[1:] if len(row) >= 3 and row[1] is not None and str(row[1]) == person]


def _is_one(cell: Any) -> bool:
    try:
        return float(cell) == 1
    except (TypeError, ValueError):
        return False
