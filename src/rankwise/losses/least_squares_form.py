"""Pairwise least squares as a quadratic form of the scores.

The mean over pairs of w (t - (s_better - s_worse))^2 is s'L s - 2 s'r + constant: L is the weighted Laplacian
of the pairs (M M' in the notation of Pahikkala et al. 2009) and r (M N) sums the target differences t.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankwise import _memory
from rankwise._checks import as_vector, check_choice
from rankwise.losses.roots import LevelRoot, PivotedRoot, Root
from rankwise.preferences.base import Preferences
from rankwise.preferences.order_graph import OrderGraph
from rankwise.preferences.ranking import Ranking

FloatArray = NDArray[np.float64]

COSTS = ("unit", "magnitude", "relative")
TIES = ("keep", "drop")
# Bytes for each pair of the sparse Laplacian at its peak: the pair itself, its four entries as they are
# gathered (two int32 or int64 numbers and a float64 each) and the compressed copy.
BYTES_PER_PAIR = 160


class QuadraticForm(ABC):
    """The mean pairwise square as s'L s - 2 s'r + constant.

    Attributes
    ----------
    n_rows : int
    pull : array of shape (n_rows,) or (n_rows, n_outputs)
        The vector r; one column for each output where several share L.
    constant : float or array of shape (n_outputs,)
        The mean of t^2, which is the loss of the zero function.
    diagonal : array of shape (n_rows,)
        The diagonal of L.
    recipe : (Preferences, dict), or None
        What `least_squares_form` made it of, where there is one output: parts of the rows have forms too.
    """

    n_rows: int
    pull: FloatArray
    constant: Any
    diagonal: FloatArray
    recipe: Any = None

    @abstractmethod
    def product(self, U: FloatArray) -> FloatArray:
        """Give L U for a vector or for several columns."""

    @abstractmethod
    def centred(self, U: FloatArray) -> FloatArray:
        """Take off what no pair sees: products of large numbers would lose digits to it."""

    @property
    def mass(self) -> float:
        """The sum of the weights of all pairs."""
        return float(self.diagonal.sum()) / 2.0

    @cached_property
    def root(self) -> Root:
        """A factor R of L = R'R, with the targets z for which R'z = r; small problems only."""
        return PivotedRoot(self.dense(), self.pull)

    @property
    def root_is_sparse(self) -> bool:
        """Whether a product with the root costs O(m), as against O(m^2)."""
        return False

    def dense(self) -> FloatArray:
        """Give L as an array, in O(m^2) or as many steps as there are pairs."""
        L = self.product(np.eye(self.n_rows))
        return (L + L.T) / 2

    def value_and_coefficients(self, scores: FloatArray) -> tuple[Any, FloatArray]:
        """Give the loss, for each output where there are several, and its derivative by each score."""
        s = self.centred(scores)
        product = self.product(s)
        value = np.sum(s * (product - 2.0 * self.pull), axis=0) + self.constant
        return value, 2.0 * (product - self.pull)


class CentringForm(QuadraticForm):
    """Equation (25): all pairs of rows of a query count, tied ones with target 0.

    L is the weighted centring within each query times the row weights b, so that s'L s is the sum of
    b_i (s_i - mean)^2: O(m) a column. Several outputs share it.
    """

    def __init__(self, ranking: Ranking, labels: FloatArray, average: str):
        self.n_rows = ranking.n_rows
        query, self._weight = ranking.groups(), ranking.row_weight()
        total = np.bincount(query, self._weight)
        factor = ranking.query_factor(average, total**2 / 2)
        self._share = self._weight / _of_row(np.where(total > 0, total, 1.0), query)
        between = _of_row(factor * total, query)
        self._b = self._weight * between
        self._centring = LevelRoot(self._weight, query, None, None, np.sqrt(between))
        self._labels = self.centred(labels)
        self.pull = self._labels * _like(self._b, labels)
        self.constant = np.sum(self._labels * self.pull, axis=0)

    @cached_property
    def diagonal(self) -> FloatArray:  # type: ignore[override]
        """The diagonal of L."""
        return self._b * (1.0 - self._share)

    @cached_property
    def root(self) -> Root:
        """The centring, scaled: R U = b^(1/2) (U - mean)."""
        self._centring.target = self._centring.apply(self._labels)
        return self._centring

    @property
    def root_is_sparse(self) -> bool:
        """Whether a product with the root costs O(m)."""
        return True

    def centred(self, U: FloatArray) -> FloatArray:
        """Take the weighted mean of each query off."""
        return self._centring.centred(U)

    def product(self, U: FloatArray) -> FloatArray:
        """Give L U for a vector or for several columns, in O(m) each."""
        return self.centred(U) * _like(self._b, U)


class PairForm(QuadraticForm):
    """The pairs of any structure, tied rows left out, summed without enumerating them.

    For rankings L = (D - D_t) - P P' + P_t P_t', where P tells the query and P_t the (query, label) of each
    row: O(m) a column. Survival, gains and order graphs use the sums of their structure; l explicit pairs
    cost O(l).
    """

    def __init__(self, preferences: Preferences, cost: str, average: str, n_threads: int = 1):
        self.preferences = preferences
        self.n_rows = preferences.n_rows
        self._factor = preferences.row_factor(average)
        self._average = average
        self._n_threads = n_threads
        sums = preferences.sums(None, n_threads=n_threads)
        self.diagonal = self._factor * (sums.up + sums.down)
        self._won = self._factor * (sums.down - sums.up)
        self.pull, self.constant = self._targets(cost)

    def centred(self, U: FloatArray) -> FloatArray:
        """Take a mean off: of each query, or of all rows."""
        return _by_column(self.preferences.centred, U)

    def product(self, U: FloatArray) -> FloatArray:
        """Give L U for a vector or for several columns."""
        return _by_column(self._times, U)

    def _times(self, u: FloatArray) -> FloatArray:
        u = self.preferences.centred(u)
        sums = self.preferences.sums(None, u, n_threads=self._n_threads)
        return self.diagonal * u - self._factor * (sums.moment_up + sums.moment_down)

    def _targets(self, cost: str) -> tuple[FloatArray, float]:
        """Give r_i = sum of w t over pairs won minus pairs lost, and the mean of t^2 over pairs."""
        if cost == "unit" or isinstance(self.preferences, OrderGraph):
            return self._won, 1.0
        if isinstance(self.preferences, Ranking):
            values = self.preferences.centred(self.preferences.values)
            pull = self._times(values)
            return pull, float(np.sum(values * pull))
        better, worse, magnitude, weight = self.preferences.pairs()
        target = self._factor * weight * magnitude
        return summed(better, worse, target, self.n_rows), float(np.sum(target * magnitude))

    @property
    def root_is_sparse(self) -> bool:
        """Whether a product with the root costs O(m): for rankings without gains and censoring."""
        return is_plain(self.preferences)

    @cached_property
    def root(self) -> Root:
        """A factor R of L = R'R, with the targets z for which R'z = r."""
        if not isinstance(self.preferences, Ranking) or not self.root_is_sparse:
            return PivotedRoot(self.dense(), self.pull)
        ranking = self.preferences
        query, weight = ranking.groups(), ranking.row_weight()
        between = np.sqrt(ranking.query_factor(self._average) * np.bincount(query, weight))[query]
        positive = np.where(weight > 0, weight, 1.0)
        within = np.sqrt(self.diagonal / positive)
        root = LevelRoot(weight, query, ranking.levels(), within, between)
        scale = np.sqrt(positive) * np.where(between > 0, between, 1.0)
        root.target = np.where(weight > 0, self.pull, 0.0) / scale
        return root


class LaplacianForm(QuadraticForm):
    """Equation (22), mean of w (1 - (s_better - s_worse) / t)^2, through its sparse Laplacian.

    The width of a pair depends on its magnitude, and no form with fewer terms than pairs exists: l pairs
    take O(l) memory and O(l) a column. The memory is checked beforehand.
    """

    def __init__(self, preferences: Preferences, average: str):
        self.n_rows = preferences.n_rows
        self._preferences = preferences
        check_pair_memory(preferences.n_pairs)
        better, worse, magnitude, weight = preferences.pairs()
        check_magnitudes(better, worse, magnitude)
        scaled = weight * np.broadcast_to(pair_factor(preferences, average), self.n_rows)[better]
        self.constant = float(scaled.sum())
        pulls = scaled / magnitude
        self.pull = summed(better, worse, pulls, self.n_rows)
        self._laplacian = sparse_laplacian(better, worse, pulls / magnitude, self.n_rows)
        self.diagonal = self._laplacian.diagonal()

    def centred(self, U: FloatArray) -> FloatArray:
        """Take a mean off: of each query, or of all rows."""
        return _by_column(self._preferences.centred, U)

    def product(self, U: FloatArray) -> FloatArray:
        """Give L U for a vector or for several columns."""
        return self._laplacian @ self.centred(U)

    def dense(self) -> FloatArray:
        """Give L as an array."""
        return self._laplacian.toarray()


def least_squares_form(
    preferences: Preferences,
    *,
    cost: str = "magnitude",
    ties: str = "keep",
    average: str = "queries",
    n_threads: int = 1,
    labels: ArrayLike | None = None,
) -> QuadraticForm:
    """Choose the form of a cost.

    Parameters
    ----------
    preferences : Preferences
    cost : "unit", "magnitude" or "relative"
        Equations (20), (21) and (22).
    ties : "keep" or "drop"
        With "keep" the tied rows of a ranking by scores count as pairs with target 0 under
        `cost="magnitude"`; other costs, and structures without such ties, are the same under both.
    average : "queries" or "pairs"
    labels : array of shape (n_rows, n_outputs), optional
        Several outputs that share the rows, queries and weights of `preferences`, where `shares_form`.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> form = least_squares_form(Preferences.from_scores([3.0, 1.0, 1.0]), ties="drop")
    >>> form.dense()
    array([[ 1. , -0.5, -0.5],
           [-0.5,  0.5,  0. ],
           [-0.5,  0. ,  0.5]])
    >>> form.pull
    array([ 2., -1., -1.])
    """
    check_choice(cost, "cost", COSTS)
    check_choice(ties, "ties", TIES)
    if keeps_ties(preferences, cost, ties):
        ranking: Any = preferences
        values = ranking.values if labels is None else np.asarray(labels, dtype=np.float64)
        return CentringForm(ranking, values, average)
    assert labels is None, "outputs share a form only where ties are kept"
    if cost == "relative":
        return LaplacianForm(preferences, average)
    return PairForm(preferences, cost, average, n_threads)


def keeps_ties(preferences: Preferences, cost: str, ties: str) -> bool:
    """Tell whether tied rows count as pairs; then L does not depend on the labels and outputs share it."""
    return cost == "magnitude" and ties == "keep" and is_plain(preferences)


def is_plain(preferences: Preferences) -> bool:
    """Tell whether the pairs are all pairs of different labels, each weighing the product of its rows."""
    return isinstance(preferences, Ranking) and preferences.event is None and preferences.gain is None


def pair_factor(preferences: Preferences, average: str) -> Any:
    """Give the factor of each row by which the weights that `pairs` lists enter the mean."""
    if not isinstance(preferences, Ranking):
        return 1.0 / preferences.pairs().weight.sum()
    factor = preferences.query_factor(average) / preferences.pair_scale()
    return factor[preferences.groups()]


def check_pair_memory(n_pairs: int) -> None:
    """Refuse pairs whose Laplacian would not fit into memory."""
    free, needed = _memory.available_memory(), BYTES_PER_PAIR * n_pairs
    if free is not None and needed > free:
        raise MemoryError(
            f"cost='relative' lists all {n_pairs} pairs, which needs {_memory.human_bytes(needed)} of "
            f"memory, but {_memory.human_bytes(free)} is free; cost='magnitude' and cost='unit' list none."
        )


def check_magnitudes(better: NDArray[Any], worse: NDArray[Any], magnitude: FloatArray) -> None:
    """Refuse magnitudes that equation (22) cannot divide by."""
    with np.errstate(divide="ignore", over="ignore"):
        bad = np.flatnonzero(~np.isfinite(1.0 / magnitude**2))
    if len(bad):
        k = bad[0]
        raise ValueError(
            f"cost='relative' divides by the square of a pair's magnitude, but that of rows {better[k]} and "
            f"{worse[k]} is {magnitude[k]:g}; use cost='unit' or cost='magnitude'."
        )


def summed(better: Any, worse: Any, values: FloatArray, n_rows: int) -> FloatArray:
    """Sum the values of the pairs that each row wins, less those of the pairs that it loses."""
    won, lost = (np.bincount(rows, values, n_rows) for rows in (better, worse))
    return np.asarray(won - lost, dtype=np.float64)


def sparse_laplacian(better: Any, worse: Any, weight: FloatArray, n_rows: int) -> sp.csr_array:
    """Give the matrix of the sum over pairs of weight times (s_better - s_worse)^2."""
    off = sp.coo_array((weight, (better, worse)), shape=(n_rows, n_rows)).tocsr()
    off = off + off.T
    return sp.csr_array(sp.diags_array(off.sum(axis=1)) - off)


def _of_row(of_query: FloatArray, query: NDArray[np.int64]) -> FloatArray:
    """Give each row the number of its query; one number stands for all rows of a single query."""
    return of_query if len(of_query) == 1 else of_query[query]


def _like(rows: FloatArray, U: FloatArray) -> FloatArray:
    """Shape one number a row so that it multiplies a vector or columns."""
    return rows if U.ndim == 1 else rows[:, None]


def _by_column(times: Any, U: FloatArray) -> FloatArray:
    if U.ndim == 1:
        return times(as_vector(U, "U"))
    return np.stack([times(np.ascontiguousarray(column)) for column in U.T], axis=1)
