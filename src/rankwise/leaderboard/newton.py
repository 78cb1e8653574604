"""Newton's method for scores of items from counted comparisons."""

from __future__ import annotations

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.leaderboard.loss import ComparisonLoss
from rankwise.solvers.goal import Goal
from rankwise.solvers.result import Monitor, SolverResult, concluded
from rankwise.solvers.rounding import UNIT

# Odds of exp(30) for whoever is first, or for a tie, are no optimum: what gets there grows without end.
LARGEST = 30.0
# A Newton step is all but zero at an optimum; on the way to infinity, where losses fall by exp(-t), it is 1.
AT_REST = 0.1
# A step as large as that which promises less than this leads there.
FLAT = 1e-12
# A decrement is known to about the square of this, relative to itself, from a system solved so far.
CERTAIN = 1e-6


class UnboundedScoresError(ValueError):
    """Without a penalty the loss falls for ever along some direction: no finite scores minimise it."""


def solve_comparisons(
    loss: ComparisonLoss,
    alpha: float | FloatVector,
    *,
    tol: float = 1e-16,
    max_iter: int = 100,
    monitor: Monitor | None = None,
) -> SolverResult:
    """Minimise loss(p) + sum of alpha p^2 over the parameters p, each with its alpha or all with one.

    Newton steps by conjugate gradients, preconditioned by the diagonal, and halved until the objective falls.
    An iteration costs O(entries) for each product, and the graph of pairs has few that matter where items
    are compared at random.

    With a penalty, strong convexity certifies the result: the objective is at most the sum of gradient^2 /
    (4 alpha) above its minimum. Without one, `decrement_gap` does. That h or log nu have no optimum then
    shows as they grow, or as steps stay large that promise nothing; scores have one where each group of items
    lost to some item outside of it.
    """
    monitor = Monitor() if monitor is None else monitor
    penalty = np.full(loss.n_parameters, 1.0) * alpha
    point = _Point(loss, penalty, loss.start())
    goal = Goal(tol, float(np.log(2 + loss.davidson)))
    rounding = UNIT * goal.at_zero
    if point.objective > goal.at_zero:  # equal chances are better
        point = _Point(loss, penalty, np.zeros(loss.n_parameters))
    first, bound, gap, status, iteration = point.size, 0.0, np.inf, "max_iter", 0
    try:
        for iteration in range(1, max_iter + 1):
            share = max(1e-10, min(0.1, point.size / first)) if first else 0.1
            step, gap = point.certified(share, float(goal.gap(point.objective, 0.0, rounding)))
            bound = max(bound, point.objective - gap)
            aim = float(goal.gap(point.objective, point.objective - bound, rounding))
            monitor.record(iteration, point.objective, bound, point.parameters, aim)
            rests = point.at_rest(step)
            if monitor.told_to_stop or (gap <= aim and rests):
                status = "stopped" if monitor.told_to_stop else "converged"
                break
            step = point.newton_step(share) if step is None else step
            moved = point.moved(step)
            if moved is None:
                status = "stalled"
                break
            point = moved
            if not penalty.all() and (np.abs(point.parameters[loss.n_items :]) > LARGEST).any():
                raise UnboundedScoresError
    except KeyboardInterrupt:
        status = "interrupted"
    gap = gap if np.isfinite(gap) else point.objective - bound
    found = point.parameters, point.objective, gap
    return concluded(*found, iteration, status, monitor.history, goal, rounding)


def decrement_gap(decrement: float, least: float) -> float:
    """Return ((1 - c) log(1 - c) + c) least with c^2 = decrement / least: about decrement / 2.

    The third derivative of the loss along v is at most its second times r, the largest spread of an entry's
    exponents, and r^2 <= v' H v / least (Bach 2010, self-concordance). Then the loss at v is at least
    value + g' v + least (exp(-t) + t - 1) for t = sqrt(v' H v / least), whose minimum this is, with the
    decrement g' H^-1 g. From c = 1 on nothing is known.

    Examples
    --------
    >>> decrement_gap(1e-12, 0.25)
    5.000003333...e-13
    >>> decrement_gap(1.0, 0.25)
    inf
    """
    c = float(np.sqrt(max(decrement, 0.0) / least))
    if c >= 1.0:
        return np.inf
    # The formula loses all its digits to cancellation for small c.
    share = c * c / 2 + c**3 / 6 + c**4 / 12 if c < 1e-3 else (1 - c) * np.log1p(-c) + c
    return float(least * share)


class _Point:
    """Parameters with the objective, its gradient and what a Newton step from here is."""

    def __init__(self, loss: ComparisonLoss, alpha: FloatVector, parameters: FloatVector) -> None:
        self.loss, self.alpha, self.parameters = loss, alpha, parameters
        self.at = loss.at(parameters)
        self.objective = self.at.value + float((alpha * parameters) @ parameters)
        self.gradient = self.at.gradient + 2 * alpha * parameters
        self.size = float(np.linalg.norm(self.gradient))

    def newton_step(self, tol: float) -> FloatVector:
        return self.at.hessian(2 * self.alpha).solve(-self.gradient, tol)

    def certified(self, share: float, tol: float) -> tuple[FloatVector | None, float]:
        """Return the step where the bound took one to find, and a bound of what is above the minimum."""
        if self.alpha.all():
            return None, float((self.gradient**2 / (4 * self.alpha)).sum())
        step = self.newton_step(share)
        # No gap is below half of the decrement, so there is nothing to certify above that.
        if share > CERTAIN and -float(self.gradient @ step) > 2 * tol:
            return step, np.inf
        if share > CERTAIN:
            step = self.newton_step(CERTAIN)
        return step, decrement_gap(-float(self.gradient @ step), self.at.least_information())

    def at_rest(self, step: FloatVector | None) -> bool:
        """Return whether a step is all but zero; refuse one that would go on for ever. None needs no rest."""
        if step is None or np.abs(step).max() <= AT_REST:
            return True
        if -float(self.gradient @ step) < FLAT:
            raise UnboundedScoresError
        return False

    def moved(self, step: FloatVector) -> _Point | None:
        """Return the point after a step, or None where rounding hides that anything falls."""
        slope, rounding = float(self.gradient @ step), 1e-14 * max(1.0, self.objective)
        for length in 0.5 ** np.arange(30):
            point = _Point(self.loss, self.alpha, self.parameters + length * step)
            if point.objective <= self.objective + 1e-4 * length * slope - rounding:
                return point
            # Near the optimum values are equal up to rounding, and only gradients tell.
            if point.objective <= self.objective + rounding and point.size < 0.9 * self.size:
                return point
        return None
