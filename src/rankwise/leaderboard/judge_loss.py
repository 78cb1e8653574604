"""The loss of votes of judges who differ, and a local minimum of it by Newton's method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve
from scipy.special import expit

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.clusters import ClusterCounts
from rankwise.leaderboard.matches import Matches
from rankwise.solvers.result import Monitor

# A Newton step stops the method if it predicts a decrease below this, in units of log likelihood.
DECREASE_TOL = 1e-10
# The smallest length of a step, relative to Newton's.
SHORTEST = 1e-8


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


class JudgeLoss:
    """Sum over votes of -log P(outcome), with P(a beats b | judge k) = sigma(beta_k (s_a - s_b) + h_k).

    beta_k = sign_k exp(l_k) is the slope of judge k and h_k its order effect, in favour of the item named
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
    """

    def __init__(self, votes: JudgeVotes, n_items: int, signs: FloatVector, *, has_orders: bool) -> None:
        self.votes, self.first, self.second, self.judge = votes, votes.first, votes.second, votes.judge
        self.total, self.won = votes.total, votes.won
        self.n_items, self.signs, self.has_orders = n_items, signs, has_orders
        self.n_judges, self.per_judge = len(signs), 1 + has_orders
        self.n_parameters = n_items + self.n_judges * self.per_judge

    def split(self, parameters: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return the scores, the logarithms l of the slopes and the order effects h."""
        judges = parameters[self.n_items :].reshape(self.n_judges, self.per_judge)
        return parameters[: self.n_items], judges[:, 0], judges[:, 1] if self.has_orders else 0.0 * self.signs

    def start(self, scores: FloatVector, logs: FloatVector | None = None) -> FloatVector:
        """Return parameters with these scores and logarithms of slopes, by default 0."""
        judges = np.zeros((self.n_judges, self.per_judge))
        judges[:, 0] = 0.0 if logs is None else logs
        return np.concatenate([scores, judges.ravel()])

    def normalised(self, parameters: FloatVector) -> FloatVector:
        """Return parameters with log slopes of mean 0 and scores times exp(their mean)."""
        scores, logs, orders = self.split(parameters)
        judges = np.stack([logs - logs.mean(), orders], axis=1)[:, : self.per_judge]
        return np.concatenate([np.exp(logs.mean()) * scores, judges.ravel()])

    def precision(self, spreads: JudgeSpreads) -> FloatVector:
        """Return the precision of the prior of each parameter."""
        per_judge = [spreads.slopes, spreads.orders][: self.per_judge]
        sds = np.concatenate([np.full(self.n_items, spreads.scores), np.tile(per_judge, self.n_judges)])
        return sds**-2.0

    def at(self, parameters: FloatVector, precision: FloatVector) -> JudgePoint:
        """Return the loss plus half the sum of precision times parameters^2, with its derivatives."""
        return JudgePoint(self, parameters, precision)


@dataclass(frozen=True)
class JudgeSpreads:
    """Standard deviations of the normal priors of scores, log slopes and order effects."""

    scores: float
    slopes: float
    orders: float


class JudgePoint:
    """Value, gradient and Hessian at some parameters."""

    def __init__(self, loss: JudgeLoss, parameters: FloatVector, precision: FloatVector) -> None:
        self.loss, self.parameters, self.precision = loss, parameters, precision
        scores, logs, orders = loss.split(parameters)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is far too long
            self._slope = (loss.signs * np.exp(logs))[loss.judge]
            self._apart = scores[loss.first] - scores[loss.second]
            exponent = self._slope * self._apart + orders[loss.judge]
            p = expit(exponent)
            self._residual, self._information = loss.total * p - loss.won, loss.total * p * (1.0 - p)
            penalty = 0.5 * float(precision @ parameters**2)
            self.value = float(loss.total @ np.logaddexp(0.0, exponent) - loss.won @ exponent) + penalty

    @cached_property
    def gradient(self) -> FloatVector:
        """The derivatives by the parameters."""
        loss, by_d = self.loss, self._residual * self._slope
        by_scores = np.bincount(loss.first, by_d, loss.n_items) - np.bincount(loss.second, by_d, loss.n_items)
        by_judges = [by_d * self._apart, self._residual][: loss.per_judge]
        judges = np.transpose([np.bincount(loss.judge, one, loss.n_judges) for one in by_judges])
        return np.concatenate([by_scores, judges.ravel()]) + self.precision * self.parameters

    def hessian(self, *, exact: bool, weight: FloatVector | None = None) -> JudgeHessian:
        """Return the second derivatives, or, if not `exact`, the Fisher information plus the precision.

        The information is positive semidefinite everywhere. `weight` multiplies the votes of each entry.
        """
        loss, slope, apart = self.loss, self._slope, self._apart
        information = self._information if weight is None else weight * self._information
        by_log = slope * apart
        second = self._residual * slope if exact else np.zeros(len(slope))
        cross = [information * slope * by_log + second, information * slope]
        own = [information * by_log**2 + second * apart, information * by_log, information]
        corner = np.array([np.bincount(loss.judge, one, loss.n_judges) for one in own])
        blocks = corner[[[0, 1], [1, 2]]].transpose(2, 0, 1)[:, : loss.per_judge, : loss.per_judge]
        return JudgeHessian(
            laplacian(loss.n_items, loss.first, loss.second, information * slope**2),
            self._border(cross[: loss.per_judge]),
            blocks,
            self.precision,
        )

    def _border(self, by_first: list[FloatVector]) -> sp.csr_array:
        """Return the derivatives by a score and a parameter of a judge, from those by the first score."""
        loss, width = self.loss, self.loss.per_judge
        columns = np.concatenate([loss.judge * width + place for place in range(width)])
        rows = [np.tile(items, width) for items in (loss.first, loss.second)]
        values = np.concatenate(by_first)
        entries = np.concatenate([values, -values]), (np.concatenate(rows), np.tile(columns, 2))
        return sp.csr_array(entries, shape=(loss.n_items, loss.n_judges * width))


class JudgeHessian:
    """A matrix [[A, B], [B', D]] with a block of D per judge, plus a diagonal of precisions.

    Systems are solved by the Schur complement A - B D^-1 B' of the judges: O(n_items^3), and the sum over
    judges of the squared number of items that they voted on. If the scores have no precision, equal scores
    are in the null space; the solution has then the mean of a target with a mean of 0.
    """

    def __init__(
        self, items: FloatArray, border: sp.csr_array, blocks: FloatArray, precision: FloatVector
    ) -> None:
        self.n_items, width = len(items), blocks.shape[1]
        own = precision[self.n_items :].reshape(-1, width)
        self.items = items + np.diag(precision[: self.n_items])
        self.border, self.blocks = border, blocks + own[:, :, None] * np.eye(width)
        self._shift = 0.0 if precision[: self.n_items].any() else float(np.diag(items).mean()) / self.n_items

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

    def solve(self, targets: FloatArray) -> FloatArray:
        """Return the solution for one target, or for several columns."""
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


def laplacian(n_items: int, first: IntVector, second: IntVector, weight: FloatVector) -> FloatArray:
    """Return the sum over entries of weight times (e_first - e_second)(e_first - e_second)'."""
    counts = np.bincount(first * n_items + second, weight, n_items**2).astype(np.float64)
    matrix = counts.reshape(n_items, n_items)
    matrix = -(matrix + matrix.T)
    return matrix - np.diag(matrix.sum(axis=1))


@dataclass(frozen=True)
class LocalMinimum:
    """A point at which Newton's method stopped.

    Attributes
    ----------
    point : JudgePoint
    n_iter : int
    decrease : float
        Half the Newton decrement: the distance of the value from that of the minimum, to second order.
    is_certified : bool
        Whether the exact Hessian has a Cholesky factor and the decrease is below its tolerance, so the
        point is a local minimum up to rounding.
    """

    point: JudgePoint
    n_iter: int
    decrease: float
    is_certified: bool


def local_minimum(
    loss: JudgeLoss,
    precision: FloatVector,
    start: FloatVector,
    *,
    max_iter: int = 100,
    tol: float = 0.0,
    progress: Progress | None = None,
) -> LocalMinimum:
    """Minimise over scores and judges together from a start, by Newton steps with backtracking.

    If the exact Hessian is not positive definite, the step uses the Fisher information in its place. The
    method stops at a decrease of `tol`, but not below what rounding permits.
    """
    point, enough = loss.at(start, precision), max(tol, DECREASE_TOL)
    for n_iter in range(max_iter + 1):
        step, is_exact = _newton_step(point)
        slope = float(point.gradient @ step)
        is_done = is_exact and -slope < 2 * enough
        is_last = is_done or n_iter == max_iter
        if progress is not None:
            is_last = progress.record(point, -0.5 * slope, enough) or is_last
        moved = None if is_last else _moved(point, step, slope)
        if moved is None:
            break
        point = moved
    return LocalMinimum(point, n_iter, -0.5 * slope, is_done)


@dataclass(frozen=True)
class Progress:
    """Reports points of a fit to a monitor, with objectives per vote."""

    monitor: Monitor
    votes: float

    def record(self, point: JudgePoint, decrease: float, enough: float) -> bool:
        """Record a point; return whether the callback asks to stop."""
        value = point.value / self.votes
        self.monitor.record(value, value - decrease / self.votes, point.parameters, enough / self.votes)
        return self.monitor.stop_requested


def _newton_step(point: JudgePoint) -> tuple[FloatVector, bool]:
    try:
        return -point.hessian(exact=True).solve(point.gradient), True
    except np.linalg.LinAlgError:
        return -point.hessian(exact=False).solve(point.gradient), False


def _moved(point: JudgePoint, step: FloatVector, slope: float) -> JudgePoint | None:
    """Return the point after a step that decreases the value enough, or None if rounding hides it."""
    rounding = 1e-14 * max(1.0, abs(point.value))
    length = 1.0
    while length > SHORTEST:
        moved = point.loss.at(point.parameters + length * step, point.precision)
        if moved.value <= point.value + 1e-4 * length * slope + rounding:
            return moved
        length /= 2
    return None
