"""The interface of preference structures to losses, metrics and scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from rankwise.core.checks import check_choice
from rankwise.core.memory import require_memory
from rankwise.core.text import plural
from rankwise.core.types import FloatVector

if TYPE_CHECKING:  # for editors and type checkers
    from rankwise.preferences import click_pairs, hierarchy, order_graph, pair_list, scores, survival

AVERAGES = ("queries", "pairs")


class NoPairsError(ValueError):
    """There is no pair of rows to rank; the message gives the reason."""


class FewRowsError(ValueError):
    """There are fewer rows, queries or pairs than folds."""


class Pairs(NamedTuple):
    """Every pair of a structure: `Preferences.from_pairs(*pairs, n_rows=...)` builds it again."""

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    magnitude: NDArray[np.float64]
    weight: NDArray[np.float64]


def check_pair_memory(n_pairs: int) -> None:
    """Refuse to list pairs that would not fit into memory."""
    require_memory(72 * n_pairs, f"A list of {n_pairs} pairs", "losses and metrics need no list")


class Preferences(ABC):
    """Which row should be above which, and the weight of each pair.

    Build one with `from_scores`, `from_pairs`, `from_order`, `from_survival`, `from_hierarchy` or
    `from_clicks`. It can be passed as `y` to scikit-learn: it has a length and can be sliced, and a slice
    keeps the pairs whose two rows are both in it.

    A new structure is a subclass with `pairs`, `weighted` and `_take`. Everything else follows by listing the
    pairs, and a structure may override it with something faster.

    Attributes
    ----------
    n_rows : int
    labels : array of shape (n_rows,), or None
        The labels that rank the rows, if there is one per row.
    values : array of shape (n_rows,), or None
        Numbers whose difference is the magnitude of a pair, if there are such numbers.
    classes : array of shape (n_classes,), or None
        The classes of an order graph.
    codes : array of int of shape (n_rows,), or None
        The number of each row's class, if there are classes.
    items : array of shape (n_rows,), or None
        The name of each row, if pairs were given by names.
    weight : array of shape (n_rows,), or None
        The weights of the rows, if pairs weigh the product of these.
    event : array of shape (n_rows,), or None
        1 for an observed event and 0 for a censored row, if rows can be censored.
    edge_codes : array of int of shape (n_edges, 2), or None
        The numbers of the higher and the lower class of each edge, if classes are ordered by edges.
    lists_pairs : bool
        Whether pairs are stored one by one, so that they are no more than the data.
    orders_labels : bool
        Whether the pairs are all those of different labels of a query, whatever their weights.
    is_complete : bool
        Whether, in addition, a pair weighs the product of its rows' weights.
    counts_pairs : bool
        Whether, in addition, all pairs of a query weigh the same, so that pairs can be counted.
    has_unit_magnitudes : bool
        Whether the magnitude of every pair is 1.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> preferences = Preferences.from_scores([3, 1, 2, 2], qid=["a", "a", "b", "b"])
    >>> preferences.n_pairs
    1
    >>> preferences[[0, 1]].groups()
    array([0, 0])
    """

    n_rows: int
    labels: FloatVector | None = None
    values: FloatVector | None = None
    classes: NDArray[Any] | None = None
    codes: NDArray[np.int64] | None = None
    items: NDArray[Any] | None = None
    weight: FloatVector | None = None
    event: FloatVector | None = None
    edge_codes: NDArray[np.int32] | None = None
    orders_labels = is_complete = counts_pairs = has_unit_magnitudes = lists_pairs = False

    if TYPE_CHECKING:  # each is defined beside its structure, and put here by `rankwise.preferences`
        from_scores = staticmethod(scores.from_scores)
        from_survival = staticmethod(survival.from_survival)
        from_pairs = staticmethod(pair_list.from_pairs)
        from_order = staticmethod(order_graph.from_order)
        from_clicks = staticmethod(click_pairs.from_clicks)
        from_hierarchy = staticmethod(hierarchy.from_hierarchy)

    @property
    def shape(self) -> tuple[int]:
        """`(n_rows,)`, which is what scikit-learn asks of a `y`."""
        return (self.n_rows,)

    def __len__(self) -> int:
        return self.n_rows

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("A Preferences cannot become an array; pass labels where an array is needed.")

    def __repr__(self) -> str:
        n_pairs, n_rows = plural(self.n_pairs, "pair"), plural(self.n_rows, "row")
        return f"<{type(self).__name__} preferences: {n_pairs} of {n_rows}>"

    def __getitem__(self, index: Any) -> Preferences:
        if isinstance(index, tuple):
            index = index[0]
        rows = np.atleast_1d(
            np.arange(self.n_rows)[np.asarray(index) if not isinstance(index, slice) else index]
        )
        return self._take(rows)

    # Abstract methods.

    @abstractmethod
    def pairs(self) -> Pairs:
        """Enumerate all pairs: for small data and tests."""

    @abstractmethod
    def weighted(self, sample_weight: ArrayLike) -> Preferences:
        """Multiply each pair's weight by the weights of its two rows."""

    @abstractmethod
    def _take(self, rows: NDArray[np.int64]) -> Preferences:
        """Return the pairs among the rows taken, numbered anew; a row may be taken several times."""

    # Defaults that list the pairs.

    @property
    def n_pairs(self) -> int:
        """The exact number of pairs."""
        return len(self.pairs().better)

    @property
    def has_pairs(self) -> bool:
        """Whether there is any pair."""
        return self.n_pairs > 0

    @property
    def has_queries(self) -> bool:
        """Whether there are several queries, rather than one ranking."""
        return False

    def groups(self) -> NDArray[np.int64]:
        """Return the query, or the connected component of the pairs, of each row: folds must not split it."""
        better, worse, _, _ = self.pairs()
        return connected_parts(better, worse, self.n_rows)

    def pair_folds(self, n_splits: int, seed: int = 0) -> list[tuple[Preferences, Preferences]]:
        """Return training and test pairs per fold, if rows cannot be assigned to folds.

        Most structures return none: their folds consist of queries or rows.
        """
        return []

    def renumbered(self) -> Preferences:
        """Return the same pairs with the queries that have rows numbered from 0."""
        return self

    def mean_pairs(self, average: str = "queries") -> Pairs:
        """Enumerate all pairs, each with its weight in the mean over pairs: these weights sum to 1."""
        pairs = self.pairs()
        return pairs._replace(weight=pairs.weight / pairs.weight.sum())

    def partner_weights(self) -> tuple[FloatVector, FloatVector]:
        """Return the weight of each row's pairs as the worse one, and as the better one."""
        better, worse, _, weight = self.pairs()
        return sum_by_row(worse, weight, self.n_rows), sum_by_row(better, weight, self.n_rows)

    def total_weight(self) -> FloatVector:
        """Return the weight of all pairs, per query (per edge of an order graph, or in all)."""
        return self.partner_weights()[0].sum(keepdims=True)

    def by_query(self, parts: FloatVector) -> FloatVector:
        """Sum weights, as `total_weight` returns them, per query that has rows; a structure may have one."""
        return parts.sum(keepdims=True)

    def query_importance(self) -> FloatVector:
        """Return the weight of each query that has rows in the mean over queries."""
        return np.ones(1)

    def query_factor(self, average: str, total: FloatVector | None = None) -> FloatVector:
        """Return the number by which a query's sum over pairs enters the mean loss.

        `total` is the weight of each query's pairs, by default `total_weight`.
        """
        return 1.0 / (self.total_weight() if total is None else total).sum(keepdims=True)

    def _why_no_pairs(self) -> str:
        return (
            f"There is nothing to rank: no pair with a positive weight joins two of the {self.n_rows} rows."
        )

    def row_factor(self, average: str = "queries") -> FloatVector | float:
        """Return the number by which a row's sums are multiplied to turn a sum over pairs into the mean loss.

        `average="queries"` is the mean over queries (those with pairs) of each query's mean, "pairs" the
        mean over all pairs. Explicit pairs and order graphs are one ranking, for which the two are the same.
        """
        check_choice(average, "average", AVERAGES)
        self.require_pairs()
        factor = self.query_factor(average)
        return float(factor[0]) if len(factor) == 1 else factor[self.groups()]

    def require_pairs(self) -> None:
        """Raise `NoPairsError` with the reason when there is nothing to put in order."""
        if not self.has_pairs:
            raise NoPairsError(self._why_no_pairs())

    def sample(self, fraction: float) -> NDArray[np.int64] | None:
        """Return the numbers of a representative fraction of the rows, or None if there is none."""
        return None

    def centred(self, scores: FloatVector) -> FloatVector:
        """Subtract an offset, which cancels in all pairs: products of large scores would lose digits."""
        return scores - scores.mean()


@singledispatch
def weighing_rows(preferences: Preferences) -> NDArray[np.bool_]:
    """Tell for each row whether it has a positive weight; of explicit pairs, whether it is in one."""
    weight = preferences.weight
    return np.ones(preferences.n_rows, dtype=bool) if weight is None else weight > 0


def sum_by_row(rows: NDArray[Any], values: FloatVector, n_rows: int) -> FloatVector:
    """Sum values by the rows that they belong to."""
    return np.asarray(np.bincount(rows, values, minlength=n_rows), np.float64)


def from_heaviest(values: FloatVector, weight: FloatVector, groups: NDArray[np.int64]) -> FloatVector:
    """Return values less that of the heaviest row of each group, and zero for rows of weight zero.

    The difference cancels in all pairs. Tied rows become exactly zero, and the rounding errors of the others
    are small relative to their differences; subtracting a mean would add the error of the mean to each.
    """
    heaviest = np.zeros(groups.max(initial=0) + 1, dtype=np.int64)
    order = np.argsort(weight, kind="stable")
    heaviest[groups[order]] = order  # the last one stays
    return np.where(weight > 0, values - values[heaviest[groups]], 0.0)


def connected_parts(first: NDArray[Any], second: NDArray[Any], n_nodes: int) -> NDArray[np.int64]:
    """Return the number of the connected component of each node, given the two ends of each edge."""
    graph = coo_matrix((np.ones(len(first)), (first, second)), shape=(n_nodes, n_nodes))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def is_preferences_list(y: Any) -> bool:
    """Return whether y is a list of preferences, one for each output."""
    return isinstance(y, list | tuple) and len(y) > 0 and all(isinstance(one, Preferences) for one in y)


def same_rows(outputs: Any) -> list[Preferences]:
    """Return the preferences of each output; all must be among the same rows."""
    lengths = [output.n_rows for output in outputs]
    if len(set(lengths)) > 1:
        raise ValueError(f"All outputs of y must be among the same rows; they have {lengths} rows.")
    return list(outputs)
