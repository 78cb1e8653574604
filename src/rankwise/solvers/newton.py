"""Truncated Newton for smooth pairwise losses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.design import Design, ScoreVector
from rankwise.data.precision import UNIT
from rankwise.losses import Smooth
from rankwise.losses.base import ScoreHessian
from rankwise.solvers.certificate import Certificate, StoppingRule, certified_gap
from rankwise.solvers.errors import ErrorModel, Errors, quotient, suboptimality
from rankwise.solvers.line_search import Point, minimise_on_line
from rankwise.solvers.newton_step import NewtonStep, newton_step, residual_square
from rankwise.solvers.objective import Iterate, Line, Objective
from rankwise.solvers.result import Monitor, SolverResult, require
from rankwise.solvers.run import run
from rankwise.solvers.unpenalised import solve_unpenalised


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


# A line is searched until its slope is this fraction of that at its start: an evaluation of the squared hinge
# costs as much as a product with its Hessian.
SLOPE_FRACTION = 0.25
# A step that does not lower the objective is taken if it leaves at most this fraction of the squared gradient
# norm, which the certificate is made of.
STALLED_FRACTION = 0.75
# The preconditioner costs as much as one to a few Hessian products, and is renewed after this many.
PRODUCTS_PER_PRECONDITIONER = 10


class Newton:
    """Inexact Newton steps by conjugate gradients, with a line search.

    The Hessian is X' H X + 2 alpha I with H the Hessian of the loss by the scores (Chapelle & Keerthi 2010;
    Lee & Lin 2014); a product with it costs one product with X, one with X' and O(m log m). Preconditioned
    conjugate gradients also yield X times the step, so the line search never touches X, and the next
    gradient needs only one product with X'.

    Strong convexity certifies the result: the suboptimality is at most ||gradient||^2 / (4 alpha). The best
    convex combination of the tangent planes at the iterates gives a second bound.
    """

    def __init__(self, objective: Objective, start: FloatVector | None = None):
        self.objective = objective
        self._errors = ErrorModel(objective.design.precision, objective.loss.bounds)
        self.bound = 0.0  # neither loss nor penalty is negative
        self._dual = DualBound(objective.alpha, objective.design.shape[1])
        self._precondition: Callable[[FloatVector], FloatVector] | None = None
        self._products = 0
        self.point = self._first(start)
        self._first_norm = float(np.linalg.norm(self.point.gradient))

    def _first(self, start: FloatVector | None) -> Iterate:
        """Return the start, or zero if that is better."""
        point = self.objective.at(np.zeros(self.objective.design.shape[1]) if start is None else start)
        if point.objective <= self.objective.at_zero:
            return point
        return self.objective.on(0.0 * point.coef, 0.0 * point.scores)

    @property
    def coef(self) -> FloatVector:
        """The weights."""
        return self.point.coef

    def certificate(self, target_gap: float) -> Certificate:
        """Return the certificate of the point, which may raise the lower bound."""
        return self.certified(self.point)

    def recomputed(self) -> Certificate:
        """Return the certificate with scores computed from the weights, not updated along lines."""
        self.point = self.objective.at(self.point.coef)
        return self.certified(self.point)

    def certified(self, point: Iterate) -> Certificate:
        """Return the certificate of a point and raise the lower bound."""
        alpha, objective = self.objective.alpha, point.objective
        score_range, errors = self._errors_at(point)
        convex = float(suboptimality(alpha, objective, np.linalg.norm(point.gradient), errors))
        self._dual.add(point.slopes, point.offset, *self._errors.tangent(score_range))
        dual = self._dual.certified(self._errors.precision.columns)
        self.bound = max(self.bound, objective - convex, dual)
        certified = min(convex, certified_gap(objective, self.bound, float(errors.objective)))
        gap = min(point.gradient_square / (4 * alpha), certified)
        rounding = self._rounding(point, errors)
        return Certificate(objective, self.bound, gap, lambda: (certified, rounding), includes_drift=True)

    def _errors_at(self, point: Iterate) -> tuple[float, Errors]:
        score_range = self._errors.precision.score_range(point.coef, point.scores)
        alpha = self.objective.alpha
        return score_range, self._errors.at(alpha, point.coef, point.objective, score_range, point.drift)

    def _rounding(self, point: Iterate, errors: Errors) -> float:
        """Return twice the certified gap if the computed gradient were zero."""
        return 2.0 * float(suboptimality(self.objective.alpha, point.objective, 0.0, errors))

    def settle(self) -> bool:
        """Return whether the point may be the last: zero ranks nothing, unless its gradient is zero, too."""
        if self.point.coef.any():
            return True
        errors = self._errors.at(self.objective.alpha, self.point.coef, self.point.objective, 0.0)
        return float(np.linalg.norm(self.point.gradient)) <= float(errors.gradient)

    def step(self, target_gap: float) -> bool:
        """Take a Newton step; return False if rounding hides any decrease."""
        left = residual_square(self.point.gradient, self._first_norm, target_gap, self.objective.alpha)
        moved = self._moved(self.newton_step(left))
        self.point = self.point if moved is None else moved
        return moved is not None

    def newton_step(self, residual_square: float) -> NewtonStep:
        """Solve Hessian step = -gradient until the squared residual is at most `residual_square`."""
        of, point = self.objective, self.point
        hessian = of.loss.hessian(point.scores)

        def product(direction: FloatVector) -> tuple[ScoreVector, FloatVector]:
            scores = of.design.matvec(direction)
            return scores, of.design.rmatvec(hessian.product(scores)) + 2 * of.alpha * direction

        precondition = self._preconditioner(hessian)
        step = newton_step(point.gradient, 0.0 * point.scores, product, precondition, residual_square)
        self._products += step.n_terms
        return step

    def _preconditioner(self, hessian: ScoreHessian) -> Callable[[FloatVector], FloatVector]:
        """Return an approximate inverse of the Hessian, at this point or at an earlier one."""
        of = self.objective
        if self._precondition is None or self._products >= PRODUCTS_PER_PRECONDITIONER:
            self._precondition = of.design.preconditioner(of.loss, hessian.diagonal, 2 * of.alpha)
            self._products = 0
        return self._precondition

    def _moved(self, step: NewtonStep) -> Iterate | None:
        """Return the point after a line search, or None if rounding hides any decrease."""
        point = self.point
        line = Line(point, step.coef, step.scores, slope=float(point.gradient @ step.coef))
        best = minimise_on_line(line.at, line.start, 1.0, 0.0, slope_fraction=SLOPE_FRACTION).best
        if best is not line.start:
            return self._on_line(line, step, best)
        # Near the optimum, and from zero, the decrease may be smaller than the rounding of the objective.
        whole = line.at(1.0)
        if not whole.value <= point.objective + self._rounding(point, self._errors_at(point)[1]):
            return None
        moved = self._on_line(line, step, whole)
        is_steeper = moved.gradient_square > STALLED_FRACTION * point.gradient_square
        return None if is_steeper and self.settle() else moved

    def _on_line(self, line: Line, step: NewtonStep, point: Point) -> Iterate:
        """Return a point of the line, with the drift of its scores."""
        moved, precision = line.iterate(point), self._errors.precision
        moved.objective = point.extra.value + self.objective.alpha * float(moved.coef @ moved.coef)
        path = point.step * precision.path(step.path_length, step.n_terms)
        moved.drift = line.origin.drift + path + precision.scores(moved.coef)
        return moved


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
    """Minimize loss(X w) + alpha ||w||^2 by truncated Newton steps: see `Newton`.

    Parameters
    ----------
    start : array of shape (n_features,), optional
        The first weights; zero by default, or if zero is better.

    Returns
    -------
    SolverResult
        `gap` bounds the suboptimality and allows for rounding errors.
    """
    require(loss, "hessian", "Newton's method")
    if alpha == 0:
        return solve_unpenalised(design, loss, tol=tol, max_iter=max_iter, start=start, monitor=monitor)
    monitor = Monitor() if monitor is None else monitor
    objective = Objective.of(design, loss, alpha, by_planes=False)
    rule = StoppingRule(tol, objective.at_zero)
    return run(Newton(objective, start), rule, max_iter=max_iter, monitor=monitor)
