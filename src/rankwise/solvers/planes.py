"""The cutting-plane model of a loss and its minimizer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankwise import _native
from rankwise.core.types import FloatVector
from rankwise.data.precision import UNIT, rounding_terms

# The relative accuracy of the dual in double precision, in units of its largest term.
ROUNDING = 1e-13
MAX_STEPS = 20_000


class Planes:
    """The lower bound max_i (a_i'w + b_i) of a convex loss, and the minimizer of it plus alpha ||w||^2.

    The minimizer is w = -sum_i z_i a_i / (2 alpha), where z maximizes b'z - z'G z / (4 alpha) over the
    simplex with G_ij = a_i'a_j (the dual of equation (3) of Airola et al. 2011). Planes do not depend on
    alpha, so one model serves a whole path of alphas.

    With unscaled features the entries of G / alpha lie many orders of magnitude above the tolerance of the
    dual, and rounding dominates. From then on G is kept in double-double precision.

    Cost: O(t n) to add the t-th plane of n weights; t is some dozens.
    """

    bounded = False  # whether some weights are constrained

    def __init__(self, n_features: int):
        self._planes = np.empty((8, n_features))
        self._gram = np.zeros((8, 8))
        self._gram_low = np.zeros((8, 8))
        self._offsets = np.zeros(8)
        self._idle = np.zeros(8, dtype=np.int64)
        self._z = np.zeros(8)
        self._precise = False
        self.count = 0
        self.largest_offset = 0.0  # in absolute value, of all planes ever added

    def add(self, gradient: FloatVector, offset: float) -> None:
        """Add the plane gradient'w + offset."""
        if self.count == len(self._offsets):
            self._grow(2 * self.count)
        t = self.count
        self._planes[t] = gradient
        self._offsets[t] = offset
        self.largest_offset = max(self.largest_offset, abs(offset))
        self._idle[t] = 0
        self._z[t] = 0.0
        self.count += 1
        self._fill_gram(t)

    def feasible(self, coef: FloatVector) -> FloatVector:
        """Return the nearest feasible weights (here the weights themselves)."""
        return coef

    def longest_step(self, coef: FloatVector, target: FloatVector) -> float:
        """Return the largest feasible step along a line (unbounded here)."""
        return np.inf

    def minimise(self, alpha: float, tol: float) -> tuple[FloatVector, float]:
        """Return the minimizer of the model plus alpha ||w||^2 and a lower bound of its minimum.

        The bound is the dual value less its rounding error, so it holds however accurately the program was
        solved.
        """
        t, scale = self.count, 2.0 * alpha
        start = self._z[:t].copy()
        if not start.any():
            start[-1] = 1.0
        if not self._precise and ROUNDING * self._gram.diagonal()[:t].max() > scale * tol:
            self._precise = True
            for row in range(t):
                self._fill_gram(row)
        offsets, planes = self._offsets[:t], self._planes[:t]
        if self._precise:
            z, z_low, _, _ = _native.simplex_qp_extended(
                self._gram, self._gram_low, scale * offsets, start, scale * tol, MAX_STEPS
            )
            w = _native.extended_combination(planes, z, z_low) / -scale
        else:
            z, _, _ = _native.simplex_qp(self._gram, scale * offsets, start, scale * tol, MAX_STEPS)
            z_low = np.zeros(t)
            w = (z @ planes) / -scale
        self._z[:t] = z
        self._idle[:t] = np.where(z > 0, 0, self._idle[:t] + 1)
        return w, float(offsets @ z + offsets @ z_low - alpha * (w @ w)) - self._error(alpha, z, w)

    def _error(self, alpha: float, z: FloatVector, w: FloatVector) -> float:
        """Return the error of the dual value: w is a sum of planes, which may be far longer than w."""
        longest = 0.0 if self._precise else float(np.sqrt(self._gram.diagonal()[: len(z)]) @ z)
        length = np.linalg.norm(w)
        return UNIT * rounding_terms(len(z)) * float(1.0 + length * longest + alpha * length**2)

    def _fill_gram(self, t: int) -> None:
        """Compute row and column t of G, up to the diagonal."""
        planes = self._planes[: t + 1]
        if self._precise:
            high, low = _native.extended_products(planes, planes[t])
        else:
            high, low = planes @ planes[t], np.zeros(t + 1)
        for gram, column in ((self._gram, high), (self._gram_low, low)):
            gram[t, : t + 1] = column
            gram[: t + 1, t] = column

    def drop_idle(self, iterations: int) -> None:
        """Drop the planes whose multipliers were zero for this many iterations."""
        keep = np.flatnonzero(self._idle[: self.count] < iterations)
        if len(keep) == self.count:
            return
        t = len(keep)
        self._planes[:t] = self._planes[keep]
        for gram in (self._gram, self._gram_low):
            gram[:t, :t] = gram[np.ix_(keep, keep)]
        for column in (self._offsets, self._idle, self._z):
            column[:t] = column[keep]
        self.count = t

    def state(self) -> dict[str, NDArray]:
        """Return the arrays from which `restore` makes the same model."""
        t = self.count
        columns = {name: getattr(self, f"_{name}")[:t].copy() for name in ("planes", "offsets", "idle", "z")}
        grams = {name: getattr(self, f"_{name}")[:t, :t].copy() for name in ("gram", "gram_low")}
        numbers = {"largest_offset": self.largest_offset, "is_precise": self._precise}
        return columns | grams | {name: np.array(value) for name, value in numbers.items()}

    def restore(self, state: dict[str, NDArray]) -> None:
        """Take the planes of another model of as many weights."""
        t = len(state["offsets"])
        while len(self._offsets) < t:
            self._grow(2 * len(self._offsets))
        for name in ("planes", "offsets", "idle", "z"):
            getattr(self, f"_{name}")[:t] = state[name]
        for name in ("gram", "gram_low"):
            getattr(self, f"_{name}")[:t, :t] = state[name]
        self.count, self._precise = t, bool(state["is_precise"])
        self.largest_offset = float(state["largest_offset"])

    def _grow(self, room: int) -> None:
        def widened(array: NDArray, shape: tuple[int, ...]) -> NDArray:
            larger = np.zeros(shape, dtype=array.dtype)
            larger[tuple(map(slice, array.shape))] = array
            return larger

        self._planes = widened(self._planes, (room, self._planes.shape[1]))
        self._gram = widened(self._gram, (room, room))
        self._gram_low = widened(self._gram_low, (room, room))
        self._offsets = widened(self._offsets, (room,))
        self._idle = widened(self._idle, (room,))
        self._z = widened(self._z, (room,))
