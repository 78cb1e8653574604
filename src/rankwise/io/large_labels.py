"""Labels of 2^53 and more, which float64 cannot all represent."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import LARGE_INTEGER, MERGED, is_large, merges_integers


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
    >>> for piece in ([2**53, 0], [2**53 + 1, 2**53 + 2]):
    ...     large.add(np.array(piece), np.array(piece, dtype=float))
    >>> large.problem()
    'has distinct integers above 2^53 that are equal as float64; use their ranks instead, for example by \
scipy.stats.rankdata.'
    """

    def __init__(self) -> None:
        self._exact: list[NDArray[Any]] = []
        self._rounded: list[NDArray[np.float64]] = []

    def add(self, raw: NDArray[Any], values: NDArray[np.float64], rounded: bool = False) -> None:
        """Add labels as they were read and as float64; with `rounded`, they were read as float64."""
        large = is_large(values)
        if not large.any():
            return
        if rounded:
            self._rounded.append(values[large])
        exact = raw[large]
        if exact.dtype.kind == "O":  # integers of any size, or the text of numbers
            exact = np.array([Decimal(value) for value in exact.tolist()], dtype=object)
        self._exact.append(np.unique(exact))

    def problem(self) -> str | None:
        """Return an error if distinct labels are equal as float64, else None; warn if that is unknown."""
        if not self._exact:
            return None
        same_type = len({part.dtype for part in self._exact}) == 1
        exact = np.concatenate([part if same_type else part.astype(object) for part in self._exact])
        if merges_integers(exact, exact.astype(np.float64)):
            return MERGED
        if self._rounded:
            warn_of_large_ties(np.concatenate(self._rounded))
        return None
