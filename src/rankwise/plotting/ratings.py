"""Ratings over time with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.evaluation.names import shortened
from rankwise.leaderboard.table import drawn_ends
from rankwise.plotting._axes import axes_for, literal, tidy


class RatingsDisplay:
    """The score of each item at the end of each period, with its confidence interval as a band.

    Parameters
    ----------
    ratings : Ratings
        From `ratings_over_time`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        One per item.

    Examples
    --------
    >>> from rankwise import BradleyTerry
    >>> from rankwise.leaderboard import ratings_over_time
    >>> from rankwise.plotting import RatingsDisplay
    >>> ratings = ratings_over_time(BradleyTerry(), list("xxy"), list("yzz"), date=[1, 2, 3], period=1)
    >>> display = RatingsDisplay(ratings=ratings).plot(top=2)  # doctest: +SKIP
    """

    def __init__(self, *, ratings: Any) -> None:
        self.ratings = ratings

    def plot(
        self, ax: Any = None, *, items: Sequence[Any] | None = None, top: int = 5, **options: Any
    ) -> RatingsDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        items : sequence of names, optional
            By default the `top` best of the last period.
        top : int
        """
        self.ax_, self.figure_ = axes_for(self, ax, (7.0, 4.0))
        periods = self.ratings.periods
        place = {period: number for number, period in enumerate(periods)}
        self.lines_ = []
        for item in self.ratings.latest(top) if items is None else items:
            rows = self.ratings.of(item)
            x = [place[row.period] for row in rows]
            score, (low, high) = np.array([row.score for row in rows]), drawn_ends(rows)
            name = literal(shortened(str(item), 24))
            (line,) = self.ax_.plot(x, score, **({"marker": "o", "markersize": 3, "label": name} | options))
            self.ax_.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
            self.lines_.append(line)
        step = max(1, len(periods) // 8)
        self.ax_.set_xticks(range(0, len(periods), step), [str(period) for period in periods[::step]])
        self.ax_.set(ylabel=f"score ({self.ratings.unit} against the average item)")
        self.ax_.legend(frameon=False, fontsize="small")
        tidy(self.ax_)
        return self
