"""Every memory system, by name, and the presets: a system with parameters. To add one, add its file and one line here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from memory import encoders
from memory.measures import registry as measures
from memory.policies.amu import Amu
from memory.policies.compressed_history import CompressedHistory
from memory.policies.full_history import FullHistory
from memory.policies.lufy import Lufy
from memory.policies.memory_bank import MemoryBank
from memory.policies.memory_bank_original import MemoryBankOriginal
from memory.policies.naive_rag import NaiveRag
from memory.policies.no_memory import NoMemory
from memory.policies.sliding_window import SlidingWindow
from memory.policy import MemoryPolicy, Scale
from studyplatform.llm import prompts, providers
from studyplatform.study.config import ConditionTable, StudyConfig
from studyplatform.study.models import Arm
from studyplatform.study.studies import config_of

Fault = tuple[tuple[str | int, ...], str]


@dataclass(frozen=True)
class Preset:
    """A policy with parameters; `thresholds`: the calibrated cosines that it asks the encoder for, by the parameter that overrides each.

    `bound`: no memory system that is compared, but what remembering nothing or everything gives; tables print it as a bound.
    """

    policy: type[MemoryPolicy]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    thresholds: Mapping[str, str] = field(default_factory=lambda: {"threshold": "reply", "opening_threshold": "opening"})
    bound: bool = False


_REFERENCE = {
    "d_recall": 250.0,
    "d_retain": 400.0,
    "k_recall": 0.5,
    "k_retain": 0.33,
    "threshold_name": "reply_reference",
    "pool": 2,
    "query_utterances": 1,
    "keep_rule": "mean_importance",
}
_AMU = {"candidate_threshold": "amu_candidate", "recall_threshold": "amu_recall"}
_AMU_REFERENCE = {"controller": "model", "personal_requests": False, "compatible_intents": False, "fall_back": False, "query_form": "slot"}

PRESETS: dict[str, Preset] = {
    "naive_rag": Preset(NaiveRag),
    "naive_rag_hybrid": Preset(NaiveRag, {"retriever": "hybrid"}),
    "memory_bank": Preset(MemoryBank),
    "memory_bank_hybrid": Preset(MemoryBank, {"retriever": "hybrid"}),
    "memory_bank_original": Preset(MemoryBankOriginal, {}, {}),
    "lufy": Preset(Lufy),
    "lufy_reference": Preset(Lufy, _REFERENCE, {"threshold": "reply_reference", "opening_threshold": "opening"}),
    "lufy_top10pct": Preset(Lufy, {"session_slots": False}),
    "lufy_r2_sign": Preset(Lufy, {"r2_sign": -1}),
    "amu": Preset(Amu, {}, _AMU),
    "amu_reference": Preset(Amu, _AMU_REFERENCE, _AMU),
    "no_memory": Preset(NoMemory, {}, {}, bound=True),
    "sliding_window": Preset(SlidingWindow, {}, {}, bound=True),
    "compressed_history": Preset(CompressedHistory, {}, {}, bound=True),
    "full_history": Preset(FullHistory, {}, {}, bound=True),
}


class UnknownParameter(ValueError):
    """A parameter that the policy does not have, or a value of another type than it takes."""


def build(preset: str, overrides: Mapping[str, Any] | None = None, scales: Mapping[str, Scale] | None = None) -> MemoryPolicy:
    """The policy of a preset: its parameters, then the scorers' constants, then the study's own.

    Raises:
        KeyError: no such preset.
        UnknownParameter: an override that the policy does not have, or of the wrong type.
    """
    entry = PRESETS[preset]
    policy = entry.policy(**entry.parameters).calibrated(scales or {})
    changed: MemoryPolicy = replace(policy, **_parsed(entry.policy, overrides or {}))  # type: ignore[type-var]  # every policy is a dataclass
    return changed


def _parsed(policy: type[MemoryPolicy], overrides: Mapping[str, Any]) -> dict[str, Any]:
    known = {f.name for f in fields(policy)}  # type: ignore[arg-type]  # every registered policy is a dataclass: the contract suite says so
    unknown = sorted(set(overrides) - known)
    if unknown:
        raise UnknownParameter(f"{policy.name} has no parameter {', '.join(unknown)}; it has {', '.join(sorted(known))}.")
    parsed = {}
    for name, value in overrides.items():
        try:
            parsed[name] = TypeAdapter(get_type_hints(policy)[name]).validate_python(value)
        except ValidationError as error:
            raise UnknownParameter(f"{policy.name}.{name}: {error.errors()[0]['msg']}") from error
    return parsed


def policy_for(arm: Arm) -> MemoryPolicy:
    """An arm's policy: its condition's preset and overrides; for a shared arm the one that `[shared_session]` names."""
    config = config_of(arm.participant.study)
    scales = measures.scales(config)
    if arm.condition is None:
        return build(config.shared_session.policy, {}, scales)
    return build(arm.condition.preset, arm.condition.parameters, scales)


def wanted_measures(config: StudyConfig) -> frozenset[str]:
    """What is measured about every exchange of a study: all that any of its policies needs, the same in every arm.

    Equal in all arms, so that no arm is ready sooner than another, and so that one arm's memories can be judged by another's rule.
    """
    presets = [c.preset for c in config.conditions] + [config.shared_session.policy]
    return frozenset(name for preset in presets for name in PRESETS[preset].policy.measures)


def faults(config: StudyConfig) -> Iterator[Fault]:
    """Everything in a study file that this deployment's memory cannot do: (path into the file, what is wrong)."""
    if config.shared_session.policy not in PRESETS:
        yield ("shared_session", "policy"), _no_preset(config.shared_session.policy)
    encoder = encoders.get(config.memory.encoder)
    for i, condition in enumerate(config.conditions):
        yield from _condition_faults(("conditions", i), condition, encoder)
    yield from measures.faults(config)
    yield from _model_faults(config)
    for name, label in config.prompts.model_dump().items():
        try:
            prompts.load(label)
        except prompts.BadPrompt as error:
            yield ("prompts", name), str(error)


def _condition_faults(path: tuple[str | int, ...], condition: ConditionTable, encoder: encoders.Encoder) -> Iterator[Fault]:
    if condition.preset not in PRESETS:
        yield (*path, "preset"), _no_preset(condition.preset)
        return
    try:
        build(condition.preset, condition.overrides)
    except UnknownParameter as error:
        yield (*path, "overrides"), str(error)
    needed = PRESETS[condition.preset].thresholds
    missing = [own for own, name in needed.items() if name not in encoder.thresholds and own not in condition.overrides]
    if missing:
        yield (
            ("memory", "encoder"),
            f"{encoder.name} is not calibrated: calibrate it, or let condition “{condition.name}” set {', '.join(missing)} itself.",
        )


def _no_preset(name: str) -> str:
    return f"There is no memory system “{name}”. There are: {', '.join(PRESETS)}."


def _model_faults(config: StudyConfig) -> Iterator[Fault]:
    named = {("chat", "response_model"): config.chat.response_model}
    memory = config.memory.model_dump()
    for key in ("encoder", "importance_model", "summary_model", "answer_model", "controller_model"):
        if memory[key]:
            named["memory", key] = memory[key]
    for path, name in named.items():
        try:
            providers.resolve(name)
        except providers.UnknownProvider as error:
            yield path, str(error)
