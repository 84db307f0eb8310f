"""What a language model may answer to AMU's five tasks: closed vocabularies and lengths, sent as a schema and validated in any case."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema

from memory.policies.amu_controllers.interface import CONFIDENCES

# Names that models use for what the paper calls otherwise (its public code maps the same).
_ALIASES = dict.fromkeys(("mental_health", "mental_illness", "physical_health", "physical_illness", "illness", "symptom"), "health")
_ALIASES["work"] = "activity"
MOST_ENTITIES = 3
LONGEST = 300  # characters of a summary


def _word(value: Any) -> Any:
    """A label as it is written in the vocabulary."""
    return value.strip().lower().replace(" ", "_") if isinstance(value, str) else value


def _aspect(value: Any) -> Any:
    value = _word(value)
    return _ALIASES.get(value, value) if isinstance(value, str) else value


def _step(value: float) -> float:
    if value not in CONFIDENCES:
        raise ValueError(f"a confidence is one of {', '.join(map(str, CONFIDENCES))}")
    return value


def _one_line(value: Any) -> Any:
    return " ".join(value.split()) if isinstance(value, str) else value


def _whole(value: str) -> str:
    """A model that does not come to an end is cut at the schema's limit: what reaches it is no sentence."""
    if len(value) >= LONGEST:
        raise ValueError(f"longer than {LONGEST} characters")
    return value


def _names(value: Any) -> Any:
    """The first names, each once: what is beyond them is a matter of taste, not an error."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return value
    return [name[:40] for name in dict.fromkeys(map(_one_line, value)) if name][:MOST_ENTITIES]


Aspect = Annotated[
    Literal["personal_profile", "social_relationship", "activity", "health", "preference", "other"], BeforeValidator(_aspect)
]
Intent = Annotated[Literal["inform", "request", "express", "plan", "reflect", "other"], BeforeValidator(_word)]
Tone = Annotated[Literal["positive", "neutral", "negative"], BeforeValidator(_word)]
Kind = Annotated[Literal["duplicate", "update", "separate"], BeforeValidator(_word)]
Confidence = Annotated[float, AfterValidator(_step), WithJsonSchema({"type": "number", "enum": list(CONFIDENCES)})]
Line = Annotated[str, BeforeValidator(_one_line), Field(max_length=LONGEST), AfterValidator(_whole)]
Names = Annotated[list[Annotated[str, Field(max_length=40)]], BeforeValidator(_names), Field(max_length=MOST_ENTITIES)]


class Labelled(BaseModel):
    """LABEL."""

    aspect: Aspect
    intent: Intent
    is_personal: bool
    entities: Names


class Described(BaseModel):
    """DESCRIBE. An empty summary: there is no fact."""

    memory_summary: Line
    sentiment: Tone
    confidence: Confidence


class Compared(BaseModel):
    """COMPARE."""

    relation: Kind
    confidence: Confidence


class Merged(BaseModel):
    """MERGE."""

    entities: Names
    memory_summary: Annotated[Line, Field(min_length=1)]
    sentiment: Tone


class LookedUp(BaseModel):
    """LOOKUP."""

    slot: Annotated[str, BeforeValidator(_one_line), Field(max_length=120)]
    confidence: Confidence
