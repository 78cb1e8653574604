"""The error of one ranking whose rows are in parts, with its standard error, without collecting the rows.

The influence of a row on the error follows from the number of its pairs in the wrong order. The ranges of
scores and of labels count the pairs of each row, as they count all pairs in `one_ranking`, and send the
numbers to the part that the row came from. There, those of several models meet.

Cost beside that of `one_ranking`: an exchange of 24 bytes per row and model, 48 if there are many distinct
labels, and sums of powers in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from rankwise.core.checks import as_labels, as_vector
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.row_parts import RowParts
from rankwise.losses.pair_sums import partner_sums
from rankwise.metrics.intervals import SummedEstimate, sums_by_row
from rankwise.metrics.one_ranking import SortedRanking, range_of, split
from rankwise.preferences import NoPairsError, Preferences


def error_estimates(rankings: Sequence[SortedRanking], starts: IntArray) -> list[SummedEstimate]:
    """Return the ranking errors of several scores of the same rows, as `error_estimate` does in memory.

    The rankings have numbers of rows, and `starts` has the first number of each part. Equal scores count one
    half.
    """
    first = rankings[0]
    n_rows, n_pairs = first.n_rows, first.counts.label_pairs
    if not n_pairs:
        raise NoPairsError("There is nothing to compare: all labels are equal.")
    errors = np.array([(one.counts.wrong + one.counts.wrong_or_tied) / 2 / n_pairs for one in rankings])
    sizes = class_sizes(first)
    parts = first.parts.chosen(1)
    for ranking in rankings:
        parts = parts.beside(pairs_by_row(ranking, starts))
    border = first.largest_label if len(sizes) == 2 else None
    powers = sum(parts.map(powers_of_part, errors, n_pairs, border))
    n_trials = int(sizes.min()) if len(sizes) == 2 else n_rows // 2
    return [
        SummedEstimate(
            float(error), np.empty(0), n_trials=n_trials, sizes=sizes, powers=powers, place=(k, -1)
        )
        for k, error in enumerate(errors)
    ]


def error_estimate_of_parts(parts: RowParts) -> SummedEstimate:
    """Return the ranking error of one ranking; the columns of the parts are scores and labels."""
    checked = parts.transformed(checked_columns)
    if checked is None:
        raise ValueError("y is empty; it must have at least one row.")
    numbered, starts = checked.numbered()
    return error_estimates([SortedRanking(numbered)], starts)[0]


def checked_columns(scores: Any, y: Any) -> tuple[FloatArray, FloatArray]:
    """Return the scores and labels of a part as arrays."""
    labels = as_labels(y, "y")
    return as_vector(scores, "scores", len(labels)), labels


def class_sizes(ranking: SortedRanking) -> FloatArray:
    """Return the sizes of the samples: those of two classes of labels, or the number of rows."""
    if ranking.has_single_labels and ranking.grid.shape[1] == 2:
        return ranking.grid.sum(axis=0).astype(np.float64)
    return np.array([float(ranking.n_rows)])


def pairs_by_row(ranking: SortedRanking, starts: IntArray) -> RowParts:
    """Return for each row, in its own part, the number of its pairs in the wrong order, and of all.

    Pairs with equal scores count one half of a pair in the wrong order.
    """
    borders = ranking.score_borders, ranking.label_borders
    other_labels = ranking.n_rows - ranking.grid.sum(axis=0)
    tables = crossing_pairs_of_cells(ranking.grid), other_labels
    found = ranking.by_score.regrouped(split_pairs_of_scores, len(starts), *borders, *tables, starts)
    if not ranking.has_single_labels:
        found = found.beside(ranking.by_label.regrouped(split_pairs_of_labels, len(starts), starts))
    summed = found.transformed(sums_in_order)
    assert summed is not None
    return summed


def crossing_pairs_of_cells(grid: IntArray) -> IntArray:
    """Return the number of misordered pairs, in other rows and columns of a grid, of a row in each cell.

    The rows of the grid are ranges of scores, its columns ranges of labels, both in ascending order.

    Examples
    --------
    >>> crossing_pairs_of_cells(np.array([[0, 2], [3, 1]]))
    array([[0, 3],
           [2, 0]])
    """
    before = np.zeros((grid.shape[0] + 1, grid.shape[1] + 1), dtype=np.int64)
    before[1:, 1:] = np.cumsum(np.cumsum(grid, axis=0), axis=1)
    lower_and_higher = before[:-1, -1:] - before[:-1, 1:]  # of lower scores and higher labels
    higher_and_lower = before[-1:, :-1] - before[1:, :-1]
    return lower_and_higher + higher_and_lower


def split_pairs_of_scores(
    scores: FloatArray,
    labels: FloatArray,
    numbers: IntArray,
    score_borders: FloatArray,
    label_borders: FloatArray,
    crossing: IntArray,
    other_labels: IntArray,
    starts: IntArray,
) -> list[tuple[Any, ...]]:
    """Count the pairs of each row of a range of scores with all but the others of its range of labels."""
    cell = range_of(labels, label_borders)
    wrong = misordered_by_row(labels, scores) + crossing[range_of(scores[:1], score_borders)[0], cell]
    return split_home(numbers, wrong, other_labels[cell].astype(np.float64), starts)


def split_pairs_of_labels(
    places: IntArray, labels: FloatArray, numbers: IntArray, starts: IntArray
) -> list[tuple[Any, ...]]:
    """Count the pairs of each row of a range of labels with the rows of this range in others of scores."""
    _, label, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    total = (len(labels) - sizes[label]).astype(np.float64)
    return split_home(numbers, crossing_by_row(labels, places), total, starts)


def split_home(
    numbers: IntArray, wrong: FloatArray, total: FloatArray, starts: IntArray
) -> list[tuple[Any, ...]]:
    """Return the counts of the rows of each part that they came from."""
    home = np.searchsorted(starts, numbers, side="right") - 1
    return split((numbers, wrong, total), home, len(starts))


def misordered_by_row(labels: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the number of pairs of each row in the wrong order, with half of those with equal scores."""
    try:
        return np.asarray(sums_by_row(Preferences.from_scores(labels), scores)[0])
    except NoPairsError:
        return np.zeros(len(labels))


def crossing_by_row(labels: FloatArray, places: IntArray) -> FloatArray:
    """Return the number of pairs of each row whose places are in the wrong order."""
    try:
        sums = partner_sums(Preferences.from_scores(labels), places.astype(np.float64), margin=0.0)
    except NoPairsError:
        return np.zeros(len(labels))
    return np.asarray(sums.up + sums.down)


def sums_in_order(*columns: Any) -> tuple[FloatArray, FloatArray]:
    """Return the sums of counts of the same rows, in the order of the rows.

    The columns are numbers of rows, pairs in the wrong order and all pairs, once or several times.
    """
    orders = [np.argsort(numbers) for numbers in columns[::3]]
    wrong, total = (
        np.sum([count[order] for count, order in zip(counts, orders, strict=True)], axis=0)
        for counts in (columns[1::3], columns[2::3])
    )
    return wrong, total


def powers_of_part(labels: Any, *columns_and_common: Any) -> FloatArray:
    """Return sums of powers of the influences of rows on the differences of the errors of two models.

    They are the second and the fourth powers. The last model has no errors. The columns are the pairs in the
    wrong order and all pairs of each model. If the labels are two classes, `border` is the higher one, and
    there are two sums of each power.
    """
    *columns, errors, n_pairs, border = columns_and_common
    influence = [
        (wrong - error * total) / n_pairs
        for wrong, total, error in zip(columns[::2], columns[1::2], errors, strict=True)
    ]
    sample = (
        np.zeros(len(labels), dtype=int) if border is None else (np.asarray(labels) >= border).astype(int)
    )
    n_samples = 1 if border is None else 2
    influence.append(np.zeros(len(labels)))
    powers = np.empty((len(influence), len(influence), 2, n_samples))
    for (a, first), (b, second) in product(enumerate(influence), repeat=2):
        for k, power in enumerate((2, 4)):
            powers[a, b, k] = np.bincount(sample, (first - second) ** power, n_samples)
    return powers
