"""Conjugate gradients for pairwise least squares: minimize form(Phi w) + alpha ||w||^2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.data.design import Design
from rankwise.losses import LeastSquares
from rankwise.solvers.certificate import StoppingRule
from rankwise.solvers.errors import ErrorModel, suboptimality
from rankwise.solvers.least_squares_certificate import certificate, outputs_result
from rankwise.solvers.result import STATUSES, Monitor, SolverResult

# The run continues to this fraction of the target gap; the rest is left to rounding.
GAP_FRACTION = 0.5


def solve_conjugate_gradients(
    design: Design,
    form: LeastSquares,
    alpha: Any,
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Solve the normal equations by preconditioned conjugate gradients, one output after the other.

    Each iteration costs one product with Phi, one with Phi' and one with L, as in section 4.3. The design
    has the preconditioner: the diagonal of Phi'L Phi up to the means of queries, or better. The run ends
    when the residual is at most `tol` times the right-hand side and the gap is at its target, which is then
    verified from the data.
    """
    monitor = Monitor() if monitor is None else monitor
    design = design.centred()
    model = ErrorModel(design.precision, form.bounds)
    pull = design.rmatvec(form.pull) if form.pull.ndim == 1 else design.rmatmat(form.pull)
    constants = np.atleast_1d(form.constant)
    alphas = np.broadcast_to(alpha, constants.shape)
    precondition = {
        shift: design.preconditioner(form, form.diagonal, shift) for shift in set(alphas.tolist())
    }
    columns, statuses, iterations = [], [], []
    errors = model.at(alpha, 0.0 * pull, form.constant, 0.0)
    rounded = np.atleast_1d(2.0 * suboptimality(alpha, form.constant, 0.0, errors))
    each = zip(np.atleast_2d(pull.T), constants.tolist(), rounded.tolist(), alphas.tolist(), strict=True)
    for right, constant, least, shift in each:
        run = _Run(design, form, shift, precondition[shift], right, constant, least, monitor)
        run.go(tol, max_iter)
        columns.append(run.coef)
        statuses.append(run.status)
        iterations.append(run.iteration)
        if run.status == "interrupted" and len(constants) > 1:
            raise KeyboardInterrupt  # the other outputs have no weights yet that could be kept
    coef = np.stack(columns, axis=1) if pull.ndim == 2 else columns[0]
    worst = max(statuses, key=STATUSES.index)
    found = certificate(design, form, alpha, coef, model)
    return outputs_result(coef, found, max(iterations), worst, monitor, StoppingRule(tol, form.constant))


class _Run:
    """Conjugate gradients for one right-hand side q: H w = q with H = Phi'L Phi + alpha I.

    With the residual p = q - H w the objective is constant - w'q - w'p, and at most p'p / alpha above its
    minimum.
    """

    def __init__(
        self,
        design: Design,
        form: LeastSquares,
        alpha: float,
        precondition: Callable[[FloatArray], FloatArray],
        right: FloatArray,
        constant: float,
        rounded: float,
        monitor: Monitor,
    ):
        self.design, self.form, self.alpha, self.precondition = design, form, alpha, precondition
        self.right, self.constant, self.rounded, self.monitor = right, constant, rounded, monitor
        self.coef, self.residual = np.zeros_like(right), right.copy()
        self.iteration, self.status, self.bound = 0, "max_iter", 0.0  # no objective is negative

    def go(self, tol: float, max_iter: int) -> None:
        """Iterate; restart from the true residual if the recurrence has drifted."""
        left = np.linalg.norm(self.right)
        self.rule, self.least = StoppingRule(tol, self.constant), tol * left
        try:
            while self.status == "max_iter" and self.iteration < max_iter:
                self._descend(max_iter)
                self.residual = self.right - self._product(self.coef)
                before, left = left, np.linalg.norm(self.residual)
                if self._reached():
                    self.status = "converged"
                elif self.status == "max_iter" and self.iteration < max_iter and not left < before / 2:
                    self.status = "stalled"
        except KeyboardInterrupt:
            self.status = "interrupted"

    def _product(self, direction: FloatArray) -> FloatArray:
        scores = self.form.product(self.design.matvec(direction))
        return self.design.rmatvec(scores) + self.alpha * direction

    def _reached(self) -> bool:
        objective, gap = self._certified()
        target = GAP_FRACTION * float(self.rule.target(objective, gap, self.rounded))
        return bool(np.linalg.norm(self.residual) <= self.least) and gap <= target

    def _descend(self, max_iter: int) -> None:
        direction, square = np.zeros_like(self.coef), 1.0
        while not self._reached() and self.iteration < max_iter:
            scaled = self.precondition(self.residual)
            previous, square = square, float(self.residual @ scaled)
            direction = scaled + (square / previous if direction.any() else 0.0) * direction
            product = self._product(direction)
            curvature = float(direction @ product)
            if not curvature > 0:  # lost in rounding
                return
            length = square / curvature
            self.coef += length * direction
            self.residual -= length * product
            self.iteration += 1
            self._record()
            if self.monitor.stop_requested:
                self.status = "stopped"
                return

    def _certified(self) -> tuple[float, float]:
        objective = self.constant - float(self.coef @ (self.right + self.residual))
        return objective, float(self.residual @ self.residual) / self.alpha

    def _record(self) -> None:
        objective, gap = self._certified()
        self.bound = max(self.bound, objective - gap)
        target = float(self.rule.target(objective, objective - self.bound, self.rounded))
        self.monitor.record(objective, self.bound, self.coef, target, self.iteration)
