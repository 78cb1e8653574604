"""Paired differences of models over queries, with intervals and tests."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.evaluation.bootstrap import CONFIDENCE, interval, weighted_mean
from rankwise.evaluation.measures import Measure, Measured
from rankwise.metrics.intervals import mean_estimate

TESTS = ("permutation", "wilcoxon")
PERMUTATIONS = 9_999
# Smaller differences are ties.
TIE = 1e-12
SIGNIFICANT = 0.05
# The permutation test keeps all flips in memory; for more queries the signed-rank test is as good.
MAX_PERMUTED = 1000


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
        The two-sided p-value: of the paired test over queries or, for measures of pairs in one ranking, of
        the t-test over rows; NaN for other measures of one query.
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
        """Whether p is at most 0.05 or, without a test, the interval excludes 0."""
        if self.p == self.p:
            return self.p <= SIGNIFICANT
        return self.low > 0 or self.high < 0


def differences(
    measured: Mapping[str, Sequence[Measured]], test: str, seed: int = 0, confidence: float = CONFIDENCE
) -> list[Difference]:
    """Compare the first model with each of the others, measure by measure."""
    ours, *others = measured.items()
    return [
        _difference(name, first, second, test, seed, confidence)
        for name, theirs in others
        for first, second in zip(ours[1], theirs, strict=True)
    ]


def _difference(
    other: str, first: Measured, second: Measured, test: str, seed: int, confidence: float
) -> Difference:
    apart = first.values - second.values
    weight = np.ones(len(apart)) if first.importance is None else first.importance
    weight, apart = weight[~np.isnan(apart)], apart[~np.isnan(apart)]
    mean = weighted_mean(apart, weight)
    if first.units == "queries":
        low, high = mean_estimate(apart, weight).interval(confidence)
        p = p_value(weight * apart, np.zeros(len(apart)), test, seed)
    elif first.estimate is not None and second.estimate is not None:
        estimate = first.estimate - second.estimate
        low, high = estimate.interval(confidence)
        mean, p = estimate.value, estimate.p_value
    else:
        low, high = interval(first.draws - second.draws, confidence)
        p = float("nan")
    better = apart if first.measure.higher_is_better else -apart
    wins, losses = int(np.count_nonzero(better > TIE)), int(np.count_nonzero(better < -TIE))
    return Difference(first.measure, other, mean, low, high, wins, len(apart) - wins - losses, losses, p)


def paired_test(n_queries: int) -> str:
    """Return the name of the default paired test."""
    return "permutation" if n_queries <= MAX_PERMUTED else "wilcoxon"


def p_value(a: FloatArray, b: FloatArray, test: str, seed: int) -> float:
    """Return the two-sided p-value of the mean difference over the queries for which both are defined.

    "permutation" flips the sign of each query's difference, in all ways if these are few and in 9,999 random
    ways otherwise; "wilcoxon" is the signed-rank test. NaN for fewer than two queries.

    Examples
    --------
    >>> p_value(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.2, 0.3, 0.4, 0.5]), "permutation", seed=0)
    0.125
    """
    from scipy.stats import permutation_test, wilcoxon

    difference = (a - b)[~np.isnan(a - b)]
    if len(difference) < 2:
        return float("nan")
    if not difference.any():
        return 1.0
    if test == "wilcoxon":
        with warnings.catch_warnings():  # older versions of scipy say which approximation they use
            warnings.simplefilter("ignore", UserWarning)
            return float(wilcoxon(difference).pvalue)
    result = permutation_test(
        (difference,),
        lambda values, axis: values.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        random_state=np.random.default_rng(seed),
    )
    return float(result.pvalue)
