"""Order graphs compared by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.evaluation.names import shortened
from rankwise.plotting._axes import GREY, axes_for, draw_intervals


class OrderComparisonDisplay:
    """The concordance of held-out pairs for each order graph, the best on top: mean, range and folds.

    Parameters
    ----------
    comparison : OrderComparison
        From `rankwise.model_selection.compare_orders`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    errorbar_ : matplotlib ErrorbarContainer
        The means, with the range over the folds.
    folds_ : list of matplotlib Line2D
        One line per fold.

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
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's errorbar.

        Returns
        -------
        display : OrderComparisonDisplay
        """
        order = np.argsort(-self.comparison.mean, kind="stable")
        scores, mean = self.comparison.scores[order], self.comparison.mean[order]
        names = [shortened(self.comparison.names[k], 24) for k in order]
        self.ax_, self.figure_ = axes_for(self, ax, (6.0, 1.4 + 0.4 * len(mean)))
        self.folds_ = self.ax_.plot(
            scores, np.arange(len(mean)), color=GREY, linewidth=0.7, marker=".", markersize=4
        )
        low, high = scores.min(axis=1), scores.max(axis=1)
        self.errorbar_ = draw_intervals(self.ax_, mean, low, high, names, options)
        self.ax_.set(xlabel="held-out pairs in the right order (mean and range over folds)")
        return self
