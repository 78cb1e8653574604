"""Queries of rows in parts: those in a single part, and those in several, whose rows are brought together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_codes
from rankwise.core.types import IntArray
from rankwise.data.row_parts import RowParts, distinct_queries, joined, some_rows


class QueryPlaces(NamedTuple):
    """The distinct queries of each part that has rows, their number, and the queries in several parts."""

    found: list[NDArray[Any]]
    n_queries: int
    cut: set[Any]

    @property
    def whole(self) -> list[NDArray[Any]]:
        """The queries of each part that are in no other; parts without such queries are left out."""
        kept = [values[[value not in self.cut for value in values.tolist()]] for values in self.found]
        return [values for values in kept if len(values)]


def query_places(queries: RowParts) -> QueryPlaces:
    """Return the queries of parts with one column, the query of each row.

    Each part returns its distinct queries.

    Examples
    --------
    >>> from rankwise.data.row_parts import PartsInMemory
    >>> query_places(PartsInMemory(np.array([7, 7, 9])))
    QueryPlaces(found=[array([7, 9])], n_queries=2, cut=set())
    """
    found = queries.map(distinct_queries)
    if not found:
        return QueryPlaces([], 0, set())
    values, codes = as_codes(joined(found), "qid")
    return QueryPlaces(found, len(values), set(values[np.bincount(codes) > 1].tolist()))


@dataclass(frozen=True)
class CutQueries:
    """Queries in several parts.

    Attributes
    ----------
    queries : set
    n_rows, n_rows_in_all : int
        The number of their rows, and of all rows.
    """

    queries: set[Any]
    n_rows: int = 0
    n_rows_in_all: int = 0

    @classmethod
    def of(cls, qid: RowParts, queries: set[Any]) -> CutQueries:
        """Count the rows of some queries; the column of the parts is the query of each row."""
        counts = qid.map(rows_in_queries, queries) if queries else [(0, 0)]
        return cls(queries, *np.array(counts).sum(axis=0).tolist())

    @property
    def are_few(self) -> bool:
        """Whether at least half of the rows are in other queries."""
        return 2 * self.n_rows <= self.n_rows_in_all


def rows_in_queries(qid: Any, queries: set[Any]) -> tuple[int, int]:
    """Return the number of rows in some queries, and of all rows.

    Examples
    --------
    >>> rows_in_queries(np.array([7, 7, 9]), {7, 8})
    (2, 3)
    """
    inside = _are_in(qid, queries)
    return int(np.count_nonzero(inside)), len(inside)


def rows_of_queries(columns: Sequence[Any], qid: Any, queries: set[Any], *, inside: bool) -> list[Any] | None:
    """Return columns of the rows of some queries, or of the others; None if there are no such rows.

    Examples
    --------
    >>> rows_of_queries([np.array([1.0, 2.0, 3.0]), None], ["a", "b", "a"], {"a"}, inside=True)
    [array([1., 3.]), None]
    """
    if not queries:
        return None if inside else list(columns)
    numbers = np.flatnonzero(_are_in(qid, queries) == inside)
    return [_taken(column, numbers) for column in columns] if len(numbers) else None


def _are_in(qid: Any, queries: set[Any]) -> NDArray[np.bool_]:
    distinct, codes = as_codes(qid, "qid")
    return np.array([value in queries for value in distinct.tolist()])[codes]


def _taken(column: Any, numbers: IntArray) -> Any:
    if isinstance(column, list | tuple):
        return [column[number] for number in numbers.tolist()]
    return None if column is None else some_rows(column, numbers)
