"""Newton's method for models of items: votes, judges and duels, and what it asks of a model."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.precision import UNIT
from rankwise.solvers.certificate import Certificate, StoppingRule
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.run import run


class ItemHessian(Protocol):
    """The second derivatives of a loss, plus a ridge on the diagonal."""

    def solve(self, target: FloatVector, tol: float) -> FloatVector:
        """Return the solution to a relative residual, with a mean score of 0.

        A LinAlgError says that the matrix is not positive definite.
        """


class ItemPoint(Protocol):
    """A loss at some parameters."""

    @property
    def value(self) -> float:
        """The mean loss."""

    @property
    def gradient(self) -> FloatVector:
        """Its derivatives by the parameters."""

    @property
    def is_convex(self) -> bool:
        """Whether it is convex everywhere. If it is not, gaps are distances from a local minimum."""

    def hessian(self, ridge: FloatVector, *, exact: bool = True) -> ItemHessian:
        """Return the second derivatives, or, if not `exact`, a positive semidefinite matrix near them."""

    def gap(self, decrement: float) -> float:
        """Return a bound on the distance from the minimum without a penalty, given g' H^-1 g."""


class ItemModel(Protocol):
    """A mean loss over votes: pairs by a link (`PairModel`), or pairs by judges (`JudgeModel`)."""

    @property
    def n_items(self) -> int:
        """The number of scores, which are the first parameters."""

    @property
    def n_parameters(self) -> int:
        """The number of all parameters."""

    @property
    def at_zero(self) -> float:
        """The loss at equal chances."""

    def start(self) -> FloatVector:
        """Return parameters to start from."""

    def at(self, parameters: FloatVector) -> ItemPoint:
        """Return the loss at the parameters."""


def decrement_gap(decrement: float, least: float, furthest: float = 1.0) -> float:
    """Return ((1 - c) log(1 - c) + c) least with c^2 = decrement / least: about decrement / 2.

    The third derivative of the loss along v is at most its second times r, the largest spread of an entry's
    exponents, and r^2 <= v' H v / least (Bach 2010, self-concordance). Then the loss at v is at least
    value + g' v + least (exp(-t) + t - 1) for t = sqrt(v' H v / least), whose minimum this is, with the
    decrement g' H^-1 g. For c >= 1 there is no bound. If the third derivative is bounded only up to a t of
    -log(1 - furthest), there is one for c below `furthest`.

    Examples
    --------
    >>> decrement_gap(1e-12, 0.25)
    5.000003333...e-13
    >>> decrement_gap(1.0, 0.25)
    inf
    """
    c = float(np.sqrt(max(decrement, 0.0) / least)) if least > 0 else np.inf
    if c >= furthest:
        return np.inf
    # For small c the formula cancels; this is its series.
    factor = c * c / 2 + c**3 / 6 + c**4 / 12 if c < 1e-3 else (1 - c) * np.log1p(-c) + c
    return float(least * factor)


# Log odds of 30 for the first item, or for a tie, are not an optimum: the parameter diverges.
LARGEST = 30.0
# A Newton step is close to zero at an optimum, and 1 if a parameter t diverges and the loss falls by exp(-t).
AT_REST = 0.1
# A larger step whose predicted decrease is below this belongs to a diverging parameter.
FLAT = 1e-12
# A system solved to this relative residual gives the decrement to about its square.
CERTAIN = 1e-6


class UnboundedScoresError(ValueError):
    """Without a penalty no finite scores minimize the loss: it decreases along some direction."""


def minimised(
    model: ItemModel,
    alpha: float | FloatVector,
    *,
    tol: float = 1e-16,
    max_iter: int = 100,
    monitor: Monitor | None = None,
    start: FloatVector | None = None,
) -> SolverResult:
    """Minimize model(p) + sum of alpha p^2 over the parameters p, with one alpha or one per parameter.

    `start` has the initial parameters, by default those of `ItemModel.start`. See `ItemNewton`.
    """
    monitor = Monitor() if monitor is None else monitor
    rule = StoppingRule(tol, model.at_zero)
    method = ItemNewton(model, np.full(model.n_parameters, 1.0) * alpha, rule, start)
    return run(method, rule, max_iter=monitor.iteration + max_iter, monitor=monitor)


def fitted(
    model: ItemModel, alpha: float | FloatVector, start: FloatVector, *, tol: float = 1e-12
) -> SolverResult:
    """Return the optimum of a fit inside of another one, which Ctrl-C ends as a whole."""
    result = minimised(model, alpha, tol=tol, start=start)
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


class ItemNewton:
    """Newton steps with backtracking, for any `ItemModel`.

    With a penalty of all parameters, strong convexity certifies the result of a convex model: the
    suboptimality is at most the sum of gradient^2 / (4 alpha). Without one, the model bounds it by the
    Newton decrement (`ItemPoint.gap`). If an effect has no optimum, it diverges, or steps stay large without
    a predicted decrease; the scores have an optimum if each group of items lost to some item outside of it.

    A model that is not convex takes a step by `hessian(exact=False)` where its Hessian is not positive
    definite, and has no gap there.
    """

    def __init__(
        self, model: ItemModel, alpha: FloatVector, rule: StoppingRule, start: FloatVector | None = None
    ):
        self.rule, self._rounding = rule, UNIT * rule.at_zero
        self._point = _Point(model, alpha, model.start() if start is None else start)
        if self._point.at.is_convex and self._point.objective > rule.at_zero:  # equal chances are better
            self._point = _Point(model, alpha, np.zeros(model.n_parameters))
        self._first, self._bound, self._gap = self._point.size, 0.0, np.inf
        self._step: FloatVector | None = None

    @property
    def coef(self) -> FloatVector:
        """The parameters."""
        return self._point.parameters

    def certificate(self, target_gap: float) -> Certificate:
        """Return the certificate of the point; without a penalty it takes a Newton step to find."""
        point = self._point
        tol = float(self.rule.target(point.objective, 0.0, self._rounding))
        self._step, self._gap = point.certified(self._forcing_term(), tol)
        bound = point.objective - self._gap
        self._bound = max(self._bound, bound) if point.at.is_convex else max(bound, 0.0)
        return self.recomputed()

    def recomputed(self) -> Certificate:
        """Return the certificate of the point: its gap is at most that of an earlier point."""
        objective = self._point.objective
        gap = self._gap if np.isfinite(self._gap) else objective - self._bound
        return Certificate(objective, self._bound, gap, lambda: (gap, self._rounding), includes_drift=True)

    def _forcing_term(self) -> float:
        return max(1e-10, min(0.1, self._point.size / self._first)) if self._first else 0.1

    def settle(self) -> bool:
        """Return whether the Newton step is close to zero."""
        return self._point.at_rest(self._step)

    def step(self, target_gap: float) -> bool:
        """Take a Newton step; refuse to follow parameters that diverge."""
        point = self._point
        point.at_rest(self._step)
        moved = point.moved(point.newton_step(self._forcing_term())[0] if self._step is None else self._step)
        if moved is None:
            return False
        self._point = moved
        effects = moved.parameters[moved.model.n_items :]
        if not moved.alpha.all() and (np.abs(effects) > LARGEST).any():
            raise UnboundedScoresError
        return True


class _Point:
    """Parameters with the objective, its gradient and the Newton step."""

    def __init__(self, model: ItemModel, alpha: FloatVector, parameters: FloatVector) -> None:
        self.model, self.alpha, self.parameters = model, alpha, parameters
        self.at = model.at(parameters)
        self.objective = self.at.value + float((alpha * parameters) @ parameters)
        self.gradient = self.at.gradient + 2 * alpha * parameters
        self.size = float(np.linalg.norm(self.gradient))

    def newton_step(self, tol: float) -> tuple[FloatVector, bool]:
        """Return the step, and whether it is that of the Hessian."""
        try:
            return self.at.hessian(2 * self.alpha).solve(-self.gradient, tol), True
        except np.linalg.LinAlgError:
            return self.at.hessian(2 * self.alpha, exact=False).solve(-self.gradient, tol), False

    def certified(self, forcing: float, tol: float) -> tuple[FloatVector | None, float]:
        """Return the Newton step, if the bound needs one, and a bound on the suboptimality."""
        if self.at.is_convex and self.alpha.all():
            return None, float((self.gradient**2 / (4 * self.alpha)).sum())
        step, is_exact = self.newton_step(forcing)
        # No gap is below half of the decrement, so a large decrement cannot certify.
        if not is_exact or (forcing > CERTAIN and -float(self.gradient @ step) > 2 * tol):
            return step, np.inf
        if forcing > CERTAIN:
            step, _ = self.newton_step(CERTAIN)
        return step, self.at.gap(-float(self.gradient @ step))

    def at_rest(self, step: FloatVector | None) -> bool:
        """Return whether a step is None or close to zero; refuse one of a diverging parameter."""
        if step is None or self.alpha.all() or np.abs(step).max() <= AT_REST:
            return True
        if -float(self.gradient @ step) < FLAT:
            raise UnboundedScoresError
        return False

    def moved(self, step: FloatVector) -> _Point | None:
        """Return the point after a step, or None if rounding hides any decrease."""
        slope, rounding = float(self.gradient @ step), 1e-14 * max(1.0, self.objective)
        for length in 0.5 ** np.arange(30):
            point = _Point(self.model, self.alpha, self.parameters + length * step)
            if point.objective <= self.objective + 1e-4 * length * slope - rounding:
                return point
            # Near the optimum values are equal up to rounding; the gradients decide.
            if point.objective <= self.objective + rounding and point.size < 0.9 * self.size:
                return point
        return None
