"""Rankings by real-valued labels, over all rows or within queries, with or without censoring."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
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

# Rows that are sorted at a time: they fit into a cache.
BLOCK_ROWS = 1 << 16


class RowOrder:
    """Rows by query, then by label, as native counts and sums read them. Rows of weight zero are left out.

    `struct Ranking` of native/ranking.hpp defines `row`, `level_begin`, `query_begin` and `position`. The
    arrays take 8 bytes per row. If the rows of each query are consecutive, they are sorted a few whole
    queries at a time, which takes little additional memory.
    """

    def __init__(self, labels: FloatVector, query: NDArray[np.int64] | None, weight: FloatVector | None):
        n_rows = len(labels)
        if n_rows >= 2**31 - 1:
            raise ValueError(f"A ranking holds at most 2^31 - 2 rows; got {n_rows}.")
        self.has_query = query is not None
        self.query_of_row = np.broadcast_to(np.int64(0), n_rows) if query is None else query
        kept = None if weight is None else weight > 0
        self.query_begin = _query_begin(query, kept, n_rows)
        self.n_queries = len(self.query_begin) - 1  # those without pairs included
        n_kept, begin = int(self.query_begin[-1]), 0
        self.row, self.level_begin = np.empty(n_kept, dtype=np.int32), np.empty(n_kept, dtype=np.int32)
        for block in _blocks_of_queries(query, n_rows):
            order, level = self._ordered(block, labels, query, kept)
            positions = slice(begin, begin + len(order))
            self.row[positions], self.level_begin[positions] = order, level
            begin = positions.stop

    @cached_property
    def query_sizes(self) -> NDArray[np.int64]:
        """The number of rows of each query, 1 if there are none."""
        return np.maximum(np.bincount(self.query_of_row, minlength=self.n_queries), 1)

    @property
    def query_of_position(self) -> NDArray[np.int64]:
        """The query of each entry of `row`."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.query_begin))

    @cached_property
    def native(self) -> _native.RankingIndex:
        """The index as native code takes it, with its scratch."""
        position = np.full(len(self.query_of_row), -1, dtype=np.int32)
        position[self.row] = np.arange(len(self.row), dtype=np.int32)
        return _native.RankingIndex(self.row, self.level_begin, self.query_begin, position)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}

    def by_query(self, by_row: FloatVector | float) -> FloatVector:
        """Return the value of each query's first row, 0 for a query without rows."""
        of_query = np.zeros(self.n_queries)
        filled = np.diff(self.query_begin) > 0
        first = self.row[self.query_begin[:-1][filled]]
        of_query[filled] = by_row[first] if isinstance(by_row, np.ndarray) else by_row
        return of_query

    def sum_by_query(self, values: FloatVector) -> FloatVector:
        """Sum values of rows per query."""
        if not self.has_query:
            return values.sum(keepdims=True)
        return np.asarray(np.bincount(self.query_of_row, values, minlength=self.n_queries), np.float64)

    def _ordered(
        self,
        block: slice,
        labels: FloatVector,
        query: NDArray[np.int64] | None,
        kept: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return `row` and `level_begin` of whole queries."""
        labels = labels[block]
        if query is None:
            first, last, order = 0, 0, _native.stable_order(labels)
        else:
            numbers = query[block]
            first, last = int(numbers.min(initial=len(self.query_begin))), int(numbers.max(initial=-1))
            order = _native.stable_order(labels)
            order = order[np.argsort(numbers[order], kind="stable")]
        if kept is not None:
            order = order[kept[block][order]]
        ordered = labels[order]
        level = np.arange(len(order), dtype=np.int32)
        level[1:] *= ordered[1:] != ordered[:-1]
        size = np.diff(self.query_begin[first : last + 2])
        start = np.cumsum(size, dtype=np.int32) - size.astype(np.int32)
        level[start[size > 0]] = start[size > 0]
        np.maximum.accumulate(level, out=level)
        if len(size) > 1:
            level -= np.repeat(start, size)
        order += np.int32(block.start)
        return order, level


def _query_begin(
    query: NDArray[np.int64] | None, kept: NDArray[np.bool_] | None, n_rows: int
) -> NDArray[np.int64]:
    """Return the begin of each query among the rows kept, and the number of these rows."""
    if query is None:
        return np.array([0, n_rows if kept is None else np.count_nonzero(kept)], dtype=np.int64)
    size = np.bincount(query if kept is None else query[kept], minlength=int(query.max(initial=-1)) + 1)
    return np.concatenate([[0], np.cumsum(size)]).astype(np.int64)


def _blocks_of_queries(query: NDArray[np.int64] | None, n_rows: int) -> list[slice]:
    """Cut the rows into blocks of whole queries, of about `BLOCK_ROWS` rows unless a query is larger."""
    if query is None or n_rows <= BLOCK_ROWS or (query[1:] < query[:-1]).any():
        return [slice(0, n_rows)]
    begin = np.searchsorted(query, query[BLOCK_ROWS::BLOCK_ROWS])
    cuts = np.unique(np.concatenate([[0], begin, [n_rows]])).tolist()
    return [slice(*span) for span in pairwise(cuts)]


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
        return self.by_query(importance_of(self))

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
        importance = importance_of(self) * (total > 0)
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


def importance_of(ranking: Ranking) -> FloatVector:
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
        self.largest_weight, self._gain_scale = largest, gain_scale

    @property
    def pair_scale(self) -> FloatVector:
        """The factor per query that turns pair weights back into those given, which may overflow."""
        return self.largest_weight**2 * self._gain_scale
