"""Certificates of the convex-hull program: a feasible point and a lower bound on the minimum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.data.precision import UNIT, Precision
from rankwise.solvers.certificate import Certificate, StoppingRule, certified_gap
from rankwise.solvers.hull_program import DualPoint, HullProgram
from rankwise.solvers.result import SolverResult
from rankwise.solvers.run import finalise


class Penalty:
    """The quadratic penalty w'P w, with P = alpha I plus an optional positive semidefinite matrix."""

    def __init__(self, alpha: float, matrix: NDArray | None = None):
        self.alpha = alpha
        self.matrix = None if matrix is None else matrix + alpha * np.eye(len(matrix))
        self._factor = None if matrix is None else cho_factor(self.matrix)

    def gradient(self, w: FloatVector) -> FloatVector:
        """Return 2 P w."""
        return 2.0 * (self.alpha * w if self.matrix is None else self.matrix @ w)

    def value(self, w: FloatVector) -> float:
        """Return w'P w."""
        return 0.5 * float(w @ self.gradient(w))

    def conjugate(self, g: FloatVector) -> float:
        """Return the largest value of g'w - w'P w over w: g'inv(P) g / 4."""
        return 0.25 * float(g @ self.solved(g))

    def solved(self, g: FloatVector) -> FloatVector:
        """Return inv(P) g."""
        return g / self.alpha if self._factor is None else cho_solve(self._factor, g)

    def magnitude(self, w: FloatVector) -> float:
        """Return |w|'|P| |w|: the sum of the absolute terms of w'P w."""
        size = np.abs(w)
        return float(size @ (self.alpha * size if self.matrix is None else np.abs(self.matrix) @ size))

    def diagonal(self, n: int) -> FloatVector:
        """Return the diagonal of P."""
        return np.full(n, self.alpha) if self.matrix is None else self.matrix.diagonal()


@dataclass
class HullOptimum:
    """Weights, feasible thresholds and feasible multipliers; the minimum is between bound and objective.

    `error` is the rounding error of the objective. That of the bound, `bound_error`, has been subtracted.
    """

    coef: FloatVector
    thresholds: FloatVector
    dual: DualPoint
    objective: float
    bound: float
    error: float = 0.0
    bound_error: float = 0.0

    @property
    def gap(self) -> float:
        """A bound on the suboptimality."""
        return certified_gap(self.objective, self.bound, self.error)

    @property
    def rounding(self) -> float:
        """The part of the gap that rounding can explain, with a safety factor of 2."""
        return 2.0 * (self.error + self.bound_error)

    @property
    def certificate(self) -> Certificate:
        """The certificate; its gap allows for rounding."""
        gap, rounding = self.gap, self.rounding
        return Certificate(self.objective, self.bound, gap, lambda: (gap, rounding), includes_drift=True)

    def finalised(self, n_iter: int, status: str, history: Any, rule: StoppingRule) -> SolverResult:
        """Return the result of a run."""
        if not np.isfinite(self.objective):  # there is no feasible point, and so no model to certify
            status = "stalled" if status == "converged" else status
            return SolverResult(self.coef, self.objective, self.gap, n_iter, status, history)
        found = self.coef, self.objective, self.gap
        return finalise(*found, n_iter, status, history, rule, self.rounding)

    def joined(self, other: HullOptimum) -> HullOptimum:
        """Combine the lower objective and the higher bound of two certificates."""
        primal = self if self.objective <= other.objective else other
        dual = self if self.bound >= other.bound else other
        return replace(primal, dual=dual.dual, bound=dual.bound, bound_error=dual.bound_error)


# The tolerance on the attainable improvement; that on the objective is usually sharper.
IMPROVEMENT_TOL = 1e-3
# The zero function is called a solution if its gap is at most this times the objective.
CONSTANT_TOL = 1e-6


class HullStoppingRule(StoppingRule):
    """Stop when the gap is at most `tol` times the objective and a thousandth of the attainable improvement.

    Without slacks zero is not feasible, and only the first condition counts.
    """

    def target(self, objective: Any, gap: Any, rounding: Any = 0.0) -> Any:
        """Return the gap to stop at."""
        rule = StoppingRule(max(self.tol, IMPROVEMENT_TOL), self.at_zero)
        return np.minimum(rule.target(objective, gap, rounding), self.tol * objective)

    def target_gap(self, certificate: Certificate) -> float:
        """Return the gap to stop at."""
        return float(self.target(certificate.objective, certificate.gap, certificate.rounding))

    def is_met(self, certificate: Certificate, target_gap: float) -> bool:
        """Return whether the gap, which allows for rounding, is at a finite target."""
        return bool(certificate.gap <= target_gap < np.inf)


def certified(
    design: Design,
    program: HullProgram,
    penalty: Penalty,
    coef: FloatVector,
    scores: FloatVector,
    thresholds: FloatVector,
    dual: DualPoint,
) -> HullOptimum:
    """Move thresholds and multipliers into their feasible sets and compute both objectives there.

    The gap is therefore valid however inaccurate the solver was.
    """
    precision, dual = design.precision, dual.balanced(program)
    pull = design.rmatvec(dual.pull(program))
    # The error of each slope, as in `ErrorModel.plane`.
    slopes = precision.rows * precision.size * float(np.sum(dual.below + dual.above))
    conjugate_error = _conjugate_error(penalty, pull, slopes)
    conjugate = penalty.conjugate(pull) + conjugate_error
    if program.slack == "none":
        return _certified_hard(program, penalty, precision, coef, scores, dual, conjugate)
    thresholds = program.tightened(thresholds)
    value = program.loss(scores, thresholds)
    error = _loss_error(program, precision, coef, scores, thresholds, value)
    error += (precision.rows + precision.columns) * penalty.magnitude(coef)
    dual_error = _dual_error(program, precision, dual, thresholds)
    floor = dual.value(program) - dual_error - conjugate
    objective, bound_error = value + penalty.value(coef), dual_error + conjugate_error
    return HullOptimum(coef, thresholds, dual, objective, floor, error, bound_error)


def _conjugate_error(penalty: Penalty, pull: FloatVector, slopes: FloatVector) -> float:
    """Return the error of g'inv(P) g / 4 if g has an error of `slopes`; P is at least alpha I."""
    weights = np.abs(penalty.solved(pull)) / 2.0
    return float(weights @ slopes + slopes @ slopes / (4.0 * penalty.alpha))


def _loss_error(
    program: HullProgram,
    precision: Precision,
    coef: FloatVector,
    scores: FloatVector,
    thresholds: FloatVector,
    value: float,
) -> float:
    """Return the error of the loss, from that of a slack."""
    total = float(program.weight.sum())
    slack = precision.scores(coef) + 4.0 * UNIT * float(np.abs(np.append(scores, thresholds)).max())
    if program.slack == "squared":
        return 2.0 * np.sqrt(total * value) * slack + total * slack**2 + precision.rows * value
    return total * slack + precision.rows * value


def _dual_error(
    program: HullProgram, precision: Precision, dual: DualPoint, thresholds: FloatVector
) -> float:
    """Return the error of the dual value: of its sums, and of multipliers that balance up to rounding."""
    reach = 1.0 + np.ptp(thresholds)
    total = float(dual.edge.sum())
    return precision.rows * (4.0 * reach * total + total - dual.value(program))


def _certified_hard(
    program: HullProgram,
    penalty: Penalty,
    precision: Precision,
    coef: FloatVector,
    scores: FloatVector,
    dual: DualPoint,
    conjugate: float,
) -> HullOptimum:
    """Scale the weights until the margin is one, and the multipliers until their bound is highest."""
    thresholds = program.hull_bounds(scores)
    # The margin less its rounding error.
    margin = program.margin(thresholds) - 2.0 * precision.scores(coef) - 4.0 * UNIT * np.abs(scores).max()
    scaled = thresholds / max(margin, 1e-300)
    value = max(dual.value(program) - _dual_error(program, precision, dual, scaled), 0.0)
    bound = value * (value / (4.0 * max(conjugate, 1e-300)))  # whose square may overflow
    if not margin > 0:
        return HullOptimum(coef, thresholds, dual, np.inf, bound)
    coef = coef / margin
    error = (precision.rows + precision.columns) * penalty.magnitude(coef)
    return HullOptimum(coef, scaled, dual, penalty.value(coef), bound, error)


def constant_optimum(
    program: HullProgram, optimum: HullOptimum, zero: HullOptimum, tol: float
) -> HullOptimum | None:
    """Return the zero function if it is a solution up to `tol` and none is certainly better, else None.

    Then the scores that a solver found owe their order to rounding and to the path it took.
    """
    if optimum.objective + optimum.error < zero.bound:
        return None
    objective = program.loss(np.zeros(program.n_rows), zero.thresholds)
    constant = replace(
        optimum, coef=np.zeros_like(optimum.coef), thresholds=zero.thresholds, objective=objective
    )
    return constant if constant.gap <= max(tol, CONSTANT_TOL) * objective else None
