"""The loss of votes of judges who differ."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.clusters import ClusterCounts
from rankwise.leaderboard.comparisons import Outcomes, laplacian
from rankwise.leaderboard.links.logistic import Logistic
from rankwise.leaderboard.matches import Matches

LINK, NO_SHAPE = Logistic(), np.zeros(0)


@dataclass(frozen=True)
class JudgeVotes:
    """The votes of each judge on each pair of items, in the order in which it saw them.

    Attributes
    ----------
    first, second, judge : int arrays of shape (n_entries,)
        Sorted by judge.
    total, won : arrays of shape (n_entries,)
        Sums of weights: of all votes, and of wins of the first item with ties as half wins. Weights that
        are not counts have a mean of 1 over all votes.
    squares : array of shape (n_entries,)
        The sums of squared weights; `total` if weights are counts.
    """

    first: IntVector
    second: IntVector
    judge: IntVector
    total: FloatVector
    won: FloatVector
    squares: FloatVector

    @classmethod
    def count(cls, matches: Matches) -> JudgeVotes:
        """Count the votes of matches with judges."""
        assert matches.judge is not None
        columns = matches.judge, matches.first, matches.second, matches.result
        if matches.has_counts:
            weight = matches.weight
        else:
            assert matches.weight is not None
            weight = matches.weight / matches.weight.mean()
        counts = ClusterCounts.count(*columns, weight)
        total, won = counts.wins + counts.losses + counts.ties, counts.wins + 0.5 * counts.ties
        squares = total
        if weight is not None and not matches.has_counts:
            squared = ClusterCounts.count(*columns, weight**2)
            squares = squared.wins + squared.losses + squared.ties
        return cls(counts.first, counts.second, counts.cluster, total, won, squares)

    def take(self, part: slice) -> JudgeVotes:
        """Return some of the entries."""
        return JudgeVotes(*(column[part] for column in vars(self).values()))


class JudgeModel:
    """Mean over votes of -log P(outcome), with P(a beats b | judge k) = sigma(beta_k (s_a - s_b) + h_k).

    beta_k = sign_k exp(l_k) is the slope of judge k and h_k its order effect, in favor of the item named
    first. A tie is half a win and half a loss. The parameters are the scores s, then l_k and h_k (if there
    are order effects) judge by judge. The loss is convex in s and in (beta_k, h_k), but not in both.

    Parameters
    ----------
    votes : JudgeVotes
    n_items : int
    signs : array of shape (n_judges,)
        1, or -1 for a judge that votes against the rest.
    has_orders : bool
        Whether judges have order effects.
    n_votes : float, optional
        The number of votes of which the loss is the mean, by default the sum of the weights.
    """

    at_zero = LINK.at_zero

    def __init__(
        self,
        votes: JudgeVotes,
        n_items: int,
        signs: FloatVector,
        *,
        has_orders: bool,
        n_votes: float | None = None,
    ) -> None:
        self.votes, self.first, self.second, self.judge = votes, votes.first, votes.second, votes.judge
        self.n_votes = float(votes.total.sum()) if n_votes is None else n_votes
        zeros = np.zeros(len(votes.total))
        self.outcomes = Outcomes(votes.won, votes.total - votes.won, zeros).scaled(1.0 / self.n_votes)
        self.n_items, self.signs, self.has_orders = n_items, signs, has_orders
        self.n_judges, self.per_judge = len(signs), 1 + has_orders
        self.n_parameters = n_items + self.n_judges * self.per_judge

    def split(self, parameters: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return the scores, the logarithms l of the slopes and the order effects h."""
        judges = parameters[self.n_items :].reshape(self.n_judges, self.per_judge)
        return parameters[: self.n_items], judges[:, 0], judges[:, 1] if self.has_orders else 0.0 * self.signs

    def start(self) -> FloatVector:
        """Return equal scores and judges."""
        return np.zeros(self.n_parameters)

    def started(self, scores: FloatVector, logs: FloatVector | None = None) -> FloatVector:
        """Return parameters with these scores and logarithms of slopes, by default 0."""
        judges = np.zeros((self.n_judges, self.per_judge))
        judges[:, 0] = 0.0 if logs is None else logs
        return np.concatenate([scores, judges.ravel()])

    def normalised(self, parameters: FloatVector) -> FloatVector:
        """Return parameters with log slopes of mean 0 and scores times exp(their mean)."""
        scores, logs, orders = self.split(parameters)
        judges = np.stack([logs - logs.mean(), orders], axis=1)[:, : self.per_judge]
        return np.concatenate([np.exp(logs.mean()) * scores, judges.ravel()])

    def ridge(self, spreads: JudgeSpreads) -> FloatVector:
        """Return the precision of the prior of each parameter, per vote."""
        per_judge = [spreads.slopes, spreads.orders][: self.per_judge]
        sds = np.concatenate([np.full(self.n_items, spreads.scores), np.tile(per_judge, self.n_judges)])
        return sds**-2.0 / self.n_votes

    def at(self, parameters: FloatVector) -> JudgePoint:
        """Return the loss at the parameters, with its derivatives."""
        return JudgePoint(self, parameters)


@dataclass(frozen=True)
class JudgeSpreads:
    """Standard deviations of the normal priors of scores, log slopes and order effects."""

    scores: float
    slopes: float
    orders: float


class JudgePoint:
    """Value, gradient and Hessian at some parameters."""

    is_convex = False

    def __init__(self, model: JudgeModel, parameters: FloatVector) -> None:
        self.model, self.parameters = model, parameters
        scores, logs, orders = model.split(parameters)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is far too long
            self._slope = (model.signs * np.exp(logs))[model.judge]
            self._apart = scores[model.first] - scores[model.second]
            exponent = self._slope * self._apart + orders[model.judge]
            terms = LINK.terms(exponent, NO_SHAPE, model.outcomes)
        self._residual, self._information = terms.by_d, terms.by_dd
        self.value = float(np.sum(terms.value))

    @cached_property
    def gradient(self) -> FloatVector:
        """The derivatives by the parameters."""
        model, by_d = self.model, self._residual * self._slope
        by_scores = np.bincount(model.first, by_d, model.n_items)
        by_scores -= np.bincount(model.second, by_d, model.n_items)
        by_judges = [by_d * self._apart, self._residual][: model.per_judge]
        judges = np.transpose([np.bincount(model.judge, one, model.n_judges) for one in by_judges])
        return np.concatenate([by_scores, judges.ravel()])

    def gap(self, decrement: float) -> float:
        """Return half the decrement: the distance from the local minimum, to second order."""
        return 0.5 * decrement

    def hessian(
        self, ridge: FloatVector, *, exact: bool = True, weight: FloatVector | None = None
    ) -> JudgeHessian:
        """Return the second derivatives, or, if not `exact`, the Fisher information, plus a ridge.

        The information is positive semidefinite everywhere. `weight` multiplies the votes of each entry.
        """
        model, slope, apart = self.model, self._slope, self._apart
        information = self._information if weight is None else weight * self._information
        by_log = slope * apart
        second = self._residual * slope if exact else np.zeros(len(slope))
        cross = [information * slope * by_log + second, information * slope]
        own = [information * by_log**2 + second * apart, information * by_log, information]
        corner = np.array([np.bincount(model.judge, one, model.n_judges) for one in own])
        blocks = corner[[[0, 1], [1, 2]]].transpose(2, 0, 1)[:, : model.per_judge, : model.per_judge]
        return JudgeHessian(
            laplacian(model.n_items, model.first, model.second, information * slope**2),
            self._border(cross[: model.per_judge]),
            blocks,
            ridge,
        )

    def _border(self, by_first: list[FloatVector]) -> sp.csr_array:
        """Return the derivatives by a score and a parameter of a judge, from those by the first score."""
        model, width = self.model, self.model.per_judge
        columns = np.concatenate([model.judge * width + place for place in range(width)])
        rows = [np.tile(items, width) for items in (model.first, model.second)]
        values = np.concatenate(by_first)
        entries = np.concatenate([values, -values]), (np.concatenate(rows), np.tile(columns, 2))
        return sp.csr_array(entries, shape=(model.n_items, model.n_judges * width))


class JudgeHessian:
    """A matrix [[A, B], [B', D]] with a block of D per judge, plus a diagonal.

    Systems are solved by the Schur complement A - B D^-1 B' of the judges: O(n_items^3), and the sum over
    judges of the squared number of items that they voted on. If the scores have no ridge, equal scores
    are in the null space; the solution has then the mean of a target with a mean of 0.
    """

    def __init__(
        self, items: FloatArray, border: sp.csr_array, blocks: FloatArray, ridge: FloatVector
    ) -> None:
        self.n_items, width = len(items), blocks.shape[1]
        own = ridge[self.n_items :].reshape(-1, width)
        self.items = items + np.diag(ridge[: self.n_items])
        self.border, self.blocks = border, blocks + own[:, :, None] * np.eye(width)
        self._shift = 0.0 if ridge[: self.n_items].any() else float(np.diag(items).mean()) / self.n_items

    @property
    def diagonal(self) -> FloatVector:
        """The diagonal of the matrix."""
        own = np.diagonal(self.blocks, axis1=1, axis2=2)
        return np.concatenate([np.diag(self.items), own.ravel()])

    @cached_property
    def _factors(self) -> tuple[sp.csr_array, FloatArray, float]:
        """D^-1, the Cholesky factor of the Schur complement and log det(D).

        A LinAlgError is raised unless the matrix is positive definite.
        """
        log_det = 2.0 * float(np.log(np.diagonal(np.linalg.cholesky(self.blocks), axis1=1, axis2=2)).sum())
        n, width, _ = self.blocks.shape
        inverse = sp.bsr_array(
            (np.linalg.inv(self.blocks), np.arange(n), np.arange(n + 1)), shape=(n * width, n * width)
        ).tocsr()
        complement = self.items - (self.border @ inverse @ self.border.T).toarray()
        return inverse, np.linalg.cholesky(complement + self._shift), log_det

    def solve(self, targets: FloatArray, tol: float = 0.0) -> FloatArray:
        """Return the solution for one target, or for several columns; `tol` is not used."""
        inverse, factor, _ = self._factors
        items, judges = targets[: self.n_items], targets[self.n_items :]
        scores = cho_solve((factor, True), items - self.border @ (inverse @ judges))
        return np.concatenate([scores, inverse @ (judges - self.border.T @ scores)])

    def product(self, columns: FloatArray) -> FloatArray:
        """Return the matrix times columns."""
        items, judges = columns[: self.n_items], columns[self.n_items :]
        n, width, _ = self.blocks.shape
        own = np.einsum("jpq,jqc->jpc", self.blocks, judges.reshape(n, width, -1)).reshape(judges.shape)
        return np.concatenate([self.items @ items + self.border @ judges, self.border.T @ items + own])

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant."""
        _, factor, log_det = self._factors
        return log_det + 2.0 * float(np.log(np.diag(factor)).sum())
