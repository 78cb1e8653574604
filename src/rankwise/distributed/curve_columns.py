"""The columns of rows on Dask as the bins of curves see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.curves.axis import Axis
from rankwise.curves.columns import levels_of
from rankwise.curves.features import CurveFeatures
from rankwise.data.categories import validated_numbers
from rankwise.data.tally import Tally
from rankwise.distributed.order_statistics import column_tallies
from rankwise.distributed.row_blocks import RowBlocks
from rankwise.preprocessing import TableEncoder
from rankwise.preprocessing.column_summary import ColumnSummary, merged_summary


def take_table(estimator: Any, rows: RowBlocks) -> None:
    """Store the columns and the categories of rows in an estimator that takes words."""
    validated_numbers(estimator, rows.sample, reset=True)
    if hasattr(rows.sample, "columns"):
        encoder = TableEncoder().fit(rows.sample)
        encoder.fit_summaries(summaries(rows, encoder))
        estimator.categories_ = dict(encoder.categories_)


def summaries(rows: RowBlocks, encoder: TableEncoder) -> list[ColumnSummary]:
    """Return the kind, the levels and the gaps of each column."""
    parts = rows.each(_summaries, encoder)
    return [merged_summary(column) for column in zip(*parts, strict=True)]


def _summaries(rows: Any, encoder: TableEncoder) -> list[ColumnSummary]:
    return encoder.summaries(rows)


def reader_of(estimator: Any) -> CurveFeatures:
    """Return an estimator that knows the columns of another one, and no more: workers read rows by it."""
    reader = CurveFeatures()
    for name in ("n_features_in_", "feature_names_in_", "categories_"):
        if hasattr(estimator, name):
            setattr(reader, name, getattr(estimator, name))
    return reader


def read_columns(rows: Any, reader: CurveFeatures, places: Sequence[int] | None = None) -> dict[int, Any]:
    """Return the columns of a block as numbers, by place, NaN for missing values."""
    X = validated_numbers(reader, rows, reset=False)
    return {place: X[:, place] for place in (range(X.shape[1]) if places is None else places)}


class BlockColumns:
    """The columns of rows on Dask, for `CurveFeatures`.

    Quantiles are exact up to `EXACT_ROWS` rows and for columns of up to `MOST_VALUES` distinct values; else
    they are those of a sketch (see `order_statistics`).

    Parameters
    ----------
    estimator : CurveFeatures or CurveRanker
        With the names and categories of the columns.
    rows : RowBlocks
    """

    def __init__(self, estimator: Any, rows: RowBlocks):
        self.rows = rows
        self.reader = reader_of(estimator)
        self._tallies: dict[int, Tally] | None = None

    def tally(self, place: int) -> Tally:
        """Return the values of a numeric feature and their counts, or a sketch of them."""
        if self._tallies is None:  # one round for all features
            self._tallies = self._counted()
        return self._tallies[place]

    def levels(self, place: int) -> FloatVector:
        """Return all distinct values of a feature of categories."""
        tally = self.tally(place)
        if not tally.exact:
            tally = self._counted([place], most=None)[place]
        return levels_of(tally)

    def counts(self, axes: list[Axis]) -> list[FloatVector]:
        """Return the number of rows per entry of the axis of each feature."""
        return self.rows.reduced(_axis_counts, added, self.reader, axes)

    def _counted(self, places: Sequence[int] | None = None, most: Any = "auto") -> dict[int, Tally]:
        """Return the tallies of some features, by default all, in one round."""
        return column_tallies(self.rows, read_columns, self.reader, places, most=most)


def _axis_counts(rows: Any, reader: CurveFeatures, axes: list[Axis]) -> list[FloatVector]:
    columns = read_columns(rows, reader)
    return [axis.counts(columns[place]) for place, axis in enumerate(axes)]


def added(parts: Sequence[list[FloatVector]]) -> list[FloatVector]:
    """Return the sums over blocks of lists of arrays."""
    return [np.sum(counts, axis=0) for counts in zip(*parts, strict=True)]
