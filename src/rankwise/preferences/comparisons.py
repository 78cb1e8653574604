"""Counted comparisons of items, and what they leave open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from rankwise._types import FloatVector, IntVector


@dataclass(frozen=True)
class Comparisons:
    """How often the first item of a pair won, lost and tied; equal pairs are one entry.

    Attributes
    ----------
    n_items : int
    first, second : arrays of shape (n_entries,)
        Numbers of items; sorted by the first, then by the second.
    wins, losses, ties : arrays of shape (n_entries,)
        Sums of weights.
    """

    n_items: int
    first: IntVector
    second: IntVector
    wins: FloatVector
    losses: FloatVector
    ties: FloatVector

    @classmethod
    def count(
        cls,
        n_items: int,
        first: IntVector,
        second: IntVector,
        result: FloatVector,
        weight: FloatVector | None,
        *,
        ordered: bool,
    ) -> Comparisons:
        """Count comparisons; `result` is 1 where the first item won, 0 where it lost and 0.5 for a tie.

        A pair in the other order is the same pair, unless `ordered`.
        """
        if not ordered:
            swapped = first > second
            first, second = np.minimum(first, second), np.maximum(first, second)
            result = np.where(swapped, 1.0 - result, result)
        outcomes, sums = _sums(
            (first * n_items + second) * 3 + (2.0 * result).astype(np.int64), weight, 3 * n_items**2
        )
        entries, number = np.unique(outcomes // 3, return_inverse=True)
        table = np.zeros((3, len(entries)))
        table[outcomes % 3, number] = sums
        return cls(n_items, *np.divmod(entries, n_items), table[2], table[0], table[1])

    @property
    def total(self) -> FloatVector:
        """The weight of each entry."""
        return self.wins + self.losses + self.ties

    def per_item(self) -> tuple[FloatVector, FloatVector]:
        """Return the weight of each item's comparisons, and of those it won, a tie being half a win."""
        won, total = self.wins + 0.5 * self.ties, self.total
        wins = self._at(self.first, won) + self._at(self.second, total - won)
        return self._at(self.first, total) + self._at(self.second, total), wins

    def beaten(self) -> sp.csr_array:
        """Return the matrix with an entry (i, j) where i won against j or tied, so that j did too."""
        up, down = (self.wins + self.ties) > 0, (self.losses + self.ties) > 0
        rows = np.concatenate([self.first[up], self.second[down]])
        columns = np.concatenate([self.second[up], self.first[down]])
        return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(self.n_items,) * 2)

    def groups(self) -> list[IntVector]:
        """Return the items of each group that no comparison links to another, the largest first."""
        ends = np.cumsum(np.bincount(self.first, minlength=self.n_items))
        index = self.second.astype(np.int32), np.concatenate([[0], ends]).astype(np.int32)
        graph = sp.csr_array((np.ones(len(self.second)), *index), shape=(self.n_items,) * 2)
        return _parts(graph, "weak")

    def one_sided(self) -> list[IntVector]:
        """Return groups of items that won, or lost, every comparison with items outside of the group.

        Scores have a finite optimum without a penalty where there is none (Ford 1957): these are the sources
        and sinks among the strongly connected components of who beat whom.
        """
        beaten = self.beaten()
        parts = _parts(beaten, "strong")
        part_of = np.empty(self.n_items, dtype=np.int64)
        for number, items in enumerate(parts):
            part_of[items] = number
        better, worse = part_of[beaten.tocoo().row], part_of[beaten.tocoo().col]
        across = better != worse
        lost, won = (np.isin(np.arange(len(parts)), side[across]) for side in (worse, better))
        return [items for items, up, down in zip(parts, won, lost, strict=True) if up != down]

    def _at(self, item: IntVector, weight: FloatVector) -> FloatVector:
        return np.bincount(item, weight, self.n_items).astype(np.float64, copy=False)


def _sums(numbers: IntVector, weight: FloatVector | None, n_numbers: int) -> tuple[IntVector, FloatVector]:
    """Return the distinct numbers, sorted, and the sum of the weights of each."""
    if n_numbers <= 4 * len(numbers):  # no sort is needed where a table of all numbers is small
        table = np.bincount(numbers, weight, n_numbers).astype(np.float64)
        return np.flatnonzero(table), table[table > 0]
    if weight is None:
        distinct, counts = np.unique(numbers, return_counts=True)
        return distinct, counts.astype(np.float64)
    distinct, place = np.unique(numbers, return_inverse=True)
    return distinct, np.bincount(place, weight).astype(np.float64, copy=False)


def _parts(graph: sp.csr_array, connection: str) -> list[IntVector]:
    n_parts, part_of = connected_components(graph, directed=True, connection=connection)
    order = np.argsort(part_of, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(part_of, minlength=n_parts))[:-1])
    return sorted(parts, key=len, reverse=True)
