"""The encoders that turn text into unit vectors, each with its dimension and the cosines calibrated for it.

A cosine of 0.8 means something else in every encoder, so the papers' thresholds never travel: each entry carries its own, found
as `memory.calibration` says: `reply`, `reply_reference` and `opening` by `manage.py calibrate_encoder` on the 242 distinct questions and 72
later conversations of 24 released LUFY conversations (November 2026), the ones of AMU on the same and on its labelled statements. Another encoder is
calibrated once per deployment and kept in the database; one without calibration can be used, but then a study must set every
threshold itself, per condition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memory.models import EncoderCalibration
from memory.policy import Vector
from studyplatform.llm import embeddings

# reply, reply_reference: the LUFY paper's .8 and its code's .75; opening: .6; amu_*: AMU's tau_s .60 and tau_r .55.
THRESHOLDS = ("reply", "reply_reference", "opening", "amu_candidate", "amu_recall")


class BadVectors(Exception):
    """The endpoint returned vectors of another shape than the encoder declares."""


@dataclass(frozen=True)
class Encoder:
    """`dimension` 0: not known beforehand. `window_chars`: about what the model reads; a longer query keeps its newest part."""

    name: str
    dimension: int = 0
    thresholds: Mapping[str, float] = field(default_factory=dict)
    window_chars: int = 900

    @property
    def calibrated(self) -> bool:
        return all(name in self.thresholds for name in THRESHOLDS)

    def embed(self, texts: Sequence[str]) -> Vector:
        """Unit vectors, shape (len(texts), dimension), float32; an empty text or a null vector stays null.

        Raises:
            BadVectors: the endpoint's vectors have another dimension.
            studyplatform.llm.embeddings.EndpointFailed: no answer.
        """
        return self._checked(embeddings.embed(self.name, texts), texts)

    async def embed_soon(self, texts: Sequence[str]) -> Vector:
        """As `embed`, on an event loop."""
        return self._checked(await embeddings.embed_soon(self.name, texts), texts)

    def _checked(self, vectors: Vector, texts: Sequence[str]) -> Vector:
        if vectors.shape[0] != len(texts) or (self.dimension and vectors.shape[1] != self.dimension):
            raise BadVectors(f"{self.name}: expected ({len(texts)}, {self.dimension}), got {vectors.shape}.")
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(norms == 0, 1, norms), dtype=np.float32)


_CALIBRATED = (
    Encoder(
        "local/minilm",
        384,
        {
            "reply": 0.458,
            "reply_reference": 0.379,
            "opening": 0.158,
            "amu_candidate": 0.536,
            "amu_recall": 0.412,
        },
        window_chars=900,
    ),
    Encoder(
        "scripted/hash",
        384,
        {
            "reply": 0.300,
            "reply_reference": 0.232,
            "opening": 0.244,
            "amu_candidate": 0.370,
            "amu_recall": 0.282,
        },
        window_chars=8000,
    ),
)
REGISTRY: dict[str, Encoder] = {encoder.name: encoder for encoder in _CALIBRATED}


# A paper's own encoder, at any provider: the thresholds that the paper gives for it. A study must set the others itself.
PAPERS: dict[str, Mapping[str, float]] = {"qwen3-embedding-0.6b": {"amu_candidate": 0.60, "amu_recall": 0.55}}


def get(name: str) -> Encoder:
    """The encoder `provider/model`: of the table; else as `manage.py calibrate_encoder --store` found it; else with what its paper gives, if any."""
    return REGISTRY.get(name) or _stored(name) or Encoder(name, thresholds=PAPERS.get(name.rpartition("/")[2].lower(), {}))


def _stored(name: str) -> Encoder | None:
    row = EncoderCalibration.objects.filter(encoder=name).values_list("dimension", "thresholds").first()
    return Encoder(name, row[0], row[1]) if row else None
