"""Clicks in place of labels: each clicked row above every other row of its impression."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_weights
from rankwise.core.types import FloatVector
from rankwise.preferences.base import Pairs, Preferences, check_pair_memory, sum_by_row, weighing_rows
from rankwise.preferences.pair_list import PairList
from rankwise.preferences.propensities import Propensities
from rankwise.preferences.ranking import Ranking


class Clicks(Preferences):
    """Each clicked row above every other row of its impression, clicked ones included.

    The pair of a clicked row i and another row j of its impression weighs `click_weight[i] * row_weight[j]`.
    No pair is listed: O(m log m) for m rows. The mean is over all pairs, not over queries: the weights of
    clicks make its expectation that of true relevance, and a division by the random total of each query would
    not.

    Attributes
    ----------
    click_weight : array of shape (n_rows,)
        The weight of each click, 0 for rows without one.
    row_weight : array of shape (n_rows,)
        The weight of each row as the worse one of pairs.
    impression, query : arrays of int of shape (n_rows,)
    propensities : Propensities, or None
        The estimated curve, if it was estimated.
    clipped_fraction : float
        The fraction of clicks whose weight was bounded by `clip`.
    """

    has_unit_magnitudes = True

    def __init__(
        self,
        click_weight: FloatVector,
        row_weight: FloatVector,
        impression: NDArray[np.int64],
        query: NDArray[np.int64],
        *,
        propensities: Propensities | None = None,
        clipped_fraction: float = 0.0,
    ):
        self.click_weight, self.row_weight = click_weight, row_weight
        self.impression, self.query = impression, query
        self.propensities, self.clipped_fraction = propensities, clipped_fraction
        self.n_rows = len(click_weight)

    @property
    def effective_sample_size(self) -> float:
        """The number of clicks of equal weight with the same variance: (sum of w)^2 / (sum of w^2)."""
        largest = self.click_weight.max(initial=0.0)
        weight = self.click_weight / (largest or 1.0)
        return float(weight.sum() ** 2 / (weight @ weight)) if largest else 0.0

    @property
    def n_clicks(self) -> int:
        """The number of clicked rows."""
        return int(np.count_nonzero(self.click_weight))

    @cached_property
    def n_pairs(self) -> int:
        """The exact number of pairs, rows of weight zero left out."""
        n_clicked, n_shown = (
            np.bincount(self.impression[weight > 0], minlength=self._n_impressions)
            for weight in (self.click_weight, self.row_weight)
        )
        return int((n_clicked * (n_shown - 1)).sum())

    @property
    def has_queries(self) -> bool:
        """Whether rows are of several queries."""
        return len(self._with_rows) > 1

    def groups(self) -> NDArray[np.int64]:
        """Return the number of each row's query: folds must not split it."""
        return self.query.copy()

    def pairs(self) -> Pairs:
        """Enumerate all pairs, impression by impression."""
        check_pair_memory(self.n_pairs)
        order = np.argsort(self.impression, kind="stable")
        order = order[self.row_weight[order] > 0]
        size = np.bincount(self.impression[order], minlength=self._n_impressions)
        begin = np.cumsum(size) - size
        clicked = np.flatnonzero(self.click_weight > 0)
        count = size[self.impression[clicked]]
        better = np.repeat(clicked, count)
        place = np.arange(len(better)) - np.repeat(np.cumsum(count) - count, count)
        worse = order[begin[self.impression[better]] + place]
        better, worse = better[better != worse], worse[better != worse]
        return Pairs(better, worse, np.ones(len(better)), self.click_weight[better] * self.row_weight[worse])

    def weighted(self, sample_weight: ArrayLike) -> Clicks:
        """Multiply each pair's weight by the weights of its two rows."""
        weight = as_weights(sample_weight, "sample_weight", self.n_rows)
        weight = weight / weight.max()  # only ratios matter, and products of ratios do not overflow
        return self._replaced(self.click_weight * weight, self.row_weight * weight)

    def _take(self, rows: NDArray[np.int64]) -> Preferences:
        if len(np.unique(rows)) < len(rows):  # copies of a row form no pair, which takes a list
            return PairList(self.pairs(), self.n_rows, None, self.groups())[rows]
        return self._replaced(self.click_weight[rows], self.row_weight[rows], rows)

    def _replaced(
        self,
        click_weight: FloatVector,
        row_weight: FloatVector,
        rows: NDArray[np.int64] | slice = slice(None),
    ) -> Clicks:
        return Clicks(
            click_weight,
            row_weight,
            self.impression[rows],
            self.query[rows],
            propensities=self.propensities,
            clipped_fraction=self.clipped_fraction,
        )

    @property
    def _n_impressions(self) -> int:
        return int(self.impression.max(initial=-1)) + 1

    @cached_property
    def _with_rows(self) -> NDArray[np.int64]:
        return np.unique(self.query)

    @cached_property
    def own_weight(self) -> FloatVector:
        """The weight of each clicked row's pair with itself, which `copies` has and the pairs do not."""
        own = np.zeros(self.n_rows)
        rows = self.copies[0]
        own[rows] = (self.click_weight * self.row_weight)[rows]
        return own

    @cached_property
    def copies(self) -> tuple[NDArray[np.int64], Ranking, FloatVector]:
        """The rows of copies; their ranking, in which an impression is a query; the scale of its weights.

        A clicked row has a copy at the upper level, of the weight of its click, and every row has one at the
        lower level. So each clicked row is above all rows of its impression, itself included, whose score
        difference is 0 whatever the scores. Impressions without clicks have no copies.
        """
        clicked = sum_by_row(self.impression, self.click_weight, self._n_impressions) > 0
        shown = np.flatnonzero((self.row_weight > 0) & clicked[self.impression])
        upper = shown[self.click_weight[shown] > 0]
        rows = np.concatenate([shown, upper])
        impression = np.unique(self.impression[rows], return_inverse=True)[1].astype(np.int64)
        order = np.argsort(impression, kind="stable")  # rows of a query are sorted faster side by side
        rows, impression, level = rows[order], impression[order], (order >= len(shown)).astype(np.float64)
        weight = np.where(level > 0, self.click_weight[rows], self.row_weight[rows])
        ranking = Ranking(level, impression, weight=weight)
        return rows, ranking, ranking.scaled.pair_scale[impression]

    def partner_weights(self) -> tuple[FloatVector, FloatVector]:
        """Return the weight of each row's pairs as the worse one, and as the better one, in O(m)."""
        click, row = self.click_weight, self.row_weight
        clicks, rows = (
            sum_by_row(self.impression, weight, self._n_impressions)[self.impression]
            for weight in (click, row)
        )
        return row * (clicks - click), click * (rows - row)

    def total_weight(self) -> FloatVector:
        """Return the weight of all pairs of each query."""
        return self.sum_by_query(self.partner_weights()[0])

    def sum_by_query(self, values: FloatVector) -> FloatVector:
        """Sum values of rows per query."""
        return sum_by_row(self.query, values, int(self.query.max(initial=-1)) + 1)

    def by_query(self, parts: FloatVector) -> FloatVector:
        """Return the entries of the queries that have rows: a slice keeps the numbers of the whole."""
        return parts[self._with_rows]

    def query_importance(self) -> FloatVector:
        """Return the weight of each query that has rows in the mean over queries."""
        return np.ones(len(self._with_rows))

    def _why_no_pairs(self) -> str:
        reason = (
            "no row is clicked" if not self.n_clicks else "no clicked row shares its impression with another"
        )
        return f"There is nothing to rank: {reason}."


@weighing_rows.register
def _(clicks: Clicks) -> NDArray[np.bool_]:
    return clicks.row_weight > 0
