"""Newton steps for a loss without a Hessian: the mean over very many pairs is nearly smooth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.design import ScoreVector
from rankwise.solvers.line_search import minimise_on_line
from rankwise.solvers.newton_step import NewtonStep, newton_step, residual_square
from rankwise.solvers.objective import Iterate, Line, Objective
from rankwise.solvers.planes import Planes

# Slopes are compared at scores that differ by this standard deviation, in margins.
DISTANCE = 0.05
# Differences are inexact products: more than this many do not improve the step.
MAX_PRODUCTS = 25
# Steps are taken once the gap is this fraction of the attainable improvement, as long as each leaves at most
# this fraction of the gap.
FROM_FRACTION, KEPT_FRACTION = 0.3, 0.5
# A line is searched until its slope is this fraction of that at its start.
SLOPE_FRACTION = 0.25


class NewtonByDifferences:
    """Newton steps with Hessian products from differences of slopes, as long as each step halves the gap.

    The product with a direction d is (X'c(w + h d) - X'c(w)) / h for a small h. It costs as much as an exact
    product, and the plane at w + h d is added to the model.
    """

    def __init__(self, objective: Objective, planes: Planes):
        self._objective, self._planes = objective, planes
        self._precondition: Callable[[FloatVector], FloatVector] | None = None
        self._first_norm, self._last_gap, self.is_over = 0.0, np.inf, False

    def moved(self, best: Iterate, gap: float, improvement: float, target_gap: float) -> Iterate | None:
        """Return the point after a step, or None if it is too early or steps no longer pay."""
        halves, self._last_gap = gap <= KEPT_FRACTION * self._last_gap, gap
        if self._precondition is None:
            if self.is_over or gap > FROM_FRACTION * improvement:
                return None
            self._begin(best)
        elif not halves:
            self.is_over = True
        if self.is_over:
            return None
        step = self._step(best, target_gap)
        line = Line(best, step.coef, step.scores)
        found = minimise_on_line(line.at, line.start, 1.0, 0.0, slope_fraction=SLOPE_FRACTION).best
        self.is_over = found is line.start
        return None if self.is_over else line.iterate(found)

    def _begin(self, best: Iterate) -> None:
        of = self._objective
        self._precondition = of.design.preconditioner(of.loss, 0.5 * of.loss.half_weight, 2 * of.alpha)
        self._first_norm = float(np.linalg.norm(best.gradient))

    def _step(self, best: Iterate, target_gap: float) -> NewtonStep:
        of = self._objective
        assert self._precondition is not None

        def product(direction: FloatVector) -> tuple[ScoreVector, FloatVector]:
            direction_scores = of.design.matvec(direction)
            h = DISTANCE / max(float(np.std(direction_scores)), 1e-300)
            _, coefficients, offset = of.loss.plane(best.scores + h * direction_scores)
            there = of.design.rmatvec(coefficients)
            self._planes.add(there, offset)
            return direction_scores, (there - best.slopes) / h + 2 * of.alpha * direction

        left = residual_square(best.gradient, self._first_norm, target_gap, of.alpha)
        return newton_step(best.gradient, 0.0 * best.scores, product, self._precondition, left, MAX_PRODUCTS)
