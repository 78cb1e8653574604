"""Values per query of rows that are in parts: each part computes those of its own queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.data.backends import backend_among, in_memory
from rankwise.data.row_parts import RowParts, whole_queries_of
from rankwise.metrics.one_ranking import SortedRanking
from rankwise.preferences import Preferences


def by_query(
    function: Callable[..., tuple[Any, ...]],
    y: Any,
    scores: Any,
    qid: Any,
    sample_weight: Any = None,
    one_ranking: Callable[..., float] | None = None,
    **options: Any,
) -> tuple[Any, ...]:
    """Return ``function(y, scores, qid, sample_weight, **options)``, arrays with one entry per query.

    If rows are in parts, such as Dask partitions, and each query is in one of them, the parts compute the
    entries of their queries, and only these are collected. One ranking has the value of
    ``one_ranking(ranking, **options)`` and no weight in a mean. Otherwise the columns are collected, and so
    they are with weights of rows, which are scaled by those of all queries.
    """
    backend = backend_among(scores, y, qid, sample_weight)
    if backend is not None and qid is None and one_ranking is not None and not isinstance(y, Preferences):
        return np.array([one_ranking(SortedRanking(backend.parts(scores, y)), **options)]), None
    if backend is not None and qid is not None and sample_weight is None and not isinstance(y, Preferences):
        found = _of_parts(backend.parts(scores, y, qid), function, options)
        if found is not None:
            return found
    scores, y, qid, sample_weight = map(in_memory, (scores, y, qid, sample_weight))
    return function(y, scores, qid, sample_weight, **options)


def _of_parts(
    parts: RowParts, function: Callable[..., tuple[Any, ...]], options: dict[str, Any]
) -> tuple[Any, ...] | None:
    """Return the arrays of all parts, sorted by query; None if a query is in two parts."""
    queries = whole_queries_of(parts.chosen(2))
    if queries is None:
        return None
    found = parts.map(_of_part, function, options)
    return tuple(None if column[0] is None else queries.sorted(column) for column in zip(*found, strict=True))


def _of_part(
    scores: Any, y: Any, qid: Any, function: Callable[..., Any], options: dict[str, Any]
) -> tuple[NDArray[Any] | None, ...]:
    found = function(y, scores, qid, None, **options)
    return tuple(None if array is None else np.asarray(array) for array in found)
