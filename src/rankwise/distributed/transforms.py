"""Steps of a pipeline fitted to rows on Dask, from sums, extremes and counts of the partitions.

A fitted step is the ordinary one. A step with private state is fitted to a few rows that have the statistics
of all rows, by scikit-learn's public interface.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce, singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from rankwise.core.checks import is_missing
from rankwise.core.types import FloatArray, FloatVector
from rankwise.curves.features import CurveFeatures
from rankwise.data.dates import frame_columns
from rankwise.distributed.curve_columns import BlockColumns, summaries, take_table
from rankwise.distributed.order_statistics import exact_medians
from rankwise.distributed.row_blocks import RowBlocks, framed
from rankwise.preprocessing import QueryScaler, TableEncoder

KNOWN = (
    "StandardScaler, MinMaxScaler, MaxAbsScaler, SimpleImputer, OneHotEncoder, OrdinalEncoder, "
    "ColumnTransformer, TableEncoder, QueryScaler and CurveFeatures"
)


@singledispatch
def fit_step(step: Any, rows: RowBlocks, has_queries: bool = False) -> None:
    """Fit a step to rows on Dask; refuse kinds of steps that need all rows in one place.

    `has_queries` says whether rows have queries; only `QueryScaler` needs to know.
    """
    if not step.__sklearn_tags__().requires_fit:
        step.fit(rows.sample)
        return
    raise ValueError(
        f"{type(step).__name__} cannot be fitted to rows on Dask, as {KNOWN} can. Fit it in memory to a "
        "sample of the rows, and put sklearn.frozen.FrozenEstimator(step) into the pipeline."
    )


@fit_step.register
def _frozen(step: FrozenEstimator, rows: RowBlocks, has_queries: bool = False) -> None:
    """Leave a fitted step as it is."""


@fit_step.register
def _query_scaler(step: QueryScaler, rows: RowBlocks, has_queries: bool = False) -> None:
    step.fit(rows.sample, qid=np.zeros(rows.sample.shape[0]) if has_queries else None)


@fit_step.register
def _standard_scaler(step: StandardScaler, rows: RowBlocks, has_queries: bool = False) -> None:
    """Merge the means and variances of the blocks (Chan, Golub and LeVeque 1983)."""
    parts = rows.each(_moments, clone(step))
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore")  # of a row with missing values
        step.fit(rows.sample)
    n = np.array([np.broadcast_to(part[2], rows.n_features) for part in parts])
    total = n.sum(axis=0)
    if step.mean_ is not None:
        step.mean_, variance = _merged_moments(n, [part[0] for part in parts], [part[1] for part in parts])
        if step.with_std:
            step.var_ = variance
            step.scale_ = _standard_scale(step.var_, step.mean_, total)
    step.n_samples_seen_ = total[0] if (total == total[0]).all() else total


def _moments(rows: Any, step: StandardScaler) -> tuple[Any, Any, Any]:
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore")  # of a column without values in this block
        step = clone(step).fit(rows)
    return step.mean_, step.var_, step.n_samples_seen_


def _merged_moments(n: FloatArray, means: Any, variances: Any) -> tuple[FloatVector, FloatVector]:
    """Return the means and variances of all rows from those of n rows each, per column."""
    filled = np.where(n > 0, np.array(means, dtype=np.float64), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Deviations from the first mean lose no digits if all rows lie far from zero.
        origin = filled[np.argmax(n > 0, axis=0), np.arange(n.shape[1])]
        shift = np.where(n > 0, filled - origin, 0.0)
        mean_shift = (n * shift).sum(axis=0) / n.sum(axis=0)
        within = 0.0
        if variances[0] is not None:
            within = (n * np.where(n > 0, np.array(variances, dtype=np.float64), 0.0)).sum(axis=0)
        between = (n * np.where(n > 0, shift - mean_shift, 0.0) ** 2).sum(axis=0)
        return origin + mean_shift, (within + between) / n.sum(axis=0)


def _standard_scale(variance: FloatVector, mean: FloatVector, n: Any) -> FloatVector:
    """Return the standard deviations; 1 for those at the level of rounding errors, as in scikit-learn."""
    eps = np.finfo(np.float64).eps
    constant = variance <= n * eps * variance + (n * mean * eps) ** 2
    return np.where(constant, 1.0, np.sqrt(variance))


@fit_step.register(MinMaxScaler)
@fit_step.register(MaxAbsScaler)
def _extremes(step: Any, rows: RowBlocks, has_queries: bool = False) -> None:
    """Fit a scaler to the rows of the extremes of the blocks."""
    lowest, highest = rows.reduced(_block_extremes, _merged_extremes, clone(step))
    step.fit(like(np.stack([lowest, highest]), rows.sample))
    step.n_samples_seen_ = rows.n_rows


def _block_extremes(rows: Any, step: Any) -> tuple[FloatVector, FloatVector]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a column without values in this block
        step = clone(step).fit(rows)
    if hasattr(step, "max_abs_"):
        return -step.max_abs_, step.max_abs_
    return step.data_min_, step.data_max_


def _merged_extremes(parts: Sequence[tuple[FloatVector, FloatVector]]) -> tuple[FloatVector, FloatVector]:
    lowest, highest = zip(*parts, strict=True)
    return reduce(np.fmin, lowest), reduce(np.fmax, highest)


@fit_step.register
def _imputer(step: SimpleImputer, rows: RowBlocks, has_queries: bool = False) -> None:
    """Fit an imputer to two rows: the statistics of all rows, and the same with gaps."""
    gaps = _Gaps(step.missing_values)
    if step.strategy not in ("mean", "median", "most_frequent", "constant"):
        raise ValueError(
            "SimpleImputer cannot be fitted to rows on Dask with a function as its strategy; use 'mean', "
            "'median', 'most_frequent' or 'constant'."
        )
    counts = rows.reduced(gaps.counts, _added)
    n_missing, n_known = counts[0], rows.n_rows - counts[0]
    if step.strategy == "mean":
        with np.errstate(invalid="ignore"):
            statistics = _merged_means(rows.each(gaps.means))
    elif step.strategy == "median":
        statistics = np.array(list(exact_medians(rows, gaps.numbers).values()))
    elif step.strategy == "most_frequent":
        statistics = _most_frequent(rows.reduced(gaps.frequencies, _merged_frequencies))
    else:
        statistics = np.zeros(rows.n_features)
    both = np.stack([statistics, statistics])
    both[:, n_known == 0] = step.missing_values
    both[1, n_missing > 0] = step.missing_values
    step.fit(like(both, rows.sample))


class _Gaps:
    """The columns of a block by what an imputer takes as missing."""

    def __init__(self, missing_values: Any):
        self.missing_values = missing_values

    def numbers(self, rows: Any) -> dict[int, FloatVector]:
        """Return the columns as numbers, NaN for missing values."""
        found = {}
        for place, column in enumerate(columns_of(rows)):
            x = np.asarray(column, dtype=np.float64)
            found[place] = (
                x if is_missing(self.missing_values) else np.where(x == self.missing_values, np.nan, x)
            )
        return found

    def counts(self, rows: Any) -> FloatArray:
        """Return the number of missing values of each column."""
        return np.array([[self._missing(column).sum() for column in columns_of(rows)]])

    def means(self, rows: Any) -> tuple[FloatVector, FloatVector]:
        """Return the number of known values of each column and their mean."""
        known = [x[~np.isnan(x)] for x in self.numbers(rows).values()]
        return np.array([len(x) for x in known]), np.array([x.mean() if len(x) else 0.0 for x in known])

    def frequencies(self, rows: Any) -> list[dict[Any, int]]:
        """Return how often each value of a column occurs."""
        found = []
        for column in columns_of(rows):
            values, counts = np.unique(column[~self._missing(column)], return_counts=True)
            found.append(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        return found

    def _missing(self, column: Any) -> Any:
        if not is_missing(self.missing_values):
            return column == self.missing_values
        if column.dtype.kind == "f":
            return np.isnan(column)
        return np.array([is_missing(value) for value in column.tolist()], dtype=bool)


def _added(parts: Sequence[Any]) -> Any:
    return np.sum(parts, axis=0)


def _merged_means(parts: Sequence[tuple[FloatVector, FloatVector]]) -> FloatVector:
    n, means = (np.array(part) for part in zip(*parts, strict=True))
    return _merged_moments(n, means, [None])[0]


def _merged_frequencies(parts: Sequence[list[dict[Any, int]]]) -> list[dict[Any, int]]:
    merged: list[dict[Any, int]] = [{} for _ in parts[0]]
    for part in parts:
        for total, counts in zip(merged, part, strict=True):
            for value, count in counts.items():
                total[value] = total.get(value, 0) + count
    return merged


def _most_frequent(frequencies: list[dict[Any, int]]) -> Any:
    """Return the most frequent value of each column, of equally frequent ones the lowest."""
    found = [min(counts, key=lambda value: (-counts[value], value), default=np.nan) for counts in frequencies]
    return np.array(found, dtype=object if any(isinstance(value, str) for value in found) else None)


@fit_step.register(OneHotEncoder)
@fit_step.register(OrdinalEncoder)
def _encoder(step: Any, rows: RowBlocks, has_queries: bool = False) -> None:
    """Fit an encoder to rows in which each category of a column occurs."""
    if step.min_frequency is not None or step.max_categories is not None:
        raise ValueError(
            f"{type(step).__name__} cannot be fitted to rows on Dask with min_frequency or max_categories."
        )
    levels = rows.reduced(_distinct, _merged_distinct)
    longest = max(map(len, levels))
    columns = [list(found) + [next(iter(found))] * (longest - len(found)) for found in levels]
    if hasattr(rows.sample, "columns"):
        import pandas as pd

        step.fit(pd.DataFrame(dict(zip(rows.feature_names or rows.sample.columns, columns, strict=True))))
        return
    kind = object if any(isinstance(value, str) for column in columns for value in column) else None
    step.fit(np.array(columns, dtype=kind).T)


def _distinct(rows: Any) -> list[dict[Any, None]]:
    """Return the values of each column that occur; a missing value occurs once."""
    return [
        {np.nan if isinstance(value, float) and np.isnan(value) else value: None for value in column.tolist()}
        for column in columns_of(rows)
    ]


def _merged_distinct(parts: Sequence[list[dict[Any, None]]]) -> list[dict[Any, None]]:
    merged: list[dict[Any, None]] = [{} for _ in parts[0]]
    for part in parts:
        for total, found in zip(merged, part, strict=True):
            total |= {np.nan if value != value else value: None for value in found}
    return merged


@fit_step.register
def _table_encoder(step: TableEncoder, rows: RowBlocks, has_queries: bool = False) -> None:
    step.fit(rows.sample)  # stores the columns
    step.fit_summaries(summaries(rows, step))
    for place, median in exact_medians(rows, _encoder_numbers, step).items():
        step.medians_[place] = 0.0 if np.isnan(median) else median


def _encoder_numbers(rows: Any, step: TableEncoder) -> dict[int, FloatVector]:
    return step.numbers(rows)


@fit_step.register
def _curve_features(step: CurveFeatures, rows: RowBlocks, has_queries: bool = False) -> None:
    step.check_parameters()
    take_table(step, rows)
    step.fit_columns(BlockColumns(step, rows))


def like(values: Any, sample: Any) -> Any:
    """Return rows as a frame or a sparse matrix if the sample is one."""
    if hasattr(sample, "columns"):
        return framed(values, list(sample.columns))
    if values.dtype.kind == "f" and sample.dtype.kind == "f":
        values = values.astype(sample.dtype)
    return sp.csr_matrix(values) if sp.issparse(sample) else values


def columns_of(rows: Any) -> list[Any]:
    """Return the columns of a block as arrays."""
    if hasattr(rows, "columns"):
        return [np.asarray(column.to_numpy()) for column in frame_columns(rows)]
    if sp.issparse(rows):
        by_column = sp.csc_array(rows)
        return [by_column[:, [place]].toarray().ravel() for place in range(rows.shape[1])]
    return list(np.asarray(rows).T)
