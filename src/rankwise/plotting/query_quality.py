"""The distribution of a measure over queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.evaluation.models import scores_of
from rankwise.evaluation.names import metric_name
from rankwise.figures.distribution import BINS, Distribution
from rankwise.metrics import ranking_error
from rankwise.plotting._axes import BLUE, axes_for, tidy


class QueryQualityDisplay:
    """A histogram of a measure over queries, with the mean over queries as a line.

    Parameters
    ----------
    values : array of shape (n_queries,)
        The measure of each query, NaN if it is undefined.
    measure : str
        The name of the measure.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    counts_, edges_ : arrays
        The heights and the edges of the bins.
    mean_ : float
        The mean over the queries for which the measure is defined.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.plotting import QueryQualityDisplay
    >>> X, y, qid = make_ranking(900, 3, n_queries=90, noise=1.0, random_state=0)
    >>> train, test = qid < 30, qid >= 30
    >>> model = RankSVM().fit(X[train], y[train], qid=qid[train])
    >>> QueryQualityDisplay.from_estimator(model, X[test], y[test], qid[test])  # doctest: +SKIP
    """

    def __init__(self, *, values: ArrayLike, measure: str = "ranking error") -> None:
        self.values = np.asarray(values, dtype=np.float64)
        self.measure = measure

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
        values = metric(y, scores, qid, per_query=True, **options)
        return cls(values=values, measure=metric_name(metric, options)).plot(ax)

    def plot(self, ax: Any = None, *, bins: Any = BINS, **options: Any) -> QueryQualityDisplay:
        """Draw into `ax`, by default a new figure; `bins` and `options` are those of matplotlib's hist.

        Returns
        -------
        display : QueryQualityDisplay
        """
        self.ax_, self.figure_ = axes_for(self, ax)
        spread = Distribution.of(self.values)
        if len(spread.values) == 0:
            raise ValueError(f"{self.measure} is undefined for all queries.")
        self.mean_ = spread.mean
        settings = {"range": spread.limits, "color": BLUE, "rwidth": 0.92, "alpha": 0.8}
        self.counts_, self.edges_, _ = self.ax_.hist(spread.values, bins=bins, **(settings | options))
        self.ax_.axvline(self.mean_, color="black", linewidth=1.2)
        self.ax_.set(xlabel=f"{self.measure}, mean {self.mean_:.4f}", ylabel="queries")
        self.ax_.yaxis.get_major_locator().set_params(integer=True)
        tidy(self.ax_, "y")
        return self
