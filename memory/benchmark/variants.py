"""What the benchmark compares: every preset, AMU with each controller, AMU without its parts, AMU at other thresholds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from memory import registry
from memory.policies.amu import Amu
from memory.policy import MemoryPolicy, Scale

Group = Literal["presets", "ablations", "sweeps"]
CONTROLLERS = ("prototype", "model")
# AMU paper, table 3. Without filtering, everything is admitted and no search looks at aspect or intent; each half alone beside it. Without
# storage management, nothing is ever a candidate, so everything admitted is stored.
ABLATIONS: Mapping[str, tuple[Mapping[str, Any], bool]] = {
    "without filtering": ({"admission": 0.0}, False),
    "without admission only": ({"admission": 0.0}, True),
    "without the structured filter only": ({}, False),
    "without storage management": ({"candidate_threshold": 1.01}, True),
}
# AMU's two: the paper's values (tables 6 and 7) and lower ones, for encoders whose cosines are lower.
SWEEPS: Mapping[str, tuple[float, ...]] = {
    "candidate_threshold": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
    "threshold": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7),
    "recall_threshold": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.7),
}
PAPER = {"candidate_threshold": 0.60, "recall_threshold": 0.55}


@dataclass(frozen=True)
class Variant:
    """A preset with overrides. `controller`: AMU's, else None; `structured` off: searches ignore aspect and intent; `part`: what is left out or changed."""

    preset: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    group: Group = "presets"
    part: str = ""
    structured: bool = True

    def build(self, scales: Mapping[str, Scale]) -> MemoryPolicy:
        return registry.build(self.preset, self.overrides, scales)

    @property
    def policy(self) -> type[MemoryPolicy]:
        return registry.PRESETS[self.preset].policy

    @property
    def controller(self) -> str | None:
        built = registry.build(self.preset, self.overrides)
        return built.controller if isinstance(built, Amu) else None

    @property
    def is_bound(self) -> bool:
        return registry.PRESETS[self.preset].bound

    @property
    def asks_a_model(self) -> bool:
        """Whether every turn asks a language model."""
        return self.controller == "model"

    @property
    def label(self) -> str:
        named = f"{self.preset} ({self.controller})" if self.controller else self.preset
        return f"{named}, {self.part}" if self.part else named


def presets(names: Sequence[str] = ()) -> list[Variant]:
    """Every preset, or those of a name (`amu:model`: with that controller only); AMU's default preset once with each controller.

    Raises:
        KeyError: there is no such preset or controller.
    """
    found = [variant for preset in registry.PRESETS for variant in _controllers(preset)]
    if not names:
        return found
    known = {name: [v for v in found if name in (v.preset, f"{v.preset}:{v.controller}")] for name in names}
    if unknown := [name for name, variants in known.items() if not variants]:
        raise KeyError(f"There is no memory system {', '.join(unknown)}. There are: {', '.join(registry.PRESETS)}.")
    return [v for v in found if any(v in variants for variants in known.values())]


def _controllers(preset: str) -> Iterator[Variant]:
    if preset == "amu":
        yield from (Variant(preset, {"controller": controller}) for controller in CONTROLLERS)
    else:
        yield Variant(preset)


def ablations(of: Variant) -> list[Variant]:
    """A variant of AMU without each part."""
    return [Variant(of.preset, {**of.overrides, **changed}, "ablations", part, kept) for part, (changed, kept) in ABLATIONS.items()]


def sweeps(of: Variant) -> list[Variant]:
    """A preset at each value of each threshold that it has, the other one as it is; AMU at the paper's two beside that."""
    known = {f.name for f in fields(of.policy)}  # type: ignore[arg-type]  # every policy is a dataclass
    single = [({name: value}, f"{name} {value:g}") for name, values in SWEEPS.items() if name in known for value in values]
    wanted: list[tuple[Mapping[str, float], str]] = [*single, *([(PAPER, "the paper's thresholds")] if of.policy is Amu else [])]
    return [Variant(of.preset, {**of.overrides, **changed}, "sweeps", part) for changed, part in wanted]
