"""Groups of rows, such as queries, that extend over several partitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray


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
