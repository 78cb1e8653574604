"""Tables beside a leaderboard, with intervals: the best items against each other, and the judges."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import check_count
from rankwise.core.results import Column, ResultTable
from rankwise.leaderboard.anytime import PLANNED
from rankwise.leaderboard.base import BaseLeaderboard
from rankwise.leaderboard.crowd import CrowdBradleyTerry
from rankwise.leaderboard.table import SCORE_COLUMNS, Effect


class JudgeRow(NamedTuple):
    """One judge of a leaderboard.

    Attributes
    ----------
    judge : name
    votes : float
        The weight of its votes.
    slope : Effect
        beta_k: 1 for an average judge, 0 for one who votes at random, below 0 for one against the rest.
    order_effect : Effect or None
        h_k, in favor of the item named first; None if `fit` had no `outcome`.
    """

    judge: Any
    votes: float
    slope: Effect
    order_effect: Effect | None


def _columns(name: str, title: str) -> list[Column]:
    """Return the value of an effect and the ends of its interval."""
    parts = {"value": title, "low": "from", "high": "to"}
    return [
        Column(f"{name}_{part}", partial(_part, name, part), ".3f", title) for part, title in parts.items()
    ]


def _part(name: str, part: str, row: JudgeRow) -> Any:
    return getattr(getattr(row, name), part)


class JudgeTable(ResultTable[JudgeRow]):
    """A list of `JudgeRow` that prints as a table, without order effects if there are none."""

    def __init__(self, rows: Iterable[JudgeRow]) -> None:
        super().__init__(rows)
        self.columns = [
            Column("judge", left=True),
            Column("votes", format=",.6g"),
            *_columns("slope", "slope"),
        ]
        if self and self[0].order_effect is not None:
            self.columns += _columns("order_effect", "order effect")


def judge_table(model: CrowdBradleyTerry, *, confidence: float = 0.95) -> JudgeTable:
    """Return the judges of a model, from the largest slope to the smallest.

    Parameters
    ----------
    model : fitted CrowdBradleyTerry
        A fitted model.
    confidence : float
        The confidence level of the intervals.

    Returns
    -------
    table : JudgeTable

    Examples
    --------
    >>> model = CrowdBradleyTerry().fit(list("xxxxxy") * 18, list("yyyyyx") * 18, judge=list("stusts") * 18)
    >>> print(judge_table(model))
    judge  votes  slope   from     to
    t         36  1.993  0.641  3.726
    u         18  1.742  0.452  3.409
    s         54  0.288  0.054  0.438
    """
    check_is_fitted(model)
    effects, n_judges = model.effects(confidence=confidence), len(model.judges_)
    width = len(effects) // n_judges
    rows = [
        JudgeRow(name, votes, effects[width * k], effects[width * k + 1] if width == 2 else None)
        for k, (name, votes) in enumerate(
            zip(model.judges_.tolist(), model.judge_votes_.tolist(), strict=True)
        )
    ]
    return JudgeTable(sorted(rows, key=lambda row: -row.slope.value))


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
        A fitted model.
    top : int
        The number of items.
    confidence : float
        The confidence level of each interval.

    Returns
    -------
    table : PairTable

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


def undecided_pairs(
    model: BaseLeaderboard, top: int = 3, *, confidence: float = 0.95, planned: float = PLANNED
) -> list[tuple[Any, Any]]:
    """Return the pairs to vote on next: their order is not decided, and it matters for the best.

    These are the pairs of an item of the top and one below it whose anytime interval contains 0. The top is
    decided when there are none. Each interval is for one pair.

    Parameters
    ----------
    model : fitted BradleyTerry
        A fitted model.
    top : int
        The number of the best items, whose order matters, too.
    confidence, planned :
        As for `BradleyTerry.difference`.

    Returns
    -------
    pairs : list of pairs of names

    Examples
    --------
    >>> from rankwise import BradleyTerry
    >>> model = BradleyTerry().fit(["x", "y", "x", "z"] * 90, ["y", "z", "z", "y"] * 90)
    >>> undecided_pairs(model, 1)
    []
    >>> undecided_pairs(model, 2)
    [('y', 'z')]
    """
    check_is_fitted(model)
    check_count("top", top)
    items = model.items_[np.argsort(-model.scores_, kind="stable")].tolist()
    pairs = [(a, b) for place, a in enumerate(items[:top]) for b in items[place + 1 :]]
    columns = [a for a, _ in pairs], [b for _, b in pairs]
    apart = model.differences(*columns, confidence=confidence, intervals="anytime", planned=planned)
    return [pair for pair, one in zip(pairs, apart, strict=True) if one.low <= 0 <= one.high]
