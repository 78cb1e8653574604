"""Continuation in alpha, for alphas so small that the first cutting planes give a vacuous bound.

If alpha is tiny, the minimizer of a few planes lies far out and the bound stays at zero until there are as
many planes as dimensions. Planes do not depend on alpha: those of larger alphas, found in a few iterations
each, bound the loss near the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.solvers.certificate import StoppingRule
from rankwise.solvers.objective import Iterate
from rankwise.solvers.planes import Planes
from rankwise.solvers.result import Monitor
from rankwise.solvers.run import run

if TYPE_CHECKING:
    from rankwise.solvers.run import Method

# A bound below this fraction of the objective is vacuous.
VACUOUS_FRACTION = 0.1
# At the first alpha the bound is this fraction of J(0); each next one is smaller by the factor.
FIRST_FRACTION, FACTOR = 0.5, 10.0
# The tolerance of the fits at larger alphas.
ROUGH = 1e-2


def is_vacuous(bound: float, objective: float, shape: tuple[int, int]) -> bool:
    """Return whether a bound is close to zero and there are enough rows per feature for continuation to pay.

    With more features, the planes of larger alphas are too few to help.
    """
    m, n = shape
    return bound <= VACUOUS_FRACTION * objective and n * n <= m


def continuation_path(planes: Planes, alpha: float, at_zero: float) -> list[float]:
    """Return decreasing alphas, from the first at which the planes bound the objective well.

    One of the planes must touch the loss at zero, where the objective does not depend on alpha.
    """
    alphas, bound = [alpha], 0.0
    while bound < FIRST_FRACTION * at_zero and np.isfinite(alphas[-1]):
        alphas.append(FACTOR * alphas[-1])
        _, bound = planes.minimise(alphas[-1], ROUGH * at_zero)
    return alphas[:0:-1]


class ContinuationProgress(Monitor):
    """Reports iterations at larger alphas by their objective at the requested alpha.

    It continues the count of the monitor it reports to, so that `max_iter` limits all iterations together.
    """

    def __init__(self, monitor: Monitor, alpha: float, best: Iterate):
        super().__init__()
        self._monitor, self._alpha, self.larger = monitor, alpha, alpha
        self.objective, self.best = best.objective, best.coef
        self.last, self.interrupted = monitor.last, False

    @property
    def iteration(self) -> int:
        """The number of iterations recorded, at any alpha."""
        return self._monitor.iteration

    def record(
        self, objective: float, bound: float, coef: Any, goal: float, iteration: int | None = None
    ) -> None:
        """Pass an iteration on, with the bound and the target that hold at the requested alpha."""
        objective -= (self.larger - self._alpha) * float(coef @ coef)
        if objective < self.objective:
            self.objective, self.best = objective, coef
        assert self.last is not None
        self._monitor.record(self.objective, self.last.bound, self.best, self.last.goal)
        self.stop_requested = self._monitor.stop_requested


@dataclass(frozen=True)
class Continuation:
    """The stopping rule, iteration limit and monitor of a run, for nested runs at larger alphas.

    Attributes
    ----------
    after : int
        The iteration after which the bound is examined.
    is_vacuous : callable
    """

    rule: StoppingRule
    max_iter: int
    monitor: Monitor
    after: int = 5
    is_vacuous: Callable[[float, float, tuple[int, int]], bool] = is_vacuous

    def solve(
        self,
        method_at: Callable[[float, FloatVector, Monitor], Method],
        alphas: list[float],
        alpha: float,
        best: Iterate,
    ) -> ContinuationProgress:
        """Run a method at each alpha, warm-started from the previous one.

        The run may end on the way; the progress that is returned has the reason and the best weights.
        """
        progress = ContinuationProgress(self.monitor, alpha, best)
        rough, start = StoppingRule(max(self.rule.tol, ROUGH), self.rule.at_zero), progress.best
        for progress.larger in alphas:
            if progress.stop_requested or progress.interrupted or progress.iteration >= self.max_iter:
                break
            method = method_at(progress.larger, start, progress)
            result = run(method, rough, max_iter=self.max_iter, monitor=progress)
            start, progress.interrupted = result.coef, result.status == "interrupted"
        return progress
