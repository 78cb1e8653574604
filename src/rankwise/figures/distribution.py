"""Histograms of a measure over queries, and ROC curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_curve

from rankwise.core.types import FloatArray
from rankwise.metrics import ranking_error

BINS = 20
MAX_CURVE_POINTS = 200


@dataclass(frozen=True)
class Distribution:
    """The values of a measure over the queries for which it is defined.

    Examples
    --------
    >>> found = Distribution.of([0.25, np.nan, 0.75])
    >>> found.mean, found.limits, found.histogram(4)[0]
    (0.5, (0.0, 1.0), array([0, 1, 0, 1]))
    """

    values: FloatArray

    @classmethod
    def of(cls, values: ArrayLike) -> Distribution:
        """Drop undefined values."""
        array = np.asarray(values, dtype=np.float64)
        return cls(array[~np.isnan(array)])

    @property
    def mean(self) -> float:
        """The mean over the queries."""
        return float(self.values.mean())

    @property
    def limits(self) -> tuple[float, float]:
        """The limits of the axis: 0 and 1, extended to the next tenth if values are outside."""
        low, high = np.floor(self.values.min() * 10) / 10, np.ceil(self.values.max() * 10) / 10
        return min(0.0, float(low)), max(1.0, float(high))

    def histogram(self, bins: Any = BINS) -> tuple[NDArray[Any], FloatArray]:
        """Return the number of queries in each bin, and the edges of the bins."""
        return np.histogram(self.values, bins=bins, range=self.limits)


class Roc(NamedTuple):
    """A ROC curve and the area under it, the fraction of pairs in the right order."""

    false: FloatArray
    true: FloatArray
    area: float


def roc(positive: NDArray[np.bool_], scores: FloatArray, weight: FloatArray | None = None) -> Roc:
    """Return the ROC curve of scores, thinned out to at most 200 points.

    Examples
    --------
    >>> roc(np.array([False, True, False]), np.array([0.1, 0.9, 0.5])).area
    1.0
    """
    false, true, _ = roc_curve(positive, scores, sample_weight=weight)
    kept = np.unique(np.linspace(0, len(false) - 1, min(len(false), MAX_CURVE_POINTS)).astype(int))
    return Roc(false[kept], true[kept], 1.0 - float(ranking_error(positive, scores, sample_weight=weight)))
