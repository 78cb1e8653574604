"""The pairs of one ranking whose rows are in parts, counted exactly without collecting the rows.

Rows are sorted into ranges of scores, and into ranges of labels. Every pair of rows is in one of three cases:

1. Both rows are in the same range of scores: the part of the range counts the pair.
2. They are in different ranges of scores and the same range of labels: the part of the range of labels counts
   the pair, given the number of the range of scores of each row.
3. They are in different ranges of both: products of the numbers of rows in the cells of the grid.

Cost for m rows in P parts: two exchanges of 16 and 12 bytes per row between the parts (with the numbers of
the rows, 24 and 20), O(m / P log m) per part for ranges of equal size, and a grid of P^2 numbers in one
place. If there are few distinct labels, each is its own range, the second case is empty, and so is its
exchange.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rankwise.core.checks import as_labels, as_vector
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.row_parts import RowParts
from rankwise.losses.pair_sums import misordered_weight
from rankwise.metrics.rows import share
from rankwise.preferences import NoPairsError, Preferences

# The number of order statistics per part from which the borders of the ranges are chosen.
SAMPLED = 256
# Up to this number of distinct labels, each is a range.
FEW_LABELS = 256


class RankingCounts(NamedTuple):
    """Numbers of pairs of rows with different labels, and of pairs with different scores."""

    wrong: float
    wrong_or_tied: float
    label_pairs: float
    score_pairs: float


class RangeCounts(NamedTuple):
    """Numbers of pairs in one range of scores."""

    wrong: int
    wrong_or_tied: int
    tied_scores: int


class SortedRanking:
    """One ranking in ranges of scores and, when they are needed, in ranges of labels.

    Attributes
    ----------
    parts : RowParts
        Scores, labels and, optionally, the numbers of the rows.
    score_borders, label_borders : array
        The lower borders of all ranges but the first.
    has_single_labels : bool
        Whether each range of labels has a single label.
    lowest_label, largest_label : float
    by_score : RowParts
        Scores, labels and numbers of the rows of each range of scores, from the highest score down, so that
        sorting them again is fast. Ranges without rows are left out.
    """

    def __init__(self, parts: RowParts) -> None:
        summaries: list[PartSummary] = parts.chosen(0, 1).map(summary_of_part)
        if not summaries:
            raise ValueError("y is empty; it must have at least one row.")
        self.parts = parts
        labels = [one.labels for one in summaries]
        self.score_borders = borders_of([one.scores for one in summaries], parts.n_parts)
        self.label_borders, self.has_single_labels = label_ranges(summaries, parts.n_parts)
        self.lowest_label, self.largest_label = (
            float(min(one.min() for one in labels)), float(max(one.max() for one in labels))
        )  # fmt: skip
        ranges = parts.regrouped(split_by_score, len(self.score_borders) + 1, self.score_borders)
        by_score = ranges.transformed(from_highest_score)
        assert by_score is not None
        self.by_score = by_score

    @property
    def ranges(self) -> RowParts:
        """The scores and labels of each range of scores."""
        return self.by_score.chosen(0, 1)

    @cached_property
    def by_label(self) -> RowParts:
        """The range of scores, the label and the number of the rows of each range of labels."""
        borders = self.label_borders, self.score_borders
        return self.parts.regrouped(split_by_label, len(self.label_borders) + 1, *borders)

    @cached_property
    def grid(self) -> IntArray:
        """The number of rows by range of scores and range of labels."""
        grid = np.zeros((len(self.score_borders) + 1, len(self.label_borders) + 1), dtype=np.int64)
        for place, rows in self.ranges.map(rows_by_label, self.score_borders, self.label_borders):
            grid[place] = rows
        return grid

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.grid.sum())

    @cached_property
    def counts(self) -> RankingCounts:
        """The exact numbers of pairs."""
        ranges: list[RangeCounts] = self.ranges.map(counts_of_range)
        across, label_pairs = crossing_pairs(self.grid), different_pairs(self.grid.sum(axis=0))
        if not self.has_single_labels:
            same_labels = self.by_label.chosen(0, 1).map(counts_of_labels)
            across += sum(wrong for wrong, _ in same_labels)
            label_pairs += sum(total for _, total in same_labels)
        m = self.n_rows
        return RankingCounts(
            float(across + sum(one.wrong for one in ranges)),
            float(across + sum(one.wrong_or_tied for one in ranges)),
            float(label_pairs),
            float(m * (m - 1) // 2 - sum(one.tied_scores for one in ranges)),
        )


class PartSummary(NamedTuple):
    """Order statistics of the scores and the labels of a part; all distinct labels if they are few."""

    scores: FloatArray
    labels: FloatArray
    has_all_labels: bool


def summary_of_part(scores: Any, y: Any) -> PartSummary:
    """Check the columns of a part and return what the borders of ranges are chosen from."""
    labels = as_labels(y, "y")
    found = as_vector(scores, "scores", len(labels))
    distinct = np.unique(labels)
    is_few = len(distinct) <= FEW_LABELS
    return PartSummary(order_statistics(found), distinct if is_few else order_statistics(labels), is_few)


def order_statistics(values: FloatArray) -> FloatArray:
    """Return values of evenly spaced ranks."""
    ranks = np.linspace(0, len(values) - 1, min(len(values), SAMPLED + 1)).astype(int)
    return np.sort(values)[ranks]


def borders_of(samples: list[FloatArray], n_ranges: int) -> FloatArray:
    """Return at most n - 1 borders of n ranges; a range has the values from its lower border up.

    Examples
    --------
    >>> borders_of([np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])], 3)
    array([3., 5.])
    """
    values = np.sort(np.concatenate(samples))
    return np.unique(values[(np.arange(1, n_ranges) * len(values)) // n_ranges])


def label_ranges(parts: list[PartSummary], n_ranges: int) -> tuple[FloatArray, bool]:
    """Return the borders of ranges of labels, and whether each range has a single label."""
    samples = [part.labels for part in parts]
    distinct = np.unique(np.concatenate(samples))
    if len(distinct) <= FEW_LABELS and all(part.has_all_labels for part in parts):
        return distinct[1:], True
    return borders_of(samples, n_ranges), False


def range_of(values: FloatArray, borders: FloatArray) -> IntArray:
    """Return the number of the range of each value; equal values are in the same range."""
    return np.searchsorted(borders, values, side="right")


def split_by_score(scores: Any, y: Any, *numbers_and_borders: Any) -> list[tuple[Any, ...]]:
    """Return scores, labels and numbers of the rows of each range of scores."""
    *numbers, borders = numbers_and_borders
    columns = as_vector(scores, "scores"), as_labels(y, "y"), *numbers
    return split(columns, range_of(columns[0], borders), len(borders) + 1)


def from_highest_score(scores: FloatArray, *columns: Any) -> list[Any]:
    """Return columns in descending order of the scores, the first of them."""
    order = np.argsort(-scores, kind="stable")
    return [column[order] for column in (scores, *columns)]


def split_by_label(scores: Any, y: Any, *numbers_and_borders: Any) -> list[tuple[Any, ...]]:
    """Return the range of scores, the label and the number of the rows of each range of labels."""
    *numbers, borders, score_borders = numbers_and_borders
    labels = as_labels(y, "y")
    places = range_of(as_vector(scores, "scores"), score_borders).astype(np.int32)
    return split((places, labels, *numbers), range_of(labels, borders), len(borders) + 1)


def split(columns: tuple[Any, ...], group: IntArray, n_groups: int) -> list[tuple[Any, ...]]:
    """Return the rows of each group."""
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))[:-1]
    return list(zip(*(np.split(column[order], ends) for column in columns), strict=True))


def rows_by_label(
    scores: FloatArray, labels: FloatArray, score_borders: FloatArray, borders: FloatArray
) -> tuple[int, IntArray]:
    """Return the number of a range of scores, and its number of rows by range of labels."""
    rows = np.bincount(range_of(labels, borders), minlength=len(borders) + 1)
    return int(range_of(scores[:1], score_borders)[0]), rows


def counts_of_range(scores: FloatArray, labels: FloatArray) -> RangeCounts:
    """Count the pairs within a range of scores."""
    wrong, wrong_or_tied = misordered(labels, scores)
    runs = np.unique(scores, return_counts=True)[1].astype(np.int64)
    return RangeCounts(wrong, wrong_or_tied, int(np.sum(runs * (runs - 1) // 2)))


def counts_of_labels(places: IntArray, labels: FloatArray) -> tuple[int, int]:
    """Count, in a range of labels, the misordered pairs of different ranges of scores, and all pairs."""
    sizes = np.unique(labels, return_counts=True)[1].astype(np.int64)
    return misordered(labels, places.astype(np.float64))[0], different_pairs(sizes)


def misordered(labels: FloatArray, scores: FloatArray) -> tuple[int, int]:
    """Return the number of pairs in the wrong order, and that of these and of pairs with equal scores."""
    try:
        wrong, wrong_or_tied = misordered_weight(Preferences.from_scores(labels), scores)
    except NoPairsError:
        return 0, 0
    return int(wrong.sum()), int(wrong_or_tied.sum())


def crossing_pairs(grid: IntArray) -> int:
    """Return the number of misordered pairs of different rows and columns of a grid.

    The rows of the grid are ranges of scores, its columns ranges of labels, both in ascending order.

    Examples
    --------
    >>> crossing_pairs(np.array([[0, 2], [3, 1]]))
    6
    """
    lower_score = np.cumsum(grid, axis=0) - grid
    higher_label = np.cumsum(lower_score[:, ::-1], axis=1)[:, ::-1] - lower_score
    return int(np.sum(grid * higher_label))


def different_pairs(sizes: IntArray) -> int:
    """Return the number of pairs of members of different groups.

    Examples
    --------
    >>> different_pairs(np.array([2, 3, 1]))
    11
    """
    total = int(sizes.sum())
    return (total**2 - int(np.sum(sizes.astype(np.int64) ** 2))) // 2


def error_of(ranking: SortedRanking) -> float:
    """Return the fraction of pairs in the wrong order, equal scores counting one half; NaN without pairs."""
    found = ranking.counts
    return quotient((found.wrong + found.wrong_or_tied) / 2, found.label_pairs)


def tau_of(ranking: SortedRanking) -> float:
    """Return Kendall's tau-b, NaN if all labels or all scores are equal."""
    found = ranking.counts
    concordant = found.label_pairs - found.wrong_or_tied
    return quotient(concordant - found.wrong, float(np.sqrt(found.label_pairs * found.score_pairs)))


def quotient(part: float, whole: float) -> float:
    """Return part / whole as for queries in memory, NaN if whole is 0."""
    return float(share(np.array([part]), np.array([whole]))[0])
