"""Bundle methods for piecewise linear losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.losses import PiecewiseLinear
from rankwise.solvers.certificate import Certificate, StoppingRule, certified_gap
from rankwise.solvers.continuation import Continuation, continuation_path
from rankwise.solvers.differences import NewtonByDifferences
from rankwise.solvers.errors import ErrorModel
from rankwise.solvers.line_search import Point, minimise_on_line
from rankwise.solvers.objective import Iterate, Line, Objective
from rankwise.solvers.planes import Planes
from rankwise.solvers.result import Monitor, SolverResult, require
from rankwise.solvers.run import run

# The model is minimized to this fraction of the target gap.
MODEL_FRACTION = 0.01
# A line is searched to this fraction of the gap: evaluations are cheaper than products with X, so the search
# may be sharp (a fraction of 0.1 costs half as many iterations again on text data).
LINE_FRACTION = 0.005
# A new plane must raise the model at its minimizer by at least this fraction of the gap; otherwise the method
# could cycle.
CUT_FRACTION = 0.1
# Planes are dropped after this many iterations without a positive multiplier.
IDLE_ITERATIONS = 40
# With this many rows the mean over pairs is nearly smooth.
NEWTON_ROWS = 1 << 15


class Bundle:
    """Cutting planes: Algorithm 1 of Airola et al. (2011), or with a line search (Franc & Sonnenburg 2009).

    Algorithm 1 moves to the minimizer of the plane model and adds the plane there. With the line search, the
    best point moves towards that minimizer as far as the objective falls, and the plane is taken just beyond
    it, where the model needs it most. An iteration costs one product with X, one with X', and a few
    evaluations of the loss.

    Parameters
    ----------
    objective : Objective
    planes : Planes
        The model, empty or of the same loss at another alpha. Planes are added to it.
    start : array, optional
        The first weights; zero by default, or if zero is better.
    line_search : bool
    newton_rows : int
        The number of rows from which `NewtonByDifferences` is tried, if all rows are in memory.
    continuation : Continuation, optional
        Solves for larger alphas first if the bound of that many rows is vacuous.
    """

    def __init__(
        self,
        objective: Objective,
        planes: Planes,
        start: FloatVector | None = None,
        *,
        line_search: bool = True,
        newton_rows: int = NEWTON_ROWS,
        continuation: Continuation | None = None,
    ):
        self.objective, self.planes = objective, planes
        self._errors = ErrorModel(objective.design.precision, objective.loss.bounds)
        self.best, self._bound = self._first(start), 0.0  # neither loss nor penalty is negative
        planes.add(self.best.slopes, self.best.offset)
        self._options: dict[str, Any] = {"line_search": line_search, "newton_rows": newton_rows}
        self._line_search, self._iteration = line_search, 0
        self._guess: float | None = None
        is_smooth = line_search and _is_nearly_smooth(self.best.scores, planes, newton_rows)
        self._newton = NewtonByDifferences(objective, planes) if is_smooth else None
        self._continuation = continuation if is_smooth else None

    def _first(self, start: FloatVector | None) -> Iterate:
        """Return the start, or zero if that is better."""
        zero = np.zeros(self.objective.design.shape[1])
        first = self.objective.at(zero if start is None else self.planes.feasible(start))
        return self.objective.at(zero) if first.objective > self.objective.at_zero else first

    @property
    def coef(self) -> FloatVector:
        """The best weights so far."""
        return self.best.coef

    def certificate(self, target_gap: float) -> Certificate:
        """Minimize the model, whose minimum is a lower bound on that of the objective."""
        alpha, planes = self.objective.alpha, self.planes
        self._iteration += 1
        self._minimiser, dual = planes.minimise(alpha, MODEL_FRACTION * target_gap)
        error = self._errors.plane(alpha, self._minimiser, max(1.0, planes.largest_offset))
        self._bound = max(self._bound, dual - error)
        return self._certificate()

    def recomputed(self) -> Certificate:
        """Return the certificate with scores computed from the weights, not updated along lines."""
        self.best = self.objective.at(self.planes.feasible(self.best.coef))
        return self._certificate()

    def _certificate(self) -> Certificate:
        best, bound, alpha = self.best, self._bound, self.objective.alpha

        def allowances() -> tuple[float, float]:
            error = self._objective_error(best)
            floor = self._errors.plane(alpha, best.coef, max(1.0, self.planes.largest_offset))
            return certified_gap(best.objective, bound, error), 2.0 * (error + floor)

        return Certificate(best.objective, bound, best.objective - bound, allowances)

    def _objective_error(self, point: Iterate) -> float:
        score_range = self._errors.precision.score_range(point.coef, point.scores)
        return float(
            self._errors.at(self.objective.alpha, point.coef, point.objective, score_range).objective
        )

    def settle(self) -> bool:
        """Move from zero to the model's minimizer if rounding cannot tell their objectives apart.

        Zero ranks nothing, and is the optimum only if the slopes of the loss are zero.
        """
        slopes = 2.0 * self.objective.alpha * self._minimiser
        if not self.best.coef.any() and not self._errors.is_rounding_noise(slopes):
            other = self.objective.at(self._minimiser)
            if other.objective <= self.best.objective + self._objective_error(other):
                self.best = other
        return True

    def step(self, target_gap: float) -> bool:
        """Move the best point and add a plane; cutting planes always make progress."""
        if self._needs_continuation():
            self._continue_from_larger_alphas()
            return True
        gap, at_zero = self.best.objective - self._bound, self.objective.at_zero
        moved = self._newton and self._newton.moved(self.best, gap, at_zero - self._bound, target_gap)
        if moved:
            self.best = cut = moved
        elif self._line_search:
            self.best, cut = self._search_line(gap)
        else:
            cut = self.objective.at(self._minimiser)
            self.best = cut if cut.objective < self.best.objective else self.best
        self.planes.add(cut.slopes, cut.offset)
        self.planes.drop_idle(IDLE_ITERATIONS)
        return True

    def _needs_continuation(self) -> bool:
        """Return whether the first planes give a vacuous bound, which is checked once."""
        later, newton = self._continuation, self._newton
        if later is None or newton is None or newton.is_over or self._iteration != later.after:
            return False
        return later.is_vacuous(self._bound, self.best.objective, self.objective.design.shape)

    def _continue_from_larger_alphas(self) -> None:
        """Move to the best point of a path of decreasing alphas; its planes are kept."""
        objective, planes, best, continuation = self.objective, self.planes, self.best, self._continuation
        assert continuation is not None
        zero = objective.at(0.0 * best.coef)
        planes.add(zero.slopes, zero.offset)  # bounds the objective at every alpha that is large enough
        alphas = continuation_path(planes, objective.alpha, objective.at_zero)
        progress = continuation.solve(self._at_alpha, alphas, objective.alpha, best)
        self.best = objective.at(progress.best)
        if progress.interrupted:
            raise KeyboardInterrupt

    def _at_alpha(self, alpha: float, start: FloatVector, monitor: Monitor) -> Bundle:
        """Return the same method at another alpha, on the same planes."""
        assert self._continuation is not None
        later = replace(self._continuation, monitor=monitor)
        objective = replace(self.objective, alpha=alpha)
        return Bundle(objective, self.planes, start, **self._options, continuation=later)

    def _search_line(self, gap: float) -> tuple[Iterate, Iterate]:
        """Search the line to the model's minimizer; return the new best point and the point to cut at."""
        best, target = self.best, self._minimiser
        line = Line(best, target - best.coef, self.objective.design.matvec(target) - best.scores)
        start, guess = line.start, self._guess
        if guess is None:  # the step at which the tangent reaches zero
            guess = min(1.0, start.value / max(-start.slope, 1e-300))
        longest = self.planes.longest_step(best.coef, target)
        found = minimise_on_line(line.at, start, guess, LINE_FRACTION * gap, longest=longest)

        def at_minimiser(point: Point) -> float:
            """Return the value of the point's plane plus the penalty at the model's minimizer, step 1."""
            rest = 1.0 - point.step
            return point.value + point.slope * rest + self.objective.alpha * line.curve * rest * rest

        cut = found.best if found.beyond is None else found.beyond
        if at_minimiser(cut) < start.value - (1.0 - CUT_FRACTION) * gap:
            cut = line.at(1.0)
        moved, self._guess = line.iterate(found.best), found.best.step or guess
        return moved, moved if cut is found.best else line.iterate(cut)


def _is_nearly_smooth(scores: Any, planes: Planes, newton_rows: int) -> bool:
    """Return whether there are enough rows, all in memory, and no bounds on the weights."""
    return isinstance(scores, np.ndarray) and len(scores) >= newton_rows and not planes.bounded


def solve_bundle(
    design: Design,
    loss: PiecewiseLinear,
    alpha: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatVector | None = None,
    planes: Planes | None = None,
    line_search: bool = True,
    monitor: Monitor | None = None,
    newton_rows: int = NEWTON_ROWS,
    **continuation: Any,
) -> SolverResult:
    """Minimize loss(X w) + alpha ||w||^2 by cutting planes: see `Bundle`.

    Parameters
    ----------
    start : array of shape (n_features,), optional
        The first weights; zero by default, or if zero is better.
    planes : Planes, optional
        A model of the same loss to continue with, for instance from another alpha. Planes are added to it.
    line_search : bool
        Without it, this is Algorithm 1 of Airola et al. (2011).
    newton_rows, **continuation :
        When to try Newton steps, and the fields of `Continuation`.

    Returns
    -------
    SolverResult
        `gap` is the objective at `coef`, computed from the weights, minus the best dual value, plus an
        allowance for rounding errors.
    """
    require(loss, "plane", "The bundle method")
    monitor = Monitor() if monitor is None else monitor
    objective = Objective.of(design, loss, alpha, by_planes=True)
    rule = StoppingRule(tol, objective.at_zero)
    method = Bundle(
        objective,
        Planes(design.shape[1]) if planes is None else planes,
        start,
        line_search=line_search,
        newton_rows=newton_rows,
        continuation=Continuation(rule, max_iter, monitor, **continuation),
    )
    return run(method, rule, max_iter=max_iter, monitor=monitor)
