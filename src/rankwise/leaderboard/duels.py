"""Duels on which humans and a judge voted, and their scores by prediction-powered inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_array, is_missing
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, FloatVector, IntVector, ShortVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.comparisons import Comparisons, laplacian
from rankwise.leaderboard.links.logistic import Logistic
from rankwise.leaderboard.matches import Matches, numbered, results_of
from rankwise.leaderboard.newton import fitted, minimised
from rankwise.leaderboard.pair_model import PairModel
from rankwise.leaderboard.uncertainty import TOL, Uncertainty
from rankwise.solvers import Monitor, SolverResult

# Fits with the weight of the judge and the tempering of the previous one.
ROUNDS = 6
# The smallest factor of the precision of the prior.
LEAST_TEMPERING = 0.05
# The largest leverage of a vote in the correction HC2.
LARGEST_LEVERAGE = 0.9
LINK, NO_SHAPE = Logistic(), np.zeros(0)
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
    center : array of shape (n_items,)
        The scores after one Newton step without the prior; the scores themselves if not debiased.
    centre_covariance : array of shape (n_items, n_items)
        The sandwich at the center, without the prior.
    weight : float
        lambda, the weight of the judge.
    result : SolverResult
        Of the last fit; the objective is per human vote.
    """

    scores: FloatVector
    covariance: FloatArray
    centre: FloatVector
    centre_covariance: FloatArray
    weight: float
    result: SolverResult

    def mean_error(self, *, debias: bool) -> float:
        """Return the mean standard error of the scores."""
        covariance = self.centre_covariance if debias else self.covariance
        return float(np.sqrt(np.diag(covariance)).mean())


def fit_duels(
    duels: Duels,
    start: FloatVector,
    prior_sd: float,
    *,
    weight: float | None = None,
    debias: bool = True,
    tol: float = 1e-16,
    max_iter: int = 100,
    monitor: Monitor | None = None,
) -> DuelFit:
    """Minimize the mean loss of humans + lambda (mean loss of the judge on all - on those of humans) + prior.

    The mean loss of the judge on all duels minus that on a random subset has a mean of 0, whatever the judge
    does, and removes the part of the humans' noise that the judge shares. lambda = tr C / tr V minimizes the
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
        Whether to find the center of intervals without the bias of the prior, for which the human votes must
        link all items.
    tol, max_iter, monitor :
        Of the last fit, which starts at the optimum of the fit before.
    """
    precision, used, scores = prior_sd**-2.0, 1.0, start - start.mean()
    at_weight = 0.0 if weight is None else weight
    for rounds_left in reversed(range(ROUNDS)):
        tempering, current = used, at_weight
        model = DuelModel(duels, len(start), current)
        alpha = 0.5 * tempering * precision / model.total_weight
        if rounds_left:
            result = fitted(model, alpha, scores)
        else:
            result = minimised(model, alpha, tol=tol, max_iter=max_iter, monitor=monitor, start=scores)
        scores = result.coef
        influence = _Influence(model, scores, tempering * precision)
        if weight is None:
            at_weight = influence.best_weight()
        variance = influence.sandwich()
        left = float(np.trace(variance)) / influence.model_variance()
        used = float(np.clip(left, LEAST_TEMPERING, 1.0))
    covariance = variance + influence.prior_variance(tempering)
    scores = scores - scores.mean()
    if not debias:
        return DuelFit(scores, covariance, scores, covariance, current, result)
    at, none = model.at(scores), np.zeros(len(scores))
    centre = scores - at.hessian(none).inverse() @ at.gradient
    centred = _Influence(model, centre, 0.0).sandwich()
    return DuelFit(scores, covariance, centre - centre.mean(), centred, current, result)


class DuelModel(PairModel):
    """The mean loss of human votes + lambda (mean loss of the judge on all duels - on those of humans).

    It is the loss of votes of which an entry may have negative wins or losses, but no negative sum.
    """

    def __init__(self, duels: Duels, n_items: int, weight: float) -> None:
        self.duels, self.weight = duels, weight
        labelled = duels.is_labelled
        self.fraction = float(duels.count[labelled].sum()) / float(duels.count.sum())
        human = np.where(labelled, duels.human, 0.0)
        own, all_ = labelled.astype(np.float64), weight * self.fraction
        curvature = duels.count * (own * (1.0 - weight) + all_)
        wins = duels.count * (own * (human - weight * duels.judge) + all_ * duels.judge)
        first, second = (side.astype(np.int32) for side in (duels.first, duels.second))
        counted = Comparisons(n_items, first, second, wins, curvature - wins, np.zeros(len(wins)))
        super().__init__(counted, LINK)


class _Influence:
    """First-order effects of votes on the scores, and the sandwich variance that they give.

    A vote with residual r moves the scores by r T (e_a - e_b), with T the centered inverse of the Hessian.
    """

    def __init__(self, model: DuelModel, scores: FloatVector, precision: float) -> None:
        self._model, self._precision = model, precision
        p = LINK.chance(model.differences(scores))
        hessian = model.at(scores).hessian(np.full(len(scores), precision / model.total_weight))
        self._information = model.total_weight * model.at(scores).hessian(np.zeros(len(scores))).dense()
        self._bread = inverse = hessian.inverse(np.inf) / model.total_weight
        duels = model.duels
        labelled = duels.is_labelled
        self._labelled = np.where(labelled, duels.count, 0.0)
        self._by_human = np.where(labelled, duels.human, p) - p
        self._by_judge = duels.judge - p
        own = inverse[duels.first, duels.first] + inverse[duels.second, duels.second]
        leverage = p * (1.0 - p) * (own - 2.0 * inverse[duels.first, duels.second])
        self._hc2 = 1.0 / np.sqrt(1.0 - np.minimum(leverage, LARGEST_LEVERAGE))

    def _covariance(self, count: FloatVector, left: FloatVector, right: FloatVector) -> FloatArray:
        """Return the sum over votes of left times right, minus that of their means, as a matrix."""
        counted = self._model.comparisons
        means = [counted.signed_sums(count * side) for side in (left, right)]
        matrix = laplacian(
            counted.n_items, self._model.duels.first, self._model.duels.second, count * left * right
        )
        return matrix - np.outer(*means) / count.sum()

    def _trace(self, matrix: FloatArray) -> float:
        return float(np.trace(self._bread @ matrix @ self._bread.T))

    def best_weight(self) -> float:
        """Return lambda = tr C / tr V in [0, 1]."""
        shared = self._trace(self._covariance(self._labelled, self._by_human, self._by_judge))
        own = self._trace(self._covariance(self._labelled, self._by_judge, self._by_judge))
        return float(np.clip(shared / own, 0.0, 1.0)) if own > 0 else 0.0

    def sandwich(self) -> FloatArray:
        """Return the covariance of the centered scores, without the bias of the prior."""
        model, weight, count = self._model, self._model.weight, self._model.duels.count
        rest = self._hc2 * (self._by_human - weight * self._by_judge)
        meat = self._covariance(self._labelled, rest, rest)
        cross = self._covariance(self._labelled, rest, self._by_judge)
        meat += weight * model.fraction * (cross + cross.T)
        everyone = self._covariance(count, self._by_judge, self._by_judge) / (count.sum() - 1.0)
        meat += weight**2 * model.fraction * model.total_weight * everyone
        return self._bread @ meat @ self._bread.T

    def model_variance(self) -> float:
        """Return the trace of the covariance if all votes were independent and human."""
        return self._trace(self._information)

    def prior_variance(self, tempering: float) -> FloatArray:
        """Return the mean square of the bias of the prior, for scores drawn from it before tempering."""
        return tempering * self._precision * self._bread @ self._bread.T


class DuelUncertainty(Uncertainty):
    """A center and a covariance of scores that were computed in the fit."""

    def __init__(self, centre: FloatVector, covariance: FloatArray):
        self.centre, self.n_items, self._covariance = centre, len(centre), covariance

    def solved(self, columns: FloatArray, tol: float = TOL) -> FloatArray:
        """Return the covariance times columns."""
        return self._covariance @ columns

    def contrasts(self, targets: FloatArray) -> FloatArray:
        """Return contrasts of scores, relative to their mean."""
        return targets - targets.mean(axis=0)

    def covariance(self) -> FloatArray:
        """Return the covariance of the scores."""
        return self._covariance
