"""Values per query of rows that are in parts: each part computes those of its own queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_array, as_weights
from rankwise.data.backends import backend_among, in_memory
from rankwise.data.query_parts import CutQueries, QueryPlaces, query_places, rows_of_queries
from rankwise.data.row_parts import RowParts, WholeQueries, distinct_queries, joined, n_rows_of
from rankwise.preferences import Preferences


def by_query(
    function: Callable[..., tuple[Any, ...]],
    y: Any,
    scores: Any,
    qid: Any,
    sample_weight: Any = None,
    weighted: Sequence[int] = (),
    **options: Any,
) -> tuple[Any, ...]:
    """Return ``function(y, scores, qid, sample_weight, **options)``, arrays with one entry per query.

    If rows are in parts, such as Dask partitions, the parts compute the entries of their queries, and only
    these are collected, with the rows of queries that are in several parts. If most rows are in such
    queries, all are collected, as are the rows of one ranking. The arrays with the numbers `weighted` are
    sums of weights of pairs, in units that depend on the largest weight of a row.
    """
    backend = backend_among(scores, y, qid, sample_weight)
    if backend is not None and qid is not None and not isinstance(y, Preferences):
        parts = backend.parts(scores, y, qid, sample_weight)
        largest = None if sample_weight is None else largest_weight(parts.chosen(3))
        if (there := QueryParts.of(parts)) is not None:
            found, queries = there.map(OfPart(function, options, largest, weighted)), there.queries
            columns = zip(*found, strict=True)
            return tuple(None if column[0] is None else queries.sorted(column) for column in columns)
    scores, y, qid, sample_weight = map(in_memory, (scores, y, qid, sample_weight))
    return function(y, scores, qid, sample_weight, **options)


@dataclass(frozen=True)
class OfPart:
    """A function of the rows of a part; see `by_query`.

    Attributes
    ----------
    function : callable
    options : dict
    largest : float or None
        The largest weight of a row of all parts, None without weights.
    weighted : sequence of int
    """

    function: Callable[..., tuple[Any, ...]]
    options: dict[str, Any]
    largest: float | None
    weighted: Sequence[int]

    def __call__(self, scores: Any, y: Any, qid: Any, weight: Any) -> tuple[NDArray[Any] | None, ...]:
        """Return the arrays of the function, with weights in the units of all parts."""
        largest = 0.0 if weight is None else largest_of(weight)
        if weight is not None and not largest:  # no row counts, which the function would refuse
            weight = np.ones(n_rows_of(weight))
        found = self.function(y, scores, qid, weight, **self.options)
        scale = 1.0 if self.largest is None else (largest / self.largest) ** 2
        return tuple(
            None if array is None else np.asarray(array) * scale if k in self.weighted else np.asarray(array)
            for k, array in enumerate(found)
        )


def largest_weight(parts: RowParts) -> float:
    """Return the largest weight of a row; refuse weights that are all zero."""
    largest = max(parts.map(largest_of), default=0.0)
    if not largest:
        raise ValueError("sample_weight is zero for every row.")
    return largest


def largest_of(weight: Any) -> float:
    """Return the largest of some weights, which may all be zero."""
    return float(as_weights(weight, "sample_weight", may_be_zero=True).max())


@dataclass(frozen=True)
class QueryParts:
    """Scores, labels, queries and weights in parts; a few queries are in several parts."""

    parts: RowParts
    places: QueryPlaces
    cut: CutQueries

    @classmethod
    def of(cls, parts: RowParts) -> QueryParts | None:
        """Find the queries of all parts; None if most rows are in queries that are in several."""
        places = query_places(parts.chosen(2))
        cut = CutQueries.of(parts.chosen(2), places.cut)
        return cls(parts, places, cut) if places.found and cut.are_few else None

    @cached_property
    def collected(self) -> list[Any]:
        """The columns of the rows of queries in several parts."""
        pieces = [piece for piece in self.parts.map(rows_of_part, self.cut.queries) if piece is not None]
        return [None if column[0] is None else joined(column) for column in zip(*pieces, strict=True)]

    def map(self, of_rows: Callable[..., Any]) -> list[Any]:
        """Return ``of_rows(scores, y, qid, weight)`` of the whole queries of each part, and of the others."""
        found = [one[0] for one in self.parts.map(of_part, of_rows, self.cut.queries) if one is not None]
        return [*found, of_rows(*self.collected)] if self.cut.queries else found

    @property
    def queries(self) -> WholeQueries:
        """The queries in the order of the results of `map`."""
        others = [distinct_queries(self.collected[2])] if self.cut.queries else []
        queries = WholeQueries.of([*self.places.whole, *others])
        assert queries is not None
        return queries


def of_part(
    scores: Any, y: Any, qid: Any, weight: Any, of_rows: Callable[..., Any], cut: set[Any]
) -> tuple[Any] | None:
    """Return a function of the rows of a part in queries that are in no other, None if there are none."""
    columns = rows_of_queries([scores, y, qid, weight], qid, cut, inside=False)
    return None if columns is None else (of_rows(*columns),)


def rows_of_part(scores: Any, y: Any, qid: Any, weight: Any, queries: set[Any]) -> list[Any] | None:
    """Return the columns of the rows of some queries of a part as arrays, None if there are none."""
    columns = rows_of_queries([scores, y, qid, weight], qid, queries, inside=True)
    return None if columns is None else [None if one is None else as_array(one) for one in columns]
