"""Covariances and intervals of the parameters of a leaderboard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import norm, t

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.clusters import ClusterCounts, ClusterScores
from rankwise.leaderboard.comparisons import Outcomes
from rankwise.leaderboard.firth import Profiles
from rankwise.leaderboard.pair_model import PairModel

# Residuals of systems relative to their targets; the relative error of a variance is about the square.
TOL, BLOCK_TOL = 1e-10, 1e-5
# The least variance of a direction in draws, relative to the mean variance of a score.
RIDGE = 1e-9


class SingularCovarianceError(ValueError):
    """The matches, and the prior if any, do not determine the parameters."""


class Uncertainty:
    """The sampling covariance H^-1 M H^-1 of parameters, in units of votes.

    H is the information plus the precision of the prior, if `ridge` is positive. M is H if votes are
    independent and weights are counts, so the covariance is H^-1. Otherwise M is the covariance of the
    score, plus the precision of the prior: the sum of w^2 times the information of a vote for other weights,
    or the sum of squared scores of clusters.

    Parameters
    ----------
    model : PairModel
    parameters : array of shape (n_parameters,)
        The center of the intervals.
    ridge : array of shape (n_parameters,)
        Twice the penalties, or zeros.
    votes : float
        The number of votes of which the loss is the mean.
    squares : Outcomes, optional
        Squared weights that are not counts, of each entry.
    """

    # With profiles, scores are relative to their reference, and some intervals are not of the Wald type.
    profiles: Profiles | None = None
    _squares: Outcomes | None = None

    def __init__(
        self,
        model: PairModel,
        parameters: FloatVector,
        ridge: FloatVector,
        votes: float,
        squares: Outcomes | None = None,
    ) -> None:
        self.model, self.n_items = model, model.n_items
        self.parameters, self.ridge, self.votes = parameters, ridge, votes
        self.n_units = votes  # that are independent
        self.hessian: Any = model.at(parameters).hessian(ridge)
        self._squares = squares
        self.centre = self.relative(model.scores(parameters))

    def set_profiles(self, profiles: Profiles) -> None:
        """Bound the intervals of items with few votes by profiles."""
        self.profiles = profiles
        self.centre = self.relative(self.centre)

    def relative(self, scores: FloatArray) -> FloatArray:
        """Return scores, or columns of scores, minus the mean of all, or that of the reference."""
        return scores - (scores if self.profiles is None else scores[self.profiles.reference]).mean(axis=0)

    def solved(self, columns: FloatArray, tol: float = TOL) -> FloatArray:
        """Return H^-1 times columns of parameters; columns of scores sum to 0."""
        return self.hessian.solve_columns(columns, tol) / self.votes

    def meat_product(self, columns: FloatArray) -> FloatArray | None:
        """Return M times columns, or None if M is H."""
        if self._squares is None:
            return None
        squared = self._squares.total.sum() * self._squared.product(columns)
        return squared + self.votes * self.ridge[:, None] * columns

    @cached_property
    def _squared(self) -> Any:
        assert self._squares is not None
        return self.model.recounted(self._squares).at(self.parameters).hessian(np.zeros(len(self.ridge)))

    def freedom(self, columns: FloatArray) -> FloatVector:
        """Return the degrees of freedom of each contrast."""
        return np.full(columns.shape[1], np.inf)

    def contrasts(self, targets: FloatArray) -> FloatArray:
        """Return contrasts of scores s = u + X beta, relative to the reference, as those of parameters."""
        targets = self._contrasts(targets)
        n_effects = self.model.n_parameters - self.model.n_linear
        return np.concatenate(
            [targets, self.model.features.T @ targets, np.zeros((n_effects, targets.shape[1]))]
        )

    def _contrasts(self, targets: FloatArray) -> FloatArray:
        """Return the contrasts of scores that are targets of scores relative to the reference."""
        if self.profiles is None:
            return targets - targets.mean(axis=0)
        targets, reference = targets.copy(), self.profiles.reference
        targets[reference] -= targets.sum(axis=0) / len(reference)
        return targets

    def variances(self, columns: FloatArray, tol: float = TOL) -> FloatVector:
        """Return the variance of each contrast of parameters, one system each."""
        solved = self.solved(columns, tol)
        product = self.meat_product(solved)
        found = columns * solved if product is None else solved * product
        return np.maximum(found.sum(axis=0), 0.0)

    def intervals(
        self, columns: FloatArray, confidence: float
    ) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return the standard error of each contrast of parameters, and the ends of its interval."""
        errors, centre = np.sqrt(self.variances(columns)), self.parameters @ columns
        reach = critical_values(confidence, self.freedom(columns)) * errors
        return errors, centre - reach, centre + reach

    def score_intervals(
        self, items: IntVector, errors: FloatVector, confidence: float
    ) -> tuple[FloatVector, FloatVector]:
        """Return the ends of the intervals of the scores of some items, given their standard errors."""
        critical = critical_values(confidence, self.score_freedom(items))
        low, high = self.centre[items] - critical * errors, self.centre[items] + critical * errors
        if self.profiles is not None:
            for place, item in enumerate(items.tolist()):
                target = np.zeros(self.n_items)
                target[item] = 1.0
                if self.profiles.few[item]:
                    low[place], high[place] = self._profile(target, float(critical[place]))
                below, above = self.profiles.is_bounded(item, self.profiles.reference)
                low[place], high[place] = low[place] if below else -np.inf, high[place] if above else np.inf
        return low, high

    def difference(self, first: int, second: int, confidence: float) -> tuple[float, float, float]:
        """Return the standard error of a difference of two scores, and the ends of its interval."""
        target = np.zeros(self.n_items)
        target[first] += 1.0
        target[second] -= 1.0
        column = self.contrasts(target[:, None])
        error, centre = float(np.sqrt(self.variances(column)[0])), float(self.centre @ target)
        critical = float(critical_values(confidence, self.freedom(column))[0])
        low, high = centre - critical * error, centre + critical * error
        if self.profiles is not None and first != second:
            if self.profiles.few[[first, second]].any():
                low, high = self._profile(target, critical)
                error = float(np.sqrt(column[:, 0] @ self.solved(column)[:, 0])) * self._inflation(column)
            below, above = self.profiles.is_bounded(first, np.array([second]))
            low, high = low if below else -np.inf, high if above else np.inf
        return error, low, high

    def _profile(self, target: FloatVector, critical: float) -> tuple[float, float]:
        """Return the ends of the profile interval of a contrast of scores."""
        assert self.profiles is not None
        column = self.contrasts(target[:, None])
        return self.profiles.ends(column[:, 0], critical * self._inflation(column))

    def _inflation(self, column: FloatArray) -> float:
        """Return the standard error of a contrast of few votes relative to the one for independent votes.

        Residuals of an item without losses are near 0, and so is its part of a sandwich. So the ratio is at
        least the one of the other items.
        """
        solved = self.solved(column)
        if self.meat_product(solved) is None:
            return 1.0
        model = float(column[:, 0] @ solved[:, 0])
        return max(float(np.sqrt(self.variances(column)[0] / model)), self.least_inflation)

    @property
    def least_inflation(self) -> float:
        """The least ratio of standard errors of items with few votes to those for independent votes."""
        return 1.0

    def above(self, first: IntVector, second: IntVector) -> FloatVector:
        """Return P(the first score is above the second) of each pair, by Student's t distribution."""
        targets, columns = np.zeros((self.n_items, len(first))), np.arange(len(first))
        targets[first, columns] += 1.0
        targets[second, columns] -= 1.0
        contrasts = self.contrasts(targets)
        errors, apart = np.sqrt(self.variances(contrasts)), self.centre[first] - self.centre[second]
        values = np.divide(apart, errors, out=np.zeros(len(first)), where=errors > 0)
        freedom = self.freedom(contrasts)
        known = np.isfinite(freedom)
        return np.where(known, t.cdf(values, np.where(known, freedom, 1.0)), norm.cdf(values))

    def score_draws(self, size: int) -> FloatArray:
        """Return draws of the scores, up to a constant per draw, in O(n_items^3)."""
        return self.centre + normal_draws(self.centre, self.covariance(), size, self.least_freedom())

    def covariance(self) -> FloatArray:
        """Return the covariance of the scores minus their mean, O(n_items^3)."""
        product = self.meat_product(self.inverse)
        if product is None:
            return self._of_scores(self.inverse)
        found = self._of_scores(self.inverse @ product)
        if self.profiles is None or not self.profiles.few.any():
            return found
        own = np.diag(found)
        least = self.least_inflation**2 * np.diag(self._of_scores(self.inverse))
        raised = np.where(self.profiles.few, np.sqrt(np.maximum(own, least) / own), 1.0)
        return raised[:, None] * found * raised

    def _of_scores(self, covariance: FloatArray) -> FloatArray:
        """Return the covariance of scores relative to the reference, from that of parameters."""
        centred = self.hessian.centred_scores(self.hessian.centred_scores(covariance).T)
        return self.relative(self.relative(centred).T)

    @cached_property
    def inverse(self) -> FloatArray:
        """H^-1 with centered scores, O(n_parameters^3)."""
        try:
            return self.hessian.inverse() / self.votes
        except np.linalg.LinAlgError:
            raise SingularCovarianceError(
                "The covariance of the scores is singular to double precision; fit with a larger alpha."
            ) from None

    @property
    def is_determined(self) -> bool:
        """Whether H has an inverse."""
        try:
            return bool(np.isfinite(self.inverse).all())
        except SingularCovarianceError:
            return False

    def score_freedom(self, items: IntVector) -> FloatVector:
        """Return the degrees of freedom of the scores of some items."""
        return np.full(len(items), np.inf)

    def least_freedom(self) -> float:
        """Return the smallest degrees of freedom of a score."""
        return float(self.score_freedom(np.arange(self.n_items)).min())

    def all_columns(self, *, dense: int, block: int) -> Iterable[FloatArray]:
        """Return the columns of the covariance, at once for up to `dense` items."""
        n = self.n_items
        return [self.covariance()] if n <= dense else self.covariance_blocks(np.arange(n), block)

    def covariance_blocks(self, numbers: IntVector, size: int) -> Iterator[FloatArray]:
        """Yield the given columns of that covariance in blocks, one sparse system per column."""
        for begin in range(0, len(numbers), size):
            block = numbers[begin : begin + size]
            targets = np.zeros((self.n_items, len(block)))
            targets[block, np.arange(len(block))] = 1.0
            solved = self.solved(self.contrasts(targets), BLOCK_TOL)
            product = self.meat_product(solved)
            if product is not None:
                solved = self.solved(product, BLOCK_TOL)
            yield self.relative(self.hessian.centred_scores(solved))


class ClusteredUncertainty(Uncertainty):
    """For dependent votes: M is the sum of squared scores of clusters (CR2), one-way or two-way.

    Two-way clusters add the sums of both columns and subtract that of their intersections (Cameron, Gelbach
    and Miller 2011); negative eigenvalues of M become 0.
    """

    def __init__(
        self,
        model: PairModel,
        parameters: FloatVector,
        ridge: FloatVector,
        votes: float,
        counts: Sequence[ClusterCounts],
    ) -> None:
        super().__init__(model, parameters, ridge, votes)
        self._counts = counts
        self.n_units = float(min(len(np.unique(one.cluster)) for one in counts[:2]))

    def _scores(self, counts: ClusterCounts) -> ClusterScores:
        scale = self.votes / self.model.total_weight
        return ClusterScores(self.model, self.parameters, self.inverse, counts, scale)

    @cached_property
    def _ways(self) -> list[ClusterScores]:
        return [self._scores(counts) for counts in self._counts[:2]]

    @cached_property
    def _meat(self) -> FloatArray:
        meat = sum((way.meat() for way in self._ways), np.zeros_like(self.inverse))
        for counts in self._counts[2:]:
            values, vectors = np.linalg.eigh(meat - self._scores(counts).crude_meat())
            meat = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return meat

    def solved(self, columns: FloatArray, tol: float = TOL) -> FloatArray:
        """Return H^-1 times columns of parameters."""
        return self.inverse @ columns

    def meat_product(self, columns: FloatArray) -> FloatArray:
        """Return M times columns."""
        return self._meat @ columns + self.votes * self.ridge[:, None] * columns

    @cached_property
    def least_inflation(self) -> float:
        """The root of the mean ratio of variances of scores to those for independent votes, at least 1."""
        assert self.profiles is not None
        ratio = np.diag(self._of_scores(self.inverse @ self.meat_product(self.inverse)))
        ratio = ratio / np.diag(self._of_scores(self.inverse))
        known = ratio if self.profiles.few.all() else ratio[~self.profiles.few]
        return max(float(np.sqrt(known.mean())), 1.0)

    def freedom(self, columns: FloatArray) -> FloatVector:
        """Return the degrees of freedom of each contrast: the smaller of both ways."""
        solved = self.solved(columns)
        return np.array([min(way.freedom(column) for way in self._ways) for column in solved.T])

    def score_freedom(self, items: IntVector) -> FloatVector:
        """Return the degrees of freedom of the scores of some items."""
        return self.freedom(self.contrasts(np.eye(self.n_items)[:, items]))


def score_errors(uncertainty: Uncertainty, numbers: IntVector, *, dense: int, block: int) -> FloatVector:
    """Return the standard errors of the scores of some items, at once for up to `dense` items."""
    if uncertainty.n_items <= dense:
        return np.sqrt(np.maximum(np.diag(uncertainty.covariance())[numbers], 0.0))
    variances: list[float] = []
    for columns in uncertainty.covariance_blocks(numbers, block):
        rows = numbers[len(variances) : len(variances) + columns.shape[1]]
        variances += columns[rows].diagonal().tolist()
    return np.sqrt(variances)


def pair_variances(
    uncertainty: Uncertainty, first: IntVector, second: IntVector, *, dense: int, block: int
) -> FloatVector:
    """Return the variance of the difference of each pair of scores; a lower bound beyond `dense` items."""
    n_items = uncertainty.n_items
    if n_items > dense:
        inverse = 1.0 / (uncertainty.hessian.diagonal * uncertainty.votes)
        return np.where(first == second, 0.0, inverse[first] + inverse[second])
    if len(first) > block:
        covariance = uncertainty.covariance()
        own = np.diag(covariance)
        return own[first] + own[second] - 2.0 * covariance[first, second]
    targets, columns = np.zeros((n_items, len(first))), np.arange(len(first))
    targets[first, columns] += 1.0
    targets[second, columns] -= 1.0
    return uncertainty.variances(uncertainty.contrasts(targets))


def predictive_variances(
    posterior: Uncertainty, first: IntVector, second: IntVector, prior: float, *, dense: int, block: int
) -> FloatVector:
    """Return the variance of each difference; an unknown score, with the number -1, has that of the prior."""
    n = posterior.n_items
    known, one_known = (first >= 0) & (second >= 0), (first >= 0) != (second >= 0)
    found = np.full(len(first), 2.0 * prior)
    found[known] = pair_variances(posterior, first[known], second[known], dense=dense, block=block)
    other = np.maximum(first, second)[one_known]
    if n > dense:
        found[one_known] = prior + 1.0 / (posterior.hessian.diagonal[other] * posterior.votes)
    elif len(other):
        # The mean of the scores, which matches do not determine, has the variance of the prior.
        errors = score_errors(posterior, other, dense=dense, block=block)
        found[one_known] = prior + prior / n + errors**2
    return found


def critical_values(confidence: float, freedom: FloatVector) -> FloatVector:
    """Return half the lengths of intervals in standard errors, of Student's t or the normal distribution.

    Examples
    --------
    >>> critical_values(0.95, np.array([10.0, np.inf])).round(2)
    array([2.23, 1.96])
    """
    tail = (1.0 - confidence) / 2.0
    known = np.isfinite(freedom)
    return np.where(known, t.isf(tail, np.where(known, freedom, 1.0)), norm.isf(tail))


def normal_draws(
    scores: FloatVector, covariance: FloatArray, size: int, freedom: float = np.inf
) -> FloatArray:
    """Return draws around 0, one per row: normal, or of Student's t; the same at each call.

    Only differences within a draw have the covariance given; all items of a draw share a further term. The
    draws belong to items in the order of their scores, so that they do not depend on names.
    """
    rng, n = np.random.default_rng(0), len(scores)
    order = np.lexsort((np.diag(covariance), scores))
    mean = float(np.diag(covariance).mean())
    # Equal scores have no variance; the shift gives them one. The ridge is for other directions without any.
    matrix = covariance[np.ix_(order, order)] + mean + RIDGE * mean * np.eye(n)
    draws = np.empty((size, n))
    draws[:, order] = rng.normal(size=(size, n)) @ np.linalg.cholesky(matrix).T if mean > 0 else 0.0
    if np.isfinite(freedom):
        draws /= np.sqrt(rng.chisquare(freedom, size=(size, 1)) / freedom)
    return draws
