"""As much of a faulty study file as can be read, so that everything else in it is checked in the same pass."""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from studyplatform.study.config import StudyConfig

# Valid tables that stand in for those that cannot be read; what is found in them is not reported.
_STAND_INS: dict[str, Any] = {
    "study": {"slug": "x", "title": "x", "participants": 1, "contact": "x@example.org"},
    "consent": {"version": "1", "text": "x" * 50, "remembered_for": "x"},
    "instructions": {"version": "1", "text": "x" * 20},
    "sessions": {"per_arm": 2},
    "chat": {"response_model": "local/smollm2"},
    "memory": {"encoder": "local/minilm"},
    "conditions": [{"name": "x", "preset": "naive_rag"}],
    "aliases": [{"name": "x", "colour": "pine", "shape": "circle"}],
    "seeds": {"assignment": 1, "aliases": 1, "forgetting": 1},
}


def readable(data: dict[str, Any]) -> dict[str, Any]:
    """The tables that can be read by themselves, with the defaults of those that the file leaves out."""
    tables: dict[str, Any] = {}
    for name, field in StudyConfig.model_fields.items():
        if name not in data and field.is_required():
            continue
        try:
            tables[name] = _read(field.annotation, data[name]) if name in data else field.get_default()
        except ValidationError:
            continue
    return tables


def stand_in(tables: dict[str, Any]) -> StudyConfig:
    """A whole design from the tables that could be read."""
    missing = {name: table for name, table in _STAND_INS.items() if name not in tables}
    return StudyConfig.model_validate(missing | tables)


def _read(annotation: Any, value: Any) -> Any:
    return TypeAdapter(annotation).validate_python(value)
