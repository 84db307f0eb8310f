"""What is compared in a replay: presets, and variants of them with some parameters changed (sweeps, ablations)."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from memory import registry

# One part left out. LUFY: a term of the strength, by the letter that the paper's tables 14 and 15 use, at recall and at forgetting alike.
# AMU: no candidate is ever compared, so everything admitted is stored; no second look at compatible intents; no search without the aspect.
ABLATIONS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "lufy": {
        "A": {"w_arousal": 0.0},
        "P": {"w_perplexity": 0.0},
        "L": {"w_importance": 0.0},
        "R1": {"w_r1": 0.0},
        "R2": {"w_r2": 0.0},
    },
    "amu": {
        "management": {"candidate_threshold": 1.01},
        "compatible": {"compatible_intents": False},
        "fallback": {"fall_back": False},
        "gate": {"admission": 0.0},
    },
}


class BadVariant(Exception):
    """A preset, parameter or value that does not exist; the message says what does."""


class Variant(BaseModel):
    """A preset with overrides, under the label that the tables show."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: str
    overrides: dict[str, Any] = {}
    label: str = ""

    @property
    def shown(self) -> str:
        """`lufy`, `lufy alpha=0.2`; a bound says that it is one."""
        known = registry.PRESETS.get(self.preset)
        bound = " (bound)" if known is not None and known.bound else ""
        changed = " ".join(f"{name}={value}" for name, value in self.overrides.items())
        return self.label or f"{self.preset}{bound}" + (f" {changed}" if changed else "")

    @property
    def name(self) -> str:
        """The condition's name in the study: lower case letters, digits and underscores."""
        spelled = self.shown.replace(" -", " minus ").replace("=-", " neg ").replace(".", "p")
        return re.sub(r"[^a-z0-9]+", "_", spelled.lower()).strip("_")[:60]


def chosen(
    presets: Sequence[str], *, sweeps: Sequence[str] = (), sweep_file: Path | None = None, ablated: Sequence[str] = ()
) -> tuple[Variant, ...]:
    """The presets (all, when none is named), then each sweep's and each ablation's variants of them, once each.

    `sweeps`: `name=a,b,c`, of every chosen preset that has the parameter, or `preset.name=a,b,c`; one parameter differs at a time. Combinations
    are written in a file, which may also name variants of presets that were not chosen.

    Raises:
        BadVariant: with everything that is wrong.
    """
    unknown = sorted({*presets, *ablated} - set(registry.PRESETS))
    if unknown:
        raise BadVariant(f"There is no memory system {', '.join(unknown)}. There are: {', '.join(registry.PRESETS)}.")
    found = [Variant(preset=preset) for preset in presets or registry.PRESETS]
    base = [variant.preset for variant in found]
    for sweep in sweeps:
        found += _swept(sweep, base)
    for preset in ablated:
        found += _ablations(preset)
    found += _read(sweep_file) if sweep_file is not None else []
    variants = tuple({variant.name: variant for variant in found}.values())
    for variant in variants:
        _check(variant)
    return variants


def _swept(sweep: str, base: Sequence[str]) -> Iterator[Variant]:
    where, equals, values = sweep.partition("=")
    only, dot, name = where.rpartition(".")
    if not (equals and name and values):
        raise BadVariant(f"--sweep {sweep}: expected name=a,b,c or preset.name=a,b,c.")
    having = [preset for preset in ([only] if dot else base) if preset in registry.PRESETS and name in _parameters(preset)]
    if not having:
        raise BadVariant(f"--sweep {sweep}: none of {only or ', '.join(base)} has a parameter {name}.")
    for preset in having:
        for value in values.split(","):
            yield Variant(preset=preset, overrides={name: _value(value.strip())})


def _ablations(preset: str) -> Iterator[Variant]:
    parts = ABLATIONS.get(preset)
    if parts is None:
        raise BadVariant(f"--ablate {preset}: parts to be left out are known of {', '.join(ABLATIONS)} only.")
    for part, overrides in parts.items():
        yield Variant(preset=preset, overrides=dict(overrides), label=f"{preset} -{part}")


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    variants: tuple[Variant, ...]


def _read(file: Path) -> list[Variant]:
    """A TOML file of `[[variants]]` with `preset`, `overrides` and, if wanted, `label`."""
    try:
        return list(_File.model_validate(tomllib.loads(file.read_text("utf-8"))).variants)
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadVariant(f"{file}: {error}") from error


def _check(variant: Variant) -> None:
    if variant.preset not in registry.PRESETS:
        raise BadVariant(f"There is no memory system {variant.preset}. There are: {', '.join(registry.PRESETS)}.")
    try:
        registry.build(variant.preset, variant.overrides)
    except registry.UnknownParameter as error:
        raise BadVariant(f"{variant.shown}: {error}") from error


def _parameters(preset: str) -> set[str]:
    return {f.name for f in fields(registry.PRESETS[preset].policy)}  # type: ignore[arg-type]  # every policy is a dataclass


def _value(text: str) -> Any:
    """As TOML reads it; a bare word is itself, `none` is nothing."""
    if text == "none":
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
