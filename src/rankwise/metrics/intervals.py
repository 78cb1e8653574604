"""Standard errors and confidence intervals of measures: one place for all of them.

A measure is estimated from independent units: queries, rows, or groups of rows. Its error follows from the
influence of each unit, the derivative of the estimate by the weight of the unit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankwise.core.types import FloatArray, FloatVector, IntArray
from rankwise.losses.pair_sums import partner_sums
from rankwise.preferences import Preferences

# Groups of rows joined by pairs are the units, unless one has more than this fraction of the pairs.
LARGEST_GROUP = 0.1
TINY = np.finfo(np.float64).tiny
# A fraction of the way between bounds that is closer to one of them than this is at it.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """An estimate and the influence of each independent unit on it.

    Attributes
    ----------
    value : float
    influence : array of shape (n_units,)
        By how much the estimate changes per unit of additional weight; the influences sum to 0.
    n_effective : float
        The (effective) number of units.
    sample : array of int of shape (n_units,), optional
        The sample of each unit, such as its class, if the units are several samples of given sizes.
    n_trials : float, optional
        The number of independent values, such as disjoint pairs; by default that of the units.
    """

    value: float
    influence: FloatArray
    n_effective: float
    sample: IntArray | None = None
    n_trials: float | None = None

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the estimate of the difference on the same units."""
        n_effective = min(self.n_effective, other.n_effective)
        return Estimate(self.value - other.value, self.influence - other.influence, n_effective, self.sample)

    @property
    def standard_error(self) -> float:
        """The square root of the sum of squared influences, with n / (n - 1) for n units; NaN for one.

        With several samples, the sums of each have its own n, as in DeLong et al. (1988).
        """
        return float(np.sqrt(self._variances[0].sum()))

    @property
    def degrees(self) -> float:
        """The degrees of freedom of the standard error; of several samples, those of Satterthwaite."""
        variances, degrees = self._variances
        if len(variances) == 1 or not variances.sum() > 0:
            return float(degrees.sum())
        return float(variances.sum() ** 2 / np.sum(variances**2 / degrees))

    @property
    def _variances(self) -> tuple[FloatArray, FloatArray]:
        """The variance of each sample, NaN if it has one unit, and its degrees of freedom."""
        sizes, squares = self._sums
        degrees = np.where(sizes > 1, sizes - 1, np.nan)
        return sizes / degrees * squares, degrees

    @property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """The number of units of each sample, and the sum of their squared influences."""
        if self.sample is None:
            return np.array([self.n_effective]), np.array([np.sum(self.influence**2)])
        squares: Any = np.bincount(self.sample, self.influence**2)
        return np.bincount(self.sample).astype(np.float64), squares

    def interval(self, confidence: float, bounds: tuple[float, float] | None = None) -> tuple[float, float]:
        """Return the ends of the interval by quantiles of Student's t, NaN if there are too few units.

        If the measure has bounds, the interval is symmetric on the scale of log odds, and stays within them.
        An estimate at a bound has the values of all units there. The probability of that is at most p^n for n
        independent values and a mean p of the way to the bound, which gives the other end.
        """
        from scipy.special import expit, logit, stdtrit

        half_width = float(stdtrit(self.degrees, (1 + confidence) / 2)) * self.standard_error
        if bounds is None or not np.isfinite(bounds).all() or np.isnan(half_width):
            return self.value - half_width, self.value + half_width
        low, high = bounds
        fraction = (self.value - low) / (high - low)
        if min(fraction, 1 - fraction) < ROUNDING:
            n_trials = self.n_effective if self.n_trials is None else self.n_trials
            reach = (high - low) * ((1 - confidence) / 2) ** (1 / n_trials)
            return (low + reach, high) if fraction > 0.5 else (low, high - reach)
        stretch = half_width / (high - low) / (fraction * (1 - fraction))
        ends = expit(logit(fraction) + np.array([-stretch, stretch]))
        return tuple((low + (high - low) * ends).tolist())

    @property
    def p_value(self) -> float:
        """The two-sided p-value of the hypothesis that the estimated quantity is 0."""
        from scipy.special import stdtr

        error = self.standard_error
        if self.value == 0 or np.isnan(error):
            return 1.0 if self.value == 0 else float("nan")
        return float(2 * stdtr(self.degrees, -abs(self.value) / error)) if error > 0 else 0.0


@dataclass(frozen=True)
class SummedEstimate(Estimate):
    """An estimate whose units are elsewhere: only sums of their squared influences are known.

    It is one of several estimates from the same units, such as the errors of several models.

    Attributes
    ----------
    sizes : array of shape (n_samples,)
        The number of units of each sample.
    squares : array of shape (n_estimates + 1, n_estimates + 1, n_samples)
        The sums of squared influences of the difference of two estimates; the last is the constant 0.
    place : (int, int)
        The two estimates whose difference this is.
    """

    sizes: FloatArray = field(default_factory=lambda: np.empty(0))
    squares: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    place: tuple[int, int] = (0, -1)

    def __sub__(self, other: Estimate) -> Estimate:
        """Return the estimate of the difference of two of the estimates."""
        if not isinstance(other, SummedEstimate) or other.squares is not self.squares:
            raise TypeError("The estimates must have the same units.")
        value, place = self.value - other.value, (self.place[0], other.place[0])
        return replace(self, value=value, place=place, n_trials=None)

    @property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        return self.sizes, self.squares[self.place]


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
        return Estimate(float("nan"), np.empty(0), 0.0)
    mean = float(weight @ values) / total
    effective = total**2 / float(weight @ weight)
    return Estimate(mean, weight * (values - mean) / total, effective)


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
        influence = summed[np.bincount(units, total) > 0]
        return Estimate(float(wrong.sum()) / 2, influence, len(influence))
    return estimate_over_rows(y, float(wrong.sum()) / 2, influence)


def estimate_over_rows(y: Preferences, value: float, influence: FloatArray) -> Estimate:
    """Return an estimate whose units are rows: one sample, or the two classes of labels without queries.

    Of n rows, n / 2 disjoint pairs are independent, and of two classes as many as the smaller one has rows.
    """
    n_rows = len(influence)
    if y.labels is None or y.has_queries or y.event is not None:
        return Estimate(value, influence, n_rows, n_trials=n_rows // 2)
    classes, sample = np.unique(y.labels, return_inverse=True)
    if len(classes) != 2:
        return Estimate(value, influence, n_rows, n_trials=n_rows // 2)
    return Estimate(value, influence, n_rows, sample, n_trials=int(np.bincount(sample).min()))


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
