"""What the prototype controller has learned: four small linear models over an encoder's vectors and the surface, and where to cut.

Trained weights are files beside this module, one per encoder, made by `manage.py train_amu_prototype` with what they were made from; an encoder
without a file gets weights from the labelled sentences of this folder when it is first used, which are worse.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memory.policies.amu_controllers import signs
from memory.policies.amu_controllers.learning import Linear, Matrix
from memory.policy import Space, Vector

FOLDER = Path(__file__).parent / "weights"
VECTOR_SIZE = 5.0  # what a unit vector is stretched to beside the signs, so that the penalty weighs on both alike
VERDICT_VECTOR_SIZE = 3.0
KNOWN_SIZE = 2.0
NEAREST = 20  # records that a message is seen against


@dataclass(frozen=True)
class Cuts:
    """`keep`: the probability from which a message is surely personal (.9), `maybe`: perhaps (.7). `candidate`: the cosine from which a record is
    compared. `plausible`: the probability that an aspect must have for its records to be compared."""

    keep: float = 0.5
    maybe: float = 0.4
    candidate: float = 0.2
    plausible: float = 0.01


MODELS = ("keep", "aspect", "intent", "sentiment", "match", "verdict")


@dataclass(frozen=True)
class Trained:
    """`keep`: filter or keep; `aspect`, `intent`, `sentiment` of what is kept; `match`: whether a record is about the same matter (`signs.PAIR`);
    `verdict`: how a message stands to the likeliest such record (`verdict_row`)."""

    keep: Linear
    aspect: Linear
    intent: Linear
    sentiment: Linear
    match: Linear
    verdict: Linear
    cuts: Cuts = Cuts()

    def document(self) -> dict[str, Any]:
        return {"cuts": vars(self.cuts), "models": {name: getattr(self, name).document() for name in MODELS}}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Trained":
        return cls(**{name: Linear.read(model) for name, model in document["models"].items()}, cuts=Cuts(**document["cuts"]))


def design(vectors: Vector, texts: list[str] | tuple[str, ...]) -> Matrix:
    """Vectors beside signs, shape (n, dimension + len(signs.UTTERANCE))."""
    surface = np.array([signs.utterance(text) for text in texts]) if texts else np.zeros((0, len(signs.UTTERANCE)))
    return np.hstack([VECTOR_SIZE * np.asarray(vectors, dtype=float), surface])


def keep_design(made: Matrix, known: Matrix) -> Matrix:
    """Rows of `design` with what is known already (`signs.KNOWN`), for the model of what to keep."""
    return np.hstack([made, KNOWN_SIZE * known])


def verdict_row(pair: Matrix, match: float, held: int, text: str, vector: Matrix | Vector) -> Matrix:
    """One row for the verdict on a message: its likeliest record beside it, how likely that is, how many are held, and the message itself."""
    odds = np.log((match + 1e-4) / (1 - match + 1e-4))
    return np.concatenate([pair, [odds, np.log1p(held)], signs.utterance(text), VERDICT_VECTOR_SIZE * np.asarray(vector, dtype=float)])


def path_of(encoder: str) -> Path:
    return FOLDER / f"{encoder.replace('/', '_')}.json"


known: dict[str, Trained] = {}
_making = threading.Lock()


def of(space: Space) -> Trained:
    """The weights for this space's encoder, read or made once per process."""
    with _making:
        if space.encoder_name not in known:
            path = path_of(space.encoder_name)
            known[space.encoder_name] = Trained.read(json.loads(path.read_text("utf-8"))) if path.is_file() else _from_sentences(space)
        return known[space.encoder_name]


def _from_sentences(space: Space) -> Trained:
    from memory.policies.amu_controllers import training

    return training.fit([], space.embed)
