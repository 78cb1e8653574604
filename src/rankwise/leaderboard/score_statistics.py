"""Scores of models from tables of values, with the influence of each independent unit on each score.

A unit is a task, or an instance of a task. A statistic is asymptotically a sum over units, so that variances,
intervals, differences and ranges of ranks follow from its influences, whatever the statistic is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from scipy.stats import rankdata

from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.newton import minimised
from rankwise.leaderboard.ranking_model import RankingModel

# Newton steps, the largest difference of finite strengths, and the residual relative to the number of units.
MOST_STEPS, LARGEST_STRENGTH, RESIDUAL = 60, 18.0, 1e-11
# Variances of differences below this fraction of those of the scores are those of equal influences.
ROUNDING = 1e-14


class Units(NamedTuple):
    """The values of independent units, oriented so that higher is better; NaN is missing.

    Attributes
    ----------
    values : array of shape (n_units, n_models)
    weight : array of shape (n_units,)
        The sum is the number of tasks.
    task : int array of shape (n_units,)
        Sorted.
    cells : array of shape (n_tasks, n_models)
        The mean value of each model in each task.
    over : "tasks", "instances" or "both"
        What is sampled: tasks, instances within each task, or tasks with their instances.
    """

    values: FloatArray
    weight: FloatVector
    task: IntVector
    cells: FloatArray
    over: str = "tasks"

    def by_task(self, of_units: FloatArray) -> FloatArray:
        """Return sums of values of units by task."""
        return np.add.reduceat(of_units, np.flatnonzero(np.diff(self.task, prepend=-1)))


@dataclass(frozen=True, eq=False)
class Influences:
    """Scores, and what each unit adds to their errors.

    Attributes
    ----------
    scores : array of shape (n_models,)
    values : array of shape (n_units, n_models)
        Influences, whose sum of squares is the variance: centered in each stratum, and raised so that the
        variance is unbiased if all units vary alike, by n / (n - 1) for n units of equal weights.
    freedom : array of shape (n_models,)
        Degrees of freedom, by Satterthwaite's formula with weights or several strata; 0 if unknown.
    least : array of shape (n_models,)
        The least standard errors. They are those of one comparison with another result, so that comparisons
        that all agree do not look certain.
    sign : float
        1 if high scores are better, otherwise -1.
    note : str
    bias : array of shape (n_models,), or 0
        The bias of first order, without which intervals are centered.
    bounds : pair of floats
        The least and the largest possible score.
    """

    scores: FloatVector
    values: FloatArray
    freedom: FloatVector
    least: FloatVector
    sign: float = 1.0
    note: str = ""
    bias: FloatVector | float = 0.0
    bounds: tuple[float, float] = (-np.inf, np.inf)

    def reversed(self) -> Influences:
        """Return the scores times -1, of which low ones are better."""
        least, most = self.bounds
        return replace(
            self, scores=-self.scores, values=-self.values, sign=-self.sign, bounds=(-most, -least)
        )

    @cached_property
    def covariance(self) -> FloatArray:
        """The covariance of the scores; the variance of a score without degrees of freedom is infinite."""
        unknown = self.freedom <= 0
        found = self.values.T @ self.values
        found[unknown] = found[:, unknown] = 0.0
        diagonal = np.maximum(found.diagonal(), self.least**2)
        np.fill_diagonal(found, np.where(unknown, np.inf, diagonal))
        return found

    @cached_property
    def pair_errors(self) -> FloatArray:
        """The standard error of each difference of two scores."""
        unknown = self.freedom <= 0
        matrix = np.where(unknown | unknown[:, None], 0.0, self.covariance)
        own = matrix.diagonal()
        squares = own[:, None] + own - 2.0 * matrix
        squares[squares <= ROUNDING * (own[:, None] + own)] = 0.0
        found = np.maximum(np.sqrt(squares), self.least[:, None] + self.least)
        return np.where(unknown | unknown[:, None], np.inf, found)


def influences_of(
    units: Units, scores: FloatVector, raw: FloatArray, least: FloatVector, note: str = ""
) -> Influences:
    """Return the influences of units from derivatives of the scores by the weights of units.

    The variance of a mean with weights p, which sum to 1, is the sum of p^2 e^2 / (1 - 2 p + |p|^2) over
    residuals e (Bell and McCaffrey 2002). O(n_units n_models).
    """
    weight = units.weight[:, None] * ~np.isnan(units.values)
    if units.over == "both":
        raw, weight = units.by_task(raw), units.by_task(weight)
    stratum = units.task if units.over == "instances" else np.zeros(len(raw), dtype=np.int64)
    begins = np.flatnonzero(np.diff(stratum, prepend=-1))
    sizes = np.diff(begins, append=len(raw))

    def sums(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values, begins)

    def spread(values: FloatArray) -> FloatArray:
        return np.repeat(values, sizes, axis=0)

    all_models = weight.max(axis=1, keepdims=True)
    centred = raw - all_models * spread(sums(raw) / sums(all_models))
    total = spread(sums(weight))
    p = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    squares = sums(p * p)
    lost = 2.0 * p - spread(squares)
    a = np.divide(p * p, 1.0 - lost, out=np.zeros_like(p), where=lost < 1.0)
    a0, a1, a2 = sums(a), sums(a * p), sums(a * p * p)
    # A missing cell has an influence, too, if that of another model in its row is relative to it.
    mean = spread(np.divide(a0, squares, out=np.ones_like(a0), where=a0 > 0))
    centred *= np.sqrt(np.divide(a, p * p, out=mean, where=a > 0))
    trace = 2 * a0 * a2 + 2 * a1**2 + (squares * a0) ** 2 - 4 * squares * a0 * a1
    trace += sums(a * a * (1.0 - 2.0 * lost))
    degrees = np.divide(squares**2, trace, out=np.zeros_like(trace), where=a0 > 0)
    parts = sums(centred**2)
    variance = parts.sum(axis=0)
    shares = np.divide(parts, variance, out=np.zeros_like(parts), where=variance > 0)
    known = np.divide(shares**2, degrees, out=np.zeros_like(parts), where=degrees > 0).sum(axis=0)
    freedom = np.divide(1.0, known, out=degrees.sum(axis=0), where=known > 0)
    return Influences(scores, centred, freedom, least, note=note)


class Additive:
    """Effects a of models beside those of rows, by least squares: value = row + a, over the present cells.

    Without missing cells, a is the mean per model minus the mean of all. A model that lacks rows that are
    hard for all does not gain by it. O(n_rows n_models^2 + n_models^3).

    Parameters
    ----------
    is_present : bool array of shape (n_rows, n_models)
    weight : array of shape (n_rows,)
    """

    def __init__(self, is_present: NDArray[np.bool_], weight: FloatVector) -> None:
        self.present, self.weight = is_present.astype(np.float64), weight
        self.count = np.maximum(self.present.sum(axis=1), 1.0)
        matrix = -(self.present.T * (weight / self.count)) @ self.present
        matrix[np.diag_indices_from(matrix)] += weight @ self.present
        n_models = len(matrix)
        self.inverse = np.linalg.inv(matrix + weight.sum() / n_models) - 1.0 / (weight.sum() * n_models)

    def effects(self, deviations: FloatArray, row: IntVector | slice = slice(None)) -> FloatArray:
        """Return the effects of models that deviations of these rows, 0 where missing, add."""
        mean = deviations.sum(axis=1) / self.count[row]
        centred = deviations - mean[:, None] * self.present[row]
        return centred @ self.inverse


def mean_influences(units: Units) -> Influences:
    """Return the mean value of each model over tasks.

    If cells are missing, it is the effect of the model in an additive model of models and tasks.
    """
    cells = units.cells
    known, weight = ~np.isnan(cells), units.by_task(units.weight)
    model = Additive(known, weight)
    filled = weight[:, None] * np.where(known, cells, 0.0)
    effects = model.effects(filled).sum(axis=0)
    rest = filled - weight[:, None] * (known * effects)
    level = float((rest.sum(axis=1) / model.count).sum() / weight.sum())
    if units.over == "tasks":
        deviations = rest - weight[:, None] * (level * known)
    else:
        own = units.weight[:, None] * ~np.isnan(units.values)
        shares = own / np.where(known, units.by_task(own), 1.0)[units.task]
        apart = np.where(own > 0, units.values - cells[units.task], 0.0)
        deviations = weight[units.task, None] * shares * apart
    by_model = model.effects(deviations, units.task)
    share = weight @ (model.present / model.count[:, None]) / weight.sum()
    by_level = deviations.sum(axis=1) / model.count[units.task] / weight.sum() - by_model @ share
    return influences_of(units, effects + level, by_model + by_level[:, None], np.zeros(len(effects)))


def wins_of(values: FloatArray) -> FloatArray:
    """Return the number of models that each model beats in its row, a tie as half; 0 where it is missing.

    From ranks, in O(n_rows n_models log n_models): no pair is listed.

    Examples
    --------
    >>> wins_of(np.array([[3.0, 1.0, 1.0, np.nan]])).tolist()
    [[2.0, 0.5, 0.5, 0.0]]
    """
    known = ~np.isnan(values)
    ranks = rankdata(np.where(known, -values, np.inf), axis=1)
    return np.where(known, known.sum(axis=1, keepdims=True) - ranks, 0.0)


def win_rate_influences(units: Units) -> Influences:
    """Return the rate of wins over the other models within units; a tie is half a win.

    If cells are missing, the rates are those of the additive model of models and units, so that a model
    whose units lack the weak ones does not lose by it.
    """
    known = ~np.isnan(units.values)
    n_models = known.shape[1]
    model = Additive(known, units.weight)
    # The share of wins minus that of losses, halved; its mean over the models of a unit is 0.
    lead = np.where(known, (wins_of(units.values) - (model.count[:, None] - 1) / 2) / model.count[:, None], 0)
    effects = model.effects(units.weight[:, None] * lead).sum(axis=0)
    raw = model.effects(units.weight[:, None] * np.where(known, lead - effects, 0.0))
    scale = n_models / (n_models - 1)
    least = scale * model.inverse.diagonal() / n_models * units.weight.mean()
    rates = 0.5 + scale * effects
    rates[np.abs(rates) < ROUNDING] = 0.0
    found = influences_of(units, rates, scale * raw, least)
    return replace(found, bounds=(0.0, 1.0))


def rank_influences(units: Units) -> Influences:
    """Return the mean rank of each model within units, 1 for the best: 1 + (n_models - 1) (1 - win rate)."""
    found, others = win_rate_influences(units), units.values.shape[1] - 1
    rates = replace(
        found,
        scores=others * found.scores - others - 1,
        values=others * found.values,
        least=others * found.least,
        bounds=(-others - 1.0, -1.0),
    )
    return rates.reversed()


def strength_influences(units: Units) -> Influences:
    """Return the strengths of Bradley and Terry from all pairs of models within units, with mean 0.

    The likelihood needs the wins of each model, from ranks, and the number of units that two models share.
    O(n_units n_models^2) and O(n_models^3) per Newton step. If strengths are infinite, because some models
    beat all others everywhere, a task is added in which all tie.
    """
    known = (~np.isnan(units.values)).astype(np.float64)
    wins, weight = wins_of(units.values), units.weight
    shared = (known.T * weight) @ known
    np.fill_diagonal(shared, 0.0)
    total, n_models, note = weight @ wins, known.shape[1], ""
    found = _newton(shared, total)
    if found is None:
        ties = np.ones_like(shared) - np.eye(n_models)
        found = _newton(shared + ties, total + (n_models - 1) / 2)
        note = "Some models beat all others everywhere: strengths include a task in which all models tie."
    assert found is not None, "strengths are finite with a tie of all models"
    strengths, inverse, chances = found
    raw = (weight[:, None] * (wins - known * (known @ chances.T))) @ inverse
    influences = influences_of(units, strengths, raw, inverse.diagonal() * weight.mean(), note=note)
    return replace(influences, bias=_strength_bias(influences, shared, inverse, chances))


def _strength_bias(
    influences: Influences, shared: FloatArray, inverse: FloatArray, chances: FloatArray
) -> FloatVector:
    """Return the bias of first order of strengths: the slopes bend, and pairs of a unit depend.

    Half the second derivatives of the slopes times the variances of differences, as for any estimating
    equation; with independent pairs it is the bias that Firth (1993) removes.
    """
    known = np.isfinite(influences.pair_errors)
    squares = np.where(known, influences.pair_errors, 0.0) ** 2
    bends = shared * chances * chances.T * (chances.T - chances)
    return inverse @ (-0.5 * (bends * squares).sum(axis=1))


def _newton(shared: FloatArray, wins: FloatVector) -> tuple[FloatVector, FloatArray, FloatArray] | None:
    """Return strengths, the inverse of the information, and chances; None if strengths are not finite."""
    n, total = len(wins), float(shared.sum())
    strengths = np.zeros(n)
    for _ in range(MOST_STEPS):
        chances = expit(strengths[:, None] - strengths)
        np.fill_diagonal(chances, 0.0)
        slope = wins - (shared * chances).sum(axis=1)
        curves = shared * chances * chances.T
        information = np.diag(curves.sum(axis=1)) - curves
        scale = information.trace() / n
        inverse = np.linalg.inv(information + scale / n) - 1.0 / (scale * n)
        if np.abs(slope).max() <= RESIDUAL * total:
            return strengths - strengths.mean(), inverse, chances
        step = inverse @ slope
        # A step of at most 1 keeps Newton's method for this self-concordant-like loss from overshooting.
        strengths = strengths + step / max(1.0, float(np.abs(step).max()))
        if np.ptp(strengths) > LARGEST_STRENGTH:
            return None
    return None


def plackett_luce_influences(units: Units) -> Influences:
    """Return the log worths of Plackett and Luce, with mean 0: each unit ranks its models.

    Ties are Efron's. If worths are infinite, because some models beat all others everywhere, a task is added
    in which each model is as often the first. O(n_units n_models^2) per Newton step.
    """
    values, n_models, note = units.values, units.values.shape[1], ""
    unit, model = np.nonzero(~np.isnan(values))
    place, weight = -values[unit, model], units.weight[unit]
    beats = csr_array(sum(np.greater.outer(row, row).astype(float) for row in values))
    if connected_components(beats, connection="strong")[0] > 1:
        note = (
            "Some models beat all others everywhere: worths include a task in which each is as often first."
        )
        first, other = (axis.ravel() for axis in np.indices((n_models, n_models)))
        model, unit = np.append(model, other), np.append(unit, len(values) + first)
        place = np.append(place, first != other)
        weight = np.append(weight, np.full(n_models**2, 1.0 - 1.0 / n_models))
    rankings = RankingModel(model, unit, place, weight, n_models, "efron")
    worths = minimised(rankings, 0.0).coef
    inverse = rankings.at(worths).hessian(np.zeros(n_models)).inverse()
    raw = -rankings.unit_gradients(worths, unit)[: len(values)] @ inverse
    least = inverse.diagonal() / rankings.total_weight * units.weight.mean()
    return influences_of(units, worths - worths.mean(), raw, least, note)


# The scores of `ScoreTable`, by name.
STATISTICS: dict[str, Callable[[Units], Influences]] = {
    "mean": mean_influences,
    "rank": rank_influences,
    "wins": win_rate_influences,
    "strength": strength_influences,
    "plackett-luce": plackett_luce_influences,
}
