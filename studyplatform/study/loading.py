"""From a study file to a study: all faults at once, each with its line; a hash; and the rules of a frozen design."""

import difflib
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, get_args

from django.db import transaction
from django.db.models import F, Max
from pydantic import BaseModel, ValidationError

from studyplatform.study import reading, rules
from studyplatform.study.config import AMENDABLE, StudyConfig
from studyplatform.study.lines import Path, line_of, lines_of
from studyplatform.study.models import Amendment, Condition, Study, User
from studyplatform.study.studies import Refused, config_of

Check = Callable[[StudyConfig], Iterable[tuple[Path, str]]]


@dataclass(frozen=True, order=True)
class Fault:
    """One thing wrong in a study file. `path` in TOML's dotted form, counted from 1 in arrays of tables."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.path}: {self.message}" if self.path else f"line {self.line}: {self.message}"


class BadStudyFile(Exception):
    """The file cannot be used; `faults` are all the reasons, in order of line."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(str(fault) for fault in self.faults))


class Frozen(Refused):
    """The design of a frozen study differs in what may not change, or without an amendment; `differences` are dotted paths."""

    def __init__(self, message: str, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        super().__init__(message)


@dataclass(frozen=True)
class Loaded:
    """A study file that can be used: its design, its text as written, and the SHA-256 of the design's canonical JSON."""

    config: StudyConfig
    source: str
    sha256: str


def parse(text: str, checks: Sequence[Check] = ()) -> Loaded:
    """Read a study file.

    Args:
        text: the file.
        checks: further rules, for what lies above the study (memory systems, prompts, encoders).

    Raises:
        BadStudyFile: with every fault that could be found.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadStudyFile([_syntax(str(error), text)]) from error
    lines = lines_of(text)
    faults: list[Fault] = []
    try:
        config: StudyConfig | None = StudyConfig.model_validate(data)
    except ValidationError as error:
        config = None
        faults += [_fault(lines, *_explain(detail)) for detail in error.errors()]
    tables = reading.readable(data)
    found = chain(rules.findings(tables), *(check(config or reading.stand_in(tables)) for check in checks))
    faults += [_fault(lines, path, message) for path, message in found if path[0] in tables]
    if faults or config is None:
        raise BadStudyFile(faults)
    return Loaded(config, text, hash_of(config))


def hash_of(config: StudyConfig) -> str:
    """SHA-256 of the design's canonical JSON: sorted keys, no spaces, defaults written out."""
    canonical = json.dumps(config.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@transaction.atomic
def store(loaded: Loaded, *, slug: str | None = None, simulated: bool = False) -> Study:
    """The study of a file: created, or, until it is frozen, brought up to date. The same design again changes nothing.

    Raises:
        Frozen: when the study is frozen and the design is another one.
        Refused: when a condition that pilot people already met would go.
    """
    slug = slug or loaded.config.study.slug
    study = Study.objects.select_for_update().filter(slug=slug).first()
    if study is None:
        study = Study(slug=slug, simulated=simulated)
    elif study.config_sha256 == loaded.sha256:
        return study
    elif study.frozen_at:
        found = differences(config_of(study), loaded.config)
        raise Frozen(
            f"{slug} was frozen at its first consent. These differ: {', '.join(found)}. Use --amend for what may be amended.", found
        )
    _write(study, loaded)
    study.save()
    _store_conditions(study, loaded.config)
    return study


@transaction.atomic
def amend(study: Study, loaded: Loaded, *, reason: str, reference: str = "", by: User | None = None) -> Amendment:
    """Change what may be changed in a frozen study, numbered and with its reason.

    Raises:
        Frozen: when something differs that may never change; it lists what.
        Refused: without a reason, when nothing differs, or when the study is not frozen.
    """
    locked = Study.objects.select_for_update().get(pk=study.pk)
    if not locked.frozen_at:
        raise Refused(f"{locked.slug} is not frozen yet: load the file without --amend.")
    if not reason.strip():
        raise Refused("An amendment needs a reason.")
    found = differences(config_of(locked), loaded.config)
    if not found:
        raise Refused("Nothing differs from the design that holds now.")
    fixed = [path for path in found if not _amendable(path)]
    if fixed:
        raise Frozen(f"These may not change after the first consent: {', '.join(fixed)}.", fixed)
    number = Amendment.objects.filter(study=locked).aggregate(n=Max("number"))["n"]
    if number is None:
        number = 0
        _record(locked, 0, reason="As frozen at the first consent", reference="", by=None)
    _write(locked, loaded)
    locked.save(update_fields=["title", "source", "config", "config_sha256"])
    study.refresh_from_db()
    return _record(locked, number + 1, reason=reason.strip(), reference=reference, by=by)


def differences(old: StudyConfig, new: StudyConfig) -> list[str]:
    """Dotted paths of what differs, down to single fields; lists of tables and values are compared as wholes."""
    return sorted(_differ(old.model_dump(mode="json"), new.model_dump(mode="json"), ()))


def _differ(old: Any, new: Any, path: tuple[str, ...]) -> Iterable[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            yield from _differ(old.get(key), new.get(key), (*path, key))
    elif old != new:
        yield ".".join(path)


def _amendable(path: str) -> bool:
    return any(path == name or path.startswith(name + ".") for name in AMENDABLE)


def _write(study: Study, loaded: Loaded) -> None:
    study.title = loaded.config.study.title
    study.source = loaded.source
    study.config = loaded.config.model_dump(mode="json")
    study.config_sha256 = loaded.sha256


def _record(study: Study, number: int, *, reason: str, reference: str, by: User | None) -> Amendment:
    return Amendment.objects.create(
        study=study, number=number, reason=reason, reference=reference, made_by=by,
        source=study.source, config=study.config, config_sha256=study.config_sha256,
    )  # fmt: skip


def _store_conditions(study: Study, config: StudyConfig) -> None:
    names = [c.name for c in config.conditions]
    gone = Condition.objects.filter(study=study).exclude(name__in=names)
    met = gone.filter(arms__isnull=False).values_list("name", flat=True).distinct()
    if met:
        raise Refused(f"Pilot people have met {', '.join(met)}: withdraw them first, or load the file under another slug.")
    gone.delete()
    Condition.objects.filter(study=study).update(order=F("order") + 1000)  # aside: orders are unique, and given anew
    for order, condition in enumerate(config.conditions):
        Condition.objects.update_or_create(
            study=study, name=condition.name, defaults={"preset": condition.preset, "parameters": condition.overrides, "order": order}
        )


def _fault(lines: dict[Path, int], path: Path, message: str) -> Fault:
    shown = ".".join(str(part + 1) if isinstance(part, int) else part for part in path)
    return Fault(line_of(lines, path), shown, message)


def _syntax(message: str, text: str) -> Fault:
    where = re.search(r"line (\d+)", message)
    line = int(where.group(1)) if where else text.count("\n") + 1
    return Fault(line, "", f"not TOML: {re.sub(r' [(]at .*[)]$', '', message)}")


def _explain(detail: Any) -> tuple[Path, str]:
    """A pydantic error as (path, sentence)."""
    path: Path = tuple(detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = _fields_at(path[:-1])
        close = difflib.get_close_matches(str(path[-1]), known, n=1)
        return path, f"unknown key; did you mean {close[0]}?" if close else f"unknown key; known are {', '.join(sorted(known))}"
    if detail["type"] == "missing":
        return path, "is missing"
    message = detail["msg"]
    return path, message[0].lower() + message[1:] + _given(detail)


def _given(detail: Any) -> str:
    value = detail.get("input")
    return f" (found {value!r})" if isinstance(value, str | int | float | bool) and len(repr(value)) < 60 else ""


def _fields_at(path: Path) -> list[str]:
    """Names of the fields of the table at `path`."""
    model: Any = StudyConfig
    for part in path:
        if isinstance(part, int):
            continue
        model = _model_in(model.model_fields[part].annotation) if part in getattr(model, "model_fields", {}) else None
        if model is None:
            return []
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)
