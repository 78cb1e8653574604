"""A table of items from the best to the worst, with intervals of scores and ranges of ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

from rankwise.core.results import Column, ResultTable
from rankwise.core.text import listed
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.firth import FEW
from rankwise.leaderboard.links.logistic import Logistic
from rankwise.leaderboard.uncertainty import normal_draws

# Draws of the scores, from which quantiles are found.
DRAWS = 2000
# Elo of the mean score.
ELO_CENTRE = 1000
# Items that a note names.
LISTED = 5


class Effect(NamedTuple):
    """An effect other than a score, its standard error and confidence interval."""

    name: str
    value: float
    standard_error: float
    low: float
    high: float


class ScoreDifference(NamedTuple):
    """A difference of two scores, its standard error and confidence interval, and P(it is above 0).

    `probability` is that of the posterior, and the interval does not use a prior, so they can disagree.
    Scores have independent normal priors of one standard deviation, which has a half-normal prior of scale 1,
    or is that of a given `alpha`; with alpha=0 the prior is flat. The probability is right on average over
    such boards. If the scores are in two groups of nearly equal items, it is too far from 1/2 for items of
    the same group. With clusters, the distribution is Student's t.
    """

    difference: float
    standard_error: float
    low: float
    high: float
    probability: float


class LeaderboardRow(NamedTuple):
    """One item of a leaderboard.

    Attributes
    ----------
    rank : int
        1 for the highest score; equal scores have the same rank.
    item : name
    score, standard_error, low, high : float
        The score is relative to the mean of all items, or of `Leaderboard.reference`;
        `low` to `high` is its confidence interval. An end that the votes do not bound is infinite.
    best_rank, worst_rank : int or None
        The confidence set of the rank, for this item alone; None if it was not computed.
    matches : float
        The total weight of the matches of the item.
    won : float or None
        The fraction of it that was won, with ties as half wins; None without matches.
    elo : float
        The score on the scale of Elo: 1000 for the mean score, and `Link.elo` per unit.
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
    won: float | None
    elo: float = np.nan

    @property
    def ranks(self) -> str:
        """The range of ranks as text, such as "3 to 7"."""
        return "" if self.best_rank is None else rank_text(self.best_rank, self.worst_rank)


def rank_text(best: int, worst: int | None) -> str:
    """Return a range of ranks as text.

    Examples
    --------
    >>> rank_text(3, 7), rank_text(1, 1)
    ('3 to 7', '1')
    """
    return f"{best}" if best == worst else f"{best} to {worst}"


SCORE_COLUMNS = [Column("score", format=".3f"), Column("low", format=".3f", title="from")]
SCORE_COLUMNS += [Column("high", format=".3f", title="to")]
MATCHES = Column("matches", format=",.6g")


class Leaderboard(ResultTable[Any]):
    """A list of `LeaderboardRow` that prints as a table; `pandas.DataFrame(leaderboard)` is a frame.

    Attributes
    ----------
    confidence : float
        The confidence level of the intervals and of each range of ranks.
    note : str
        A sentence below the table, or nothing.
    reference : list of names
        The items to whose mean the scores are relative; empty for all.
    unit : str
        The unit of scores.
    """

    columns = (
        Column("rank", left=True), Column("item", left=True), *SCORE_COLUMNS, Column("ranks"), MATCHES,
        Column("won", format=".1%"),
    )  # fmt: skip

    def __init__(
        self,
        rows: Iterable[Any],
        confidence: float,
        note: str = "",
        reference: Iterable[Any] = (),
        unit: str = Logistic.unit,
    ) -> None:
        super().__init__(rows, note=note)
        self.confidence, self.reference, self.unit = confidence, list(reference), unit

    @property
    def label(self) -> str:
        """The label of an axis of scores."""
        return score_label(self.unit)


def score_label(unit: str) -> str:
    """Return the label of an axis of scores in some unit, which are relative to a mean."""
    return f"score ({unit} against the average item)"


class Intervals(NamedTuple):
    """The scores of some items with their errors, intervals and ranges of ranks."""

    scores: FloatVector
    errors: FloatVector
    low: FloatVector
    high: FloatVector
    best: Sequence[Any]
    worst: Sequence[Any]


def rows_of(
    names: Sequence[Any], order: IntVector, places: IntVector, found: Intervals, counts: Any, elo: float
) -> list[LeaderboardRow]:
    """Return the rows of the items `order`, which have these intervals, from places and counts of all."""
    matches, wins = counts
    return [
        LeaderboardRow(
            int(places[k]), names[k], float(score), float(error), float(low), float(high), first, last,
            float(matches[k]), float(wins[k] / matches[k]) if matches[k] else None,
            float(ELO_CENTRE + elo * score),
        )
        for k, score, error, low, high, first, last in zip(order.tolist(), *found, strict=True)
    ]  # fmt: skip


def open_note(rows: Sequence[LeaderboardRow], n_linked: int) -> str:
    """Return a sentence on the items whose scores the votes do not bound.

    Examples
    --------
    >>> row = LeaderboardRow(1, "x", 1.0, 0.5, 0.0, np.inf, 1, 1, 3.0, 1.0)
    >>> open_note([row], 5)
    'The votes give no upper bound for the score of x. Scores are relative to the mean of the 5 items that wins and losses link in both directions.'
    """  # noqa: E501
    told = []
    for bound, is_open in (
        ("upper", [row.high == np.inf for row in rows]),
        ("lower", [row.low == -np.inf for row in rows]),
    ):
        names = [str(row.item) for row, one in zip(rows, is_open, strict=True) if one]
        if names:
            noun = "score" if len(names) == 1 else "scores"
            told.append(f"The votes give no {bound} bound for the {noun} of {listed(names, LISTED)}.")
    linked = f"the {n_linked:,} items that wins and losses link in both directions"
    return " ".join([*told, f"Scores are relative to the mean of {linked if n_linked else 'all items'}."])


def shrunk_note(rows: Sequence[LeaderboardRow]) -> str:
    """Return a sentence on the items whose scores the prior pulls out of their intervals, if there are any.

    Examples
    --------
    >>> shrunk_note([LeaderboardRow(1, "x", 2.1, 0.5, 2.6, np.inf, 1, 1, 3.0, 1.0)])
    'The prior pulls the score of x towards the mean, out of its interval, which does not use the prior.'
    """
    outside = [str(row.item) for row in rows if not row.low <= row.score <= row.high]
    if not outside:
        return ""
    noun, whose = ("score", "its interval") if len(outside) == 1 else ("scores", "their intervals")
    return (
        f"The prior pulls the {noun} of {listed(outside, LISTED)} towards the mean, out of {whose}, which "
        f"{'does' if len(outside) == 1 else 'do'} not use the prior."
    )


def few_votes_note(items: NDArray[Any], matches: FloatVector, wins: FloatVector) -> str:
    """Return a sentence on the items with few wins or losses, if there are any.

    Examples
    --------
    >>> few_votes_note(np.array(["x", "y"]), np.array([20.0, 20.0]), np.array([17.0, 10.0]))
    'Items with fewer than 5 wins or losses may have too short intervals: x.'
    """
    few = items[np.minimum(wins, matches - wins) < FEW].tolist()
    if not few:
        return ""
    names = listed([str(name) for name in few], LISTED)
    return f"Items with fewer than {FEW:g} wins or losses may have too short intervals: {names}."


def drawn_ends(rows: Sequence[Any]) -> tuple[FloatVector, FloatVector]:
    """Return the ends of the intervals of rows for a picture: infinite ones are beyond all finite ones.

    Examples
    --------
    >>> row = LeaderboardRow(1, "x", 1.0, 0.5, 0.0, np.inf, 1, 1, 3.0, 1.0)
    >>> low, high = drawn_ends([row])
    >>> low.tolist(), high.tolist()
    ([0.0], [1.1])
    """
    values, low, high = np.array([(row.score, row.low, row.high) for row in rows]).reshape(-1, 3).T
    known = np.concatenate([values, low, high])
    known = known[np.isfinite(known)]
    least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    space = 0.1 * (most - least)
    return np.maximum(low, least - space), np.minimum(high, most + space)


def critical_value(confidence: float, n_intervals: int = 1) -> float:
    """Return the half-width of an interval in standard errors, with Bonferroni's correction for several.

    Examples
    --------
    >>> round(critical_value(0.95), 2), round(critical_value(0.95, 10), 2)
    (1.96, 2.81)
    """
    return float(norm.isf((1.0 - confidence) / (2 * n_intervals)))


def rank_ranges(
    scores: FloatArray, blocks: Iterable[FloatArray], confidence: float, freedom: float = np.inf
) -> tuple[FloatArray, IntVector, IntVector]:
    """Return the variance of each score, and the confidence set of the rank of each item.

    The best rank is 1 + the number of items significantly above, the worst n - the number significantly
    below. A difference is significant if it is more than z standard errors, with Bonferroni's correction for
    the n - 1 differences of an item, so the range of one item contains its true rank with at least the given
    confidence, as far as the errors of scores are normal (Mogstad, Romano, Shaikh and Wilhelm 2024). The
    ranges of all items together have a lower one. O(n_items^2), in the memory of one block.

    Parameters
    ----------
    scores : array of shape (n_items,)
        The score of each item.
    blocks : iterable of arrays of shape (n_items, n_columns)
        The columns of the covariance of the scores, in consecutive blocks.
    confidence : float
        The confidence level of intervals.
    freedom : float
        Degrees of freedom of Student's t; the normal distribution if infinite.

    Returns
    -------
    variance, best, worst : arrays of shape (n_items,)

    Examples
    --------
    >>> variance, best, worst = rank_ranges(np.array([5.0, 0.2, 0.0]), [np.eye(3)], 0.95)
    >>> best, worst
    (array([1, 2, 2]), array([1, 3, 3]))
    """
    n, end = len(scores), 0
    tail = (1.0 - confidence) / (2 * max(n - 1, 1))
    z = critical_value(confidence, max(n - 1, 1)) if np.isinf(freedom) else float(t.isf(tail, freedom))
    variance, n_above, n_below = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for columns in blocks:
        begin, end = end, end + columns.shape[1]
        # Earlier blocks have set their variances; pairs with later items are counted in later blocks.
        variance[begin:end] = columns[begin:end].diagonal()
        squares = variance[:end, None] + variance[begin:end] - 2 * columns[:end]
        margin = z * np.sqrt(np.maximum(squares, 0.0))
        apart = scores[:end, None] - scores[begin:end]
        above, below = apart > margin, apart < -margin
        n_above[begin:end] += above.sum(axis=0)
        n_below[begin:end] += below.sum(axis=0)
        n_above[:begin] += below[:begin].sum(axis=1)
        n_below[:begin] += above[:begin].sum(axis=1)
    return variance, 1 + n_above, n - n_below


def step_down_ranges(
    scores: FloatArray,
    covariance: FloatArray,
    confidence: float,
    freedom: float = np.inf,
    items: IntVector | None = None,
) -> tuple[IntVector, IntVector]:
    """Return the confidence set of the rank of some items, by the step-down method of Romano and Wolf (2005).

    As in `rank_ranges`, items that are significantly above or below are excluded. Of the differences of an
    item, each can err in one direction only, that of the false sign. The critical value is the quantile of
    the largest such error of all differences, over draws of the scores with their covariance, and over all
    places of the item in the order of the others. Items that are excluded leave the comparison, and the rest
    is compared again. The set is for one item, not for all items at once. O(n_draws n_items) per item and
    step.

    Parameters
    ----------
    scores : array of shape (n_items,)
        The score of each item.
    covariance : array of shape (n_items, n_items)
        The covariance of the scores.
    confidence : float
        The confidence level of intervals.
    freedom : float
        Degrees of freedom of Student's t; the normal distribution if infinite.
    items : int array, optional
        The items whose ranks are asked for, by default all.

    Returns
    -------
    best, worst : arrays of shape (n_items,)

    Examples
    --------
    >>> best, worst = step_down_ranges(np.array([5.0, 0.2, 0.0]), np.eye(3), 0.95)
    >>> best, worst
    (array([1, 2, 2]), array([1, 3, 3]))
    """
    n, draws, own = len(scores), normal_draws(scores, covariance, DRAWS, freedom).T, np.diag(covariance)
    order = np.lexsort((own, -scores))
    errors = np.sqrt(np.maximum(own[:, None] + own - 2 * covariance, np.finfo(float).tiny))
    items = np.arange(n) if items is None else items
    best, worst = np.ones(len(items), dtype=np.int64), np.full(len(items), n)
    draws = np.ascontiguousarray(draws[order])
    for place, item in enumerate(items):
        is_other = order != item
        others = order[is_other]
        apart = (scores[item] - scores[others]) / errors[item, others]
        noise = (draws[~is_other] - draws[is_other]) / errors[item, others, None]
        while len(apart):
            is_above, is_below = _significant(apart, noise, confidence)
            best[place] += is_below.sum()
            worst[place] -= is_above.sum()
            is_open = ~(is_above | is_below)
            if is_open.all():
                break
            apart, noise = apart[is_open], noise[is_open]
    return best, worst


def _significant(
    apart: FloatVector, noise: FloatArray, confidence: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the differences that are larger than their error, and those that are smaller than minus it.

    The error is the quantile of the largest error of the differences, one row of draws each, at the worst
    true place of an item among the others in their order. At place c, the first c of them are truly above,
    so that an error is a large difference, and the rest below. The quantiles at the first and last place and
    that of absolute errors bound it. It is computed if a difference is between the bounds, from the draws
    above the lower one.
    """
    count = noise.shape[1]
    kth = int(np.ceil(confidence * (count - 1)))
    upper, lower = noise.max(axis=0), -noise.min(axis=0)
    largest = np.maximum(upper, lower)
    z = max(np.partition(side, kth)[kth] for side in (upper, lower))
    if ((np.abs(apart) > z) & (np.abs(apart) <= np.partition(largest, kth)[kth])).any():
        errors = noise[:, largest >= z]
        nothing = np.full((1, errors.shape[1]), -np.inf)
        above = np.vstack([nothing, np.maximum.accumulate(errors)])
        below = np.vstack([np.maximum.accumulate(-errors[::-1])[::-1], nothing])
        at_place = np.maximum(above, below)
        while (exceeding := (at_place > z).sum(axis=1)).max() >= count - kth:
            z = np.partition(at_place[exceeding.argmax()], kth - count)[kth - count]
    return apart > z, apart < -z
