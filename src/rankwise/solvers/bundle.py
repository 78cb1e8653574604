"""Bundle methods for the pairwise hinge loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.losses import PiecewiseLinear
from rankwise.solvers.continuation import (
    BLIND_ITERATIONS,
    ROUGH,
    Below,
    come_down,
    larger_alphas,
    says_nothing,
)
from rankwise.solvers.differences import DifferenceSteps
from rankwise.solvers.goal import Goal
from rankwise.solvers.line_search import Point, minimise_on_line
from rankwise.solvers.planes import Planes
from rankwise.solvers.result import Monitor, SolverResult, State, concluded, distance, require
from rankwise.solvers.rounding import Rounding, share_left

# A line is searched to this share of the gap: evaluations are cheaper than products with X, so the search may
# be sharp (a share of 0.1 costs half as many iterations again on text data).
LINE_SHARE = 0.005
# A new plane raises the model at its minimiser by at least this share of the gap, or it might be found for
# ever.
CUT_SHARE = 0.1
# A line is searched after a Newton step until its slope is this share of that at its start.
SLOPE_SHARE = 0.25
# With so many rows Newton steps are taken from where the gap is this share of what can be won, for as long as
# each leaves at most that share of the gap.
NEWTON_ROWS = 1 << 15
NEWTON_FROM, NEWTON_SHARE = 0.3, 0.5
IDLE_ITERATIONS = 40


@dataclass
class _Iterate:
    """A point with its scores, loss, a subgradient c by the scores and the plane's offset."""

    coef: FloatVector
    scores: FloatVector
    objective: float
    coefficients: FloatVector
    offset: float
    _slopes: FloatVector | None = None
    error: float | None = None  # what the objective may be off by, once it is known

    def slopes(self, design: Design) -> FloatVector:
        """Return X'c, of which the product is made once."""
        if self._slopes is None:
            self._slopes = design.rmatvec(self.coefficients)
        return self._slopes


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

    The mean over the pairs of very many rows is as good as smooth. As soon as the gap is small, the
    best point then moves by Newton steps for as long as they halve it (see `DifferenceSteps`): every product
    with the Hessian adds a plane, so that the certificate is the same. Where alpha is so small that the first
    planes bound nothing, larger ones lead there (see `continuation`).

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
        planes.add(best.slopes(design), best.offset)
        smooth = line_search and _smooth(best.scores, planes)
        newton, last_gap = None, np.inf
        while iteration < max_iter and not monitor.told_to_stop:
            iteration += 1
            target, dual = planes.minimise(alpha, 0.01 * aim)
            bound = max(bound, dual - rounding.plane(alpha, target))
            gap = best.objective - bound
            rounded = _rounded(rounding, alpha, best) if goal.near(gap) else 0.0
            aim = float(goal.gap(best.objective, gap, rounded))
            monitor.record(iteration, best.objective, bound, best.coef, aim)
            if monitor.told_to_stop:
                break
            if gap <= aim and gap <= share_left(aim, _error(rounding, alpha, best)):
                best = _off_zero(design, loss, alpha, best, target, rounding)
                status = "converged"
                break
            if smooth and iteration == BLIND_ITERATIONS and says_nothing(bound, best.objective, design.shape):
                below = Below(
                    monitor, alpha, State(iteration, best.objective, bound, gap, aim, 0.0, best.coef)
                )
                best = _led_down(design, loss, alpha, planes, below, tol, max_iter)
                iteration = below.iteration
                if below.interrupted:
                    raise KeyboardInterrupt
                continue
            if smooth and newton is None and gap <= NEWTON_FROM * (goal.at_zero - bound):
                newton = DifferenceSteps(design, loss, alpha, planes)
            elif newton is not None and gap > NEWTON_SHARE * last_gap:
                newton, smooth = None, False
            last_gap = gap
            moved = newton and _step_by_newton(newton, design, loss, alpha, best, aim)
            if moved:
                best = cut = moved
            elif line_search:
                newton, smooth = None, smooth and newton is None
                line = _Line(loss, alpha, best, target - best.coef, design.matvec(target) - best.scores)
                longest = planes.longest_step(best.coef, target)
                best, cut, guess = _step_on_line(line, guess, gap, longest)
            else:
                cut = _evaluate(design, loss, alpha, target)
                best = cut if cut.objective < best.objective else best
            planes.add(cut.slopes(design), cut.offset)
            planes.drop_idle(IDLE_ITERATIONS)
        if monitor.told_to_stop:
            status = "stopped"
    except KeyboardInterrupt:
        if best is None:
            raise
        status = "interrupted"
    # The scores were updated along many lines: they are computed once more, from the weights alone.
    best = _evaluate(design, loss, alpha, planes.feasible(best.coef))
    gap = distance(best.objective, bound, _error(rounding, alpha, best))
    left = _rounded(rounding, alpha, best)
    return concluded(best.coef, best.objective, gap, iteration, status, monitor.history, goal, left)


def _smooth(scores: Any, planes: Planes) -> bool:
    """Return whether there are enough rows, all of them here, and no bounds on the weights."""
    return isinstance(scores, np.ndarray) and len(scores) >= NEWTON_ROWS and not planes.bounded


def _led_down(
    design: Design,
    loss: PiecewiseLinear,
    alpha: float,
    planes: Planes,
    below: Below,
    tol: float,
    max_iter: int,
) -> _Iterate:
    """Return the best point to which larger alphas lead; their planes are added."""
    zero = _evaluate(design, loss, alpha, 0.0 * below.best)
    planes.add(zero.slopes(design), zero.offset)  # bounds the objective at every alpha that is large enough
    solve = partial(solve_bundle, design, loss, tol=max(tol, ROUGH), planes=planes)
    alphas = larger_alphas(planes, alpha, loss.at_zero)
    return _evaluate(design, loss, alpha, come_down(solve, alphas, below, max_iter))


def _evaluate(design: Design, loss: PiecewiseLinear, alpha: float, coef: FloatVector) -> _Iterate:
    scores = design.matvec(coef)
    value, coefficients, offset = loss.plane(scores)
    return _Iterate(coef, scores, value + alpha * float(coef @ coef), coefficients, offset)


def _error(rounding: Rounding, alpha: float, point: _Iterate) -> float:
    if point.error is None:
        reach = rounding.reach(point.coef, point.scores)
        point.error = rounding.hinge(alpha, point.coef, reach, point.objective)
    return point.error


def _rounded(rounding: Rounding, alpha: float, point: _Iterate) -> float:
    return rounding.left_to_hinge(alpha, point.coef, _error(rounding, alpha, point))


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


@dataclass
class _Line:
    """The objective on the line from a point, in steps of a move."""

    loss: PiecewiseLinear
    alpha: float
    origin: _Iterate
    move: FloatVector
    move_scores: FloatVector

    def __post_init__(self) -> None:
        coef, move = self.origin.coef, self.move
        self._square, self._cross, self.curve = (
            float(a @ b) for a, b in ((coef, coef), (coef, move), (move, move))
        )
        slope = float(self.origin.coefficients @ self.move_scores) + 2 * self.alpha * self._cross
        extra = self.origin.coefficients, self.origin.offset
        self.start = Point(0.0, self.origin.objective, slope, extra)

    def at(self, step: float) -> Point:
        """Return the point a step away."""
        value, coefficients, offset = self.loss.plane(self.origin.scores + step * self.move_scores)
        norm = self._square + 2 * step * self._cross + step * step * self.curve
        slope = float(coefficients @ self.move_scores) + 2 * self.alpha * (self._cross + step * self.curve)
        return Point(step, value + self.alpha * norm, slope, (coefficients, offset))

    def iterate(self, point: Point) -> _Iterate:
        """Return the weights and scores at a point of the line."""
        if point is self.start:
            return self.origin
        coef = self.origin.coef + point.step * self.move
        scores = self.origin.scores + point.step * self.move_scores
        return _Iterate(coef, scores, point.value, *point.extra)


def _step_by_newton(
    newton: DifferenceSteps,
    design: Design,
    loss: PiecewiseLinear,
    alpha: float,
    best: _Iterate,
    aim: float,
) -> _Iterate | None:
    """Return the point that a Newton step leads to, or None where the objective does not fall."""
    step = newton.step(best.coef, best.scores, best.slopes(design), aim)
    line = _Line(loss, alpha, best, step.coef, step.scores)
    found = minimise_on_line(line.at, line.start, 1.0, 0.0, slope_share=SLOPE_SHARE).best
    return None if found is line.start else line.iterate(found)


def _step_on_line(
    line: _Line, guess: float | None, gap: float, longest: float
) -> tuple[_Iterate, _Iterate, float]:
    """Search from the best point towards the model's minimiser: new best point, point to cut at, step."""
    start = line.start
    if guess is None:  # where the tangent would have used up the objective
        guess = min(1.0, start.value / max(-start.slope, 1e-300))
    found = minimise_on_line(line.at, start, guess, LINE_SHARE * gap, longest=longest)

    def on_target(point: Point) -> float:
        """Return what the plane at the point, with the penalty, says of the model's minimiser at step 1."""
        rest = 1.0 - point.step
        return point.value + point.slope * rest + line.alpha * line.curve * rest * rest

    moved = line.iterate(found.best)
    cut = found.best if found.beyond is None else found.beyond
    if on_target(cut) < start.value - (1.0 - CUT_SHARE) * gap:
        cut = line.at(1.0)
    return moved, moved if cut is found.best else line.iterate(cut), found.best.step or guess
