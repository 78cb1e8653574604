"""One feature as a lookup table: the entries of a value, and the map from weights to entries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, FloatVector

Codes = NDArray[np.int64]
# Up to this many knots, comparing all values with each knot is faster than a binary search.
FEW_KNOTS = 3
KINDS = ("steps", "lines", "levels")
# The mean over rows of the squared norm of a row of a table's coding, chosen on the tables of the suite.
TABLE_NORM = 8.0


@dataclass(frozen=True)
class Axis:
    """The map from values to entries of a table; the last entry is for missing and unknown values.

    Attributes
    ----------
    kind : "steps", "lines" or "levels"
        With "steps", an entry covers the values from one knot to the next. With "lines", each knot has an
        entry, with linear interpolation in between. With "levels", each knot is a value with its own entry.
    knots : array
        In ascending order.
    """

    kind: str
    knots: FloatVector

    @property
    def missing(self) -> int:
        """The index of the entry for missing and unknown values, the last one."""
        return len(self.knots) + (self.kind == "steps")

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.missing + 1

    def codes(self, x: FloatVector) -> Codes:
        """Return the index of the entry of each value; with lines, the entry on its left."""
        places = self._reached(x)
        if self.kind != "steps":
            places = np.maximum(places - 1, 0)
        unknown = np.isnan(x) if self.kind != "levels" else self.knots[places] != x
        return np.where(unknown, self.missing, places)

    def _reached(self, x: FloatVector) -> Codes:
        """Return the number of knots that are at most each value."""
        if len(self.knots) > FEW_KNOTS:
            return np.searchsorted(self.knots, x, side="right")
        return sum((x >= knot for knot in self.knots), start=np.zeros(x.shape, dtype=np.int64))

    def entries(self, x: FloatVector) -> list[tuple[Codes, Any]]:
        """Return the entries of each value and their interpolation weights."""
        codes = self.codes(x)
        if self.kind != "lines":
            return [(codes, 1.0)]
        share = self._share(x, codes)
        return [(codes, 1.0 - share), (np.where(share > 0, codes + 1, codes), share)]

    def _share(self, x: FloatVector, codes: Codes) -> FloatVector:
        """Return the relative position of each value between two knots; 0 outside of all knots."""
        inside = (codes < len(self.knots) - 1) & (x > self.knots[0])
        left = np.where(inside, codes, 0)
        low, high = self.knots[left], self.knots[np.minimum(left + 1, len(self.knots) - 1)]
        return np.divide(x - low, high - low, where=inside, out=np.zeros(len(x)))

    def look_up(self, x: FloatVector, values: FloatVector) -> FloatVector:
        """Return the value of the curve at each x, given the entries of its table.

        Despite rounding, interpolated values stay between their two entries, so that monotone entries give a
        monotone curve.
        """
        codes = self.codes(x)
        if self.kind != "lines":
            return values[codes]
        share = self._share(x, codes)
        left, right = values[codes], values[np.where(share > 0, codes + 1, codes)]
        return np.clip(left + share * (right - left), np.minimum(left, right), np.maximum(left, right))

    def counts(self, x: FloatVector) -> FloatVector:
        """Return the number of values per entry; with lines, a value counts in two entries by its weights."""
        parts = (
            np.bincount(codes, np.broadcast_to(share, x.shape), self.size) for codes, share in self.entries(x)
        )
        return np.sum(list(parts), axis=0)


def coding_matrix(axis: Axis, counts: FloatVector, coding: str) -> FloatArray:
    """Return the matrix from weights to the entries of a table, shape (axis.size, n_weights).

    With "differences", the weights of steps and lines are the differences of neighboring entries, and the
    entry of the median row is zero; the weights of levels are the entries. With "values", all weights are
    entries. The entry for missing values has a weight if some occurred, and is zero otherwise.

    Examples
    --------
    >>> axis = Axis("steps", np.array([1.0, 2.0]))
    >>> coding_matrix(axis, np.array([5.0, 5.0, 5.0, 0.0]), "differences").astype(int)
    array([[-1,  0],
           [ 0,  0],
           [ 0,  1],
           [ 0,  0]])
    """
    n = axis.missing
    steps = np.eye(n) if coding == "values" or axis.kind == "levels" else _differences(n, middle(counts[:n]))
    matrix = np.zeros((axis.size, steps.shape[1] + int(counts[n] > 0)))
    matrix[:n, : steps.shape[1]] = steps
    matrix[n, steps.shape[1] :] = 1.0
    return matrix


def table_coding(axis: Axis, counts: FloatVector) -> FloatArray:
    """Return the factor of an axis in the coding of a table, shape (axis.size, n_weights).

    A weight of steps is a ramp over two neighboring cuts, which is smoother than a step. The penalty of a
    table of given values does not depend on the number of bins: the squared norm of a row, the product of
    those of two factors, is `TABLE_NORM` on average.
    """
    matrix = coding_matrix(axis, counts, "differences")
    if axis.kind == "steps" and axis.missing > 1:
        n_steps = axis.missing - 1
        ramps = np.add.reduceat(matrix[:, :n_steps], np.arange(0, n_steps, 2), axis=1)
        matrix = np.hstack([ramps, matrix[:, n_steps:]])
    norm = float(counts @ (matrix**2).sum(axis=1)) / max(float(counts.sum()), 1.0)
    return matrix * (TABLE_NORM**0.25 / np.sqrt(norm) if norm > 0 else 1.0)


def weight_names(
    name: str, axis: Axis, counts: FloatVector, coding: str, categories: list[Any] | None = None
) -> list[str]:
    """Return a name for each column of `coding_matrix`; levels may be the numbers of categories."""
    knots = _texts(axis.knots)
    if axis.kind == "levels":
        if categories is not None:
            knots = [str(categories[int(level)]) for level in axis.knots]
        names = [f"{name} = {knot}" for knot in knots]
    elif coding == "differences":
        begins = knots if axis.kind == "steps" else knots[:-1]
        names = [f"{name} {'>=' if axis.kind == 'steps' else '>'} {knot}" for knot in begins]
    elif axis.kind == "lines":
        names = [f"{name} at {knot}" for knot in knots]
    else:
        lower = [f"{knot} <= " for knot in knots]
        upper = [f" < {knot}" for knot in knots]
        names = [f"{low}{name}{high}" for low, high in zip(["", *lower], [*upper, ""], strict=True)]
    return names + ([f"{name} missing"] if counts[axis.missing] > 0 else [])


def _texts(knots: FloatVector) -> list[str]:
    """Format numbers with as few digits as distinguish them."""
    short = [f"{knot:.6g}" for knot in knots]
    return short if len(set(short)) == len(short) else [repr(knot) for knot in knots.tolist()]


def middle(counts: FloatVector) -> int:
    """Return the entry of the median row."""
    total = np.cumsum(counts)
    return int(np.searchsorted(total, total[-1] / 2)) if len(counts) and total[-1] > 0 else 0


def _differences(n: int, zero: int) -> FloatArray:
    """Return the matrix that sums differences from the entry `zero` to each of n entries."""
    entry, step = np.ogrid[:n, 1 : max(n, 1)]
    return ((entry >= step) & (step > zero)).astype(float) - ((entry < step) & (step <= zero))


def cut_points(x: FloatVector, n_bins: int) -> FloatVector:
    """Return the lower edges of bins of about equal counts; between distinct values if these are few.

    Examples
    --------
    >>> cut_points(np.array([1.0, 1.0, 2.0, 5.0]), 8)
    array([1.5, 3.5])
    """
    known = np.sort(x[~np.isnan(x)])
    values = np.unique(known)
    if len(values) <= n_bins:
        lower, upper = values[:-1], values[1:]
        between = lower / 2 + upper / 2
        return np.where(between > lower, between, upper)
    cuts = np.unique(known[np.arange(1, n_bins) * len(known) // n_bins])
    return cuts[cuts > values[0]]


def line_knots(x: FloatVector, n_bins: int) -> FloatVector:
    """Return the knots of about n_bins lines: the lowest value, quantiles and the highest value.

    Examples
    --------
    >>> line_knots(np.array([3.0, 1.0, 2.0, np.nan]), 2)
    array([1., 2., 3.])
    """
    known = np.sort(x[~np.isnan(x)])
    if len(known) == 0:
        return np.zeros(1)
    ranks = np.around((len(known) - 1) * np.linspace(0.0, 1.0, n_bins + 1)).astype(np.int64)
    return np.unique(known[ranks])


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
