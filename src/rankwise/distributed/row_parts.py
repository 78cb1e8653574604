"""Columns on Dask in the same partitions, and functions of the rows of a partition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_codes
from rankwise.core.text import plural
from rankwise.data.rows import n_rows_of, some_rows
from rankwise.distributed.client import current_engine
from rankwise.distributed.collections import Partitions, as_partitions, gathered, is_distributed
from rankwise.distributed.engine import Engine, PinnedRows
from rankwise.distributed.groups import all_differ
from rankwise.distributed.part_columns import PartColumn
from rankwise.distributed.row_blocks import as_rows


@dataclass(frozen=True)
class Common:
    """A function that is the same for all partitions, sent once."""

    function: Callable[..., Any]

    @property
    def nbytes(self) -> int:
        """The size of a message with it, by which it is embedded in tasks or sent ahead."""
        return pickled_size(self.function)


@dataclass(frozen=True)
class PieceOfColumn:
    """Some rows of a column, which Dask would traverse if they were sent as they are."""

    rows: Any


def by_query(function: Callable[..., Any], *columns: Any) -> list[Any] | None:
    """Return ``function(*columns)`` of each partition, None if a query is in several partitions.

    The last column has the query of each row. Each partition returns its distinct queries first.
    """
    parts = DaskParts(*columns)
    queries = parts.map(distinct_queries, slice(-1, None))
    return parts.map(function) if all_differ(queries) else None


def distinct_queries(qid: Any) -> NDArray[Any]:
    """Return the distinct queries of some rows, sorted if possible."""
    return as_codes(qid, "qid")[0]


class DaskParts:
    """Columns in the partitions of the first that is on Dask; the others are cut at its borders.

    A column on Dask with the same partitions stays on the workers. Others are sent to them, 8 bytes per
    number.
    """

    def __init__(self, *columns: Any) -> None:
        self._engine = current_engine()
        first = next(column for column in columns if is_distributed(column))
        borders = Borders(self._engine, as_blocks(first))
        found = [borders.handles_of(column, column is first) for column in columns]
        n_parts = len(borders.handles)
        self._handles = [[None] * n_parts if handles is None else handles for handles in found]

    def map(self, function: Callable[..., Any], some: slice = slice(None)) -> list[Any]:
        """Call a function of all or some columns on the worker of each partition with rows, in one round."""
        engine, columns = self._engine, self._handles[some]

        def send() -> list[Any]:
            return engine.map(call, [engine.broadcast(Common(function))] * len(columns[0]), *columns)

        return [result[0] for result in engine.execute(send) if result is not None]


class Borders:
    """The partitions of a column, at whose borders other columns are cut."""

    def __init__(self, engine: Engine, first: Partitions) -> None:
        self._engine = engine
        handles = first.blocks if first.loaded else engine.computed(first.blocks)
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
            return self._engine.computed(blocks.blocks)
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
        pieces = [some_rows(column, slice(begin, end)) for begin, end in pairwise(borders)]
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


def call(common: Common, *columns: Any) -> tuple[Any] | None:
    """Return the result of a function of the rows of a partition, None if it has no rows."""
    values = [as_rows(column) for column in columns]
    lengths = {n_rows_of(value) for value in values if value is not None}
    if len(lengths) > 1:
        few, *_, many = sorted(lengths)
        raise ValueError(
            f"The columns are partitioned differently: a partition has {few} rows in one and {many} in "
            "another. Repartition them alike."
        )
    return (common.function(*values),) if n_rows_of(*values) else None
