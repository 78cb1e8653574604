"""Rows in parts, such as the partitions of a cluster: functions go to the rows, and results come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.checks import as_codes
from rankwise.core.types import IntArray
from rankwise.data.columns import is_frame


class RowParts(ABC):
    """Columns of the same rows, cut into the same parts.

    A column has rows, scores, labels, queries or weights; None stands for a column that is not given.
    """

    n_parts: int

    @abstractmethod
    def map(self, function: Callable[..., Any], *common: Any) -> list[Any]:
        """Return ``function(*columns, *common)`` of each part that has rows, in the order of the parts."""

    @abstractmethod
    def chosen(self, *numbers: int) -> RowParts:
        """Return the parts with some of the columns."""

    @abstractmethod
    def take(self, rows: IntArray) -> Any:
        """Return the rows with some numbers of the first column, in the order of the numbers."""


class PartsInMemory(RowParts):
    """All rows as one part in memory."""

    n_parts = 1

    def __init__(self, *columns: Any) -> None:
        self._columns = columns

    def map(self, function: Callable[..., Any], *common: Any) -> list[Any]:
        """Return the result of the only part."""
        return [function(*self._columns, *common)] if n_rows_of(*self._columns) else []

    def chosen(self, *numbers: int) -> PartsInMemory:
        """Return the part with some of the columns."""
        return PartsInMemory(*(self._columns[number] for number in numbers))

    def take(self, rows: IntArray) -> Any:
        """Return some rows of the first column."""
        return some_rows(self._columns[0], rows)


def n_rows_of(*columns: Any) -> int:
    """Return the number of rows of the first column that is given.

    Examples
    --------
    >>> n_rows_of(None, [3, 1, 2])
    3
    """
    first = next(column for column in columns if column is not None)
    return int(first.shape[0] if hasattr(first, "shape") else len(first))


def some_rows(column: Any, numbers: IntArray | slice) -> Any:
    """Return the rows with some numbers of a frame or its column, an array or a sparse matrix."""
    if hasattr(column, "iloc"):
        return column.iloc[numbers]
    rows = nw.from_native(column, allow_series=True, pass_through=True)
    return nw.to_native(rows[numbers], pass_through=True)


def stacked(blocks: Sequence[Any]) -> Any:
    """Return the rows of several frames, arrays or sparse matrices as one."""
    if is_frame(blocks[0]):
        return nw.concat([nw.from_native(block, eager_only=True) for block in blocks]).to_native()
    if sp.issparse(blocks[0]):
        return sp.vstack(blocks, format="csr")
    return np.concatenate(list(blocks))


class WholeQueries(NamedTuple):
    """The queries of all parts: their sorted values, and the place of each in the order of the parts."""

    values: NDArray[Any]
    order: IntArray

    @classmethod
    def of(cls, found: Sequence[NDArray[Any]]) -> WholeQueries | None:
        """Return the queries of all parts from those of each, None if a query is in two parts.

        Examples
        --------
        >>> WholeQueries.of([np.array([7, 9]), np.array([4])])
        WholeQueries(values=array([4, 7, 9]), order=array([2, 0, 1]))
        """
        values, codes = as_codes(joined(found), "qid")
        return cls(values, np.argsort(codes, kind="stable")) if len(values) == len(codes) else None

    def sorted(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Concatenate values per query of all parts, and sort them by query."""
        return np.concatenate(list(parts))[self.order]


def whole_queries_of(queries: RowParts) -> WholeQueries | None:
    """Return the queries of parts with one column, the query of each row; None if a query is in two parts.

    Each part returns its distinct queries.
    """
    found = queries.map(distinct_queries)
    return WholeQueries.of(found) if found else None


def distinct_queries(qid: Any) -> NDArray[Any]:
    """Return the distinct queries of some rows, sorted if possible."""
    return as_codes(qid, "qid")[0]


def joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate arrays; numbers and words together become objects, so that they stay different."""
    if len({array.dtype.kind in "US" for array in arrays}) > 1:
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)
