"""Recordings from a released dataset: `{System}/{Person}/Session{n}/Annotator{k}.xlsx`.

The first annotator's file speaks for the session: all hold the same conversation up to small edits. Foreign files and folders
are passed by. What the real files hold besides the plain layout, and this reader bears: a wrong header over the label
column, extra columns and rows with an annotator's remarks, zeros on the bot's and the blank rows, missing labels, empty bot
utterances. Text is kept byte for byte, trailing spaces included.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from openpyxl import load_workbook

from studyplatform.simulation.recordings import BadRecording, RecordedPair, RecordedSession, Recording, paired

# Recordings are taken in this order of systems, then by the person's name.
SYSTEMS = ("LUFY", "MemoryBank", "Naive RAG")
_SESSION = re.compile(r"Session(\d+)$")
_ANNOTATOR = re.compile(r"Annotator(\d+)\.xlsx$")
_QUESTION = re.compile(r"Q(\d+)$")
Row = tuple[Any, ...]


def read(root: Path, *, system: str | None = None) -> list[Recording]:
    """All recordings under `root`, or those of one system.

    Raises:
        BadRecording: no such folder or system, or files that cannot be read (all of them are named).
    """
    if not root.is_dir():
        raise BadRecording(f"lufy:{root}: there is no such folder.")
    found = {folder.name: folder for folder in root.iterdir() if folder.is_dir() and any(_people(folder))}
    wanted = [name for name in SYSTEMS if name in found] + sorted(set(found) - set(SYSTEMS))
    if system is not None:
        wanted = [name for name in wanted if name == system]
    if not wanted:
        there = ", ".join(sorted(found)) or "none"
        raise BadRecording(f"lufy:{root}: no conversations of {system or 'any system'}; systems there: {there}.")
    faults: list[str] = []
    recordings = [_recording(person, name, faults) for name in wanted for person in _people(found[name])]
    if faults:
        raise BadRecording("\n".join(faults))
    return recordings


def _people(system: Path) -> Iterator[Path]:
    for person in sorted(system.iterdir()):
        if person.is_dir() and any(_SESSION.match(child.name) for child in person.iterdir()):
            yield person


def _recording(person: Path, system: str, faults: list[str]) -> Recording:
    folders = sorted((int(m.group(1)), child) for child in person.iterdir() if (m := _SESSION.match(child.name)))
    sessions = []
    for _, folder in folders:
        files = sorted((int(m.group(1)), file) for file in folder.iterdir() if (m := _ANNOTATOR.match(file.name)))
        if not files:
            faults.append(f"{folder}: no Annotator file.")
            continue
        try:
            sessions.append(_session(files[0][1], person.name))
        except (BadZipFile, KeyError, OSError, ValueError) as error:
            faults.append(f"{files[0][1]}: {error}")
    return Recording(person=person.name, system=system, sessions=tuple(sessions))


def _session(file: Path, person: str) -> RecordedSession:
    book = load_workbook(file, read_only=True)
    try:
        bot, user, closing = _utterances(list(book["Conversation"].iter_rows(values_only=True)), person)
        pairs = _pairs(list(book["Questions"].iter_rows(values_only=True)), user)
    finally:
        book.close()
    return RecordedSession(bot=bot, user=user, pairs=pairs, closing=closing)


def _utterances(rows: list[Row], person: str) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    """(bot, user, closing), paired: the columns are label, speaker, utterance, whatever the first header says."""
    spoken = [(str(row[1]), _text(row[2])) for row in rows[1:] if len(row) >= 3 and row[1] is not None]
    if not spoken:
        raise ValueError("the sheet Conversation holds no utterance")
    people = {speaker for speaker, _ in spoken}
    if person not in people:
        raise ValueError(f"nobody in the conversation is called {person}, as the folder is")
    bot: list[str] = []
    user: list[str] = []
    said = ""
    for speaker, text in spoken:
        if speaker != person:
            said = f"{said}\n{text}" if said and text else said or text
            continue
        bot.append(said)
        user.append(text)
        said = ""
    return tuple(bot), tuple(user), said or None


def _pairs(rows: list[Row], user: tuple[str, ...]) -> tuple[RecordedPair, ...]:
    cells = {str(row[0]).strip(): _text(row[1]) for row in rows[1:] if len(row) >= 2 and row[0] is not None}
    numbers = sorted(int(m.group(1)) for name in cells if (m := _QUESTION.match(name)))
    return tuple(paired(cells[f"Q{n}"], cells[f"A{n}"], user) for n in numbers if cells[f"Q{n}"] and cells.get(f"A{n}"))


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)
