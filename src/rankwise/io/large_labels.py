"""Labels of 2^53 and more, which float64 cannot all represent."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import LARGE_INTEGER, MERGED, is_large


def warn_of_large_ties(labels: NDArray[np.float64]) -> None:
    """Warn of equal labels of 2^53 and more, which may have been distinct in the file."""
    if max(labels.max(initial=0.0), -labels.min(initial=0.0)) < LARGE_INTEGER:
        return  # without a copy of labels that may be on disk
    large = labels[is_large(labels)]
    if len(np.unique(large)) < len(large):
        warnings.warn(
            f"Labels such as {large[0]} are read as float64, in which distinct integers above 2^53 may be "
            "equal. Some of them are equal, and their rows are tied; use their ranks instead, for example "
            "by scipy.stats.rankdata.",
            stacklevel=2,
        )


def large_ties(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the first label of 2^53 or more that occurs twice, two times; an empty array if none does.

    Examples
    --------
    >>> large_ties(np.array([1.0, 2.0**60, 2.0**61, 2.0**60])) / 2.0**60, large_ties(np.array([1.0, 1.0]))
    (array([1., 1.]), array([], dtype=float64))
    """
    values, counts = np.unique(labels[is_large(labels)], return_counts=True)
    return np.repeat(values[counts > 1][:1], 2)


class LargeLabels:
    """The distinct large labels of a column that is read in pieces.

    Examples
    --------
    >>> large = LargeLabels()
    >>> for piece in ([2**53], ["9007199254740993", 2**53 + 2]):
    ...     large.add(piece)
    >>> large.problem()
    'has distinct integers above 2^53 that are equal as float64; use their ranks instead, for example by \
scipy.stats.rankdata.'
    """

    def __init__(self) -> None:
        self._exact: set[Decimal] = set()

    def add(self, labels: Iterable[Any]) -> None:
        """Add labels as they were read: numbers, or the text of numbers."""
        self._exact.update(map(Decimal, labels))

    def problem(self) -> str | None:
        """Return an error if distinct labels are equal as float64, else None."""
        return MERGED if len(set(map(float, self._exact))) < len(self._exact) else None
