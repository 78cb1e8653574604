"""A leaderboard with the interval of each score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.evaluation.names import shortened
from rankwise.plotting._axes import BLUE, new_axes, tidy


class LeaderboardDisplay:
    """The score of each item with its confidence interval, the best on top, and the ranks it may have.

    Parameters
    ----------
    leaderboard : sequence of LeaderboardRow
        As `BradleyTerry.leaderboard` returns it.

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

    def __init__(self, *, leaderboard: Sequence[Any]) -> None:
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
            So many items; None for all.
        confidence : float
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            As in `plot`.
        """
        return cls(leaderboard=estimator.leaderboard(top, confidence=confidence)).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> LeaderboardDisplay:
        """Draw into `ax`, or a new figure; `options` go to matplotlib's errorbar.

        Returns
        -------
        display : LeaderboardDisplay
        """
        rows = list(self.leaderboard)
        places = np.arange(len(rows))
        scores = np.array([row.score for row in rows])
        reach = [scores - [row.low for row in rows], [row.high for row in rows] - scores]
        self.ax_ = new_axes(self, (6.0, 1.2 + 0.3 * len(rows))) if ax is None else ax
        self.figure_ = self.ax_.figure
        style = {"fmt": "o", "color": BLUE, "capsize": 2.5, "markersize": 5} | options
        self.errorbar_ = self.ax_.errorbar(scores, places, xerr=reach, **style)
        self.ax_.set_yticks(places, [f"{row.rank}  {shortened(str(row.item), 24)}" for row in rows])
        self.ax_.set_ylim(len(rows) - 0.4, -0.6)
        self._write_ranks(rows, places)
        self.ax_.set(xlabel="score (log odds against the average item)")
        tidy(self.ax_, "x")
        return self

    def _write_ranks(self, rows: Sequence[Any], places: Any) -> None:
        beside = self.ax_.get_yaxis_transform()
        for row, place in zip(rows, places, strict=True):
            self.ax_.text(
                1.01, place, row.ranks, transform=beside, va="center", fontsize="small", color="0.4"
            )
