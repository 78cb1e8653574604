"""Newton steps for a loss without a Hessian: the mean over very many pairs is as good as smooth."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.losses import PiecewiseLinear
from rankwise.solvers.newton_step import NewtonStep, newton_step, residual_square
from rankwise.solvers.planes import Planes

# Slopes are compared at scores that are this far apart (standard deviation), in margins.
DISTANCE = 0.05
# Differences are no exact products: more of them than this do not bring the step nearer.
MAX_PRODUCTS = 25


class DifferenceSteps:
    """Newton steps with products of the Hessian from differences of slopes.

    The product with a direction d is (X'c(w + h d) - X'c(w)) / h for a small h. It costs what a product with
    a Hessian costs, and the point w + h d leaves its plane in the model of the loss.
    """

    def __init__(self, design: Design, loss: PiecewiseLinear, alpha: float, planes: Planes):
        self._design, self._loss, self._alpha, self._planes = design, loss, alpha, planes
        self._precondition = design.preconditioner(loss, 0.5 * loss.half_weight, 2 * alpha)
        self._first: float | None = None

    def step(self, coef: FloatVector, scores: FloatVector, slopes: FloatVector, aim: float) -> NewtonStep:
        """Return the step from weights with these scores and slopes X'c, to a gap of about `aim` at best."""
        gradient = slopes + 2 * self._alpha * coef
        if self._first is None:
            self._first = float(np.linalg.norm(gradient))

        def product(direction: FloatVector) -> tuple[Any, FloatVector]:
            direction_scores = self._design.matvec(direction)
            h = DISTANCE / max(float(np.std(direction_scores)), 1e-300)
            _, coefficients, offset = self._loss.plane(scores + h * direction_scores)
            there = self._design.rmatvec(coefficients)
            self._planes.add(there, offset)
            return direction_scores, (there - slopes) / h + 2 * self._alpha * direction

        left = residual_square(gradient, self._first, aim, self._alpha)
        return newton_step(gradient, 0.0 * scores, product, self._precondition, left, MAX_PRODUCTS)
