"""Bundle methods for the pairwise hinge loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise._types import FloatVector
from rankwise.design import Design
from rankwise.losses import PiecewiseLinear
from rankwise.solvers.goal import Goal
from rankwise.solvers.line_search import LineMinimum, Point, minimise_on_line
from rankwise.solvers.planes import Planes
from rankwise.solvers.result import Monitor, SolverResult, concluded, distance, require
from rankwise.solvers.rounding import Rounding, share_left

# A line is searched to this share of the gap: evaluations are cheaper than products with X, so the search may
# be sharp (a share of 0.1 costs half as many iterations again on text data).
LINE_SHARE = 0.005
# A new plane raises the model at its minimiser by at least this share of the gap, or it might be found for
# ever.
CUT_SHARE = 0.1
IDLE_ITERATIONS = 40


@dataclass
class _Iterate:
    """A point with its scores, loss, a subgradient by the scores and the plane's offset."""

    coef: FloatVector
    scores: FloatVector
    objective: float
    coefficients: FloatVector
    offset: float


def solve_bundle(
    design: Design,
    loss: PiecewiseLinear,
    alpha: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatVector | None = None,
    planes: Planes | None = None,
    line_search: bool = True,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Minimise loss(X w) + alpha ||w||^2 by cutting planes until the gap has reached its `Goal`.

    Algorithm 1 of Airola et al. (2011) moves to the minimiser of the plane model and adds the plane there
    (`line_search=False`). With the line search that the paper names as future work (Franc & Sonnenburg 2009
    for classification), the best point moves towards that minimiser as far as the objective falls, and the
    plane is taken just beyond: the model then improves where it matters. A step on the line costs O(m log m)
    and does not touch X, as the scores on the line are s + k ds.

    Each iteration costs one product with X, one with X', and a few evaluations of the loss.

    Parameters
    ----------
    start : array of shape (n_features,), optional
        Where to begin; zero by default, and where zero is better.
    planes : Planes, optional
        A model of the same loss to go on with, for instance from another alpha. It is added to.

    Returns
    -------
    SolverResult
        `gap` is the objective at `coef`, computed afresh, minus the best dual value, plus what rounding may
        have done to either.
    """
    require(loss, "plane", "The bundle method")
    monitor = Monitor() if monitor is None else monitor
    design = design.centred()
    rounding = Rounding.of(design)
    planes = Planes(design.shape[1]) if planes is None else planes
    best, bound, status, iteration = None, 0.0, "max_iter", 0  # no loss is negative, nor is a penalty
    goal, guess = Goal(tol, loss.at_zero), None
    aim = tol * goal.at_zero
    try:
        zero = np.zeros(design.shape[1])
        best = _evaluate(design, loss, alpha, zero if start is None else planes.feasible(start))
        if best.objective > loss.at_zero:
            best = _evaluate(design, loss, alpha, zero)
        planes.add(design.rmatvec(best.coefficients), best.offset)
        for iteration in range(1, max_iter + 1):
            target, dual = planes.minimise(alpha, 0.01 * aim)
            bound = max(bound, dual - rounding.plane(alpha, target))
            gap = best.objective - bound
            aim = float(goal.gap(best.objective, gap, _rounded(rounding, alpha, best)))
            monitor.record(iteration, best.objective, bound, best.coef, aim)
            if monitor.told_to_stop:
                status = "stopped"
                break
            if gap <= share_left(aim, _error(rounding, alpha, best)):
                best = _off_zero(design, loss, alpha, best, target, rounding)
                status = "converged"
                break
            if line_search:
                longest = planes.longest_step(best.coef, target)
                best, cut, guess = _step_on_line(design, loss, alpha, best, target, guess, gap, longest)
            else:
                cut = _evaluate(design, loss, alpha, target)
                best = cut if cut.objective < best.objective else best
            planes.add(design.rmatvec(cut.coefficients), cut.offset)
            planes.drop_idle(IDLE_ITERATIONS)
    except KeyboardInterrupt:
        if best is None:
            raise
        status = "interrupted"
    # The scores were updated along many lines: they are computed once more, from the weights alone.
    best = _evaluate(design, loss, alpha, planes.feasible(best.coef))
    gap = distance(best.objective, bound, _error(rounding, alpha, best))
    left = _rounded(rounding, alpha, best)
    return concluded(best.coef, best.objective, gap, iteration, status, monitor.history, goal, left)


def _evaluate(design: Design, loss: PiecewiseLinear, alpha: float, coef: FloatVector) -> _Iterate:
    scores = design.matvec(coef)
    value, coefficients, offset = loss.plane(scores)
    return _Iterate(coef, scores, value + alpha * float(coef @ coef), coefficients, offset)


def _error(rounding: Rounding, alpha: float, point: _Iterate) -> float:
    return rounding.hinge(alpha, point.coef, rounding.reach(point.coef, point.scores))


def _rounded(rounding: Rounding, alpha: float, point: _Iterate) -> float:
    return rounding.left_to_hinge(alpha, point.coef, rounding.reach(point.coef, point.scores))


def _off_zero(
    design: Design,
    loss: PiecewiseLinear,
    alpha: float,
    best: _Iterate,
    target: FloatVector,
    rounding: Rounding,
) -> _Iterate:
    """Return the model's minimiser in place of zero where rounding cannot tell their objectives apart.

    Zero orders nothing, and is the optimum only where the slopes of the loss are zero.
    """
    if best.coef.any() or rounding.hidden(2.0 * alpha * target):
        return best
    other = _evaluate(design, loss, alpha, target)
    return other if other.objective <= best.objective + _error(rounding, alpha, other) else best


def _step_on_line(
    design: Design,
    loss: PiecewiseLinear,
    alpha: float,
    best: _Iterate,
    target: FloatVector,
    guess: float | None,
    gap: float,
    longest: float,
) -> tuple[_Iterate, _Iterate, float]:
    """Search from the best point towards the model's minimiser: new best point, point to cut at, step."""
    move = target - best.coef
    move_scores = design.matvec(target) - best.scores
    square, slope, curve = (
        float(a @ b) for a, b in ((best.coef, best.coef), (best.coef, move), (move, move))
    )

    def at(step: float) -> Point:
        value, coefficients, offset = loss.plane(best.scores + step * move_scores)
        norm = square + 2 * step * slope + step * step * curve
        derivative = float(coefficients @ move_scores) + 2 * alpha * (slope + step * curve)
        return Point(step, value + alpha * norm, derivative, (coefficients, offset))

    start_slope = float(best.coefficients @ move_scores) + 2 * alpha * slope
    origin = Point(0.0, best.objective, start_slope, (best.coefficients, best.offset))
    if guess is None:  # where the tangent would have used up the objective
        guess = min(1.0, best.objective / max(-start_slope, 1e-300))
    found: LineMinimum = minimise_on_line(at, origin, guess, LINE_SHARE * gap, longest=longest)

    def iterate(point: Point) -> _Iterate:
        coefficients, offset = point.extra
        coef, scores = best.coef + point.step * move, best.scores + point.step * move_scores
        return _Iterate(coef, scores, point.value, coefficients, offset)

    def on_target(point: Point) -> float:
        """Return what the plane at the point, with the penalty, says of the model's minimiser at step 1."""
        rest = 1.0 - point.step
        return point.value + point.slope * rest + alpha * curve * rest * rest

    moved = best if found.best is origin else iterate(found.best)
    cut = found.best if found.beyond is None else found.beyond
    if on_target(cut) < best.objective - (1.0 - CUT_SHARE) * gap:
        cut = at(1.0)
    return moved, moved if cut is found.best else iterate(cut), found.best.step or guess
