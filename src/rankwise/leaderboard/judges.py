"""Judges who differ in how sharply they discern, in their order effect, or in direction."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from rankwise.core.text import listed, plural
from rankwise.core.types import FloatVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.judge_loss import (
    DECREASE_TOL,
    JudgeLoss,
    JudgePoint,
    JudgeSpreads,
    JudgeVotes,
    LocalMinimum,
    Progress,
    local_minimum,
)

# The range of learned standard deviations: of scores, of log slopes and of order effects. The last two stay
# above 0 even if judges seem equal, so that posterior intervals of judges have a length.
BOUNDS = ((0.03, 30.0), (0.1, 3.0), (0.1, 3.0))
# The step of difference quotients of the evidence by the logarithm of a standard deviation.
DIFFERENCE = 1e-4
# Starts at random log slopes, besides the one of equal judges.
RESTARTS = 4
# Values that differ by less belong to the same minimum.
SAME = 1e-6
# The probability that any of the judges who vote at random is taken for one who votes against the rest.
FALSE_ALARM = 0.05
# A test of a judge needs this number of votes.
FEWEST_VOTES = 10.0
LISTED = 5
# A spread of log slopes at which judges are equal.
NO_SPREAD = 1e-6


@dataclass(frozen=True)
class JudgeFit:
    """The best local minimum that was found, at the learned spreads."""

    loss: JudgeLoss
    spreads: JudgeSpreads
    minimum: LocalMinimum


def fit_judges(
    votes: JudgeVotes,
    scores: FloatVector,
    n_judges: int,
    *,
    has_orders: bool,
    prior_sd: float | None,
    max_iter: int,
    tol: float,
    progress: Progress,
) -> JudgeFit:
    """Fit scores, slopes and order effects of judges.

    Judges who vote against the rest get a negative slope (see `judge_signs`). The spreads of the priors
    maximise the evidence from the start of equal judges; then further starts at random slopes are tried, and
    a better minimum replaces the first, with spreads learned again from there.

    Parameters
    ----------
    votes : JudgeVotes
    scores : array of shape (n_items,)
        Those of equal judges.
    n_judges : int
    has_orders : bool
        Fit an order effect per judge.
    prior_sd : float, optional
        The standard deviation of the prior of scores; by default it is learned.
    max_iter : int
    tol : float
        The decrease at which the last fits stop, in units of log likelihood.
    progress : Progress
        It records each fit at given spreads, and each iteration of the fits at the learned ones. If it asks
        to stop, the best scores and judges so far are kept.
    """
    signs, scores = judge_signs(votes, scores, n_judges, has_orders=has_orders, prior_sd=prior_sd or 1.0)
    loss = JudgeLoss(votes, len(scores), signs, has_orders=has_orders)
    start = loss.start(scores)
    for _ in range(2):
        spreads, start = learned_spreads(loss, start, prior_sd, progress)
        if progress.monitor.stop_requested:
            minimum = local_minimum(loss, loss.precision(spreads), start, max_iter=0)
            break
        minimum = local_minimum(
            loss, loss.precision(spreads), start, max_iter=max_iter, tol=tol, progress=progress
        )
        if progress.monitor.stop_requested:
            break
        better = _restarted(loss, spreads, scores, minimum.point.value - SAME, max_iter)
        if better is None:
            break
        minimum, start = better, better.point.parameters
    return JudgeFit(loss, spreads, minimum)


def warn_of_judges(names: NDArray[Any], found: JudgeFit, *, is_stopped: bool) -> None:
    """Warn of judges who vote against the rest, and of a fit that is no certified minimum."""
    contrary = [str(name) for name in names[found.loss.signs < 0].tolist()]
    if contrary:
        vote, slope = ("votes", "a negative slope") if len(contrary) == 1 else ("vote", "negative slopes")
        warn_caller(
            f"{plural(len(contrary), 'judge')} {vote} against the rest, with {slope}: "
            f"{listed(contrary, LISTED)}. The majority of judges sets the direction of the ranking."
        )
    if not (found.minimum.is_certified or is_stopped):
        warn_caller(
            f"Stopped after {plural(found.minimum.n_iter, 'iteration')} at scores and slopes that are not a "
            "certified local minimum. Raise max_iter.",
            ConvergenceWarning,
        )


def _restarted(
    loss: JudgeLoss, spreads: JudgeSpreads, scores: FloatVector, value: float, max_iter: int
) -> LocalMinimum | None:
    """Return the lowest of the local minima from random slopes, or None if none is below a value."""
    rng, precision = np.random.default_rng(0), loss.precision(spreads)
    draws = rng.normal(0.0, min(spreads.slopes, 1.0), size=(RESTARTS, loss.n_judges))
    found = [local_minimum(loss, precision, loss.start(scores, logs), max_iter=max_iter) for logs in draws]
    better = [one for one in found if one.is_certified and one.point.value < value]
    return min(better, key=lambda one: one.point.value, default=None)


def judge_signs(
    votes: JudgeVotes, scores: FloatVector, n_judges: int, *, has_orders: bool, prior_sd: float
) -> tuple[FloatVector, FloatVector]:
    """Return the sign of each judge's slope, -1 for one who votes against the rest, and scores with them.

    Of the judges whose votes contradict the scores of the others significantly, the one with the clearest
    contradiction is reversed and the scores are fitted again, until there is none. The direction is that of
    the majority of judges. The test is the score test of a slope of 0, one-sided, with Bonferroni's
    correction for the number of judges.
    """
    signs = np.ones(n_judges)
    limit = -norm.isf(FALSE_ALARM / n_judges)
    for _ in range(n_judges):
        loss = JudgeLoss(votes, len(scores), signs, has_orders=False)
        precision = loss.precision(JudgeSpreads(prior_sd, NO_SPREAD, NO_SPREAD))
        point = local_minimum(loss, precision, loss.start(scores)).point
        scores = point.parameters[: loss.n_items]
        z = _agreement(point, has_orders=has_orders)
        worst = int(np.argmin(z))
        if z[worst] >= limit:
            break
        signs[worst] *= -1.0
    return (-signs, -scores) if 2 * (signs < 0).sum() > n_judges else (signs, scores)


def _agreement(point: JudgePoint, *, has_orders: bool) -> FloatVector:
    """Return the z-value of each judge's slope on the scores of the others; 0 for judges with few votes.

    The scores without a judge are one Newton step from those of all.
    """
    loss = point.loss
    whole = point.hessian(exact=False).items
    z = np.zeros(loss.n_judges)
    ends = np.searchsorted(loss.judge, np.arange(loss.n_judges + 1))
    for judge in np.flatnonzero(np.bincount(loss.judge, loss.total, loss.n_judges) >= FEWEST_VOTES):
        part = slice(ends[judge], ends[judge + 1])
        own = JudgeLoss(loss.votes.take(part), loss.n_items, loss.signs, has_orders=False)
        alone = own.at(point.parameters, np.zeros_like(point.precision))
        rest = whole - alone.hessian(exact=False).items
        scores = point.parameters[: loss.n_items] + np.linalg.solve(rest, alone.gradient[: loss.n_items])
        z[judge] = loss.signs[judge] * _score_test(own.votes, scores, has_orders=has_orders)
    return z


def _score_test(votes: JudgeVotes, scores: FloatVector, *, has_orders: bool) -> float:
    """Return the z-value of a slope on given scores; with order effects, beside a constant."""
    apart, mean = scores[votes.first] - scores[votes.second], 0.5
    if has_orders:
        mean = float(votes.won.sum() / votes.total.sum())
        apart = apart - float(votes.total @ apart) / float(votes.total.sum())
    variance = mean * (1.0 - mean) * float(votes.squares @ apart**2)
    return float((votes.won - mean * votes.total) @ apart) / variance**0.5 if variance > 0 else 0.0


class _StoppedError(Exception):
    """The callback asked to stop while spreads were learned."""


def learned_spreads(
    loss: JudgeLoss, start: FloatVector, prior_sd: float | None = None, progress: Progress | None = None
) -> tuple[JudgeSpreads, FloatVector]:
    """Return the spreads that maximise the log evidence plus the log density of a prior, and the optimum.

    The log evidence is Laplace's approximation, -F - sum of log sd - log det(H) / 2 with F the minimum and H
    its Hessian. log sd of scores is standard normal, as for equal judges, and the spreads of log slopes and
    of order effects are half-normal.
    """
    evidence = _Evidence(loss, start, prior_sd, progress)
    free = [place for place in range(1 + loss.per_judge) if place or prior_sd is None]
    begin = np.log([1.0 if prior_sd is None else prior_sd, 0.5, 0.3])

    def objective(some: FloatVector) -> float:
        logs = begin.copy()
        logs[free] = some
        return -evidence.log_posterior(logs)

    logs = begin.copy()
    with contextlib.suppress(_StoppedError):
        found = minimize(
            objective, begin[free], method="L-BFGS-B",
            bounds=[tuple(np.log(BOUNDS[place])) for place in free],
            options={"eps": DIFFERENCE, "ftol": 1e-7, "gtol": 1e-3},
        )  # fmt: skip
        logs[free] = found.x
    return JudgeSpreads(*np.exp(logs).tolist()), evidence.parameters


class _Evidence:
    """The evidence as a function of the logarithms of the spreads; each call starts at the last optimum."""

    def __init__(
        self, loss: JudgeLoss, start: FloatVector, prior_sd: float | None, progress: Progress | None
    ) -> None:
        self.loss, self.parameters, self._learns_scores = loss, start, prior_sd is None
        self._progress = progress

    def log_posterior(self, logs: FloatVector) -> float:
        """Return the log evidence plus the log prior density."""
        loss, spreads = self.loss, JudgeSpreads(*np.exp(logs))
        precision = loss.precision(spreads)
        found = local_minimum(loss, precision, self.parameters)
        self.parameters = found.point.parameters
        if self._progress is not None and self._progress.record(found.point, found.decrease, DECREASE_TOL):
            raise _StoppedError
        hessian = found.point.hessian(exact=found.is_certified)
        value = 0.5 * float(np.log(precision).sum()) - found.point.value - 0.5 * hessian.log_determinant()
        if self._learns_scores:
            value -= 0.5 * logs[0] ** 2
        return value - 0.5 * float(np.exp(2.0 * logs[1 : 1 + loss.per_judge]).sum())
