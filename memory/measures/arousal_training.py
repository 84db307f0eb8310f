"""Fitting the arousal ridge on EmoBank's official split. Plain numpy; the command `train_arousal` reads, embeds and writes."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PENALTIES = (1.0, 3.0, 5.0, 8.0, 12.0, 20.0, 50.0)
COLUMNS = {"arousal": "A", "valence": "V"}


@dataclass(frozen=True)
class Split:
    """One part of EmoBank: design matrix (n, features) and the arousal that people gave (n,), 1 to 5."""

    design: NDArray[np.float64]
    arousal: NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """`coefficients` of the deviation from `mean`; `stretch` brings the training predictions to the spread of the labels."""

    coefficients: NDArray[np.float64]
    mean: float
    stretch: float
    penalty: float
    dev_r: float
    test_r: float
    test_mae: float


def read(path: Path, dimension: str = "arousal") -> dict[str, tuple[list[str], NDArray[np.float64]]]:
    """Texts and arousal (or valence) by part (train, dev, test).

    Raises:
        KeyError: the file has not EmoBank's columns (split, A, V, text).
    """
    parts: dict[str, tuple[list[str], list[float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            texts, values = parts.setdefault(row["split"], ([], []))
            texts.append(row["text"])
            values.append(float(row[COLUMNS[dimension]]))
    return {name: (texts, np.array(values)) for name, (texts, values) in parts.items()}


def fit(train: Split, dev: Split, test: Split, penalties: Sequence[float] = PENALTIES) -> Fit:
    """The ridge whose penalty does best on `dev`, and its Pearson r on `test`, which decides nothing."""
    mean = float(train.arousal.mean())
    fits = {penalty: solve(train.design, train.arousal - mean, penalty) for penalty in penalties}
    scores = {penalty: pearson(dev.design @ w, dev.arousal) for penalty, w in fits.items()}
    best = max(scores, key=lambda penalty: scores[penalty])
    weights = fits[best]
    stretch = float(train.arousal.std() / (train.design @ weights).std())
    said = np.clip(mean + stretch * (test.design @ weights), 1, 5)
    mae = float(np.abs(said - test.arousal).mean())
    return Fit(weights, mean, stretch, best, scores[best], pearson(test.design @ weights, test.arousal), mae)


def solve(design: NDArray[np.float64], target: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """argmin |Xw − y|² + penalty·|w|², shape (features,)."""
    gram = design.T @ design + penalty * np.eye(design.shape[1])
    return np.asarray(np.linalg.solve(gram, design.T @ target))


def pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(np.corrcoef(x, y)[0, 1])
