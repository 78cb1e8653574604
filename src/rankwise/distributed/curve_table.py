"""Curves on Dask: each block becomes the entries of its rows, on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, FloatVector
from rankwise.curves.axis import Axis
from rankwise.curves.features import CurveFeatures
from rankwise.curves.ranker import CurveMap
from rankwise.curves.screen import cell_sums
from rankwise.data.categories import validated_numbers
from rankwise.data.product import ProductDesign
from rankwise.distributed.blocks import describe
from rankwise.distributed.curve_columns import BlockColumns, reader_of, take_table
from rankwise.distributed.design import DaskDesign
from rankwise.distributed.engine import Pinned, PinnedRows
from rankwise.distributed.row_blocks import RowBlocks, as_rows


class CurveTable:
    """Rows on Dask for `CurveRanker`, with words and missing values.

    Parameters
    ----------
    X : Dask array or dataframe, list of partitions, or Partitions
    model : CurveRanker
        It keeps the names and the categories of the columns.
    """

    def __init__(self, X: Any, model: Any):
        self.rows = RowBlocks.of(X)
        take_table(model, self.rows)
        self.reader = reader_of(model)
        self.shape = (self.rows.n_rows, self.rows.n_features)
        self.feature_names = self.rows.feature_names
        self.log = self.rows.engine.log

    def columns(self, weighs: NDArray[np.bool_]) -> BlockColumns:
        """Return the columns of some of the rows."""
        return BlockColumns(self.reader, self.rows.where(weighs))

    def design(self, curves: CurveMap) -> DaskDesign:
        """Return the rows as a design of the weights of curves; the blocks stay on the workers.

        Without a client they stay in memory if they take at most a quarter of what is free, and are made
        again in every round otherwise.
        """
        rows, engine = self.rows, self.rows.engine
        n_blocks = len(rows.handles)
        sent = engine.broadcast(CurveMap(curves.features, curves.directions))
        readers = [engine.broadcast(self.reader)] * n_blocks

        def make() -> list[Any]:
            return engine.map(curve_block, rows.handles, readers, [sent] * n_blocks)

        n_entries = rows.n_rows * (rows.n_features + len(curves.features.pairs_))
        held = Pinned(engine, make) if engine.can_persist(12.0 * n_entries) else PinnedRows(engine, make())
        descriptions = engine.execute(lambda: engine.map(describe, held.handles))
        return DaskDesign(engine, held, descriptions)

    def cell_sums(self, axes: list[Axis], weights: Sequence[FloatVector]) -> list[FloatArray]:
        """Return the sums of weights over the rows in each pair of bins."""
        rows, engine = self.rows, self.rows.engine
        parts = rows.slices(np.column_stack(list(weights)))
        shared = [[engine.broadcast(value)] * len(parts) for value in (self.reader, axes)]

        def send() -> list[Any]:
            return engine.map(block_cell_sums, rows.handles, *shared, engine.scatter(parts, rows.handles))

        return [np.sum(sums, axis=0) for sums in zip(*engine.execute(send), strict=True)]


class CurveBlock(ProductDesign):
    """The rows of one block; `X` has their entries, as other blocks have their rows."""

    def __init__(self, entries: Any, coding: Any, n_threads: int = 1, tables: Sequence[Any] = ()) -> None:
        super().__init__(entries, coding, n_threads, tables)
        self.X = entries

    def take(self, rows: NDArray[np.int64]) -> CurveBlock:
        """Return the design of some of the rows, copied."""
        return CurveBlock(self.entries[rows], self.coding, self.n_threads, self.tables)


def curve_block(rows: Any, reader: CurveFeatures, curves: CurveMap) -> CurveBlock:
    """Return a block of rows as a design of the weights of curves."""
    X = validated_block(rows, reader)
    design = CurveMap(curves.features, curves.directions).design(X)
    return CurveBlock(design.entries, design.coding, 1, design.tables)


def validated_block(rows: Any, reader: CurveFeatures) -> FloatArray:
    """Return a block as numbers, NaN for missing values."""
    if rows.shape[0] == 0:
        return np.empty((0, reader.n_features_in_))
    return validated_numbers(reader, as_rows(rows), reset=False)


def block_cell_sums(rows: Any, reader: CurveFeatures, axes: list[Axis], weights: FloatArray) -> Any:
    """Return the sums of a block."""
    X = validated_block(rows, reader)
    return cell_sums([axis.codes(x) for axis, x in zip(axes, X.T, strict=True)], axes, list(weights.T))
