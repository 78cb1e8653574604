"""The scalers of scikit-learn as numbers, and their composition with the weights of a linear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from rankwise.core.types import FloatArray
from rankwise.data.query_scaler import QueryScaler


@dataclass(frozen=True)
class Scaling:
    """(x - shift) / scale for each feature or, with `min_max`, x * scale + shift."""

    min_max: bool
    shift: FloatArray
    scale: FloatArray

    @property
    def slope(self) -> FloatArray:
        """The a of a x + c."""
        return self.scale if self.min_max else 1 / self.scale

    @property
    def offset(self) -> FloatArray:
        """The c of a x + c."""
        return self.shift if self.min_max else -self.shift / self.scale


def scaling_of(scaler: Any) -> Scaling:
    """Return the scaling of a fitted scaler; refuse a step that is none."""
    if isinstance(scaler, MinMaxScaler):
        if scaler.clip:
            raise ValueError(
                "MinMaxScaler(clip=True) is not linear, and exports support linear scaling only."
            )
        return Scaling(True, _vector(scaler.min_), _vector(scaler.scale_))
    n = getattr(scaler, "n_features_in_", 0)
    if isinstance(scaler, MaxAbsScaler):
        return Scaling(False, np.zeros(n), _vector(scaler.scale_))
    if isinstance(scaler, StandardScaler):
        shift = scaler.mean_ if scaler.with_mean else np.zeros(n)
    elif isinstance(scaler, RobustScaler):
        shift = scaler.center_ if scaler.with_centering else np.zeros(n)
    elif isinstance(scaler, QueryScaler):
        raise TypeError(
            "QueryScaler scales by the other rows of a query, but an exported model scores single rows; "
            "scale the rows in the program that calls the model, or fit with StandardScaler."
        )
    else:
        raise TypeError(
            "Before the ranker, exports take StandardScaler, MinMaxScaler, MaxAbsScaler and RobustScaler; "
            f"got {type(scaler).__name__}."
        )
    return Scaling(False, _vector(shift), np.ones(n) if scaler.scale_ is None else _vector(scaler.scale_))


def _vector(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def composed(scalings: list[Scaling], n_features: int) -> tuple[FloatArray, FloatArray]:
    """Return a and c of a x + c, the composition of all scalings, for each feature."""
    slope, offset = np.ones(n_features), np.zeros(n_features)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        for scaling in scalings:
            slope, offset = slope * scaling.slope, offset * scaling.slope + scaling.offset
    return slope, offset


def folded(weights: FloatArray, scalings: list[Scaling]) -> tuple[FloatArray, float]:
    """Return the weights of the unscaled features, and the constant that the scalings add to every score.

    Scores computed with them differ from the original ones by rounding.
    """
    slope, offset = composed(scalings, len(weights))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        unscaled, constant = weights * slope, float(weights @ offset)
    if not (np.isfinite(unscaled).all() and np.isfinite(constant)):
        raise ValueError("The weights of the unscaled features overflow double precision.")
    return unscaled, constant
