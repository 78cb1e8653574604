"""Quasi-Newton descent: weights for each of many alphas, for a few products with X each.

There is no lower bound, so this serves to compare alphas and to warm-start certified fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.losses import LeastSquares, PairwiseLoss
from rankwise.solvers.certificate import StoppingRule
from rankwise.solvers.errors import quotient
from rankwise.solvers.line_search import Point, minimise_on_line
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.run import finalise

# With fewer rows certified fits are cheap, and single pairs show as kinks.
MIN_ROWS = 4096
# The curvature model costs at most m n^2 / 3 operations and its decomposition 10 n^3: a few passes over X if
# n^2 is at most m. This many rows per feature determine it.
ROWS_PER_FEATURE = 30
# A descent ends when the predicted decrease is below this fraction of the target: a prediction is no bound.
PREDICTION_FRACTION = 0.1
# A line is searched until its slope is this fraction of that at its start.
SLOPE_FRACTION = 0.5
# If this many steps in a row achieve less than this fraction of the predicted decrease, the loss has kinks
# that no curvature describes.
ACHIEVED_FRACTION, MAX_SHORTFALLS = 0.1, 2
MAX_STEPS, MAX_EVALUATIONS, MEMORY = 60, 8, 30
# Eigenvalues below this fraction of the largest are rounding.
FLAT_FRACTION = 1e-12


class CurvatureModel:
    """The curvature of a mean loss over many pairs: a multiple of G = X'L X with BFGS updates.

    L is the Laplacian of the pairs, so that w'G w is the mean squared score difference of a pair. The factor
    is the density of pairs at the margin; differences between directions come from the last steps s and the
    changes y of the slopes. The curvature of the penalty, 2 alpha, is added exactly, so that the model serves
    every alpha.

    Cost: 10 n^3 once, and O(n^2) per product.
    """

    def __init__(self, gram: FloatArray):
        values, self._vectors = np.linalg.eigh(gram)
        self._values = np.maximum(values, FLAT_FRACTION * values[-1])
        self._gram = gram
        self._density = 1.0
        self._steps: list[tuple[FloatVector, FloatVector]] = []

    def learn(self, step: FloatVector, change: FloatVector) -> None:
        """Update the model by a step and the change of the slopes, if the curvature along it is positive."""
        curved, square = float(step @ change), float(step @ self._gram @ step)
        if curved > 1e-10 * float(np.linalg.norm(step) * np.linalg.norm(change)) and square > 0:
            self._density = curved / square
            self._steps = [*self._steps[1 - MEMORY :], (step, change)]

    def solve(self, gradient: FloatVector, alpha: float) -> FloatVector:
        """Return the inverse curvature of loss + alpha ||w||^2 times the gradient, by L-BFGS."""
        result, undone = gradient.copy(), []
        for step, change in reversed(self._steps):
            turned = change + 2.0 * alpha * step
            inverse = 1.0 / float(step @ turned)
            weight = inverse * float(step @ result)
            result -= weight * turned
            undone.append((step, turned, inverse, weight))
        result = self._vectors @ ((self._vectors.T @ result) / (self._density * self._values + 2.0 * alpha))
        for step, turned, inverse, weight in reversed(undone):
            result += (weight - inverse * float(turned @ result)) * step
        return result


@dataclass
class _Iterate:
    """Weights with their scores, the loss there, and its slopes by the weights, X'c."""

    coef: FloatVector
    scores: FloatVector
    value: float
    slopes: FloatVector


class Descent:
    """Minimises loss(X w) + alpha ||w||^2 for a sequence of alphas, each warm-started from the last.

    A step costs one product with X, one with X' and usually one evaluation of the loss: the mean over many
    pairs is nearly smooth, so that a quasi-Newton step seldom needs a line search. Two or three steps per
    alpha are usual.
    """

    def __init__(self, design: Design, loss: PairwiseLoss, curvature: CurvatureModel):
        self._design, self._loss, self._curvature = design.centred(), loss, curvature
        m, n = design.shape
        self._at = self._iterate(np.zeros(n), np.zeros(m), *loss.value_and_coefficients(np.zeros(m)))

    def _iterate(
        self, coef: FloatVector, scores: FloatVector, value: float, coefficients: FloatVector
    ) -> _Iterate:
        return _Iterate(coef, scores, value, self._design.rmatvec(coefficients))

    def minimise(self, alpha: float, tol: float, monitor: Monitor | None = None) -> SolverResult | None:
        """Iterate until the predicted decrease is at most a tenth of the target gap.

        Return None if actual decreases keep falling short of the prediction, because of kinks of the loss.
        The `gap` of the result is that of strong convexity, ||gradient||^2 / (4 alpha), which is far above
        the predicted decrease if alpha is small.
        """
        monitor, rule = Monitor() if monitor is None else monitor, StoppingRule(tol, self._loss.at_zero)
        try:
            status = self._descend(alpha, rule, monitor)
        except KeyboardInterrupt:
            status = "interrupted"
        if status is None:
            return None
        objective, gap = self._objective(alpha), self._gap(alpha)
        return finalise(
            self._at.coef, objective, gap, len(monitor.history["gap"]), status, monitor.history, rule
        )

    def _descend(self, alpha: float, rule: StoppingRule, monitor: Monitor) -> str | None:
        """Iterate until the predicted decrease is small, or return None after repeated shortfalls."""
        shortfalls = 0
        for step in range(1, MAX_STEPS + 1):
            gradient, objective = self._gradient(alpha), self._objective(alpha)
            direction = -self._curvature.solve(gradient, alpha)
            predicted = -float(gradient @ direction) / 2.0
            target = float(rule.target(objective, 0.0))
            monitor.record(objective, objective - self._gap(alpha), self._at.coef, target, step)
            if predicted <= PREDICTION_FRACTION * target or monitor.stop_requested:
                return "stopped"
            fallen = self._move(alpha, direction, gradient, objective)
            # NaN is a shortfall.
            shortfalls = 0 if fallen >= ACHIEVED_FRACTION * predicted else shortfalls + 1
            if shortfalls == MAX_SHORTFALLS:
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
        """Search a line, update the curvature model, and return the decrease of the objective."""
        here, along = self._at, self._design.matvec(direction)

        def at(length: float) -> Point:
            value, coefficients = self._loss.value_and_coefficients(here.scores + length * along)
            coef = here.coef + length * direction
            slope = float(coefficients @ along) + 2.0 * alpha * float(coef @ direction)
            return Point(length, value + alpha * float(coef @ coef), slope, (value, coefficients))

        origin = Point(0.0, objective, float(gradient @ direction))
        search: dict[str, Any] = {"slope_fraction": SLOPE_FRACTION, "max_evaluations": MAX_EVALUATIONS}
        best = minimise_on_line(at, origin, 1.0, 0.0, **search).best
        if best is origin:
            return 0.0
        step = best.step * direction
        self._at = self._iterate(here.coef + step, here.scores + best.step * along, *best.extra)
        self._curvature.learn(step, self._at.slopes - here.slopes)
        return objective - best.value


def descent_of(design: Design, loss: PairwiseLoss) -> Descent | None:
    """Return a descent if the rows are in memory and many per feature, and None otherwise."""
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
    return Descent(design, loss, CurvatureModel(part.normal_equations(squares)[0]))
