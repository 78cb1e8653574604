"""A lower bound on loss(X w) + alpha ||w||^2 from the planes that touch a convex loss."""

from __future__ import annotations

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.precision import UNIT
from rankwise.solvers.errors import quotient


class DualBound:
    """The largest D(a, b) = b - ||a||^2 / (4 alpha) found among means of planes a'w + b below the loss.

    At scores s, where the loss has coefficients c, the plane with a = X'c and b = loss(s) - c's touches the
    loss from below, and D is the minimum of the plane plus alpha ||w||^2. If s = X w, D is the objective at
    w less ||gradient||^2 / (4 alpha): a single plane gives the bound of strong convexity. A convex
    combination of planes lies below the loss, too, so the plane moves towards each new one as far as D rises.

    Cost: O(n) per plane of n weights, and two vectors.
    """

    def __init__(self, alpha: float, n_features: int):
        self._alpha = alpha
        self._slopes, self._offset = np.zeros(n_features), 0.0  # no loss is negative
        self._slope_error = self._offset_error = 0.0

    def add(self, slopes: FloatVector, offset: float, slope_error: float, offset_error: float) -> None:
        """Move towards a plane, given bounds on the errors of the norm of its slopes and of its offset.

        A convex combination has at most the larger of the two errors, and its own rounding error.
        """
        move, rise = slopes - self._slopes, offset - self._offset
        length = self._length(float(self._slopes @ move), float(move @ move), rise)
        size = float(np.linalg.norm(slopes)) + float(np.linalg.norm(self._slopes))
        self._slope_error = max(self._slope_error, slope_error) + 4.0 * UNIT * size
        self._offset_error = max(self._offset_error, offset_error)
        self._offset_error += 4.0 * UNIT * (abs(offset) + abs(self._offset))
        self._slopes, self._offset = self._slopes + length * move, self._offset + length * rise

    def _length(self, cross: float, square: float, rise: float) -> float:
        """Return the step from one plane, at 0, to another, at 1, at which D is largest."""
        slope, curvature = rise - quotient(cross, 2.0 * self._alpha), quotient(square, 2.0 * self._alpha)
        if not curvature > 0:
            return float(slope > 0)
        return float(np.clip(quotient(slope, curvature), 0.0, 1.0)) if np.isfinite(curvature) else 0.0

    def certified(self, relative: float) -> float:
        """Return D less its rounding error, given the relative error of a sum over columns."""
        norm = float(np.linalg.norm(self._slopes)) * (1.0 + relative) + self._slope_error
        penalty = float(quotient(norm * norm, 4.0 * self._alpha)) * (1.0 + 4.0 * UNIT)
        return self._offset - self._offset_error - penalty
