"""A leaderboard with the confidence interval of each score."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.evaluation.names import shortened
from rankwise.leaderboard.table import Leaderboard, drawn_ends
from rankwise.plotting._axes import axes_for, draw_intervals


class LeaderboardDisplay:
    """The score of each item with its confidence interval, the best on top, and the range of its rank.

    Parameters
    ----------
    leaderboard : Leaderboard
        From `BradleyTerry.leaderboard`.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    errorbar_ : matplotlib ErrorbarContainer

    Examples
    --------
    >>> from rankwise import BradleyTerry
    >>> from rankwise.plotting import LeaderboardDisplay
    >>> model = BradleyTerry().fit(["ann", "ann", "bob"], ["bob", "cid", "cid"])
    >>> display = LeaderboardDisplay.from_estimator(model)  # doctest: +SKIP
    """

    def __init__(self, *, leaderboard: Leaderboard) -> None:
        self.leaderboard = leaderboard

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
        return cls(leaderboard=estimator.leaderboard(top, confidence=confidence)).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> LeaderboardDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's errorbar.

        Returns
        -------
        display : LeaderboardDisplay
        """
        rows = list(self.leaderboard)
        scores, (low, high) = np.array([row.score for row in rows]), drawn_ends(rows)
        names = [f"{row.rank}  {shortened(str(row.item), 24)}" for row in rows]
        self.ax_, self.figure_ = axes_for(self, ax, (6.0, 1.2 + 0.3 * len(rows)))
        self.errorbar_ = draw_intervals(self.ax_, scores, low, high, names, options)
        beside = self.ax_.get_yaxis_transform()
        for place, row in enumerate(rows):
            self.ax_.text(
                1.01, place, row.ranks, transform=beside, va="center", fontsize="small", color="0.4"
            )
        self.ax_.set(xlabel=f"score ({self.leaderboard.unit} against the average item)")
        return self
