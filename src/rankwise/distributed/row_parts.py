"""Columns on Dask in the same partitions, and functions of the rows of a partition."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.core.text import plural
from rankwise.core.types import IntArray
from rankwise.data.row_parts import RowParts, n_rows_of, some_rows, stacked
from rankwise.distributed.client import current_engine
from rankwise.distributed.collections import Partitions, as_partitions, gathered, is_distributed
from rankwise.distributed.engine import Engine, PinnedRows
from rankwise.distributed.part_columns import PartColumn
from rankwise.distributed.row_blocks import as_rows


@dataclass(frozen=True)
class Common:
    """Arguments that are the same for all partitions, sent once."""

    values: tuple[Any, ...]

    @property
    def nbytes(self) -> int:
        """The size of a message with them, by which they are embedded in tasks or sent ahead."""
        return pickled_size(self.values)


@dataclass(frozen=True)
class PieceOfColumn:
    """Some rows of a column, which Dask would traverse if they were sent as they are."""

    rows: Any


class DaskParts(RowParts):
    """Columns in the partitions of one of them; the others are cut at its borders.

    A column on Dask with the same partitions stays on the workers. Others are sent to them, 8 bytes per
    number.
    """

    def __init__(self, engine: Engine, columns: Sequence[list[Any] | None]) -> None:
        self._engine, self._columns = engine, list(columns)
        self.n_parts = next(len(column) for column in columns if column is not None)

    @classmethod
    def of(cls, *columns: Any) -> DaskParts:
        """Cut columns, of which one or more are on Dask, into the partitions of the first that is."""
        engine = current_engine()
        first = next(column for column in columns if is_distributed(column))
        borders = Borders(engine, as_blocks(first))
        return cls(engine, [borders.handles_of(column, column is first) for column in columns])

    def map(self, function: Callable[..., Any], *common: Any) -> list[Any]:
        """Call a function on the worker of each partition, in one round."""
        engine = self._engine

        def send() -> list[Any]:
            sent = engine.broadcast(Common(common))
            fixed = [[value] * self.n_parts for value in (function, sent)]
            return engine.map(call, *fixed, *self._handles())

        return [result[0] for result in engine.execute(send) if result is not None]

    def chosen(self, *numbers: int) -> DaskParts:
        """Return the partitions with some of the columns."""
        return DaskParts(self._engine, [self._columns[number] for number in numbers])

    def take(self, rows: IntArray) -> Any:
        """Fetch some rows of the first column from the workers that have them."""
        engine, handles = self._engine, self._handles()[0]
        lengths = engine.execute(lambda: engine.map(n_rows_of, handles))
        ends = np.cumsum(lengths)
        part = np.searchsorted(ends, rows, side="right")
        present = np.unique(part)
        local = [PieceOfColumn(rows[part == k] - (ends[k] - lengths[k])) for k in present]
        found = engine.execute(lambda: engine.map(rows_at, [handles[k] for k in present], local))
        order = np.argsort(np.argsort(part, kind="stable"), kind="stable")
        return some_rows(stacked(found), order)

    def _handles(self) -> list[list[Any]]:
        return [[None] * self.n_parts if column is None else column for column in self._columns]


class Borders:
    """The partitions of a column, at whose borders other columns are cut."""

    def __init__(self, engine: Engine, first: Partitions) -> None:
        self._engine = engine
        handles = first.blocks if first.loaded else load(engine, first.blocks)
        rows = PinnedRows(engine, list(handles), first.kept)
        engine.restore = rows.restore
        self.handles, self._lengths = rows.handles, first.lengths

    @property
    def lengths(self) -> list[int]:
        """The number of rows of each partition, which are counted if they are not known."""
        if self._lengths is None:
            engine = self._engine
            self._lengths = engine.execute(lambda: engine.map(n_rows_of, self.handles))
        return [int(length) for length in self._lengths]

    def handles_of(self, column: Any, is_first: bool) -> list[Any] | None:
        """Return a handle per partition of a column, None for None."""
        if column is None or is_first:
            return self.handles if is_first else None
        if not is_distributed(column):
            return self._sent(column)
        blocks = as_blocks(column)
        if len(blocks.blocks) == len(self.handles) and (
            self._lengths is None or blocks.lengths in (None, self._lengths)
        ):
            return load(self._engine, blocks.blocks)
        return self._sent(gathered(column))

    def _sent(self, column: Any) -> list[Any]:
        """Cut a column in memory and send the pieces to the workers of the partitions."""
        lengths = self.lengths
        if n_rows_of(column) != sum(lengths):
            raise ValueError(
                f"The partitions have {plural(sum(lengths), 'row')}, but a column in memory has "
                f"{n_rows_of(column):,}."
            )
        borders = np.concatenate([[0], np.cumsum(lengths)])
        pieces = [rows_between(column, begin, end) for begin, end in pairwise(borders)]
        engine = self._engine
        sent = engine.scatter([PieceOfColumn(piece) for piece in pieces], self.handles)
        return engine.persist(engine.map(unpacked, sent))


def pickled_size(value: Any) -> int:
    """Return the size of a message with a value, such as a model of any kind."""
    from distributed.protocol.pickle import dumps

    return len(dumps(value))


def unpacked(piece: PieceOfColumn) -> Any:
    """Return a piece of a column."""
    return piece.rows


def load(engine: Engine, blocks: list[Any]) -> list[Any]:
    """Return handles of blocks as they are: arrays, sparse matrices, frames or columns of these."""
    return list(engine.client.compute(blocks)) if engine.remote else blocks  # type: ignore[attr-defined]


def as_blocks(column: Any) -> Partitions:
    """Return the blocks of rows, or of one column, on Dask."""
    if isinstance(column, PartColumn):
        return Partitions(column.blocks, column.lengths)
    if getattr(column, "ndim", 2) != 1 or isinstance(column, list | tuple):
        return as_partitions(column)
    blocks = list(column.to_delayed().ravel()) if hasattr(column, "chunks") else list(column.to_delayed())
    chunks = column.chunks[0] if hasattr(column, "chunks") else (math.nan,)
    known = not any(math.isnan(length) for length in chunks)
    return Partitions(blocks, [int(length) for length in chunks] if known else None)


def rows_between(column: Any, begin: int, end: int) -> Any:
    """Return some of the rows of a column in memory."""
    return some_rows(column, slice(begin, end))


def call(function: Callable[..., Any], common: Common, *columns: Any) -> tuple[Any] | None:
    """Return the result of a function of the rows of a partition, None if it has no rows."""
    values = [as_rows(column) for column in columns]
    lengths = {n_rows_of(value) for value in values if value is not None}
    if len(lengths) > 1:
        few, *_, many = sorted(lengths)
        raise ValueError(
            f"The columns are partitioned differently: a partition has {few} rows in one and {many} in "
            "another. Repartition them alike."
        )
    return (function(*values, *common.values),) if n_rows_of(*values) else None


def rows_at(column: Any, numbers: PieceOfColumn) -> Any:
    """Return the rows of a block with some numbers."""
    return some_rows(as_rows(column), numbers.rows)
