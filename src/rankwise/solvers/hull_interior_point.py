"""A primal-dual interior point method for the convex-hull program."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError

from rankwise.core.types import FloatVector
from rankwise.data.design import Design, as_design
from rankwise.solvers.certificate import Certificate
from rankwise.solvers.hull_certificate import HullOptimum, HullStoppingRule, Penalty, certified
from rankwise.solvers.hull_newton import HullNewton
from rankwise.solvers.hull_program import DualPoint, HullProgram
from rankwise.solvers.result import Monitor, SolverResult
from rankwise.solvers.run import iterate

# A step ends at this fraction of the distance to the nearest bound.
STEP_FRACTION = 0.995
# The method has stalled after this many iterations without a better objective or bound, not counting those
# that approach the feasible set; fewer can be caused by rounding.
PATIENCE = 5
# An iteration approaches the feasible set if its step is at least this long and more than this fraction of
# the residuals at the start was left.
LONG_STEP, INFEASIBLE = 0.1, 1e-8
# If a step with Mehrotra's correction is shorter than this, one without is tried, as the method may cycle.
CORRECTED = 0.9
# Without slacks: a typical margin, relative to the size of the rows.
USUAL_MARGIN = 0.1
# Below this relative gap, the rounding errors of a step matter: it is refined.
REFINED, REFINEMENTS = 1e-5, 3
# The objective of the zero function is computed to this relative gap.
ZERO_TOL = 1e-10


def solve_interior_point(
    design: Design,
    program: HullProgram,
    penalty: Penalty,
    *,
    rule: HullStoppingRule,
    max_iter: int = 100,
    ceiling: float = np.inf,
    monitor: Monitor | None = None,
) -> tuple[HullOptimum, SolverResult]:
    """Minimize the weighted slacks plus w'P w until the stopping rule is met: see `InteriorPoint`."""
    monitor = Monitor() if monitor is None else monitor
    method = InteriorPoint(design, program, penalty, ceiling)
    status, _ = iterate(method, rule, max_iter=max_iter, monitor=monitor)
    best = method.best
    return best, best.finalised(monitor.iteration, status, monitor.history, rule)


class InteriorPoint:
    """Mehrotra's predictor-corrector method; the best objective and the best bound are kept.

    The cost per iteration is that of `HullNewton`, and about twenty iterations are typical. The method stops
    if the bound exceeds `ceiling`: without slacks there may be no solution.
    """

    def __init__(self, design: Design, program: HullProgram, penalty: Penalty, ceiling: float = np.inf):
        self._iterate, self._ceiling = _Iterate(design, program, penalty), ceiling
        self.best, self._waiting = self._iterate.certified(), 0
        self._is_first = True

    @property
    def coef(self) -> FloatVector:
        """The best weights so far."""
        return self.best.coef

    def certificate(self, target_gap: float) -> Certificate:
        """Return the certificate of the best point with the best bound so far."""
        if not self._is_first:
            found = self._iterate.certified()
            improves = found.objective < self.best.objective or found.bound > self.best.bound
            self._waiting = 0 if improves or self._iterate.approaches else self._waiting + 1
            self.best = self.best.joined(found)
        self._is_first = False
        return self.best.certificate

    def recomputed(self) -> Certificate:
        """Return the certificate: the scores of each iterate are computed from its weights."""
        return self.best.certificate

    def settle(self) -> bool:
        """Return True: zero is an iterate like any other."""
        return True

    def step(self, target_gap: float) -> bool:
        """Take a step; return False if there is no improvement, no solution or no further step."""
        if self._waiting > PATIENCE or self.best.bound > self._ceiling:
            return False
        return self._iterate.step(_relative(self.best))


def best_of_zero(program: HullProgram) -> HullOptimum | None:
    """Return the zero function with its best thresholds; None without slacks, as it is infeasible then."""
    if program.slack == "none":
        return None
    small = program.of_zero()
    design = as_design(np.zeros((small.n_rows, 1)))
    return solve_interior_point(design, small, Penalty(1.0), rule=HullStoppingRule(ZERO_TOL, np.inf))[0]


def mean_square(design: Design, penalty: Penalty) -> float:
    """Return the mean square of the rows' norms, in units of the penalty; 1 if all are zero."""
    squares = design.weighted_squares(np.full(design.shape[0], 1.0 / design.shape[0]))
    return float(np.sum(squares / penalty.diagonal(design.shape[1]))) or 1.0


def _relative(optimum: HullOptimum) -> float:
    return optimum.gap / optimum.objective if np.isfinite(optimum.objective) else 1.0


class _Iterate:
    """Weights w, thresholds t, slacks y, and for each constraint its residual s and its multiplier z.

    The constraints, one after the other in s and z:

        lower   f + y - L >= 0,    upper   -f + y + U >= 0,    slack   y >= 0,    edge   L - U - 1 >= 0.

    Units without L or U have a placeholder with a zero multiplier. Only absolute slacks need the third kind.
    The objective is multiplied by the number of units, so that multipliers are of order one; without slacks
    it is the inverse square of the margin, and is also multiplied by the square of a typical margin.

    A step shrinks all residuals by the same factor: the fraction `infeasible` of those at the start is left.
    The certificate of zero, the start, can be better than those of many iterates far from the feasible set.
    """

    def __init__(self, design: Design, program: HullProgram, penalty: Penalty):
        self.design, self.program, self.penalty = design, program, penalty
        self.scale = float(program.n_units)
        if program.slack == "none":
            self.scale *= USUAL_MARGIN**2 * mean_square(design, penalty)
        m, positive = program.n_units, program.n_units if program.slack == "absolute" else 0
        self.cuts = np.cumsum([m, m, positive])
        self.exists = np.concatenate(
            [program.low >= 0, program.high >= 0, np.ones(positive + len(program.edge_low), dtype=bool)]
        )
        self.has_slack = program.slack != "none"
        self.w = np.zeros(design.shape[1])
        self.t = program.tightened(np.zeros(program.n_thresholds))
        self.y = program.slacks(np.zeros(program.n_rows), self.t) + 1.0 if self.has_slack else np.zeros(m)
        self.f = np.zeros(m)
        self.s = np.maximum(self._left(self.f, self.t, self.y, 1.0), 1.0)
        self.z = self.exists.astype(np.float64)
        self.infeasible, self.approaches = 1.0, False

    def _left(self, f: FloatVector, t: FloatVector, y: FloatVector, edge: float) -> FloatVector:
        """Return the left-hand sides of the constraints; `edge` is 1, or 0 for their change along a step."""
        p, bounds = self.program, np.append(t, 0.0)
        positive = y[: self.cuts[2] - self.cuts[1]]
        edges = t[p.edge_low] - t[p.edge_high] - edge
        return self.exists * np.concatenate([f + y - bounds[p.low], y - f + bounds[p.high], positive, edges])

    def _forces(self, z: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return the multipliers' forces on the scores of rows, the thresholds and the slacks."""
        p = self.program
        below, above, positive, edge = np.split(z, self.cuts)
        slack = below + above
        slack[: len(positive)] += positive
        dual = DualPoint(below, above, edge)
        return dual.pull(p), dual.imbalance(p), slack

    def certified(self) -> HullOptimum:
        """Return the certificate of this iterate."""
        scores = self.design.matvec(self.w)
        self.f = scores[self.program.row]
        below, above, _, edge = np.split(self.z / self.scale, self.cuts)
        dual = DualPoint(below, above, edge)
        return certified(self.design, self.program, self.penalty, self.w, scores, self.t, dual)

    def step(self, relative_gap: float) -> bool:
        """Take one step; return whether it was possible."""
        try:
            newton = HullNewton(
                self.design, self.program, self.penalty, self.z / self.s, self.cuts, self.scale, relative_gap
            )
        except LinAlgError:
            return False
        force, imbalance, held = self._forces(self.z)
        weights = self.scale * self.penalty.gradient(self.w) - self.design.rmatvec(force)
        dual = (weights, -imbalance, self._slack_gradient() - held if self.has_slack else np.zeros_like(held))
        primal = self._left(self.f, self.t, self.y, 1.0) - self.exists * self.s
        product = self.s * self.z
        centre = float(product.sum()) / self.exists.sum()
        *_, s, z = self._solved(newton, dual, primal, product)
        length = _longest(self.s, s, self.z, z)
        after = float((self.s + length * s) @ (self.z + length * z)) / self.exists.sum()
        centred = product - self.exists * centre * (after / centre) ** 3
        change = self._solved(newton, dual, primal, centred + s * z)
        if _longest(self.s, change[3], self.z, change[4]) < CORRECTED:
            plain = self._solved(newton, dual, primal, centred)
            change = max(change, plain, key=lambda step: _longest(self.s, step[3], self.z, step[4]))
        if newton.is_direct and relative_gap < REFINED:
            for _ in range(REFINEMENTS):
                change = self._refined(newton, dual, change)
        length = min(1.0, STEP_FRACTION * _longest(self.s, change[3], self.z, change[4]))
        if not (length > 1e-10 and all(np.isfinite(part).all() for part in change)):
            return False
        self.approaches = length >= LONG_STEP and self.infeasible > INFEASIBLE
        self.infeasible *= 1.0 - length
        for name, part in zip("wtysz", change, strict=True):
            setattr(self, name, getattr(self, name) + length * part)
        return True

    def _slack_gradient(self) -> FloatVector:
        if self.program.slack == "squared":
            return self._slack_curvature() * self.y
        return self.scale * self.program.weight

    def _slack_curvature(self) -> FloatVector | float:
        return 2.0 * self.scale * self.program.weight if self.program.slack == "squared" else 0.0

    def _solved(
        self,
        newton: HullNewton,
        dual: tuple[FloatVector, FloatVector, FloatVector],
        primal: FloatVector,
        product: FloatVector,
    ) -> tuple[FloatVector, ...]:
        """Solve for the change of (w, t, y, s, z) that removes the residuals and the products s z."""
        force, imbalance, held = self._forces((product + self.z * primal) / self.s)
        w, t, y = newton.solve(-dual[0] - self.design.rmatvec(force), -dual[1] - imbalance, -dual[2] - held)
        s = self._left(self.design.matvec(w)[self.program.row], t, y, 0.0) + primal
        return w, t, y, s, -(product + self.z * s) / self.s

    def _refined(
        self,
        newton: HullNewton,
        dual: tuple[FloatVector, FloatVector, FloatVector],
        change: tuple[FloatVector, ...],
    ) -> tuple[FloatVector, ...]:
        """Remove the dual residuals that a step leaves.

        The system is badly conditioned near the optimum: rounding errors unbalance the multipliers, which
        loosens the bound.
        """
        w, _, y, _, z = change
        force, imbalance, held = self._forces(z)
        slack = dual[2] + self._slack_curvature() * y - held if self.has_slack else np.zeros_like(held)
        weights = dual[0] + self.scale * self.penalty.gradient(w) - self.design.rmatvec(force)
        none = np.zeros_like(z)
        correction = self._solved(newton, (weights, dual[1] - imbalance, slack), none, none)
        return tuple(part + further for part, further in zip(change, correction, strict=True))


def _longest(s: FloatVector, change_s: FloatVector, z: FloatVector, change_z: FloatVector) -> float:
    """Return the largest step in (0, 1] that keeps both nonnegative; a zero z stays zero."""
    falls = float(np.max(-change_s / s, initial=0.0))
    falls = max(falls, float(np.max(np.divide(-change_z, z, out=np.zeros_like(z), where=z > 0), initial=0.0)))
    return min(1.0, 1.0 / falls) if falls > 0 else 1.0
