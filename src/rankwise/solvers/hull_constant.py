"""The convex-hull programme of a function that is zero everywhere: is it a solution?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankwise.design import as_design
from rankwise.solvers.hull_certificate import HullOptimum, Penalty
from rankwise.solvers.hull_program import HullProgram
from rankwise.solvers.interior_point import solve_interior_point

# How well the thresholds of the zero function are placed, as a share of the gap that is asked for.
PLACED = 1e-2


def constant_optimum(
    program: HullProgram, penalty: Penalty, optimum: HullOptimum, tol: float
) -> HullOptimum | None:
    """Return the zero function where the certificate of a solution accepts it as well, and None otherwise.

    Zero is a solution where its objective, the loss of scores that are all the same at the best thresholds,
    is within `tol` of the bound: then the scores that a solver found owe their order to rounding and to the
    path it took. Without slacks there is no such case.
    """
    if program.slack == "none":
        return None
    goal = tol * optimum.objective + optimum.error
    # A point within `goal` of the minimum has a penalty of the distance between the two of at most `goal`: of
    # two such points, one of them zero, the other has at most four times that.
    if penalty.value(optimum.coef) > 4.0 * goal:
        return None
    thresholds = _best_thresholds(program, PLACED * tol)
    objective = program.loss(np.zeros(program.n_rows), thresholds)
    if objective - optimum.bound > goal:
        return None
    return replace(optimum, coef=np.zeros_like(optimum.coef), thresholds=thresholds, objective=objective)


def _best_thresholds(program: HullProgram, tol: float) -> np.ndarray:
    """Place the thresholds for scores of zero: units with the same thresholds count as one."""
    bounds, unit = np.unique(np.column_stack([program.low, program.high]), axis=0, return_inverse=True)
    merged = replace(
        program,
        row=np.arange(len(bounds)),
        weight=np.bincount(unit.ravel(), program.weight).astype(np.float64, copy=False),
        low=bounds[:, 0],
        high=bounds[:, 1],
        n_rows=len(bounds),
    )
    rows = as_design(np.zeros((len(bounds), 1)))
    return solve_interior_point(rows, merged, Penalty(1.0), tol=tol)[0].thresholds
