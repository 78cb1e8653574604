"""The cutting-plane model of a loss with nonnegative weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rankwise import _native
from rankwise.core.types import FloatVector
from rankwise.solvers.planes import MAX_STEPS, Planes

# Active sets are tried until the dual rises by less than this fraction of its tolerance.
RISE_FRACTION = 0.1
MAX_ROUNDS = 100


class BoundedPlanes(Planes):
    """The lower bound max_i (a_i'w + b_i) of a convex loss, and its minimizer over weights w_j >= 0, j in J.

    For a mean a'w + b of the planes, the minimum over such w of a'w + b + alpha ||w||^2 is
    b - ||p||^2 / (4 alpha), where p_j is min(a_j, 0) in J and a_j elsewhere, at w = -p / (2 alpha). Each mean
    gives a lower bound, and the largest is sought: with the current active set, the best mean solves a
    quadratic program over the simplex, and the step towards it goes as far as the bound rises.

    Parameters
    ----------
    nonnegative : array of bool
        The weights of J.
    """

    bounded = True

    def __init__(self, nonnegative: NDArray[np.bool_]):
        super().__init__(len(nonnegative))
        self._nonnegative = nonnegative

    def feasible(self, coef: FloatVector) -> FloatVector:
        """Return the nearest weights that are nonnegative in J."""
        return np.where(self._nonnegative, np.maximum(coef, 0.0), coef)

    def longest_step(self, coef: FloatVector, target: FloatVector) -> float:
        """Return the largest feasible step along a line from one point, at 0, through another, at 1."""
        falling = self._nonnegative & (target < coef)
        return max(1.0, float(np.min(coef[falling] / (coef - target)[falling], initial=np.inf)))

    def minimise(self, alpha: float, tol: float) -> tuple[FloatVector, float]:
        """Return the minimizer of the model plus alpha ||w||^2 and a lower bound of its minimum.

        The bound is a dual value, so it holds however accurately the program was solved.
        """
        t = self.count
        z = self._z[:t].copy()
        if not z.any():
            z[-1] = 1.0
        value = self._dual(alpha, z)
        for _ in range(MAX_ROUNDS):
            z = self._moved(alpha, z, self._candidate(alpha, z, tol))
            before, value = value, self._dual(alpha, z)
            if value - before <= RISE_FRACTION * tol:
                break
        self._z[:t] = z
        self._idle[:t] = np.where(z > 0, 0, self._idle[:t] + 1)
        w = self._weights(alpha, z @ self._planes[:t])
        return w, value - self._error(alpha, z, w)

    def _weights(self, alpha: float, slopes: FloatVector) -> FloatVector:
        return self.feasible(slopes / (-2.0 * alpha))

    def _dual(self, alpha: float, z: FloatVector) -> float:
        w = self._weights(alpha, z @ self._planes[: len(z)])
        return float(self._offsets[: len(z)] @ z - alpha * (w @ w))

    def _candidate(self, alpha: float, z: FloatVector, tol: float) -> FloatVector:
        """Return the best mean if the active weights stay zero and no other bound is active."""
        planes, scale = self._planes[: len(z)], 2.0 * alpha
        free = planes[:, ~self._nonnegative | (z @ planes <= 0)]
        gram = np.ascontiguousarray(free @ free.T)
        return _native.simplex_qp(gram, scale * self._offsets[: len(z)], z, scale * tol, MAX_STEPS)[0]

    def _moved(self, alpha: float, z: FloatVector, target: FloatVector) -> FloatVector:
        """Return the best mean on the segment between two: the dual is concave, and its slope falls."""
        t = len(z)
        move = target - z
        slopes, turn = z @ self._planes[:t], move @ self._planes[:t]
        rise = float(self._offsets[:t] @ move)

        def slope(step: float) -> float:
            return rise + float(self._weights(alpha, slopes + step * turn) @ turn)

        if slope(0.0) <= 0:
            return z
        step = 1.0 if slope(1.0) >= 0 else brentq(slope, 0.0, 1.0, xtol=1e-12)
        return np.maximum(z + step * move, 0.0)
