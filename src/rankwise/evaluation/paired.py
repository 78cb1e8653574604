"""Paired differences of models, with intervals and tests that agree, corrected for the number of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.evaluation.bootstrap import CONFIDENCE, interval
from rankwise.evaluation.intervals import Estimate
from rankwise.evaluation.measures import Measure, Measured, estimate_over_queries

# Smaller differences are ties.
TIE = 1e-12


@dataclass(frozen=True)
class Difference:
    """A measure of the first model minus that of another, over the queries for which both are defined.

    Attributes
    ----------
    measure : Measure
    other : str
        The name of the other model.
    mean, low, high : float
        The mean difference, and the ends of its interval.
    wins, ties, losses : int
        The numbers of queries on which the first model is better, equal and worse.
    p : float
        The two-sided p-value of the t-test of the mean difference, corrected for the number of models; NaN
        without a test, as for measures of one list.
    """

    measure: Measure
    other: str
    mean: float
    low: float
    high: float
    wins: int
    ties: int
    losses: int
    p: float

    @property
    def gain(self) -> float:
        """The difference, positive if the first model is better."""
        return self.mean if self.measure.higher_is_better else -self.mean

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0: the same as p <= 1 - confidence."""
        return self.low > 0 or self.high < 0

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers with the names of the measure and of the other model, for JSON."""
        return vars(self) | {"measure": self.measure.key}


def differences(
    measured: Mapping[str, Sequence[Measured]],
    confidence: float = CONFIDENCE,
    correction: str | None = "holm",
) -> list[Difference]:
    """Compare the first model with each of the others, measure by measure.

    The differences by one measure are corrected together.
    """
    (_, ours), *others = measured.items()
    names = [name for name, _ in others]
    by_measure = [
        _by_measure(first, dict(zip(names, theirs, strict=True)), confidence, correction)
        for first, *theirs in zip(ours, *(found for _, found in others), strict=True)
    ]
    return [one for listed in zip(*by_measure, strict=True) for one in listed]


def _by_measure(
    first: Measured, others: Mapping[str, Measured], confidence: float, correction: str | None
) -> list[Difference]:
    """Compare the first model with each of the others by one measure."""
    estimates = {name: difference_estimate(first, second) for name, second in others.items()}
    bounds = first.measure.bounds
    p = np.array([np.nan if one is None else one.p_value(bounds) for one in estimates.values()])
    factors = np.ones(len(p)) if correction is None else holm_factors(p)
    found = []
    for (name, estimate), factor, corrected in zip(
        estimates.items(), factors, np.minimum(1.0, factors * p), strict=True
    ):
        level = 1 - (1 - confidence) / factor
        apart = first.values - others[name].values
        apart = apart[~np.isnan(apart)]
        if estimate is None:
            mean = float(apart.mean()) if len(apart) else float("nan")
            ends = interval(first.draws - others[name].draws, level)
        else:
            mean, ends = estimate.value, estimate.difference_interval(level, bounds)
        counts = _wins_ties_losses(apart if first.measure.higher_is_better else -apart)
        found.append(Difference(first.measure, name, mean, *ends, *counts, float(corrected)))
    return found


def _wins_ties_losses(gains: FloatArray) -> tuple[int, int, int]:
    wins, losses = int(np.count_nonzero(gains > TIE)), int(np.count_nonzero(gains < -TIE))
    return wins, len(gains) - wins - losses, losses


def difference_estimate(first: Measured, second: Measured) -> Estimate | None:
    """Return the first model minus the second, over the queries for which both are defined.

    None for measures of one list, of which only resamples are known.
    """
    if first.units == "queries":
        apart = first.values - second.values
        apart = np.where(np.abs(apart) <= TIE, 0.0, apart)
        return estimate_over_queries(first.measure, apart, first.importance, first.cluster)
    if first.estimate is None or second.estimate is None:
        return None
    return first.estimate - second.estimate


def holm_factors(p: FloatArray) -> FloatArray:
    """Return the factors by which p-values are multiplied in the method of Holm (1979).

    The probability that any of several true hypotheses has a corrected p-value of at most 0.05 is at most
    0.05, however the tests depend on each other. NaN is not a test, and has the number of all as its factor.

    Examples
    --------
    >>> p = np.array([0.04, 0.01, 0.03])
    >>> (holm_factors(p) * p).round(6).tolist()
    [0.06, 0.03, 0.06]
    """
    factors = np.full(len(p), float(len(p)))
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    own = np.arange(len(order), 0, -1.0)
    largest = np.maximum.accumulate(own * p[order])
    factors[order] = np.divide(largest, p[order], out=own, where=p[order] > 0)
    return factors
