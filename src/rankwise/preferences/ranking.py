"""Rankings by real-valued labels, over all rows or within queries, with or without censoring."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise import _native
from rankwise._checks import as_array, as_codes, as_labels, as_vector, as_weights, check_choice, is_constant
from rankwise._types import FloatVector
from rankwise.preferences.base import (
    COUNTING_METHODS,
    NoPairsError,
    Pairs,
    PartnerSums,
    Preferences,
    check_pair_memory,
)

# Rows of a query up to which comparing all pairs is faster than sorting the rows.
SMALL_QUERY = 600
# Rows that are put in order at a time: they stay in a cache.
BLOCK_ROWS = 1 << 16


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

    @property
    def counts_pairs(self) -> bool:
        """Whether every pair weighs the same within its query, so that pairs can be counted."""
        return self.weight is None and self.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether all pairs of different labels of a query count, by the product of their rows' weights."""
        return self.orders_labels and self.gain is None

    @property
    def orders_labels(self) -> bool:
        """Whether no row is censored."""
        return self.event is None

    @property
    def has_queries(self) -> bool:
        """Whether rows are of several queries."""
        return self.query is not None and len(np.unique(self.query)) > 1

    @cached_property
    def _index(self) -> _Index:
        return _Index(self.labels, self.query, self.weight)

    @cached_property
    def _columns(self) -> _Columns:
        return _Columns(self)

    @property
    def n_queries(self) -> int:
        """The number of queries, those without pairs included."""
        return len(self._index.query_begin) - 1

    @cached_property
    def n_pairs(self) -> int:
        """The exact number of pairs, rows of weight zero left out."""
        index = self._index
        if self.event is None:
            return int(index.level_begin.sum(dtype=np.int64))
        lower = np.concatenate([[0], np.cumsum(self.event[index.row] > 0)])
        start = index.query_begin[index.query_of_position]
        return int((lower[start + index.level_begin] - lower[start]).sum())

    @property
    def has_pairs(self) -> bool:
        """Whether some query has two labels, which is found without sorting where all rows count."""
        if self.weight is not None or self.event is not None:
            return self.n_pairs > 0
        return not is_constant(self.labels, self.groups())

    def groups(self) -> NDArray[np.int64]:
        """Return the number of each row's query."""
        return np.zeros(self.n_rows, dtype=np.int64) if self.query is None else self.query.copy()

    def pairs(self) -> Pairs:
        """Enumerate all pairs."""
        index = self._index
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
        pairs, factor = self.pairs(), self.query_factor(average) / self.pair_scale()
        return pairs._replace(weight=pairs.weight * factor[self._index.query_of_row[pairs.better]])

    def renumbered(self) -> Ranking:
        """Return the same ranking with queries numbered from 0 up."""
        return self._replaced(query=np.unique(self.groups(), return_inverse=True)[1].astype(np.int64))

    def weighted(self, sample_weight: ArrayLike) -> Ranking:
        """Multiply each pair's weight by the weights of its two rows."""
        weight = as_weights(sample_weight, "sample_weight", self.n_rows)
        return self._replaced(weight=weight if self.weight is None else weight * self.weight)

    def _take(self, rows: NDArray[np.int64]) -> Ranking:
        return self._replaced(
            **{name: None if column is None else column[rows] for name, column in self._column_dict().items()}
        )

    def _column_dict(self) -> dict[str, Any]:
        names = ("labels", "query", "weight", "event", "gain", "query_weight", "values")
        return {name: getattr(self, name) for name in names}

    def _replaced(self, **columns: Any) -> Ranking:
        return Ranking(**(self._column_dict() | columns))

    def count(
        self, scores: FloatVector, *, margin: float = 1.0, n_threads: int = 1
    ) -> tuple[FloatVector, NDArray[np.int64], FloatVector]:
        """Count violated pairs: c_i - d_i for each row; their number and summed hinge loss for each query.

        Only where `counts_pairs`. O(m log m); equations (5) to (8) of Airola et al. (2011).
        """
        return _native.count_ranking(scores, self._index.native, margin, n_threads)

    def sums(
        self,
        scores: FloatVector | None,
        moment: FloatVector | None = None,
        *,
        margin: float = 1.0,
        counting: str = "merge",
        n_threads: int = 1,
    ) -> PartnerSums:
        """Sum over violated partners in O(m log m), over all partners in O(m)."""
        check_choice(counting, "counting", COUNTING_METHODS)
        columns = self._columns
        method = "labels" if scores is None else counting
        scores = np.zeros(self.n_rows) if scores is None else scores
        return PartnerSums(
            *_native.sum_ranking(
                scores,
                self._index.native,
                margin,
                method,
                columns.weight,
                self.event,
                columns.gain,
                moment,
                n_threads,
            )
        )

    def adjacency(
        self, scores: FloatVector, *, counting: str = "merge", n_threads: int = 1
    ) -> Callable[[FloatVector], FloatVector]:
        """Sort once, then O(m log m) a product."""
        if counting != "merge":
            return super().adjacency(scores, counting=counting, n_threads=n_threads)
        index, columns = self._index.native, self._columns
        windows = _native.find_windows(scores, index, 1.0, n_threads)

        def product(moment: FloatVector) -> FloatVector:
            return _native.sum_moment(
                windows, index, columns.weight, self.event, columns.gain, moment, n_threads
            )

        return product

    def squared_hinge(
        self,
        scores: FloatVector,
        factor: FloatVector | float,
        *,
        counting: str = "merge",
        n_threads: int = 1,
    ) -> tuple[float, FloatVector, FloatVector]:
        """Sum in O(m log m), or O(m) after a sort with few labels."""
        if counting != "merge":
            return super().squared_hinge(scores, factor, counting=counting, n_threads=n_threads)
        index, columns = self._index, self._columns
        of_query = index.by_query(factor)
        return _native.squared_hinge_ranking(
            scores, index.native, of_query, columns.weight, self.event, columns.gain, n_threads
        )

    @cached_property
    def _logistic_parts(self) -> tuple[tuple[NDArray[Any], ...], FloatVector]:
        """The groups of rows by label, and half of what weighs on each row from above less from below."""
        sums = self.sums(None)
        groups = _native.group_levels(self._index.native, self._columns.weight)
        return groups, 0.5 * (sums.up - sums.down)

    def _logistic(
        self,
        scores: FloatVector,
        factor: FloatVector | float,
        n_threads: int,
        *,
        balance: FloatVector | None = None,
        direction: FloatVector | None = None,
        diagonal: FloatVector | None = None,
        with_diagonal: bool = False,
    ) -> tuple[float, FloatVector, Any]:
        index, columns = self._index, self._columns
        return _native.logistic_ranking(
            scores,
            index.native,
            self._logistic_parts[0],
            index.by_query(factor),
            columns.weight,
            self.event,
            columns.gain,
            balance,
            direction,
            diagonal,
            with_diagonal,
            n_threads,
        )

    def logistic(
        self, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
    ) -> tuple[float, FloatVector]:
        """Sum in O(m), or O(m log m) with gains or censored rows."""
        value, gradient, _ = self._logistic(scores, factor, n_threads, balance=self._logistic_parts[1])
        return max(value, 0.0), gradient

    def logistic_derivatives(
        self, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
    ) -> tuple[FloatVector, FloatVector]:
        """Return both from one pass over the pairs of small queries."""
        balance = self._logistic_parts[1]
        return self._logistic(scores, factor, n_threads, balance=balance, with_diagonal=True)[1:]

    def logistic_hessian(
        self, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
    ) -> tuple[FloatVector, Callable[[FloatVector], FloatVector]]:
        """Return the diagonal and the product: each costs as much as `logistic`."""
        scores = scores.copy()
        diagonal = self._logistic(scores, factor, n_threads)[1]

        def product(direction: FloatVector) -> FloatVector:
            return self._logistic(scores, factor, n_threads, direction=direction, diagonal=diagonal)[1]

        return diagonal, product

    def violated_weight(self, scores: ArrayLike, margin: float, *, n_threads: int = 1) -> FloatVector:
        """Return the weight of the violated pairs of each query."""
        scores = self.check_scores(scores)
        if self.counts_pairs:
            counts = _native.count_violations(scores, self._index.native, margin, n_threads)
            return counts.astype(np.float64)
        sums = self.sums(scores, margin=margin, n_threads=n_threads)
        return self._by_query(sums.up) * self._columns.query_scale

    def misordered_weight(self, scores: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Return what is in the wrong order in each query; the pairs of small queries are compared."""
        if not (self.counts_pairs and self._has_small_queries):
            return super().misordered_weight(scores)
        wrong, wrong_or_tied = _native.count_order_errors(scores, self._index.native, 1)
        return wrong.astype(np.float64), wrong_or_tied.astype(np.float64)

    @cached_property
    def _has_small_queries(self) -> bool:
        """Whether a row has so few others in its query, on average, that sorting does not pay."""
        sizes = np.diff(self._index.query_begin).astype(np.float64)
        return bool(sizes @ sizes <= SMALL_QUERY * self.n_rows)

    def total_weight(self) -> FloatVector:
        """Return the weight of all pairs of each query."""
        return self._pair_totals * self._columns.query_scale

    def by_query(self, parts: FloatVector) -> FloatVector:
        """Return the entries of the queries that have rows: a slice keeps the numbers of the whole."""
        return parts[self._with_rows]

    @cached_property
    def _with_rows(self) -> NDArray[np.int64]:
        return np.unique(self.groups())

    def query_importance(self) -> FloatVector:
        """Return what each query that has rows counts in the mean over queries."""
        return self.by_query(self._importance())

    def _importance(self) -> FloatVector:
        importance = np.ones(self.n_queries)
        if self.query_weight is not None:
            importance[self._index.query_of_row] = self.query_weight
        return importance

    def sample(self, share: float) -> NDArray[np.int64]:
        """Draw whole queries where there are many, rows otherwise; the same ones at every call."""
        generator = np.random.default_rng(0)
        if self.query is None or share * self.n_queries < 50:
            kept = generator.choice(self.n_rows, int(share * self.n_rows), replace=False)
            return np.sort(kept).astype(np.int64)
        queries = generator.random(self.n_queries) < share
        return np.flatnonzero(queries[self.query])

    def centred(self, scores: FloatVector) -> FloatVector:
        """Take the mean of each query off."""
        if self.n_queries == 1:
            return super().centred(scores)
        return scores - (self._by_query(scores) / self._query_sizes)[self._index.query_of_row]

    @cached_property
    def _query_sizes(self) -> NDArray[np.int64]:
        """The number of rows of each query, 1 where there are none."""
        return np.maximum(np.bincount(self._index.query_of_row, minlength=self.n_queries), 1)

    def _by_query(self, values: FloatVector) -> FloatVector:
        if self.query is None:
            return values.sum(keepdims=True)
        return np.asarray(np.bincount(self._index.query_of_row, values, minlength=self.n_queries), np.float64)

    @cached_property
    def _pair_totals(self) -> FloatVector:
        if not self.counts_pairs:
            return self._by_query(self.sums(None).up)
        begin = self._index.query_begin
        totals, filled = np.zeros(self.n_queries), begin[:-1] < begin[1:]
        totals[filled] = np.add.reduceat(self._index.level_begin, begin[:-1][filled], dtype=np.int64)
        return totals

    def row_weight(self) -> FloatVector:
        """Return the weights of the rows as `sums` takes them: the largest of each query is 1."""
        return np.ones(self.n_rows) if self._columns.weight is None else self._columns.weight

    def pair_scale(self) -> FloatVector:
        """Return for each query the number that turns pair weights as `sums` takes them into those given."""
        largest = np.ones(self.n_queries)
        if self.weight is not None:
            largest = np.zeros(self.n_queries)
            np.maximum.at(largest, self._index.query_of_row, self.weight)
        return np.where(largest > 0, largest, 1.0) ** 2 * self._columns.gain_scale

    def levels(self) -> NDArray[np.int64]:
        """Number the (query, label) of each row."""
        query = self._index.query_of_row
        order = np.lexsort((self.labels, query))
        step = (np.diff(query[order]) != 0) | (np.diff(self.labels[order]) != 0)
        levels = np.empty(self.n_rows, dtype=np.int64)
        levels[order] = np.concatenate([[0], np.cumsum(step)])[: self.n_rows]
        return levels

    def query_factor(self, average: str, total: FloatVector | None = None) -> FloatVector:
        """Return the number by which a query's sum over pairs enters the mean loss.

        `total` is the weight of each query's pairs, by default of those that differ in label.
        """
        total = self._pair_totals if total is None else total
        importance = self._importance() * (total > 0)
        if not importance.any():
            raise NoPairsError("There is nothing to rank: every pair weighs nothing.")
        if average == "pairs":
            scaled = importance * self._columns.query_scale
            return scaled / (scaled @ total)
        return importance / importance.sum() / np.where(total > 0, total, 1.0)

    def _row_factor(self, average: str) -> FloatVector | float:
        factor = self.query_factor(average)
        return float(factor[0]) if self.n_queries == 1 else factor[self._index.query_of_row]

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


class _Index:
    """Rows by query, then by label: what the counting works on. Rows of weight zero are left out.

    It keeps 8 bytes a row. Where the rows of each query follow one another they are put in order some whole
    queries at a time, which takes little memory beside.
    """

    def __init__(self, labels: FloatVector, query: NDArray[np.int64] | None, weight: FloatVector | None):
        n_rows = len(labels)
        if n_rows >= 2**31 - 1:
            raise ValueError(f"A ranking holds at most 2^31 - 2 rows; got {n_rows}.")
        self.query_of_row = np.broadcast_to(np.int64(0), n_rows) if query is None else query
        kept = None if weight is None else weight > 0
        self.query_begin = _query_begin(query, kept, n_rows)
        n_kept, begin = int(self.query_begin[-1]), 0
        self.row, self.level_begin = np.empty(n_kept, dtype=np.int32), np.empty(n_kept, dtype=np.int32)
        for block in _blocks_of_queries(query, n_rows):
            order, level = self._ordered(block, labels, query, kept)
            positions = slice(begin, begin + len(order))
            self.row[positions], self.level_begin[positions] = order, level
            begin = positions.stop

    @property
    def query_of_position(self) -> NDArray[np.int64]:
        """The query of each entry of `row`."""
        return np.repeat(np.arange(len(self.query_begin) - 1), np.diff(self.query_begin))

    @cached_property
    def native(self) -> _native.RankingIndex:
        """The index as native code takes it, with its scratch."""
        position = np.full(len(self.query_of_row), -1, dtype=np.int32)
        position[self.row] = np.arange(len(self.row), dtype=np.int32)
        return _native.RankingIndex(self.row, self.level_begin, self.query_begin, position)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "native"}

    def by_query(self, by_row: FloatVector | float) -> FloatVector:
        """Return for each query what its rows share, 0 where it has none."""
        of_query = np.zeros(len(self.query_begin) - 1)
        filled = np.diff(self.query_begin) > 0
        first = self.row[self.query_begin[:-1][filled]]
        of_query[filled] = by_row[first] if isinstance(by_row, np.ndarray) else by_row
        return of_query

    def _ordered(
        self,
        block: slice,
        labels: FloatVector,
        query: NDArray[np.int64] | None,
        kept: NDArray[np.bool_] | None,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the rows of whole queries in order, and where in its query the level of each begins."""
        labels = labels[block]
        if query is None:
            first, last, order = 0, 0, _native.stable_order(labels)
        else:
            numbers = query[block]
            first, last = numbers.min(initial=len(self.query_begin)), numbers.max(initial=-1)
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
    """Return where each query begins among the rows kept, and the number of these."""
    if query is None:
        return np.array([0, n_rows if kept is None else np.count_nonzero(kept)], dtype=np.int64)
    size = np.bincount(query if kept is None else query[kept], minlength=int(query.max(initial=-1)) + 1)
    return np.concatenate([[0], np.cumsum(size)]).astype(np.int64)


def _blocks_of_queries(query: NDArray[np.int64] | None, n_rows: int) -> list[slice]:
    """Cut the rows into blocks of whole queries, of about `BLOCK_ROWS` where no query is larger."""
    if query is None or n_rows <= BLOCK_ROWS or (query[1:] < query[:-1]).any():
        return [slice(0, n_rows)]
    begin = np.searchsorted(query, query[BLOCK_ROWS::BLOCK_ROWS])
    cuts = np.unique(np.concatenate([[0], begin, [n_rows]])).tolist()
    return [slice(*span) for span in pairwise(cuts)]


class _Columns:
    """Weights and gains brought to a scale at which products neither overflow nor vanish.

    Within a query the largest weight becomes 1 and the smallest gain 0; `query_scale` turns a query's sums
    back into units that all queries share.
    """

    def __init__(self, ranking: Ranking):
        index = ranking._index
        self.query_scale = np.ones(len(index.query_begin) - 1)
        self.weight = None
        if ranking.weight is not None:
            largest = np.zeros(len(self.query_scale))
            np.maximum.at(largest, index.query_of_row, ranking.weight)
            self.query_scale = (largest / (largest.max() or 1.0)) ** 2
            largest[largest == 0] = 1.0
            self.weight = ranking.weight / largest[index.query_of_row]
        self.gain = None
        self.gain_scale = 1.0
        if ranking.gain is not None:
            smallest = np.full(len(self.query_scale), np.inf)
            np.minimum.at(smallest, index.query_of_row, ranking.gain)
            centred = ranking.gain - smallest[index.query_of_row]
            self.gain_scale = float(centred.max() or 1.0)
            self.gain = centred / self.gain_scale


def from_scores(
    y: ArrayLike,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    pair_weight: str | ArrayLike | None = None,
) -> Ranking:
    """Rank rows by real-valued scores, over all rows or within each query.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Any real numbers, or an ordered categorical column; a row should be above the rows of its query with a
        lower label.
    qid : array of shape (n_rows,), optional
        The query of each row: any type, any order.
    sample_weight : array of shape (n_rows,), optional
        A pair weighs the product of its rows' weights, so a row of weight 2 equals the row given twice
        and a row of weight 0 is not there. A weight that is constant within a query cancels under
        `average="queries"`: use `query_weight` for that.
    query_weight : array of shape (n_rows,), optional
        What each query counts in the mean over queries; one value per row, constant within a query.
    pair_weight : None, "difference" or array of gains of shape (n_rows,)
        With "difference", a pair also weighs the difference of its labels; with an array, the
        difference of its gains, which must not fall as the label rises.

    Examples
    --------
    >>> Preferences.from_scores([1.5, 0.2, 7.0]).n_pairs
    3
    """
    labels = as_labels(y, "y")
    n_rows = len(labels)
    query = None if qid is None else as_codes(qid, "qid", n_rows)[1]
    weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", n_rows)
    importance = None
    if query_weight is not None:
        importance = as_weights(query_weight, "query_weight", n_rows)
        _check_constant(importance, query)
    ranking = Ranking(labels, query, weight=weight, query_weight=importance)
    ranking.require_pairs()
    if pair_weight is not None:
        ranking = ranking._replaced(gain=_gains(pair_weight, ranking))
    return ranking


def as_preferences(
    y: Any, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Preferences:
    """Return preferences as they are, with their own queries and weights, or the order of labels."""
    if not isinstance(y, Preferences):
        return from_scores(y, qid, sample_weight)
    if qid is not None or sample_weight is not None:
        raise ValueError("qid and sample_weight must be None when y is a Preferences, which has its own.")
    return y


def from_survival(
    event: ArrayLike,
    time: ArrayLike,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
) -> Ranking:
    """Rank right-censored life times: a higher score means a longer life.

    A pair counts when the earlier time is an observed event; at equal times an event comes before a
    censoring, and two events are tied.

    Parameters
    ----------
    event : array of bool of shape (n_rows,)
        Whether the end was observed.
    time : array of shape (n_rows,)
        The time of the event or of the censoring.
    sample_weight : array of shape (n_rows,), optional
    qid : array of shape (n_rows,), optional
        The stratum of each row (hospital, sex, ...), of any type: lives are compared within strata.

    Examples
    --------
    >>> Preferences.from_survival([True, False, True], [2.0, 3.0, 5.0]).n_pairs
    2
    >>> Preferences.from_survival([True, False, True], [2.0, 3.0, 5.0], qid=["a", "a", "b"]).n_pairs
    1
    """
    ranking = lives(event, time, sample_weight, qid)
    ranking.require_pairs()
    return ranking


def lives(
    event: ArrayLike,
    time: ArrayLike,
    sample_weight: ArrayLike | None = None,
    qid: ArrayLike | None = None,
) -> Ranking:
    """Return what `from_survival` does, also where no two lives can be compared."""
    times = as_vector(time, "time")
    events = as_vector(as_array(event), "event", len(times))
    if not np.isin(events, (0.0, 1.0)).all():
        raise ValueError("event must hold booleans (or 0 and 1).")
    # Label: the rank of (time, censored), so that at equal times an event comes before a censoring.
    order = np.lexsort((1 - events, times))
    step = (np.diff(times[order]) > 0) | (np.diff(events[order]) != 0)
    labels = np.empty(len(times))
    labels[order] = np.concatenate([[0.0], np.cumsum(step)])[: len(times)]
    weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", len(times))
    query = None if qid is None else as_codes(qid, "qid", len(times))[1]
    return Ranking(labels, query, weight=weight, event=events, values=times)


def _check_constant(query_weight: FloatVector, query: NDArray[np.int64] | None) -> None:
    if not is_constant(query_weight, np.zeros(len(query_weight), dtype=np.int64) if query is None else query):
        raise ValueError("query_weight must be constant within each query.")


def _gains(pair_weight: str | ArrayLike, ranking: Ranking) -> FloatVector:
    if isinstance(pair_weight, str):
        check_choice(pair_weight, "pair_weight", ("difference",))
        return ranking.labels
    gain = as_vector(pair_weight, "pair_weight", ranking.n_rows)
    index = ranking._index
    position = np.arange(len(index.row))
    query_start = index.query_begin[index.query_of_position]
    begin = np.flatnonzero(position == query_start + index.level_begin)
    highest = np.maximum.reduceat(gain[index.row], begin)
    lowest = np.minimum.reduceat(gain[index.row], begin)
    same_query = index.level_begin[begin[1:]] > 0
    if (highest[:-1] > lowest[1:])[same_query].any():
        raise ValueError("pair_weight: within a query a gain must not fall as the label rises.")
    return gain
