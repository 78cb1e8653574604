"""Truncated Newton for smooth pairwise losses."""

from __future__ import annotations

import numpy as np

from rankwise._types import FloatVector
from rankwise.design import Design
from rankwise.losses import Smooth
from rankwise.solvers.line_search import Point, minimise_on_line
from rankwise.solvers.result import Monitor, SolverResult, concluded, require
from rankwise.solvers.rounding import Rounding, share_left

LINE_SHARE = 0.01


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
    """Minimise loss(X w) + alpha ||w||^2 by Newton steps from conjugate gradients and an exact line search.

    The Hessian is X' H X + 2 alpha I with H the Hessian of the loss by the scores (Chapelle & Keerthi 2010;
    Lee & Lin 2014); a product with it costs one product with X, one with X' and O(m log m). The conjugate
    gradients, preconditioned by an approximate diagonal, also yield X times the step, so that the line
    search never touches X.

    Strong convexity certifies the result: the objective is at most ||gradient||^2 / (4 alpha) above its
    minimum, and the run ends when that is at most `tol`.
    """
    require(loss, "hessian", "Newton's method")
    monitor = Monitor() if monitor is None else monitor
    design = design.centred()
    rounding = Rounding.of(design)
    coef = np.zeros(design.shape[1]) if start is None else start
    status, iteration, bound = "max_iter", 0, 0.0  # neither loss nor penalty is negative
    scores = design.matvec(coef)
    objective, gradient = _objective(design, loss, alpha, coef, scores)
    if objective > loss.at_zero:  # zero is the better start
        coef, scores = np.zeros_like(coef), 0.0 * scores
        objective, gradient = _objective(design, loss, alpha, coef, scores)
    first = np.linalg.norm(gradient)
    try:
        for iteration in range(1, max_iter + 1):
            certified = _certified(rounding, alpha, coef, scores, objective, gradient)
            gap = min(float(gradient @ gradient) / (4 * alpha), certified)
            bound = max(bound, objective - certified)
            monitor.record(iteration, objective, bound, coef)
            if monitor.told_to_stop:
                status = "stopped"
                break
            if gap <= share_left(tol, certified - gap):
                status = "converged"
                break
            share = min(0.25, np.sqrt(np.linalg.norm(gradient) / first))
            # No residual need be smaller than what a gradient may be in the end.
            residual_square = max(share**2, 0.05 * tol / gap) * float(gradient @ gradient)
            move, move_scores = _newton_step(design, loss, alpha, scores, gradient, residual_square)
            step = _search(loss, alpha, coef, move, scores, move_scores, gap)
            if step == 0.0:
                status = "stalled"
                break
            coef, scores = coef + step * move, scores + step * move_scores
            objective, gradient = _objective(design, loss, alpha, coef, scores)
    except KeyboardInterrupt:
        status = "interrupted"
    # The scores were updated along many lines: they are computed once more, from the weights alone.
    scores = design.matvec(coef)
    objective, gradient = _objective(design, loss, alpha, coef, scores)
    gap = _certified(rounding, alpha, coef, scores, objective, gradient)
    return concluded(coef, objective, gap, iteration, status, monitor.history, tol)


def _certified(
    rounding: Rounding,
    alpha: float,
    coef: FloatVector,
    scores: FloatVector,
    objective: float,
    gradient: FloatVector,
) -> float:
    reach = rounding.reach(coef, scores)
    return float(rounding.certified(alpha, coef, objective, np.linalg.norm(gradient), reach))


def _objective(
    design: Design, loss: Smooth, alpha: float, coef: FloatVector, scores: FloatVector
) -> tuple[float, FloatVector]:
    value, coefficients = loss.value_and_coefficients(scores)
    return value + alpha * float(coef @ coef), design.rmatvec(coefficients) + 2 * alpha * coef


def _newton_step(
    design: Design,
    loss: Smooth,
    alpha: float,
    scores: FloatVector,
    gradient: FloatVector,
    residual_square: float,
) -> tuple[FloatVector, FloatVector]:
    """Solve Hessian step = -gradient until the residual's square is that small; give step and X step."""
    hessian = loss.hessian(scores)
    # Up to the means of queries this is the diagonal of the Hessian.
    diagonal = design.weighted_spread(hessian.diagonal) + 2 * alpha
    step, step_scores = np.zeros_like(gradient), 0.0 * scores
    residual = -gradient
    scaled = residual / diagonal
    direction = scaled.copy()
    square = float(residual @ scaled)
    for _ in range(10 * len(gradient) + 10):
        direction_scores = design.matvec(direction)
        product = design.rmatvec(hessian.product(direction_scores)) + 2 * alpha * direction
        curvature = float(direction @ product)
        if not curvature > 0:  # lost in rounding
            break
        length = square / curvature
        step += length * direction
        step_scores += length * direction_scores
        residual -= length * product
        if float(residual @ residual) <= residual_square:
            break
        scaled = residual / diagonal
        previous, square = square, float(residual @ scaled)
        direction = scaled + (square / previous) * direction
    return step, step_scores


def _search(
    loss: Smooth,
    alpha: float,
    coef: FloatVector,
    move: FloatVector,
    scores: FloatVector,
    move_scores: FloatVector,
    gap: float,
) -> float:
    """Find the step along `move`; it is 0 only where rounding hides that the objective falls."""
    square, cross, curve = (float(a @ b) for a, b in ((coef, coef), (coef, move), (move, move)))

    def at(step: float) -> Point:
        value, coefficients = loss.value_and_coefficients(scores + step * move_scores)
        norm = square + 2 * step * cross + step * step * curve
        return Point(
            step, value + alpha * norm, float(coefficients @ move_scores) + 2 * alpha * (cross + step * curve)
        )

    # The gap may be far above what any step can gain; the slope bounds what steps up to 1 can.
    origin = at(0.0)
    coarse = minimise_on_line(at, origin, 1.0, LINE_SHARE * min(gap, -origin.slope)).best.step
    return coarse or minimise_on_line(at, origin, 1.0, 0.0).best.step
