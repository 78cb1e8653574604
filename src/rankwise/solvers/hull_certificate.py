"""What proves a solution of the convex-hull programme: a feasible point and a lower bound of the minimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from rankwise.design import Design
from rankwise.solvers.hull_program import DualPoint, HullProgram

FloatVector = NDArray[np.float64]


class Penalty:
    """The quadratic penalty w'P w, with P = alpha I plus, where given, a positive semidefinite matrix."""

    def __init__(self, alpha: float, matrix: NDArray | None = None):
        self.alpha = alpha
        self.matrix = None if matrix is None else matrix + alpha * np.eye(len(matrix))
        self._factor = None if matrix is None else cho_factor(self.matrix)

    def gradient(self, w: FloatVector) -> FloatVector:
        """Give 2 P w."""
        return 2.0 * (self.alpha * w if self.matrix is None else self.matrix @ w)

    def value(self, w: FloatVector) -> float:
        """Give w'P w."""
        return 0.5 * float(w @ self.gradient(w))

    def conjugate(self, g: FloatVector) -> float:
        """Give the largest value of g'w - w'P w over w: g'inv(P) g / 4."""
        solved = g / self.alpha if self._factor is None else cho_solve(self._factor, g)
        return 0.25 * float(g @ solved)

    def diagonal(self, n: int) -> FloatVector:
        """Give the diagonal of P."""
        return np.full(n, self.alpha) if self.matrix is None else self.matrix.diagonal()


@dataclass
class HullOptimum:
    """Weights, feasible thresholds and feasible multipliers; the minimum is between bound and objective."""

    coef: FloatVector
    thresholds: FloatVector
    dual: DualPoint
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        """A bound on the distance of the objective from the minimum."""
        return max(self.objective - self.bound, 0.0)

    def joined(self, other: HullOptimum) -> HullOptimum:
        """Give the lower objective of the two with the higher bound."""
        primal = self if self.objective <= other.objective else other
        dual = self if self.bound >= other.bound else other
        return HullOptimum(primal.coef, primal.thresholds, dual.dual, primal.objective, dual.bound)


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
    dual = dual.balanced(program)
    conjugate = penalty.conjugate(design.rmatvec(dual.pull(program)))
    if program.slack == "none":
        return _certified_hard(program, penalty, coef, scores, dual, conjugate)
    thresholds = program.tightened(thresholds)
    objective = program.loss(scores, thresholds) + penalty.value(coef)
    return HullOptimum(coef, thresholds, dual, objective, dual.value(program) - conjugate)


def _certified_hard(
    program: HullProgram,
    penalty: Penalty,
    coef: FloatVector,
    scores: FloatVector,
    dual: DualPoint,
    conjugate: float,
) -> HullOptimum:
    """Scale the weights until the margin is one, and the multipliers until their bound is highest."""
    thresholds = program.hull_bounds(scores)
    margin = program.margin(thresholds)
    bound = dual.value(program) ** 2 / (4.0 * max(conjugate, 1e-300))
    if not margin > 0:
        return HullOptimum(coef, thresholds, dual, np.inf, bound)
    return HullOptimum(coef / margin, thresholds / margin, dual, penalty.value(coef / margin), bound)
