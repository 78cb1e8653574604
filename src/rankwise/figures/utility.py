"""Rows by utility: one lane per rank, and the thresholds between ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.core.types import FloatArray, IntArray

# The height of the jitter within a lane.
LANE = 0.8
MARGIN = 0.04
BINS = 40
GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class UtilityAxis:
    """Rows and thresholds on the axis of utility, and the accuracy per rank.

    Attributes
    ----------
    utility : array of shape (n_rows,)
    rank : array of int of shape (n_rows,)
        The number of each row's class.
    thresholds : array of shape (n_classes - 1,)

    Examples
    --------
    >>> axis = UtilityAxis(np.array([0.0, 1.0, 3.0]), np.array([0, 1, 1]), np.array([2.0]))
    >>> axis.predicted, axis.share(0), axis.share(1)
    (array([0, 0, 1]), 1.0, 0.5)
    """

    utility: FloatArray
    rank: IntArray
    thresholds: FloatArray

    @property
    def limits(self) -> tuple[float, float]:
        """The limits of the axis, with a margin around all rows and thresholds."""
        values = np.concatenate([self.utility, self.thresholds])
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        space = MARGIN * (high - low) or 0.5
        return low - space, high + space

    @property
    def fence(self) -> FloatArray:
        """The limits and the thresholds: rank k is from fence[k] to fence[k + 1]."""
        low, high = self.limits
        return np.concatenate([[low], self.thresholds, [high]])

    @property
    def predicted(self) -> IntArray:
        """The predicted rank of each row."""
        return np.searchsorted(self.thresholds, self.utility)

    def share(self, k: int) -> float:
        """Return the fraction of the rows of rank k that are predicted correctly, NaN without rows."""
        right = self.predicted[self.rank == k] == k
        return float(right.mean()) if len(right) else float("nan")

    def lane(self, k: int, step: int = 1) -> tuple[IntArray, FloatArray]:
        """Return the rows of rank k by increasing utility, and the jitter of each within its lane.

        The jitter grows with the density of rows. A `step` of 10 takes every tenth row only.
        """
        rows = np.flatnonzero(self.rank == k)
        rows = rows[np.argsort(self.utility[rows], kind="stable")][::step]
        values = self.utility[rows]
        counts, edges = np.histogram(values, np.histogram_bin_edges(self.utility, bins=BINS))
        nearby = np.interp(values, (edges[1:] + edges[:-1]) / 2, counts / max(int(counts.max(initial=0)), 4))
        return rows, LANE * nearby * ((np.arange(len(rows)) * GOLDEN) % 1 - 0.5)
