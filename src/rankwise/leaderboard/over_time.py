"""Ratings over time: the leaderboard at the end of each period."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from rankwise.core.checks import check_positive
from rankwise.core.results import Column, ResultTable
from rankwise.core.types import FloatVector
from rankwise.leaderboard.bradley_terry import BradleyTerry
from rankwise.leaderboard.crowd import CrowdBradleyTerry
from rankwise.leaderboard.links import Logistic
from rankwise.leaderboard.table import MATCHES, SCORE_COLUMNS
from rankwise.leaderboard.vote_table import VoteTable, quiet_fit

CALENDAR = {"week": "W", "month": "M", "year": "Y"}


class Rating(NamedTuple):
    """The score of an item at the end of a period.

    Attributes
    ----------
    period : str or float
        "2024-05" for a month, "2024" for a year, the Monday of a week; the begin of a period of numbers.
    item : name
    rank : int
    score, low, high : float
        The score, relative to the mean of the items until then, and its confidence interval.
    matches : float
        The total weight of the matches of the item until then.
    """

    period: Any
    item: Any
    rank: int
    score: float
    low: float
    high: float
    matches: float


class Ratings(ResultTable[Rating]):
    """A list of `Rating` that prints as a table; `pandas.DataFrame(ratings)` is a frame."""

    columns = (
        Column("period", left=True), Column("rank", left=True), Column("item", left=True), *SCORE_COLUMNS,
        MATCHES,
    )  # fmt: skip

    def __init__(self, rows: Iterable[Rating] = (), *, unit: str = Logistic.unit) -> None:
        super().__init__(rows)
        self.unit = unit

    @property
    def periods(self) -> list[Any]:
        """The periods in order."""
        return list(dict.fromkeys(row.period for row in self))

    def of(self, item: Any) -> list[Rating]:
        """Return the ratings of an item in the order of time."""
        return [row for row in self if row.item == item]

    def latest(self, top: int | None = None) -> list[Any]:
        """Return the items of the last period from the best on."""
        return [row.item for row in self if row.period == self[-1].period][:top]


def ratings_over_time(
    estimator: BradleyTerry | CrowdBradleyTerry,
    winner: Any,
    loser: Any = None,
    weight: ArrayLike | None = None,
    *,
    period: str | float = "month",
    confidence: float = 0.95,
    **columns: Any,
) -> Ratings:
    """Fit a leaderboard to the votes until the end of each period, and return the scores of all.

    Each fit uses all votes until then, so with `half_life` a score follows the item, and without it moves
    slowly. A prior that is given by alpha, as a penalty of the fit to all votes, is the same in all fits.
    Scores are relative to the mean of the items that have votes until then. Periods without votes are left
    out, as are the first ones if all votes until then are of fewer than three clusters. One fit per period.

    Parameters
    ----------
    estimator : BradleyTerry
        Its parameters are used; `BradleyTerryCV(...).fit(...).best_estimator_` has a half-life that was
        chosen.
    winner, loser, weight :
        As for `BradleyTerry.fit`, as are further columns: `date`, which is needed, `outcome`, `features` and
        `cluster`.
    period : "week", "month", "year" or number
        A number is in days for dates, otherwise in the unit of the numbers in `date`.
    confidence : float
        The level of the intervals.

    Returns
    -------
    ratings : Ratings

    Examples
    --------
    >>> from rankwise import BradleyTerry
    >>> from rankwise.leaderboard import ratings_over_time
    >>> winner, loser = list("xxyxyyzy"), list("yzzyxxxz")
    >>> date = ["2024-01-05"] * 4 + ["2024-02-10"] * 4
    >>> ratings = ratings_over_time(BradleyTerry(half_life=20), winner, loser, date=date)
    >>> [(row.period, row.item, row.rank) for row in ratings if row.rank == 1]
    [('2024-01', 'x', 1), ('2024-02', 'y', 1)]
    """
    votes = VoteTable.read(winner, loser, weight=weight, **({"features": None, "cluster": None} | columns))
    if votes.days is None:
        raise ValueError("ratings over time need the date of each vote; got none.")
    labels, number = periods_of(votes.days, votes.has_dates, period)
    found = Ratings(unit=estimator.link_.unit)
    for last, label in enumerate(labels):
        rows = np.flatnonzero(number <= last)
        if votes.has_few_clusters(rows):
            continue
        model = clone(estimator).set_params(verbose=0, callback=None)
        if model.alpha is not None:
            model.alpha = votes.scaled(model.alpha, rows, model.half_life)
        with quiet_fit():
            board = votes.fit(model, rows).leaderboard(confidence=confidence, ranks=False)
        found += [
            Rating(label, row.item, row.rank, row.score, row.low, row.high, row.matches) for row in board
        ]
    return found


def periods_of(days: FloatVector, has_dates: bool, period: str | float) -> tuple[list[Any], NDArray[Any]]:
    """Return the labels of the periods that have votes, in order, and the period of each vote.

    Examples
    --------
    >>> labels, number = periods_of(np.array([0.0, 3.0, 40.0]), True, "month")
    >>> labels, number.tolist()
    (['1970-01', '1970-02'], [0, 0, 1])
    >>> periods_of(np.array([0.0, 3.0, 40.0]), False, 10)[0]
    [0.0, 40.0]
    """
    if isinstance(period, str):
        if period not in CALENDAR:
            raise ValueError(f"period must be 'week', 'month', 'year' or a positive number; got {period!r}.")
        if not has_dates:
            raise ValueError(f"period={period!r} needs dates; for numbers in date, give a number.")
        whole = np.floor(days).astype(np.int64).astype("datetime64[D]")
        if period == "week":  # which begins on Monday; 1970 began on a Thursday
            begins = whole - (whole.astype(np.int64) + 3) % 7
        else:
            begins = whole.astype(f"datetime64[{CALENDAR[period]}]")
        labels, number = np.unique(begins, return_inverse=True)
        return [str(label) for label in labels], number
    check_positive("period", period)
    first = float(days.min())
    steps, number = np.unique(np.floor((days - first) / period), return_inverse=True)
    starts = (first + period * steps).tolist()
    return [str(np.datetime64(int(one), "D")) if has_dates else one for one in starts], number
