"""A linear model behind scalers as plain numbers: what every export of a linear model begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from rankwise.core.types import FloatArray
from rankwise.io.model_file import RANKERS
from rankwise.preprocessing import QueryScaler


@dataclass(frozen=True)
class Scaling:
    """What a scaler does to each feature: (x - shift) / scale, or x * scale + shift where `min_max`."""

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


@dataclass(frozen=True)
class LinearScorer:
    """The score of a row: the sum of `weights` times the features after all `scalings`."""

    names: list[str]
    weights: FloatArray
    scalings: list[Scaling]

    def composed(self) -> tuple[FloatArray, FloatArray]:
        """Return slope and offset of all scalings together, feature by feature."""
        slope, offset = np.ones(len(self.weights)), np.zeros(len(self.weights))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            for scaling in self.scalings:
                slope, offset = slope * scaling.slope, offset * scaling.slope + scaling.offset
        return slope, offset

    def folded(self) -> tuple[FloatArray, float]:
        """Return weights for the raw features, and the constant that scalings add to every score.

        Scores of the two forms differ by rounding.
        """
        slope, offset = self.composed()
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            weights, constant = self.weights * slope, float(self.weights @ offset)
        if not (np.isfinite(weights).all() and np.isfinite(constant)):
            raise ValueError("The weights for unscaled features are too large for a number.")
        return weights, constant


def parts_of(model: Any) -> tuple[Any, list[Scaling]]:
    """Return the fitted ranker of a model and what stands in front of it; refuse what is neither."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    *front, ranker = steps
    if not isinstance(ranker, tuple(RANKERS.values())):
        raise TypeError(
            f"model must be one of {', '.join(RANKERS)}, or a Pipeline of scalers that ends with one; "
            f"got {type(ranker).__name__}."
        )
    for step in (*front, ranker):
        _check_fitted(step)
    if hasattr(ranker, "trees_"):
        raise ValueError(
            f"Exports hold linear and kernel models, and {type(ranker).__name__} has trees: its trees_ are "
            "the model text of LightGBM, which has tools for it."
        )
    return ranker, [scaling_of(step) for step in front if not _is_nothing(step)]


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _check_fitted(step: Any) -> None:
    try:
        if not _is_nothing(step):
            check_is_fitted(step)
    except NotFittedError:
        raise NotFittedError(f"{type(step).__name__} is not fitted; call fit before the export.") from None


def scaling_of(scaler: Any) -> Scaling:
    """Return what a fitted scaler of scikit-learn does."""
    if isinstance(scaler, MinMaxScaler):
        if scaler.clip:
            raise ValueError("MinMaxScaler(clip=True) is not linear, and exports hold linear scaling only.")
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
            "QueryScaler scales by the other rows of a query, and an exported model sees one row at a time; "
            "scale the rows in the program that calls the model, or fit with StandardScaler."
        )
    else:
        raise TypeError(
            "In front of the ranker, exports take StandardScaler, MinMaxScaler, MaxAbsScaler and "
            f"RobustScaler; got {type(scaler).__name__}."
        )
    return Scaling(False, _vector(shift), np.ones(n) if scaler.scale_ is None else _vector(scaler.scale_))


def _vector(values: Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def linear_scorer(
    model: Any, format: str, feature_names: Sequence[str] | None = None, output: int | None = None
) -> LinearScorer:
    """Return a linear model as plain numbers; refuse kernels and, without `output`, several outputs."""
    ranker, scalings = parts_of(model)
    if not hasattr(ranker, "coef_"):
        raise ValueError(
            f"Format {format!r} holds linear models, and this {type(ranker).__name__} has "
            f"kernel={ranker.kernel!r}; format 'onnx' takes kernels."
        )
    weights = chosen_output(_vector(ranker.coef_), output, f"Format {format!r} has one score per row")
    if not np.isfinite(weights).all():
        raise ValueError("The weights of the model contain NaN or infinity.")
    return LinearScorer(names_of(model, ranker, feature_names), weights, scalings)


def chosen_output(coef: FloatArray, output: int | None, reason: str) -> FloatArray:
    """Return the coefficients of one output."""
    n_outputs = 1 if coef.ndim == 1 else len(coef)
    if output is None:
        if n_outputs > 1:
            raise ValueError(f"{reason}, and the model has {n_outputs} outputs: choose one by output=.")
        return np.atleast_2d(coef)[0]
    if isinstance(output, bool) or not isinstance(output, int) or not 0 <= output < n_outputs:
        raise ValueError(f"output must be a whole number from 0 to {n_outputs - 1}; got {output!r}.")
    return np.atleast_2d(coef)[output]


def names_of(model: Any, ranker: Any, feature_names: Sequence[str] | None) -> list[str]:
    """Return the names of the features: as given, as fitted, as saved with the model, or f1, f2, ...

    Scalers change no names, so those of the first step are those of the ranker.
    """
    n = int(ranker.n_features_in_)
    if feature_names is None:
        fitted = getattr(model, "feature_names_in_", getattr(ranker, "feature_names_in_", None))
        feature_names = getattr(ranker, "feature_names_", None) if fitted is None else fitted
    if feature_names is None:
        return [f"f{number}" for number in range(1, n + 1)]
    names = [str(name) for name in feature_names]
    if len(names) != n:
        raise ValueError(f"feature_names has {len(names)} names, but the model has {n} features.")
    if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
        raise ValueError("feature_names must be valid Unicode text; a name has half of a surrogate pair.")
    if len(set(names)) != n:
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"feature_names must differ from each other; {twice!r} is there twice.")
    return names
