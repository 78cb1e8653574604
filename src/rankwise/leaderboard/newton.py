"""Newton's method for models of items: votes, judges and duels."""

from __future__ import annotations

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.data.precision import UNIT
from rankwise.leaderboard.item_model import ItemModel
from rankwise.solvers.certificate import Certificate, StoppingRule
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.run import run

# Log odds of 30 for the first item, or for a tie, are not an optimum: the parameter diverges.
LARGEST = 30.0
# A Newton step is close to zero at an optimum, and 1 if a parameter t diverges and the loss falls by exp(-t).
AT_REST = 0.1
# A larger step whose predicted decrease is below this belongs to a diverging parameter.
FLAT = 1e-12
# A system solved to this relative residual gives the decrement to about its square.
CERTAIN = 1e-6


class UnboundedScoresError(ValueError):
    """Without a penalty no finite scores minimise the loss: it decreases along some direction."""


def minimised(
    model: ItemModel,
    alpha: float | FloatVector,
    *,
    tol: float = 1e-16,
    max_iter: int = 100,
    monitor: Monitor | None = None,
    start: FloatVector | None = None,
) -> SolverResult:
    """Minimise model(p) + sum of alpha p^2 over the parameters p, with one alpha or one per parameter.

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
