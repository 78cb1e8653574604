"""The interface that every preference structure offers to losses, metrics and scikit-learn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankwise._checks import as_vector, check_choice

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

    @staticmethod
    def from_scores(
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        pair_weight: str | ArrayLike | None = None,
    ) -> Preferences:
        """Rank rows by real-valued scores, over all rows or within each query.

        Parameters
        ----------
        y : array of shape (n_rows,)
            Any real numbers; a row should be above the rows of its query with a lower number.
        qid : array of shape (n_rows,), optional
            The query of each row: any type, any order.
        sample_weight : array of shape (n_rows,), optional
            A pair weighs the product of its rows' weights, so a row of weight 2 equals the row given twice
            and a row of weight 0 is not there. A weight that is constant within a query cancels under
            `average="queries"`: use `query_weight` for that.
        query_weight : array of shape (n_rows,), optional
            What each query counts in the mean over queries; one value a row, constant within a query.
        pair_weight : None, "difference" or array of gains of shape (n_rows,)
            With "difference", a pair also weighs the difference of its labels; with an array, the
            difference of its gains, which must not fall as the label rises.

        Examples
        --------
        >>> Preferences.from_scores([1.5, 0.2, 7.0]).n_pairs
        3
        """
        from rankwise.preferences.ranking import ranking_from_scores

        return ranking_from_scores(y, qid, sample_weight, query_weight, pair_weight)

    @staticmethod
    def from_survival(
        event: ArrayLike, time: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Preferences:
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

        Examples
        --------
        >>> Preferences.from_survival([True, False, True], [2.0, 3.0, 5.0]).n_pairs
        2
        """
        from rankwise.preferences.ranking import ranking_from_survival

        return ranking_from_survival(event, time, sample_weight)

    @staticmethod
    def from_pairs(
        better: ArrayLike,
        worse: ArrayLike,
        magnitude: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        n_rows: int | None = None,
    ) -> Preferences:
        """Take explicit pairs of row numbers; a pair may be given several times.

        Parameters
        ----------
        better, worse : arrays of int of shape (n_pairs,)
            In pair k, row `better[k]` should be above row `worse[k]`.
        magnitude : array of shape (n_pairs,), optional
            By how much; used by least squares and ignored by the hinge losses. Ones by default.
        weight : array of shape (n_pairs,), optional
            How much the pair counts. Ones by default.
        n_rows : int, optional
            The number of rows of the data; by default the largest row number plus one.

        Examples
        --------
        >>> Preferences.from_pairs(better=[0, 2], worse=[1, 3]).groups()
        array([0, 0, 1, 1])
        """
        from rankwise.preferences.pair_list import pair_list

        return pair_list(better, worse, magnitude, weight, n_rows)

    @staticmethod
    def from_order(
        labels: ArrayLike,
        order: str | Iterable[tuple[Hashable, Hashable]] | Any,
        sample_weight: ArrayLike | None = None,
    ) -> Preferences:
        """Order classes by a graph: each row of the higher class of an edge above each row of the lower.

        Parameters
        ----------
        labels : array of shape (n_rows,)
            The class of each row, of any sortable type.
        order : "chain", "full", list of (higher, lower) or networkx.DiGraph
            "chain" joins the neighbouring classes that are present, "full" all pairs of classes. Edges are
            used as given (never closed transitively); an edge of a DiGraph points from higher to lower.
        sample_weight : array of shape (n_rows,), optional

        Examples
        --------
        >>> Preferences.from_order(["low", "high", "mid", "high"], [("high", "low"), ("mid", "low")]).n_pairs
        3
        """
        from rankwise.preferences.order_graph import preferences_from_order

        return preferences_from_order(labels, order, sample_weight)

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

    @property
    @abstractmethod
    def n_pairs(self) -> int:
        """The exact number of pairs."""

    @abstractmethod
    def groups(self) -> NDArray[np.int64]:
        """Give the query, or the connected component of the pairs, of each row: folds must not cut it."""

    @abstractmethod
    def pairs(self) -> Pairs:
        """Enumerate all pairs: for small data and tests."""

    @abstractmethod
    def weighted(self, sample_weight: ArrayLike) -> Preferences:
        """Multiply each pair's weight by the weights of its two rows."""

    @abstractmethod
    def sums(
        self,
        scores: NDArray[np.float64] | None,
        moment: NDArray[np.float64] | None = None,
        *,
        margin: float = 1.0,
        counting: str = "merge",
        n_threads: int = 1,
    ) -> PartnerSums:
        """Sum over the violated partners of each row; over all its partners when `scores` is None.

        A pair is violated when its scores differ by less than `margin` in the right direction.
        """

    def adjacency(
        self, scores: NDArray[np.float64], *, counting: str = "merge", n_threads: int = 1
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """Give the product with the weighted adjacency matrix of the graph of violated pairs.

        `adjacency(scores)(moment)` has the sum of w_ij moment_j over the violated partners j of row i.
        Several products at the same scores cost less than as many calls of `sums`.
        """

        def product(moment: NDArray[np.float64]) -> NDArray[np.float64]:
            sums = self.sums(scores, moment, counting=counting, n_threads=n_threads)
            return sums.moment_up + sums.moment_down

        return product

    @abstractmethod
    def logistic(
        self, scores: NDArray[np.float64], factor: NDArray[np.float64] | float, *, n_threads: int = 1
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the sum over pairs of factor w log(1 + exp(-d)), d = s_better - s_worse, and its gradient.

        The factor is one for all pairs, or one a row and the same within a query, as from `row_factor`.
        """

    @abstractmethod
    def logistic_hessian(
        self, scores: NDArray[np.float64], factor: NDArray[np.float64] | float, *, n_threads: int = 1
    ) -> tuple[NDArray[np.float64], Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
        """Return the diagonal of the second derivative of `logistic`, and its product with a direction."""

    @abstractmethod
    def violated_weight(self, scores: ArrayLike, margin: float, *, n_threads: int = 1) -> NDArray[np.float64]:
        """Weight of the violated pairs, for each query (or edge of an order graph, or in all)."""

    @abstractmethod
    def total_weight(self) -> NDArray[np.float64]:
        """Weight of all pairs, for each query (or edge of an order graph, or in all)."""

    @abstractmethod
    def _row_factor(self, average: str) -> NDArray[np.float64] | float: ...

    @abstractmethod
    def _take(self, rows: NDArray[np.int64]) -> Preferences: ...

    @abstractmethod
    def _why_no_pairs(self) -> str: ...

    def row_factor(self, average: str = "queries") -> NDArray[np.float64] | float:
        """Give the number by which a row's sums are multiplied to turn a sum over pairs into the mean loss.

        `average="queries"` is the mean over queries (those with pairs) of each query's mean, "pairs" the
        mean over all pairs. Explicit pairs and order graphs are one ranking, where the two are the same.
        """
        check_choice(average, "average", AVERAGES)
        self.require_pairs()
        return self._row_factor(average)

    def require_pairs(self) -> None:
        """Raise `NoPairsError` with the reason when there is nothing to put in order."""
        if self.n_pairs == 0:
            raise NoPairsError(self._why_no_pairs())

    def check_scores(self, scores: ArrayLike, name: str = "scores") -> NDArray[np.float64]:
        """Return `scores` as a finite float64 vector with one entry for each row."""
        return as_vector(scores, name, length=self.n_rows)

    def sample(self, share: float) -> NDArray[np.int64] | None:
        """Give the numbers of a share of the rows whose pairs speak for all, or None where no rows do."""
        return None

    def centred(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take off what no pair sees, a common offset: products of large scores would lose digits to it."""
        return scores - scores.mean()


def pair_data(
    X_better: Any, X_worse: Any, weight: ArrayLike | None = None
) -> tuple[NDArray[np.float64] | sp.csr_matrix, Preferences]:
    """Stack chosen and rejected rows into one matrix and the preferences between them.

    Row k of `X_better` should be above row k of `X_worse`.

    Parameters
    ----------
    X_better, X_worse : arrays or sparse matrices of the same shape (n_pairs, n_features)
    weight : array of shape (n_pairs,), optional

    Returns
    -------
    X : array or CSR matrix of shape (2 n_pairs, n_features)
    preferences : Preferences

    Examples
    --------
    >>> X, preferences = pair_data([[1.0, 2.0]], [[0.0, 5.0]])
    >>> X.shape, preferences.n_pairs
    ((2, 2), 1)
    """
    shapes = [X.shape if hasattr(X, "shape") else np.shape(X) for X in (X_better, X_worse)]
    if shapes[0] != shapes[1] or len(shapes[0]) != 2:
        raise ValueError(
            f"X_better and X_worse need the same two-dimensional shape, got {shapes[0]} and {shapes[1]}."
        )
    names = [list(X.columns) if hasattr(X, "columns") else None for X in (X_better, X_worse)]
    if None not in names and names[0] != names[1]:
        raise ValueError(f"X_better and X_worse must have the same columns in the same order; got {names}.")
    n = shapes[0][0]
    if sp.issparse(X_better) or sp.issparse(X_worse):
        X = sp.vstack([X_better, X_worse], format="csr")
    else:
        X = np.concatenate([np.asarray(X_better), np.asarray(X_worse)])
    numbers = np.arange(n)
    return X, Preferences.from_pairs(numbers, numbers + n, weight=weight, n_rows=2 * n)
