"""Measures of the ranked list of one ranking, whose rows are in ranges of scores.

Given the number of rows above its range, each part adds the terms of its rows. Rows with equal scores are in
the same range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwise.core.types import FloatArray, IntArray
from rankwise.metrics.list_terms import check_gains, expected_reciprocal, relative_gains
from rankwise.metrics.one_ranking import SortedRanking, quotient, range_of
from rankwise.metrics.retrieval import discounts
from rankwise.metrics.rows import RankedRows


class Above(NamedTuple):
    """The number of rows, or of relevant rows, above each range."""

    borders: FloatArray
    numbers: IntArray

    @classmethod
    def each(cls, borders: FloatArray, numbers: IntArray) -> Above:
        """Return the numbers above ranges from those in them.

        Examples
        --------
        >>> Above.each(np.array([2.0, 5.0]), np.array([4, 1, 3])).numbers
        array([4, 3, 0])
        """
        return cls(borders, np.cumsum(numbers[::-1])[::-1] - numbers)

    def of(self, values: FloatArray) -> int:
        """Return the number above the range of some values."""
        return int(self.numbers[range_of(values[:1], self.borders)[0]])


def ndcg_of(ranking: SortedRanking, *, k: int | None = None, gain: str = "exponential") -> float:
    """Return NDCG, NaN if no label is above 0."""
    check_gains(ranking.lowest_label, gain)
    terms = ranking.largest_label, k, gain
    found = sum(ranking.ranges.map(dcg_of_range, rows_above(ranking), *terms))
    if ranking.has_single_labels:
        ideal = _dcg_of_few_labels(ranking, k, gain)
    else:
        above = Above.each(ranking.label_borders, ranking.grid.sum(axis=0))
        ideal = sum(ranking.by_label.chosen(1).map(ideal_dcg_of_range, above, *terms))
    return quotient(found, ideal)


def average_precision_of(ranking: SortedRanking, *, relevant_above: float = 0.0) -> float:
    """Return the average precision, NaN if no row is relevant."""
    hits = relevant_rows(ranking, relevant_above)
    above = rows_above(ranking), Above.each(ranking.score_borders, hits)
    total = sum(ranking.ranges.map(precisions_of_range, *above, relevant_above))
    return quotient(total, float(hits.sum()))


def reciprocal_rank_of(ranking: SortedRanking, *, relevant_above: float = 0.0) -> float:
    """Return the expected reciprocal rank, NaN if no row is relevant."""
    found = ranking.ranges.map(first_hit_of_range, rows_above(ranking), relevant_above)
    hits = [one for one in found if one is not None]
    return float(expected_reciprocal(*(np.array([entry]) for entry in min(hits)))[0]) if hits else np.nan


def precision_of(ranking: SortedRanking, *, k: int | None = 10, relevant_above: float = 0.0) -> float:
    """Return the expected fraction of relevant rows among the first k."""
    depth = ranking.n_rows if k is None else k
    terms = rows_above(ranking), depth, relevant_above
    return float(sum(ranking.ranges.map(hits_within_range, *terms)) / depth)


def rows_above(ranking: SortedRanking) -> Above:
    """Return the number of rows above each range of scores."""
    return Above.each(ranking.score_borders, ranking.grid.sum(axis=1))


def relevant_rows(ranking: SortedRanking, relevant_above: float) -> IntArray:
    """Return the number of relevant rows in each range of scores."""
    hits = np.zeros(len(ranking.grid), dtype=np.int64)
    for place, number in ranking.ranges.map(hits_of_range, ranking.score_borders, relevant_above):
        hits[place] = number
    return hits


def _dcg_of_few_labels(ranking: SortedRanking, k: int | None, gain: str) -> float:
    """Return the ideal DCG: each range of scores adds the terms of its positions."""
    labels = np.array([ranking.lowest_label, *ranking.label_borders])[::-1]
    ends = np.cumsum(ranking.grid.sum(axis=0)[::-1])
    gains = relative_gains(labels, ranking.largest_label * np.ones(len(labels)), gain)
    return float(sum(ranking.ranges.map(dcg_of_positions, rows_above(ranking), ends, gains, k)))


def ranked(scores: FloatArray) -> RankedRows:
    """Sort the rows of a range by score."""
    return RankedRows.by(scores, np.zeros(len(scores), dtype=np.int64))


def dcg_of_range(
    scores: FloatArray, labels: FloatArray, above: Above, largest: float, k: int | None, gain: str
) -> float:
    """Return the terms of DCG of the rows of a range."""
    rows = ranked(scores)
    gains = relative_gains(labels, np.full(len(labels), largest), gain)
    return float(discounts(rows.position + above.of(scores), k) @ rows.expected(gains))


def ideal_dcg_of_range(labels: FloatArray, above: Above, largest: float, k: int | None, gain: str) -> float:
    """Return the terms of the ideal DCG of the rows of a range of labels."""
    return dcg_of_range(labels, labels, above, largest, k, gain)


def dcg_of_positions(
    scores: FloatArray, labels: FloatArray, above: Above, ends: IntArray, gains: FloatArray, k: int | None
) -> float:
    """Return the terms of the ideal DCG at the positions of a range.

    `ends` has the first position after each label, in descending order of the labels, and `gains` their gain.
    """
    position = above.of(scores) + np.arange(len(scores))
    return float(discounts(position, k) @ gains[np.searchsorted(ends, position, side="right")])


def hits_of_range(
    scores: FloatArray, labels: FloatArray, borders: FloatArray, relevant_above: float
) -> tuple[int, int]:
    """Return the number of a range of scores, and that of its relevant rows."""
    return int(range_of(scores[:1], borders)[0]), int(np.count_nonzero(labels > relevant_above))


def precisions_of_range(
    scores: FloatArray, labels: FloatArray, above: Above, hits_above: Above, relevant_above: float
) -> float:
    """Return the sum of the precisions at the relevant rows of a range."""
    rows = ranked(scores)
    run_hits = rows.run_total(labels > relevant_above)
    hits = hits_above.of(scores) + np.cumsum(run_hits)
    return float(run_hits @ (hits / (above.of(scores) + rows.run_start + rows.run_size)))


def first_hit_of_range(
    scores: FloatArray, labels: FloatArray, above: Above, relevant_above: float
) -> tuple[int, int, int] | None:
    """Return for the highest score of a relevant row the rows above, those with it, and the relevant ones."""
    rows = ranked(scores)
    run_hits = rows.run_total(labels > relevant_above)
    if not run_hits.any():
        return None
    run = int(np.argmax(run_hits > 0))
    return above.of(scores) + int(rows.run_start[run]), int(rows.run_size[run]), int(run_hits[run])


def hits_within_range(
    scores: FloatArray, labels: FloatArray, above: Above, depth: int, relevant_above: float
) -> float:
    """Return the expected number of relevant rows of a range among the first `depth` of all."""
    rows = ranked(scores)
    within = np.clip(depth - above.of(scores) - rows.run_start, 0, rows.run_size)
    return float(np.sum(within * rows.run_total(labels > relevant_above) / rows.run_size))
