"""How an answer's schema is asked for, from the strictest form to none: endpoints differ in what they take, and refuse the whole request else.

What an endpoint refused is not tried again in this process for `FORGET_S`. The answer is validated in any case.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from studyplatform.llm.providers import Resolved

FORGET_S = 3600.0
_BOUNDS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "pattern"}
)


@dataclass(frozen=True)
class Form:
    """One way to ask. `name` is kept with the call; `body` goes into the request."""

    name: str
    body: Mapping[str, Any] = field(default_factory=dict)
    may_be_refused: bool = True


FREE = Form("", {}, may_be_refused=False)
_refused: dict[tuple[str, str, str], float] = {}


def forms(target: Resolved, schema: type[BaseModel] | None) -> Iterator[Form]:
    """The forms to try, in order: the schema with its bounds, without them, and no constraint at all."""
    if schema is not None and target.schema_constrained:
        for name, body in (("schema", response_format(schema)), ("schema_without_bounds", response_format(schema, bounds=False))):
            form = Form(name, {"response_format": body})
            if time.monotonic() >= _refused.get(_key(target, form), 0.0):
                yield form
    yield FREE


def is_refusal(error: BaseException | None) -> bool:
    """Whether an endpoint may have turned down the form, and not the caller or the model."""
    import openai  # as in `asking`

    return isinstance(error, openai.APIStatusError) and error.status_code in (400, 422, 501)


def remember(target: Resolved, turned_down: Iterable[Form]) -> None:
    """The endpoint answered the same request without these forms."""
    for form in turned_down:
        _refused[_key(target, form)] = time.monotonic() + FORGET_S


def forget() -> None:
    """Try everything again."""
    _refused.clear()


def _key(target: Resolved, form: Form) -> tuple[str, str, str]:
    return target.url, target.model, form.name


def response_format(schema: type[BaseModel], *, bounds: bool = True) -> dict[str, Any]:
    """The schema in the request, as OpenAI-compatible endpoints take it; `bounds`: with limits of length, number and size."""
    found = closed(schema.model_json_schema())
    body = {"name": schema.__name__.lower(), "schema": found if bounds else _unbounded(found), "strict": True}
    return {"type": "json_schema", "json_schema": body}


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema whose objects allow no other keys and require all of theirs, as strict mode demands."""
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "default":
            continue
        if isinstance(value, Mapping):
            result[key] = closed(value)
        elif isinstance(value, list):
            result[key] = [closed(v) if isinstance(v, Mapping) else v for v in value]
        else:
            result[key] = value
    if result.get("type") == "object" and "properties" in result:
        result |= {"additionalProperties": False, "required": list(result["properties"])}
    return result


def _unbounded(value: Any) -> Any:
    """The same schema without limits, which some strict modes refuse. A property is never mistaken for a limit of that name."""
    if isinstance(value, list):
        return [_unbounded(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {name: _unbounded(part) for name, part in inner.items()} if key in ("properties", "$defs") else _unbounded(inner)
        for key, inner in value.items()
        if key not in _BOUNDS
    }
