"""Logistic regression over a handful of classes: small enough to be read, fitted the same way on every machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Linear:
    """Weights of shape (features, classes) and a bias per class."""

    classes: tuple[str, ...]
    weights: Matrix
    bias: Matrix

    def probabilities(self, design: Matrix) -> Matrix:
        """Shape (n, classes), rows summing to one, for a design of shape (n, features)."""
        return _softmax(design @ self.weights + self.bias)

    def of(self, row: Matrix) -> dict[str, float]:
        """The probability of each class for one row of features."""
        return dict(zip(self.classes, map(float, self.probabilities(row[None])[0]), strict=True))

    def document(self, digits: int = 3) -> dict[str, Any]:
        """As stored."""
        return {
            "classes": list(self.classes),
            "weights": np.round(self.weights, digits).tolist(),
            "bias": np.round(self.bias, digits).tolist(),
        }

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> "Linear":
        return cls(tuple(document["classes"]), np.array(document["weights"], dtype=float), np.array(document["bias"], dtype=float))


def fit(design: Matrix, labels: Sequence[str], penalty: float, weights: Sequence[float] | None = None) -> Linear:
    """Multinomial logistic regression with a ridge penalty on all but the bias, from zero, by L-BFGS: no chance is involved.

    Args:
        design: shape (n, features); features of about the same size.
        penalty: of half the sum of squares, against the mean negative log-likelihood.
        weights: of the rows; none: all the same.
    """
    classes = tuple(sorted(set(labels)))
    hot = np.array([[label == name for name in classes] for label in labels], dtype=float)
    share = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    share = share / share.sum()
    n_features, n_classes = design.shape[1], len(classes)

    def loss(flat: Matrix) -> tuple[float, Matrix]:
        coefficients = flat.reshape(n_features + 1, n_classes)
        found = _softmax(design @ coefficients[:-1] + coefficients[-1])
        likelihood = -float(share @ np.log(np.maximum((found * hot).sum(axis=1), 1e-12)))
        error = (found - hot) * share[:, None]
        slope = np.vstack([design.T @ error + penalty * coefficients[:-1], error.sum(axis=0)])
        return likelihood + penalty / 2 * float((coefficients[:-1] ** 2).sum()), slope.ravel()

    from scipy.optimize import minimize  # only where weights are trained: it takes 70 MB

    found = minimize(loss, np.zeros((n_features + 1) * n_classes), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    coefficients = found.reshape(n_features + 1, n_classes)
    return Linear(classes, coefficients[:-1], coefficients[-1])


def _softmax(scores: Matrix) -> Matrix:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
