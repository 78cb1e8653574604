"""The weights of a linear model in the units of its features, and the contributions to a pair of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.frames import one_row
from rankwise.data.table_encoder import LevelContrasts, TableEncoder
from rankwise.estimators.scaling import folded, scaling_of
from rankwise.evaluation.models import matrix_of
from rankwise.evaluation.names import feature_names, numbered_names

if TYPE_CHECKING:
    from rankwise.evaluation.inference import Differences, Inference

# The largest distance of the weights of an inference from those of the model, relative to their size, both in
# standard errors.
LARGEST_DISTANCE = 0.5


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
    inference : Inference, optional
        The sampling errors of the weights.
    selection : array of shape (n_features,), optional
        How often halves of the training rows select each feature.
    """

    names: list[str]
    weights: FloatArray
    spread: FloatArray
    rows: Any
    inference: Inference | None = field(default=None, kw_only=True)
    selection: FloatArray | None = field(default=None, kw_only=True)

    @property
    def effect(self) -> FloatArray:
        """Weight times standard deviation: the change of the score per standard deviation."""
        return self.weights * self.spread

    def with_inference(self, inference: Inference | None) -> Self:
        """Return these weights with an inference, which must be that of the same model."""
        if inference is not None:
            check_inference(inference, self.weights)
        return replace(self, inference=inference)

    def with_selection(self, selection: ArrayLike | None) -> Self:
        """Return these weights with the frequencies of their selection."""
        found = None if selection is None else np.asarray(selection, dtype=np.float64)
        if found is not None and found.shape != self.weights.shape:
            raise ValueError(
                f"selection has shape {found.shape}, but the model has {len(self.weights)} weights."
            )
        return replace(self, selection=found)

    def effect_intervals(self, level: float = 0.95) -> FloatArray | None:
        """Return the interval of each effect, shape (n_features, 2), if there is an inference."""
        if self.inference is None:
            return None
        return self.inference.confidence_intervals(level) * self.spread[:, None]


def check_inference(inference: Inference, weights: FloatArray) -> None:
    """Refuse the inference of another model, or of the scaled features of a pipeline."""
    if len(inference.coef) != len(weights):
        raise ValueError(f"inference has {len(inference.coef)} weights, but the model has {len(weights)}.")
    distance = np.linalg.norm((inference.coef - weights) / inference.standard_errors)
    size = np.linalg.norm(weights / inference.standard_errors)
    if distance > LARGEST_DISTANCE * size and not inference.is_debiased:
        raise ValueError(
            "inference must be that of the model, but its weights differ. For a pipeline, pass "
            "rankwise.inference(pipeline, X, y)."
        )


def weights_of(
    model: Any, X: Any, given_names: Sequence[str] | None = None, qid: Any = None
) -> Weights | None:
    """Return the weights of a linear model, None for other models.

    Scalers are folded into the weights. After other steps, the weights are those of their output: behind a
    `TableEncoder` and scalers, those of the columns that the encoder makes.
    """
    coef = getattr(last_step(model), "coef_", None)
    if coef is None or (np.ndim(coef) > 1 and len(coef) > 1):
        return None
    coef = np.asarray(coef, dtype=np.float64).ravel()
    front = [step for _, step in model.steps[:-1]] if hasattr(model, "steps") else []
    encoder = encoder_of(model)
    front = front if encoder is None else front[1:]
    try:
        scalings = [scaling_of(step) for step in front if step not in (None, "passthrough")]
        weights, _ = folded(coef, scalings)
    except (TypeError, ValueError):
        return _after_steps(model, X, coef, qid)
    rows = matrix_of(X) if encoder is None else encoder.transform(X)
    made = None if encoder is None else [str(name) for name in encoder.get_feature_names_out()]
    names = made or feature_names(X, model, given_names, rows.shape[1])
    return Weights(names, weights, spread_of(rows), rows)


def weights_of_table(model: Any, X: Any, inference: Inference) -> Weights | None:
    """Return the weights of an inference behind a TableEncoder, None for other models.

    The weights of levels are differences from the first level of their column.
    """
    if encoder_of(model) is None or inference.features is None:
        return None
    rows = inference.features(X)
    scores = last_step(model).predict(before_last_step(model, X))
    if np.ptp(rows @ inference.coef - scores) > LARGEST_DISTANCE * np.std(scores):
        raise ValueError("inference must be that of the model, but its weights differ.")
    return Weights(inference.names, inference.coef, spread_of(rows), rows, inference=inference)


def encoder_of(model: Any) -> TableEncoder | None:
    """Return the TableEncoder that a pipeline begins with, or None."""
    first = model.steps[0][1] if hasattr(model, "steps") else None
    return first if isinstance(first, TableEncoder) else None


def _after_steps(model: Any, X: Any, coef: FloatArray, qid: Any = None) -> Weights:
    rows = matrix_of(before_last_step(model, X, qid))
    return Weights(output_names(model, len(coef)), coef, spread_of(rows), rows)


def output_names(model: Any, n_features: int) -> list[str]:
    """Return the names of the features that all steps but the last of a pipeline make."""
    try:
        return [str(name) for name in model[:-1].get_feature_names_out()]
    except (AttributeError, ValueError):
        return numbered_names(n_features)


def spread_of(rows: Any) -> FloatArray:
    """Return the standard deviation of each feature."""
    if not sp.issparse(rows):
        return np.asarray(rows, dtype=np.float64).std(axis=0)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    square = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
    return np.sqrt(np.maximum(square - mean**2, 0.0))


def pair_parts(
    model: Any, a: Any, b: Any, given_names: Sequence[str] | None = None
) -> tuple[list[str], FloatArray] | None:
    """Return the names of the features and their contributions to f(a) - f(b), None if there are none."""
    ranker = last_step(model)
    pair = [row.tocsr() if sp.issparse(row) else one_row(row, name) for row, name in ((a, "a"), (b, "b"))]
    if hasattr(ranker, "contributions") or has_interactions(ranker):
        rows = [before_last_step(model, row) for row in pair]
        names = feature_names(pair[0], model, given_names, ranker.n_features_in_)
        return names, ranker.explain_pair(*rows)
    first, second = (weights_of(model, row, given_names) for row in pair)
    if first is None or second is None:
        return None
    rows = [one.rows.toarray() if sp.issparse(one.rows) else one.rows for one in (first, second)]
    apart = np.subtract(*(np.asarray(row, dtype=np.float64).ravel() for row in rows))
    return by_column(model, first.names, first.weights * apart)


def has_interactions(ranker: Any) -> bool:
    """Return whether a ranker has the methods `interactions` and `explain_pair` of KernelRanker."""
    return callable(getattr(ranker, "interactions", None))


def by_column(model: Any, names: list[str], parts: FloatArray) -> tuple[list[str], FloatArray]:
    """Add up the parts of the columns that a TableEncoder made of one column of the table."""
    encoder = encoder_of(model)
    if encoder is None or len(parts) != len(encoder.source_columns_):
        return names, parts
    sums = np.bincount(encoder.source_columns_, parts, minlength=encoder.n_features_in_)
    given = getattr(encoder, "feature_names_in_", numbered_names(encoder.n_features_in_))
    return [str(name) for name in given], np.asarray(sums, dtype=np.float64)


class PairErrors(NamedTuple):
    """The standard errors of the contributions to f(a) - f(b), and the difference with its interval."""

    parts: FloatArray
    difference: Differences


def pair_errors(model: Any, a: Any, b: Any, inference: Inference, level: float = 0.95) -> PairErrors:
    """Return the errors of `pair_parts` of a linear model, given its inference."""
    weights = weights_of(model, a if sp.issparse(a) else one_row(a, "a"))
    if weights is None:
        raise ValueError("inference is for linear models; the score of this model is not linear.")
    if (encoder := encoder_of(model)) is not None and inference.features is not None:
        difference = inference.difference(a, b, level)
        return PairErrors(_errors_by_column(encoder, a, b, inference), difference)
    check_inference(inference, weights.weights)
    return PairErrors(inference.part_errors(a, b), inference.difference(a, b, level))


def _errors_by_column(encoder: TableEncoder, a: Any, b: Any, inference: Inference) -> FloatArray:
    """Return the standard error of the contribution of each column of a table to f(a) - f(b)."""
    levels = LevelContrasts(encoder)
    first, second = (levels.columns(one_row(row, name))[0] for row, name in ((a, "a"), (b, "b")))
    source, apart = encoder.source_columns_[levels.kept], first - second
    products = inference.covariance * np.outer(apart, apart)
    variance = [products[np.ix_(source == k, source == k)].sum() for k in range(len(encoder.kinds_))]
    return np.sqrt(np.maximum(variance, 0.0))


def by_size(values: ArrayLike) -> IntArray:
    """Return the indices of values by decreasing absolute value.

    Examples
    --------
    >>> by_size([1.0, -3.0, 0.0, 2.0])
    array([1, 3, 0, 2])
    """
    return np.argsort(-np.abs(np.asarray(values, dtype=np.float64)), kind="stable")


class LargestParts(NamedTuple):
    """The largest terms of a sum: their indices, and the sum and the number of the others."""

    shown: IntArray
    rest: float
    n_others: int


def largest_parts(parts: ArrayLike, count: int) -> LargestParts:
    """Return up to `count` nonzero terms of a sum, the largest first, and the sum of the others.

    Examples
    --------
    >>> largest_parts([1.0, -3.0, 0.0, 2.0, 0.5], 2)
    LargestParts(shown=array([1, 3]), rest=1.5, n_others=2)
    """
    array = np.asarray(parts, dtype=np.float64)
    order = by_size(array)
    order = order[array[order] != 0]
    return LargestParts(order[:count], float(array[order[count:]].sum()), len(order[count:]))
