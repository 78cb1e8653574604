"""Duels on which humans and a judge voted, and their scores by prediction-powered inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rankwise.core.checks import as_array, is_missing
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, FloatVector, IntVector, ShortVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.judge_loss import laplacian
from rankwise.leaderboard.loss import ComparisonLoss
from rankwise.leaderboard.matches import Matches, numbered, results_of
from rankwise.leaderboard.uncertainty import TOL, Uncertainty

# Fits with the weight of the judge and the tempering of the previous one.
ROUNDS = 6
# The smallest factor of the precision of the prior.
LEAST_TEMPERING = 0.05
# The largest leverage of a vote in the correction HC2.
LARGEST_LEVERAGE = 0.9
# A Newton step stops the method if it predicts a decrease below this, in units of log likelihood.
DECREASE_TOL = 1e-10
MAX_STEPS = 60
# Below this number of human votes posterior intervals cover too little.
FEW_VOTES = 300


@dataclass(frozen=True)
class Duels:
    """Duels of two items, counted: equal duels with equal votes are one entry.

    Attributes
    ----------
    first, second : int arrays of shape (n_entries,)
    human : array of shape (n_entries,)
        1 if the first won by the human vote, 0 if it lost, 0.5 for a tie; NaN without a human vote.
    judge : array of shape (n_entries,)
        The same by the vote of the judge, for all.
    count : array of shape (n_entries,)
    """

    first: IntVector
    second: IntVector
    human: FloatVector
    judge: FloatVector
    count: FloatVector

    @classmethod
    def counted(
        cls, first: ShortVector, second: ShortVector, human: FloatVector, judge: FloatVector
    ) -> Duels:
        """Count equal rows."""
        # Ordered by the pair, and by the votes in halves; 3 is no human vote.
        votes = np.where(np.isnan(human), 3.0, 2.0 * human), 2.0 * judge
        rows = np.stack([first, second, *votes], axis=1).astype(np.int64)
        found, count = np.unique(rows, axis=0, return_counts=True)
        by_human = np.where(found[:, 2] == 3, np.nan, 0.5 * found[:, 2])
        by_judge = 0.5 * found[:, 3].astype(np.float64)
        return cls(found[:, 0], found[:, 1], by_human, by_judge, count.astype(np.float64))

    @property
    def agreement(self) -> float:
        """The fraction of duels with a human vote on which the judge voted alike."""
        count = self.count[self.is_labelled]
        return float(count @ (self.human == self.judge)[self.is_labelled]) / float(count.sum())

    @property
    def is_labelled(self) -> NDArray[np.bool_]:
        """Which entries have a human vote."""
        return ~np.isnan(self.human)


def read_duels(a: Any, b: Any, outcome: Any, judge_outcome: Any) -> tuple[Matches, Duels]:
    """Return the matches that humans voted on, of all items, and all duels."""
    items, (first, second) = numbered({"a": a, "b": b})
    itself = np.flatnonzero(first == second)
    if len(itself):
        name = items.tolist()[first[itself[0]]]
        raise ValueError(f"Row {itself[0]} compares {name!r} with itself; a match needs two items.")
    judge = results_of(judge_outcome, len(first), "judge_outcome")
    human = partial_results(outcome, len(first))
    labelled = ~np.isnan(human)
    if not labelled.any():
        raise ValueError("outcome is missing in all rows; some duels need a human vote.")
    if labelled.all():
        raise ValueError("outcome is missing in no row; without duels of the judge alone it adds nothing.")
    matches = Matches(items, first[labelled], second[labelled], human[labelled], None)
    return matches, Duels.counted(first, second, human, judge)


def warn_of_few_votes(n_votes: int) -> None:
    """Warn of human votes that are too few for the asymptotic intervals."""
    if n_votes < FEW_VOTES:
        warn_caller(
            f"{plural(n_votes, 'human vote')} are few: below {FEW_VOTES}, posterior intervals of scores that "
            "a judge sharpens cover too little."
        )


def partial_results(outcome: Any, length: int) -> FloatVector:
    """Return results as numbers, NaN for missing ones: None, NaN or empty text.

    Examples
    --------
    >>> partial_results(["win", None, "", 0], 4)
    array([ 1., nan, nan,  0.])
    """
    values = list(outcome) if isinstance(outcome, list | tuple) else as_array(outcome).tolist()
    if len(values) != length:
        raise ValueError(f"outcome has {len(values)} entries for {plural(length, 'match')}.")
    known = np.array([not (is_missing(one) or (isinstance(one, str) and not one.strip())) for one in values])
    results = np.full(length, np.nan)
    if known.any():
        given = [one for one, is_known in zip(values, known, strict=True) if is_known]
        results[known] = results_of(given, len(given))
    return results


@dataclass(frozen=True)
class DuelFit:
    """Scores of humans, sharpened by a judge.

    Attributes
    ----------
    scores : array of shape (n_items,)
        Their mean is 0.
    covariance : array of shape (n_items, n_items)
        The sandwich at the scores, plus the mean squared bias of the prior.
    centre : array of shape (n_items,)
        The scores after one Newton step without the prior; the scores themselves if not debiased.
    centre_covariance : array of shape (n_items, n_items)
        The sandwich at the centre, without the prior.
    weight : float
        lambda, the weight of the judge.
    objective, gap : float
        The objective per human vote, and a bound on its distance from the minimum.
    """

    scores: FloatVector
    covariance: FloatArray
    centre: FloatVector
    centre_covariance: FloatArray
    weight: float
    objective: float
    gap: float

    def mean_error(self, *, debias: bool) -> float:
        """Return the mean standard error of the scores."""
        covariance = self.centre_covariance if debias else self.covariance
        return float(np.sqrt(np.diag(covariance)).mean())


def fit_duels(
    duels: Duels, start: FloatVector, prior_sd: float, *, weight: float | None = None, debias: bool = True
) -> DuelFit:
    """Minimise the mean loss of humans + lambda (mean loss of the judge on all - on those of humans) + prior.

    The mean loss of the judge on all duels minus that on a random subset has a mean of 0, whatever the judge
    does, and removes the part of the humans' noise that the judge shares. lambda = tr C / tr V minimises the
    variance to first order, with C the covariance of the influence of a human vote and a judge's vote on the
    scores, and V the variance of the latter (Angelopoulos, Duchi and Zrnic 2023, PPI++). It is restricted to
    [0, 1], where the objective is convex. The precision of the prior N(0, prior_sd^2) is multiplied by the
    fraction of the variance that remains, as its bias would otherwise outweigh the smaller variance.

    Parameters
    ----------
    duels : Duels
    start : array of shape (n_items,)
    prior_sd : float
    weight : float, optional
        lambda; by default the best.
    debias : bool
        Whether to find the centre of intervals without the bias of the prior, for which the human votes must
        link all items.
    """
    precision, used, scores = prior_sd**-2.0, 1.0, start - start.mean()
    at_weight = 0.0 if weight is None else weight
    for _ in range(ROUNDS):
        tempering, current = used, at_weight
        terms = _Terms(duels, len(start), current, tempering * precision)
        scores = terms.minimised(scores)
        influence = _Influence(terms, scores)
        if weight is None:
            at_weight = influence.best_weight()
        variance = influence.sandwich()
        left = float(np.trace(variance)) / influence.model_variance()
        used = float(np.clip(left, LEAST_TEMPERING, 1.0))
    covariance = variance + influence.prior_variance(tempering)
    results = current, *terms.certificate(scores)
    scores = scores - scores.mean()
    if not debias:
        return DuelFit(scores, covariance, scores, covariance, *results)
    centre, centred_covariance = _debiased(_Terms(duels, len(start), current, 0.0), scores)
    return DuelFit(scores, covariance, centre, centred_covariance, *results)


def _debiased(terms: _Terms, scores: FloatVector) -> tuple[FloatVector, FloatArray]:
    """Return the scores after a Newton step of terms without a prior, and their sandwich."""
    centre = scores - np.linalg.solve(terms.hessian(scores), terms.gradient(scores))
    return centre - centre.mean(), _Influence(terms, centre).sandwich()


class _Terms:
    """The sum over entries of curvature log(1 + exp(d)) - line d + precision ||s||^2 / 2, d = s_a - s_b."""

    def __init__(self, duels: Duels, n_items: int, weight: float, precision: float) -> None:
        self.duels, self.n_items, self.weight, self.precision = duels, n_items, weight, precision
        labelled = duels.is_labelled
        self.n_labelled = float(duels.count[labelled].sum())
        self.fraction = self.n_labelled / float(duels.count.sum())
        human = np.where(labelled, duels.human, 0.0)
        own, all_ = labelled.astype(np.float64), weight * self.fraction
        self.curvature = duels.count * (own * (1.0 - weight) + all_)
        self.line = duels.count * (own * (human - weight * duels.judge) + all_ * duels.judge)

    def per_item(self, values: FloatVector) -> FloatVector:
        """Return per item the sum over its entries, with a minus sign if it is the second."""
        first, second, n = self.duels.first, self.duels.second, self.n_items
        return (np.bincount(first, values, n) - np.bincount(second, values, n)).astype(np.float64)

    def matrix(self, values: FloatVector) -> FloatArray:
        """Return the sum over entries of value (e_a - e_b)(e_a - e_b)'."""
        return laplacian(self.n_items, self.duels.first, self.duels.second, values)

    def apart(self, scores: FloatVector) -> FloatVector:
        """Return the difference of the scores of each entry."""
        return scores[self.duels.first] - scores[self.duels.second]

    def value(self, scores: FloatVector) -> float:
        """Return the objective."""
        d = self.apart(scores)
        loss = float(self.curvature @ np.logaddexp(0.0, d) - self.line @ d)
        return loss + 0.5 * self.precision * float(scores @ scores)

    def gradient(self, scores: FloatVector) -> FloatVector:
        """Return the derivatives by the scores."""
        p = expit(self.apart(scores))
        return self.per_item(self.curvature * p - self.line) + self.precision * scores

    def information(self, scores: FloatVector) -> FloatArray:
        """Return the second derivatives without the prior."""
        p = expit(self.apart(scores))
        return self.matrix(self.curvature * p * (1.0 - p))

    def hessian(self, scores: FloatVector) -> FloatArray:
        """Return the second derivatives; without a prior, equal scores get a positive eigenvalue."""
        information = self.information(scores)
        if not self.precision:
            return information + float(np.diag(information).mean()) / self.n_items
        return information + self.precision * np.eye(self.n_items)

    def minimised(self, scores: FloatVector) -> FloatVector:
        """Return the minimum, by Newton steps with backtracking."""
        for _ in range(MAX_STEPS):
            gradient, value = self.gradient(scores), self.value(scores)
            step = -np.linalg.solve(self.hessian(scores), gradient)
            decrease = -float(gradient @ step)
            if decrease < DECREASE_TOL:
                break
            length = 1.0
            while length > 1e-6 and self.value(scores + length * step) > value - 1e-4 * length * decrease:
                length /= 2
            scores = scores + length * step
        return scores

    def certificate(self, scores: FloatVector) -> tuple[float, float]:
        """Return the objective per human vote, and its distance from the minimum by strong convexity."""
        gradient = self.gradient(scores)
        gap = float(gradient @ gradient) / (2.0 * self.precision)
        return self.value(scores) / self.n_labelled, gap / self.n_labelled


class _Influence:
    """First-order effects of votes on the scores, and the sandwich variance that they give.

    A vote with residual r moves the scores by r T (e_a - e_b), with T the centred inverse of the Hessian.
    """

    def __init__(self, terms: _Terms, scores: FloatVector) -> None:
        self._terms = terms
        p = expit(terms.apart(scores))
        self._information = terms.information(scores)
        inverse = np.linalg.inv(terms.hessian(scores))
        self._bread = inverse - inverse.mean(axis=0)
        duels = terms.duels
        labelled = duels.is_labelled
        self._labelled = np.where(labelled, duels.count, 0.0)
        self._by_human = np.where(labelled, duels.human, p) - p
        self._by_judge = duels.judge - p
        own = inverse[duels.first, duels.first] + inverse[duels.second, duels.second]
        leverage = p * (1.0 - p) * (own - 2.0 * inverse[duels.first, duels.second])
        self._hc2 = 1.0 / np.sqrt(1.0 - np.minimum(leverage, LARGEST_LEVERAGE))

    def _covariance(self, count: FloatVector, left: FloatVector, right: FloatVector) -> FloatArray:
        """Return the sum over votes of left times right, minus that of their means, as a matrix."""
        means = [self._terms.per_item(count * side) for side in (left, right)]
        return self._terms.matrix(count * left * right) - np.outer(*means) / count.sum()

    def _trace(self, matrix: FloatArray) -> float:
        return float(np.trace(self._bread @ matrix @ self._bread.T))

    def best_weight(self) -> float:
        """Return lambda = tr C / tr V in [0, 1]."""
        shared = self._trace(self._covariance(self._labelled, self._by_human, self._by_judge))
        own = self._trace(self._covariance(self._labelled, self._by_judge, self._by_judge))
        return float(np.clip(shared / own, 0.0, 1.0)) if own > 0 else 0.0

    def sandwich(self) -> FloatArray:
        """Return the covariance of the centred scores, without the bias of the prior."""
        terms, weight, count = self._terms, self._terms.weight, self._terms.duels.count
        rest = self._hc2 * (self._by_human - weight * self._by_judge)
        meat = self._covariance(self._labelled, rest, rest)
        cross = self._covariance(self._labelled, rest, self._by_judge)
        meat += weight * terms.fraction * (cross + cross.T)
        everyone = self._covariance(count, self._by_judge, self._by_judge) / (count.sum() - 1.0)
        meat += weight**2 * terms.fraction * terms.n_labelled * everyone
        return self._bread @ meat @ self._bread.T

    def model_variance(self) -> float:
        """Return the trace of the covariance if all votes were independent and human."""
        return self._trace(self._information)

    def prior_variance(self, tempering: float) -> FloatArray:
        """Return the mean square of the bias of the prior, for scores drawn from it before tempering."""
        return tempering * self._terms.precision * self._bread @ self._bread.T


class DuelUncertainty(Uncertainty):
    """A centre and a covariance of scores that were computed in the fit."""

    def __init__(self, loss: ComparisonLoss, centre: FloatVector, votes: float, covariance: FloatArray):
        super().__init__(loss, centre, np.zeros(loss.n_parameters), votes)
        self._covariance = covariance

    def solved(self, columns: FloatArray, tol: float = TOL) -> FloatArray:
        """Return the covariance times columns."""
        return self._covariance @ columns

    def covariance(self) -> FloatArray:
        """Return the covariance of the scores."""
        return self._covariance
