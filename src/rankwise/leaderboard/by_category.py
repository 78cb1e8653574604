"""Leaderboards of categories, such as languages or topics, that lean on the leaderboard of all votes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import clone

from rankwise.core.results import Column, HasTable, ResultTable
from rankwise.core.types import FloatArray, FloatVector
from rankwise.leaderboard.base import check_confidence
from rankwise.leaderboard.bradley_terry import BradleyTerry
from rankwise.leaderboard.matches import frame_columns, numbered
from rankwise.leaderboard.pair_model import PairModel
from rankwise.leaderboard.prior import Prior
from rankwise.leaderboard.table import MATCHES, Intervals, Leaderboard, rows_of, step_down_ranges
from rankwise.leaderboard.uncertainty import critical_values
from rankwise.leaderboard.vote_table import quiet_fit

# The largest number of scores, categories times items, whose covariance is computed at once, and the largest
# number of items of a category with ranges of ranks.
MOST_SCORES, RANKED_ITEMS = 3000, 100
# The standard deviations of deviations over which the posterior is averaged, and the least weight of one
# relative to the largest.
DEVIATIONS = np.geomspace(0.02, 4.0, 14)
LEAST_WEIGHT = 0.01
CHANGES = [Column("category", left=True), Column("item", left=True), Column("rank")]
CHANGES += [Column("overall_rank", title="of all votes"), MATCHES]


class RankChange(NamedTuple):
    """An item whose rank in a category differs from that of all votes.

    Attributes
    ----------
    category, item : names
    rank, overall_rank : int
    matches : float
        The weight of the votes on the item in the category.
    """

    category: Any
    item: Any
    rank: int
    overall_rank: int
    matches: float


class CategoryLeaderboards(HasTable, dict[Any, Leaderboard]):
    """A dict of the leaderboard of each category; prints the ranks that differ most from those of all votes.

    Attributes
    ----------
    deviation_sd : float
        The posterior mean of the standard deviation of scores of a category around those of all.
    overall : Leaderboard
        That of all votes, without categories.
    """

    def __init__(self, boards: dict[Any, Leaderboard], deviation_sd: float, overall: Leaderboard) -> None:
        super().__init__(boards)
        self.deviation_sd, self.overall = deviation_sd, overall

    def changes(self, top: int | None = None) -> list[RankChange]:
        """Return the items whose rank changes, the largest change first."""
        rank_of = {row.item: row.rank for row in self.overall}
        found = [
            RankChange(category, row.item, row.rank, rank_of[row.item], row.matches)
            for category, board in self.items()
            for row in board
            if row.rank != rank_of[row.item]
        ]
        return sorted(found, key=lambda one: -abs(one.rank - one.overall_rank))[:top]

    @property
    def table(self) -> ResultTable[RankChange]:
        """The ten largest changes."""
        return ResultTable(self.changes(10), CHANGES)


def leaderboards_by(
    estimator: BradleyTerry,
    winner: Any,
    loser: Any = None,
    weight: ArrayLike | None = None,
    *,
    by: Any,
    confidence: float = 0.95,
    **columns: Any,
) -> CategoryLeaderboards:
    """Return a leaderboard per category, whose scores are overall scores plus deviations.

    The score of item i in category c is s_i + u_ci. The s_i have the prior of the leaderboard of all votes,
    and the u_ci are normal with mean 0 and one standard deviation for all categories, which has a half-normal
    prior of scale 1. All scores are fitted together, and averaged over the posterior of the standard
    deviation on a grid, by Laplace's approximation of the evidence. A category with few votes stays close to
    the whole, as does an item with few votes in a category.

    Intervals and ranges of ranks are those of the posterior, with the uncertainty of the overall scores and
    of the standard deviation. They cover on average over the items of a category; the score of an item that
    is unusually far from the whole, in a category with few votes, is covered less often.

    Parameters
    ----------
    estimator : BradleyTerry
        Its parameters are used; alpha must not be 0, and `intervals` is not used.
    winner, loser, weight :
        As for `BradleyTerry.fit`, as are further columns: `outcome`, `date`, `cluster` and `covariates`.
        Effects of order, ties and covariates are the same in all categories.
    by : column of labels
        The category of each vote.
    confidence : float
        The level of intervals.

    Returns
    -------
    found : CategoryLeaderboards

    Examples
    --------
    >>> winner, loser = list("xxyxxyyzzx") * 8, list("yzzyzxxyxz") * 8
    >>> boards = leaderboards_by(BradleyTerry(), winner, loser, by=["en"] * 50 + ["de"] * 30)
    >>> sorted(boards)
    ['de', 'en']
    """
    check_confidence(confidence)
    if columns.get("features") is not None:
        raise ValueError("Leaderboards by category cannot be combined with features.")
    if loser is None:
        found = frame_columns(winner, weight=weight, by=by, **columns)
    else:
        found = {"a": winner, "b": loser, "weight": weight, "by": by} | columns
    if found.get("by") is None:
        raise ValueError("by must be a column of categories, one per vote; got None.")
    names, (category,) = numbered({"by": found.pop("by")})
    items, sides = numbered({"winner": found.pop("a"), "loser": found.pop("b")})
    if len(category) != len(sides[0]):
        raise ValueError(f"by has {len(category):,} values, but there are {len(sides[0]):,} votes.")
    if len(names) * len(items) > MOST_SCORES:
        raise ValueError(
            f"Leaderboards by category are limited to {MOST_SCORES:,} scores, categories times items; there "
            f"are {len(names):,} x {len(items):,}."
        )
    model = clone(estimator).set_params(verbose=0, callback=None)
    with quiet_fit():
        model.fit(items[sides[0]], items[sides[1]], **found)
        joint = _joint_fit(model, category, sides, len(names), found)
    boards = joint.boards(items.tolist(), confidence)
    overall = model.leaderboard(confidence=confidence)
    return CategoryLeaderboards(dict(zip(names.tolist(), boards, strict=True)), joint.deviation_sd, overall)


def _joint_fit(
    model: BradleyTerry, category: Any, sides: Any, n_categories: int, columns: dict[str, Any]
) -> CategoryModel:
    """Fit overall scores, with the prior of a model of all votes, and deviations together."""
    if model.alpha_ == 0:
        raise ValueError("Leaderboards by category need a positive alpha, or None for a learned one; got 0.")
    n_items = len(model.items_)
    joint = CategoryModel(
        feature_alpha=model.alpha_, intervals="posterior", link=model.link, ties=model.ties,
        order_effect=model.order_effect, half_life=model.half_life,
    )  # fmt: skip
    first, second = (category.astype(np.int64) * n_items + side for side in sides)
    belongs = dict(enumerate(np.tile(np.eye(n_items), (n_categories, 1))))
    joint.fit(first, second, features=belongs, **columns)
    return joint


class CategoryModel(BradleyTerry):
    """Scores of items in categories: features are the items, so that their weights are overall scores."""

    def _alpha(self, pairs: PairModel) -> float:
        """Return the penalty of deviations at the mean of their standard deviation, and set its posterior."""
        prior = self._prior(pairs)
        logs = np.log(DEVIATIONS)
        densities = np.array([prior.log_evidence(log_sd) for log_sd in logs]) - 0.5 * DEVIATIONS**2 + logs
        weights = np.exp(densities - densities.max())
        weights[weights < LEAST_WEIGHT] = 0.0
        self._sd_weights: FloatVector = weights / weights.sum()
        self.prior_sd_ = self.deviation_sd = float(self._sd_weights @ DEVIATIONS)
        return 1.0 / (2.0 * self._votes * self.deviation_sd**2)

    def _prior(self, pairs: PairModel) -> Prior:
        return Prior(pairs, self._penalty(pairs, 0.0)[pairs.n_items :], self._votes)

    def boards(self, names: list[Any], confidence: float) -> list[Leaderboard]:
        """Return the leaderboard of each category, relative to the mean score of the category."""
        n_items, (scores, covariance, freedom) = len(names), self._posterior_moments()
        matches, wins = self._comparisons.per_item()
        critical, boards = critical_values(confidence, np.array([freedom]))[0], []
        for begin in range(0, len(scores), n_items):
            part = slice(begin, begin + n_items)
            own = covariance[part, part]
            own = own - own.mean(axis=0)
            own -= own.mean(axis=1, keepdims=True)
            centred = scores[part] - scores[part].mean()
            order, places = np.argsort(-centred, kind="stable"), rankdata(-centred, method="min")
            errors = np.sqrt(np.maximum(np.diag(own), 0.0))[order]
            best: Any = [None] * n_items
            worst = best
            if n_items <= RANKED_ITEMS:
                ranges = step_down_ranges(centred, own, confidence, freedom, order)
                best, worst = (ends.tolist() for ends in ranges)
            low, high = centred[order] - critical * errors, centred[order] + critical * errors
            found = Intervals(centred[order], errors, low, high, best, worst)
            counts = matches[part], wins[part]
            rows = rows_of(names, order, places, found, counts, self.link_.elo)
            boards.append(Leaderboard(rows, confidence, unit=self.link_.unit))
        return boards

    def _posterior_moments(self) -> tuple[FloatVector, FloatArray, float]:
        """Return the mean and covariance of scores over the posterior of the standard deviation."""
        pairs, freedom = self._pairs(), np.inf
        prior, n = self._prior(pairs), pairs.n_items
        mean, second = np.zeros(n), np.zeros((n, n))
        for sd, weight in zip(DEVIATIONS.tolist(), self._sd_weights.tolist(), strict=True):
            if not weight:
                continue
            parameters, *_ = prior.fitted(np.log(sd))
            found = self._uncertainty_at(pairs, parameters, 2 * prior.penalty(np.log(sd)))
            mean += weight * found.centre
            second += weight * (found.covariance() + np.outer(found.centre, found.centre))
            freedom = min(freedom, found.least_freedom())
        return mean, second - np.outer(mean, mean), freedom
