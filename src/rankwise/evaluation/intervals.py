"""Standard errors and confidence intervals of measures: one place for all of them.

A measure is estimated from independent units: queries, rows, or groups of rows. Its error follows from the
influence of each unit, the derivative of the estimate by the weight of the unit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rankwise.core.types import FloatArray, FloatVector, IntArray
from rankwise.losses.pair_sums import partner_sums
from rankwise.preferences import Preferences

# Groups of rows joined by pairs are the units, unless one has more than this fraction of the pairs.
LARGEST_GROUP = 0.1
TINY = np.finfo(np.float64).tiny
# A standard error below this fraction of the estimate is one of equal values.
ROUNDING = 1e-12
# The variance of n values with bounds is raised by this multiple of 1 / n: few values of a skewed measure
# often lack the rare large ones.
RARE = 1.5
# The excess kurtosis needs four values.
FEWEST_FOR_KURTOSIS = 4


class Moments(NamedTuple):
    """Sums over the units of one or more samples; the shares of the units of a sample sum to 1.

    Attributes
    ----------
    n_units : array of shape (n_samples,)
        The number of units.
    share2, share3 : arrays of shape (n_samples,)
        The sums of squares and of cubes of the shares.
    squares : array of shape (n_samples,)
        The sum of squared influences.
    kurtosis : array of shape (n_samples,)
        The mean fourth power of the values of the units, measured from the estimate, over the square of their
        mean square.
    """

    n_units: FloatArray
    share2: FloatArray
    share3: FloatArray
    squares: FloatArray
    kurtosis: FloatArray

    @classmethod
    def of(cls, influence: FloatArray, share: FloatArray, sample: IntArray | None = None) -> Moments:
        """Return the sums of units with these influences and shares; units without a share are left out."""
        kept = share > 0
        influence, share = influence[kept], share[kept]
        sample = np.zeros(len(share), dtype=np.int64) if sample is None else sample[kept]
        count = np.bincount(sample).astype(np.float64)

        def sums(values: FloatArray) -> FloatArray:
            return np.bincount(sample, values, len(count)).astype(np.float64)

        share = share / sums(share)[sample]
        values = influence / share
        second, fourth = sums(values**2) / count, sums(values**4) / count
        kurtosis = np.divide(fourth, second**2, out=np.full(len(count), 3.0), where=second**2 > TINY)
        return cls(count, sums(share**2), sums(share**3), sums(influence**2), kurtosis)

    @property
    def variances(self) -> FloatArray:
        """The variance of each sample's part of the estimate, NaN for a sample of one unit.

        It is unbiased if the values of the units have equal variances: for n units with equal shares, it is
        the sum of squared influences times n / (n - 1).
        """
        expected = self.share2 - 2 * self.share3 + self.share2**2
        return self.squares * self.share2 / np.where((self.n_units > 1) & (expected > 0), expected, np.nan)

    @property
    def degrees(self) -> FloatArray:
        """The degrees of freedom of each variance.

        The effective number of units is that of Kish, less 1. If the values have an excess kurtosis k, a
        variance is as uncertain as one of 2 / (2 + k) times as many normal values.
        """
        n = self.n_units
        effective = np.where(n > 1, 1 / self.share2 - 1, np.nan)
        enough = n >= FEWEST_FOR_KURTOSIS
        m = np.where(enough, n, FEWEST_FOR_KURTOSIS)
        excess = (m - 1) / ((m - 2) * (m - 3)) * ((m + 1) * (self.kurtosis - 3) + 6)
        tails = np.where(enough, np.maximum(excess, 0.0), 0.0)
        return np.maximum(effective * 2 / (2 + tails), np.minimum(1.0, n - 1))


@dataclass(frozen=True)
class Estimate:
    """An estimate and the influence of each independent unit on it.

    Attributes
    ----------
    value : float
    influence : array of shape (n_units,)
        By how much the estimate changes per unit of additional weight; the influences sum to 0.
    share : array of shape (n_units,), optional
        The weight of each unit, such as the number of its pairs; by default all units have the same.
    sample : array of int of shape (n_units,), optional
        The sample of each unit, such as its class, if the units are several samples of given sizes.
    n_trials : float, optional
        The number of independent values, such as disjoint pairs; by default the effective number of units.
    """

    value: float
    influence: FloatArray
    share: FloatArray | None = None
    sample: IntArray | None = None
    n_trials: float | None = None

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the estimate of the difference on the same units."""
        return replace(self, value=self.value - other.value, influence=self.influence - other.influence)

    def by_cluster(self, cluster: IntArray) -> Estimate:
        """Return the estimate whose units are clusters of the units.

        Clusters of units of one sample, and clusters of several, are samples of their own.
        """
        cluster, sample = np.unique(cluster, return_inverse=True)[1], None
        if self.sample is not None:
            kinds = np.zeros((int(cluster.max()) + 1, int(self.sample.max()) + 1), dtype=np.int64)
            kinds[cluster, self.sample] = 1
            sample = np.unique(kinds, axis=0, return_inverse=True)[1].ravel()
            if np.bincount(sample).min() < 2:
                sample = None
        summed: Any = np.bincount(cluster, self.influence)
        shares: Any = np.bincount(cluster, self.relative_share)
        n_trials = None if self.n_trials is None else self.n_trials * len(summed) / len(self.influence)
        return Estimate(self.value, summed, shares, sample, n_trials)

    @property
    def relative_share(self) -> FloatArray:
        """The share of each unit; they sum to 1."""
        share = np.ones(len(self.influence)) if self.share is None else self.share
        return share / share.sum()

    @property
    def moments(self) -> Moments:
        """Sums over the units of each sample."""
        return Moments.of(self.influence, self.relative_share, self.sample)

    @property
    def standard_error(self) -> float:
        """The square root of the sum of squared influences, with n / (n - 1) for n equal units; NaN for one.

        With several samples, the sums of each have their own n, as in DeLong et al. (1988).
        """
        variances = self.moments.variances
        return float(np.sqrt(variances.sum())) if len(variances) else float("nan")

    @property
    def degrees(self) -> float:
        """The degrees of freedom of the standard error; of several samples, those of Satterthwaite."""
        moments = self.moments
        variances, degrees = moments.variances, moments.degrees
        if len(variances) == 1 or not variances.sum() > 0:
            return float(degrees.sum())
        return float(variances.sum() ** 2 / np.sum(variances**2 / degrees))

    @property
    def is_constant(self) -> bool:
        """Whether all units have the same value, so that they do not tell how far other units may be."""
        return bool(self.standard_error <= ROUNDING * abs(self.value))

    @property
    def trials(self) -> float:
        """The number of independent values."""
        return float(1 / self.moments.share2.max()) if self.n_trials is None else self.n_trials

    def interval(self, confidence: float, bounds: tuple[float, float] | None = None) -> tuple[float, float]:
        """Return the ends of the interval by quantiles of Student's t, NaN if there are too few units.

        If the measure has bounds, it is Wilson's score interval, and stays within them. It is a little longer
        for few units, whose values may be skewed. If all units have the same value, the interval follows from
        the bounds; without bounds, it is NaN.
        """
        error = self.standard_error
        if np.isnan(error):
            return float("nan"), float("nan")
        if self.is_constant:
            return interval_of_equal_values(self.value, self.trials, confidence, bounds)
        if bounds is None:
            return t_interval(self.value, error, self.degrees, confidence)
        return wilson_interval(self.value, self._error_within(bounds), self.degrees, confidence, bounds)

    def _error_within(self, bounds: tuple[float, float]) -> float:
        """Return the standard error with a raised variance, at most that of as many values at the bounds."""
        variance = self.standard_error**2
        raised = variance * (1 + RARE * float(self.moments.share2.max()))
        largest = (self.value - bounds[0]) * (bounds[1] - self.value) / self.trials
        return float(np.sqrt(max(variance, min(raised, largest))))

    def difference_interval(
        self, confidence: float, bounds: tuple[float, float] | None = None
    ) -> tuple[float, float]:
        """Return the ends of the interval of a difference of two measures with the given bounds.

        It is that of Student's t, cut at the largest difference, and contains 0 if and only if the p-value is
        above 1 - `confidence`.
        """
        if bounds is None:
            return self.interval(confidence)
        span = bounds[1] - bounds[0]
        low, high = self.interval(confidence, (-span, span) if self.is_constant else None)
        return max(low, -span), min(high, span)

    def p_value(self, bounds: tuple[float, float] | None = None) -> float:
        """Return the two-sided p-value of the hypothesis that the estimated quantity is 0.

        `bounds` are those of the measure of whose difference this is the estimate.
        """
        from scipy.special import stdtr

        error = self.standard_error
        if self.value == 0 and not np.isnan(error):
            return 1.0
        if np.isnan(error) or (self.is_constant and bounds is None):
            return float("nan")
        if self.is_constant and bounds is not None:
            span = bounds[1] - bounds[0]
            return float(min(1.0, 2 * (span / (span + abs(self.value))) ** self.trials))
        return float(2 * stdtr(self.degrees, -abs(self.value) / error))


def t_interval(value: float, error: float, degrees: float, confidence: float) -> tuple[float, float]:
    """Return the ends of the interval of Student's t.

    Examples
    --------
    >>> [round(end, 3) for end in t_interval(0.5, 0.1, 9, 0.95)]
    [0.274, 0.726]
    """
    from scipy.special import stdtrit

    half_width = float(stdtrit(degrees, (1 + confidence) / 2)) * error
    return value - half_width, value + half_width


def wilson_interval(
    value: float, error: float, degrees: float, confidence: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Return the ends of Wilson's score interval of a mean with bounds, for an effective number of trials.

    The variance of the mean m is taken as proportional to m (1 - m) on the scale of the bounds, as for
    fractions, and Student's t replaces the normal distribution (Dean and Pagano 2015).

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(0.9, 0.06, 20, 0.95, (0.0, 1.0))]
    [0.711, 0.971]
    """
    from scipy.special import stdtrit

    low, high = bounds
    fraction, error = (value - low) / (high - low), error / (high - low)
    stretch = (float(stdtrit(degrees, (1 + confidence) / 2)) * error) ** 2 / (fraction * (1 - fraction))
    half_width = np.sqrt(stretch * fraction * (1 - fraction) + stretch**2 / 4)
    ends = (fraction + stretch / 2 + np.array([-half_width, half_width])) / (1 + stretch)
    return tuple((low + (high - low) * np.clip(ends, 0.0, 1.0)).tolist())


def interval_of_equal_values(
    value: float, n_trials: float, confidence: float, bounds: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the ends of the interval of a mean if n values are equal; NaN without bounds.

    If another value has the probability p, the probability of n equal values is (1 - p)^n. Other values are
    as far as the bounds at most.

    Examples
    --------
    >>> [round(end, 3) for end in interval_of_equal_values(1.0, 10, 0.95, (0.0, 1.0))]
    [0.692, 1.0]
    """
    if bounds is None:
        return float("nan"), float("nan")
    others = 1 - ((1 - confidence) / 2) ** (1 / n_trials)
    return value - others * (value - bounds[0]), value + others * (bounds[1] - value)


def mean_estimate(values: FloatArray, weight: FloatArray | None = None) -> Estimate:
    """Return the weighted mean of independent values, such as those of queries; NaN is left out.

    Examples
    --------
    >>> found = mean_estimate(np.array([0.1, 0.2, 0.3, np.nan]))
    >>> round(found.value, 3), round(found.standard_error, 4), found.degrees
    (0.2, 0.0577, 2.0)
    """
    known = ~np.isnan(values)
    values, weight = values[known], (np.ones(len(values)) if weight is None else weight)[known]
    total = float(weight.sum())
    if total <= 0:
        return Estimate(float("nan"), np.empty(0))
    mean = float(weight @ values) / total
    return Estimate(mean, weight * (values - mean) / total, weight)


def error_estimate(y: Preferences, scores: FloatVector, average: str = "queries") -> Estimate:
    """Return the fraction of pairs in the wrong order, ties counting one half; the units are rows.

    Pairs that form many groups, or that were given with groups, have the groups as units. The derivatives by
    the weights of rows are those of the infinitesimal jackknife, the Hajek projection of a U-statistic. The
    rows of two classes are two samples, so that the standard error is DeLong's. O(m log m) for a ranking.

    Examples
    --------
    >>> found = error_estimate(Preferences.from_scores([3, 2, 1, 0]), np.array([0.1, 0.4, 0.2, 0.0]))
    >>> round(found.value, 4), found.influence.round(3).tolist()
    (0.3333, [0.167, 0.0, 0.0, -0.167])
    """
    factor = y.row_factor(average)
    wrong, total = (factor * part for part in sums_by_row(y, scores))
    if average == "pairs" or np.ndim(factor) == 0:
        error: Any = wrong.sum() / total.sum()
    else:
        query = y.groups()
        error = (np.bincount(query, wrong) / np.maximum(np.bincount(query, total), TINY))[query]
    influence = wrong - error * total
    units = units_of(y)
    if units is not None:  # a pair lies within a group, and both of its rows have counted it
        summed: Any = np.bincount(units, influence / 2)
        share: Any = np.bincount(units, total)
        return Estimate(float(wrong.sum()) / 2, summed, share)
    return estimate_over_rows(y, float(wrong.sum()) / 2, influence)


def estimate_over_rows(y: Preferences, value: float, influence: FloatArray) -> Estimate:
    """Return an estimate whose units are rows: one sample, or two.

    The two samples are the two classes of labels without queries, or rows with an observed event and censored
    rows. Of n rows, n / 2 disjoint pairs are independent, and of two samples at most as many as the smaller
    class has rows, or as there are events.
    """
    n_rows, share = len(influence), getattr(y, "weight", None)
    if y.event is not None:
        n_trials = min(n_rows // 2, int(y.event.sum()))
        sample = None if n_rows - y.event.sum() < 2 else y.event.astype(np.int64)
        return Estimate(value, influence, share, sample, n_trials)
    if y.labels is None or y.has_queries:
        return Estimate(value, influence, share, n_trials=n_rows // 2)
    classes, sample = np.unique(y.labels, return_inverse=True)
    if len(classes) != 2:
        return Estimate(value, influence, share, n_trials=n_rows // 2)
    return Estimate(value, influence, share, sample, n_trials=int(np.bincount(sample).min()))


def sums_by_row(y: Preferences, scores: FloatVector) -> tuple[FloatVector, FloatVector]:
    """Return the weight of the pairs of each row: in the wrong order, with half of the ties, and of all."""
    # Ranks are integers, so a margin of 1/2 is exact.
    ranks = np.unique(scores, return_inverse=True)[1].astype(np.float64)
    given: tuple[tuple[Any, float], ...] = ((ranks, 0.0), (ranks, 0.5), (None, 1.0))
    wrong, wrong_or_tied, total = (
        sums.up + sums.down for sums in (partner_sums(y, values, margin=margin) for values, margin in given)
    )
    return (wrong + wrong_or_tied) / 2, total


def units_of(y: Preferences) -> IntArray | None:
    """Return the group of each row if groups are the independent units, None if rows are.

    The queries of a ranking are not groups in this sense.
    """
    if y.has_queries or y.labels is not None:
        return None
    groups = y.groups()
    if getattr(y, "row_groups", None) is not None:
        return groups
    weight = np.bincount(groups, y.partner_weights()[0])
    return groups if weight.max() <= LARGEST_GROUP * weight.sum() else None


def clustered(estimate: Estimate, y: Preferences, cluster: IntArray | None) -> Estimate:
    """Return the estimate over rows, or groups of pairs, with clusters of rows as the units, if any."""
    if cluster is None:
        return estimate
    units = units_of(y)
    if units is None:
        return estimate.by_cluster(cluster)
    return estimate.by_cluster(cluster_of_units(cluster, units, "group"))


def cluster_of_units(cluster: IntArray, unit: IntArray, name: str) -> IntArray:
    """Return the cluster of each unit of rows, such as a query; refuse a unit in two clusters.

    Examples
    --------
    >>> cluster_of_units(np.array([1, 1, 0]), np.array([0, 0, 1]), "query")
    array([1, 0])
    """
    found = np.zeros(int(unit.max()) + 1, dtype=np.int64)
    found[unit] = cluster
    if (found[unit] != cluster).any():
        raise ValueError(f"cluster must be the same for all rows of a {name}; a {name} is in two clusters.")
    return found
