"""The distinct values of a column with their counts: exact, or a sketch of a column in many parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.types import FloatVector, IntVector


@dataclass(frozen=True)
class Tally:
    """The values of a column that occur, in ascending order, and how often each occurs.

    A tally of many distinct values can be compressed to `most` of them. A value at some rank is then one
    whose true rank differs by at most 1 / most of the number of values, once per compression: a tree of
    merged tallies with d levels has a rank error of at most (d + 1) / most.

    Attributes
    ----------
    values : array of shape (n_values,)
    counts : int array of shape (n_values,)
    n_missing : int
        The number of missing values (NaN), which are not among the values.
    exact : bool
        Whether it was never compressed.

    Examples
    --------
    >>> tally = Tally.of(np.array([3.0, 1.0, 1.0, np.nan]))
    >>> tally.values.tolist(), tally.counts.tolist(), tally.n_missing
    ([1.0, 3.0], [2, 1], 1)
    >>> tally.at([0, 1, 2]).tolist()
    [1.0, 1.0, 3.0]
    """

    values: FloatVector
    counts: IntVector
    n_missing: int = 0
    exact: bool = True

    @classmethod
    def of(cls, x: FloatVector) -> Tally:
        """Count the values of a column."""
        known = np.sort(x[~np.isnan(x)])
        begins = np.flatnonzero(np.append(True, known[1:] != known[:-1])[: len(known)])
        return cls(known[begins], np.diff(begins, append=len(known)), len(x) - len(known))

    @property
    def n_known(self) -> int:
        """The number of values that are not missing."""
        return int(self.counts.sum())

    def at(self, ranks: ArrayLike) -> FloatVector:
        """Return the values at ranks, 0 for the lowest value."""
        return self.values[np.searchsorted(np.cumsum(self.counts), ranks, side="right")]

    def compressed(self, most: int) -> Tally:
        """Return a tally of at most this many values (at least 2), with the same extremes and total."""
        if len(self.values) <= most:
            return self
        total = self.n_known
        edges = np.arange(most + 1) * total // most
        middles = (edges[:-1] + edges[1:] - 1) // 2
        middles[0], middles[-1] = 0, total - 1
        return _summed(self.at(middles), np.diff(edges), self.n_missing, exact=False)


def merged_tally(tallies: Sequence[Tally], most: int | None = None) -> Tally:
    """Return the tally of all rows of several tallies, compressed to `most` values if that is given.

    Examples
    --------
    >>> parts = [Tally.of(np.array([1.0, 2.0])), Tally.of(np.array([2.0, 5.0]))]
    >>> merged_tally(parts).counts.tolist()
    [1, 2, 1]
    """
    values, counts = (np.concatenate([getattr(part, name) for part in tallies]) for name in _COLUMNS)
    exact = all(part.exact for part in tallies)
    whole = _summed(values, counts, sum(part.n_missing for part in tallies), exact)
    return whole if most is None else whole.compressed(most)


_COLUMNS = ("values", "counts")


def _summed(values: FloatVector, counts: IntVector, n_missing: int, exact: bool) -> Tally:
    """Return the tally of values that may repeat, in any order."""
    distinct, place = np.unique(values, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, place, counts)
    return Tally(distinct, sums, n_missing, exact)
