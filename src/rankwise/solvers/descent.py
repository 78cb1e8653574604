"""Descent by quasi-Newton steps: weights for each of many alphas, for a few products with X each.

No bound is kept on the way, so that this is for what compares fits, and for where a certified one begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.losses import LeastSquares, PairwiseLoss
from rankwise.solvers.goal import Goal
from rankwise.solvers.line_search import Point, minimise_on_line
from rankwise.solvers.result import Monitor, SolverResult, concluded
from rankwise.solvers.rounding import quotient

# Below so many rows certified fits are cheap, and single pairs show as kinks.
MIN_ROWS = 4096
# The metric costs m n^2 / 3 operations or fewer and its decomposition 10 n^3: a few passes over X while n^2
# is not above m. So many rows a feature tell what all rows do.
ROWS_PER_FEATURE = 30
# A descent ends where the next step promises less than this share of the tolerance: a promise is no bound.
PROMISE_SHARE = 0.1
# A line is searched until its slope is this share of that at its start.
SLOPE_SHARE = 0.5
# Where a step brings less than this share of what it promised, so many times in a row, the loss has kinks
# that no curvature tells of.
KEPT_SHARE, BROKEN_PROMISES = 0.1, 2
MAX_STEPS, MAX_EVALUATIONS, MEMORY = 60, 8, 30
# Directions in which the metric is flatter than this share of the steepest one are lost in its rounding.
FLAT_SHARE = 1e-12


class Metric:
    """The curvature of a mean loss over many pairs: a number times G = X'L X, corrected along the steps gone.

    L is the Laplacian of the pairs, so that w'G w is the mean squared difference of the scores of a pair. How
    dense the pairs lie at the margin is the number; what differs between directions is learned from the last
    steps s and the changes y of the slopes by the update of Broyden, Fletcher, Goldfarb and Shanno. The
    penalty's curvature, 2 alpha, is known and is added, so that what was learned serves every alpha.

    Cost: 10 n^3 once, and O(n^2) a product.
    """

    def __init__(self, gram: FloatArray):
        values, self._vectors = np.linalg.eigh(gram)
        self._values = np.maximum(values, FLAT_SHARE * values[-1])
        self._gram = gram
        self._density = 1.0
        self._steps: list[tuple[FloatVector, FloatVector]] = []

    def learn(self, step: FloatVector, change: FloatVector) -> None:
        """Take in how a step changed the slopes of the loss, where it tells of any curvature."""
        bend, square = float(step @ change), float(step @ self._gram @ step)
        if bend > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)) and square > 0:
            self._density = bend / square
            self._steps = [*self._steps[1 - MEMORY :], (step, change)]

    def divided(self, gradient: FloatVector, alpha: float) -> FloatVector:
        """Return the gradient divided by the curvature of loss + alpha ||w||^2: the two loops of L-BFGS."""
        result, undone = gradient.copy(), []
        for step, change in reversed(self._steps):
            bent = change + 2.0 * alpha * step
            inverse = 1.0 / float(step @ bent)
            share = inverse * float(step @ result)
            result -= share * bent
            undone.append((step, bent, inverse, share))
        result = self._vectors @ ((self._vectors.T @ result) / (self._density * self._values + 2.0 * alpha))
        for step, bent, inverse, share in reversed(undone):
            result += (share - inverse * float(bent @ result)) * step
        return result


@dataclass
class _Iterate:
    """Weights with their scores, the loss there, and its slopes by the weights, X'c."""

    coef: FloatVector
    scores: FloatVector
    value: float
    slopes: FloatVector


class Descent:
    """Minimises loss(X w) + alpha ||w||^2 for one alpha after another, each from where the last one ended.

    A step costs one product with X, one with X' and mostly one evaluation of the loss: the mean over many
    pairs is all but smooth, so that Newton's step with the curvature of `Metric` seldom needs a search on its
    line. From one alpha to the next two or three steps are usual.
    """

    def __init__(self, design: Design, loss: PairwiseLoss, metric: Metric):
        self._design, self._loss, self._metric = design.centred(), loss, metric
        m, n = design.shape
        self._at = self._iterate(np.zeros(n), np.zeros(m), *loss.value_and_coefficients(np.zeros(m)))

    def _iterate(
        self, coef: FloatVector, scores: FloatVector, value: float, coefficients: FloatVector
    ) -> _Iterate:
        return _Iterate(coef, scores, value, self._design.rmatvec(coefficients))

    def minimise(self, alpha: float, tol: float, monitor: Monitor | None = None) -> SolverResult | None:
        """Return weights from which the next step promises at most a tenth of the gap of the `Goal`.

        None where the loss has kinks that keep the steps from what they promise. The `gap` of the result is
        what strong convexity certifies, ||gradient||^2 / (4 alpha), which is far above the promise where
        alpha is small.
        """
        monitor, goal = Monitor() if monitor is None else monitor, Goal(tol, self._loss.at_zero)
        try:
            status = self._descend(alpha, goal, monitor)
        except KeyboardInterrupt:
            status = "interrupted"
        if status is None:
            return None
        objective, gap = self._objective(alpha), self._gap(alpha)
        return concluded(
            self._at.coef, objective, gap, len(monitor.history["gap"]), status, monitor.history, goal
        )

    def _descend(self, alpha: float, goal: Goal, monitor: Monitor) -> str | None:
        """Step until little is promised, or until promises were broken, which returns None."""
        broken = 0
        for step in range(1, MAX_STEPS + 1):
            gradient, objective = self._gradient(alpha), self._objective(alpha)
            direction = -self._metric.divided(gradient, alpha)
            promise = -float(gradient @ direction) / 2.0
            aim = float(goal.gap(objective, 0.0))
            monitor.record(step, objective, objective - self._gap(alpha), self._at.coef, aim)
            if promise <= PROMISE_SHARE * aim or monitor.told_to_stop:
                return "stopped"
            fallen = self._move(alpha, direction, gradient, objective)
            broken = 0 if fallen >= KEPT_SHARE * promise else broken + 1  # what is no number is broken
            if broken == BROKEN_PROMISES:
                return None
        return None

    def _gap(self, alpha: float) -> float:
        gradient = self._gradient(alpha)
        return min(float(quotient(gradient @ gradient, 4.0 * alpha)), self._objective(alpha))

    def _gradient(self, alpha: float) -> FloatVector:
        return self._at.slopes + 2.0 * alpha * self._at.coef

    def _objective(self, alpha: float) -> float:
        return self._at.value + alpha * float(self._at.coef @ self._at.coef)

    def _move(self, alpha: float, direction: FloatVector, gradient: FloatVector, objective: float) -> float:
        """Search on a line, learn from the step, and return by how much the objective fell."""
        here, along = self._at, self._design.matvec(direction)

        def at(length: float) -> Point:
            value, coefficients = self._loss.value_and_coefficients(here.scores + length * along)
            coef = here.coef + length * direction
            slope = float(coefficients @ along) + 2.0 * alpha * float(coef @ direction)
            return Point(length, value + alpha * float(coef @ coef), slope, (value, coefficients))

        origin = Point(0.0, objective, float(gradient @ direction))
        search: dict[str, Any] = {"slope_share": SLOPE_SHARE, "max_evaluations": MAX_EVALUATIONS}
        best = minimise_on_line(at, origin, 1.0, 0.0, **search).best
        if best is origin:
            return 0.0
        step = best.step * direction
        self._at = self._iterate(here.coef + step, here.scores + best.step * along, *best.extra)
        self._metric.learn(step, self._at.slopes - here.slopes)
        return objective - best.value


def descent_of(design: Design, loss: PairwiseLoss) -> Descent | None:
    """Return a descent on rows in memory that are many for their features, and None otherwise."""
    m, n = design.shape
    if m < MIN_ROWS or n * n > m:
        return None
    rows = loss.preferences.sample(min(1.0, ROWS_PER_FEATURE * n / m))
    part = None if rows is None else design.take(rows)
    if rows is None or part is None:
        return None
    pairs = loss.preferences[rows]
    if not pairs.n_pairs:
        return None
    squares = LeastSquares(pairs, ties="keep", average=loss.average)
    return Descent(design, loss, Metric(part.normal_equations(squares)[0]))
