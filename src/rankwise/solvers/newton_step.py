"""Newton steps by conjugate gradients, with the scores they lead to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector

# The last step aims at this share of the tolerance: what the quadratic model does not see has the rest.
GOAL_SHARE = 0.5
# Smaller shares of the gradient are not worth their products while the model is still that far off, unless
# the step may be the last one.
RESIDUAL_SHARE, LAST_RESIDUAL_SHARE = 0.25, 0.1


def residual_square(gradient: FloatVector, first_norm: float, aim: float, alpha: float) -> float:
    """Return the square of the residual to leave: one that would end the run, where that is near.

    A gradient of norm r is a gap of r^2 / (4 alpha) at most, and `aim` is the gap to end with. Otherwise it
    is a share of the gradient that falls as the gradient does, from `first_norm` on.
    """
    square = float(gradient @ gradient)
    share = min(RESIDUAL_SHARE, float(np.sqrt(np.sqrt(square) / first_norm)))
    last = GOAL_SHARE * aim * 4 * alpha / square
    return square * (last if last >= min(share, LAST_RESIDUAL_SHARE) ** 2 else share**2)


class NewtonStep:
    """A mean of the points of conjugate gradients, with its scores: the mean with the smallest residual.

    The gap falls with the norm of the residual, which may rise from one point to the next (Schönauer's
    smoothing; Zhou and Walker, SIAM Journal on Scientific Computing 15, 1994). `way` adds up the absolute
    values of the weights of the `n_terms` directions gone.
    """

    def __init__(self, residual: FloatVector, no_scores: Any):
        self.residual, self.way, self.n_terms = residual, np.zeros_like(residual), 0
        self.coef, self.scores = np.zeros_like(residual), no_scores
        self._ahead, self._ahead_scores = self.coef, no_scores  # what the last point has more than the mean

    @property
    def square(self) -> float:
        """The square of the residual's norm."""
        return float(self.residual @ self.residual)

    def add(self, move: FloatVector, move_scores: Any, residual: FloatVector) -> None:
        """Take in the next point, `move` away from the last one, with its residual."""
        share = _share(self.residual, residual)
        ahead, ahead_scores = self._ahead + move, self._ahead_scores + move_scores
        self.residual = self.residual + share * (residual - self.residual)
        self.coef, self.scores = self.coef + share * ahead, self.scores + share * ahead_scores
        self._ahead, self._ahead_scores = (1 - share) * ahead, (1 - share) * ahead_scores
        self.way, self.n_terms = self.way + np.abs(move), self.n_terms + 1


def newton_step(
    gradient: FloatVector,
    no_scores: Any,
    product: Callable[[FloatVector], tuple[Any, FloatVector]],
    precondition: Callable[[FloatVector], FloatVector],
    residual_square: float,
    max_terms: int | None = None,
) -> NewtonStep:
    """Solve Hessian step = -gradient by conjugate gradients until the residual's square is that small.

    Parameters
    ----------
    no_scores :
        The scores of no step: zeros, where the design keeps its scores.
    product : callable
        Returns the scores of a direction, and the product of the Hessian with it.
    precondition : callable
        Returns what is near to the product with the inverse of the Hessian.
    max_terms : int, optional
        The number of products to end with at the latest: ten for each weight by default.
    """
    residual = -gradient
    step, scaled = NewtonStep(residual, no_scores), precondition(residual)
    direction, square = scaled, float(residual @ scaled)
    for _ in range(10 * len(residual) + 10 if max_terms is None else max_terms):
        direction_scores, bent = product(direction)
        curvature = float(direction @ bent)
        if not curvature > 0:  # lost in rounding
            break
        length = square / curvature
        residual = residual - length * bent
        step.add(length * direction, length * direction_scores, residual)
        if step.square <= residual_square:
            break
        scaled = precondition(residual)
        previous, square = square, float(residual @ scaled)
        direction = scaled + (square / previous) * direction
    return step


def _share(first: FloatVector, second: FloatVector) -> float:
    """Return how far to go from one vector towards another for the shortest one."""
    move = second - first
    square = float(move @ move)
    return float(np.clip(-(first @ move) / square, 0.0, 1.0)) if square > 0 else 1.0
