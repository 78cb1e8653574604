"""A table of items from the best to the worst, with how sure each place is."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from rankwise._text import table
from rankwise._types import FloatArray, IntVector

HEADER = ("rank", "item", "score", "from", "to", "ranks", "matches", "won")


class LeaderboardRow(NamedTuple):
    """One item of a leaderboard.

    Attributes
    ----------
    rank : int
        1 for the highest score; equal scores have one rank.
    item : name
    score, standard_error, low, high : float
        The score is relative to the mean of all items; `low` to `high` is its confidence interval.
    best_rank, worst_rank : int or None
        The range that holds the item's true rank with that confidence; None where it was not computed.
    matches, won : float
        The weight of the item's matches, and the share of it that it won, a tie being half a win.
    """

    rank: int
    item: Any
    score: float
    standard_error: float
    low: float
    high: float
    best_rank: int | None
    worst_rank: int | None
    matches: float
    won: float

    @property
    def ranks(self) -> str:
        """The range of ranks in words, such as "3 to 7"."""
        if self.best_rank is None:
            return ""
        return (
            f"{self.best_rank}"
            if self.best_rank == self.worst_rank
            else f"{self.best_rank} to {self.worst_rank}"
        )


class Leaderboard(list[LeaderboardRow]):
    """A list of `LeaderboardRow` that prints as a table; `pandas.DataFrame(leaderboard)` is a frame.

    Attributes
    ----------
    confidence : float
        Of the intervals and of each range of ranks.
    """

    def __init__(self, rows: Iterable[LeaderboardRow], confidence: float) -> None:
        super().__init__(rows)
        self.confidence = confidence

    def cells(self) -> list[list[str]]:
        """Return the rows as text, in the order of `HEADER`."""
        return [
            [
                str(row.rank), str(row.item), *(f"{value:.3f}" for value in (row.score, row.low, row.high)),
                row.ranks, f"{row.matches:,.6g}", f"{row.won:.1%}",
            ]
            for row in self
        ]  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(table(HEADER, self.cells(), n_left=2))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in HEADER)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.cells()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def critical_value(confidence: float, n_intervals: int = 1) -> float:
    """Return how many standard errors an interval reaches to either side, by Bonferroni for several.

    Examples
    --------
    >>> round(critical_value(0.95), 2), round(critical_value(0.95, 10), 2)
    (1.96, 2.81)
    """
    return float(norm.isf((1.0 - confidence) / (2 * n_intervals)))


def rank_ranges(scores: FloatArray, covariance: FloatArray, confidence: float) -> tuple[IntVector, IntVector]:
    """Return the best and the worst rank that each item may have, from all differences of its score.

    The best is 1 + the number of items that are surely above it, the worst n - the number surely below it.
    One is surely above another if their difference is more than z standard errors, with z by Bonferroni for
    the item's n - 1 differences: so the range of each item holds its true rank with at least the confidence
    (Mogstad, Romano, Shaikh and Wilhelm 2024). O(n_items^2).

    Examples
    --------
    >>> rank_ranges(np.array([5.0, 0.2, 0.0]), np.eye(3), 0.95)
    (array([1, 2, 2]), array([1, 3, 3]))
    """
    n = len(scores)
    z = critical_value(confidence, max(n - 1, 1))
    variance = np.diag(covariance)
    reach = z * np.sqrt(np.maximum(variance[:, None] + variance - 2 * covariance, 0.0))
    apart = scores[:, None] - scores
    return 1 + (apart < -reach).sum(axis=1), n - (apart > reach).sum(axis=1)
