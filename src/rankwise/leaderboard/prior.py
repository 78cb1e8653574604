"""The prior of scores, learned from the matches: empirical Bayes by Laplace's approximation."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from rankwise.core.types import FloatVector
from rankwise.leaderboard.loss import ComparisonHessian, ComparisonLoss
from rankwise.leaderboard.newton import solve_comparisons

# The range of the standard deviation of the prior, and the tolerance of its logarithm.
SMALLEST, LARGEST = 0.03, 30.0
LOG_TOL = 1e-3
# The evidence is an error of second order in the parameters, so they need not be exact.
FIT_TOL = 1e-12
# Probes of a trace, whose relative error is about 1 / sqrt(probes x items), and the tolerance of systems.
N_PROBES, PROBE_TOL = 8, 1e-5
MAX_UPDATES = 50
# The largest change of a parameter in a difference quotient.
DIFFERENCE = 1e-3
# Mean squared difference of scores in matches, relative to that of pairs drawn at random.
CLOSE_PAIRS = 0.6
# The grid of log sd over which a probability is averaged, and the least weight of its points.
GRID, LEAST_WEIGHT = np.linspace(np.log(SMALLEST), np.log(LARGEST), 20), 1e-4
# Fewer items have few other opponents to choose.
FEW_ITEMS = 10


class Prior:
    """The penalties of normal priors: variance v = sd^2 of each item, and fixed penalties of the rest.

    alpha = 1 / (2 W v) for scores, with W the number of votes; `rest` has the alphas of the weights of
    features, the order effect and the tie effect.
    """

    def __init__(self, loss: ComparisonLoss, rest: FloatVector, votes: float) -> None:
        self.loss, self.rest, self.votes = loss, rest, votes
        self._start: FloatVector | None = None

    def penalty(self, log_sd: float) -> FloatVector:
        """Return the alpha of each parameter."""
        alpha = 0.5 * np.exp(-2.0 * log_sd) / self.votes
        return np.concatenate([np.full(self.loss.n_items, alpha), self.rest])

    def fitted(self, log_sd: float) -> tuple[FloatVector, float, ComparisonHessian]:
        """Return the optimum, its objective and its Hessian, from the optimum of the previous call."""
        penalty = self.penalty(log_sd)
        result = solve_comparisons(self.loss, penalty, tol=FIT_TOL, start=self._start)
        if result.status == "interrupted":
            raise KeyboardInterrupt
        self._start = result.coef
        return result.coef, result.objective, self.loss.at(result.coef).hessian(2 * penalty)

    def log_evidence(self, log_sd: float) -> float:
        """Return the log evidence up to a constant, -W J - n log sd - log det(H) / 2, with J the objective.

        This is Laplace's approximation of the marginal likelihood: one warm fit and one factorisation.
        """
        _, objective, hessian = self.fitted(log_sd)
        value = self.votes * objective + self.loss.n_items * log_sd
        return -float(value + 0.5 * hessian.log_determinant())

    def weighted_grid(self) -> list[tuple[float, float]]:
        """Return values of log sd and their posterior probabilities, with a half-normal prior of scale 1.

        One warm fit and one determinant per value.
        """
        logs = np.array([self.log_evidence(log_sd) for log_sd in GRID[::-1]])[::-1]
        logs = logs + GRID - 0.5 * np.exp(2.0 * GRID)
        weights = np.exp(logs - logs.max())
        weights[weights < LEAST_WEIGHT * weights.sum()] = 0.0
        weights /= weights.sum()
        return [
            (float(log_sd), float(weight)) for log_sd, weight in zip(GRID, weights, strict=True) if weight
        ]

    def traces(
        self, log_sd: float, parameters: FloatVector, hessian: ComparisonHessian
    ) -> tuple[float, float]:
        """Return tr(H^-1) over scores, and the derivative of log det(H) by log sd through the parameters p.

        The derivative is tr(H^-1 dH), with dH the change of H along dp = 2 H^-1 s / v, the change of the
        optimum. Both traces are means over random probes z, of z' H^-1 z and z' H^-1 dH z (Hutchinson 1990).
        """
        n, n_more = self.loss.n_items, len(self.rest)
        probes = np.random.default_rng(0).choice([-1.0, 1.0], size=(n + n_more, N_PROBES))
        probes[:n] -= probes[:n].mean(axis=0)
        solved = np.transpose([hessian.solve(probe, PROBE_TOL) for probe in probes.T])
        pull = 4.0 * self.penalty(log_sd) * parameters
        pull[n:] = 0.0
        change = hessian.solve(pull, PROBE_TOL)
        length = DIFFERENCE / max(float(np.abs(change).max()), DIFFERENCE)
        ahead, behind = (
            self.loss.at(parameters + side * length * change).hessian(np.zeros(n + n_more)).product(probes)
            for side in (1.0, -1.0)
        )
        trace = float((probes[:n] * solved[:n]).sum()) / (N_PROBES * self.votes)
        return trace, float((solved * (ahead - behind)).sum()) / (2.0 * length * N_PROBES)


def learned_sd(
    loss: ComparisonLoss, rest: FloatVector, *, votes: float | None = None, dense: bool = True
) -> float:
    """Return the sd of the prior N(0, sd^2) of scores that maximises log evidence - (log sd)^2 / 2.

    The second term is a standard normal prior of log sd, which matters if matches are few. The maximum is
    found by Brent's method, in about 15 warm fits, each with a determinant in O(n_parameters^3); or, if not
    `dense`, by MacKay's fixed point, which needs the trace of an inverse in place of a determinant.

    Parameters
    ----------
    loss : ComparisonLoss
    rest : array
        The penalties of the parameters other than those of items.
    votes : float, optional
        The number of votes, by default the sum of the weights.
    dense : bool

    Examples
    --------
    >>> from rankwise.leaderboard.comparisons import Comparisons
    >>> a, b = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 1, 2, 2, 1])
    >>> loss = ComparisonLoss(Comparisons.count(3, a, b, None, None, ordered=False))
    >>> round(learned_sd(loss, np.zeros(0)), 2)
    0.99
    """
    prior = Prior(loss, rest, loss.total_weight if votes is None else votes)
    return float(np.exp(_brent(prior) if dense else _fixed_point(prior)))


def _brent(prior: Prior) -> float:
    found = minimize_scalar(
        lambda log_sd: 0.5 * log_sd**2 - prior.log_evidence(log_sd),
        bounds=(np.log(SMALLEST), np.log(LARGEST)),
        method="bounded",
        options={"xatol": LOG_TOL},
    )
    return float(found.x)


def _fixed_point(prior: Prior) -> float:
    """Return log sd by MacKay's (1992) fixed point, v = |s|^2 / (n - tr(H^-1) / v + log sd + c / 2).

    n - tr(H^-1) / v is the number of well determined scores, minus their mean. MacKay neglects c, the
    derivative of log det(H) through the scores, without which sd is up to 15% too small. If the denominator
    is small, the update is v = (|s|^2 + tr(H^-1)) / (n + log sd + c / 2), of the EM algorithm.
    """
    log_sd, n = 0.0, prior.loss.n_items - 1
    for _ in range(MAX_UPDATES):
        parameters, _, hessian = prior.fitted(log_sd)
        scores = parameters[: prior.loss.n_items]
        size = float((scores - scores.mean()) @ scores)
        trace, change = prior.traces(log_sd, parameters, hessian)
        known = n - trace * np.exp(-2.0 * log_sd) + log_sd + 0.5 * change
        if known < 0.1 * n:
            size, known = size + trace, max(n + log_sd + 0.5 * change, 0.1 * n)
        updated = 0.5 * np.log(max(size, SMALLEST**2) / known)
        updated = float(np.clip(updated, np.log(SMALLEST), np.log(LARGEST)))
        if abs(updated - log_sd) < LOG_TOL:
            return updated
        log_sd = updated
    return log_sd


def pairs_similar_scores(loss: ComparisonLoss, scores: FloatVector) -> bool:
    """Return whether matches pair items of similar scores, as matchmaking does.

    The mean of (s_a - s_b)^2 over matches is compared with its mean over pairs of different items, drawn at
    random in proportion to their matches. The prior of independent scores is then biased: close matches look
    like small differences of all scores.
    """
    counted = loss.comparisons
    apart = scores[counted.first] - scores[counted.second]
    observed = float(loss.share @ apart**2)
    matches, _ = counted.per_item()
    chance = matches / matches.sum()
    mean = float(chance @ scores)
    expected = 2.0 * float(chance @ (scores - mean) ** 2) / (1.0 - float(chance @ chance))
    return counted.n_items >= FEW_ITEMS and observed < CLOSE_PAIRS * expected
