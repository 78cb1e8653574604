"""The result of a solver, and the monitor of its progress."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.time_limit import check_time


@dataclass
class State:
    """One iteration, as passed to a callback.

    `gap` bounds the suboptimality of `objective`, and `bound` is the best lower bound so far. The fit ends
    when the gap, with an allowance for rounding, is at most `goal`.
    """

    iteration: int
    objective: float
    bound: float
    gap: float
    goal: float
    seconds: float
    coef: NDArray[np.float64] = field(repr=False)


# How a run can end, from best to worst.
STATUSES = ("converged", "stopped", "stalled", "max_iter", "interrupted")


@dataclass
class SolverResult:
    """The best point found, with its certificate; arrays with one entry per output if there are several.

    `rounding` is the part of the gap that rounding can explain, with a safety factor of 2, and `target_gap`
    the gap that the stopping rule requires.
    """

    coef: NDArray[np.float64]
    objective: Any
    gap: Any
    n_iter: int
    status: str
    history: dict[str, NDArray[np.float64]]
    rounding: Any = 0.0
    target_gap: Any = np.nan


def require(loss: Any, method: str, solver: str) -> None:
    """Refuse a loss without a method that the solver needs."""
    if not hasattr(loss, method):
        raise TypeError(
            f"{solver} needs a loss with the method {method}, which {type(loss).__name__} does not have."
        )


class Monitor:
    """Keeps the history, prints progress and calls the callback.

    Parameters
    ----------
    verbose : int
        1 prints a line per iteration to standard error.
    callback : callable, optional
        Called with a `State` after each iteration; a true return value ends the run.
    """

    COLUMNS = ("objective", "bound", "gap", "seconds")

    def __init__(self, verbose: int = 0, callback: Callable[[State], Any] | None = None):
        self.verbose = verbose
        self.callback = callback
        self._rows: list[tuple[float, ...]] = []
        self.last: State | None = None
        self._start = perf_counter()
        self.coef: NDArray[np.float64] | None = None
        self.stop_requested = False

    @property
    def iteration(self) -> int:
        """The number of iterations recorded."""
        return len(self._rows)

    def record(
        self,
        objective: float,
        bound: float,
        coef: NDArray[np.float64],
        goal: float,
        iteration: int | None = None,
    ) -> None:
        """Keep and print an iteration and call the callback, which may request a stop.

        `iteration` is its number, if not one more than that of the last one.
        """
        check_time()
        iteration = self.iteration + 1 if iteration is None else iteration
        self.coef = coef  # the best so far, if the run has to be abandoned
        shown = coef.view()
        shown.flags.writeable = False  # the solver goes on with these numbers
        seconds = perf_counter() - self._start
        state = State(iteration, objective, bound, objective - bound, float(goal), seconds, shown)
        self.last = state
        self._rows.append((state.objective, state.bound, state.gap, state.seconds))
        if self.verbose:
            print(
                f"iteration {iteration:>4}   objective {objective:.6g}   gap {state.gap:.3g}"
                f"   {state.seconds:.2f} s",
                file=sys.stderr,
            )
        self.stop_requested = bool(self.callback is not None and self.callback(state))

    @property
    def history(self) -> dict[str, NDArray[np.float64]]:
        """Objective, bound, gap and seconds since the start, one entry per iteration."""
        table = np.array(self._rows, dtype=np.float64).reshape(-1, len(self.COLUMNS))
        return dict(zip(self.COLUMNS, table.T.copy(), strict=True))
