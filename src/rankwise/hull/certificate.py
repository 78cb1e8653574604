"""What proves a solution of the convex-hull programme: a feasible point and a lower bound of the minimum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.hull.program import DualPoint, HullProgram
from rankwise.solvers.goal import Goal
from rankwise.solvers.result import SolverResult, concluded, distance
from rankwise.solvers.rounding import UNIT, Rounding


class Penalty:
    """The quadratic penalty w'P w, with P = alpha I plus, where given, a positive semidefinite matrix."""

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
        """Return |w|'|P| |w|: what is summed for w'P w, as if no two terms cancelled."""
        size = np.abs(w)
        return float(size @ (self.alpha * size if self.matrix is None else np.abs(self.matrix) @ size))

    def diagonal(self, n: int) -> FloatVector:
        """Return the diagonal of P."""
        return np.full(n, self.alpha) if self.matrix is None else self.matrix.diagonal()


@dataclass
class HullOptimum:
    """Weights, feasible thresholds and feasible multipliers; the minimum is between bound and objective.

    Rounding may have moved the objective by as much as `error`; what it may have done to the bound,
    `bound_error`, is taken off the bound.
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
        """A bound on the distance of the objective from the minimum."""
        return distance(self.objective, self.bound, self.error)

    @property
    def rounded(self) -> float:
        """How much of the gap rounding may be to blame for."""
        return 2.0 * (self.error + self.bound_error)

    def concluded(self, n_iter: int, status: str, history: Any, goal: Goal) -> SolverResult:
        """Return what a run came to."""
        if not np.isfinite(self.objective):  # there is no feasible point, and so no model to judge
            status = "stalled" if status == "converged" else status
            return SolverResult(self.coef, self.objective, self.gap, n_iter, status, history)
        found = self.coef, self.objective, self.gap
        return concluded(*found, n_iter, status, history, goal, self.rounded)

    def joined(self, other: HullOptimum) -> HullOptimum:
        """Return the lower objective of the two with the higher bound."""
        primal = self if self.objective <= other.objective else other
        dual = self if self.bound >= other.bound else other
        return replace(primal, dual=dual.dual, bound=dual.bound, bound_error=dual.bound_error)


# Of what can be won: a programme is solved to more digits than this share of it needs.
WON_SHARE = 1e-3


class HullGoal(Goal):
    """A gap of at most `tol` times the objective, and at most a thousandth of what can be won.

    Without slacks zero is no solution, and only the first counts.
    """

    def gap(self, objective: Any, gap: Any, rounding: Any = 0.0) -> Any:
        """Return the gap to end with."""
        won = Goal(max(self.tol, WON_SHARE), self.at_zero).gap(objective, gap, rounding)
        return np.minimum(won, self.tol * objective)


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

    So the gap is right however inaccurate the solver was.
    """
    rounding, dual = Rounding.of(design), dual.balanced(program)
    pull = design.rmatvec(dual.pull(program))
    # Each slope is off by at most this, as in `Rounding.plane`.
    slopes = rounding.rows * rounding.size * float(np.sum(dual.below + dual.above))
    conjugate_error = _conjugate_error(penalty, pull, slopes)
    conjugate = penalty.conjugate(pull) + conjugate_error
    if program.slack == "none":
        return _certified_hard(program, penalty, rounding, coef, scores, dual, conjugate)
    thresholds = program.tightened(thresholds)
    value = program.loss(scores, thresholds)
    error = _loss_error(program, rounding, coef, scores, thresholds, value)
    error += (rounding.rows + rounding.columns) * penalty.magnitude(coef)
    dual_error = _dual_error(program, rounding, dual, thresholds)
    floor = dual.value(program) - dual_error - conjugate
    objective, bound_error = value + penalty.value(coef), dual_error + conjugate_error
    return HullOptimum(coef, thresholds, dual, objective, floor, error, bound_error)


def _conjugate_error(penalty: Penalty, pull: FloatVector, slopes: FloatVector) -> float:
    """Return what g'inv(P) g / 4 may be off by where g is off by `slopes`; P is at least alpha I."""
    weights = np.abs(penalty.solved(pull)) / 2.0
    return float(weights @ slopes + slopes @ slopes / (4.0 * penalty.alpha))


def _loss_error(
    program: HullProgram,
    rounding: Rounding,
    coef: FloatVector,
    scores: FloatVector,
    thresholds: FloatVector,
    value: float,
) -> float:
    """Return what the loss may be off by, from what a slack may be off by."""
    total = float(program.weight.sum())
    slack = rounding.scores(coef) + 4.0 * UNIT * float(np.abs(np.append(scores, thresholds)).max())
    if program.slack == "squared":
        return 2.0 * np.sqrt(total * value) * slack + total * slack**2 + rounding.rows * value
    return total * slack + rounding.rows * value


def _dual_error(program: HullProgram, rounding: Rounding, dual: DualPoint, thresholds: FloatVector) -> float:
    """Return what the dual value may be off by: its sums, and multipliers that balance up to rounding."""
    reach = 1.0 + np.ptp(thresholds)
    total = float(dual.edge.sum())
    return rounding.rows * (4.0 * reach * total + total - dual.value(program))


def _certified_hard(
    program: HullProgram,
    penalty: Penalty,
    rounding: Rounding,
    coef: FloatVector,
    scores: FloatVector,
    dual: DualPoint,
    conjugate: float,
) -> HullOptimum:
    """Scale the weights until the margin is one, and the multipliers until their bound is highest."""
    thresholds = program.hull_bounds(scores)
    # Of the margin only what rounding leaves for sure counts.
    margin = program.margin(thresholds) - 2.0 * rounding.scores(coef) - 4.0 * UNIT * np.abs(scores).max()
    scaled = thresholds / max(margin, 1e-300)
    value = max(dual.value(program) - _dual_error(program, rounding, dual, scaled), 0.0)
    bound = value * (value / (4.0 * max(conjugate, 1e-300)))  # whose square may overflow
    if not margin > 0:
        return HullOptimum(coef, thresholds, dual, np.inf, bound)
    coef = coef / margin
    error = (rounding.rows + rounding.columns) * penalty.magnitude(coef)
    return HullOptimum(coef, scaled, dual, penalty.value(coef), bound, error)
