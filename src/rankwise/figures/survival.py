"""Kaplan-Meier curves of groups of rows by score."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import CensoredData, ecdf

from rankwise.core.types import FloatArray

CONFIDENCE = 0.95
THIRDS = ("lowest third", "middle third", "highest third")


@dataclass(frozen=True)
class SurvivalCurve:
    """The Kaplan-Meier curve of a group of rows: the estimated fraction without an event after each time.

    Attributes
    ----------
    name : str
    time : array of shape (n_times,)
        0, or the first time if that is negative, and the distinct times of the rows. The curve is constant
        from each to the next.
    survival, low, high : arrays of shape (n_times,)
        The fraction, and its pointwise interval by Greenwood's formula on the log-log scale; NaN if it is
        undefined.
    censored : array
        The times of the censored rows.
    n_events : int
        The number of rows whose event was observed.
    """

    name: str
    time: FloatArray
    survival: FloatArray
    low: FloatArray
    high: FloatArray
    censored: FloatArray
    n_events: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.n_events + len(self.censored)

    @property
    def median(self) -> float:
        """The first time at which the fraction is at most one half, NaN if there is none."""
        below = np.flatnonzero(self.survival <= 0.5)
        return float(self.time[below[0]]) if len(below) else float("nan")

    def at(self, times: FloatArray) -> FloatArray:
        """Return the fraction without an event after each of these times."""
        return self.survival[np.maximum(np.searchsorted(self.time, times, side="right") - 1, 0)]


def survival_curve(
    event: NDArray[np.bool_], time: FloatArray, name: str = "", confidence: float = CONFIDENCE
) -> SurvivalCurve:
    """Return the Kaplan-Meier curve of right-censored times, with events before censorings at equal times.

    Examples
    --------
    >>> found = survival_curve(np.array([True, False, True]), np.array([1.0, 2.0, 3.0]))
    >>> found.time, found.survival.round(3), found.median
    (array([0., 1., 2., 3.]), array([1.   , 0.667, 0.667, 0.   ]), 3.0)
    """
    estimate = ecdf(CensoredData.right_censored(time, ~event)).sf
    with warnings.catch_warnings():  # the interval is undefined at fractions of 0 and 1
        warnings.simplefilter("ignore", RuntimeWarning)
        ends = estimate.confidence_interval(confidence, method="log-log")
    start = min(0.0, float(time.min()))
    before = np.empty(0) if estimate.quantiles[0] == start else np.array([start])
    low, high, survival = (
        np.concatenate([np.ones(len(before)), one.probabilities]) for one in (ends.low, ends.high, estimate)
    )
    return SurvivalCurve(
        name,
        np.concatenate([before, estimate.quantiles]),
        survival,
        low,
        high,
        np.sort(time[~event]),
        int(np.count_nonzero(event)),
    )


def curves_by_score(
    event: NDArray[np.bool_], time: FloatArray, scores: FloatArray, n_groups: int = 3
) -> list[SurvivalCurve]:
    """Return the curves of groups of about equal size by score, from the lowest; equal scores stay together.

    Examples
    --------
    >>> time = np.arange(1.0, 10.0)
    >>> [curve.median for curve in curves_by_score(time > 0, time, time)]
    [2.0, 5.0, 8.0]
    """
    cuts = np.quantile(scores, np.arange(1, n_groups) / n_groups)
    group = np.searchsorted(cuts, scores, side="left")
    names = THIRDS if n_groups == 3 else [f"group {k + 1} of {n_groups}" for k in range(n_groups)]
    return [
        survival_curve(event[group == k], time[group == k], names[k])
        for k in range(n_groups)
        if (group == k).any()
    ]


def as_steps(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of a step function that is constant from each x to the next.

    Examples
    --------
    >>> as_steps(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.5, 0.2]))
    (array([0., 1., 1., 2., 2.]), array([1. , 1. , 0.5, 0.5, 0.2]))
    """
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
