"""The encoder of a benchmark: each text is encoded once per run, and what that took is charged to every system that needs it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memory import encoders
from memory.policy import Vector
from studyplatform.scripted import hashing


class NoThreshold(Exception):
    """The encoder has no calibrated cosine of that name, and none was given."""


@dataclass
class _Known:
    vector: Vector
    seconds: float


class Encoding:
    """`name`: `provider/model`; `thresholds`: cosines that replace the encoder's own, by name.

    `spent`: seconds inside this object so far; `charged`: what the texts asked for took when they were encoded, once per decision.
    """

    def __init__(self, name: str, thresholds: Mapping[str, float] | None = None) -> None:
        self._encoder = encoders.get(name)
        self.thresholds = {**self._encoder.thresholds, **(thresholds or {})}
        self.spent = 0.0
        self.charged = 0.0
        self._known: dict[str, _Known] = {}
        self._charged_for: set[str] = set()
        self._ask: Callable[[Sequence[str]], Vector] = _hashed if name == "scripted/hash" else self._encoder.embed

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def window_chars(self) -> int:
        return self._encoder.window_chars

    @property
    def dimension(self) -> int:
        return self._encoder.dimension or next((len(known.vector) for known in self._known.values()), 0)

    def threshold(self, name: str) -> float:
        if name not in self.thresholds:
            raise NoThreshold(f"{self.name} is not calibrated for “{name}”. Give one: --threshold {name}=0.5")
        return self.thresholds[name]

    def begin(self) -> None:
        """A new decision: what it asks for is charged to it, each text once."""
        self.spent = self.charged = 0.0
        self._charged_for.clear()

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimension), float32."""
        began = time.perf_counter()
        for text in dict.fromkeys(texts):
            if text not in self._known:
                started = time.perf_counter()
                vector = self._ask([text])[0]
                self._known[text] = _Known(vector, time.perf_counter() - started)
            if text not in self._charged_for:
                self._charged_for.add(text)
                self.charged += self._known[text].seconds
        found = np.stack([self._known[text].vector for text in texts]) if texts else np.zeros((0, self.dimension), dtype=np.float32)
        self.spent += time.perf_counter() - began
        return found


def _hashed(texts: Sequence[str]) -> Vector:
    """The scripted server's encoder, without the server."""
    return np.array([hashing.embed(text) for text in texts], dtype=np.float32)
