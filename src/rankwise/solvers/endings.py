"""Warnings of fits that ended before their goal, in scikit-learn's classes: imported when there is one."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwise.core.text import plural
from rankwise.core.warn import warn_caller
from rankwise.solvers.result import SolverResult

__all__ = ["InterruptedWarning", "warn_of_ending"]


class InterruptedWarning(ConvergenceWarning):
    """Ctrl-C ended a fit, and the best model so far is kept."""


def warn_of_ending(result: SolverResult, tol: float) -> None:
    """Warn if a fit was interrupted, reached max_iter or stalled."""
    worst = int(np.argmax(np.atleast_1d(result.gap)))  # of several outputs; NaN is the largest
    gap, target = (np.atleast_1d(values)[worst] for values in (result.gap, result.target_gap))
    kept = f"The best model so far is kept; its objective is within {gap:.3g} of the optimum."
    if result.status == "interrupted":
        warn_caller(f"Interrupted after {plural(result.n_iter, 'iteration')}. {kept}", InterruptedWarning)
    elif result.status == "max_iter":
        warn_caller(
            f"Stopped by max_iter after {plural(result.n_iter, 'iteration')} with a gap of {gap:.3g}; "
            f"tol={tol:g} requires {target:.3g}. Raise max_iter or tol. {kept}",
            ConvergenceWarning,
        )
    elif result.status == "stalled":
        warn_caller(
            f"No further progress was possible: the gap is {gap:.3g}, and tol={tol:g} requires {target:.3g}. "
            f"Raise tol, or scale the features. {kept}",
            ConvergenceWarning,
        )
