"""Curves on Dask: each block becomes the entries of its rows, on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, FloatVector
from rankwise.curves.axis import Axis
from rankwise.curves.columns import MemoryColumns
from rankwise.curves.features import CurveFeatures
from rankwise.curves.ranker import CurveMap
from rankwise.data.design import Design
from rankwise.data.frames import validated_numbers
from rankwise.data.product import ProductDesign
from rankwise.data.shared_passes import SharedPasses
from rankwise.distributed.blocks import Description, row_copies
from rankwise.distributed.design import DaskDesign
from rankwise.distributed.engine import Engine, Pinned, PinnedRows
from rankwise.distributed.row_blocks import RowBlocks, as_rows, even_share


class SampledColumns(MemoryColumns):
    """The columns of a sample of `n_rows` rows."""

    def __init__(self, X: FloatArray, n_rows: int):
        super().__init__(X)
        self._factor = n_rows / len(X)

    def counts(self, axes: list[Axis]) -> list[FloatVector]:
        """Return the number of rows per entry of the axis of each feature, as the sample tells."""
        return [self._factor * counts for counts in super().counts(axes)]


class CurveTable:
    """Rows on Dask for `CurveRanker`, with words and missing values.

    Bins and categories are those of 100,000 rows that are spread evenly over all partitions, or of all rows
    if there are no more.

    Parameters
    ----------
    X : Dask array or dataframe, list of partitions, or Partitions
    model : CurveRanker
        It keeps the names and the categories of the columns.
    reset : bool
        Whether these are stored; otherwise they are those of the fit.
    """

    location = DaskDesign.location

    def __init__(self, X: Any, model: Any, reset: bool = True):
        self.rows = RowBlocks.of(X)
        self._chosen = even_share(self.rows.n_rows)
        # Rows that are only scored need none.
        self._sample = (
            validated_numbers(model, self.rows.sampled(self._chosen), reset=True) if reset else None
        )
        self.reader = reader_of(model)
        self.shape = (self.rows.n_rows, self.rows.n_features)
        self.feature_names = self.rows.feature_names
        self.log = self.rows.engine.log

    @property
    def passes(self) -> SharedPasses:
        """The passes that fits to some of the rows share."""
        from rankwise.distributed.curve_folds import CurvePasses

        return CurvePasses(self)

    def columns(self, weighs: NDArray[np.bool_]) -> SampledColumns:
        """Return the columns of some of the rows, of which those in the sample stand for all."""
        assert self._sample is not None, "rows to learn from"
        known = self._sample[weighs[self._chosen]]
        return SampledColumns(known if len(known) else self._sample, int(weighs.sum()))

    def design(self, curves: CurveMap, n_designs: int = 1) -> CurveDesign:
        """Return the rows as a design of the weights of curves; the blocks stay on the workers.

        Without a client they stay in memory if `n_designs` of them take at most a quarter of what is free,
        and are made again in every round otherwise.
        """
        rows, engine = self.rows, self.rows.engine
        shared = (self.reader, CurveMap(curves.features, curves.directions))

        def make() -> list[Any]:
            sent = [[engine.broadcast(value)] * len(rows.handles) for value in shared]
            return engine.map(curve_block, rows.handles, *sent)

        n_entries = rows.n_features + len(curves.features.pairs_)
        fits = engine.can_persist(12.0 * rows.n_rows * n_entries * n_designs)
        held = Pinned(engine, make) if fits else PinnedRows(engine, make())
        empty = curve_block(np.empty((0, rows.n_features)), self.reader, curves)
        shapes = [Description(length, empty.shape[1], length * n_entries, "") for length in rows.lengths]
        return CurveDesign(engine, held, shapes, empty)

    def cell_sums(self, axes: list[Axis], weights: Sequence[FloatVector]) -> list[FloatArray]:
        """Return the sums of weights over the rows in each pair of bins."""
        from rankwise.distributed.curve_folds import CurveRounds

        return CurveRounds(self).cell_sums([(axes, weights)])[0]

    def scores(self, curves: CurveMap, coef: FloatArray) -> FloatArray:
        """Score rows by several functions, given by their entries: shape (n_rows, n_functions)."""
        rows, engine = self.rows, self.rows.engine
        shared = (self.reader, CurveMap(curves.features, curves.directions), coef)

        def send() -> list[Any]:
            sent = [[engine.broadcast(value)] * len(rows.handles) for value in shared]
            return engine.map(block_scores, rows.handles, *sent)

        return np.concatenate(engine.execute(send))


class CurveDesign(DaskDesign):
    """A design of the weights of curves, in blocks on the workers.

    Parameters
    ----------
    engine, rows, descriptions :
        As for `DaskDesign`.
    empty : CurveBlock
        A block without rows.
    """

    def __init__(
        self, engine: Engine, rows: Pinned, descriptions: Sequence[Description], empty: CurveBlock
    ) -> None:
        super().__init__(engine, rows, descriptions)
        self._empty = empty

    def _with_blocks(self, held: Pinned, shapes: list[Description]) -> Design:
        return CurveDesign(self.engine, held, shapes, self._empty)

    def column_scale(self) -> FloatVector:
        """Return a bound of the absolute values of each column, which does not depend on the rows."""
        return self._empty.column_scale()

    def fetched(self, rows: Any) -> Design:
        """Bring the entries of some rows to the driver."""
        parts = self.engine.execute(lambda: self.engine.map(row_copies, self.handles, rows()))
        return self._empty.with_entries(sp.csr_array(sp.vstack(parts, format="csr")))

    def normal_equations(self, loss: Any) -> tuple[FloatVector, FloatVector]:
        """Return X'L X and X'r of least squares, from products."""
        return Design.normal_equations(self, loss)


class CurveBlock(ProductDesign):
    """The rows of one block; `X` has their entries, as other blocks have their rows."""

    def __init__(self, entries: Any, coding: Any, n_threads: int = 1, tables: Sequence[Any] = ()) -> None:
        super().__init__(entries, coding, n_threads, tables)
        self.X = entries

    def with_entries(self, entries: Any) -> CurveBlock:
        """Return other rows, given by their entries."""
        return CurveBlock(entries, self.coding, self.n_threads, self.tables)

    def take(self, rows: NDArray[np.int64]) -> CurveBlock:
        """Return the design of some of the rows, copied."""
        return self.with_entries(self.entries[rows])

    def look_up(self, values: FloatVector) -> FloatVector:
        """Return the scores of the rows by the entries of all tables.

        The order of the sum is that of rows in memory, so that scores that are equal there are equal here.
        """
        return self.entries @ values


def curve_block(rows: Any, reader: CurveFeatures, curves: CurveMap) -> CurveBlock:
    """Return a block of rows as a design of the weights of curves."""
    X = validated_block(rows, reader)
    design = CurveMap(curves.features, curves.directions).design(X)
    return CurveBlock(design.entries, design.coding, 1, design.tables)


def reader_of(estimator: Any) -> CurveFeatures:
    """Return a copy that holds only the column metadata; it is sent to the workers to read rows."""
    reader = CurveFeatures()
    for name in ("n_features_in_", "feature_names_in_", "categories_"):
        if hasattr(estimator, name):
            setattr(reader, name, getattr(estimator, name))
    return reader


def validated_block(rows: Any, reader: CurveFeatures) -> FloatArray:
    """Return a block as numbers, NaN for missing values."""
    if rows.shape[0] == 0:
        return np.empty((0, reader.n_features_in_))
    return validated_numbers(reader, as_rows(rows), reset=False)


def block_scores(rows: Any, reader: CurveFeatures, curves: CurveMap, coef: FloatArray) -> FloatArray:
    """Return the scores of a block."""
    return curves.scores(validated_block(rows, reader), coef)
