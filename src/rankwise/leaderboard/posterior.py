"""Draws from the posterior of a leaderboard, for few votes: importance sampling over scores and prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from rankwise.core.types import FloatArray, FloatVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.prior import LARGEST, SMALLEST, Prior

# The grid of log sd, and the share of draws that are spread evenly over its plausible part.
GRID = np.linspace(np.log(SMALLEST), np.log(LARGEST), 30)
SPREAD, PLAUSIBLE = 0.1, 1e-4
# Degrees of freedom and scale of the half-t prior of sd.
PRIOR_FREEDOM, PRIOR_SCALE = 4.0, 2.5
# Draws come in batches until their effective number is sufficient.
BATCH, ENOUGH, MOST = 4000, 1000, 40_000
FEW = 100


@dataclass(frozen=True)
class PosteriorSample:
    """Draws from the posterior with their weights.

    Attributes
    ----------
    parameters : array of shape (n_draws, n_parameters)
    weight : array of shape (n_draws,)
        They sum to 1.
    """

    parameters: FloatArray
    weight: FloatVector

    @property
    def effective_size(self) -> float:
        """The number of equally weighted draws with the same variance of a mean: 1 / sum of weight^2."""
        return float(1.0 / (self.weight @ self.weight))

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean of each column of values, one row per draw."""
        return np.asarray(self.weight @ values)

    def interval(self, values: FloatArray, confidence: float) -> tuple[FloatVector, FloatVector]:
        """Return the ends of the central interval of each column of values, one row per draw."""
        order = np.argsort(values, axis=0)
        below = np.cumsum(self.weight[order], axis=0)
        tail = 0.5 * (1.0 - confidence)
        columns = np.arange(values.shape[1])
        ends = []
        for share in (tail, 1.0 - tail):
            place = np.minimum((below < share).sum(axis=0), len(values) - 1)
            ends.append(values[order[place, columns], columns])
        return ends[0], ends[1]


def sampled_posterior(prior: Prior, log_sd: float | None, seed: int = 0) -> PosteriorSample:
    """Draw parameters from the posterior, and the sd of the prior of scores unless it is given.

    The sd has a half-t prior on a grid. Draws are from Student's t distributions around the optimum of each
    sd, with the inverse Hessian as their scale, and have importance weights: the posterior relative to the
    density of the draw. They are exact up to the error of sampling, unlike a normal approximation, which has
    no skewness. With more votes the approximation is as good, and with many items weights are uneven.

    Parameters
    ----------
    prior : Prior
    log_sd : float, optional
    seed : int

    Examples
    --------
    >>> from rankwise.leaderboard.comparisons import Comparisons
    >>> from rankwise.leaderboard.links import Logistic
    >>> from rankwise.leaderboard.pair_model import PairModel
    >>> a, b = np.array([0, 0, 0, 1]), np.array([1, 1, 1, 0])
    >>> model = PairModel(Comparisons.count(2, a, b, None, None, ordered=False), Logistic())
    >>> sample = sampled_posterior(Prior(model, np.zeros(0), 4.0), None)
    >>> difference = sample.parameters @ [[1.0], [-1.0]]
    >>> low, high = sample.interval(difference, 0.95)
    >>> bool(low[0] < 0 < high[0])
    True
    """
    proposals = _Proposals(prior, GRID if log_sd is None else np.array([log_sd]))
    rng = np.random.default_rng(seed)
    parameters, logs = proposals.drawn(rng, BATCH)
    while True:
        weight = np.exp(logs - logs.max())
        sample = PosteriorSample(parameters, weight / weight.sum())
        if sample.effective_size >= ENOUGH or len(logs) >= MOST:
            break
        more = proposals.drawn(rng, BATCH)
        parameters, logs = np.concatenate([parameters, more[0]]), np.concatenate([logs, more[1]])
    if sample.effective_size < FEW:
        warn_caller(
            f"{len(logs):,} draws from the posterior are worth {sample.effective_size:.0f} independent ones; "
            "intervals='debiased' does not sample."
        )
    return sample


class _Proposals:
    """The optimum, the precision and the share of draws of each sd of a grid."""

    def __init__(self, prior: Prior, grid: FloatVector) -> None:
        self._prior, self._grid, n = prior, grid, prior.model.n_parameters
        self._freedom = max(5.0, float(n))
        self._modes, self._factors = np.empty((len(grid), n)), np.empty((len(grid), n, n))
        evidence = np.empty(len(grid))
        for k in reversed(range(len(grid))):  # from a weak prior to a strong one, each from the last optimum
            self._modes[k], objective, hessian = prior.fitted(float(grid[k]))
            self._factors[k] = np.linalg.cholesky(prior.votes * hessian.product(np.eye(n)))
            log_det = np.log(np.diag(self._factors[k])).sum()
            evidence[k] = -prior.votes * objective - prior.model.n_items * grid[k] - log_det
        self._log_prior = _log_half_t(grid)
        share = np.exp(evidence + self._log_prior - (evidence + self._log_prior).max())
        plausible = share > PLAUSIBLE
        self._share = (1.0 - SPREAD) * share / share.sum() + SPREAD * plausible / plausible.sum()

    def drawn(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatVector]:
        """Return draws of the parameters, and the logarithms of their weights up to a constant."""
        prior, n, freedom = self._prior, self._modes.shape[1], self._freedom
        which = rng.choice(len(self._grid), size, p=self._share)
        normal = rng.normal(size=(size, n))
        scale = rng.chisquare(freedom, size) / freedom
        parameters, logs = np.empty((size, n)), np.empty(size)
        for k in np.unique(which):
            own = np.flatnonzero(which == k)
            factor, penalty = self._factors[k], prior.penalty(float(self._grid[k]))
            steps = solve_triangular(factor, (normal[own] / np.sqrt(scale[own, None])).T, lower=True, trans=1)
            parameters[own] = self._modes[k] + steps.T
            values = np.array([prior.model.at(one).value for one in parameters[own]])
            values += parameters[own] ** 2 @ penalty
            logs[own] = (
                self._log_prior[k] - prior.votes * values - prior.model.n_items * self._grid[k]
                - np.log(self._share[k]) - np.log(np.diag(factor)).sum()
            )  # fmt: skip
        distance = (normal**2).sum(axis=1) / scale
        return parameters, logs + 0.5 * (freedom + n) * np.log1p(distance / freedom)


def _log_half_t(log_sd: FloatVector) -> FloatVector:
    """Return the logarithm of the half-t density of sd, as a density of log sd, up to a constant."""
    squares = np.exp(2.0 * log_sd) / (PRIOR_FREEDOM * PRIOR_SCALE**2)
    return log_sd - 0.5 * (PRIOR_FREEDOM + 1.0) * np.log1p(squares)
