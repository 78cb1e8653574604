"""Truncated Newton for smooth pairwise losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.losses import Smooth
from rankwise.losses.base import ScoreHessian
from rankwise.solvers.dual import DualBound
from rankwise.solvers.goal import Goal
from rankwise.solvers.line_search import Point, minimise_on_line
from rankwise.solvers.newton_step import NewtonStep, newton_step, residual_square
from rankwise.solvers.result import Monitor, SolverResult, concluded, distance, require
from rankwise.solvers.rounding import Rounding, share_left

# A line is searched until its slope is this share of that at its start: an evaluation of the squared hinge
# costs as much as a product with its Hessian.
SLOPE_SHARE = 0.25
# A step that does not lower the objective is taken where it leaves at most this share of the square of the
# gradient, which is what certifies.
STALLED_SHARE = 0.75
# The preconditioner costs about one product with the Hessian or a few, and is renewed after so many.
PRODUCTS_PER_PRECONDITIONER = 10


def solve_newton(
    design: Design,
    loss: Smooth,
    alpha: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatVector | None = None,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Minimise loss(X w) + alpha ||w||^2 by Newton steps from conjugate gradients and a line search.

    The Hessian is X' H X + 2 alpha I with H the Hessian of the loss by the scores (Chapelle & Keerthi 2010;
    Lee & Lin 2014); a product with it costs one product with X, one with X' and O(m log m). The conjugate
    gradients, preconditioned as the design knows how, also yield X times the step, so that the line
    search never touches X, and its last point has all that the next gradient needs but one product with X'.

    Strong convexity certifies the result: the objective is at most ||gradient||^2 / (4 alpha) above its
    minimum. So does the best mean of the planes that touch the loss at the points on the way. The run ends
    when the smaller of the two has reached its `Goal`.
    """
    require(loss, "hessian", "Newton's method")
    monitor = Monitor() if monitor is None else monitor
    problem, goal = _Problem(design.centred(), loss, alpha), Goal(tol, loss.at_zero)
    status, iteration = "max_iter", 0
    point = problem.first(start)
    first = float(np.linalg.norm(point.gradient))
    gap = certified = np.inf
    try:
        for iteration in range(1, max_iter + 1):
            certified = problem.certified(point)
            gap = min(point.square / (4 * alpha), certified)
            aim = float(goal.gap(point.objective, gap, problem.rounded(point)))
            monitor.record(iteration, point.objective, problem.bound, point.coef, aim)
            if monitor.told_to_stop:
                status = "stopped"
                break
            if gap <= share_left(aim, certified - gap) and not problem.may_leave_zero(point):
                status = "converged"
                break
            left = residual_square(point.gradient, first, aim, alpha)
            moved = problem.moved(point, problem.newton_step(point, left))
            if moved is None:
                status = "stalled"
                break
            point = moved
    except KeyboardInterrupt:
        status = "interrupted"
    if status != "converged" or certified > goal.gap(point.objective, certified):
        # The scores were summed along many lines: computed from the weights alone, they are off by less.
        point = problem.at(point.coef)
        certified = problem.certified(point)
    rounded = problem.rounded(point)
    return concluded(
        point.coef, point.objective, certified, iteration, status, monitor.history, goal, rounded
    )


@dataclass
class _Iterate:
    """Weights with their scores, and the objective and its gradient there.

    `slopes` is X'c for the coefficients c of the loss, `offset` is loss(s) - c's, and `drift` is what the
    scores may be off by beyond the rounding of X w.
    """

    coef: FloatVector
    scores: Any
    drift: float
    objective: float
    gradient: FloatVector
    slopes: FloatVector
    offset: float

    @property
    def square(self) -> float:
        """The square of the gradient's norm."""
        return float(self.gradient @ self.gradient)


class _Problem:
    """The objective loss(X w) + alpha ||w||^2, and the best bound of its minimum so far."""

    def __init__(self, design: Design, loss: Smooth, alpha: float):
        self.design, self.loss, self.alpha = design, loss, alpha
        self.rounding = Rounding.of(design, growth=loss.growth)
        self.bound = 0.0  # neither loss nor penalty is negative
        self._dual = DualBound(alpha, design.shape[1])
        self._precondition: Callable[[FloatVector], FloatVector] | None = None
        self._products = 0

    def first(self, start: FloatVector | None) -> _Iterate:
        """Return the start, or zero where it is better."""
        point = self.at(np.zeros(self.design.shape[1]) if start is None else start)
        if point.objective <= self.loss.at_zero:
            return point
        return self._iterate(0.0 * point.coef, 0.0 * point.scores)

    def at(self, coef: FloatVector) -> _Iterate:
        """Return the point with these weights."""
        return self._iterate(coef, self.design.matvec(coef))

    def _iterate(self, coef: FloatVector, scores: Any, drift: float = 0.0, evaluated: Any = None) -> _Iterate:
        value, coefficients = evaluated or self.loss.value_and_coefficients(scores)
        slopes = self.design.rmatvec(coefficients)
        objective = value + self.alpha * float(coef @ coef)
        offset = value - float(coefficients @ scores)
        return _Iterate(coef, scores, drift, objective, slopes + 2 * self.alpha * coef, slopes, offset)

    def certified(self, point: _Iterate) -> float:
        """Return how far the objective is above its minimum at most, and raise the bound of the minimum."""
        rounding, reach = self.rounding, self.rounding.reach(point.coef, point.scores)
        where = self.alpha, point.coef, point.objective
        convex = float(rounding.certified(*where, np.linalg.norm(point.gradient), reach, point.drift))
        self._dual.add(point.slopes, point.offset, *rounding.tangent(reach))
        self.bound = max(self.bound, point.objective - convex, self._dual.certified(rounding.columns))
        error, _ = rounding.square(*where, reach, point.drift)
        return min(convex, distance(point.objective, self.bound, float(error)))

    def rounded(self, point: _Iterate) -> float:
        """Return how much of a gap rounding may be to blame for."""
        reach = self.rounding.reach(point.coef, point.scores)
        return float(
            self.rounding.left_to_square(self.alpha, point.coef, point.objective, reach, point.drift)
        )

    def may_leave_zero(self, point: _Iterate) -> bool:
        """Return whether a point is zero and its slopes are not: zero orders nothing, and is no optimum."""
        if point.coef.any():
            return False
        _, error = self.rounding.square(self.alpha, point.coef, point.objective, 0.0)
        return float(np.linalg.norm(point.gradient)) > float(error)

    def newton_step(self, point: _Iterate, residual_square: float) -> NewtonStep:
        """Solve Hessian step = -gradient until the residual's square is that small."""
        hessian = self.loss.hessian(point.scores)

        def product(direction: FloatVector) -> tuple[Any, FloatVector]:
            scores = self.design.matvec(direction)
            return scores, self.design.rmatvec(hessian.product(scores)) + 2 * self.alpha * direction

        step = newton_step(
            point.gradient, 0.0 * point.scores, product, self._preconditioner(hessian), residual_square
        )
        self._products += step.n_terms
        return step

    def _preconditioner(self, hessian: ScoreHessian) -> Callable[[FloatVector], FloatVector]:
        """Return what is near to the inverse of the Hessian, of this point or of one before."""
        if self._precondition is None or self._products >= PRODUCTS_PER_PRECONDITIONER:
            self._precondition = self.design.preconditioner(self.loss, hessian.diagonal, 2 * self.alpha)
            self._products = 0
        return self._precondition

    def moved(self, point: _Iterate, step: NewtonStep) -> _Iterate | None:
        """Return the point after a search on the line, or None where rounding hides that it falls."""
        coef, alpha = point.coef, self.alpha
        square, cross, curve = (float(a @ b) for a, b in ((coef, coef), (coef, step.coef), (step.coef,) * 2))

        def at(length: float) -> Point:
            value, coefficients = self.loss.value_and_coefficients(point.scores + length * step.scores)
            norm = square + length * (2 * cross + length * curve)
            slope = float(coefficients @ step.scores) + 2 * alpha * (cross + length * curve)
            return Point(length, value + alpha * norm, slope, (value, coefficients))

        origin = Point(0.0, point.objective, float(point.gradient @ step.coef))
        best = minimise_on_line(at, origin, 1.0, 0.0, slope_share=SLOPE_SHARE).best
        if best is not origin:
            return self._on_line(point, step, best)
        # Near the optimum, and from zero, the objective may fall by less than it is rounded by.
        whole = at(1.0)
        if not whole.value <= point.objective + self.rounded(point):
            return None
        moved = self._on_line(point, step, whole)
        steeper = moved.square > STALLED_SHARE * point.square
        return None if steeper and not self.may_leave_zero(point) else moved

    def _on_line(self, point: _Iterate, step: NewtonStep, there: Point) -> _Iterate:
        """Return the iterate at a point of the line on which a step lies."""
        coef = point.coef + there.step * step.coef
        scores = point.scores + there.step * step.scores
        gone = there.step * self.rounding.path(step.way, step.n_terms)
        drift = point.drift + gone + self.rounding.scores(coef)
        return self._iterate(coef, scores, drift, there.extra)
