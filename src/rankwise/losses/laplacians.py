"""The weighted Laplacian L of the pairs: s'L s is the mean over pairs of (s_better - s_worse)^2.

It is M M' in the notation of Pahikkala et al. (2009), in three forms: by means of queries and labels, by the
sums of any structure, and listed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core import memory
from rankwise.core.checks import as_vector
from rankwise.core.types import FloatArray
from rankwise.losses.pair_sums import PartnerSums, partner_sums
from rankwise.losses.roots import LevelRoot, PivotedRoot, Root
from rankwise.preferences.base import Pairs, Preferences, from_heaviest

# Bytes for each pair of the sparse Laplacian at its peak: the pair itself, its four entries as they are
# gathered (two int32 or int64 numbers and a float64 each) and the compressed copy.
BYTES_PER_PAIR = 160


class Laplacian(ABC):
    """A Laplacian of n_rows rows, known by its products.

    Attributes
    ----------
    n_rows : int
    diagonal : array of shape (n_rows,)
    root_is_sparse : bool
        Whether a product with the root costs O(m), rather than O(m^2).
    """

    n_rows: int
    diagonal: FloatArray
    root_is_sparse = False

    @abstractmethod
    def product(self, U: FloatArray) -> FloatArray:
        """Return L U for a vector or for several columns."""

    @abstractmethod
    def centred(self, U: FloatArray) -> FloatArray:
        """Subtract an offset that cancels in all pairs: products of large numbers would lose digits."""

    @abstractmethod
    def block(self, rows: NDArray[np.int64]) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the block of L that belongs to one group of rows, which no pair leaves."""

    def pull(self, values: FloatArray) -> tuple[FloatArray, Any]:
        """Return L v and v'L v for the labels v, or for several columns of them."""
        values = self.centred(values)
        pull = self.product(values)
        return pull, np.sum(values * pull, axis=0)

    def dense(self) -> FloatArray:
        """Return L as an array, in O(m^2) or as many steps as there are pairs."""
        L = self.product(np.eye(self.n_rows))
        return (L + L.T) / 2

    def root(self, pull: FloatArray) -> Root:
        """Return a factor R of L = R'R, with the targets z for which R'z = pull; small problems only."""
        return PivotedRoot(self.dense(), pull)


class LevelLaplacian(Laplacian):
    """All pairs of rows of a query, or those of different labels, by the means of queries and labels.

    Equation (25), where tied rows count too, is L = D - P P', with P telling the query of each row: u'L u is
    the sum of b_i (u_i - query mean)^2. Without the tied rows it is (D - D_t) - P P' + P_t P_t', with P_t
    of the (query, label) of each row. Both cost O(m) per column.

    Parameters
    ----------
    ranking : Preferences
        One that `is_complete`.
    factor : float or array of shape (n_rows,)
        By which the product of two rows' weights enters the mean.
    partners : PartnerSums, optional
        Those of rows with different labels; without them tied rows count.
    """

    root_is_sparse = True

    def __init__(self, ranking: Any, factor: Any, partners: PartnerSums | None = None):
        self.n_rows = ranking.n_rows
        if partners is None:
            weight = ranking.row_weight()
            total = query_totals(ranking.groups(), weight)
            share = weight / np.where(total > 0, total, 1.0)
            self.diagonal = weight * factor * total * (1.0 - share)
            self._root = level_root(ranking, factor)
        else:
            self.diagonal = factor * (partners.up + partners.down)
            self._root = level_root(ranking, factor, self.diagonal)

    def product(self, U: FloatArray) -> FloatArray:
        """Return L U for a vector or for several columns, in O(m) each."""
        return self._root.square(U)

    def centred(self, U: FloatArray) -> FloatArray:
        """Subtract the weighted mean of each query."""
        return self._root.centred(U)

    def block(self, rows: NDArray[np.int64]) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the block of one query."""
        return self._root.of_query(rows).square

    def root(self, pull: FloatArray) -> Root:
        """Return the factor R of `LevelRoot`."""
        self._root.aim(pull)
        return self._root


class PairLaplacian(Laplacian):
    """The pairs of any structure, summed without listing them if possible.

    L u = D u - A u, with the adjacency A of the pairs: a column costs as much as `partner_sums`.
    """

    def __init__(self, preferences: Preferences, factor: Any, partners: PartnerSums, n_threads: int = 1):
        self.n_rows = preferences.n_rows
        self._preferences, self._factor, self._n_threads = preferences, factor, n_threads
        self.diagonal = factor * (partners.up + partners.down)

    def centred(self, U: FloatArray) -> FloatArray:
        """Subtract a mean: of each query, or of all rows."""
        return by_column(self._preferences.centred, U)

    def product(self, U: FloatArray) -> FloatArray:
        """Return L U for a vector or for several columns."""
        return by_column(self._times, U)

    def block(self, rows: NDArray[np.int64]) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the block of one query or component, from the list of its pairs."""
        trace = self.diagonal[rows].sum()
        if trace == 0:
            return np.zeros_like
        part = self._preferences[rows].renumbered()
        listed = ListedLaplacian(part, part.mean_pairs())
        block = listed.dense() * (trace / listed.diagonal.sum())
        return lambda U: block @ U

    def pull(self, values: FloatArray) -> tuple[FloatArray, Any]:
        """Return L v and v'L v for labels v, which may be the same in every pair while others differ."""
        values = from_heaviest(values, self.diagonal, self._preferences.groups())
        pull = self._times_as_given(values)
        return pull, values @ pull

    def _times(self, u: FloatArray) -> FloatArray:
        return self._times_as_given(self._preferences.centred(u))

    def _times_as_given(self, u: FloatArray) -> FloatArray:
        sums = partner_sums(self._preferences, None, u, n_threads=self._n_threads)
        return self.diagonal * u - self._factor * sums.moments


class WeightedLaplacian(PairLaplacian):
    """The pairs of different labels, each by the product of its rows' weights; its root is that of levels.

    Products are sums over pairs: if one row has nearly all the weight of its query, its difference from
    the weighted mean is lost in rounding.
    """

    root_is_sparse = True

    def root(self, pull: FloatArray) -> Root:
        """Return the factor R of `LevelRoot`."""
        root = level_root(self._preferences, self._factor, self.diagonal)
        root.aim(pull)
        return root


class ListedLaplacian(Laplacian):
    """Pairs one by one, through a sparse matrix: O(l) memory and O(l) per column for l pairs."""

    def __init__(self, preferences: Preferences, pairs: Pairs):
        self.n_rows = preferences.n_rows
        self._preferences = preferences
        better, worse, _, weight = pairs
        off = sp.coo_array((weight, (better, worse)), shape=(self.n_rows, self.n_rows)).tocsr()
        off = off + off.T
        self._matrix = sp.csr_array(sp.diags_array(off.sum(axis=1)) - off)
        self.diagonal = self._matrix.diagonal()

    def centred(self, U: FloatArray) -> FloatArray:
        """Subtract a mean: of each query, or of all rows."""
        return by_column(self._preferences.centred, U)

    def product(self, U: FloatArray) -> FloatArray:
        """Return L U for a vector or for several columns."""
        return self._matrix @ self.centred(U)

    def block(self, rows: NDArray[np.int64]) -> Callable[[FloatArray], FloatArray]:
        """Return the product with the block of one query or component."""
        block = self._matrix[rows][:, rows].toarray()
        return lambda U: block @ U

    def dense(self) -> FloatArray:
        """Return L as an array."""
        return self._matrix.toarray()


def check_pair_memory(n_pairs: int) -> None:
    """Refuse pairs whose Laplacian would not fit into memory."""
    memory.require_memory(
        BYTES_PER_PAIR * n_pairs,
        f"cost='relative', which lists all {n_pairs} pairs,",
        "cost='magnitude' and cost='unit' list none",
    )


def level_root(ranking: Any, factor: Any, diagonal: FloatArray | None = None) -> LevelRoot:
    """Return the root of the pairs of different labels, whose L has this diagonal, or else of all pairs."""
    query, weight = ranking.groups(), ranking.row_weight()
    between = factor * query_totals(query, weight)
    if diagonal is None:
        return LevelRoot(weight, query, None, None, between)
    within = diagonal / np.where(weight > 0, weight, 1.0)
    return LevelRoot(weight, query, row_levels(ranking), within, between)


def row_levels(ranking: Any) -> NDArray[np.int64]:
    """Number the (query, label) of each row."""
    query, labels = ranking.groups(), ranking.labels
    order = np.lexsort((labels, query))
    step = (np.diff(query[order]) != 0) | (np.diff(labels[order]) != 0)
    levels = np.empty(ranking.n_rows, dtype=np.int64)
    levels[order] = np.concatenate([[0], np.cumsum(step)])[: ranking.n_rows]
    return levels


def query_totals(query: NDArray[np.int64], weight: FloatArray) -> FloatArray:
    """Return the weight of each row's query; a single number if there is one query."""
    total = np.asarray(np.bincount(query, weight), np.float64)
    return total if len(total) == 1 else total[query]


def by_column(times: Any, U: FloatArray) -> FloatArray:
    """Apply a function of vectors to a vector, or to each of several columns."""
    if U.ndim == 1:
        return times(as_vector(U, "U"))
    return np.stack([times(np.ascontiguousarray(column)) for column in U.T], axis=1)
