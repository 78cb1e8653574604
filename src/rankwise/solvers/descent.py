"""Quasi-Newton descent: weights for each of many alphas, for a few products with X each.

There is no lower bound, so this serves to compare alphas and to warm-start certified fits.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design, zero_scores
from rankwise.losses import LeastSquares, PairwiseLoss
from rankwise.preferences import Preferences
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

# A product with X that a descent waits for, "matvecs" or "rmatvecs", and its vector.
Request = tuple[str, FloatVector]


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

    def state(self) -> dict[str, FloatArray]:
        """Return the density and the steps that the model has learned."""
        n = len(self._gram)
        return {
            "density": np.array(self._density),
            "learned": np.array(self._steps, dtype=np.float64).reshape(-1, 2, n),
        }

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Take what another model with the same Gram matrix has learned."""
        self._density = float(state["density"])
        self._steps = [(step, change) for step, change in state["learned"]]

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
    """Weights with the scores of all rows, the loss, its coefficients c, and its slopes X'c once asked for.

    `step` led there from weights with the slopes `earlier`.
    """

    coef: FloatVector
    scores: FloatVector
    value: float
    coefficients: FloatVector
    step: FloatVector | None = None
    earlier: FloatVector | None = None
    slopes: FloatVector | None = None


class Descent:
    """Minimizes loss(X w) + alpha ||w||^2 for a sequence of alphas, each warm-started from the last.

    A step costs one product with X, one with X' and usually one evaluation of the loss: the mean over many
    pairs is nearly smooth, so that a quasi-Newton step seldom needs a line search. Two or three steps per
    alpha are usual.

    `rows` are those of the loss, by default all; the scores are those of all rows in any case. The
    `curvature` may be replaced between two alphas by that of a similar loss.
    """

    def __init__(
        self,
        design: Design,
        loss: PairwiseLoss,
        curvature: CurvatureModel,
        rows: NDArray[np.int64] | slice = slice(None),
    ):
        self._design, self._loss, self.curvature, self._rows = design.centred(), loss, curvature, rows
        zeros = zero_scores(design)
        zero = loss.value_and_coefficients(self._of_loss(zeros))
        self._at = _Iterate(np.zeros(design.shape[1]), zeros, *zero)

    def state(self) -> dict[str, FloatArray] | None:
        """Return the arrays from which the next alpha starts, or None if the scores are elsewhere."""
        if not isinstance(self._at.scores, np.ndarray):
            return None
        found = {name: getattr(self._at, name) for name in ("coef", "scores", "step", "earlier", "slopes")}
        return self.curvature.state() | {name: value for name, value in found.items() if value is not None}

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Continue from the state of another descent on the same loss."""
        self.curvature.restore(state)
        given = {name: value for name, value in state.items() if name not in ("density", "learned")}
        value, coefficients = self._loss.value_and_coefficients(self._of_loss(given["scores"]))
        self._at = _Iterate(value=value, coefficients=coefficients, **given)

    @property
    def scores(self) -> FloatVector:
        """The scores of all rows by the last weights, up to a constant."""
        return self._at.scores

    def minimise(self, alpha: float, tol: float, monitor: Monitor | None = None) -> SolverResult | None:
        """Iterate until the predicted decrease is at most a tenth of the target gap.

        Return None if actual decreases keep falling short of the prediction, because of kinks of the loss.
        The `gap` of the result is that of strong convexity, ||gradient||^2 / (4 alpha), which is far above
        the predicted decrease if alpha is small.
        """
        monitor = Monitor() if monitor is None else monitor
        try:
            return in_lockstep(self._design, [self.descending(alpha, tol, monitor)])[0]
        except KeyboardInterrupt:
            return self._result(alpha, StoppingRule(tol, self._loss.at_zero), monitor, "interrupted")

    def descending(
        self, alpha: float, tol: float, monitor: Monitor, guess: FloatVector | None = None
    ) -> Generator[Request, FloatVector, SolverResult | None]:
        """Minimize as `minimise` does, and yield each product with X that is needed: see `in_lockstep`.

        `guess` is the change of the weights since the last alpha, as far as it is known: the first step. A
        step from there whose predicted decrease is at most the target is the last; no product verifies it.
        """
        rule, shortfalls = StoppingRule(tol, self._loss.at_zero), 0
        if guess is not None and guess.any():
            yield from self._move(alpha, guess)
        for step in range(1, MAX_STEPS + 1):
            gradient = yield from self._gradient(alpha)
            direction, objective = -self.curvature.solve(gradient, alpha), self._objective(alpha)
            predicted, target = -float(gradient @ direction) / 2.0, float(rule.target(objective, 0.0))
            monitor.record(objective, objective - self._gap(alpha), self._at.coef, target, step)
            if predicted <= PREDICTION_FRACTION * target or monitor.stop_requested:
                return self._result(alpha, rule, monitor, "stopped")
            fallen = yield from self._move(alpha, direction)
            # NaN is a shortfall.
            shortfalls = 0 if fallen >= ACHIEVED_FRACTION * predicted else shortfalls + 1
            if shortfalls == MAX_SHORTFALLS:
                return None
            if guess is not None and shortfalls == 0 and predicted <= target:
                return self._result(alpha, rule, monitor, "stopped")
        return None

    def _result(self, alpha: float, rule: StoppingRule, monitor: Monitor, status: str) -> SolverResult:
        coef, objective, history = self._at.coef, self._objective(alpha), monitor.history
        return finalise(coef, objective, self._gap(alpha), len(history["gap"]), status, history, rule)

    def _gradient(self, alpha: float) -> Generator[Request, FloatVector, FloatVector]:
        """Return the gradient; the change of the slopes by the last step updates the curvature model."""
        here = self._at
        if here.slopes is None:
            here.slopes = yield "rmatvecs", self._of_all_rows(here.coefficients)
            if here.step is not None and here.earlier is not None:
                self.curvature.learn(here.step, here.slopes - here.earlier)
        return here.slopes + 2.0 * alpha * here.coef

    def _of_loss(self, scores: Any) -> Any:
        """Return the scores of the rows of the loss."""
        return scores if isinstance(self._rows, slice) else scores[self._rows]

    def _of_all_rows(self, coefficients: FloatVector) -> FloatVector:
        if isinstance(self._rows, slice):
            return coefficients
        found = np.zeros(self._design.shape[0])
        found[self._rows] = coefficients
        return found

    def _gap(self, alpha: float) -> float:
        """Return the gap of strong convexity, or the objective if that is less or slopes are not known."""
        if self._at.slopes is None:
            return self._objective(alpha)
        gradient = self._at.slopes + 2.0 * alpha * self._at.coef
        return min(float(quotient(gradient @ gradient, 4.0 * alpha)), self._objective(alpha))

    def _objective(self, alpha: float) -> float:
        return self._at.value + alpha * float(self._at.coef @ self._at.coef)

    def _move(self, alpha: float, direction: FloatVector) -> Generator[Request, FloatVector, float]:
        """Search a line, and return the decrease of the objective."""
        here, objective = self._at, self._objective(alpha)
        change = yield "matvecs", direction
        scores, along = self._of_loss(here.scores), self._of_loss(change)

        def slope(coefficients: FloatVector, coef: FloatVector) -> float:
            return float(coefficients @ along) + 2.0 * alpha * float(coef @ direction)

        def at(length: float) -> Point:
            value, coefficients = self._loss.value_and_coefficients(scores + length * along)
            coef = here.coef + length * direction
            sloped = slope(coefficients, coef)
            return Point(length, value + alpha * float(coef @ coef), sloped, (value, coefficients))

        origin = Point(0.0, objective, slope(here.coefficients, here.coef))
        search: dict[str, Any] = {"slope_fraction": SLOPE_FRACTION, "max_evaluations": MAX_EVALUATIONS}
        best = minimise_on_line(at, origin, 1.0, 0.0, **search).best
        if best is origin:
            return 0.0
        step = best.step * direction
        value, coefficients = best.extra
        scores = here.scores + best.step * change
        self._at = _Iterate(here.coef + step, scores, value, coefficients, step, here.slopes)
        return objective - best.value


def in_lockstep(design: Design, runs: list[Generator[Request, FloatVector, Any]]) -> list[Any]:
    """Advance runs together, and return their results: one pass over X answers what all of them ask for.

    Each gets the numbers that it would get alone.
    """
    results: list[Any] = [None] * len(runs)
    answers: dict[int, Any] = dict.fromkeys(range(len(runs)))
    while answers:
        asked: dict[str, dict[int, FloatVector]] = {"matvecs": {}, "rmatvecs": {}}
        for k, answer in answers.items():
            try:
                product, vector = runs[k].send(answer)
                asked[product][k] = vector
            except StopIteration as end:
                results[k] = end.value
        answers = {}
        for product, vectors in asked.items():
            if vectors:
                rows: Any = list(vectors.values())
                rows = np.stack(rows) if isinstance(rows[0], np.ndarray) else rows  # else they are elsewhere
                answers.update(zip(vectors, getattr(design, product)(rows), strict=True))
    return results


def descent_of(design: Design, loss: PairwiseLoss) -> Descent | None:
    """Return a descent if there are many rows per feature, and None otherwise."""
    curvature = curvature_of(design, loss.preferences, loss.average)
    return None if curvature is None else Descent(design, loss, curvature)


def curvature_of(design: Design, preferences: Preferences, average: str) -> CurvatureModel | None:
    """Return the curvature of a loss from a sample of the rows, or None if a descent does not suit them."""
    m, n = design.shape
    if m < MIN_ROWS or n * n > m:
        return None
    rows = preferences.sample(min(1.0, ROWS_PER_FEATURE * n / m))
    part = None if rows is None else design.sampled(rows)
    if rows is None or part is None:
        return None
    pairs = preferences[rows]
    if not pairs.n_pairs:
        return None
    squares = LeastSquares(pairs, ties="keep", average=average)
    return CurvatureModel(part.normal_equations(squares)[0])
