"""Counted comparisons of items, and whether they determine the scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from rankwise import _native
from rankwise.core.types import FloatArray, FloatVector, IntVector, ShortVector

# Randomly compared items are at most this many steps apart; a chain of items can be longer.
STEPS = 6


@dataclass(frozen=True)
class Outcomes:
    """The weights of wins, losses and ties of the first item, per entry."""

    wins: FloatVector
    losses: FloatVector
    ties: FloatVector

    @cached_property
    def total(self) -> FloatVector:
        """The weight of each entry."""
        return self.wins + self.losses + self.ties

    @cached_property
    def lead(self) -> FloatVector:
        """Half of the wins minus half of the losses."""
        return 0.5 * (self.wins - self.losses)

    def scaled(self, factor: float) -> Outcomes:
        """Return the weights times a factor."""
        return Outcomes(factor * self.wins, factor * self.losses, factor * self.ties)


@dataclass(frozen=True)
class Comparisons:
    """The weights of wins, losses and ties of the first item of each pair; equal pairs are one entry.

    With covariates, an entry is a pair with the same covariates.

    Attributes
    ----------
    n_items : int
    first, second : arrays of shape (n_entries,)
        Numbers of items; sorted by the first, then by the second.
    wins, losses, ties : arrays of shape (n_entries,)
        Sums of weights.
    covariates : array of shape (n_covariates, n_entries), optional
    """

    n_items: int
    first: ShortVector
    second: ShortVector
    wins: FloatVector
    losses: FloatVector
    ties: FloatVector
    covariates: FloatArray | None = None

    @classmethod
    def count(
        cls,
        n_items: int,
        first: NDArray[np.integer[Any]],
        second: NDArray[np.integer[Any]],
        result: FloatVector | None,
        weight: FloatVector | None,
        *,
        ordered: bool,
        covariates: FloatArray | None = None,
    ) -> Comparisons:
        """Count comparisons, O(comparisons + items).

        `result` is 1 if the first item won, 0 if it lost, 0.5 for a tie; None if it won all. A pair
        in the other order is the same pair, unless `ordered` or with covariates.
        """
        if covariates is not None:
            pairs = first.astype(np.int64) * n_items + second
            keys, wins, losses, ties, rows = count_votes(pairs, covariates, result, weight)
            a, b = (items.astype(np.int32) for items in np.divmod(keys, n_items))
            return cls(n_items, a, b, wins, losses, ties, rows)
        a, b = (np.ascontiguousarray(items, dtype=np.int32) for items in (first, second))
        outcome = None if result is None else (2.0 * result).astype(np.int8)
        return cls(n_items, *_native.count_comparisons(a, b, outcome, weight, n_items, ordered))

    @cached_property
    def outcomes(self) -> Outcomes:
        """The weights of outcomes."""
        return Outcomes(self.wins, self.losses, self.ties)

    @property
    def total(self) -> FloatVector:
        """The weight of each entry."""
        return self.outcomes.total

    def signed_sums(self, values: FloatVector) -> FloatVector:
        """Return per item the sum of values of its entries, with a minus sign if it is the second."""
        matrix, ones = self.matrix(values), np.ones(self.n_items)
        return matrix @ ones - matrix.T @ ones

    def per_item(self) -> tuple[FloatVector, FloatVector]:
        """Return per item the weight of its comparisons, and of its wins, with ties as half wins."""
        won, ones = self.wins + 0.5 * self.ties, np.ones(self.n_items)
        total = self.matrix(self.total)
        wins = self.matrix(won) @ ones + self.matrix(self.total - won).T @ ones
        return total @ ones + total.T @ ones, wins

    def beaten(self) -> sp.csr_array:
        """Return the matrix with an entry (i, j) if i won against j or tied; a tie has both entries."""
        up, down = (self.wins + self.ties) > 0, (self.losses + self.ties) > 0
        rows = np.concatenate([self.first[up], self.second[down]])
        columns = np.concatenate([self.second[up], self.first[down]])
        return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(self.n_items,) * 2)

    def matrix(self, data: FloatVector) -> sp.csr_array:
        """Return the matrix with these numbers in the row and column of the items of each entry, summed."""
        if self.covariates is not None:
            return self.pooled.matrix(self.summed(data))
        return sp.csr_array((data, self.second, self._begin), shape=(self.n_items,) * 2)

    @cached_property
    def _begin(self) -> ShortVector:
        """The index of the first entry of each item."""
        return np.searchsorted(self.first, np.arange(self.n_items + 1)).astype(np.int32)

    @cached_property
    def pooled(self) -> Comparisons:
        """The comparisons without covariates, one entry per pair."""
        if self.covariates is None:
            return self
        wins, losses, ties = (self.summed(count) for count in (self.wins, self.losses, self.ties))
        return Comparisons(
            self.n_items, self.first[self._pairs], self.second[self._pairs], wins, losses, ties
        )

    def summed(self, data: FloatArray) -> FloatArray:
        """Return the sums over the entries of each pair, along the last axis."""
        return data if self.covariates is None else np.add.reduceat(data, self._pairs, axis=-1)

    @cached_property
    def _pairs(self) -> IntVector:
        """The index of the first entry of each pair."""
        is_new = (np.diff(self.first) != 0) | (np.diff(self.second) != 0)
        return np.flatnonzero(np.concatenate([[True], is_new]))

    def groups(self) -> list[IntVector]:
        """Return the connected components of the comparisons, the largest first."""
        return _parts(self.matrix(np.ones(len(self.second))), "weak")

    def strong_parts(self) -> list[IntVector]:
        """Return the groups of items that chains of wins or ties link both ways, the largest first."""
        if self._all_within_reach():
            return [np.arange(self.n_items)]
        return _parts(self.beaten(), "strong")

    def one_sided(self) -> list[IntVector]:
        """Return groups of items that won, or lost, every comparison with items outside of the group.

        Without such groups, scores have a finite optimum without a penalty (Ford 1957): they are the sources
        and sinks among the strongly connected components of the graph of wins. The largest component, if it
        has several items, is "the others", from whose side the rest is one-sided.
        """
        if self._all_within_reach():
            return []
        beaten, parts = self.beaten(), self.strong_parts()
        part_of = np.empty(self.n_items, dtype=np.int64)
        for number, items in enumerate(parts):
            part_of[items] = number
        better, worse = part_of[beaten.tocoo().row], part_of[beaten.tocoo().col]
        across = better != worse
        lost, won = (np.isin(np.arange(len(parts)), side[across]) for side in (worse, better))
        sided = [items for items, up, down in zip(parts, won, lost, strict=True) if up != down]
        return [items for items in sided if items is not parts[0] or len(items) == 1]

    def _all_within_reach(self) -> bool:
        """Return whether a few steps prove that the graph of wins is strongly connected."""
        won, lost = (
            self.matrix((side + self.ties > 0).astype(np.float64)) for side in (self.wins, self.losses)
        )
        return _reaches_all(won, lost.T) and _reaches_all(lost, won.T)


def count_votes(
    keys: IntVector, covariates: FloatArray, result: FloatVector | None, weight: FloatVector | None
) -> tuple[IntVector, FloatVector, FloatVector, FloatVector, FloatArray]:
    """Return sorted keys, weights of wins, losses and ties, and covariates, of votes alike in both.

    If more than half of the votes differ in their covariates, every vote is an entry.

    Examples
    --------
    >>> z = np.array([[1.0, -1.0, 1.0, 1.0]])
    >>> keys, wins, *_, rows = count_votes(np.array([7, 3, 7, 3]), z, None, None)
    >>> keys.tolist(), wins.tolist(), rows.ravel().tolist()
    ([3, 3, 7], [1.0, 1.0, 2.0], [-1.0, 1.0, 1.0])
    """
    # Equal covariates have equal sums. If others have too, equal ones may stay apart, as several entries.
    sums = np.zeros(len(keys))
    for number, column in enumerate(covariates):
        sums += np.sqrt(2.0 + number) * column
    distinct = np.unique(sums)
    merged = 2 * len(distinct) <= len(keys)
    n_places = len(distinct) if merged else 1
    # Sorted as floats, which are exact below 2^53; keys of clusters by pairs may be larger.
    is_large = int(keys.max()) >= 2**53 // n_places - 1
    places = (np.unique(keys, return_inverse=True)[1] if is_large else keys) * n_places
    if merged:
        places = places + np.searchsorted(distinct, sums)
    order = _native.stable_order(places.astype(np.float64))
    rows, keys = np.take(covariates, order, axis=1), keys[order]
    outcome = np.ones(len(keys)) if result is None else result[order]
    weights = np.ones(len(keys)) if weight is None else weight[order]
    counts = [weights * (outcome == value) for value in (1.0, 0.0, 0.5)]
    if merged:
        is_new = (np.diff(keys) != 0) | (np.diff(rows) != 0).any(axis=0)
        begin = np.flatnonzero(np.concatenate([[True], is_new]))
        counts = [np.add.reduceat(count, begin) for count in counts]
        rows, keys = rows[:, begin], keys[begin]
    wins, losses, ties = counts
    return keys, wins, losses, ties, rows


def _reaches_all(one: Any, other: Any) -> bool:
    """Return whether a few steps along the entries of both matrices lead from all items to the first."""
    reached = np.zeros(one.shape[0])
    reached[0] = 1.0
    for _ in range(STEPS):
        reached = np.minimum(reached + one @ reached + other @ reached, 1.0)
        if reached.all():
            return True
    return False


def _parts(graph: sp.csr_array, connection: str) -> list[IntVector]:
    n_parts, part_of = connected_components(graph, directed=True, connection=connection)
    order = np.argsort(part_of, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(part_of, minlength=n_parts))[:-1])
    return sorted(parts, key=len, reverse=True)


def laplacian(n_items: int, first: IntVector, second: IntVector, weight: FloatVector) -> FloatArray:
    """Return the sum over entries of weight times (e_first - e_second)(e_first - e_second)'."""
    counts = np.bincount(first * n_items + second, weight, n_items**2).astype(np.float64)
    matrix = counts.reshape(n_items, n_items)
    matrix = -(matrix + matrix.T)
    return matrix - np.diag(matrix.sum(axis=1))
