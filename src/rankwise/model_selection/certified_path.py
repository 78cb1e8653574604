"""A few models for all alphas of a range, each with a certificate for the alphas around its own.

Let p(alpha) be the minimum over w of loss(w) + alpha penalty(w). With w fixed that is a line in alpha. So
p, the lowest of all lines, is concave: between two alphas it lies above the chord of lower bounds at the two,
and below the line of any weights. A few fits with their gaps thus bound p everywhere, whatever the loss.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankwise.core.checks import as_alphas, check_count, check_positive
from rankwise.core.pipelines import fitted_columns
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector, IntArray
from rankwise.core.warn import warn_caller
from rankwise.data.precision import UNIT, rounding_terms
from rankwise.evaluation.names import numbered_names
from rankwise.functions.learned import function_of
from rankwise.model_selection.tunable import CertifiedFits, Fit
from rankwise.solvers import SolverResult

# Fits have this fraction of the tolerance; the rest is for the alphas between them. A smaller fraction means
# fewer but more expensive fits.
FIT_SHARE = 0.3
# A step uses this fraction of the tolerance half-way, and changes by at most this factor.
AIM_SHARE, STEP_CHANGE = 0.85, 4.0
# The number of fits of a path of models that select features.
N_ALPHAS = 100
# Steps below this fraction of (2 tol)^(1/2), the shortest that is ever needed, would not help.
LEAST_SHARE = 0.01


@dataclass(frozen=True)
class Knot:
    """Weights that were fitted for an alpha, with bounds on their objective.

    The objective of the weights at any alpha is at most `intercept` + `slope` alpha, rounding included. At
    the alpha of the knot no weights have an objective below `bound`. Rounding can explain a
    distance of `rounding` between the two.
    """

    alpha: float
    coef: FloatVector = field(repr=False)
    objective: float
    gap: float
    intercept: float
    slope: float
    bound: float
    rounding: float

    @classmethod
    def of(cls, alpha: float, result: SolverResult, penalty: float) -> Knot:
        """Return the knot that a fit makes, given the penalty of its weights for an alpha of 1."""
        intercept = result.objective - alpha * penalty + result.rounding / 2
        slope = penalty * (1.0 + UNIT * rounding_terms(len(result.coef)))
        bound = max(result.objective - result.gap, 0.0)  # no objective is negative
        rounding = 1.5 * result.rounding  # in the gap, and the half of it in the intercept
        return cls(alpha, result.coef, result.objective, result.gap, intercept, slope, bound, rounding)


@dataclass
class CertifiedPath:
    """Models for all alphas between two ends, from `alpha_path`.

    Attributes
    ----------
    alphas : array of shape (n_knots,)
        The alphas that were fitted, from the largest down.
    coef : array of shape (n_knots, n_features)
        The `coef_` of each, or for a kernel the `dual_coef_`.
    objectives, gaps : arrays of shape (n_knots,)
        The objective of each at its own alpha, and a bound on its suboptimality.
    tol : float
        The tolerance, relative to the attainable improvement J(0) - J*.
    at_zero : float
        The objective of the zero function, at every alpha.
    """

    alphas: FloatVector
    coef: FloatArray = field(repr=False)
    objectives: FloatVector = field(repr=False)
    gaps: FloatVector = field(repr=False)
    tol: float
    at_zero: float
    _knots: list[Knot] = field(repr=False)
    _model: Any = field(repr=False)
    _features: Any = field(repr=False)

    @property
    def n_selected(self) -> IntArray:
        """The number of weights that are not zero, for each alpha that was fitted."""
        return np.count_nonzero(self.coef, axis=1)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features of linear models; None for kernels and curves."""
        if self._features is not None:
            return None
        return fitted_columns(self._model) or numbered_names(self.coef.shape[1])

    def knot(self, alpha: ArrayLike) -> IntArray:
        """Return the number of the knot whose weights have the lowest objective at each alpha."""
        return np.argmin(self._lines(alpha), axis=-1)

    def objective(self, alpha: ArrayLike) -> FloatArray:
        """Return an upper bound on the objective of these weights at each alpha."""
        return self._lines(alpha).min(axis=-1)

    def bound(self, alpha: ArrayLike) -> FloatArray:
        """Return a lower bound on the minimum at each alpha: the chords of the bounds of the knots."""
        return np.asarray(np.interp(self._checked(alpha), self.alphas[::-1], self._column("bound")[::-1]))

    def gap(self, alpha: ArrayLike) -> FloatArray:
        """Return a bound on the suboptimality at each alpha."""
        return self.objective(alpha) - self.bound(alpha)

    def share(self, alpha: ArrayLike) -> FloatArray:
        """Return the gap relative to the attainable improvement at each alpha; zero if there is none."""
        return shares(self.gap(alpha), self.at_zero - self.bound(alpha))

    def model(self, alpha: float) -> Any:
        """Return the fitted model of the knot for an alpha, with its objective and gap at that alpha.

        Its attribute `alpha_path_` is the path, which a report draws.
        """
        k = int(self.knot(alpha))
        model = copy.copy(self._model).set_params(alpha=float(alpha))
        model.store(Fit(function_of(self.coef[k], self._features)))
        model.objective_, model.gap_ = float(self.objective(alpha)), float(self.gap(alpha))
        model.alpha_path_ = self
        return model

    def _lines(self, alpha: ArrayLike) -> FloatArray:
        return self._column("intercept") + self._checked(alpha)[..., None] * self._column("slope")

    def _column(self, name: str) -> FloatVector:
        return np.array([getattr(knot, name) for knot in self._knots])

    def _checked(self, alpha: ArrayLike) -> FloatArray:
        alphas = np.asarray(alpha, dtype=np.float64)
        low, high = self.alphas[-1], self.alphas[0]
        if not np.all((alphas >= low) & (alphas <= high)):
            ends = f"{low:g} and {high:g}, the ends of the path"
            raise ValueError(f"alpha must be between {ends}; got {alphas}.")
        return alphas


def alpha_path(
    model: Any,
    X: Any,
    y: Any,
    ends: ArrayLike | None = None,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-3,
    n_alphas: int | None = None,
) -> CertifiedPath:
    """Fit a few alphas such that one of the models is certified for every alpha of a range.

    With `n_alphas`, and with `l1_ratio`, the alphas are in equal ratios: each fit is certified, and between
    two of them the path has bounds that may be further apart.

    The criterion is that of all fits: at every alpha, the suboptimality of the model is at most `tol` times
    the attainable improvement J(0) - J*.

    Cost: about log(largest / smallest) / (2 tol)^(1/2) fits at worst, if the penalty dominates the
    objective, and far fewer otherwise. Each fit is warm-started from an extrapolation of the last two. All
    fits of `RankRLS` share one decomposition.

    Parameters
    ----------
    model : RankSVM, RankLogistic, RankRLS or CurveRanker, or the CV class of one
        It is not changed, and need not be fitted; its `tol` and `alpha` do not matter. One output.
    X, y, qid, sample_weight :
        As for `fit`; rows may be on Dask.
    ends : pair of float, optional
        The largest and the smallest alpha; by default those of the grid from which the CV class chooses.
    tol : float
        The tolerance, relative to the attainable improvement.
    n_alphas : int, optional
        The number of alphas; by default 100 for models with `l1_ratio`, and for others as many as it takes.

    Returns
    -------
    CertifiedPath

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.model_selection import alpha_path
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> path = alpha_path(RankSVM(), X, y, (1e-1, 1e-4))
    >>> bool(path.share([0.03, 0.002, 0.0007]).max() <= 0.001)
    True
    >>> round(path.model(0.002).score(X, y), 1)
    0.7

    The features that enter as alpha falls:

    >>> path = alpha_path(RankSVM(loss="squared_hinge", l1_ratio=0.9), X, y, n_alphas=5)
    >>> path.n_selected.tolist()
    [0, 6, 7, 8, 10]
    """
    check_positive("tol", tol)
    if n_alphas is not None:
        check_count("n_alphas", n_alphas)
    if not getattr(model, "has_certified_path", False):
        raise TypeError(
            f"model must be a RankSVM, RankLogistic, RankRLS or CurveRanker, or the CV class of one; "
            f"got {type(model).__name__}."
        )
    plain = model.with_alpha(1.0) if hasattr(model, "with_alpha") else clone(model).set_params(alpha=1.0)
    if n_alphas is None and np.any(model.l1_ratio):
        n_alphas = N_ALPHAS
    return _path_of(plain, (X, y, qid, sample_weight), ends, float(tol), n_alphas)


@with_one_blas_thread
def _path_of(
    model: Any, data: tuple[Any, ...], ends: ArrayLike | None, tol: float, n_alphas: int | None
) -> CertifiedPath:
    model.set_params(tol=FIT_SHARE * tol if n_alphas is None else tol).check_parameters()
    problem = model.problem(*data)
    if len(problem.outputs) > 1:
        raise ValueError(f"y must have one output for a path with certificates; got {len(problem.outputs)}.")
    fits = model.fits(problem, hint=True).handing_on()
    grid = model.grid(problem, fits.space.design) if ends is None else as_alphas(ends)
    path, largest, smallest = _Path(fits, tol), float(np.max(grid)), float(np.min(grid))
    if n_alphas is None:
        knots = path.between(largest, smallest)
    else:
        knots = path.at(np.geomspace(largest, smallest, n_alphas))
    return CertifiedPath(
        np.array([knot.alpha for knot in knots]),
        fits.space.dual_coef(np.stack([knot.coef for knot in knots])),
        np.array([knot.objective for knot in knots]),
        np.array([knot.gap for knot in knots]),
        tol,
        fits.at_zero,
        knots,
        model.set_params(tol=tol),
        fits.space.features,
    )


class _Path:
    """Steps down from the largest alpha that are as long as the tolerance allows."""

    def __init__(self, fits: CertifiedFits, tol: float):
        self._fits, self._tol, self._at_zero = fits, tol, fits.at_zero
        self._shortest = float(np.sqrt(2.0 * tol))  # if the penalty is the whole objective
        self._unfinished = False

    def between(self, largest: float, smallest: float) -> list[Knot]:
        """Return the knots from the largest alpha to the smallest."""
        knots = [self._fitted(largest)]
        step = self._shortest
        while knots[-1].alpha > smallest:
            last = knots[-1]
            ahead = self._fitted(max(smallest, float(last.alpha * np.exp(-step))), *knots[-2:])
            step *= self._change(last, ahead)
            knots += self._filled(last, ahead)
        self._warn(knots)
        return knots

    def at(self, alphas: FloatVector) -> list[Knot]:
        """Return the knots at these alphas, each warm-started from the one before."""
        knots: list[Knot] = []
        for alpha in alphas:
            knots.append(self._fitted(float(alpha), *knots[-1:]))
        if self._unfinished:
            self._warn_of(max(map(self._own, knots)))
        return knots

    def _filled(self, upper: Knot, lower: Knot) -> list[Knot]:
        """Return the knots after one, down to another, with as many between as it takes."""
        close = np.log(upper.alpha / lower.alpha) <= LEAST_SHARE * self._shortest
        if close or self._worst(upper, lower) <= self._tol or not self._can_be_met(upper, lower):
            return [lower]
        middle = self._fitted(float(np.sqrt(upper.alpha * lower.alpha)), upper, lower)
        return self._filled(upper, middle) + self._filled(middle, lower)

    def _worst(self, upper: Knot, lower: Knot) -> float:
        """Return the largest relative gap between two knots.

        Lines and chord are straight, so it is at an end or at the intersection of the lines.
        """
        turn = upper.slope - lower.slope
        cross = (lower.intercept - upper.intercept) / turn if turn else upper.alpha
        at = np.array([upper.alpha, float(np.clip(cross, lower.alpha, upper.alpha)), lower.alpha])
        lines = np.minimum(*(knot.intercept + knot.slope * at for knot in (upper, lower)))
        chord = np.interp(at, (lower.alpha, upper.alpha), (lower.bound, upper.bound))
        return float(self._missed(lines - chord, chord, upper, lower).max())

    def _own(self, knot: Knot) -> float:
        gap = knot.intercept + knot.slope * knot.alpha - knot.bound
        return float(self._missed(gap, knot.bound, knot))

    def _missed(self, gap: Any, bound: Any, *knots: Knot) -> FloatArray:
        """Return a gap relative to the attainable improvement; zero if rounding explains it."""
        at_zero = self._at_zero
        explained = min(max(knot.rounding for knot in knots), self._tol * at_zero)
        return np.where(gap <= explained, 0.0, shares(gap, at_zero - bound))

    def _can_be_met(self, *knots: Knot) -> bool:
        """Return whether the gaps of the fits leave a part of the tolerance: rounding may use all of it."""
        return max(map(self._own, knots)) <= AIM_SHARE * self._tol

    def _change(self, upper: Knot, lower: Knot) -> float:
        """Return the factor for the next step: the gap between two knots grows with its square."""
        own = max(self._own(upper), self._own(lower))
        room, lost = AIM_SHARE * self._tol - own, self._worst(upper, lower) - own
        if room <= 0 or lost <= 0:
            return STEP_CHANGE
        return float(np.clip(np.sqrt(room / lost), 1.0 / STEP_CHANGE, STEP_CHANGE))

    def _fitted(self, alpha: float, *near: Knot) -> Knot:
        result = self._fits.solve(alpha, on_line(alpha, *near))
        if result.status == "interrupted":
            raise KeyboardInterrupt  # the knots so far do not cover the range
        self._unfinished |= result.status != "converged"
        return Knot.of(alpha, result, self._fits.penalty(result.coef))

    def _warn(self, knots: list[Knot]) -> None:
        if self._unfinished:
            self._warn_of(max(map(self._worst, knots, [*knots[1:], knots[-1]])))

    def _warn_of(self, worst: float) -> None:
        if worst > self._tol:
            warn_caller(
                f"Some fits did not converge: the gap may be {worst:.2g} of the attainable improvement, "
                f"above tol={self._tol:g}.",
                ConvergenceWarning,
            )


def on_line(alpha: float, *near: Knot) -> FloatVector | None:
    """Return starting weights: on the line through two knots by log alpha, those of one knot, or None."""
    if len(near) < 2:
        return near[0].coef if near else None
    first, second = near
    share = np.log(alpha / first.alpha) / np.log(second.alpha / first.alpha)
    return first.coef + share * (second.coef - first.coef)


def shares(gap: Any, winnable: Any) -> FloatArray:
    """Return a gap relative to the attainable improvement; zero if there is none."""
    gap, winnable = np.asarray(gap, dtype=np.float64), np.asarray(winnable, dtype=np.float64)
    return np.divide(gap, winnable, where=winnable > 0, out=np.zeros(np.broadcast(gap, winnable).shape))
