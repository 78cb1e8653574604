"""Judges who differ in how sharply they discern, in their order effect, or in direction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm

from rankwise.core.text import listed, plural
from rankwise.core.types import FloatVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.judge_model import JudgeModel, JudgePoint, JudgeSpreads, JudgeVotes
from rankwise.leaderboard.newton import fitted, minimised
from rankwise.solvers.result import Monitor, SolverResult

# A fit at given spreads stops at this distance from its minimum, in units of log likelihood.
DECREASE_TOL = 1e-10
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

    model: JudgeModel
    spreads: JudgeSpreads
    result: SolverResult


def fit_judges(
    votes: JudgeVotes,
    scores: FloatVector,
    n_judges: int,
    *,
    has_orders: bool,
    prior_sd: float | None,
    tol: float,
    max_iter: int,
    monitor: Monitor,
) -> JudgeFit:
    """Fit scores, slopes and order effects of judges.

    Judges who vote against the rest get a negative slope (see `judge_signs`). The spreads of the priors
    maximize the evidence from the start of equal judges; then further starts at random slopes are tried, and
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
    tol, max_iter :
        Of the fits at the learned spreads.
    monitor : Monitor
        It records each fit at given spreads, and each iteration of the fits at the learned ones. If it asks
        to stop, or after Ctrl-C, the best scores and judges so far are kept.
    """
    signs, scores = judge_signs(votes, scores, n_judges, has_orders=has_orders, prior_sd=prior_sd or 1.0)
    model = JudgeModel(votes, len(scores), signs, has_orders=has_orders)
    evidence = _Evidence(model, model.started(scores), prior_sd, monitor)
    try:
        for _ in range(2):
            evidence.maximise()
            alpha = 0.5 * model.ridge(evidence.spreads)
            result = minimised(
                model, alpha, tol=tol, max_iter=max_iter, monitor=monitor, start=evidence.parameters
            )
            evidence.parameters = result.coef
            if result.status in ("stopped", "interrupted"):
                break
            better = _restarted(model, evidence.spreads, scores, result.objective)
            if better is None:
                break
            result, evidence.parameters = better, better.coef
    except KeyboardInterrupt:
        result = minimised(model, 0.5 * model.ridge(evidence.spreads), start=evidence.parameters, max_iter=0)
        status = "stopped" if monitor.stop_requested else "interrupted"
        result = replace(result, status=status, n_iter=monitor.iteration, history=monitor.history)
    return JudgeFit(model, evidence.spreads, result)


def _optimum(model: JudgeModel, ridge: FloatVector, start: FloatVector) -> SolverResult:
    """Return a local minimum that is accurate in units of log likelihood."""
    return fitted(model, 0.5 * ridge, start, tol=DECREASE_TOL / (model.n_votes * model.at_zero))


def _restarted(
    model: JudgeModel, spreads: JudgeSpreads, scores: FloatVector, value: float
) -> SolverResult | None:
    """Return the lowest of the local minima from random slopes, or None if none is below a value."""
    rng, ridge = np.random.default_rng(0), model.ridge(spreads)
    draws = rng.normal(0.0, min(spreads.slopes, 1.0), size=(RESTARTS, model.n_judges))
    found = [_optimum(model, ridge, model.started(scores, logs)) for logs in draws]
    limit = value - SAME / model.n_votes
    better = [one for one in found if one.status == "converged" and one.objective < limit]
    return min(better, key=lambda one: one.objective, default=None)


def warn_of_contrary(names: NDArray[Any], signs: FloatVector) -> None:
    """Warn of judges who vote against the rest."""
    contrary = [str(name) for name in names[signs < 0].tolist()]
    if contrary:
        vote, slope = ("votes", "a negative slope") if len(contrary) == 1 else ("vote", "negative slopes")
        warn_caller(
            f"{plural(len(contrary), 'judge')} {vote} against the rest, with {slope}: "
            f"{listed(contrary, LISTED)}. The majority of judges sets the direction of the ranking."
        )


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
        model = JudgeModel(votes, len(scores), signs, has_orders=False)
        ridge = model.ridge(JudgeSpreads(prior_sd, NO_SPREAD, NO_SPREAD))
        point = model.at(_optimum(model, ridge, model.started(scores)).coef)
        scores = point.parameters[: model.n_items]
        z = _agreement(point, ridge, has_orders=has_orders)
        worst = int(np.argmin(z))
        if z[worst] >= limit:
            break
        signs[worst] *= -1.0
    return (-signs, -scores) if 2 * (signs < 0).sum() > n_judges else (signs, scores)


def _agreement(point: JudgePoint, ridge: FloatVector, *, has_orders: bool) -> FloatVector:
    """Return the z-value of each judge's slope on the scores of the others; 0 for judges with few votes.

    The scores without a judge are one Newton step from those of all.
    """
    model, votes = point.model, point.model.votes
    whole = point.hessian(ridge, exact=False).items
    z = np.zeros(model.n_judges)
    ends = np.searchsorted(votes.judge, np.arange(model.n_judges + 1))
    for judge in np.flatnonzero(np.bincount(votes.judge, votes.total, model.n_judges) >= FEWEST_VOTES):
        part = votes.take(slice(ends[judge], ends[judge + 1]))
        own = JudgeModel(part, model.n_items, model.signs, has_orders=False, n_votes=model.n_votes)
        alone = own.at(point.parameters)
        rest = whole - alone.hessian(np.zeros_like(ridge), exact=False).items
        scores = point.parameters[: model.n_items] + np.linalg.solve(rest, alone.gradient[: model.n_items])
        z[judge] = model.signs[judge] * _score_test(part, scores, has_orders=has_orders)
    return z


def _score_test(votes: JudgeVotes, scores: FloatVector, *, has_orders: bool) -> float:
    """Return the z-value of a slope on given scores; with order effects, beside a constant."""
    apart, mean = scores[votes.first] - scores[votes.second], 0.5
    if has_orders:
        mean = float(votes.won.sum() / votes.total.sum())
        apart = apart - float(votes.total @ apart) / float(votes.total.sum())
    variance = mean * (1.0 - mean) * float(votes.squares @ apart**2)
    return float((votes.won - mean * votes.total) @ apart) / variance**0.5 if variance > 0 else 0.0


class _Evidence:
    """The evidence as a function of the logarithms of the spreads; each call starts at the last optimum.

    The log evidence is Laplace's approximation, -F - sum of log sd - log det(H) / 2 with F the minimum and H
    its Hessian. log sd of scores is standard normal, as for equal judges, and the spreads of log slopes and
    of order effects are half-normal.
    """

    def __init__(
        self, model: JudgeModel, start: FloatVector, prior_sd: float | None, monitor: Monitor
    ) -> None:
        self.model, self.parameters, self._learns_scores = model, start, prior_sd is None
        self.spreads = JudgeSpreads(1.0 if prior_sd is None else prior_sd, 0.5, 0.3)
        self._begin, self._monitor = self.spreads, monitor

    def maximise(self) -> None:
        """Set the spreads that maximize the log evidence plus the log density of their prior."""
        free = [place for place in range(1 + self.model.per_judge) if place or self._learns_scores]
        logs = np.log([self._begin.scores, self._begin.slopes, self._begin.orders])

        def objective(some: FloatVector) -> float:
            logs[free] = some
            return -self.log_posterior(logs)

        found = minimize(
            objective, logs[free], method="L-BFGS-B",
            bounds=[tuple(np.log(BOUNDS[place])) for place in free],
            options={"eps": DIFFERENCE, "ftol": 1e-7, "gtol": 1e-3},
        )  # fmt: skip
        logs[free] = found.x
        self.spreads = JudgeSpreads(*np.exp(logs).tolist())

    def log_posterior(self, logs: FloatVector) -> float:
        """Return the log evidence plus the log prior density; end the search if the callback asks to stop."""
        model, self.spreads = self.model, JudgeSpreads(*np.exp(logs).tolist())
        ridge = model.ridge(self.spreads)
        result = _optimum(model, ridge, self.parameters)
        self.parameters = result.coef
        self._monitor.record(result.objective, result.objective - result.gap, result.coef, result.target_gap)
        if self._monitor.stop_requested:
            raise KeyboardInterrupt
        hessian = model.at(result.coef).hessian(ridge, exact=result.status == "converged")
        log_det = hessian.log_determinant() - float(np.log(ridge).sum())
        value = -model.n_votes * result.objective - 0.5 * log_det
        if self._learns_scores:
            value -= 0.5 * logs[0] ** 2
        return value - 0.5 * float(np.exp(2.0 * logs[1 : 1 + model.per_judge]).sum())
