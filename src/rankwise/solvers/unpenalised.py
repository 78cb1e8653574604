"""Newton's method for the logistic loss without a penalty, certified by self-concordance."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.losses import Smooth
from rankwise.solvers.certificate import Certificate, StoppingRule
from rankwise.solvers.errors import ErrorModel
from rankwise.solvers.line_search import minimise_on_line
from rankwise.solvers.objective import Iterate, Line, Objective
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.run import run

# A line is searched until its slope is this fraction of that at its start.
SLOPE_FRACTION = 0.25
# Decrement and radius are computed with a factor of the Hessian; this allows for its rounding errors.
SAFETY = 1.01
# The smallest pivot of the scaled Hessian, relative to the largest, that is not rounding.
COLLINEAR = 1e-6
# If a minimum exists, Newton's method comes near it in fewer steps.
MOST_STEPS = 60


class NoMinimumError(ValueError):
    """The loss has no minimum, or not a single one; the message gives the reason."""


class UnpenalisedNewton:
    """Newton steps with the whole Hessian and a line search.

    The third derivative of the loss of a pair is at most its second. So along a line of unit length in the
    norm of the Hessian H, the curvature falls by at most exp(-R t), with the largest R = ||x_i - x_j|| in the
    norm of H^-1. If the Newton decrement d, the norm of the gradient in H^-1, has d R < 1, then a minimum
    exists and the suboptimality is at most (x + (1 - x) log(1 - x)) / R^2 with x = d R, about d^2 / 2.

    Cost: n Hessian products and O(m n^2 + n^3) per step.
    """

    def __init__(self, objective: Objective, start: FloatVector | None = None):
        self.objective = objective
        self._errors = ErrorModel(objective.design.precision, objective.loss.bounds)
        n = objective.design.shape[1]
        self._rows = objective.design.matmat(np.eye(n))
        self._move_to(objective.at(np.zeros(n) if start is None else start))

    def _move_to(self, point: Iterate) -> None:
        self.point = point
        self.__dict__.pop("_factor", None)

    @property
    def coef(self) -> FloatVector:
        """The weights."""
        return self.point.coef

    @cached_property
    def _factor(self) -> FloatArray:
        """The Cholesky factor of the Hessian."""
        hessian = self.objective.loss.hessian(self.point.scores)
        rows = self._rows
        H = rows.T @ np.column_stack([hessian.product(column) for column in rows.T])
        scale = np.sqrt(np.maximum(np.diag(H), 1e-300))
        try:
            factor = np.linalg.cholesky((H + H.T) / 2 / np.outer(scale, scale))
        except np.linalg.LinAlgError:
            factor = np.zeros_like(H)
        if not np.diag(factor).min() > COLLINEAR:
            raise NoMinimumError(
                "alpha=0 has no single best model here: a column of X is constant or a combination of others "
                "within all pairs, or the pairs can be put in the right order. Leave out such columns, or "
                "set a small alpha."
            )
        return np.asarray(scale[:, None] * factor, np.float64)

    def _decrement(self) -> FloatVector:
        return np.asarray(solve_triangular(self._factor, self.point.gradient, lower=True), np.float64)

    def certificate(self, target_gap: float) -> Certificate:
        """Return the certificate of the point; its gap is infinite if d R is 1 or more."""
        objective = self.point.objective
        rows = solve_triangular(self._factor, (self._rows - self._rows.mean(axis=0)).T, lower=True)
        radius = SAFETY * 2.0 * float(np.sqrt(np.max(np.sum(rows * rows, axis=0))))
        score_range = self._errors.precision.score_range(self.coef, self.point.scores)
        errors = self._errors.at(np.finfo(np.float64).tiny, self.coef, objective, score_range)
        noise = self._noise(float(errors.gradient))
        decrement = SAFETY * float(np.linalg.norm(self._decrement()))
        gap = suboptimality(decrement, radius)
        certified = suboptimality(decrement + noise, radius) + float(errors.objective)
        rounding = 2.0 * (suboptimality(noise, radius) + float(errors.objective))
        return Certificate(objective, max(objective - certified, 0.0), gap, lambda: (certified, rounding))

    def _noise(self, gradient_error: float) -> float:
        """Return the error of the decrement, whatever the units of the columns.

        The error of an entry of the gradient is in proportion to the size of its column.
        """
        precision, lengths = self._errors.precision, np.linalg.norm(self._factor, axis=1)
        scaled = self._factor / lengths[:, None]
        weakest = float(np.linalg.svd(scaled, compute_uv=False)[-1])
        return gradient_error / precision.norm * float(np.linalg.norm(precision.size / lengths)) / weakest

    def recomputed(self) -> Certificate:
        """Return the certificate with scores computed from the weights."""
        self._move_to(self.objective.at(self.coef))
        return self.certificate(0.0)

    def settle(self) -> bool:
        """Return True: any point may be the last."""
        return True

    def step(self, target_gap: float) -> bool:
        """Take a Newton step; return False if rounding hides any decrease."""
        decrement = self._decrement()
        move = -np.asarray(solve_triangular(self._factor, decrement, lower=True, trans="T"), np.float64)
        scores = self.objective.design.matvec(move)
        line = Line(self.point, move, scores, slope=-float(decrement @ decrement))
        best = minimise_on_line(line.at, line.start, 1.0, 0.0, slope_fraction=SLOPE_FRACTION).best
        if best is line.start:
            return False
        self._move_to(line.iterate(best))
        return True


def suboptimality(decrement: float, radius: float) -> float:
    """Return the bound of self-concordance, infinite if there may be no minimum.

    Examples
    --------
    >>> round(suboptimality(0.01, 2.0), 7), suboptimality(1.0, 1.0)
    (5.03e-05, inf)
    """
    x = decrement * radius
    if not x < 1.0:
        return float("inf")
    if x < 1e-4:  # the series, as the difference loses digits
        return float(decrement**2 * (0.5 + x / 3.0))
    return float((x + (1.0 - x) * np.log1p(-x)) / radius**2)


def solve_unpenalised(
    design: Design,
    loss: Smooth,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatVector | None = None,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Minimize the logistic loss of X w: see `UnpenalisedNewton`.

    Raises `NoMinimumError` if the loss has no minimum: some weights put every pair in the right order, and
    larger ones are always better.
    """
    if design.location is not None:
        raise ValueError(f"alpha=0 needs all rows in memory, but X is {design.location}; set a small alpha.")
    monitor = Monitor() if monitor is None else monitor
    objective = Objective.of(design, loss, 0.0, by_planes=False)
    rule = StoppingRule(tol, objective.at_zero)
    result = run(
        UnpenalisedNewton(objective, start), rule, max_iter=min(max_iter, MOST_STEPS), monitor=monitor
    )
    if result.status in ("max_iter", "stalled") and not np.isfinite(result.gap):
        raise NoMinimumError(
            "alpha=0 has no best model here: some weights put all pairs, or all but ties, in the right "
            "order, and larger weights have a smaller loss without end. Set a small alpha."
        )
    return result
