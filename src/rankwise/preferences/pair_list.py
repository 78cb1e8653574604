"""Explicit pairs of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit

from rankwise._checks import as_indices, as_vector, as_weights
from rankwise.preferences.base import Pairs, PartnerSums, Preferences

FloatVector = NDArray[np.float64]


class PairList(Preferences):
    """A list of (better, worse) rows, each with a magnitude and a weight; O(l) for l pairs."""

    def __init__(self, pairs: Pairs, n_rows: int):
        self._pairs = pairs
        self.n_rows = n_rows

    @property
    def n_pairs(self) -> int:
        """The number of pairs, those of weight zero left out."""
        return len(self._pairs.better)

    def groups(self) -> NDArray[np.int64]:
        """Give the connected component of each row in the graph of pairs."""
        better, worse, _, _ = self._pairs
        graph = sp.coo_matrix((np.ones(len(better)), (better, worse)), shape=(self.n_rows, self.n_rows))
        return connected_components(graph, directed=False)[1].astype(np.int64)

    def pairs(self) -> Pairs:
        """Return the pairs."""
        return self._pairs

    def weighted(self, sample_weight: ArrayLike) -> PairList:
        """Multiply each pair's weight by the weights of its two rows."""
        rows = as_weights(sample_weight, "sample_weight", self.n_rows)
        rows = rows / rows.max()  # only ratios matter, and products of ratios do not overflow
        better, worse, magnitude, weight = self._pairs
        return PairList(
            _kept(Pairs(better, worse, magnitude, weight * rows[better] * rows[worse])), self.n_rows
        )

    def _take(self, rows: NDArray[np.int64]) -> PairList:
        """Keep the pairs between the rows taken; a row taken twice takes its pairs twice."""
        better, worse, magnitude, weight = self._pairs
        order = np.argsort(rows, kind="stable")
        copies = np.bincount(rows, minlength=self.n_rows)
        first = np.cumsum(copies) - copies
        count = copies[better] * copies[worse]
        pair = np.repeat(np.arange(len(better)), count)
        number = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
        of_worse = copies[worse][pair]
        taken = Pairs(
            order[first[better][pair] + number // np.maximum(of_worse, 1)],
            order[first[worse][pair] + number % np.maximum(of_worse, 1)],
            magnitude[pair],
            weight[pair],
        )
        return PairList(taken, len(rows))

    def sums(
        self,
        scores: FloatVector | None,
        moment: FloatVector | None = None,
        *,
        margin: float = 1.0,
        counting: str = "merge",
        n_threads: int = 1,
    ) -> PartnerSums:
        """Sum over the violated pairs one by one: O(l), whatever the counting method."""
        better, worse, _, weight = self._pairs
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

    def logistic(
        self, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
    ) -> tuple[float, FloatVector]:
        """Sum over the pairs one by one: O(l)."""
        better, worse, _, weight = self._pairs
        difference, weight = scores[better] - scores[worse], factor * weight
        push = weight * expit(-difference)
        return -float(np.sum(weight * log_expit(difference))), self._by_row(worse, push) - self._by_row(
            better, push
        )

    def logistic_hessian(
        self, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
    ) -> tuple[FloatVector, Callable[[FloatVector], FloatVector]]:
        """Return the diagonal and the product: O(l) each."""
        better, worse, _, weight = self._pairs
        difference = scores[better] - scores[worse]
        stiffness = factor * weight * expit(difference) * expit(-difference)

        def product(direction: FloatVector) -> FloatVector:
            pull = stiffness * (direction[better] - direction[worse])
            return self._by_row(better, pull) - self._by_row(worse, pull)

        return self._by_row(better, stiffness) + self._by_row(worse, stiffness), product

    def _by_row(self, rows: NDArray[np.int64], values: FloatVector) -> FloatVector:
        return np.asarray(np.bincount(rows, values, minlength=self.n_rows), np.float64)

    def violated_weight(self, scores: ArrayLike, margin: float, *, n_threads: int = 1) -> FloatVector:
        """Weight of the violated pairs, as an array of one number."""
        scores = self.check_scores(scores)
        better, worse, _, weight = self._pairs
        return np.array([weight[scores[better] - scores[worse] < margin].sum()])

    def total_weight(self) -> FloatVector:
        """Weight of all pairs, as an array of one number."""
        return np.array([self._pairs.weight.sum()])

    def _row_factor(self, average: str) -> float:
        return float(1.0 / self.total_weight()[0])

    def _why_no_pairs(self) -> str:
        return (
            f"There is nothing to rank: no pair with a positive weight joins two of the {self.n_rows} rows."
        )


def _kept(pairs: Pairs) -> Pairs:
    keep = pairs.weight > 0
    better, worse, magnitude, weight = pairs
    return Pairs(better[keep], worse[keep], magnitude[keep], weight[keep])


def pair_list(
    better: ArrayLike,
    worse: ArrayLike,
    magnitude: ArrayLike | None,
    weight: ArrayLike | None,
    n_rows: int | None,
) -> PairList:
    """See `Preferences.from_pairs`."""
    first, second = as_indices(better, "better", n_rows), as_indices(worse, "worse", n_rows)
    if len(first) != len(second):
        raise ValueError(f"better has {len(first)} entries and worse {len(second)}; they must match.")
    if (first == second).any():
        row = first[first == second][0]
        raise ValueError(f"A row cannot be better than itself: row {row} is paired with itself.")
    rows = int(max(first.max(initial=-1), second.max(initial=-1))) + 1 if n_rows is None else int(n_rows)
    ones = np.ones(len(first))
    pairs = Pairs(
        first,
        second,
        ones if magnitude is None else as_vector(magnitude, "magnitude", len(first)),
        ones if weight is None else as_weights(weight, "weight", len(first)),
    )
    structure = PairList(_kept(pairs), rows)
    structure.require_pairs()
    return structure
