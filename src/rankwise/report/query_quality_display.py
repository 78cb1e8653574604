"""The distribution of a measure over queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.text import plural, short
from rankwise.evaluation.models import scores_of
from rankwise.evaluation.names import metric_name
from rankwise.evaluation.pair_measures import ranking_error
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Bars, Picture, Rule

BINS = 20
# The space at each side of a bar, as a fraction of its bin.
GAP = 0.05


@dataclass(eq=False)
class QueryQualityDisplay(Display):
    """A histogram of a measure over queries, with the mean over queries as a line.

    Parameters
    ----------
    values : array of shape (n_queries,)
        The measure of each query, NaN if it is undefined.
    measure : str
        The name of the measure.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.report.query_quality_display import QueryQualityDisplay
    >>> X, y, qid = make_ranking(900, 3, n_queries=90, noise=1.0, random_state=0)
    >>> train, test = qid < 30, qid >= 30
    >>> model = RankSVM().fit(X[train], y[train], qid=qid[train])
    >>> QueryQualityDisplay.from_estimator(model, X[test], y[test], qid[test])  # doctest: +SKIP
    """

    values: ArrayLike
    measure: str = "ranking error"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, qid: ArrayLike, *, metric: Callable = ranking_error,
        ax: Any = None, **options: Any,
    ) -> QueryQualityDisplay:  # fmt: skip
        """Draw the quality of a fitted estimator on rows X.

        Parameters
        ----------
        estimator : fitted estimator or Pipeline
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y, qid : arrays of shape (n_rows,)
        metric : function of `rankwise.metrics` with a parameter `per_query`
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of the metric, such as k=10.
        """
        scores = scores_of(estimator, X, type(estimator).__name__)
        return cls.from_predictions(y, scores, qid, metric=metric, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y: Any, scores: ArrayLike, qid: ArrayLike, *, metric: Callable = ranking_error, ax: Any = None,
        **options: Any,
    ) -> QueryQualityDisplay:  # fmt: skip
        """Draw the quality of scores.

        Parameters
        ----------
        y, scores, qid : arrays of shape (n_rows,)
        metric, ax, **options :
            As in `from_estimator`.
        """
        return cls(metric(y, scores, qid, per_query=True, **options), metric_name(metric, options)).plot(ax)

    def picture(self, bins: Any = BINS) -> Picture:
        """Return the number of queries in each bin as marks; the axis is from 0 to 1, or to the next tenth.

        Parameters
        ----------
        bins : int, or sequence of edges
        """
        values = np.asarray(self.values, dtype=np.float64)
        values = values[~np.isnan(values)]
        if len(values) == 0:
            raise ValueError(f"{self.measure} is undefined for all queries.")
        limits = (
            min(0.0, float(np.floor(values.min() * 10) / 10)),
            max(1.0, float(np.ceil(values.max() * 10) / 10)),
        )
        counts, edges = np.histogram(values, bins=bins, range=limits)
        full, gap = np.flatnonzero(counts), GAP * np.diff(edges)
        left, right = edges[:-1][full], edges[1:][full]
        titles = [
            f"{plural(count, 'query')} from {short(low)} to {short(high)}"
            for count, low, high in zip(counts[full].tolist(), left, right, strict=True)
        ]
        mean = float(values.mean())
        return Picture(
            f"{self.measure} over {plural(len(values), 'query')}: the median is {short(np.median(values))}",
            [
                Bars(left + gap[full], right - gap[full], 0.0, counts[full], titles=titles),
                Rule(x=mean, style="solid"),
            ],
            Axis(f"{self.measure}, mean {mean:.4f}", limits),
            Axis("queries", (0.0, None), is_whole=True),
        )
