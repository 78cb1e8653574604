"""Covariances of scores, slopes and order effects if judges differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.judge_model import JudgeModel, JudgePoint, JudgeSpreads, JudgeVotes
from rankwise.leaderboard.table import critical_value
from rankwise.leaderboard.uncertainty import TOL, Uncertainty

# The smallest information of a direction of a judge's parameters, which its votes may leave at 0.
LEAST_INFORMATION = 1e-6
# Judges whose variances are computed at once.
BLOCK_JUDGES = 256


class JudgeState(NamedTuple):
    """The results of a fit of judges, as a model stores them.

    Attributes
    ----------
    votes : tuple of arrays
        The columns of `JudgeVotes`.
    signs : array of shape (n_judges,)
    spreads : array of shape (3,)
        The standard deviations of the priors of scores, log slopes and order effects.
    parameters : array of shape (n_parameters,)
        As in `JudgeModel`, before the mean of the log slopes is set to 0.
    """

    votes: tuple[Any, ...]
    signs: FloatVector
    spreads: FloatVector
    parameters: FloatVector

    def model(self, n_items: int) -> JudgeModel:
        """Return the model of the votes."""
        has_orders = len(self.parameters) == n_items + 2 * len(self.signs)
        return JudgeModel(JudgeVotes(*self.votes), n_items, self.signs, has_orders=has_orders)

    def is_valid(self, scores: FloatVector) -> bool:
        """Return whether the arrays, which may come from a file, are those of a fit with these scores."""
        n_items, n_judges = len(scores), len(self.signs)
        first, second, judge, total, won, squares = self.votes
        numbers, weights = np.array([first, second, judge]), np.array([total, won, squares])
        if numbers.dtype.kind != "i" or weights.dtype != np.float64 or not numbers.size:
            return False
        is_valid = numbers.min() >= 0 and max(first.max(), second.max()) < n_items and judge.max() < n_judges
        is_valid &= (first != second).all() and (np.diff(judge) >= 0).all() and np.isfinite(weights).all()
        is_valid &= min(total.min(), squares.min()) > 0 and won.min() >= 0 and (won <= total).all()
        is_valid &= (np.abs(self.signs) == 1).all() and len(self.spreads) == 3 and (self.spreads > 0).all()
        is_valid &= len(self.parameters) - n_items in (n_judges, 2 * n_judges)
        is_valid &= np.isfinite(self.parameters).all() and np.isfinite(self.spreads).all()
        if not is_valid:
            return False
        model = self.model(n_items)
        found = model.split(model.normalised(self.parameters))[0]
        return bool(np.allclose(scores, found - found.mean(), atol=1e-6 * (1.0 + np.abs(scores).max())))


class JudgeInterval(NamedTuple):
    """The standard error and the interval of a slope or an order effect."""

    standard_error: float
    low: float
    high: float


class JudgeUncertainty(Uncertainty):
    """The sampling covariance of scores and judges, H^-1 M H^-1, with log slopes of mean 0.

    The votes do not determine a common factor of scores and slopes. So the log slopes have a mean of 0, which
    restricts H^-1, and scores are multiplied by exp(mean log slope). If `debias`, the center is one Newton
    step without the prior of scores from the optimum, and H is the Fisher information there plus the
    precision of the priors of judges. Otherwise H is the exact Hessian at the optimum, and the variances of
    products are by the delta method. M is H, or for weights that are not counts the sum of w^2 times the
    information of a vote, plus the precision.
    """

    def __init__(self, n_items: int, state: JudgeState, *, debias: bool) -> None:
        self.n_items, self._debias = n_items, debias
        self.judges = model = state.model(n_items)
        self.votes = model.n_votes
        ridge, parameters = model.ridge(JudgeSpreads(*state.spreads)), state.parameters
        if debias:
            ridge = np.where(np.arange(len(ridge)) < n_items, 0.0, ridge)
            parameters = model.normalised(parameters)
            self._set_point(model.at(parameters), ridge)
            gradient = self._at.gradient + ridge * parameters
            parameters = parameters - self.votes * self.solved(gradient[:, None])[:, 0]
        self._set_point(model.at(parameters), ridge)
        logs = model.split(parameters)[1]
        self._factor = float(np.exp(logs.mean()))
        scores, self.logs, self.orders = model.split(model.normalised(parameters))
        self.centre = scores - scores.mean()

    def _set_point(self, at: JudgePoint, ridge: FloatVector) -> None:
        self._at, self.ridge = at, ridge
        self.hessian = at.hessian(ridge, exact=not self._debias)
        if self._debias:
            mean = self._columns(np.arange(self.judges.n_judges), 0).sum(axis=1, keepdims=True)
            self._mean = self.hessian.solve(mean)
            self._mean_variance = float(mean[:, 0] @ self._mean[:, 0])

    def solved(self, columns: FloatArray, tol: float = TOL) -> FloatArray:
        """Return H^-1 times columns of parameters; if debiased, with a sum of log slopes of 0."""
        solved = self.hessian.solve(columns)
        if self._debias:
            solved = solved - self._mean @ (self._mean.T @ columns) / self._mean_variance
        return solved / self.votes

    def meat_product(self, columns: FloatArray) -> FloatArray | None:
        """Return M times columns, or None if M is H."""
        votes = self.judges.votes
        if (votes.squares == votes.total).all():
            return None
        meat = self._at.hessian(self.ridge, exact=False, weight=votes.squares / votes.total)
        return self.votes * meat.product(columns)

    def contrasts(self, targets: FloatArray) -> FloatArray:
        """Return contrasts of scores as contrasts of parameters: the derivatives of exp(mean l) s."""
        targets = targets - targets.mean(axis=0)
        per_judge = np.zeros((self.judges.n_judges, self.judges.per_judge, targets.shape[1]))
        per_judge[:, 0] = self.centre @ targets / self.judges.n_judges
        return np.concatenate([self._factor * targets, per_judge.reshape(-1, targets.shape[1])])

    def covariance(self) -> FloatArray:
        """Return the covariance of the scores, O(n_items^3)."""
        columns = self.contrasts(np.eye(self.n_items))
        solved = self.solved(columns)
        product = self.meat_product(solved)
        return columns.T @ solved if product is None else solved.T @ product

    def judge_intervals(self, confidence: float) -> list[list[JudgeInterval]]:
        """Return per judge the intervals of its slope and, if there are order effects, of h_k.

        If debiased, they are centered one Newton step without the prior of the judge from its estimates, and
        may include slopes below 0. Otherwise they are those of the posterior of log beta_k and h_k.
        """
        places = np.arange(self.judges.n_judges)
        blocks = [places[k : k + BLOCK_JUDGES] for k in range(0, len(places), BLOCK_JUDGES)]
        inverse, covariance = (np.concatenate(parts) for parts in zip(*map(self._own, blocks), strict=True))
        centre = np.stack([self.logs, self.orders], axis=1)[:, : self.judges.per_judge]
        if self._debias:
            centre, covariance = self._without_prior(centre, inverse, covariance)
        errors = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0))
        z, slopes = critical_value(confidence), self.judges.signs * np.exp(self.logs)
        ends = np.stack([centre - z * errors, centre + z * errors])
        if self._debias:
            ends[:, :, 0] = slopes * (1.0 + ends[:, :, 0] - self.logs)
        else:
            ends[:, :, 0] = self.judges.signs * np.exp(ends[:, :, 0])
        errors[:, 0] *= np.abs(slopes)
        low, high = np.sort(ends, axis=0)
        return [
            [JudgeInterval(*map(float, one)) for one in zip(*judge, strict=True)]
            for judge in zip(errors, low, high, strict=True)
        ]

    def _own(self, judges: IntVector) -> tuple[FloatArray, FloatArray]:
        """Return the blocks of H^-1 and of the covariance of some judges."""
        width = self.judges.per_judge
        columns = [self._columns(judges, kind) for kind in range(width)]
        solved = [self.solved(one) for one in columns]
        inverse = _products(columns, solved)
        products = [self.meat_product(one) for one in solved]
        return inverse, inverse if products[0] is None else _products(solved, products)

    def _without_prior(
        self, centre: FloatArray, inverse: FloatArray, covariance: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Remove the prior of each judge from its own estimates and covariance.

        With C the block of H^-1 and P the precision of the prior, the information is C^-1 - P and the step is
        (C^-1 - P)^-1 P x. The part P of M is removed, too.
        """
        width = self.judges.per_judge
        prior = np.diag(self.votes * self.ridge[self.n_items :][:width])
        information = np.linalg.inv(inverse) - prior
        values, vectors = np.linalg.eigh(information)
        bread = (vectors / np.maximum(values, LEAST_INFORMATION)[:, None]) @ vectors.transpose(0, 2, 1)
        score = np.linalg.inv(inverse) @ covariance @ np.linalg.inv(inverse) - prior
        moved = centre + (bread @ (prior @ centre[:, :, None]))[:, :, 0]
        return moved, bread @ score @ bread

    def _columns(self, judges: IntVector, kind: int) -> FloatArray:
        """Return the contrasts of the log slopes (kind 0) or of the order effects of some judges."""
        model = self.judges
        columns = np.zeros((model.n_judges, model.per_judge, len(judges)))
        columns[judges, kind, np.arange(len(judges))] = 1.0
        if kind == 0 and not self._debias:
            columns[:, 0] -= 1.0 / model.n_judges
        flat = columns.reshape(-1, len(judges))
        return np.concatenate([np.zeros((model.n_items, len(judges))), flat])


def _products(left: Sequence[Any], right: Sequence[Any]) -> FloatArray:
    """Return per column the matrix of inner products of one list of arrays with another."""
    return np.array([[(a * b).sum(axis=0) for b in right] for a in left]).T
