"""Labels of 2^53 and more, among which float64 does not tell all integers apart."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import LARGE_INTEGER, MERGED, is_large, merges_integers


def warn_of_large_ties(labels: NDArray[np.float64]) -> None:
    """Warn where labels of 2^53 and more are equal, and no one knows whether they were so in the file."""
    if max(labels.max(initial=0.0), -labels.min(initial=0.0)) < LARGE_INTEGER:
        return  # without a copy of labels that may be on disk
    large = labels[is_large(labels)]
    if len(np.unique(large)) < len(large):
        warnings.warn(
            f"Labels such as {large[0]} are read as float64, in which integers above 2^53 that differ "
            "may be equal, and some of them are: their rows are tied. Write their ranks instead, such as "
            "scipy.stats.rankdata gives them.",
            stacklevel=2,
        )


class LargeLabels:
    """The large labels of a column that comes piece by piece, each once.

    Examples
    --------
    >>> large = LargeLabels()
    >>> for piece in ([2**53, 0], [2**53 + 1, 2**53 + 2]):
    ...     large.add(np.array(piece), np.array(piece, dtype=float))
    >>> large.problem()
    'holds integers above 2^53 that differ but are equal as float64; give their ranks instead, such as \
scipy.stats.rankdata gives them.'
    """

    def __init__(self) -> None:
        self._exact: list[NDArray[Any]] = []
        self._rounded: list[NDArray[np.float64]] = []

    def add(self, raw: NDArray[Any], values: NDArray[np.float64], rounded: bool = False) -> None:
        """Take the next labels as they were read and as float64; `rounded` says that the first are, too."""
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
        """Say that labels which differ are one float64, or return None; warn where no one knows."""
        if not self._exact:
            return None
        same_type = len({part.dtype for part in self._exact}) == 1
        exact = np.concatenate([part if same_type else part.astype(object) for part in self._exact])
        if merges_integers(exact, exact.astype(np.float64)):
            return MERGED
        if self._rounded:
            warn_of_large_ties(np.concatenate(self._rounded))
        return None
