"""The benchmark's sessions: what a file holds, and everything that is wrong with a folder of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

TURNS, QUERIES = 50, 10
ACTIONS = ("store", "update", "discard", "filter")
Text = Annotated[str, Field(min_length=1)]
Aspect = Literal["personal_profile", "social_relationship", "activity", "health", "preference", "other"]
Intent = Literal["inform", "request", "express", "plan", "reflect", "other"]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Text


class Head(_Row):
    """A session's first line."""

    kind: Literal["session"]
    theme: Text
    language: Text


class Turn(_Row):
    """One message to write from. `action`: what a perfect memory does; `memory_id`: the slot that it opens, changes or repeats."""

    kind: Literal["turn"]
    at: AwareDatetime
    text: Text
    action: Literal["store", "update", "discard", "filter"]
    memory_id: Text | None = None
    aspect: Aspect | None = None
    intent: Intent | None = None


class Question(_Row):
    """One query. `expected`: the slots that a perfect memory returns; `expected_behaviour`: what a good reply does."""

    kind: Literal["query"]
    at: AwareDatetime
    text: Text
    expected: tuple[Text, ...]
    expected_behaviour: Text | None = None


Row = Head | Turn | Question
_ROW: TypeAdapter[Row] = TypeAdapter(Annotated[Row, Field(discriminator="kind")])


@dataclass(frozen=True)
class Session:
    """One person on one theme. `file`: its name."""

    file: str
    head: Head
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def id(self) -> str:
        return self.head.id


@dataclass(frozen=True)
class Fault:
    """What is wrong in a line (0: in the file as a whole), and what to do."""

    file: str
    line: int
    wrong: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.wrong} {self.remedy}"


class BadData(Exception):
    """The folder cannot be used; `faults` holds all that is wrong with it."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


@dataclass
class _Seen:
    """Where each id and each text of the folder stands first."""

    ids: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def read(folder: Path) -> list[Session]:
    """Every session of a folder, in the order of the files' names.

    Raises:
        BadData: with every fault of every file.
    """
    paths = sorted(folder.glob("session-*.jsonl"))
    if not paths:
        raise BadData([Fault(str(folder), 0, "There is no session-NN.jsonl.", "Name the folder that holds them.")])
    faults: list[Fault] = []
    found: list[Session] = []
    seen = _Seen()
    for path in paths:
        rows, wrong = _rows(path)
        wrong += _faults(path.name, rows, seen)
        faults += sorted(wrong, key=lambda fault: fault.line)
        if not wrong:
            found.append(_session(path.name, [row for _, row in rows]))
    if faults:
        raise BadData(faults)
    return found


def _session(name: str, rows: Sequence[Row]) -> Session:
    head = next(row for row in rows if isinstance(row, Head))
    return Session(name, head, tuple(r for r in rows if isinstance(r, Turn)), tuple(r for r in rows if isinstance(r, Question)))


def _rows(path: Path) -> tuple[list[tuple[int, Row]], list[Fault]]:
    """The lines that can be read, with their numbers, and a fault for each thing wrong in one that cannot."""
    rows: list[tuple[int, Row]] = []
    faults: list[Fault] = []
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return [], [Fault(path.name, 0, f"The file cannot be read ({error}).", "Save it as UTF-8.")]
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            rows.append((number, _ROW.validate_python(json.loads(line), strict=False)))
        except ValidationError as error:
            faults += [_unreadable(path.name, number, detail) for detail in error.errors()]
        except ValueError as error:
            faults.append(Fault(path.name, number, f"This is no JSON ({error}).", "Write one object on one line."))
    return rows, faults


def _unreadable(name: str, number: int, detail: Mapping[str, Any]) -> Fault:
    """One complaint of the parser, as a sentence: which field, and what may stand there."""
    where = ".".join(str(part) for part in detail["loc"] if part not in ("session", "turn", "query"))
    if detail["type"] == "extra_forbidden":
        return Fault(name, number, f"“{where}” is no field of this kind of line.", "Remove it.")
    if detail["type"] == "missing":
        return Fault(name, number, f"“{where}” is missing.", "Add it.")
    if detail["type"] in ("literal_error", "union_tag_invalid", "union_tag_not_found"):
        expected = detail.get("ctx", {}).get("expected") or detail.get("ctx", {}).get("expected_tags") or "'session', 'turn' or 'query'"
        given = detail["input"] if detail["type"] == "literal_error" else _kind(detail["input"])
        return Fault(name, number, f"“{given}” is unknown{f' as {where}' if where else ' as a kind'}.", f"Use one of: {expected}.")
    if "timezone" in detail["type"]:
        return Fault(name, number, f"“{where}” has no offset.", "Write it like 2026-03-02T10:15:00+09:00.")
    return Fault(name, number, f"“{where}”: {detail['msg']}.", "Correct it.")


def _kind(line: Any) -> Any:
    return line.get("kind", "nothing") if isinstance(line, dict) else line


def _faults(name: str, rows: Sequence[tuple[int, Row]], seen: _Seen) -> list[Fault]:
    """Everything that is wrong with the lines together, of one file and with the files before it."""
    return [
        Fault(name, *found)
        for find in (_head_faults, _repetitions(name, seen), _time_faults, _label_faults, _slot_faults, _count_faults)
        for found in find(rows)
    ]


_Found = Iterator[tuple[int, str, str]]


def _head_faults(rows: Sequence[tuple[int, Row]]) -> _Found:
    heads = [number for number, row in rows if isinstance(row, Head)]
    if not heads:
        yield 0, "No line names the session.", "Begin with a line of kind “session”."
    elif rows[0][0] != heads[0]:
        yield heads[0], "The session's own line is not the first.", "Move it to the top."
    for number in heads[1:]:
        yield number, "A second session begins.", "Put it into a file of its own."


def _repetitions(name: str, seen: _Seen) -> Any:
    """Ids and texts that occur anywhere before."""

    def find(rows: Sequence[tuple[int, Row]]) -> _Found:
        for number, row in rows:
            here = f"{name}:{number}"
            if (first := seen.ids.setdefault(row.id, here)) != here:
                yield number, f"The id {row.id} stands already at {first}.", "Give it one of its own."
            if isinstance(row, Head):
                continue
            if (first := seen.texts.setdefault(" ".join(row.text.casefold().split()), here)) != here:
                yield number, f"The text stands already at {first}.", "Say it in other words."

    return find


def _time_faults(rows: Sequence[tuple[int, Row]]) -> _Found:
    latest: tuple[datetime, str] | None = None
    for number, row in rows:
        if isinstance(row, Head):
            continue
        if latest is not None and row.at < latest[0]:
            yield number, f"{row.id} is earlier than {latest[1]} before it.", "Put the lines in order of time."
        else:
            latest = (row.at, row.id)


def _label_faults(rows: Sequence[tuple[int, Row]]) -> _Found:
    for number, row in rows:
        if not isinstance(row, Turn):
            continue
        if row.action == "filter" and row.memory_id is not None:
            yield number, "A filtered turn has no slot.", "Remove memory_id, or change the action."
        if row.action != "filter" and row.memory_id is None:
            yield number, f"A turn that is to {row.action} needs its slot.", "Add memory_id."
        for label in ("aspect", "intent"):
            if row.action in ("store", "update") and getattr(row, label) is None:
                yield number, f"A turn that is to {row.action} needs its {label}.", f"Add {label}."


def _slot_faults(rows: Sequence[tuple[int, Row]]) -> _Found:
    opened: dict[str, int] = {}
    for number, row in rows:
        if not isinstance(row, Turn) or row.memory_id is None:
            continue
        if row.action == "store" and row.memory_id in opened:
            yield number, f"The slot {row.memory_id} was opened at line {opened[row.memory_id]}.", "Update or discard it, or open another."
        elif row.action == "store":
            opened[row.memory_id] = number
        elif row.action in ("update", "discard") and row.memory_id not in opened:
            yield number, f"The slot {row.memory_id} is not open here: nothing can {row.action} it.", "Store it first."
    yield from _expectation_faults(rows, opened)


def _expectation_faults(rows: Sequence[tuple[int, Row]], opened: Mapping[str, int]) -> _Found:
    for number, row in rows:
        if not isinstance(row, Question):
            continue
        for slot in dict.fromkeys(row.expected):
            if slot not in opened:
                yield number, f"{row.id} expects the slot {slot}, which is never stored.", "Store it, or expect another."
        if len(set(row.expected)) < len(row.expected):
            yield number, f"{row.id} expects a slot twice.", "Name each once."


def _count_faults(rows: Sequence[tuple[int, Row]]) -> _Found:
    for kind, wanted, what in ((Turn, TURNS, "turns"), (Question, QUERIES, "queries")):
        held = sum(isinstance(row, kind) for _, row in rows)
        if held != wanted:
            yield 0, f"There are {held} {what}, where a session has {wanted}.", f"Add or remove {what}."
