"""Files of texts for `suggest_pii`: JSON lines of `{"text", "spans"}`, checked whole before anything is done."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from annotation.deid.recognisers.evaluating import Gold


class BadFile(Exception):
    """The file cannot be used; one line per fault."""


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str
    spans: list[tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1)], str]] | None = None
    profile: list[str] = []


@dataclass(frozen=True)
class Sample:
    """One text; `spans` is None where the file has no gold spans for it. `profile`: strings of the speaker's own profile."""

    text: str
    spans: list[Gold] | None
    profile: list[str]


def read(path: Path) -> list[Sample]:
    """
    Raises:
        BadFile: with every fault of the file and its line number.
    """
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise BadFile(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8.") from None
    samples, faults = [], []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                row = _Row.model_validate(json.loads(line))
            except (json.JSONDecodeError, ValidationError) as error:
                faults.append(f"line {number}: {_said(error)}")
                continue
            faults += [f"line {number}: {fault}" for fault in _outside(row)]
            samples.append(Sample(row.text, row.spans, row.profile))
    if faults:
        raise BadFile("\n".join([f'{path}: each line must be {{"text": "...", "spans": [[start, end, "type"], ...]}}.', *faults]))
    if not samples:
        raise BadFile(f"{path} has no texts.")
    return samples


def _outside(row: _Row) -> list[str]:
    n = len(row.text)
    return [f"span [{s}, {e}] is not in a text of {n} code points" for s, e, _ in row.spans or () if not s < e <= n]


def _said(error: json.JSONDecodeError | ValidationError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error})"
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the line'}: {e['msg']}" for e in error.errors())
