"""A table of the best items of a leaderboard against each other, with intervals."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import check_count
from rankwise.core.results import Column, ResultTable
from rankwise.leaderboard.base import BaseLeaderboard
from rankwise.leaderboard.table import SCORE_COLUMNS


class PairRow(NamedTuple):
    """Two items of a leaderboard against each other.

    Attributes
    ----------
    a, b : names
        `a` has the higher score.
    difference, standard_error, low, high : float
        The difference of their scores, and its confidence interval; see `BaseLeaderboard.difference`.
    probability, lowest, highest : float
        P(a beats b) in a match without a tie or an order effect, as `BaseLeaderboard.predict_pair_proba`, and
        the interval of the difference as probabilities.
    """

    a: Any
    b: Any
    difference: float
    standard_error: float
    low: float
    high: float
    probability: float
    lowest: float
    highest: float


def percent(name: str, title: str) -> Column:
    """Return a column of probabilities."""
    return Column(name, format=".1%", title=title)


class PairTable(ResultTable[PairRow]):
    """A list of `PairRow` that prints as a table."""

    columns = (
        Column("a", left=True, title="item"), Column("b", left=True, title="against"),
        Column("difference", format=".3f"), *SCORE_COLUMNS[1:],
        percent("probability", "wins"), percent("lowest", "from"), percent("highest", "to"),
    )  # fmt: skip


def pair_table(model: BaseLeaderboard, top: int = 5, *, confidence: float = 0.95) -> PairTable:
    """Return the pairs of the best items of a model, each with the interval of its difference of scores.

    Each interval is for one pair that was named beforehand, without a correction for several pairs or for
    the choice of the best by their scores.

    Parameters
    ----------
    model : fitted leaderboard model
    top : int
        The number of items.
    confidence : float
        The confidence level of each interval.

    Examples
    --------
    >>> from rankwise import BradleyTerry
    >>> model = BradleyTerry().fit(list("xxxxyyyzzx"), list("yyyzzzxxyz"))
    >>> print(pair_table(model, 2))
    item  against  difference    from     to   wins   from     to
    x     y             0.357  -0.927  2.440  58.3%  28.3%  92.0%
    """
    check_is_fitted(model)
    check_count("top", top)
    best = model.items_[np.argsort(-model.scores_, kind="stable")[:top]].tolist()
    pairs = list(combinations(best, 2))
    if not pairs:
        return PairTable()
    columns = [a for a, _ in pairs], [b for _, b in pairs]
    chances = model.predict_pair_proba(*columns).tolist()
    apart = model.differences(*columns, confidence=confidence)
    return PairTable(
        PairRow(a, b, *one[:4], chance, *model.link_.chance(np.array(one[2:4])).tolist())
        for (a, b), one, chance in zip(pairs, apart, chances, strict=True)
    )
