"""What a solution of pairwise least squares is worth: its objective, and how far it is above the optimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.data.design import Design
from rankwise.losses import LeastSquares
from rankwise.solvers.goal import Goal
from rankwise.solvers.result import Monitor, SolverResult, concluded
from rankwise.solvers.rounding import Rounding


def certificate(
    design: Design, form: LeastSquares, alpha: Any, coef: FloatArray, rounding: Rounding
) -> tuple[Any, Any, Any]:
    """Return the objective, a bound on its distance to the optimum, and what rounding may add to the bound.

    The bound is ||gradient||^2 / (4 alpha).
    """
    scores = design @ coef
    value, coefficients = form.value_and_coefficients(scores)
    adjoint = design.rmatvec if coef.ndim == 1 else design.rmatmat
    gradient = adjoint(coefficients) + 2 * alpha * coef
    objective = value + alpha * np.sum(coef * coef, axis=0)
    norm, reach = np.linalg.norm(gradient, axis=0), rounding.reach(coef, scores)
    gap = rounding.certified(alpha, coef, objective, norm, reach)
    return objective, gap, rounding.left_to_square(alpha, coef, objective, reach)


def closed_form(coef: FloatArray, objective: Any, gap: Any, rounded: Any, goal: Goal) -> SolverResult:
    """Return what a closed form came to."""
    return outputs_result(coef, objective, gap, 1, "converged", Monitor(), goal, rounded)


def outputs_result(
    coef: FloatArray,
    objective: Any,
    gap: Any,
    n_iter: int,
    status: str,
    monitor: Monitor,
    goal: Goal,
    rounded: Any,
) -> SolverResult:
    """Return weights with outputs first, and plain numbers where there is one output."""
    if coef.ndim == 1:
        objective, gap = float(objective), float(gap)
    rows, history = np.ascontiguousarray(coef.T), monitor.history
    return concluded(rows, objective, gap, n_iter, status, history, goal, rounded)
