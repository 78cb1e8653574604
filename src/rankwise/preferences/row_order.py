"""Rows in the order of queries and labels, for counting and sums."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import _native
from rankwise.core.types import FloatVector

__all__ = ["RowOrder"]

# Rows that are sorted at a time: they fit into a cache.
BLOCK_ROWS = 1 << 16


class RowOrder:
    """Rows by query, then by label, as native counts and sums read them. Rows of weight zero are left out.

    `struct Ranking` of native/ranking.hpp defines `row`, `level_begin`, `query_begin` and `position`. The
    arrays take 8 bytes per row. If the rows of each query are consecutive, they are sorted a few whole
    queries at a time, which takes little additional memory.
    """

    def __init__(self, labels: FloatVector, query: NDArray[np.int64] | None, weight: FloatVector | None):
        n_rows = len(labels)
        if n_rows >= 2**31 - 1:
            raise ValueError(f"A ranking holds at most 2^31 - 2 rows; got {n_rows}.")
        self.has_query = query is not None
        self.query_of_row = np.broadcast_to(np.int64(0), n_rows) if query is None else query
        kept = None if weight is None else weight > 0
        self.query_begin = _query_begin(query, kept, n_rows)
        self.n_queries = len(self.query_begin) - 1  # those without pairs included
        n_kept, begin = int(self.query_begin[-1]), 0
        self.row, self.level_begin = np.empty(n_kept, dtype=np.int32), np.empty(n_kept, dtype=np.int32)
        for block in _blocks_of_queries(query, n_rows):
            order, level = self._ordered(block, labels, query, kept)
            positions = slice(begin, begin + len(order))
            self.row[positions], self.level_begin[positions] = order, level
            begin = positions.stop

    @cached_property
    def query_sizes(self) -> NDArray[np.int64]:
        """The number of rows of each query, 1 if there are none."""
        return np.maximum(np.bincount(self.query_of_row, minlength=self.n_queries), 1)

    @property
    def query_of_position(self) -> NDArray[np.int64]:
        """The query of each entry of `row`."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.query_begin))

    @cached_property
    def native(self) -> _native.RankingIndex:
        """The index as native code takes it, with its scratch."""
        position = np.full(len(self.query_of_row), -1, dtype=np.int32)
        position[self.row] = np.arange(len(self.row), dtype=np.int32)
        return _native.RankingIndex(self.row, self.level_begin, self.query_begin, position)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}

    def by_query(self, by_row: FloatVector | float) -> FloatVector:
        """Return the value of each query's first row, 0 for a query without rows."""
        of_query = np.zeros(self.n_queries)
        filled = np.diff(self.query_begin) > 0
        first = self.row[self.query_begin[:-1][filled]]
        of_query[filled] = by_row[first] if isinstance(by_row, np.ndarray) else by_row
        return of_query

    def sum_by_query(self, values: FloatVector) -> FloatVector:
        """Sum values of rows per query."""
        if not self.has_query:
            return values.sum(keepdims=True)
        return np.asarray(np.bincount(self.query_of_row, values, minlength=self.n_queries), np.float64)

    def _ordered(
        self,
        block: slice,
        labels: FloatVector,
        query: NDArray[np.int64] | None,
        kept: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return `row` and `level_begin` of whole queries."""
        labels = labels[block]
        if query is None:
            first, last, order = 0, 0, _native.stable_order(labels)
        else:
            numbers = query[block]
            first, last = int(numbers.min(initial=len(self.query_begin))), int(numbers.max(initial=-1))
            order = _native.stable_order(labels)
            order = order[np.argsort(numbers[order], kind="stable")]
        if kept is not None:
            order = order[kept[block][order]]
        ordered = labels[order]
        level = np.arange(len(order), dtype=np.int32)
        level[1:] *= ordered[1:] != ordered[:-1]
        size = np.diff(self.query_begin[first : last + 2])
        start = np.cumsum(size, dtype=np.int32) - size.astype(np.int32)
        level[start[size > 0]] = start[size > 0]
        np.maximum.accumulate(level, out=level)
        if len(size) > 1:
            level -= np.repeat(start, size)
        order += np.int32(block.start)
        return order, level


def _query_begin(
    query: NDArray[np.int64] | None, kept: NDArray[np.bool_] | None, n_rows: int
) -> NDArray[np.int64]:
    """Return the begin of each query among the rows kept, and the number of these rows."""
    if query is None:
        return np.array([0, n_rows if kept is None else np.count_nonzero(kept)], dtype=np.int64)
    size = np.bincount(query if kept is None else query[kept], minlength=int(query.max(initial=-1)) + 1)
    return np.concatenate([[0], np.cumsum(size)]).astype(np.int64)


def _blocks_of_queries(query: NDArray[np.int64] | None, n_rows: int) -> list[slice]:
    """Cut the rows into blocks of whole queries, of about `BLOCK_ROWS` rows unless a query is larger."""
    if query is None or n_rows <= BLOCK_ROWS or (query[1:] < query[:-1]).any():
        return [slice(0, n_rows)]
    begin = np.searchsorted(query, query[BLOCK_ROWS::BLOCK_ROWS])
    cuts = np.unique(np.concatenate([[0], begin, [n_rows]])).tolist()
    return [slice(*span) for span in pairwise(cuts)]
