"""Measures of retrieved documents as trec_eval defines them, for runs and judgements.

A run need not retrieve all judged documents, and not all that it retrieves are judged. Documents without a
grade are not relevant. Relevant documents that were not retrieved count in the ideal order and in the number
of relevant documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.core.types import FloatArray, IntArray


@dataclass(frozen=True)
class RetrievedRows:
    """Documents of queries with their grades and their positions in a run."""

    query: IntArray  # numbered from 0
    grade: FloatArray  # NaN if it was not judged
    position: FloatArray  # 0 is best; infinite if it was not retrieved
    n_queries: int

    @classmethod
    def by(cls, grade: FloatArray, scores: FloatArray, query: IntArray, n_queries: int) -> RetrievedRows:
        """Order retrieved documents as trec_eval does; the score is NaN if it was not retrieved.

        Scores are compared in single precision. The rows of a query are in ascending order of their ids, and
        of rows with equal scores the last is the first of the run.
        """
        rows = np.flatnonzero(~np.isnan(scores))
        with np.errstate(over="ignore"):
            single = scores[rows].astype(np.float32)
        order = rows[np.lexsort((-rows, -single, query[rows]))]
        position = np.full(len(scores), np.inf)
        position[order] = within_queries(query[order])
        return cls(query, grade, position, n_queries)

    def total(self, values: FloatArray) -> FloatArray:
        """Sum per query, 0 for a query without rows."""
        return np.bincount(self.query, weights=values, minlength=self.n_queries).astype(
            np.float64, copy=False
        )

    def ndcg(self, k: int | None = None, gain: str = "linear") -> FloatArray:
        """NDCG with linear or exponential gain; 0 for a query without grades above 0."""
        gains = np.where(self.grade > 0, self.grade, 0.0)
        if gain == "exponential":
            # Relative to the largest gain, which cancels in the ratio and prevents overflow of 2^grade.
            largest = np.zeros(self.n_queries)
            np.maximum.at(largest, self.query, gains)
            gains = np.exp2(gains - largest[self.query]) * -np.expm1(-gains * np.log(2.0))
        order = np.lexsort((-gains, self.query))
        best = np.empty(len(order))
        best[order] = within_queries(self.query[order])
        found, ideal = (self.total(gains * discounts(at, k)) for at in (self.position, best))
        return quotient(found, ideal)

    def average_precision(self, rel: int = 1) -> FloatArray:
        """Sum of the precisions at retrieved relevant documents, divided by the number of relevant ones."""
        hits = np.flatnonzero((self.grade >= rel) & np.isfinite(self.position))
        hits = hits[np.lexsort((self.position[hits], self.query[hits]))]
        at_hit = np.zeros(len(self.query))
        at_hit[hits] = (within_queries(self.query[hits]) + 1) / (self.position[hits] + 1)
        return quotient(self.total(at_hit), self.total((self.grade >= rel).astype(float)))

    def reciprocal_rank(self, rel: int = 1) -> FloatArray:
        """One over the rank of the first relevant document, 0 if none was retrieved."""
        found = np.zeros(self.n_queries)
        np.maximum.at(found, self.query, (self.grade >= rel) / (self.position + 1))
        return found

    def precision(self, k: int, rel: int = 1) -> FloatArray:
        """Fraction of relevant documents among the first k, even if fewer were retrieved."""
        return self.total(((self.grade >= rel) & (self.position < k)) / k)


def within_queries(query: IntArray) -> IntArray:
    """Return the number of each row within its query; rows are sorted by query.

    Examples
    --------
    >>> within_queries(np.array([0, 0, 0, 2, 2]))
    array([0, 1, 2, 0, 1])
    """
    return np.arange(len(query)) - np.searchsorted(query, query)


def discounts(position: FloatArray | IntArray, k: int | None) -> FloatArray:
    """Return 1 / log2(rank + 1), 0 from rank k + 1 on and for documents that were not retrieved."""
    return np.where(position < (np.inf if k is None else k), 1.0 / np.log2(position + 2.0), 0.0)


def quotient(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole, 0 if whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)
