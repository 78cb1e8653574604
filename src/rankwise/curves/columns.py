"""The columns of rows as bins see them: the counts of their values, and of the entries of an axis."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from rankwise.core.types import FloatArray, FloatVector
from rankwise.curves.axis import Axis
from rankwise.data.tally import Tally

# With more rows than this, quantiles are those of a sample.
SAMPLED_ROWS = 1 << 17


class Columns(Protocol):
    """The columns of checked rows; a feature is given by its place."""

    def tally(self, place: int) -> Tally:
        """Return the values of a numeric feature and their counts, for quantiles."""

    def levels(self, place: int) -> FloatVector:
        """Return all distinct values of a feature of categories, at least one number."""

    def counts(self, axes: list[Axis]) -> list[FloatVector]:
        """Return the number of rows per entry of the axis of each feature."""


class MemoryColumns:
    """The columns of an array.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        NaN is a missing value.
    """

    def __init__(self, X: FloatArray):
        self.X = X

    def tally(self, place: int) -> Tally:
        """Return the values of a feature and their counts, of a sample if there are many rows."""
        return Tally.of(self._sample[:, place])

    def levels(self, place: int) -> FloatVector:
        """Return all distinct values of a feature."""
        return levels_of(Tally.of(self.X[:, place]))

    def counts(self, axes: list[Axis]) -> list[FloatVector]:
        """Return the number of rows per entry of the axis of each feature."""
        return [axis.counts(x) for axis, x in zip(axes, self.X.T, strict=True)]

    @cached_property
    def _sample(self) -> FloatArray:
        if len(self.X) <= SAMPLED_ROWS:
            return self.X
        return self.X[np.random.default_rng(0).choice(len(self.X), SAMPLED_ROWS, replace=False)]


def levels_of(tally: Tally) -> FloatVector:
    """Return the levels of a feature of categories; 0 if all values are missing."""
    return tally.values if len(tally.values) else np.zeros(1)
