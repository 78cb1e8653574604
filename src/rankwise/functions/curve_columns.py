"""The columns of rows as bins see them: values for quantiles, levels, and counts of entries of an axis."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rankwise.core.types import FloatArray, FloatVector
from rankwise.functions.curve_axis import Axis

# With more rows than this, quantiles are those of a sample.
SAMPLED_ROWS = 1 << 17


class Columns:
    """The columns of checked rows; a feature is given by its place.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
        NaN is a missing value.
    """

    def __init__(self, X: FloatArray):
        self.X = X

    def sample(self, place: int) -> FloatVector:
        """Return the values of a feature for quantiles, of a sample if there are many rows."""
        return self._sample[:, place]

    def levels(self, place: int) -> FloatVector:
        """Return all distinct values of a feature of categories; 0 if all are missing."""
        x = self.X[:, place]
        values = np.unique(x[~np.isnan(x)])
        return values if len(values) else np.zeros(1)

    def counts(self, axes: list[Axis]) -> list[FloatVector]:
        """Return the number of rows per entry of the axis of each feature."""
        return [axis.counts(x) for axis, x in zip(axes, self.X.T, strict=True)]

    @cached_property
    def _sample(self) -> FloatArray:
        if len(self.X) <= SAMPLED_ROWS:
            return self.X
        return self.X[np.random.default_rng(0).choice(len(self.X), SAMPLED_ROWS, replace=False)]
