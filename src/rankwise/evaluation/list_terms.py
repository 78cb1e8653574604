"""The terms of measures of ranked lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, IntArray


def check_gains(lowest: float, gain: str) -> None:
    """Refuse negative labels, whose gain would be negative."""
    if lowest < 0:
        raise ValueError(
            f"y must not be negative for ndcg, got {lowest:g}: its {gain} gain would be negative. "
            "Shift the labels so that the lowest is 0."
        )


def relative_gains(labels: FloatArray, largest: FloatArray, gain: str) -> FloatArray:
    """Gains divided by a constant per query, which cancels in the ratio and prevents overflow of 2^y."""
    if gain == "linear":
        return labels / np.where(largest > 0, largest, 1.0)
    # 2^-largest (2^y - 1), without cancellation for small y.
    return np.exp2(labels - largest) * -np.expm1(-labels * np.log(2.0))


def discounts(position: NDArray[Any], k: int | None) -> FloatArray:
    """Return 1 / log2(rank + 1), 0 from rank k + 1 on and for rows that are not in the list."""
    return np.where(position < (np.inf if k is None else k), 1.0 / np.log2(position + 2.0), 0.0)


def expected_reciprocal(above: IntArray, size: IntArray, relevant: IntArray) -> FloatArray:
    """E[1 / (above + J)], J the position of the first of `relevant` among `size` rows in random order."""
    start = np.cumsum(size) - size
    place = np.arange(size.sum()) - np.repeat(start, size)
    left = np.repeat(size, size) - place
    relevant = np.repeat(relevant, size)
    missed_before = np.where(place > 0, np.maximum(1.0 - relevant / (left + 1), 0.0), 1.0)
    first_here = _running_product(missed_before, place) * np.minimum(relevant / left, 1.0)
    return np.add.reduceat(first_here / (np.repeat(above, size) + place + 1), start)


def _running_product(factors: FloatArray, place: IntArray) -> FloatArray:
    """Cumulative product that restarts wherever `place` is 0, in O(m log m)."""
    product, step = factors, 1
    # Invariant: product[i] is the product of the last min(step, place[i] + 1) factors up to i.
    while step <= place.max(initial=0):
        product = product.copy()
        inside = np.flatnonzero(place >= step)
        product[inside] *= product[inside - step]
        step *= 2
    return product
