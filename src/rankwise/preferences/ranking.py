"""Rankings by real-valued labels, over all rows or within queries, with or without censoring."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise import _native
from rankwise.core.checks import as_weights, is_constant
from rankwise.core.types import FloatVector
from rankwise.preferences.base import (
    NoPairsError,
    Pairs,
    Preferences,
    check_pair_memory,
)
from rankwise.preferences.row_order import RowOrder

COLUMNS = ("labels", "query", "weight", "event", "gain", "query_weight", "values")


class Ranking(Preferences):
    """Rows with a label each; inside a query, a higher label should be above a lower one.

    A pair weighs the product of its rows' `weight` and, with a `gain`, their difference in gain. A row whose
    `event` is 0 is censored: it is the worse one of no pair. The magnitude of a pair is the
    difference of its `values`, by default the labels.
    """

    labels: FloatVector
    values: FloatVector

    def __init__(
        self,
        labels: FloatVector,
        query: NDArray[np.int64] | None = None,
        *,
        weight: FloatVector | None = None,
        event: FloatVector | None = None,
        gain: FloatVector | None = None,
        query_weight: FloatVector | None = None,
        values: FloatVector | None = None,
    ):
        self.labels = labels
        self.values = labels if values is None else values
        self.query = query
        self.weight = weight
        self.event = event
        self.gain = gain
        self.query_weight = query_weight
        self.n_rows = len(labels)
        self.orders_labels = event is None
        self.is_complete = self.orders_labels and gain is None
        self.counts_pairs = self.is_complete and weight is None

    @property
    def has_queries(self) -> bool:
        """Whether rows are of several queries."""
        return self.query is not None and len(np.unique(self.query)) > 1

    @cached_property
    def order(self) -> RowOrder:
        """The rows by query, then by label."""
        return RowOrder(self.labels, self.query, self.weight)

    @cached_property
    def scaled(self) -> ScaledColumns:
        """Weights and gains at a scale at which products neither overflow nor underflow."""
        return ScaledColumns(self)

    @cached_property
    def n_pairs(self) -> int:
        """The exact number of pairs, rows of weight zero left out."""
        index = self.order
        if self.event is None:
            return int(index.level_begin.sum(dtype=np.int64))
        lower = np.concatenate([[0], np.cumsum(self.event[index.row] > 0)])
        start = index.query_begin[index.query_of_position]
        return int((lower[start + index.level_begin] - lower[start]).sum())

    @property
    def has_pairs(self) -> bool:
        """Whether some query has two labels, found without sorting if all rows count."""
        if self.weight is not None or self.event is not None:
            return self.n_pairs > 0
        return not is_constant(self.labels, self.groups())

    def groups(self) -> NDArray[np.int64]:
        """Return the number of each row's query."""
        return np.zeros(self.n_rows, dtype=np.int64) if self.query is None else self.query.copy()

    def pairs(self) -> Pairs:
        """Enumerate all pairs."""
        index = self.order
        count = index.level_begin.astype(np.int64)
        check_pair_memory(int(count.sum()))
        position = np.repeat(np.arange(len(count)), count)
        start = np.repeat(np.cumsum(count) - count, count)
        worse_position = np.arange(count.sum()) - start + index.query_begin[index.query_of_position][position]
        better, worse = index.row[position].astype(np.int64), index.row[worse_position].astype(np.int64)
        weight = np.ones(len(better))
        if self.event is not None:
            keep = self.event[worse] > 0
            better, worse, weight = better[keep], worse[keep], weight[keep]
        if self.weight is not None:
            weight = weight * self.weight[better] * self.weight[worse]
        if self.gain is not None:
            weight = weight * (self.gain[better] - self.gain[worse])
        return Pairs(better, worse, self.values[better] - self.values[worse], weight)

    def mean_pairs(self, average: str = "queries") -> Pairs:
        """Enumerate all pairs, each with its weight in the mean."""
        pairs, factor = self.pairs(), self.query_factor(average) / self.scaled.pair_scale
        return pairs._replace(weight=pairs.weight * factor[self.order.query_of_row[pairs.better]])

    def renumbered(self) -> Ranking:
        """Return the same ranking with queries numbered from 0 up."""
        return self.replaced(query=np.unique(self.groups(), return_inverse=True)[1].astype(np.int64))

    def weighted(self, sample_weight: ArrayLike) -> Ranking:
        """Multiply each pair's weight by the weights of its two rows."""
        weight = as_weights(sample_weight, "sample_weight", self.n_rows)
        return self.replaced(weight=weight if self.weight is None else weight * self.weight)

    def _take(self, rows: NDArray[np.int64]) -> Ranking:
        columns = {name: getattr(self, name) for name in COLUMNS}
        return Ranking(**{name: column[rows] for name, column in columns.items() if column is not None})

    def replaced(self, **columns: Any) -> Ranking:
        """Return the same ranking with other columns, named as the parameters."""
        found = Ranking(**({name: getattr(self, name) for name in COLUMNS} | columns))
        if "order" in vars(self) and columns.keys().isdisjoint(("labels", "query", "weight")):
            found.order = self.order
        return found

    @cached_property
    def level_groups(self) -> tuple[NDArray[Any], ...]:
        """The rows grouped by query and label, as the native logistic sums read them."""
        return _native.group_levels(self.order.native, self.scaled.weight)

    @cached_property
    def balance(self) -> FloatVector:
        """Half the weight of each row's pairs as the worse one, less that as the better one."""
        up, down = self.partner_weights()
        return 0.5 * (up - down)

    def partner_weights(self) -> tuple[FloatVector, FloatVector]:
        """Return the weight of each row's pairs as the worse one, and as the better one; scaled, in O(m)."""
        scaled = self.scaled
        up, down, *_ = _native.sum_all_partners(
            self.order.native, scaled.weight, self.event, scaled.gain, None, 1
        )
        return up, down

    def total_weight(self) -> FloatVector:
        """Return the weight of all pairs of each query."""
        return self._pair_totals * self.scaled.query_scale

    def by_query(self, parts: FloatVector) -> FloatVector:
        """Return the entries of the queries that have rows: a slice keeps the numbers of the whole."""
        return parts[self._with_rows]

    @cached_property
    def _with_rows(self) -> NDArray[np.int64]:
        return np.unique(self.groups())

    def query_importance(self) -> FloatVector:
        """Return the weight of each query that has rows in the mean over queries."""
        return self.by_query(_importance(self))

    def sample(self, fraction: float) -> NDArray[np.int64]:
        """Draw whole queries if there are many, and rows otherwise; the same in every call."""
        generator = np.random.default_rng(0)
        if self.query is None or fraction * self.order.n_queries < 50:
            kept = generator.choice(self.n_rows, int(fraction * self.n_rows), replace=False)
            return np.sort(kept).astype(np.int64)
        queries = generator.random(self.order.n_queries) < fraction
        return np.flatnonzero(queries[self.query])

    def centred(self, scores: FloatVector) -> FloatVector:
        """Subtract the mean of each query."""
        order = self.order
        if order.n_queries == 1:
            return super().centred(scores)
        return scores - (order.sum_by_query(scores) / order.query_sizes)[order.query_of_row]

    @cached_property
    def _pair_totals(self) -> FloatVector:
        if not self.counts_pairs:
            return self.order.sum_by_query(self.partner_weights()[0])
        begin = self.order.query_begin
        totals, filled = np.zeros(self.order.n_queries), begin[:-1] < begin[1:]
        totals[filled] = np.add.reduceat(self.order.level_begin, begin[:-1][filled], dtype=np.int64)
        return totals

    def row_weight(self) -> FloatVector:
        """Return the weights of the rows as `sums` takes them: the largest of each query is 1."""
        return np.ones(self.n_rows) if self.scaled.weight is None else self.scaled.weight

    def query_factor(self, average: str, total: FloatVector | None = None) -> FloatVector:
        """Return the number by which a query's sum over pairs enters the mean loss.

        `total` is the weight of each query's pairs, by default of those that differ in label.
        """
        total = self._pair_totals if total is None else total
        importance = _importance(self) * (total > 0)
        if not importance.any():
            raise NoPairsError("There is nothing to rank: every pair weighs nothing.")
        if average == "pairs":
            scaled = importance * self.scaled.query_scale
            return scaled / (scaled @ total)
        return importance / importance.sum() / np.where(total > 0, total, 1.0)

    def _why_no_pairs(self) -> str:
        if self.n_rows <= 1:
            reason = f"a ranking needs at least two rows; got {self.n_rows} sample{'s' * (self.n_rows == 0)}"
        elif len(np.unique(self.labels)) == 1:
            reason = f"all {self.n_rows} labels are equal ({self.labels[0]:g})"
        elif self.query is not None and len(np.unique(self.query)) == self.n_rows:
            reason = "every query has a single row"
        elif self.query is not None:
            reason = "within each query all labels are equal"
        elif self.weight is not None or self.event is not None:
            reason = "no two rows with positive weights (and an observed event at the earlier time) differ"
        else:
            reason = "no two labels differ"
        return f"There is nothing to rank: {reason}."


def _importance(ranking: Ranking) -> FloatVector:
    """Return the weight of each query, those without rows included, in the mean over queries."""
    importance = np.ones(ranking.order.n_queries)
    if ranking.query_weight is not None:
        importance[ranking.order.query_of_row] = ranking.query_weight
    return importance


class ScaledColumns:
    """Weights and gains at a scale at which products neither overflow nor underflow.

    Within a query the largest weight becomes 1 and the smallest gain 0; `query_scale` turns a query's sums
    back into common units of all queries.
    """

    def __init__(self, ranking: Ranking):
        index = ranking.order
        self.query_scale = largest = np.ones(index.n_queries)
        self.weight = None
        if ranking.weight is not None:
            largest = np.zeros(index.n_queries)
            np.maximum.at(largest, index.query_of_row, ranking.weight)
            self.query_scale = (largest / (largest.max() or 1.0)) ** 2
            largest[largest == 0] = 1.0
            self.weight = ranking.weight / largest[index.query_of_row]
        self.gain = None
        gain_scale = 1.0
        if ranking.gain is not None:
            smallest = np.full(index.n_queries, np.inf)
            np.minimum.at(smallest, index.query_of_row, ranking.gain)
            centred = ranking.gain - smallest[index.query_of_row]
            gain_scale = float(centred.max() or 1.0)
            self.gain = centred / gain_scale
        self._largest, self._gain_scale = largest, gain_scale

    @property
    def pair_scale(self) -> FloatVector:
        """The factor per query that turns pair weights back into those given, which may overflow."""
        return self._largest**2 * self._gain_scale
