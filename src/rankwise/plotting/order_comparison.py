"""Order graphs compared by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.evaluation.names import shortened
from rankwise.plotting._axes import BLUE, GREY, new_axes, tidy


class OrderComparisonDisplay:
    """The share of held-out pairs in order for each order graph, the best on top: mean, range and folds.

    Parameters
    ----------
    comparison : OrderComparison
        As `rankwise.model_selection.compare_orders` returns it.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    errorbar_ : matplotlib ErrorbarContainer
        The means, with the whole range over the folds.
    folds_ : list of matplotlib Line2D
        One line for each fold.

    Examples
    --------
    >>> from rankwise import HullRanker
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.model_selection import compare_orders
    >>> from rankwise.plotting import OrderComparisonDisplay
    >>> X, y = make_ranking(60, 3, n_levels=3, noise=1.0, random_state=0)
    >>> display = OrderComparisonDisplay(compare_orders(HullRanker(), X, y, cv=3))
    >>> display = display.plot()  # doctest: +SKIP
    """

    def __init__(self, comparison: Any) -> None:
        self.comparison = comparison

    def plot(self, ax: Any = None, **options: Any) -> OrderComparisonDisplay:
        """Draw into `ax`, or a new figure; `options` go to matplotlib's errorbar.

        Returns
        -------
        display : OrderComparisonDisplay
        """
        order = np.argsort(-self.comparison.mean, kind="stable")
        scores, mean = self.comparison.scores[order], self.comparison.mean[order]
        places = np.arange(len(mean))
        self.ax_ = new_axes(self, (6.0, 1.4 + 0.4 * len(mean))) if ax is None else ax
        self.figure_ = self.ax_.figure
        self.folds_ = self.ax_.plot(scores, places, color=GREY, linewidth=0.7, marker=".", markersize=4)
        reach = [mean - scores.min(axis=1), scores.max(axis=1) - mean]
        style = {"fmt": "o", "color": BLUE, "capsize": 2.5, "markersize": 5} | options
        self.errorbar_ = self.ax_.errorbar(mean, places, xerr=reach, **style)
        self.ax_.set_yticks(places, [shortened(self.comparison.names[k], 24) for k in order])
        self.ax_.set_ylim(len(mean) - 0.4, -0.6)
        self.ax_.set(xlabel="pairs in order, held out (mean and range over folds)")
        tidy(self.ax_, "x")
        return self
