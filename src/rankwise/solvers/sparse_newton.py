"""Smooth losses with an elastic net: Newton steps on the features that matter, certified by the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.core.states import State
from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.data.precision import UNIT
from rankwise.losses import Smooth
from rankwise.solvers.balanced_planes import PlaneBelow, balanced
from rankwise.solvers.certificate import Certificate, StoppingRule, certified_gap
from rankwise.solvers.elastic_net import ElasticNet
from rankwise.solvers.errors import ErrorModel
from rankwise.solvers.result import Monitor, SolverResult, require
from rankwise.solvers.run import run
from rankwise.solvers.working_set import WorkingSet

# A set of features is left if the gap among them is this fraction of the target. It gets finer if that is not
# enough, as slopes by features without a penalty must nearly vanish.
INNER_FRACTION, FINER, LEAST_FRACTION = 0.3, 1e-3, 1e-14
# The fewest features that are added at a time; otherwise as many as have a weight.
FEWEST_ADDED = 20
# A new Hessian costs a product per feature. It pays if it saves a step per ten of them.
FEATURES_PER_STEP = 10
# A step must achieve this fraction of the decrease that it promises.
ARMIJO = 1e-3
MOST_STEPS, MOST_HALVINGS = 100, 40
# The tolerance of the minimum over features without a penalty, relative to J(0), for the largest alpha.
ALPHA_TOL = 1e-14
# A step ends a run if neither the gap nor the objective falls below this fraction of the last one.
STALLED_FRACTION = 0.9
# What is kept of a point.
POINT = ("coef", "scores", "loss", "coefficients", "drift")


@dataclass(eq=False)
class Point:
    """Weights with their scores, the loss there and its coefficients, and X' times these if asked for.

    `drift` is the error of scores that were updated along lines, beyond the rounding of X w.
    """

    design: Design
    coef: FloatVector
    scores: FloatVector
    loss: float
    coefficients: FloatVector
    drift: float = 0.0

    @cached_property
    def slopes(self) -> FloatVector:
        """X'c: one product with X'."""
        return self.design.rmatvec(self.coefficients)

    @property
    def offset(self) -> float:
        """The offset of the plane that touches the loss, loss(s) - c's."""
        return self.loss - float(self.coefficients @ self.scores)

    def state(self) -> State:
        """Return the arguments but for the design."""
        return {name: np.array(getattr(self, name)) for name in POINT}


class SparseNewton:
    """Newton steps on a working set of features, by coordinate descent and a line search on scores.

    With the coefficients c of the loss at scores s, the plane c't + b, b = loss(s) - c's, touches the loss
    from below. As no loss is negative, so does every share of the plane, and the minimum of a share plus the
    penalty is a lower bound on the optimum (`ElasticNet.lowest`): a scaled dual point, without a list of
    pairs. Features with slopes beyond their penalty are added to the working set.

    Screening (Ndiaye et al., Journal of Machine Learning Research 18, 2017): the sum of the absolute
    coefficients changes by at most K times the largest change of a score, so that the dual is strongly
    concave, and the coefficients of the optimum are within (2 K gap)^(1/2) of those of the bound. A feature
    whose slope is below its penalty by more than that times its largest value has a weight of zero at
    the optimum, and is left out of all further bounds.

    Cost: one product with X' per working set; on a working set of k features O(m k + k^2) per step, and a
    product with the Hessian of the loss per feature, if it is renewed.
    """

    def __init__(
        self,
        design: Design,
        loss: Smooth,
        net: ElasticNet,
        start: FloatVector | None = None,
        working_set: WorkingSet | None = None,
    ):
        self.design, self.loss, self.net = design.centred(), loss, net
        self._errors = ErrorModel(self.design.precision, loss.bounds)
        self._set = WorkingSet() if working_set is None else working_set
        if kept := self._set.resume(self.design, loss):
            numbers: dict[str, Any] = {
                name: value if value.ndim else float(value) for name, value in kept.items()
            }
            self._set.point = Point(self.design, **numbers)
        self.bound = 0.0  # neither loss nor penalty is negative
        self.screened = np.zeros(design.shape[1], dtype=bool)
        self._last, self._fraction = (np.inf, np.inf), INNER_FRACTION
        self.point = self._first(start)

    def _first(self, start: FloatVector | None) -> Point:
        """Return the start, or zero if that is better."""
        last, zero = self._set.point, np.zeros(self.design.shape[1])
        if last is not None and start is not None and np.array_equal(last.coef, start):
            return last
        point = self._at(zero if start is None else start)
        return point if self._objective(point) <= self.loss.at_zero else self._at(zero)

    def _at(self, coef: FloatVector) -> Point:
        scores = self.design.matvec(coef)
        return Point(self.design, coef, scores, *self.loss.value_and_coefficients(scores))

    def _objective(self, point: Point) -> float:
        return point.loss + self.net.value(point.coef)

    @property
    def coef(self) -> FloatVector:
        """The weights."""
        return self.point.coef

    # Certificates

    def certificate(self, target_gap: float) -> Certificate:
        """Return the certificate of the point, which may raise the lower bound and screen features."""
        self._set.point = point = self.point
        objective, error = self._objective(point), self._error_at(point)
        below = self._below(point, objective, target_gap)
        sizes = np.abs(below.slopes) + below.slope_errors
        share, bound = self._lowest(sizes, below.offset - below.offset_error)
        bound -= self._errors.precision.columns * (share * abs(below.offset) - bound)
        exact = self._lowest(below.slopes, below.offset)[1]
        rounding = 2.0 * (exact - bound + error)
        self._screen(share, sizes, certified_gap(objective, bound, error))
        self.bound = max(self.bound, bound)
        certified = certified_gap(objective, self.bound, error)
        gap = min(objective - exact, certified)
        return Certificate(objective, self.bound, gap, lambda: (certified, rounding), includes_drift=True)

    def _lowest(self, slopes: FloatVector, offset: float) -> tuple[float, float]:
        """Return the best share of a plane, and its least sum with the penalty; screened weights are zero."""
        return self.net.lowest(np.where(self.screened, 0.0, slopes), offset)

    def _below(self, point: Point, objective: float, target_gap: float) -> PlaneBelow:
        """Return a plane below the loss: that at the point, or a mean for features without a penalty.

        Its planes are not computed while even the first one, without its slopes by these, shows a large gap.
        """
        below, free = self._plane_at(point), self.net.is_free
        if not free.any():
            return below
        flat = below.flat(free)
        if objective - self._lowest(flat.slopes, flat.offset)[1] > target_gap:
            return below
        columns = self.design.columns(np.flatnonzero(free))
        columns = columns.toarray() if sp.issparse(columns) else columns
        hessian = self.loss.hessian(point.scores)
        curvature = columns @ np.stack([hessian.product(column) for column in columns], axis=1)

        def moved(move: FloatVector) -> PlaneBelow:
            coef, scores = point.coef.copy(), point.scores + move @ columns
            coef[free] += move
            return self._plane_at(Point(self.design, coef, scores, *self.loss.value_and_coefficients(scores)))

        mean = balanced(below, free, curvature, moved)
        return below if mean is None else mean

    def _plane_at(self, point: Point) -> PlaneBelow:
        """Return the plane that touches the loss at a point, whatever the rounding of its scores."""
        score_range = self._errors.precision.score_range(point.coef, point.scores)
        offset_error = self._errors.tangent(score_range)[1]
        return PlaneBelow(point.slopes, point.offset, self._errors.slopes(score_range), offset_error)

    def recomputed(self) -> Certificate:
        """Return the certificate with scores computed from the weights."""
        self.point = self._at(self.point.coef)
        return self.certificate(np.inf)

    def _error_at(self, point: Point) -> float:
        """Return the error of the objective."""
        precision, penalty = self._errors.precision, self.net.value(point.coef)
        score_range = precision.score_range(point.coef, point.scores)
        tiny = np.finfo(np.float64).tiny
        errors = self._errors.at(tiny, point.coef, point.loss + penalty, score_range, point.drift)
        return float(errors.objective) + precision.columns * penalty

    def _screen(self, share: float, sizes: FloatVector, gap: float) -> None:
        """Screen features whose weights are zero at the optimum, given a share of the plane and its gap."""
        change = float(self.loss.bounds.change(self._objective(self.point), 1.0)[1])
        reach = self._errors.precision.size * np.sqrt(2.0 * change * gap)
        self.screened |= (share * sizes + reach) * (1.0 + 8.0 * UNIT) < self.net.absolute

    def settle(self) -> bool:
        """Return whether the point may be the last: zero ranks nothing, unless it is optimal."""
        if self.point.coef.any():
            return True
        plane = self._plane_at(self.point)
        return bool((np.abs(plane.slopes) <= self.net.absolute + plane.slope_errors).all())

    # Steps

    def step(self, target_gap: float) -> bool:
        """Enlarge the working set and descend on it; return False if that changes nothing any more."""
        (best, gap), n_added = self._last, self._enlarge()
        if best < np.inf and not n_added:
            self._fraction *= FINER  # the set was left too early
        moved = self._descend(self._fraction * target_gap)
        while not (moved or n_added) and self._fraction > LEAST_FRACTION:
            self._fraction *= FINER
            moved = self._descend(self._fraction * target_gap)
        objective, error = self._objective(self.point), self._error_at(self.point)
        self._last = objective, objective - self.bound
        falls = objective < best - error or objective - self.bound < STALLED_FRACTION * gap
        return n_added > 0 or (moved and (falls or self._fraction > LEAST_FRACTION))

    def _enlarge(self) -> int:
        """Add the features whose slopes are furthest beyond their penalty, and all with a weight."""
        point, net, working = self.point, self.net, self._set
        beyond = np.abs(point.slopes) - net.absolute
        beyond[point.coef != 0] = np.inf
        beyond[net.is_free] = np.inf
        beyond[self.screened & (point.coef == 0)] = -np.inf
        beyond[working.features] = -np.inf
        most = max(FEWEST_ADDED, int(np.count_nonzero(point.coef)), int(np.count_nonzero(beyond == np.inf)))
        new = np.flatnonzero(beyond > 0)
        if len(new) > most:
            with np.errstate(divide="ignore"):
                ratio = beyond[new] / net.absolute[new]
            new = np.sort(new[np.argsort(-ratio, kind="stable")[:most]])
        if len(new):
            working.add(self.design.columns(new), new)
        return len(new)

    def _descend(self, target: float) -> bool:
        """Take steps on the working set until the gap on it is small; return whether any step was taken."""
        working, last, moved, is_exact = self._set, np.inf, False, False
        net = self.net.only(working.features)
        for _ in range(MOST_STEPS):
            if not len(working):
                return moved
            if not len(working.gram):
                working.renew(self.loss, self.point.scores)
            move, decrease = self._proposed(net, 0.01 * target, is_exact)
            is_poor = self._n_steps_left(decrease, last, target) > len(working) / FEATURES_PER_STEP + 1
            if not is_poor and self._is_solved(net, decrease, target):
                return moved
            is_exact |= decrease <= target  # a small step, far from the minimum
            taken = None if is_poor and not working.is_fresh else self._searched(move, decrease, net)
            if taken is not None:
                self.point, working.is_fresh, last, moved = taken, False, decrease, True
            elif working.is_fresh:
                return moved
            else:
                working.renew(self.loss, self.point.scores)
                last = np.inf
        return moved

    @staticmethod
    def _n_steps_left(decrease: float, last: float, target: float) -> float:
        """Return the steps to a decrease below the target, if they fall as the last two have fallen."""
        if decrease <= target or last == np.inf:
            return 0.0
        return float(np.log(target / decrease) / np.log(decrease / last)) if decrease < last else np.inf

    def _proposed(self, net: ElasticNet, tol: float, is_exact: bool) -> tuple[FloatVector, float]:
        """Return new weights of the working set by a model of the loss, and the decrease that it promises."""
        working, point = self._set, self.point
        coef = point.coef[working.features]
        slopes = working.slopes(point.coefficients)
        new = working.minimise(slopes, coef, net, tol, is_exact)
        move = new - coef
        curved = 0.5 * move @ (working.gram @ move)
        promised = net.value(coef) - net.value(new) - slopes @ move - curved
        # A minimum of the model is at least that much lower, which is known when the difference is rounding.
        return new, float(max(promised, curved + net.square @ (move * move)))

    def _is_solved(self, net: ElasticNet, decrease: float, target: float) -> bool:
        """Return whether the objective is within a target of the optimum on the working set."""
        slopes = np.where(net.is_free, 0.0, self._set.slopes(self.point.coefficients))
        bound = net.lowest(slopes, self.point.offset)[1]
        return decrease <= target and self._objective(self.point) - bound <= target

    def _searched(self, new: FloatVector, decrease: float, net: ElasticNet) -> Point | None:
        """Return a point on the line to new weights, or None if none is lower."""
        point, features = self.point, self._set.features
        coef = point.coef[features]
        start, noise = self._objective(point), self._error_at(point)
        move = self._set.scores(new - coef)
        step = 1.0
        for _ in range(MOST_HALVINGS):
            whole = point.coef.copy()
            whole[features] = new if step == 1.0 else coef + step * (new - coef)
            scores, precision = point.scores + step * move, self._errors.precision
            drift = point.drift + precision.path(np.abs(whole - point.coef), 1) + precision.scores(whole)
            found = Point(self.design, whole, scores, *self.loss.value_and_coefficients(scores), drift)
            objective = self._objective(found)
            if objective <= start - ARMIJO * step * decrease:
                return found
            if decrease <= noise:
                return found if objective <= start + noise and step == 1.0 else None
            step *= 0.5
        return None


def solve_sparse_newton(
    design: Design,
    loss: Smooth,
    alpha: float,
    *,
    l1_ratio: float,
    penalty_weights: Any = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    start: FloatVector | None = None,
    monitor: Monitor | None = None,
    working_set: WorkingSet | None = None,
) -> SolverResult:
    """Minimize loss(X w) + alpha (l1_ratio ||w||_1 + (1 - l1_ratio) ||w||^2): see `SparseNewton`.

    Parameters
    ----------
    penalty_weights : array of shape (n_features,), optional
        Factors of the terms of the penalty, 0 for a feature without one.
    start : array of shape (n_features,), optional
        The first weights; zero by default, or if zero is better.
    working_set : WorkingSet, optional
        Of a fit to the same rows, for another alpha.

    Returns
    -------
    SolverResult
        `gap` bounds the suboptimality and allows for rounding errors.
    """
    require(loss, "hessian", "Newton's method")
    net = ElasticNet.of(alpha, l1_ratio, penalty_weights, design.shape[1])
    monitor = Monitor() if monitor is None else monitor
    method = SparseNewton(design, loss, net, start, working_set)
    return run(method, StoppingRule(tol, loss.at_zero), max_iter=max_iter, monitor=monitor)


def largest_alpha(
    design: Design, loss: Smooth, *, l1_ratio: float, penalty_weights: FloatVector | None = None
) -> float:
    """Return the smallest alpha at which no penalized feature has a weight.

    At the minimum over the features without a penalty, it is the largest slope of a feature relative to its
    factor in the penalty.
    """
    unit = ElasticNet.of(1.0, l1_ratio, penalty_weights, design.shape[1])
    method = SparseNewton(design, loss, unit.free_alone())
    method.step(ALPHA_TOL * loss.at_zero)
    penalised = ~unit.is_free
    slopes = np.abs(method.point.slopes[penalised]) / unit.absolute[penalised]
    return float(slopes.max(initial=0.0)) or 1.0
