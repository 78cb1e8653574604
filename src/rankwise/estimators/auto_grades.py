"""Grades from the scores of a chosen model: boundaries by the scores of rows that were held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.estimators.auto_task import Fold, Task
from rankwise.estimators.thresholds import fit_thresholds, ranks_of
from rankwise.preferences import Preferences

# Labels with more values are measurements rather than grades.
MOST_GRADES = 20


class Grades(NamedTuple):
    """The values of labels, lowest first, and the boundaries between them on the axis of the scores."""

    values: NDArray[Any]
    thresholds: FloatVector

    def of(self, scores: FloatVector) -> NDArray[Any]:
        """Return the grade of each score."""
        return self.values[ranks_of(scores, self.thresholds)]


def have_grades(task: Task) -> bool:
    """Return whether labels are grades. Scores of different queries have no common boundaries."""
    is_labelled = task.qid is None and not isinstance(task.y, Preferences)
    return is_labelled and len(np.unique(task.y)) <= MOST_GRADES


def grades_by(
    folds: Sequence[Fold], scores: Sequence[FloatVector], predict: Callable[[Any], FloatVector]
) -> Grades | None:
    """Return grades by the test rows of folds and their scores, or None if all weigh nothing but one grade.

    The boundaries minimize the mean distance of these rows from their labels. The model of each fold has a
    level and a spread of its own, as losses of pairs leave the level open: they are brought to those of the
    scores of the same rows by the final model, which `predict` returns.
    """
    tests = [fold.test for fold, _ in zip(folds, scores, strict=False)]
    brought = [_brought(part, predict(test.X)) for part, test in zip(scores, tests, strict=True)]
    y = np.concatenate([test.y for test in tests])
    given = [test.sample_weight for test in tests]
    weight = np.ones(len(y)) if given[0] is None else np.concatenate(given)
    values = np.unique(y[weight > 0])
    if len(values) < 2:
        return None
    return Grades(values, fit_thresholds(np.concatenate(brought), y, sample_weight=weight))


def _brought(scores: FloatVector, final: FloatVector) -> FloatVector:
    """Return scores with the mean and the spread of others; equal scores stay equal."""
    spread = float(scores.std())
    factor = float(final.std()) / spread if spread > 0 else 0.0
    return np.asarray((scores - scores.mean()) * factor + final.mean())
