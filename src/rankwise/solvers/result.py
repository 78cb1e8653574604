"""What a solver returns, and what it tells while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.solvers.goal import Goal


@dataclass
class State:
    """One iteration, as handed to a callback.

    `gap` bounds how far `objective` is above the optimum; `bound` is `objective - gap` at its best so far.
    The fit ends when the gap, with an allowance for rounding, is at most `goal`.
    """

    iteration: int
    objective: float
    bound: float
    gap: float
    goal: float
    seconds: float
    coef: NDArray[np.float64] = field(repr=False)


# How a run may end, from the best to the worst.
STATUSES = ("converged", "stopped", "stalled", "max_iter", "interrupted")


@dataclass
class SolverResult:
    """The best point found, with its certificate; for several outputs an array with one entry for each.

    `rounding` is how much of the gap rounding may be to blame for: twice what it may have done to it.
    """

    coef: NDArray[np.float64]
    objective: Any
    gap: Any
    n_iter: int
    status: str
    history: dict[str, NDArray[np.float64]]
    rounding: Any = 0.0


def require(loss: Any, method: str, solver: str) -> None:
    """Refuse a loss that lacks what a solver asks for."""
    if not hasattr(loss, method):
        raise TypeError(
            f"{solver} needs a loss with the method {method}, which {type(loss).__name__} does not have."
        )


def concluded(
    coef: NDArray[np.float64],
    objective: Any,
    gap: Any,
    n_iter: int,
    status: str,
    history: dict[str, NDArray[np.float64]],
    goal: Goal,
    rounding: Any = 0.0,
) -> SolverResult:
    """Return what a run came to: it has converged where the gap has reached its goal, and only there.

    Every solver ends here, so that no gap above its goal, and none that is not a number, passes for a
    solution. Numbers that have overflowed are refused.
    """
    if not (np.isfinite(coef).all() and np.isfinite(objective).all()):
        raise ValueError(
            "The fit overflowed: the features, labels or weights are too large or alpha is too small for "
            "numbers of double precision; scale the features and the labels."
        )
    reached = bool(np.all(gap <= goal.gap(objective, gap, rounding)))  # what is not a number has not
    if status == "converged" and not reached:
        status = "stalled"
    elif reached and status in ("stalled", "max_iter"):
        status = "converged"
    if np.ndim(objective) == 0:
        objective, gap = float(objective), float(gap)
    return SolverResult(coef, objective, gap, n_iter, status, history, rounding)


def distance(objective: float, bound: float, error: float) -> float:
    """Return how far an objective may be above its minimum, given a lower bound and the objective's error.

    A bound above the objective by more than the error contradicts it, and counts for nothing: what is left is
    that no objective is negative.
    """
    gap = objective - bound + error
    return gap if gap >= 0 else objective + error


class Monitor:
    """Keeps the history, prints progress and listens to the callback.

    Parameters
    ----------
    verbose : int
        1 prints a line for each iteration to standard error.
    callback : callable, optional
        Called with a `State` after each iteration; a true return value ends the run.
    """

    COLUMNS = ("objective", "bound", "gap", "seconds")

    def __init__(self, verbose: int = 0, callback: Callable[[State], Any] | None = None):
        self.verbose = verbose
        self.callback = callback
        self._rows: list[tuple[float, ...]] = []
        self._start = perf_counter()
        self.coef: NDArray[np.float64] | None = None
        self.told_to_stop = False

    def record(
        self, iteration: int, objective: float, bound: float, coef: NDArray[np.float64], goal: float
    ) -> None:
        """Keep and print an iteration, and hand it to the callback, which may set `told_to_stop`."""
        self.coef = coef  # the best so far, for a run that cannot go on
        shown = coef.view()
        shown.flags.writeable = False  # the solver goes on with these numbers
        seconds = perf_counter() - self._start
        state = State(iteration, objective, bound, objective - bound, float(goal), seconds, shown)
        self._rows.append((state.objective, state.bound, state.gap, state.seconds))
        if self.verbose:
            print(
                f"iteration {iteration:>4}   objective {objective:.6g}   gap {state.gap:.3g}"
                f"   {state.seconds:.2f} s",
                file=sys.stderr,
            )
        self.told_to_stop = bool(self.callback is not None and self.callback(state))

    @property
    def history(self) -> dict[str, NDArray[np.float64]]:
        """Objective, bound, gap and seconds since the start, one entry per iteration."""
        table = np.array(self._rows, dtype=np.float64).reshape(-1, len(self.COLUMNS))
        return dict(zip(self.COLUMNS, table.T.copy(), strict=True))
