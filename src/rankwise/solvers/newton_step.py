"""Newton steps by conjugate gradients, with the scores they lead to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.design import ScoreVector

# The last step aims at this fraction of the target gap: the error of the quadratic model takes the rest.
TARGET_FRACTION = 0.5
# Forcing terms: a smaller residual, relative to the gradient, does not pay until the last step.
FORCING_TERM, LAST_FORCING_TERM = 0.25, 0.1


def residual_square(gradient: FloatVector, first_norm: float, target_gap: float, alpha: float) -> float:
    """Return the squared residual to stop at: one that would end the run, if that is within reach.

    A gradient of norm r certifies a gap of r^2 / (4 alpha). Otherwise the forcing term falls with the
    gradient, relative to the first one.
    """
    square = float(gradient @ gradient)
    if square == 0.0 or first_norm == 0.0:
        return 0.0
    forcing = min(FORCING_TERM, float(np.sqrt(np.sqrt(square) / first_norm)))
    last = TARGET_FRACTION * target_gap * 4 * alpha / square
    return square * (last if last >= min(forcing, LAST_FORCING_TERM) ** 2 else forcing**2)


class NewtonStep:
    """The convex combination of conjugate-gradient iterates with the smallest residual, and its scores.

    The gap falls with the norm of the residual, which is not monotone over the iterates (Schönauer's
    smoothing; Zhou and Walker, SIAM Journal on Scientific Computing 15, 1994). `path_length` sums the
    absolute weights of the `n_terms` moves.
    """

    def __init__(self, residual: FloatVector, no_scores: ScoreVector):
        self.residual, self.path_length, self.n_terms = residual, np.zeros_like(residual), 0
        self.coef, self.scores = np.zeros_like(residual), no_scores
        self._ahead, self._ahead_scores = self.coef, no_scores  # the last iterate minus the combination

    @property
    def square(self) -> float:
        """The squared norm of the residual."""
        return float(self.residual @ self.residual)

    def add(
        self, length: float, direction: FloatVector, direction_scores: ScoreVector, residual: FloatVector
    ) -> None:
        """Add the next iterate, `length` along a direction from the last one, with its residual."""
        weight, move = _shortest(self.residual, residual), length * direction
        ahead = self._ahead + move
        self.residual = self.residual + weight * (residual - self.residual)
        self.coef, self._ahead = self.coef + weight * ahead, (1 - weight) * ahead
        # One at a time, so that each replaced vector of scores is freed: they have one number per row.
        self._ahead_scores = self._ahead_scores + length * direction_scores
        self.scores = self.scores + weight * self._ahead_scores
        self._ahead_scores = (1 - weight) * self._ahead_scores
        self.path_length, self.n_terms = self.path_length + np.abs(move), self.n_terms + 1


def newton_step(
    gradient: FloatVector,
    no_scores: ScoreVector,
    product: Callable[[FloatVector], tuple[ScoreVector, FloatVector]],
    precondition: Callable[[FloatVector], FloatVector],
    residual_square: float,
    max_terms: int | None = None,
) -> NewtonStep:
    """Solve Hessian step = -gradient by conjugate gradients until the squared residual is small enough.

    Parameters
    ----------
    no_scores : ScoreVector
        The scores of a zero step.
    product : callable
        Returns the scores of a direction, and the Hessian times the direction.
    precondition : callable
        Multiplies by an approximate inverse of the Hessian.
    residual_square : float
        The squared residual to stop at.
    max_terms : int, optional
        The largest number of products; ten per weight by default.
    """
    residual = -gradient
    step, scaled = NewtonStep(residual, no_scores), precondition(residual)
    direction, square = scaled, float(residual @ scaled)
    for _ in range(10 * len(residual) + 10 if max_terms is None else max_terms):
        direction_scores, hessian_direction = product(direction)
        curvature = float(direction @ hessian_direction)
        if not curvature > 0:  # lost in rounding
            break
        length = square / curvature
        residual = residual - length * hessian_direction
        step.add(length, direction, direction_scores, residual)
        if step.square <= residual_square:
            break
        scaled = precondition(residual)
        previous, square = square, float(residual @ scaled)
        direction = scaled + (square / previous) * direction
    return step


def _shortest(first: FloatVector, second: FloatVector) -> float:
    """Return the step from one vector towards another, within [0, 1], at which the norm is smallest."""
    move = second - first
    square = float(move @ move)
    return float(np.clip(-(first @ move) / square, 0.0, 1.0)) if square > 0 else 1.0
