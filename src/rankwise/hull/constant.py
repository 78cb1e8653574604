"""Whether the zero function solves the convex-hull program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankwise.hull.certificate import HullOptimum
from rankwise.hull.program import HullProgram


def constant_optimum(
    program: HullProgram, optimum: HullOptimum, zero: HullOptimum, tol: float
) -> HullOptimum | None:
    """Return the zero function if it is a solution and none is certainly better, and None otherwise.

    Then the scores that a solver found owe their order to rounding and to the path it took.
    """
    if optimum.objective + optimum.error < zero.bound:
        return None
    objective = program.loss(np.zeros(program.n_rows), zero.thresholds)
    constant = replace(
        optimum, coef=np.zeros_like(optimum.coef), thresholds=zero.thresholds, objective=objective
    )
    return constant if constant.gap <= max(tol * objective, optimum.gap) else None
