"""A primal-dual interior point method for the hinge loss of listed pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rankwise.core.memory import require_memory
from rankwise.core.threads import in_order
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.losses import Hinge
from rankwise.preferences import Preferences
from rankwise.preferences.base import sum_by_row
from rankwise.solvers.bundle import NEWTON_ROWS
from rankwise.solvers.certificate import Certificate, StoppingRule, certified_gap
from rankwise.solvers.errors import ErrorModel
from rankwise.solvers.objective import Iterate, Objective
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.run import run

# A step ends at this fraction of the distance to the nearest bound.
STEP_FRACTION = 0.995
# At the start, a dual variable times its multiplier is this times the weight of its pair. Of 1, 3, 10 and 30,
# 1 and 3 need the fewest iterations, and 3 fewer if alpha is small and most pairs can be ordered.
START = 3.0
# The method has stalled after this many iterations that improve neither the objective nor the bound, and
# together do not shrink the mean complementarity by this factor.
PATIENCE, SHRINKS = 3, 0.9
# Pairs per call of BLAS. The blocks, and so the sums, do not depend on the number of threads.
BLOCK = 1024
# See `interior_point_pays`.
MIN_FEATURES, MAX_COST, PLANES_PAY = 32, 10**10, 75.0
# The mean squared difference is that of at most about this many pairs.
SAMPLED_PAIRS = 1000


class InteriorPoint:
    """Mehrotra's predictor-corrector method on the dual of the mean hinge loss over N pairs.

    With the differences D = x_better - x_worse and the weights u of the pairs, which sum to 1,

        maximize   sum a - ||D'a||^2 / (4 alpha)   subject to   0 <= a <= u,   w = D'a / (2 alpha).

    A step solves n x n equations for n weights, made from N pairs: O(N n^2). The number of steps, 5 to 20,
    hardly depends on alpha. Each dual point is a plane below the loss, and so gives a lower bound.

    Parameters
    ----------
    objective : Objective
        Of a `Hinge` over listed pairs.
    rows : array of shape (n_rows, n_features)
        The rows of the design.
    """

    def __init__(self, objective: Objective, rows: FloatArray):
        self.objective, self._n_threads = objective, objective.loss.n_threads
        loss = objective.loss
        self._better, self._worse, _, self._weight = loss.preferences.mean_pairs(loss.average)
        self._difference = rows[self._better]
        self._difference -= rows[self._worse]
        self._errors = ErrorModel(objective.design.precision, loss.bounds)
        self.best: Iterate = objective.at(np.zeros(rows.shape[1]))
        self._bound, self._mean, self._waiting = 0.0, np.inf, 0
        # At w = 0 the hinge of each pair is 1, and `share` solves START / (1 - share) - START / share = 1.
        # (The w of that dual point is far off if alpha is small: from there, it takes twice as many steps.)
        share = 0.5 - START + np.sqrt(0.25 + START**2)
        self._dual = share * self._weight
        self._room = self._weight - self._dual  # its own variable: a difference would lose its digits near 0
        self._lower = np.full(len(self._weight), START / share)
        self._upper = np.full(len(self._weight), START / (1.0 - share))
        self._coef = np.zeros(rows.shape[1])

    @property
    def coef(self) -> FloatVector:
        """The best weights so far."""
        return self.best.coef

    def certificate(self, target_gap: float) -> Certificate:
        """Return the certificate of the best weights and the best dual point so far."""
        point, bound = self.objective.at(self._coef), self._bound_of(self._dual)
        mean = float(self._dual @ self._lower + self._room @ self._upper)
        improves = point.objective < self.best.objective or bound > self._bound
        improves = improves or mean < SHRINKS * self._mean
        self._mean = min(self._mean, mean) if improves else self._mean
        self._waiting = 0 if improves else self._waiting + 1
        self.best = min(self.best, point, key=lambda one: one.objective)
        self._bound = max(self._bound, bound)
        return self.recomputed()

    def recomputed(self) -> Certificate:
        """Return the certificate; the scores of each point are computed from its weights."""
        best, bound, alpha = self.best, self._bound, self.objective.alpha

        def allowances() -> tuple[float, float]:
            score_range = self._errors.precision.score_range(best.coef, best.scores)
            error = float(self._errors.at(alpha, best.coef, best.objective, score_range).objective)
            floor = self._errors.plane(alpha, best.coef, 1.0)
            return certified_gap(best.objective, bound, error), 2.0 * (error + floor)

        return Certificate(best.objective, bound, best.objective - bound, allowances, includes_drift=True)

    def settle(self) -> bool:
        """Return True: weights of an interior point are zero only if the slopes of the loss are."""
        return True

    def step(self, target_gap: float) -> bool:
        """Take a predictor and a corrector step; return False if rounding leaves none."""
        if self._waiting > PATIENCE:
            return False
        a, room, z, s = self._dual, self._room, self._lower, self._upper
        scale = z / a + s / room
        try:
            factor = self._factor(scale)
        except np.linalg.LinAlgError:
            return False
        margin = 1.0 - self._difference @ self._coef
        mean = (a @ z + room @ s) / (2 * len(a))
        da, dz, ds, _ = predicted = self._direction(factor, scale, margin, 0.0, 0.0)
        length = self._longest(*predicted[:3])
        left = (a + length * da) @ (z + length * dz) + (room - length * da) @ (s + length * ds)
        centring = (left / (2 * len(a) * mean)) ** 3 * mean
        corrected = self._direction(factor, scale, margin, centring - da * dz, centring + da * ds)
        length = min(1.0, STEP_FRACTION * self._longest(*corrected[:3]))
        da, dz, ds, dw = (length * move for move in corrected)
        self._dual, self._room, self._lower, self._upper = a + da, room - da, z + dz, s + ds
        self._coef = self._coef + dw
        return bool(length > 0 and np.isfinite(self._coef).all())

    def _bound_of(self, dual: FloatVector) -> float:
        """Return the dual value less its rounding error: the minimum of a plane plus alpha ||w||^2."""
        alpha, n_rows = self.objective.alpha, self.objective.design.shape[0]
        dual = np.clip(dual, 0.0, self._weight)
        coefficients = sum_by_row(self._worse, dual, n_rows) - sum_by_row(self._better, dual, n_rows)
        coef = self.objective.design.rmatvec(coefficients) / (-2 * alpha)
        return float(dual.sum() - alpha * (coef @ coef)) - self._errors.plane(alpha, coef, 1.0)

    def _direction(
        self, factor: Any, scale: FloatVector, margin: FloatVector, lower: Any, upper: Any
    ) -> tuple[FloatVector, FloatVector, FloatVector, FloatVector]:
        """Return the moves of a, of its multipliers and of w, given the targets of their products.

        The weights are variables of their own: for a small alpha, D'a / (2 alpha) would lose their digits.
        """
        a, room, z, s = self._dual, self._room, self._lower, self._upper
        rest_low, rest_high = lower - a * z, upper - room * s
        rhs = (margin + z - s + rest_low / a - rest_high / room) / scale
        residual = self._summed(rhs + a) - 2 * self.objective.alpha * self._coef
        dw = cho_solve(factor, residual, check_finite=False)
        da = rhs - (self._difference @ dw) / scale
        return da, (rest_low - z * da) / a, (rest_high + s * da) / room, dw

    def _factor(self, scale: FloatVector) -> Any:
        """Factor 2 alpha I + D' diag(1 / scale) D."""
        n = self._difference.shape[1]
        total = 2 * self.objective.alpha * np.eye(n)
        root = 1.0 / np.sqrt(scale)

        def product(rows: slice) -> FloatArray:
            part = self._difference[rows] * root[rows, None]
            return part.T @ part

        for part in in_order(product, self._blocks(), self._n_threads):
            total += part
        return cho_factor(total, overwrite_a=True, check_finite=False)

    def _summed(self, values: FloatVector) -> FloatVector:
        """Return D' times values, block by block."""
        total = np.zeros(self._difference.shape[1])
        parts = in_order(
            lambda rows: self._difference[rows].T @ values[rows], self._blocks(), self._n_threads
        )
        for part in parts:
            total += part
        return total

    def _blocks(self) -> Iterator[slice]:
        return (slice(begin, begin + BLOCK) for begin in range(0, len(self._weight), BLOCK))

    def _longest(self, da: FloatVector, dz: FloatVector, ds: FloatVector) -> float:
        """Return the longest step of at most 1 that keeps all variables nonnegative."""
        longest = 1.0
        given = ((self._dual, da), (self._room, -da), (self._lower, dz), (self._upper, ds))
        for value, move in given:
            falls = move < 0
            if falls.any():
                longest = min(longest, float((-value[falls] / move[falls]).min()))
        return longest


def interior_point_pays(design: Design, preferences: Preferences, alpha: float | None = None) -> bool:
    """Return whether the method is faster than cutting planes: for few listed pairs with many features.

    Measured with 200 to 200,000 pairs of 5 to 768 features and alphas from 0.1 to 1e-6: it pays from
    `MIN_FEATURES` on, up to a cost of `MAX_COST`, unless Newton steps by differences pay, too. Cutting planes
    need more iterations the smaller alpha is: they are faster if alpha times the number of pairs exceeds
    `PLANES_PAY` times the mean squared difference of a feature. Without an alpha, small ones will follow.
    """
    n_rows, n_features = design.shape
    return (
        preferences.lists_pairs
        and _has_dense_rows(design)
        and not hasattr(design, "nonnegative")
        and n_features >= MIN_FEATURES
        and n_rows < NEWTON_ROWS
        and preferences.n_pairs * n_features**2 <= MAX_COST
        and (alpha is None or alpha * preferences.n_pairs <= PLANES_PAY * _mean_square(design, preferences))
    )


def _mean_square(design: Any, preferences: Preferences) -> float:
    """Return the mean squared difference of a feature between the two rows of a pair, from a sample."""
    pairs = preferences.pairs()
    some = slice(None, None, 1 + len(pairs.weight) // SAMPLED_PAIRS)
    difference = design.X[pairs.better[some]] - design.X[pairs.worse[some]]
    return float(np.mean(difference**2))


def _has_dense_rows(design: Design) -> bool:
    return design.location is None and isinstance(getattr(design, "X", None), np.ndarray)


def solve_interior_point(
    design: Design,
    loss: Hinge,
    alpha: float,
    *,
    start: FloatVector | None = None,
    planes: Any = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Minimize the mean hinge loss of listed pairs plus alpha ||w||^2: see `InteriorPoint`.

    A `start` is ignored: an interior point method has to begin far from the bounds.
    """
    if planes is not None or not _has_dense_rows(design):
        what = "weights without bounds (no monotone curves)" if planes is not None else "dense rows in memory"
        raise ValueError(f"solver='interior-point' needs {what}; use solver='bundle'.")
    n_bytes = 8 * loss.preferences.n_pairs * design.shape[1]
    require_memory(n_bytes, "The difference of every pair", "use solver='bundle'")
    monitor = Monitor() if monitor is None else monitor
    objective = Objective.of(design, loss, alpha, by_planes=True)
    rule = StoppingRule(tol, objective.at_zero)
    return run(InteriorPoint(objective, design.dense()), rule, max_iter=max_iter, monitor=monitor)
