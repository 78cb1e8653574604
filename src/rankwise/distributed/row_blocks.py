"""Rows in partitions as they were given, with strings and missing values, for the steps before a model."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.text import plural
from rankwise.data.design import Design
from rankwise.data.frames import framed
from rankwise.data.rows import some_rows, stacked
from rankwise.distributed.blocks import Description, as_block, check_columns, names_of
from rankwise.distributed.client import current_engine
from rankwise.distributed.collections import Partitions, as_partitions
from rankwise.distributed.engine import Engine, PinnedRows, constant
from rankwise.distributed.groups import require_whole_queries

# A sample of this many rows determines a mean to .3% of a standard deviation, and quantiles alike.
SAMPLE_ROWS = 100_000


class RowBlocks:
    """Blocks of rows: arrays, sparse matrices or frames.

    Attributes
    ----------
    engine : Engine
    handles : list
        One handle per block.
    lengths : list of int
    kept : sequence of arrays or sparse matrices, optional
        The blocks in the driver, which are sent again if a worker is lost.
    """

    def __init__(self, engine: Engine, handles: list[Any], lengths: list[int], kept: Any = None):
        self.engine, self.handles, self.lengths, self.kept = engine, handles, lengths, kept
        self.borders = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    @classmethod
    def of(cls, X: Any) -> Self:
        """Load a Dask collection; without a client, only find the shapes of its blocks."""
        partitions, engine = as_partitions(X), current_engine()
        loaded = list(partitions.blocks) if partitions.loaded else engine.computed(partitions.blocks)
        handles = engine.map(as_rows, loaded)
        engine.restore = PinnedRows(engine, handles, partitions.kept).restore
        shapes = engine.execute(lambda: engine.map(shape_of, handles))
        check_columns(shapes)
        if not any(shape.n_rows for shape in shapes):
            raise ValueError("X has no rows.")
        return cls(engine, handles, [shape.n_rows for shape in shapes], partitions.kept)

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks."""
        return int(self.borders[-1])

    def slices(self, column: NDArray[Any] | None) -> list[Any]:
        """Split a column with one entry per row by block; None for each block without a column."""
        if column is None:
            return [None] * len(self.lengths)
        if len(column) != self.n_rows:
            raise ValueError(f"X has {plural(self.n_rows, 'row')}, but a column beside it has {len(column)}.")
        return [column[begin:end] for begin, end in pairwise(self.borders)]

    def sampled(self, chosen: NDArray[np.bool_]) -> Any:
        """Return some of the rows, in the driver."""
        numbers = [np.flatnonzero(part) for part in self.slices(chosen)]
        handles = [handle for handle, part in zip(self.handles, numbers, strict=True) if len(part)]
        filled = [part for part in numbers if len(part)]
        return stacked(self.engine.execute(lambda: self.engine.map(taken_rows, handles, filled)))

    def mapped(self, function: Callable[..., Any], shared: Any, column: NDArray[Any] | None) -> Partitions:
        """Return ``function(block, shared, part of the column)`` of each block as rows of a model."""
        parts, engine = self.slices(column), self.engine
        handles = engine.map(function, self.handles, [engine.broadcast(shared)] * len(self.handles), parts)
        kept = None
        if self.kept is not None:
            kept = Copies(self.kept, lambda k, rows: function(rows, shared, parts[k]))
        return Partitions(engine.map(as_block, handles), self.lengths, kept=kept, loaded=True)


class Copies:
    """Functions of the blocks that the driver keeps, computed when they are asked for."""

    def __init__(self, blocks: Any, function: Callable[[int, Any], Any]):
        self._blocks, self._function = blocks, function

    def __getitem__(self, number: int) -> Any:
        return self._function(number, self._blocks[number])


def mapped_rows(function: Callable[..., Any], X: Any, qid: Any = None, shape: tuple[int, ...] = ()) -> Any:
    """Return ``function(rows)`` of each block as a Dask array, not yet computed; its chunks are the blocks.

    With `qid`, it is ``function(rows, qid)``, and a query that is in two blocks is refused.

    Examples
    --------
    >>> import dask.array, numpy as np
    >>> X = dask.array.from_array(np.arange(6.0).reshape(3, 2), chunks=(2, 2))
    >>> sums = mapped_rows(lambda rows: rows.sum(axis=1), X)
    >>> sums.chunks, sums.compute()
    (((2, 1),), array([1., 5., 9.]))
    """
    import dask.array
    from dask import delayed

    partitions = as_partitions(X)
    lengths: Any = partitions.lengths or [math.nan] * len(partitions.blocks)
    parts: list[Any] = [()] * len(lengths)
    if qid is not None:
        rows = RowBlocks.of(X)
        query = np.asarray(qid)
        require_whole_queries(query, rows.borders)
        lengths, parts = rows.lengths, [(part,) for part in rows.slices(query)]
    task, shared = delayed(_result_of_rows, pure=False), constant(function)
    found = [
        dask.array.from_delayed(task(block, shared, constant(part), shape), (length, *shape), np.float64)
        for block, length, part in zip(partitions.blocks, lengths, parts, strict=True)
    ]
    return dask.array.concatenate(found, allow_unknown_chunksizes=True)


def _result_of_rows(block: Any, function: Callable[..., Any], part: Any, shape: tuple[int, ...]) -> Any:
    rows = as_rows(block)
    return function(rows, *part) if rows.shape[0] else np.empty((0, *shape))


def as_rows(block: Any) -> Any:
    """Return a block as an array, sparse matrix or frame; rows of a file with names are a frame."""
    if not isinstance(block, Design):
        return block
    if block.feature_names is None or sp.issparse(block.X):
        return block.X
    return framed(block.X, block.feature_names)


def taken_rows(block: Any, rows: NDArray[np.int64]) -> Any:
    """Return some of the rows of a block; one that was lost and sent again is a design."""
    return some_rows(as_rows(block), rows)


def even_share(n_rows: int) -> NDArray[np.bool_]:
    """Return which rows are in a sample that is spread evenly over all of them."""
    return np.arange(n_rows) % -(-n_rows // SAMPLE_ROWS) == 0


def shape_of(rows: Any) -> Description:
    """Return the shape of a block, whose values are not looked at."""
    if getattr(rows, "ndim", 2) != 2 or not hasattr(rows, "shape"):
        raise ValueError("X must be two-dimensional.")
    return Description(int(rows.shape[0]), int(rows.shape[1]), 0, "", names_of(rows))
