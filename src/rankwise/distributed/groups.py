"""Groups of rows, such as queries, that extend over several partitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_codes
from rankwise.data.rows import joined


def split_groups(group: NDArray[np.int64], borders: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each group whether its rows are in several partitions.

    Examples
    --------
    >>> import numpy as np
    >>> split_groups(np.array([0, 0, 1, 1, 2]), np.array([0, 3, 5]))
    array([False,  True, False])
    """
    n_groups = int(group.max(initial=-1)) + 1
    first = np.full(n_groups, len(borders))
    last = np.full(n_groups, -1)
    for number, (begin, end) in enumerate(pairwise(borders)):
        present = group[begin:end]
        first[present] = np.minimum(first[present], number)
        last[present] = number
    return np.asarray(first < last)


def ranges_overlap(ranges: Sequence[tuple[Any, Any]]) -> bool:
    """Return whether any two closed ranges have a value in common.

    Examples
    --------
    >>> ranges_overlap([(5, 9), (1, 4)]), ranges_overlap([(1, 4), (4, 9)])
    (False, True)
    """
    in_order = sorted(ranges, key=lambda one: one[0])
    return any(not before[1] < after[0] for before, after in pairwise(in_order))


def all_differ(queries: Sequence[NDArray[Any]]) -> bool:
    """Return whether no query is in two parts, given the distinct queries of each part.

    Examples
    --------
    >>> all_differ([np.array([7, 9]), np.array([4])]), all_differ([np.array([7, 9]), np.array([9])])
    (True, False)
    """
    if not queries:
        return True
    values, codes = as_codes(joined(queries), "qid")
    return len(values) == len(codes)


def require_whole_queries(qid: NDArray[Any] | None, borders: NDArray[np.int64]) -> None:
    """Refuse queries that are split over partitions; without queries, all rows are one."""
    n_rows = int(borders[-1])
    query, codes = (["all rows"], np.zeros(n_rows, np.int64)) if qid is None else as_codes(qid, "qid", n_rows)
    split = np.flatnonzero(split_groups(codes, borders))
    if len(split):
        what = "all rows are one query" if qid is None else f"query {query[split[0]]!s} is split"
        raise ValueError(
            f"QueryScaler needs queries that lie whole in partitions, but {what} over several of them; "
            "repartition the rows so that a query ends with its partition, or use StandardScaler."
        )
