"""Warnings of fits that ended before their goal, in scikit-learn's classes: imported when there is one."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.core.warn import warn_caller
from rankwise.solvers.result import SolverResult

__all__ = ["InterruptedWarning", "warn_of_ending"]


class InterruptedWarning(ConvergenceWarning):
    """Ctrl-C ended a fit, and the best model so far is kept."""


def warn_of_ending(result: SolverResult, tol: float) -> None:
    """Warn of a fit that was interrupted, reached its last iteration or could get no further."""
    gap = float(np.max(result.gap))  # not a number where one of several is not
    found = f"The best model so far is kept; its objective is within {gap:.3g} of the optimum."
    if result.status == "interrupted":
        warn_caller(f"Interrupted after {result.n_iter} iterations. {found}", InterruptedWarning)
    elif result.status in ("max_iter", "stalled"):
        reason = "max_iter was reached" if result.status == "max_iter" else "No further progress was possible"
        warn_caller(
            f"{reason} before the gap fell to tol={tol:g} of what can be won. {found}", ConvergenceWarning
        )
