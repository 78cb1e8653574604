"""Kaplan-Meier curves of groups of rows by score."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import CensoredData, ecdf

from rankwise.core.checks import as_vector, check_count
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.concordance import as_survival
from rankwise.evaluation.models import scores_of
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Band, Dots, Line, Mark, Picture, steps

# Longer curves are thinned out to about this many points, and so are the ticks of censored rows.
MAX_POINTS = 300
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


def thinned(values: FloatArray) -> IntArray:
    """Return the places of at most `MAX_POINTS` values, evenly, with the first and the last.

    Examples
    --------
    >>> len(thinned(np.arange(5000.0))), thinned(np.arange(3.0)).tolist()
    (300, [0, 1, 2])
    """
    return np.unique(np.linspace(0, len(values) - 1, min(len(values), MAX_POINTS)).astype(np.int64))


@dataclass(eq=False)
class SurvivalDisplay(Display):
    """Kaplan-Meier curves of rows by thirds of their score, with censored rows as ticks.

    A model that ranks well has curves that are far apart. Bands are pointwise 95% intervals by Greenwood's
    formula.

    Parameters
    ----------
    curves : sequence of SurvivalCurve
        The curve of each group, from the lowest scores to the highest.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import Preferences, RankSVM
    >>> from rankwise.report.survival_display import SurvivalDisplay
    >>> generator = np.random.default_rng(0)
    >>> X = generator.normal(size=(200, 3))
    >>> time, event = np.exp(X[:, 0] + generator.gumbel(size=200)), generator.random(200) < 0.7
    >>> lives = Preferences.from_survival(event, time)
    >>> model = RankSVM().fit(X[:100], lives[:100])
    >>> SurvivalDisplay.from_estimator(model, X[100:], lives[100:])  # doctest: +SKIP
    """

    curves: Sequence[SurvivalCurve]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_groups: int = 3, ax: Any = None, **options: Any
    ) -> SurvivalDisplay:
        """Draw the survival of rows X by the scores of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator or Pipeline
            Its score is higher for longer survival.
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : Preferences.from_survival, pair (event, time), or structured array with these two fields
        n_groups : int
            The number of groups of about equal size by score.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`, such as bands=False.
        """
        scores = scores_of(estimator, X, type(estimator).__name__)
        return cls.from_predictions(y, scores, n_groups=n_groups, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y: Any, scores: ArrayLike, *, n_groups: int = 3, ax: Any = None, **options: Any
    ) -> SurvivalDisplay:
        """Draw the survival of rows by given scores.

        Parameters
        ----------
        y, n_groups, ax, **options :
            As in `from_estimator`.
        scores : array of shape (n_rows,)
        """
        check_count("n_groups", n_groups)
        lives = as_survival(y, "y")
        values = as_vector(scores, "scores", len(lives))
        event = np.asarray(lives.event) > 0
        return cls(curves_by_score(event, lives.values, values, n_groups)).plot(ax, **options)

    def picture(self, bands: bool = True) -> Picture:
        """Return the curve of each group as marks, with ticks at the times of censored rows.

        Parameters
        ----------
        bands : bool
            Whether to draw the intervals.
        """
        marks: list[Mark] = []
        for style, curve in enumerate(self.curves):
            kept = thinned(curve.time)
            time, survival, low, high = steps(
                *(values[kept] for values in (curve.time, curve.survival, curve.low, curve.high))
            )
            name = f"{curve.name}: {curve.n_events} of {curve.n_rows} rows with an event"
            censored = curve.censored[thinned(curve.censored)]
            titles = [f"{curve.name}: censored at {at:g}" for at in censored.tolist()]
            marks += [
                *([Band(time, low, high, style)] if bands else []),
                Line(time, survival, style, name),
                Dots(censored, curve.at(censored), style, titles=titles, shape="tick"),
            ]
        return Picture(
            "Kaplan-Meier curves by the score",
            marks,
            Axis("time"),
            Axis("fraction without an event", (0.0, 1.0)),
            (480, 360),
        )
