"""A leaderboard with the confidence interval of each score, and ratings over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.text import plural, short
from rankwise.evaluation.names import shortened
from rankwise.leaderboard.table import Leaderboard, drawn_ends, score_label
from rankwise.report.axes import Display
from rankwise.report.interval_display import interval_picture
from rankwise.report.marks import Axis, Band, Dots, Line, Mark, Picture

# The most names of periods below a picture.
MOST_PERIODS = 5


@dataclass(eq=False)
class LeaderboardDisplay(Display):
    """The score of each item with its confidence interval, the best on top, and the range of its rank.

    Parameters
    ----------
    leaderboard : Leaderboard
        From `BradleyTerry.leaderboard`.

    Examples
    --------
    >>> from rankwise import BradleyTerry
    >>> from rankwise.report.leaderboard_display import LeaderboardDisplay
    >>> model = BradleyTerry().fit(["ann", "ann", "bob"], ["bob", "cid", "cid"])
    >>> display = LeaderboardDisplay.from_estimator(model)  # doctest: +SKIP
    """

    leaderboard: Leaderboard

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, top: int | None = 30, confidence: float = 0.95, ax: Any = None, **options: Any
    ) -> LeaderboardDisplay:
        """Draw the leaderboard of a fitted `BradleyTerry`.

        Parameters
        ----------
        estimator : fitted BradleyTerry
        top : int, optional
            The number of items; None for all.
        confidence : float
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`.
        """
        return cls(estimator.leaderboard(top, confidence=confidence)).plot(ax, **options)

    def picture(self, top: int | None = None) -> Picture:
        """Return the scores of the best items with their intervals as marks."""
        rows = list(self.leaderboard)[:top]
        return interval_picture(
            f"Scores of {plural(len(rows), 'item')} with their intervals",
            [f"{row.rank}  {row.item}" for row in rows],
            np.array([row.score for row in rows]),
            drawn_ends(rows),
            label=self.leaderboard.label,
            titles=[f"{row.item}: {interval_text(row)}" for row in rows],
            beside=[row.ranks for row in rows],
        )


@dataclass(eq=False)
class RatingsDisplay(Display):
    """The score of each item at the end of each period, with its confidence interval as a band.

    Parameters
    ----------
    ratings : Ratings
        From `ratings_over_time`.

    Examples
    --------
    >>> from rankwise import BradleyTerry
    >>> from rankwise.leaderboard import ratings_over_time
    >>> from rankwise.report.leaderboard_display import RatingsDisplay
    >>> ratings = ratings_over_time(BradleyTerry(), list("xxy"), list("yzz"), date=[1, 2, 3], period=1)
    >>> display = RatingsDisplay(ratings).plot(top=2)  # doctest: +SKIP
    """

    ratings: Any

    def picture(self, items: Sequence[Any] | None = None, top: int = 5) -> Picture:
        """Return a line and a band per item as marks.

        Parameters
        ----------
        items : sequence of names, optional
            By default the `top` best of the last period.
        top : int
        """
        periods = [str(period) for period in self.ratings.periods]
        place = {period: number for number, period in enumerate(self.ratings.periods)}
        marks: list[Mark] = []
        for style, item in enumerate(self.ratings.latest(top) if items is None else items):
            rows = self.ratings.of(item)
            x, scores = [place[row.period] for row in rows], [row.score for row in rows]
            titles = [f"{item}, {row.period}: {interval_text(row)}" for row in rows]
            marks += [
                Band(x, *drawn_ends(rows), style),
                Line(x, scores, style, shortened(str(item), 24)),
                Dots(x, scores, style, titles=titles),
            ]
        step = -(-len(periods) // MOST_PERIODS)
        shown = [period if number % step == 0 else "" for number, period in enumerate(periods)]
        last = max(len(periods) - 1, 1)
        return Picture(
            "Ratings over time",
            marks,
            Axis(limits=(0.0, last), names=shown),
            Axis(score_label(self.ratings.unit)),
            (640, 340),
        )


def interval_text(row: Any) -> str:
    """Return the score of a row with its interval, in words."""
    low, high = (short(end) if np.isfinite(end) else "no limit" for end in (row.low, row.high))
    return f"{short(row.score)}, from {low} to {high}"
