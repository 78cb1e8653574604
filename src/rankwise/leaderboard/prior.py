"""The prior of scores, learned from the matches: empirical Bayes by Laplace's approximation."""

from __future__ import annotations

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.leaderboard.newton import fitted
from rankwise.leaderboard.pair_model import PairHessian, PairModel

# The range of the standard deviation of the prior, and the tolerance of its logarithm.
SMALLEST, LARGEST = 0.03, 30.0
LOG_TOL = 1e-3
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

    def __init__(self, model: PairModel, rest: FloatVector, votes: float) -> None:
        self.model, self.rest, self.votes = model, rest, votes
        self._start = model.start()

    def penalty(self, log_sd: float) -> FloatVector:
        """Return the alpha of each parameter."""
        alpha = 0.5 * np.exp(-2.0 * log_sd) / self.votes
        return np.concatenate([np.full(self.model.n_items, alpha), self.rest])

    def fitted(self, log_sd: float) -> tuple[FloatVector, float, PairHessian]:
        """Return the optimum, its objective and its Hessian, from the optimum of the previous call."""
        penalty = self.penalty(log_sd)
        result = fitted(self.model, penalty, self._start)
        self._start = result.coef
        return result.coef, result.objective, self.model.at(result.coef).hessian(2 * penalty)

    def log_evidence(self, log_sd: float) -> float:
        """Return the log evidence up to a constant, -W J - n log sd - log det(H) / 2, with J the objective.

        This is Laplace's approximation of the marginal likelihood: one warm fit and one factorization.
        """
        _, objective, hessian = self.fitted(log_sd)
        value = self.votes * objective + self.model.n_items * log_sd
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

    def slope(self, log_sd: float, *, dense: bool) -> float:
        """Return the derivative of (log sd)^2 / 2 - log evidence by log sd, with a warm fit.

        It is n - 1 - |s|^2 / v - tr(H^-1) / v + c / 2 + log sd, with the trace over centered scores. The
        number n - 1 - tr(H^-1) / v is that of well determined scores (MacKay 1992), who neglects c, the
        derivative of log det(H) through the optimum, without which sd is up to 15% too small.
        """
        parameters, _, hessian = self.fitted(log_sd)
        n, variance = self.model.n_items, np.exp(2.0 * log_sd)
        scores = parameters[:n] - parameters[:n].mean()
        trace, change = self._traces(log_sd, parameters, hessian, dense=dense)
        return n - 1.0 - (float(scores @ scores) + trace) / variance + 0.5 * change + log_sd

    def _traces(
        self, log_sd: float, parameters: FloatVector, hessian: PairHessian, *, dense: bool
    ) -> tuple[float, float]:
        """Return tr(H^-1) over scores, and the derivative of log det(H) by log sd through the parameters p.

        The derivative is tr(H^-1 dH), with dH the change of H along dp = 2 H^-1 s / v, the change of the
        optimum. If not `dense`, both traces are means over random probes z, of z' H^-1 z and z' H^-1 dH z
        (Hutchinson 1990).
        """
        n, size = self.model.n_items, self.model.n_parameters
        pull = 4.0 * self.penalty(log_sd) * parameters
        pull[n:] = 0.0
        if dense:
            probes, n_probes = np.eye(size), 1
            solved = hessian.inverse(np.inf)
            change = solved @ pull
        else:
            probes, n_probes = np.random.default_rng(0).choice([-1.0, 1.0], size=(size, N_PROBES)), N_PROBES
            probes[:n] -= probes[:n].mean(axis=0)
            solved = np.transpose([hessian.solve(probe, PROBE_TOL) for probe in probes.T])
            change = hessian.solve(pull, PROBE_TOL)
        length = DIFFERENCE / max(float(np.abs(change).max()), DIFFERENCE)
        moved = [
            self.model.at(parameters + side * length * change).hessian(np.zeros(size)) for side in (1.0, -1.0)
        ]
        ahead, behind = (one.dense() if dense else one.product(probes) for one in moved)
        trace = float((probes[:n] * solved[:n]).sum()) / (n_probes * self.votes)
        return trace, float((solved * (ahead - behind)).sum()) / (2.0 * length * n_probes)


def learned_sd(
    model: PairModel, rest: FloatVector, *, votes: float | None = None, dense: bool = True
) -> float:
    """Return the sd of the prior N(0, sd^2) of scores that maximizes log evidence - (log sd)^2 / 2.

    The second term is a standard normal prior of log sd, which matters if matches are few. The maximum is
    the root of the derivative, found by the secant method within a bracket, in about 5 warm fits. Each takes
    an inverse in O(n_parameters^3), or, if not `dense`, systems of random probes.

    Parameters
    ----------
    model : PairModel
    rest : array
        The penalties of the parameters other than those of items.
    votes : float, optional
        The number of votes, by default the sum of the weights.
    dense : bool

    Examples
    --------
    >>> from rankwise.leaderboard.comparisons import Comparisons
    >>> from rankwise.leaderboard.links import Logistic
    >>> a, b = np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 1, 2, 2, 1])
    >>> model = PairModel(Comparisons.count(3, a, b, None, None, ordered=False), Logistic())
    >>> round(learned_sd(model, np.zeros(0)), 2)
    0.99
    """
    prior = Prior(model, rest, model.total_weight if votes is None else votes)
    low, high = np.log(SMALLEST), np.log(LARGEST)
    before, log_sd = 0.0, 0.0
    slope_before = slope = prior.slope(0.0, dense=dense)
    for _ in range(MAX_UPDATES):
        low, high = (log_sd, high) if slope < 0 else (low, log_sd)
        # At first a step by the curvature of the evidence of well determined scores.
        bend = (slope - slope_before) / (log_sd - before) if log_sd != before else 2.0 * model.n_items
        step = -slope / bend if bend > 0 else np.inf
        updated = log_sd + float(np.clip(step, -1.0, 1.0))
        if not low < updated < high:
            updated = 0.5 * (low + high)
        if abs(updated - log_sd) < LOG_TOL:
            return float(np.exp(updated))
        before, log_sd, slope_before = log_sd, updated, slope
        slope = prior.slope(log_sd, dense=dense)
    return float(np.exp(log_sd))


def pairs_similar_scores(model: PairModel, scores: FloatVector) -> bool:
    """Return whether matches pair items of similar scores, as matchmaking does.

    The mean of (s_a - s_b)^2 over matches is compared with its mean over pairs of different items, drawn at
    random in proportion to their matches. The prior of independent scores is then biased: close matches look
    like small differences of all scores.
    """
    counted = model.comparisons
    apart = scores[counted.first] - scores[counted.second]
    observed = float(model.outcomes.total @ apart**2)
    matches, _ = counted.per_item()
    chance = matches / matches.sum()
    mean = float(chance @ scores)
    expected = 2.0 * float(chance @ (scores - mean) ** 2) / (1.0 - float(chance @ chance))
    return counted.n_items >= FEW_ITEMS and observed < CLOSE_PAIRS * expected
