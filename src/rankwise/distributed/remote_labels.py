"""Labels and queries that stay on the workers, so that the driver's memory does not grow with the rows.

Each worker ranks the rows of its partition. The driver has a few numbers per partition: rows, pairs, queries,
and the range of its queries. If these ranges do not overlap, no query is in two partitions; otherwise, the
driver compares the queries themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_array, as_codes, as_labels, as_weights
from rankwise.core.types import FloatVector
from rankwise.data.rows import joined as joined_values
from rankwise.distributed.collections import column_parts, part_names
from rankwise.distributed.engine import Engine, Pinned, identity
from rankwise.distributed.groups import all_differ, ranges_overlap
from rankwise.distributed.partitioned import PartitionedDesign
from rankwise.preferences.base import Pairs, Preferences
from rankwise.preferences.ranking import Ranking

# The most rows, and stored entries of rows, of a sample that is brought to the driver.
SAMPLE_ROWS, SAMPLE_ENTRIES = 1 << 18, 1 << 24
# The most queries per row that are brought to the driver to find one that is in two partitions.
QUERIES_PER_ROW = 0.1


@dataclass(frozen=True)
class Summary:
    """Counts of the rows, pairs and queries of one partition, for the driver.

    Attributes
    ----------
    n_rows, n_pairs, n_queries, n_ranked : int
        `n_ranked` is the number of queries with pairs.
    mass : float
        The weight of all pairs.
    n_compared, mass_with_ties : int, float
        The same if tied rows count as pairs: the number of queries with two rows of positive weight, and the
        weight of their pairs.
    largest : float
        The largest absolute label.
    first, last : Any
        The lowest and the highest query; None without rows.
    problem : str
        If not empty, it completes the sentence "Partition 3 of ...".
    """

    n_rows: int = 0
    n_pairs: int = 0
    n_queries: int = 0
    n_ranked: int = 0
    mass: float = 0.0
    n_compared: int = 0
    mass_with_ties: float = 0.0
    largest: float = 0.0
    first: Any = None
    last: Any = None
    problem: str = ""


@dataclass(frozen=True)
class LocalLabels:
    """The ranking of the rows of one partition, None if its columns are not valid, and its queries.

    `rows` are those of the ranking, None if it has all rows of the partition.
    """

    ranking: Ranking | None
    summary: Summary
    queries: NDArray[Any] = field(default_factory=lambda: np.zeros(0))
    totals: QueryTotals | None = None
    rows: NDArray[np.int64] | None = None


def local_labels(y: Any, qid: Any, weight: Any, pair_weight: str | None) -> LocalLabels:
    """Rank the rows of one partition, on its worker."""
    try:
        if np.ndim(y) > 1:  # several outputs
            return LocalLabels(None, Summary(len(y)))
        labels = as_labels(y, "y")
        if any(len(column) != len(labels) for column in (qid, weight) if column is not None):
            return LocalLabels(None, Summary(len(labels)))  # other partitions than those of y
        queries, codes = as_codes(as_array(qid), "qid", len(labels))
        weights = None
        if weight is not None:  # those of a single partition may all be zero
            weights = as_weights(as_array(weight), "sample_weight", len(labels), may_be_zero=True)
    except ValueError as error:
        return LocalLabels(None, Summary(problem=str(error)))
    ranking = Ranking(labels, codes, weight=weights)
    if pair_weight == "difference":
        ranking = ranking.replaced(gain=labels)
    totals = QueryTotals.of(ranking)
    return LocalLabels(ranking, summary_of(ranking, queries, totals), queries, totals)


@dataclass(frozen=True)
class QueryTotals:
    """Numbers per query of one partition, of which a `Summary` has the sums; see there."""

    n_pairs: FloatVector
    mass: FloatVector
    is_compared: NDArray[np.bool_]
    mass_with_ties: FloatVector

    @classmethod
    def of(cls, ranking: Ranking) -> QueryTotals:
        """Sum over the pairs of each query.

        Examples
        --------
        >>> totals = QueryTotals.of(Ranking(np.array([1.0, 0.0, 1.0]), np.array([0, 0, 1])))
        >>> totals.n_pairs, totals.mass, totals.is_compared, totals.mass_with_ties
        (array([1., 0.]), array([1., 0.]), array([ True, False]), array([2. , 0.5]))
        """
        query, order = ranking.groups(), ranking.order
        n = order.n_queries if ranking.n_rows else 0
        weight = np.ones(ranking.n_rows) if ranking.weight is None else ranking.weight

        def sums(values: Any, by: Any = query) -> FloatVector:
            return np.asarray(np.bincount(by, values, minlength=n), np.float64)

        mass = sums(ranking.partner_weights()[0]) * ranking.scaled.pair_scale if n else np.zeros(0)
        pairs = sums(order.level_begin, order.query_of_position) if n else np.zeros(0)
        return cls(pairs, mass, sums(weight > 0) > 1, sums(weight) ** 2 / 2)

    def summary(self, n_rows: int, kept: Any = slice(None)) -> Summary:
        """Return the sums over some of the queries."""
        mass, compared = self.mass[kept], self.is_compared[kept]
        return Summary(
            n_rows,
            int(self.n_pairs[kept].sum()),
            len(mass),
            int((mass > 0).sum()),
            float(mass.sum()),
            int(compared.sum()),
            float(self.mass_with_ties[kept][compared].sum()),
        )


def summary_of(ranking: Ranking, queries: NDArray[Any], totals: QueryTotals) -> Summary:
    """Return the counts of a ranking and the range of its queries; `queries` are in ascending order."""
    found = totals.summary(ranking.n_rows)
    found = replace(found, largest=float(np.max(np.abs(ranking.labels), initial=0.0)))
    if not len(queries) or not _are_in_order(queries):
        return found
    return replace(found, first=queries[0], last=queries[-1])


def _are_in_order(queries: NDArray[Any]) -> bool:
    """Return whether distinct queries are sorted: objects that are not all words may have no order."""
    return queries.dtype.kind != "O" or all(isinstance(query, str) for query in queries)


def labels_summary(labels: LocalLabels) -> Summary:
    """Return the summary alone, which is sent to the driver."""
    return labels.summary


def labels_queries(labels: LocalLabels) -> NDArray[Any]:
    """Return the distinct queries alone."""
    return labels.queries


class RemotePreferences(Preferences):
    """Preferences among rows of the same query, with one ranking per partition on its worker.

    Parameters
    ----------
    engine : Engine
    labels : Pinned
        A `LocalLabels` per partition.
    summaries : list of Summary
    row_entries : float
        The stored entries of a row of X, on average.
    is_complete : bool
        Whether all pairs of different labels count by the weights of their rows alone.
    """

    def __init__(
        self,
        engine: Engine,
        labels: Pinned,
        summaries: Sequence[Summary],
        row_entries: float = 1.0,
        is_complete: bool = False,
    ):
        self.engine, self._labels, self._summaries = engine, labels, list(summaries)
        self._row_entries, self.is_complete = row_entries, is_complete
        self.n_rows = sum(summary.n_rows for summary in summaries)

    @property
    def handles(self) -> list[Any]:
        """One handle of a `LocalLabels` per partition."""
        return self._labels.handles

    @property
    def has_pairs(self) -> bool:
        """Whether there is any pair that weighs something."""
        return self.n_ranked > 0

    @property
    def n_pairs(self) -> int:
        """The exact number of pairs."""
        return sum(summary.n_pairs for summary in self._summaries)

    @property
    def n_queries(self) -> int:
        """The number of queries, with pairs or without."""
        return sum(summary.n_queries for summary in self._summaries)

    @property
    def n_ranked(self) -> int:
        """The number of queries with pairs."""
        return sum(summary.n_ranked for summary in self._summaries)

    @property
    def has_queries(self) -> bool:
        """Whether there are several queries."""
        return self.n_queries > 1

    @property
    def largest_label(self) -> float:
        """The largest absolute label."""
        return max((summary.largest for summary in self._summaries), default=0.0)

    def fractions(self, average: str, with_ties: bool = False) -> list[float]:
        """Return the fraction of the mean loss that belongs to each partition.

        With `with_ties`, tied rows of a query count as pairs.
        """
        mass, number = ("mass_with_ties", "n_compared") if with_ties else ("mass", "n_ranked")
        weights = [float(getattr(one, mass if average == "pairs" else number)) for one in self._summaries]
        return [weight / sum(weights) for weight in weights]

    def query_factor(self, average: str, total: Any = None) -> Any:
        """Return 1: the workers have the factors of their queries."""
        return np.ones(1)

    def pairs(self) -> Pairs:
        """Refuse to list pairs, which are on the workers."""
        raise TypeError("Pairs on the workers cannot be listed.")

    def weighted(self, sample_weight: ArrayLike) -> Preferences:
        """Refuse other weights."""
        raise TypeError("Pairs on the workers have their weights.")

    def _why_no_pairs(self) -> str:
        return f"There is nothing to rank: no query of the {self.n_rows} rows has two labels."

    @cached_property
    def query_numbers(self) -> list[NDArray[np.int64]]:
        """The numbers of the queries of each partition among all queries, in ascending order."""
        filled = [one for one in self._summaries if one.n_rows]
        if ranges_are_apart(filled):
            order = sorted(range(len(filled)), key=lambda k: filled[k].first)
            sizes = np.array([filled[k].n_queries for k in order])
            first = dict(zip(order, np.cumsum(sizes) - sizes, strict=True))
            starts = iter([first[k] for k in range(len(filled))])
            return [
                next(starts) + np.arange(one.n_queries) if one.n_rows else np.arange(0)
                for one in self._summaries
            ]
        found = self.engine.execute(lambda: self.engine.map(labels_queries, self.handles))
        codes = as_codes(joined_values([queries for queries in found if len(queries)]), "qid")[1]
        return np.split(codes, np.cumsum([len(queries) for queries in found])[:-1])

    def pair_folds(self, n_splits: int, seed: int = 0) -> list[tuple[Preferences, Preferences]]:
        """Return training and test pairs per fold of queries."""
        from rankwise.distributed.remote_folds import remote_folds

        return remote_folds(self, n_splits, seed)

    def sample(self, fraction: float) -> Any:
        """Draw a representative part of the rows as `Ranking.sample` does: a limited number of them."""
        most_rows = min(SAMPLE_ROWS, SAMPLE_ENTRIES / max(1.0, self._row_entries))
        fraction = min(fraction, most_rows / max(1, self.n_rows))
        engine, generator, n_queries = self.engine, np.random.default_rng(0), self.n_queries
        if fraction * n_queries < 50:
            rows = np.sort(generator.choice(self.n_rows, int(fraction * self.n_rows), replace=False))
            ends = np.cumsum([one.n_rows for one in self._summaries])
            parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
            local = [
                part - (end - one.n_rows) for part, end, one in zip(parts, ends, self._summaries, strict=True)
            ]
            return RemoteRows(engine, lambda: engine.map(identity, engine.scatter(local, self.handles)))
        kept = generator.random(n_queries) < fraction
        masks = [kept[numbers] for numbers in self.query_numbers]
        return RemoteRows(
            engine, lambda: engine.map(drawn, self.handles, engine.scatter(masks, self.handles))
        )

    def __getitem__(self, rows: Any) -> Ranking:
        """Return the ranking of rows that were drawn, in memory."""
        assert isinstance(rows, RemoteRows), "rows on the workers are drawn there"
        engine = self.engine
        return joined(engine.execute(lambda: engine.map(taken_labels, self.handles, rows.handles)))

    def _take(self, rows: NDArray[np.int64]) -> Preferences:
        raise TypeError("Rows on the workers are drawn there.")


class RemoteRows(Pinned):
    """The numbers of some rows of each partition, on its worker."""


def drawn(labels: LocalLabels, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rows of some of the queries of one partition."""
    assert labels.ranking is not None, "labels were checked"
    return np.flatnonzero(kept[labels.ranking.groups()])


def taken_labels(labels: LocalLabels, rows: NDArray[np.int64]) -> Ranking:
    """Return the ranking of some of the rows of one partition."""
    assert labels.ranking is not None, "labels were checked"
    taken: Any = labels.ranking[rows]
    return taken.renumbered()


def joined(rankings: Sequence[Ranking]) -> Ranking:
    """Return one ranking of the rows of several, none of which share a query.

    Examples
    --------
    >>> one = Ranking(np.array([1.0, 0.0]), np.array([0, 0]))
    >>> joined([one, one]).n_pairs, joined([one, one]).query
    (2, array([0, 0, 1, 1]))
    """
    n_queries = [int(ranking.groups().max(initial=-1)) + 1 for ranking in rankings]
    first = np.cumsum([0, *n_queries[:-1]])
    query = np.concatenate([ranking.groups() + k for ranking, k in zip(rankings, first, strict=True)])
    columns = {
        name: np.concatenate([getattr(ranking, name) for ranking in rankings])
        for name in ("labels", "weight", "gain", "query_weight")
        if getattr(rankings[0], name) is not None
    }
    return Ranking(query=query, **columns)


def remote_preferences(
    design: PartitionedDesign, y: Any, qid: Any, sample_weight: Any = None, pair_weight: str | None = None
) -> RemotePreferences | None:
    """Return preferences that stay on the workers, or None if y and qid do not suit that.

    They suit it if all are Dask columns with the partitions of X and no query is in two partitions.
    """
    n_partitions, engine = len(design.lengths), design.engine
    columns: list[Any] = [column_parts(column) for column in (y, qid)]
    weights: Any = [None] * n_partitions if sample_weight is None else column_parts(sample_weight)
    if any(column is None or len(column) != n_partitions for column in (*columns, weights)):
        return None

    def make() -> list[Any]:
        loaded = [engine.computed(column) for column in columns]
        weighed = weights if sample_weight is None else engine.computed(weights)
        return engine.map(local_labels, *loaded, weighed, [pair_weight] * n_partitions)

    labels = Pinned(engine, make)
    summaries: list[Summary] = engine.execute(lambda: engine.map(labels_summary, labels.handles))
    for name, summary in zip(part_names(y, n_partitions), summaries, strict=True):
        if summary.problem:
            raise ValueError(f"{name}: {summary.problem}")
    alike = [summary.n_rows for summary in summaries] == design.lengths
    if not alike or not queries_are_whole(engine, labels, summaries):
        return None
    row_entries = design.stored / max(1, design.shape[0])
    if sum(summary.n_queries for summary in summaries) < 2:
        return None  # one ranking, whose rows are in one place
    found = RemotePreferences(engine, labels, summaries, row_entries, pair_weight is None)
    found.require_pairs()
    return found


def queries_are_whole(engine: Engine, labels: Pinned, summaries: Sequence[Summary]) -> bool:
    """Return whether it is known that no query is in two partitions.

    It is if the ranges of the queries of partitions do not overlap, as with rows sorted by query. Otherwise
    the distinct queries of all partitions are compared, if they are few.
    """
    filled = [summary for summary in summaries if summary.n_rows]
    if not all(summary.n_queries for summary in filled):
        return False
    if ranges_are_apart(filled):
        return True
    if sum(one.n_queries for one in filled) > QUERIES_PER_ROW * sum(one.n_rows for one in filled):
        return False
    found = [one for one in engine.execute(lambda: engine.map(labels_queries, labels.handles)) if len(one)]
    kinds = {kind_of(one.dtype) for one in found}
    return len(kinds) == 1 and all_differ(found)


def kind_of(dtype: Any) -> str:
    """Return "numbers", "words" or the kind of other queries; numbers joined with words become words."""
    return "words" if dtype.kind in "OSU" else "numbers" if dtype.kind in "biuf" else dtype.kind


def ranges_are_apart(summaries: Sequence[Summary]) -> bool:
    """Return whether queries have an order, and those of partitions with rows are in ranges of their own."""
    kinds = {kind_of(np.asarray(summary.first).dtype) for summary in summaries}
    in_order = len(kinds) == 1 and all(summary.first is not None for summary in summaries)
    return in_order and not ranges_overlap([(one.first, one.last) for one in summaries])
