"""A baseline for a model: the best order of the rows by a single feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.core.types import FloatArray, IntArray
from rankwise.data.columns import BOOLEAN, NUMBER, is_frame, kind_of, numbers_of
from rankwise.data.frames import frame_columns
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured, Metric, Scored, evaluated, first_measure, mean_defined
from rankwise.evaluation.names import feature_names
from rankwise.preferences import NoPairsError

# The numbers of features and of entries that are tried: of more, the features with the most nonzero values,
# on a random sample of queries.
MOST_FEATURES, MOST_ENTRIES = 300, 2_000_000


@dataclass(frozen=True)
class SingleFeature:
    """The feature that orders the rows best on its own.

    Attributes
    ----------
    name : str
    is_reversed : bool
        Whether the lowest value comes first.
    found : Measured
        The fraction of pairs as the main model has it, on the same rows that the feature was chosen on.
    """

    name: str
    is_reversed: bool
    found: Measured


def best_single_feature(data: EvaluationData, seed: int = 0) -> SingleFeature | None:
    """Return the feature that orders most pairs, in either direction; None if no feature is a number.

    The choice is by the labels of these rows, so the fraction is optimistic.

    Cost: O(m log m) per feature, up to limits.
    """
    scored = data.scored()
    metric = first_measure(scored)
    names = feature_names(data.X, data.models[data.name], data.feature_names, data.X.shape[1])
    columns = numeric_columns(data.X, names)
    rows = _sample(data, len(columns), seed)
    of_columns = replace(scored, scores={name: values[data.row_numbers] for name, values in columns})
    errors = _errors(of_columns if rows is None else of_columns[rows], metric)
    defined = {name: error for name, error in errors.items() if error == error}
    if not defined:
        return None
    name = max(defined, key=lambda one: abs(defined[one] - 0.5))
    is_reversed = defined[name] > 0.5
    values = of_columns.scores[name]
    chosen = replace(scored, scores={name: -values if is_reversed else values})
    return SingleFeature(name, is_reversed, evaluated(chosen, [metric])[name][0])


def numeric_columns(X: Any, names: Sequence[str]) -> list[tuple[str, FloatArray]]:
    """Return the columns of numbers with their names; missing values are the mean of their column.

    Examples
    --------
    >>> numeric_columns(np.array([[1.0, np.nan], [2.0, 5.0]]), ["a", "b"])
    [('a', array([1., 2.])), ('b', array([5., 5.]))]
    """
    if is_frame(X):
        kinds = [
            (name, column, kind_of(column)) for name, column in zip(names, frame_columns(X), strict=True)
        ]
        return [
            (name, _filled(numbers_of(column, kind)))
            for name, column, kind in kinds
            if kind in (NUMBER, BOOLEAN)
        ]
    matrix = X.tocsc() if sp.issparse(X) else np.asarray(X)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iufb":
        return []
    return [(names[k], _filled(_column(matrix, k))) for k in _fullest(matrix).tolist()]


def _fullest(matrix: Any) -> IntArray:
    """Return all columns or, of many, those with the most nonzero values."""
    if matrix.shape[1] <= MOST_FEATURES:
        return np.arange(matrix.shape[1])
    counts = np.diff(matrix.indptr) if sp.issparse(matrix) else np.count_nonzero(matrix, axis=0)
    return np.sort(np.argsort(-counts, kind="stable")[:MOST_FEATURES])


def _column(matrix: Any, place: int) -> FloatArray:
    column = matrix[:, [place]].toarray().ravel() if sp.issparse(matrix) else matrix[:, place]
    return np.asarray(column, dtype=np.float64)


def _filled(values: FloatArray) -> FloatArray:
    missing = ~np.isfinite(values)
    if not missing.any():
        return values
    return np.where(missing, values[~missing].mean() if not missing.all() else 0.0, values)


def _sample(data: EvaluationData, n_features: int, seed: int) -> IntArray | None:
    """Return the rows of random queries, or random rows of one ranking; None for all rows."""
    room = MOST_ENTRIES // max(1, n_features)
    if len(data.y) <= room:
        return None
    generator = np.random.default_rng(seed)
    if data.n_queries == 1:
        return np.sort(generator.choice(len(data.y), room, replace=False))
    order = generator.permutation(data.n_queries)
    fits = np.cumsum(data.query_sizes[order]) <= room
    return np.flatnonzero(np.isin(data.query, order[: max(1, int(fits.sum()))]))


def _errors(scored: Scored, metric: Metric) -> dict[str, float]:
    """Return the fraction of pairs in the wrong order of each column, the mean over queries."""
    try:
        means = {name: mean_defined(values) for name, (values,) in scored.values([metric]).items()}
    except NoPairsError:
        return {}
    return {name: 1.0 - mean if metric.higher_is_better else mean for name, mean in means.items()}
