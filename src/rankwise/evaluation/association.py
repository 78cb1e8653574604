"""Concordance of scores with times or labels as in R's package survival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_codes, as_vector, check_choice
from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.types import FloatArray, FloatVector, IntArray
from rankwise.evaluation.concordance import as_survival, holds_survival
from rankwise.evaluation.intervals import Estimate
from rankwise.losses.pair_sums import partner_sums
from rankwise.preferences import Preferences
from rankwise.preferences.base import sum_by_row
from rankwise.preferences.ranking import Ranking
from rankwise.preferences.survival import lives

COUNTS = ("concordant", "discordant", "tied_x", "tied_y", "tied_xy")
INDEX, TAU_A, TAU_B, GAMMA, SOMERS_D = (
    "concordance",
    "Kendall's tau-a",
    "Kendall's tau-b",
    "Goodman and Kruskal's gamma",
    "Somers' D",
)


class _AtRisk(NamedTuple):
    """By row: the weight at risk at its time, Kaplan-Meier estimates just before it, and the whole weight."""

    survival: FloatVector
    uncensored: FloatVector
    at_risk: FloatVector
    total: float


TIME_WEIGHTS: dict[str, Callable[[_AtRisk], FloatVector]] = {
    "n": lambda risk: np.ones(len(risk.at_risk)),
    "S": lambda risk: risk.total * risk.survival / risk.at_risk,
    "S/G": lambda risk: risk.total * risk.survival / (risk.uncensored * risk.at_risk),
    "n/G2": lambda risk: 1 / risk.uncensored**2,
    "I": lambda risk: 1 / risk.at_risk,
}


class Coefficient(NamedTuple):
    """A coefficient of association with its standard error and the ends of its interval."""

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, repr=False)
class Association(HasTable):
    """Weights of pairs by their order in time and score, and the coefficients that follow from them.

    Attributes
    ----------
    concordant, discordant : float
        The weights of the comparable pairs that scores put in the right and in the wrong order.
    tied_x, tied_y, tied_xy : float
        Those of pairs tied in the score only, in the time only, and in both.
    estimate : float
        (concordant + tied_x / 2) / (concordant + discordant + tied_x).
    variance : float
        The sum of the squares of `dfbeta`.
    dfbeta : array of shape (n_rows,) or (n_clusters,)
        By how much a row, or a cluster in the order of sorted names, changes the estimate, to first order.
        The product of those of two scores is the covariance of their estimates.
    by_row : array of shape (n_rows, 5)
        The weights of the pairs of each row, of the five kinds; a pair is there twice.
    """

    concordant: float
    discordant: float
    tied_x: float
    tied_y: float
    tied_xy: float
    by_row: FloatArray
    share: FloatVector
    n_trials: int
    cluster: IntArray | None = None
    confidence: float = 0.95

    @property
    def estimate(self) -> float:
        """The concordance."""
        return self._estimates[INDEX].value

    @cached_property
    def dfbeta(self) -> FloatVector:
        """The influence of each row, or of each cluster, on the concordance."""
        influence = self._estimates[INDEX].influence
        if self.cluster is None:
            return influence
        return sum_by_row(self.cluster, influence, int(self.cluster.max()) + 1)

    @property
    def variance(self) -> float:
        """The infinitesimal jackknife variance of the concordance."""
        return float(self.dfbeta @ self.dfbeta)

    @property
    def tau_a(self) -> Coefficient:
        """Concordant less discordant pairs, as a fraction of all pairs."""
        return self._coefficient(TAU_A)

    @property
    def tau_b(self) -> Coefficient:
        """The same over the root of the product of the pairs not tied in time and those not in score."""
        return self._coefficient(TAU_B)

    @property
    def gamma(self) -> Coefficient:
        """The same as a fraction of the pairs without ties."""
        return self._coefficient(GAMMA)

    @property
    def somers_d(self) -> Coefficient:
        """The same as a fraction of the pairs not tied in time: 2 concordance - 1."""
        return self._coefficient(SOMERS_D)

    @cached_property
    def _estimates(self) -> dict[str, Estimate]:
        """The coefficients with the influence of each row; pairs tied in time are in no index of survival."""
        with np.errstate(invalid="ignore", divide="ignore"):
            counts = np.array([getattr(self, name) for name in COUNTS])
            excess = counts[0] - counts[1]
            by_row = self.by_row[:, 0] - self.by_row[:, 1]
            found = {}
            for name, used in ((TAU_A, [0, 1, 2, 3, 4]), (GAMMA, [0, 1]), (SOMERS_D, [0, 1, 2])):
                whole, of_row = counts[used].sum(), self.by_row[:, used].sum(axis=1)
                value = float(np.divide(excess, whole))
                found[name] = Estimate(value, (by_row - value * of_row) / whole)
            untied = [(counts[use].sum(), self.by_row[:, use].sum(axis=1)) for use in ([0, 1, 2], [0, 1, 3])]
            root = float(np.sqrt(untied[0][0] * untied[1][0]))
            value = float(np.divide(excess, root))
            halves = sum(of_row / whole for whole, of_row in untied) / 2
            found[TAU_B] = Estimate(value, by_row / root - value * halves)
        somers_d = found[SOMERS_D]
        return {INDEX: Estimate((somers_d.value + 1) / 2, somers_d.influence / 2), **found}

    def _coefficient(self, name: str) -> Coefficient:
        estimate = replace(self._estimates[name], share=self.share, n_trials=self.n_trials)
        if self.cluster is not None:
            estimate = estimate.by_cluster(self.cluster)
        if np.isnan(estimate.value):
            return Coefficient(name, *[float("nan")] * 4)
        bounds = (0.0, 1.0) if name == INDEX else (-1.0, 1.0)
        error = float(np.sqrt(np.sum(estimate.influence**2)))
        return Coefficient(name, estimate.value, error, *estimate.interval(self.confidence, bounds))

    @property
    def table(self) -> ResultTable[Coefficient]:
        """The coefficients with their intervals."""
        columns = [
            Column("name", title="", left=True),
            Column("estimate", format=".4f"),
            Column("standard_error", format=".4f", title="error"),
            Column("low", format=".4f"),
            Column("high", format=".4f"),
        ]
        note = ", ".join(f"{name} {getattr(self, name):,.10g}" for name in COUNTS)
        return ResultTable([self._coefficient(name) for name in self._estimates], columns, note=note)


def concordance(
    y: Any,
    scores: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    cluster: ArrayLike | None = None,
    entry: ArrayLike | None = None,
    time_weight: Literal["n", "S", "S/G", "n/G2", "I"] = "n",
    reverse: bool = False,
    confidence: float = 0.95,
) -> Association:
    """Return the concordance with times or labels as R has it, with counts, variance and influences.

        C = sum of k(t_i) v_i v_j ([s_i < s_j] + [s_i = s_j] / 2) / sum of k(t_i) v_i v_j

    over comparable pairs, with case weights v. Row i is the earlier one; its event was observed. The counts,
    the variance, which is the infinitesimal jackknife, and `dfbeta` equal those of `survival::concordance`.
    Kendall's tau-a and tau-b, gamma and Somers' D follow from the same counts. No pair is listed: O(m log m).

    Times that differ by rounding are not merged; R's ``timefix`` does.

    Parameters
    ----------
    y : array of labels, Preferences.from_survival, pair (event, time), or structured array with these fields
        Rows with equal labels, or with events at equal times, are tied.
    scores : array of shape (m,)
        A higher score means a longer time, or a higher label.
    sample_weight, strata : arrays of shape (m,), optional
        Case weights; rows of different strata are not compared. Those of `Preferences` are its own.
    cluster : array of shape (m,), optional
        Rows of one cluster are one unit of the variance.
    entry : array of shape (m,), optional
        The time from which each row was under observation: it is compared only with events after that. If a
        patient has several rows, one per interval, the patient is the cluster.
    time_weight : {"n", "S", "S/G", "n/G2", "I"}
        k(t): 1; the survival S(t-) times the weight of all rows, over the weight n(t) at risk; the same over
        G(t-), the chance to be uncensored; 1 / G(t-)^2, as in Uno's index; 1 / n(t), by stratum. Only
        "n" is for rows with an `entry`.
    reverse : bool
        Whether a higher score means a shorter time, such as that of a risk.
    confidence : float
        The level of the intervals of coefficients. They are Wilson's by quantiles of Student's t.

    Returns
    -------
    Association

    Examples
    --------
    >>> found = concordance(([True, False, True, True], [1.0, 2.0, 3.0, 4.0]), [0.1, 0.9, 0.4, 0.3])
    >>> found.estimate, found.concordant, found.discordant
    (0.75, 3.0, 1.0)
    >>> round(concordance([1, 2, 2, 3, 4, 5], [1, 3, 2, 2, 5, 4]).tau_b.estimate, 3)
    0.643
    """
    check_choice(time_weight, "time_weight", tuple(TIME_WEIGHTS))
    ranking = _ranking(y, sample_weight, strata)
    values = as_vector(scores, "scores", len(ranking))
    if entry is not None and time_weight != "n":
        raise ValueError(f"With entry, time_weight must be 'n'; got {time_weight!r}.")
    entries = None if entry is None else _entries(entry, ranking)
    by_row = _counts_by_row(ranking, -values if reverse else values, time_weight, entries)
    codes = None if cluster is None else as_codes(cluster, "cluster", len(ranking))[1]
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    weight = _weights(ranking)
    n_trials = max(1, min(len(ranking) // 2, int(ranking.event.sum())))  # type: ignore[union-attr]
    totals = dict(zip(COUNTS, (by_row.sum(axis=0) / 2).tolist(), strict=True))
    return Association(
        **totals, by_row=by_row, share=weight, n_trials=n_trials, cluster=codes, confidence=confidence
    )


def _ranking(y: Any, sample_weight: Any, strata: Any) -> Ranking:
    """Return times or labels as a ranking with events."""
    if isinstance(y, Preferences):
        if sample_weight is not None or strata is not None:
            raise ValueError(
                "sample_weight and strata are for labels and times; y has weights and strata of its own."
            )
        return as_survival(y, "y")
    if holds_survival(y):
        plain = as_survival(y, "y")
        return lives(plain.event, plain.values, sample_weight, strata)  # type: ignore[arg-type]
    labels = as_vector(y, "y")
    return lives(np.ones(len(labels)), labels, sample_weight, strata)


def _entries(entry: ArrayLike, ranking: Ranking) -> FloatVector:
    """Return the times at which rows came under observation."""
    entries = as_vector(entry, "entry", len(ranking))
    if not (entries < ranking.values).all():  # type: ignore[operator]
        raise ValueError("entry must be below the time of each row.")
    return entries


def _counts_by_row(
    ranking: Ranking, scores: FloatVector, time_weight: str, entries: FloatVector | None
) -> FloatArray:
    """Return the weights of each row's pairs of the five kinds."""
    ranks = np.unique(scores, return_inverse=True)[1].astype(np.float64)  # a margin of 1/2 is exact
    moment = _time_weights(ranking, time_weight)
    ordered = _ordered(ranking, ranks, moment)
    if entries is not None and (moment * _weights(ranking)).any():
        ordered -= _entered_later(ranking, ranks, moment, entries)
    tied_in_time = moment * _tied(ranking, ranking.labels)
    tied_in_both = moment * _tied(ranking, ranking.labels, ranks)
    return np.column_stack([ordered, tied_in_time - tied_in_both, tied_in_both])


def _ordered(ranking: Ranking, ranks: FloatVector, moment: FloatVector) -> FloatArray:
    """Return the weights of each row's concordant and discordant pairs, and those tied in score alone."""
    scale = ranking.scaled.largest_weight[ranking.order.query_of_row] ** 2

    def sums(values: FloatVector | None, margin: float) -> FloatVector:
        found = partner_sums(ranking, values, moment, margin=margin)
        return scale * (moment * found.up + found.moment_down)

    wrong, wrong_or_tied, total = sums(ranks, 0.0), sums(ranks, 0.5), sums(None, 1.0)
    return np.column_stack([total - wrong_or_tied, wrong, wrong_or_tied - wrong])


def _entered_later(
    ranking: Ranking, ranks: FloatVector, moment: FloatVector, entries: FloatVector
) -> FloatArray:
    """Return the same of pairs of an event and a row that was not yet under observation.

    These are the pairs of the rows with copies of them that are censored at their entries, beyond the pairs
    of events with each other.
    """
    died = np.flatnonzero(moment * _weights(ranking))
    rows = np.concatenate([died, np.arange(len(ranking))])
    times = np.concatenate([ranking.values[died], entries])  # type: ignore[index]
    is_event = np.arange(len(rows)) < len(died)
    weight, groups = _weights(ranking)[rows], ranking.groups()[rows]
    both = lives(is_event, times, weight, groups)
    events = lives(is_event[is_event], times[is_event], weight[is_event], groups[is_event])
    by_row = _ordered(both, ranks[rows], np.where(is_event, moment[rows], 0.0))
    by_row[is_event] -= _ordered(events, ranks[died], moment[died])
    return np.stack([sum_by_row(rows, column, len(ranking)) for column in by_row.T], axis=1)


def _tied(ranking: Ranking, *columns: Any) -> FloatVector:
    """Return the weight of each event's pairs with events of its stratum that equal it in all columns."""
    weight = _weights(ranking) * ranking.event  # type: ignore[operator]
    codes = ranking.groups()
    for column in columns:
        number = column.astype(np.int64)
        codes = np.unique(codes * (number.max() + 1) + number, return_inverse=True)[1]
    return weight * (np.bincount(codes, weight)[codes] - weight)


def _weights(ranking: Ranking) -> FloatVector:
    return np.ones(len(ranking)) if ranking.weight is None else ranking.weight


def _time_weights(ranking: Ranking, kind: str) -> FloatVector:
    """Return the time weight of each row's time; 0 for censored rows. R has 1 if a stratum has one event."""
    event: Any = ranking.event > 0  # type: ignore[operator]
    found = event.astype(np.float64)
    if kind == "n":
        return found
    groups, weight = ranking.groups(), _weights(ranking)
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        events = rows[event[rows]]
        if len(events) > 1:
            risk = _at_risk(ranking.values[rows], event[rows], weight[rows])
            found[events] = TIME_WEIGHTS[kind](risk)
    return found


def _at_risk(times: FloatVector, event: Any, weight: FloatVector) -> _AtRisk:
    """Return the parts of time weights, per event; events at a time precede censoring at it."""
    moments, codes = np.unique(times, return_inverse=True)
    died, left = (sum_by_row(codes, weight * part, len(moments)) for part in (event, ~event))
    at_risk = np.cumsum((died + left)[::-1])[::-1]

    def before(gone: FloatVector, present: FloatVector) -> FloatVector:
        stays = np.divide(present - gone, present, where=present > 0, out=np.ones(len(moments)))
        return np.concatenate([[1.0], np.cumprod(stays)[:-1]])[codes[event]]

    return _AtRisk(
        before(died, at_risk), before(left, at_risk - died), at_risk[codes[event]], float(weight.sum())
    )
