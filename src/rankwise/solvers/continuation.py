"""The way down from larger alphas, for an alpha at which the first planes of a loss say nothing.

Where alpha is tiny the minimiser of a few planes lies far out, and the bound stays at zero until there are as
many planes as directions to go. Planes do not depend on alpha: those of larger ones, found in a few
iterations each, bound the loss where it matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.solvers.planes import Planes
from rankwise.solvers.result import Monitor, SolverResult, State

# The bound is looked at after so many iterations, and says nothing below this share of the objective.
BLIND_ITERATIONS, BLIND_SHARE = 5, 0.1
# The first alpha is one at which it would say this much, the next ones are smaller by a factor each.
SEEING_SHARE, FACTOR = 0.5, 10.0
# Fits on the way need not be better than this.
ROUGH = 1e-2


def says_nothing(bound: float, objective: float, shape: tuple[int, int]) -> bool:
    """Return whether a bound is next to nothing, and rows are so many for their features that it pays.

    With more features than that, the planes of larger alphas are too few to help.
    """
    m, n = shape
    return bound <= BLIND_SHARE * objective and n * n <= m


def larger_alphas(planes: Planes, alpha: float, at_zero: float) -> list[float]:
    """Return the alphas to come down by, from the first one at which the planes bound the objective well.

    One of the planes is that at zero, where the objective does not depend on alpha.
    """
    alphas, bound = [alpha], 0.0
    while bound < SEEING_SHARE * at_zero and np.isfinite(alphas[-1]):
        alphas.append(FACTOR * alphas[-1])
        _, bound = planes.minimise(alphas[-1], ROUGH * at_zero)
    return alphas[:0:-1]


class Below(Monitor):
    """Tells of iterations at larger alphas what the best weights so far are worth at the alpha meant.

    Parameters
    ----------
    monitor : Monitor
        Is told of all iterations.
    last : State
        What it was told last.
    """

    def __init__(self, monitor: Monitor, alpha: float, last: State):
        super().__init__()
        self._monitor, self._alpha, self._last = monitor, alpha, last
        self.iteration, self._objective, self.best = last.iteration, last.objective, last.coef
        self.larger, self.interrupted = alpha, False

    def record(self, iteration: int, objective: float, bound: float, coef: Any, goal: float) -> None:
        """Pass an iteration on, by the number that it has in all."""
        objective -= (self.larger - self._alpha) * float(coef @ coef)
        if objective < self._objective:
            self._objective, self.best = objective, coef
        self.iteration += 1
        last = self._last
        self._monitor.record(self.iteration, self._objective, last.bound, self.best, last.goal)
        self.told_to_stop = self._monitor.told_to_stop


def come_down(
    solve: Callable[..., SolverResult], alphas: list[float], below: Below, max_iter: int
) -> FloatVector:
    """Return the best weights that the fits of larger alphas lead to, each from where the last one ended.

    `solve(alpha, start=, monitor=, max_iter=)` adds to planes that all of them share. The run may end on the
    way: `below` knows why.
    """
    start = below.best
    for below.larger in alphas:
        if below.told_to_stop or below.interrupted or below.iteration >= max_iter:
            break
        result = solve(below.larger, start=start, monitor=below, max_iter=max_iter - below.iteration)
        start, below.interrupted = result.coef, result.status == "interrupted"
    return below.best
