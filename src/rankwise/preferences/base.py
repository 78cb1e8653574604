"""The interface that every preference structure offers to losses, metrics and scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_vector, check_choice
from rankwise.core.memory import require_memory
from rankwise.core.types import FloatVector

if TYPE_CHECKING:  # what editors and type checkers see of the constructors; see `Preferences`
    from rankwise.preferences import order_graph, pair_list, scores, survival


AVERAGES = ("queries", "pairs")
COUNTING_METHODS = ("merge", "tree", "pairs")


class NoPairsError(ValueError):
    """There is no pair of rows to put in order; the message says why."""


class Pairs(NamedTuple):
    """Every pair of a structure: `Preferences.from_pairs(*pairs, n_rows=...)` builds it again."""

    better: NDArray[np.int64]
    worse: NDArray[np.int64]
    magnitude: NDArray[np.float64]
    weight: NDArray[np.float64]


def check_pair_memory(n_pairs: int) -> None:
    """Refuse to list pairs that would not fit into memory."""
    require_memory(72 * n_pairs, f"A list of {n_pairs} pairs", "losses and metrics need no list")


class PartnerSums(NamedTuple):
    """Sums over the partners of each row: `up` over those that should be above it, `down` over those below.

    With the pair's weight w_ij: `up_i` is the sum of w_ij and `moment_up_i` the sum of w_ij moment_j (None
    where no moment was given).
    """

    up: NDArray[np.float64]
    down: NDArray[np.float64]
    moment_up: Any
    moment_down: Any


class Preferences(ABC):
    """Which row should be above which, and by how much it matters.

    Build one with `from_scores`, `from_pairs`, `from_order` or `from_survival`. It stands wherever
    scikit-learn takes a `y`: it has a length and can be sliced, and a slice holds the pairs whose two rows
    are both in it.

    A new structure is a subclass that says its `pairs`, how it is `weighted` and how rows are taken from it
    (`_take`). All else follows by listing the pairs, and is overridden where a structure knows better.

    Attributes
    ----------
    n_rows : int
    labels : array of shape (n_rows,), or None
        What ranks the rows, where one number per row does.
    values : array of shape (n_rows,), or None
        The magnitude of a pair is the difference of its rows' values, where there are such numbers.
    classes : array of shape (n_classes,), or None
        What an order graph puts in order.
    codes : array of int of shape (n_rows,), or None
        The number of each row's class, where there are classes.
    items : array of shape (n_rows,), or None
        The name of each row, where pairs were given by names.

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

    if TYPE_CHECKING:  # each is defined beside its structure, and put here by `rankwise.preferences`
        from_scores = staticmethod(scores.from_scores)
        from_survival = staticmethod(survival.from_survival)
        from_pairs = staticmethod(pair_list.from_pairs)
        from_order = staticmethod(order_graph.from_order)

    @property
    def shape(self) -> tuple[int]:
        """`(n_rows,)`, which is what scikit-learn asks of a `y`."""
        return (self.n_rows,)

    def __len__(self) -> int:
        return self.n_rows

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("A Preferences cannot become an array; pass labels where an array is needed.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} preferences: {self.n_pairs} pairs of {self.n_rows} rows>"

    def __getitem__(self, index: Any) -> Preferences:
        if isinstance(index, tuple):
            index = index[0]
        rows = np.atleast_1d(
            np.arange(self.n_rows)[np.asarray(index) if not isinstance(index, slice) else index]
        )
        return self._take(rows)

    # What a structure must say.

    @abstractmethod
    def pairs(self) -> Pairs:
        """Enumerate all pairs: for small data and tests."""

    @abstractmethod
    def weighted(self, sample_weight: ArrayLike) -> Preferences:
        """Multiply each pair's weight by the weights of its two rows."""

    @abstractmethod
    def _take(self, rows: NDArray[np.int64]) -> Preferences:
        """Return the pairs among the rows taken, numbered anew; a row may be taken several times."""

    # What follows from the pairs, listed here and counted by the structures that can.

    @property
    def n_pairs(self) -> int:
        """The exact number of pairs."""
        return len(self.pairs().better)

    @property
    def has_pairs(self) -> bool:
        """Whether there is any pair."""
        return self.n_pairs > 0

    @property
    def counts_pairs(self) -> bool:
        """Whether every pair weighs the same within its query, so that `count` counts them."""
        return False

    @property
    def is_complete(self) -> bool:
        """Whether all pairs of different labels of a query count, by the product of their rows' weights."""
        return False

    @property
    def orders_labels(self) -> bool:
        """Whether the pairs are all those of different labels of a query, whatever they weigh."""
        return False

    @property
    def has_unit_magnitudes(self) -> bool:
        """Whether the magnitude of every pair is 1."""
        return False

    @property
    def has_queries(self) -> bool:
        """Whether the mean over queries is one of several, rather than of one ranking."""
        return False

    def groups(self) -> NDArray[np.int64]:
        """Return the query, or the connected component of the pairs, of each row: folds must not cut it."""
        better, worse, _, _ = self.pairs()
        return connected_parts(better, worse, self.n_rows)

    def pair_folds(self, n_splits: int, seed: int = 0) -> list[tuple[Preferences, Preferences]]:
        """Return pairs to learn from and pairs to judge by, fold by fold, where rows cannot be dealt out.

        Most structures return none: there folds are of queries or rows.
        """
        return []

    def renumbered(self) -> Preferences:
        """Return the same pairs with queries numbered from 0 up, so that none is counted that has no rows."""
        return self

    def mean_pairs(self, average: str = "queries") -> Pairs:
        """Enumerate all pairs, each with its weight in the mean over pairs: these weights sum to 1."""
        pairs = self.pairs()
        return pairs._replace(weight=pairs.weight / pairs.weight.sum())

    def sums(
        self,
        scores: FloatVector | None,
        moment: FloatVector | None = None,
        *,
        margin: float = 1.0,
        counting: str = "merge",
        n_threads: int = 1,
    ) -> PartnerSums:
        """Sum over the violated partners of each row; over all its partners when `scores` is None.

        A pair is violated when its scores differ by less than `margin` in the right direction. O(l) for l
        pairs that are listed, whatever the counting method.
        """
        better, worse, _, weight = self.pairs()
        if scores is not None:
            hit = scores[better] - scores[worse] < margin
            better, worse, weight = better[hit], worse[hit], weight[hit]

        total = self._by_row
        up, down = total(worse, weight), total(better, weight)
        if moment is None:
            return PartnerSums(up, down, None, None)
        return PartnerSums(
            up, down, total(worse, weight * moment[better]), total(better, weight * moment[worse])
        )

    def adjacency(
        self, scores: FloatVector, *, counting: str = "merge", n_threads: int = 1
    ) -> Callable[[FloatVector], FloatVector]:
        """Return the product with the weighted adjacency matrix of the graph of violated pairs.

        `adjacency(scores)(moment)` has the sum of w_ij moment_j over the violated partners j of row i.
        Several products at the same scores cost less than as many calls of `sums`.
        """

        def product(moment: FloatVector) -> FloatVector:
            sums = self.sums(scores, moment, counting=counting, n_threads=n_threads)
            return sums.moment_up + sums.moment_down

        return product

    def count(
        self, scores: FloatVector, *, margin: float = 1.0, n_threads: int = 1
    ) -> tuple[FloatVector, NDArray[np.int64], FloatVector]:
        """Count violated pairs: for each row as the worse one less as the better one; then for each query.

        Of each query the number of violated pairs and their summed hinge loss are returned. Only where
        `counts_pairs`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not count pairs: their weights may differ.")

    def squared_hinge(
        self,
        scores: FloatVector,
        factor: FloatVector | float,
        *,
        counting: str = "merge",
        n_threads: int = 1,
    ) -> tuple[float, FloatVector, FloatVector]:
        """Return the sum over pairs of factor w max(0, 1 - d)^2, d = s_better - s_worse, and its derivatives.

        They are its gradient and the diagonal of its second derivative. The factor is one for all pairs, or
        one for each row and the same within a query, as from `row_factor`. With v = 1 - d, v^2 splits into
        sums of v that belong to the two rows of a pair.
        """
        s = self.centred(scores)
        sums = self.sums(scores, s, counting=counting, n_threads=n_threads)
        as_worse = (1.0 + s) * sums.up - sums.moment_up
        as_better = (1.0 - s) * sums.down + sums.moment_down
        half = factor * (as_worse - as_better)
        value = np.sum(half * s) + np.sum(factor * as_worse)
        return float(value), 2.0 * half, 2.0 * factor * (sums.up + sums.down)

    def logistic(
        self, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
    ) -> tuple[float, FloatVector]:
        """Return the sum over pairs of factor w log(1 + exp(-d)), d = s_better - s_worse, and its gradient.

        The factor is as for `squared_hinge`.
        """
        from scipy.special import expit, log_expit

        better, worse, _, weight = self.pairs()
        difference, weight = scores[better] - scores[worse], _at(factor, better) * weight
        push = weight * expit(-difference)
        gradient = self._by_row(worse, push) - self._by_row(better, push)
        return -float(np.sum(weight * log_expit(difference))), gradient

    def logistic_derivatives(
        self, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
    ) -> tuple[FloatVector, FloatVector]:
        """Return the gradient of `logistic` and the diagonal of its second derivative."""
        gradient = self.logistic(scores, factor, n_threads=n_threads)[1]
        return gradient, self.logistic_hessian(scores, factor, n_threads=n_threads)[0]

    def logistic_hessian(
        self, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
    ) -> tuple[FloatVector, Callable[[FloatVector], FloatVector]]:
        """Return the diagonal of the second derivative of `logistic`, and its product with a direction."""
        from scipy.special import expit

        better, worse, _, weight = self.pairs()
        difference = scores[better] - scores[worse]
        stiffness = _at(factor, better) * weight * expit(difference) * expit(-difference)

        def product(direction: FloatVector) -> FloatVector:
            pull = stiffness * (direction[better] - direction[worse])
            return self._by_row(better, pull) - self._by_row(worse, pull)

        return self._by_row(better, stiffness) + self._by_row(worse, stiffness), product

    def _by_row(self, rows: NDArray[Any], values: FloatVector) -> FloatVector:
        return np.asarray(np.bincount(rows, values, minlength=self.n_rows), np.float64)

    def violated_weight(self, scores: ArrayLike, margin: float, *, n_threads: int = 1) -> FloatVector:
        """Return the weight of the violated pairs, for each query (or edge of an order graph, or in all)."""
        return self.sums(self.check_scores(scores), margin=margin, n_threads=n_threads).up.sum(keepdims=True)

    def misordered_weight(self, scores: FloatVector) -> tuple[FloatVector, FloatVector]:
        """Return the weight of the pairs in the wrong order, and of these with the pairs of equal scores.

        Each is for every query, as `violated_weight` is.
        """
        with np.errstate(over="ignore"):  # a difference that overflows has the right sign
            wrong = self.violated_weight(scores, 0.0)
        ordered = np.sort(scores)
        if (ordered[1:] != ordered[:-1]).all():
            return wrong, wrong
        # Ranks keep order and ties, and are whole numbers: half a rank is a margin that no rounding can lose.
        ranks = np.unique(scores, return_inverse=True)[1].astype(np.float64)
        return wrong, self.violated_weight(ranks, 0.5)

    def total_weight(self) -> FloatVector:
        """Return the weight of all pairs, for each query (or edge of an order graph, or in all)."""
        return self.sums(None).up.sum(keepdims=True)

    def by_query(self, parts: FloatVector) -> FloatVector:
        """Sum `violated_weight` or `total_weight` for each query that has rows; one ranking is one query."""
        return parts.sum(keepdims=True)

    def query_importance(self) -> FloatVector:
        """Return what each query that has rows counts in the mean over queries."""
        return np.ones(1)

    def query_factor(self, average: str, total: FloatVector | None = None) -> FloatVector:
        """Return the number by which a query's sum over pairs enters the mean loss.

        `total` is the weight of each query's pairs, by default of those that `sums` sums over.
        """
        return 1.0 / (self.total_weight() if total is None else total).sum(keepdims=True)

    def _row_factor(self, average: str) -> FloatVector | float:
        return float(self.query_factor(average)[0])

    def _why_no_pairs(self) -> str:
        return (
            f"There is nothing to rank: no pair with a positive weight joins two of the {self.n_rows} rows."
        )

    def row_factor(self, average: str = "queries") -> FloatVector | float:
        """Return the number by which a row's sums are multiplied to turn a sum over pairs into the mean loss.

        `average="queries"` is the mean over queries (those with pairs) of each query's mean, "pairs" the
        mean over all pairs. Explicit pairs and order graphs are one ranking, where the two are the same.
        """
        check_choice(average, "average", AVERAGES)
        self.require_pairs()
        return self._row_factor(average)

    def row_shares(self, average: str = "queries") -> FloatVector:
        """Return the share in the mean of the pairs that each row is the worse one of; they sum to 1."""
        return self.row_factor(average) * self.sums(None).up

    def require_pairs(self) -> None:
        """Raise `NoPairsError` with the reason when there is nothing to put in order."""
        if not self.has_pairs:
            raise NoPairsError(self._why_no_pairs())

    def check_scores(self, scores: ArrayLike, name: str = "scores") -> FloatVector:
        """Return `scores` as a finite float64 vector with one entry for each row."""
        return as_vector(scores, name, length=self.n_rows)

    def sample(self, share: float) -> NDArray[np.int64] | None:
        """Return the numbers of a share of the rows whose pairs speak for all, or None where no rows do."""
        return None

    def centred(self, scores: FloatVector) -> FloatVector:
        """Take off what no pair sees, a common offset: products of large scores would lose digits to it."""
        return scores - scores.mean()


def from_heaviest(values: FloatVector, weight: FloatVector, groups: NDArray[np.int64]) -> FloatVector:
    """Return values less that of the heaviest row of each group, and zero for rows that weigh nothing.

    No pair sees the difference. Rows that are tied become exactly zero, and what rounding does to the others
    is little beside their own differences, where a mean of all rows would leave its own rounding to each.
    """
    heaviest = np.zeros(groups.max(initial=0) + 1, dtype=np.int64)
    order = np.argsort(weight, kind="stable")
    heaviest[groups[order]] = order  # the last one stays
    return np.where(weight > 0, values - values[heaviest[groups]], 0.0)


def connected_parts(first: NDArray[Any], second: NDArray[Any], n_nodes: int) -> NDArray[np.int64]:
    """Return the number of the connected component of each node, given the two ends of each edge."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(first)), (first, second)), shape=(n_nodes, n_nodes))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _at(factor: FloatVector | float, rows: NDArray[np.int64]) -> FloatVector | float:
    return factor[rows] if isinstance(factor, np.ndarray) else factor
