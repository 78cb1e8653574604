"""Labels and queries that stay on the workers, so that the driver's memory does not grow with the rows.

Each worker ranks the rows of its partition. The driver has a few numbers per partition: rows, pairs, queries,
and the range of its queries. If these ranges do not overlap, no query is in two partitions; otherwise, the
driver compares the queries themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_array, as_codes, as_labels, as_weights
from rankwise.data.row_parts import WholeQueries
from rankwise.distributed.collections import column_parts, part_names
from rankwise.distributed.engine import Engine, Pinned
from rankwise.distributed.groups import ranges_overlap
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
    """The ranking of the rows of one partition, None if its columns are not valid, and its queries."""

    ranking: Ranking | None
    summary: Summary
    queries: NDArray[Any] = field(default_factory=lambda: np.zeros(0))


def local_labels(y: Any, qid: Any, weight: Any, pair_weight: str | None) -> LocalLabels:
    """Rank the rows of one partition, on its worker."""
    try:
        if np.ndim(y) > 1:  # several outputs
            return LocalLabels(None, Summary(len(y)))
        labels = as_labels(y, "y")
        if any(len(column) != len(labels) for column in (qid, weight) if column is not None):
            return LocalLabels(None, Summary(len(labels)))  # other partitions than those of y
        queries, codes = as_codes(as_array(qid), "qid", len(labels))
        weights = None if weight is None else as_weights(as_array(weight), "sample_weight", len(labels))
    except ValueError as error:
        return LocalLabels(None, Summary(problem=str(error)))
    ranking = Ranking(labels, codes, weight=weights)
    if pair_weight == "difference":
        ranking = ranking.replaced(gain=labels)
    return LocalLabels(ranking, summary_of(ranking, queries), queries)


def summary_of(ranking: Ranking, queries: NDArray[Any]) -> Summary:
    """Return the counts of a ranking and the range of its queries; `queries` are in ascending order."""
    if not ranking.n_rows or not ranking.has_pairs:
        found = Summary(ranking.n_rows, n_queries=len(np.unique(ranking.groups())))
    else:
        row_mass = ranking.partner_weights()[0]
        scale = ranking.scaled.pair_scale
        mass = row_mass @ np.broadcast_to(scale, ranking.order.n_queries)[ranking.order.query_of_row]
        share = ranking.query_factor("queries")
        found = Summary(ranking.n_rows, ranking.n_pairs, len(share), int((share > 0).sum()), float(mass))
    n_compared, mass_with_ties = totals_with_ties(ranking)
    largest = float(np.max(np.abs(ranking.labels), initial=0.0))
    found = replace(found, n_compared=n_compared, mass_with_ties=mass_with_ties, largest=largest)
    if not len(queries) or not _are_in_order(queries):
        return found
    return replace(found, first=queries[0], last=queries[-1])


def totals_with_ties(ranking: Ranking) -> tuple[int, float]:
    """Return the number of queries with two rows of positive weight, and the weight of all their pairs.

    Tied rows are pairs, too. With the sum W of the weights of a query, the weight of its pairs is W^2 / 2.

    Examples
    --------
    >>> totals_with_ties(Ranking(np.array([1.0, 1.0, 0.0]), np.array([0, 0, 1])))
    (1, 2.0)
    """
    query = ranking.groups()
    weight = np.ones(ranking.n_rows) if ranking.weight is None else ranking.weight
    compared = np.bincount(query, weight > 0) > 1
    return int(compared.sum()), float(np.sum(np.bincount(query, weight)[compared] ** 2)) / 2


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

    def sample(self, fraction: float) -> Any:
        """Draw a representative part of the rows on the workers: at most this fraction, and what is small."""
        entries = max(1.0, self._row_entries)
        most_rows = min(SAMPLE_ROWS, SAMPLE_ENTRIES / entries)
        return RemoteRows(self.engine, self._labels, min(fraction, most_rows / max(1, self.n_rows)))

    def __getitem__(self, rows: Any) -> Ranking:
        """Return the ranking of rows that were drawn, in memory."""
        assert isinstance(rows, RemoteRows), "rows on the workers are drawn there"
        engine = self.engine
        return joined(engine.execute(lambda: engine.map(taken_labels, self.handles, rows.handles)))

    def _take(self, rows: NDArray[np.int64]) -> Preferences:
        raise TypeError("Rows on the workers are drawn there.")


class RemoteRows(Pinned):
    """The numbers of some rows of each partition, on its worker."""

    def __init__(self, engine: Engine, labels: Pinned, fraction: float):
        super().__init__(engine, lambda: engine.map(drawn, labels.handles, [fraction] * len(labels.handles)))


def drawn(labels: LocalLabels, fraction: float) -> NDArray[np.int64]:
    """Draw a fraction of the rows of one partition, whole queries if there are many."""
    ranking = labels.ranking
    return np.zeros(0, dtype=np.int64) if ranking is None else ranking.sample(fraction)


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
        for name in ("labels", "weight", "gain")
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
    kinds = {isinstance(summary.first, str) for summary in filled}
    in_order = len(kinds) == 1 and all(summary.first is not None for summary in filled)
    if in_order and not ranges_overlap([(one.first, one.last) for one in filled]):
        return True
    if sum(one.n_queries for one in filled) > QUERIES_PER_ROW * sum(one.n_rows for one in filled):
        return False
    found = engine.execute(lambda: engine.map(labels_queries, labels.handles))
    return WholeQueries.of([queries for queries in found if len(queries)]) is not None
