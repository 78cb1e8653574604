"""One feature as a table: which entries a value meets, and how weights make the entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, FloatVector

Codes = NDArray[np.int64]
# So many comparisons of all values are faster than a search for each.
FEW_KNOTS = 3
KINDS = ("steps", "lines", "levels")


@dataclass(frozen=True)
class Axis:
    """How a value meets the entries of a table; the last entry is for missing and unknown values.

    Attributes
    ----------
    kind : "steps", "lines" or "levels"
        With "steps" an entry holds from one knot up to the next; with "lines" there is an entry for each
        knot and a line between two of them; with "levels" each knot is a value with an entry of its own.
    knots : array
        In ascending order.
    """

    kind: str
    knots: FloatVector

    @property
    def missing(self) -> int:
        """The place of the entry for missing and unknown values, which is the number of the others."""
        return len(self.knots) + (self.kind == "steps")

    @property
    def size(self) -> int:
        """The number of entries."""
        return self.missing + 1

    def codes(self, x: FloatVector) -> Codes:
        """Return the entry that each value meets; with lines, the one to the left of it."""
        places = self._reached(x)
        if self.kind != "steps":
            places = np.maximum(places - 1, 0)
        unknown = np.isnan(x) if self.kind != "levels" else self.knots[places] != x
        return np.where(unknown, self.missing, places)

    def _reached(self, x: FloatVector) -> Codes:
        """Return how many knots each value has reached."""
        if len(self.knots) > FEW_KNOTS:
            return np.searchsorted(self.knots, x, side="right")
        return sum((x >= knot for knot in self.knots), start=np.zeros(x.shape, dtype=np.int64))

    def entries(self, x: FloatVector) -> list[tuple[Codes, Any]]:
        """Return the entries that each value meets, each with its weight."""
        codes = self.codes(x)
        if self.kind != "lines":
            return [(codes, 1.0)]
        share = self._share(x, codes)
        return [(codes, 1.0 - share), (np.where(share > 0, codes + 1, codes), share)]

    def _share(self, x: FloatVector, codes: Codes) -> FloatVector:
        """Return how far each value is on its way from one knot to the next: 0 outside of all knots."""
        inside = (codes < len(self.knots) - 1) & (x > self.knots[0])
        left = np.where(inside, codes, 0)
        low, high = self.knots[left], self.knots[np.minimum(left + 1, len(self.knots) - 1)]
        return np.divide(x - low, high - low, where=inside, out=np.zeros(len(x)))

    def look_up(self, x: FloatVector, values: FloatVector) -> FloatVector:
        """Return the value of the curve at each x, given the entries of its table.

        Between two entries it never leaves them by rounding, so that lines keep the direction of the entries.
        """
        codes = self.codes(x)
        if self.kind != "lines":
            return values[codes]
        share = self._share(x, codes)
        left, right = values[codes], values[np.where(share > 0, codes + 1, codes)]
        return np.clip(left + share * (right - left), np.minimum(left, right), np.maximum(left, right))

    def counts(self, x: FloatVector) -> FloatVector:
        """Return the number of values that meet each entry, with fractions if a value meets two."""
        parts = (
            np.bincount(codes, np.broadcast_to(share, x.shape), self.size) for codes, share in self.entries(x)
        )
        return np.sum(list(parts), axis=0)


def coding_matrix(axis: Axis, counts: FloatVector, coding: str) -> FloatArray:
    """Return the matrix from weights to the entries of a table, shape (axis.size, n_weights).

    With "differences" the weights of steps and lines are the differences of neighbouring entries, and the
    entry in the middle of the rows is zero; those of levels are the entries. With "values" all weights are
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
    """Return short texts that distinguish numbers."""
    short = [f"{knot:.6g}" for knot in knots]
    return short if len(set(short)) == len(short) else [repr(knot) for knot in knots.tolist()]


def middle(counts: FloatVector) -> int:
    """Return the entry that the row in the middle meets."""
    total = np.cumsum(counts)
    return int(np.searchsorted(total, total[-1] / 2)) if len(counts) and total[-1] > 0 else 0


def _differences(n: int, zero: int) -> FloatArray:
    """Return the sums of differences on the way from the entry `zero` to each of n entries."""
    entry, step = np.ogrid[:n, 1 : max(n, 1)]
    return ((entry >= step) & (step > zero)).astype(float) - ((entry < step) & (step <= zero))


def cut_points(x: FloatVector, n_bins: int) -> FloatVector:
    """Return the begins of bins of about equal counts: between distinct values if these are few.

    Examples
    --------
    >>> cut_points(np.array([1.0, 1.0, 2.0, 5.0]), 8)
    array([1.5, 3.5])
    """
    known = np.sort(x[~np.isnan(x)])
    distinct = known[np.diff(known, prepend=-np.inf) > 0]
    if len(distinct) <= n_bins:
        lower, upper = distinct[:-1], distinct[1:]
        between = lower / 2 + upper / 2
        return np.where(between > lower, between, upper)
    cuts = np.unique(known[np.arange(1, n_bins) * len(known) // n_bins])
    return cuts[cuts > distinct[0]]


def line_knots(x: FloatVector, n_bins: int) -> FloatVector:
    """Return the ends of about n_bins lines: the lowest and the highest value, and quantiles between."""
    known = x[~np.isnan(x)]
    if len(known) == 0:
        return np.zeros(1)
    return np.unique(np.quantile(known, np.linspace(0.0, 1.0, n_bins + 1), method="nearest"))
