"""The weights of a linear model, in the units of the features that people know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise._pipeline import last_step
from rankwise.io.export.linear import LinearScorer, scaling_of
from rankwise.report.subject import matrix_of, names_of

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """A linear score: up to a constant, the sum over features of weight times value.

    Attributes
    ----------
    names : list of str
    weights, spread : arrays of shape (n_features,)
        The spread is the standard deviation of the feature in the data.
    rows : array or CSR matrix
        The values of the features.
    """

    names: list[str]
    weights: FloatArray
    spread: FloatArray
    rows: Any

    @property
    def effect(self) -> FloatArray:
        """Weight times spread: by how much the score moves when the feature moves by its spread."""
        return self.weights * self.spread


def weights_of(model: Any, X: Any, feature_names: Sequence[str] | None = None) -> Weights | None:
    """Give the weights of a linear model, or None where it has none.

    Scalers are folded into the weights. What other steps make has weights of its own.
    """
    coef = getattr(last_step(model), "coef_", None)
    if coef is None or (np.ndim(coef) > 1 and len(coef) > 1):
        return None
    coef = np.asarray(coef, dtype=np.float64).ravel()
    rows = matrix_of(X)
    names = names_of(X, model, feature_names, rows.shape[1])
    front = [step for _, step in model.steps[:-1]] if hasattr(model, "steps") else []
    try:
        scalings = [scaling_of(step) for step in front if step not in (None, "passthrough")]
        weights, _ = LinearScorer(names, coef, scalings).folded()
    except (TypeError, ValueError):
        return _after_steps(model, X, coef)
    return Weights(names, weights, spread_of(rows), rows)


def _after_steps(model: Any, X: Any, coef: FloatArray) -> Weights:
    rows = matrix_of(model[:-1].transform(X))
    try:
        names = [str(name) for name in model[:-1].get_feature_names_out()]
    except (AttributeError, ValueError):
        names = [f"f{number}" for number in range(1, len(coef) + 1)]
    return Weights(names, coef, spread_of(rows), rows)


def spread_of(rows: Any) -> FloatArray:
    """Give the standard deviation of each feature."""
    if not sp.issparse(rows):
        return np.asarray(rows, dtype=np.float64).std(axis=0)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    square = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
    return np.sqrt(np.maximum(square - mean**2, 0.0))
