"""When a fit may end: the one rule of all solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Goal:
    """A gap of at most `tol` times what can be won: the objective of the zero function less the minimum.

    So a fit has won all but a share `tol` of what there is to win, however small the features are and however
    weak the signal is. The minimum is taken as low as the gap allows.

    Where there is nothing to win, rounding would keep a fit from ever ending. So a gap that rounding explains
    is small enough, too, unless it is above `tol` times the objective of the zero function.

    Attributes
    ----------
    tol : float
    at_zero : float, or array of shape (n_outputs,)
        The objective of the zero function.

    Examples
    --------
    >>> goal = Goal(tol=0.1, at_zero=1.0)
    >>> round(float(goal.gap(objective=0.6, gap=0.1)), 6)  # 0.5 can be won
    0.05
    >>> float(goal.gap(objective=1.0, gap=0.0, rounding=1e-9))  # nothing can
    1e-09
    """

    tol: float
    at_zero: Any

    def near(self, gap: Any) -> Any:
        """Return whether a gap is small enough that it matters how much of it rounding explains."""
        return gap <= self.tol * self.at_zero

    def gap(self, objective: Any, gap: Any, rounding: Any = 0.0) -> Any:
        """Return the gap to end with.

        Parameters
        ----------
        objective, gap : float, or arrays of shape (n_outputs,)
            What is reached, and how far it is above the minimum at most.
        rounding : float, or array of shape (n_outputs,)
            How much of a gap rounding may be to blame for.
        """
        winnable = np.minimum(self.at_zero - objective + gap, self.at_zero)  # no objective is negative
        return np.maximum(self.tol * winnable, np.minimum(rounding, self.tol * self.at_zero))
