"""Rows in partitions as they were given, with words and gaps, for the steps before a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.columns import require_same_columns
from rankwise.core.text import plural
from rankwise.data.design import Design
from rankwise.data.frames import framed
from rankwise.data.row_parts import some_rows, stacked
from rankwise.distributed.blocks import names_of
from rankwise.distributed.client import current_client, current_engine
from rankwise.distributed.collections import Partitions, as_partitions
from rankwise.distributed.engine import FAN_IN, Engine, PinnedRows

# A sample of this many rows determines a mean to .3% of a standard deviation, and quantiles alike.
SAMPLE_ROWS = 100_000


class BlockShape(NamedTuple):
    """The shape of a block, the names of its columns if it has some, and its first row."""

    n_rows: int
    n_features: int
    feature_names: list[str] | None
    first: Any


class RowBlocks:
    """Blocks of rows: arrays, sparse matrices or frames.

    Attributes
    ----------
    engine : Engine
    handles : list
        One handle per block.
    lengths : list of int
    sample : array, sparse matrix or frame
        The first row of all, which has the columns and their types.
    feature_names : list of str or None
    kept : sequence of arrays or sparse matrices, optional
        The blocks in the driver, or functions of these that are computed on demand, which are sent again if a
        worker is lost.
    """

    def __init__(self, engine: Engine, handles: list[Any], lengths: list[int], sample: Any, kept: Any = None):
        self.engine, self.handles, self.lengths, self.sample = engine, handles, lengths, sample
        self.kept = kept
        self.borders = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    @classmethod
    def of(cls, X: Any) -> Self:
        """Load a Dask collection; without a client, only find the shapes of its blocks."""
        partitions, engine = as_partitions(X), current_engine()
        handles = engine.map(as_rows, loaded(partitions))
        engine.restore = PinnedRows(engine, handles, partitions.kept).restore
        shapes = engine.execute(lambda: engine.map(shape_of, handles))
        check_shapes(shapes)
        sample = next((shape.first for shape in shapes if shape.n_rows), None)
        if sample is None:
            raise ValueError("X has no rows.")
        return cls(engine, handles, [shape.n_rows for shape in shapes], sample, partitions.kept)

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks."""
        return int(self.borders[-1])

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.sample.shape[1])

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns of frames."""
        return names_of(self.sample)

    def slices(self, column: NDArray[Any] | None) -> list[Any]:
        """Split a column with one entry per row by block; None for each block without a column."""
        if column is None:
            return [None] * len(self.lengths)
        if len(column) != self.n_rows:
            raise ValueError(f"X has {plural(self.n_rows, 'row')}, but a column beside it has {len(column)}.")
        return [column[begin:end] for begin, end in pairwise(self.borders)]

    def each(self, function: Callable[..., Any], *shared: Any) -> list[Any]:
        """Return a function of every block that has rows, with shared arguments, in one round."""
        return self.engine.execute(lambda: self._mapped(function, shared))

    def reduced(
        self,
        function: Callable[..., Any],
        merge: Callable[..., Any],
        *shared: Any,
        column: NDArray[Any] | None = None,
    ) -> Any:
        """Return the results of a function of every block with rows, merged in a tree on the workers.

        `merge` takes a list of results and returns one. `column` has one entry per row; the function gets
        those of the block after the block.
        """

        def send() -> list[Any]:
            handles = self._mapped(function, shared, column)
            while len(handles) > 1:
                groups = [handles[start : start + FAN_IN] for start in range(0, len(handles), FAN_IN)]
                handles = self.engine.map(merge, groups)
            return handles

        return self.engine.execute(send)[0]

    @property
    def n_levels(self) -> int:
        """The number of levels of the tree of `reduced`, including its leaves."""
        n_blocks, n_levels = sum(length > 0 for length in self.lengths), 1
        while n_blocks > 1:
            n_blocks, n_levels = -(-n_blocks // FAN_IN), n_levels + 1
        return n_levels

    def mapped(
        self, function: Callable[..., Any], sample: Any, shared: Any, columns: Sequence[Any] | None = None
    ) -> RowBlocks:
        """Return the blocks of a function of block, first row of the result, and a shared argument.

        `sample` is that first row; blocks without rows become its columns without rows. `columns` has a
        further argument for each block.
        """
        n_blocks = len(self.handles)
        columns = [None] * n_blocks if columns is None else columns
        sent = [[self.engine.broadcast(value)] * n_blocks for value in (sample, shared)]
        handles = self.engine.map(partial(on_rows, function), self.handles, *sent, columns)
        kept = None
        if self.kept is not None:
            kept = Copies(self.kept, lambda k, rows: function(rows, sample, shared, columns[k]))
        return RowBlocks(self.engine, handles, self.lengths, sample, kept)

    def where(self, chosen: NDArray[np.bool_]) -> RowBlocks:
        """Return some of the rows."""
        if chosen.all():
            return self
        parts = self.slices(chosen)
        handles = self.engine.map(partial(on_rows, taken_rows), self.handles, parts)
        return RowBlocks(self.engine, handles, [int(part.sum()) for part in parts], self.sample)

    def sampled(self, chosen: NDArray[np.bool_]) -> Any:
        """Return some of the rows, in the driver."""
        return stacked(self.where(chosen).each(_itself))

    def partitions(self) -> Partitions:
        """Return the blocks as rows of a model."""
        from rankwise.distributed.blocks import as_block

        blocks = self.engine.map(as_block, self.handles)
        return Partitions(blocks, self.lengths, self.feature_names, kept=self.kept, loaded=True)

    def _mapped(
        self, function: Callable[..., Any], shared: Sequence[Any], column: NDArray[Any] | None = None
    ) -> list[Any]:
        filled = [handle for handle, length in zip(self.handles, self.lengths, strict=True) if length]
        columns = [[self.engine.broadcast(value)] * len(filled) for value in shared]
        if column is not None:
            parts = [part for part in self.slices(column) if len(part)]
            columns = [self.engine.scatter(parts, filled), *columns]
        return self.engine.map(partial(on_rows, function), filled, *columns)


class Copies:
    """Functions of the blocks that the driver keeps, computed when they are asked for."""

    def __init__(self, blocks: Any, function: Callable[[int, Any], Any]):
        self._blocks, self._function = blocks, function

    def __getitem__(self, number: int) -> Any:
        return self._function(number, self._blocks[number])


def loaded(partitions: Partitions) -> list[Any]:
    """Return one handle per partition, on the workers of the current client if there is one."""
    client = current_client()
    if partitions.loaded or client is None:
        return list(partitions.blocks)
    return list(client.compute(list(partitions.blocks)))


def as_rows(block: Any) -> Any:
    """Return a block as an array, sparse matrix or frame; rows of a file with names are a frame."""
    if not isinstance(block, Design):
        return block
    if block.feature_names is None or sp.issparse(block.X):
        return block.X
    return framed(block.X, block.feature_names)


def on_rows(function: Callable[..., Any], block: Any, *arguments: Any) -> Any:
    """Call a function of rows; a block that was lost and sent again is a design."""
    return function(as_rows(block), *arguments)


def taken_rows(rows: Any, chosen: NDArray[np.bool_]) -> Any:
    """Return some of the rows of a block."""
    return some_rows(rows, np.flatnonzero(chosen))


def _itself(rows: Any) -> Any:
    return rows


def even_share(n_rows: int) -> NDArray[np.bool_]:
    """Return which rows are in a sample that is spread evenly over all of them."""
    return np.arange(n_rows) % -(-n_rows // SAMPLE_ROWS) == 0


def shape_of(rows: Any) -> BlockShape:
    """Return the shape of a block."""
    if getattr(rows, "ndim", 2) != 2 or not hasattr(rows, "shape"):
        raise ValueError("X must be two-dimensional.")
    return BlockShape(int(rows.shape[0]), int(rows.shape[1]), names_of(rows), rows[:1])


def check_shapes(shapes: Sequence[BlockShape]) -> None:
    """Refuse blocks with unequal columns."""
    if not shapes:
        raise ValueError("X has no partitions.")
    first = shapes[0]
    for number, shape in enumerate(shapes):
        if shape.n_features != first.n_features:
            raise ValueError(
                f"Partition {number} of X has {shape.n_features} features, but partition 0 has "
                f"{first.n_features}."
            )
        if first.feature_names and shape.feature_names:
            require_same_columns(
                first.feature_names, shape.feature_names, f"Partition {number} of X", "partition 0"
            )
