"""Arousal of what the participant said, 1 (calm) to 5 (excited): a ridge regression on the sentence embedding and surface features.

Trained on EmoBank's official split (`manage.py train_arousal`); the weights stand beside this file with their licence. A ridge's predictions
shrink towards the mean, so they are stretched back to the spread of the training labels, then cut to the scale.
"""

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from memory import encoders
from memory.measures.scorer import Context, Score, Scorer, in_words
from memory.policy import Exchange

WEIGHTS = Path(__file__).parent / "weights"
LOWEST, HIGHEST = 1.0, 5.0
_WORD = re.compile(r"\w+")
_STRETCHED = re.compile(r"([a-zA-Z])\1\1")
_STRONG_TEXT = """
afraid always amazing angry attack awful best bomb danger dead die ever excited extremely fantastic fear fight fire great hate
horrible incredible kill love must never really scream so terrible urgent very war wonderful worst wow
"""
_STRONG = frozenset(_STRONG_TEXT.split())


class RidgeArousal(Scorer):
    """`encoder`: the one whose embeddings the weights are for. Emoji are read by their names. An empty text counts as the mean, marked as a fallback."""

    measure: ClassVar[str] = "arousal"

    def __init__(self, encoder: str = "local/minilm") -> None:
        self.id = "ridge_emobank"
        self.version = f"2:{encoder}"
        self._encoder = encoder

    def score(self, exchange: Exchange, context: Context) -> Score:
        if not exchange.user.strip():
            return Score(weights(self._encoder).mean, fallback=True)
        said = in_words(exchange.user)
        vectors = encoders.get(self._encoder).embed([said])
        return Score(float(predict(weights(self._encoder), vectors, [said])[0]))


@dataclass(frozen=True)
class Weights:
    """Coefficients, shape (dimension + surface features,), of the deviation from `mean`, and how far it is stretched."""

    coefficients: NDArray[np.float64]
    mean: float
    stretch: float


def file_name(encoder: str, dimension: str = "arousal") -> str:
    """Where an encoder's weights for a dimension of EmoBank (arousal, valence) are, within `WEIGHTS`."""
    return f"{dimension}_{encoder.replace('/', '_')}.json"


@lru_cache(maxsize=8)
def weights(encoder: str, dimension: str = "arousal") -> Weights:
    """The committed weights for this encoder's embeddings."""
    raw = json.loads((WEIGHTS / file_name(encoder, dimension)).read_text("utf-8"))
    return Weights(np.array(raw["coefficients"], dtype=np.float64), raw["mean"], raw["stretch"])


def predict(trained: Weights, vectors: NDArray[np.float32], texts: list[str]) -> NDArray[np.float64]:
    """Arousal of each text, shape (n,), 1 to 5."""
    raw = design(vectors, texts) @ trained.coefficients
    return np.clip(trained.mean + trained.stretch * raw, LOWEST, HIGHEST)


def design(vectors: NDArray[np.float32], texts: list[str]) -> NDArray[np.float64]:
    """Embedding beside surface features, shape (n, dimension + 15); all features are within about ±1 of 0."""
    return np.hstack([np.asarray(vectors, dtype=np.float64), np.array([surface(text) for text in texts])])


def surface(text: str) -> list[float]:
    """What shows without reading: length, punctuation, capitals, digits, stretched letters, strong words; each a small number."""
    words = _WORD.findall(text)
    letters = sum(c.isalpha() for c in text) or 1
    return [
        float(np.log1p(len(words))) / 4 - 0.7,
        min(len(words), 60) / 60,
        sum(map(len, words)) / (10 * (len(words) or 1)),
        min(text.count("!"), 3) / 3,
        float("!" in text),
        min(text.count("?"), 3) / 3,
        float("?" in text),
        float('"' in text),
        text.count(",") / (len(words) + 1),
        float("..." in text or "…" in text),
        sum(c.isupper() for c in text) / letters,
        float(any(word.isupper() and len(word) > 2 for word in words)),
        float(any(c.isdigit() for c in text)),
        float(bool(_STRETCHED.search(text))),
        min(sum(word.lower() in _STRONG for word in words), 3) / 3,
    ]
