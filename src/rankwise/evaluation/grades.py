"""Agreement of predicted with given grades: accuracy, absolute error, quadratic kappa and confusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array, as_codes, declared_order
from rankwise.core.text import plural, table
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.data import class_numbers
from rankwise.evaluation.intervals import Estimate, mean_estimate

# The names for display, and the bounds of the values; that of the absolute error depends on the grades.
NAMES = {
    "accuracy": "Accuracy",
    "absolute_error": "Mean absolute error",
    "quadratic_kappa": "Quadratic kappa",
}


@dataclass(frozen=True, repr=False)
class GradeAgreement:
    """The result of `grade_agreement`. It prints as two tables.

    Attributes
    ----------
    accuracy, absolute_error, quadratic_kappa : float
        The fraction of rows with the right grade, the mean number of grades between prediction and label, and
        Cohen's kappa with squared distances as weights: 0 for predictions that are independent of the labels,
        1 for right ones, NaN if all labels and predictions are the same grade.
    intervals : dict of name to (low, high)
        Their confidence intervals; NaN for a kappa of 1.
    classes : list
        The grades from the lowest to the highest.
    confusion : array of int of shape (n_classes, n_classes)
        The number of rows by given (row) and predicted (column) grade.
    confidence : float
    """

    accuracy: float
    absolute_error: float
    quadratic_kappa: float
    intervals: dict[str, tuple[float, float]]
    classes: list[Any]
    confusion: IntArray
    confidence: float = field(default=CONFIDENCE)

    def as_dict(self) -> dict[str, Any]:
        """Return the measures with their intervals, the grades and the numbers of rows, for JSON."""
        measures = {
            name: {
                "value": getattr(self, name),
                "low": self.intervals[name][0],
                "high": self.intervals[name][1],
            }
            for name in NAMES
        }
        return measures | {"classes": self.classes, "confusion": self.confusion}

    def __repr__(self) -> str:
        title = f"{plural(int(self.confusion.sum()), 'row')}, {self.confidence:.0%} intervals"
        return "\n".join([title, *agreement_lines(self)])


def grade_agreement(
    y: Any,
    predicted: Any,
    *,
    categories: Sequence[Any] | None = None,
    cluster: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> GradeAgreement:
    """Compare predicted with given grades, such as those of `OrdinalSVM`.

    Intervals are Wilson's, with the standard error of the infinitesimal jackknife and quantiles of Student's
    t. O(m + K^2) for m rows and K grades.

    Parameters
    ----------
    y, predicted : array of shape (n_rows,)
        The given and the predicted grade of each row.
    categories : sequence, optional
        The grades from the lowest to the highest. By default those of `y` and `predicted`, sorted if they are
        numbers, or in the order of an ordered categorical column `y`.
    cluster : array of shape (n_rows,), optional
        What rows have in common, such as a query or a patient; rows are independent without it.
    confidence : float
        The confidence level of the intervals.

    Returns
    -------
    agreement : GradeAgreement

    Examples
    --------
    >>> from rankwise.evaluation import grade_agreement
    >>> found = grade_agreement([1, 1, 2, 2, 3, 3, 3, 1], [1, 2, 2, 2, 3, 2, 3, 1])
    >>> found.accuracy, found.absolute_error, round(found.quadratic_kappa, 4)
    (0.75, 0.25, 0.8)
    >>> found
    8 rows, 95% intervals
    measure               value    from      to
    Accuracy             0.7500  0.3298  0.9482
    Mean absolute error  0.2500  0.0503  0.8832
    Quadratic kappa      0.8000  0.1735  0.9655
    <BLANKLINE>
    label \\ predicted  1  2  3
    1                  2  1  0
    2                  0  2  0
    3                  0  1  2
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    classes, given, found = _numbered(y, predicted, categories)
    units = None if cluster is None else as_codes(cluster, "cluster", len(given))[1]
    estimates = _estimates(given, found)
    if units is not None:
        estimates = {
            name: one.by_cluster(units) if len(one.influence) else one for name, one in estimates.items()
        }
    largest = max(1.0, len(classes) - 1.0)
    bounds = {"accuracy": (0.0, 1.0), "absolute_error": (0.0, largest), "quadratic_kappa": (-1.0, 1.0)}
    confusion = np.bincount(given * len(classes) + found, minlength=len(classes) ** 2)
    return GradeAgreement(
        **{name: one.value for name, one in estimates.items()},
        intervals={name: one.interval(confidence, bounds[name]) for name, one in estimates.items()},
        classes=classes,
        confusion=confusion.reshape(len(classes), -1),
        confidence=confidence,
    )


def _numbered(
    y: Any, predicted: Any, categories: Sequence[Any] | None
) -> tuple[list[Any], IntArray, IntArray]:
    """Return the grades in their order, and the number of the given and the predicted grade of each row."""
    y, predicted = (one if declared_order(one) else as_array(one) for one in (y, predicted))
    if len(y) == 0:
        raise ValueError("y has no rows.")
    classes = _sorted_grades(y, predicted) if categories is None else list(categories)
    found = class_numbers(predicted, classes, len(y), name="predicted")
    return classes, class_numbers(y, classes), found


def _sorted_grades(y: Any, predicted: Any) -> list[Any]:
    """Return the declared categories of y, or the numbers that occur."""
    if (declared := declared_order(y)) is not None:
        return list(declared)
    columns = [np.ravel(as_array(column)) for column in (y, predicted)]
    if any(column.dtype.kind not in "iufb" for column in columns):
        raise ValueError("y and predicted are not numbers; give the order of the grades by categories=[...].")
    return np.unique(np.concatenate(columns)).tolist()


def _estimates(given: IntArray, found: IntArray) -> dict[str, Estimate]:
    """Return the measures with the influence of each row."""
    apart = (found - given).astype(np.float64)
    return {
        "accuracy": mean_estimate((apart == 0).astype(np.float64)),
        "absolute_error": mean_estimate(np.abs(apart)),
        "quadratic_kappa": _quadratic_kappa(given.astype(np.float64), found.astype(np.float64)),
    }


def _quadratic_kappa(given: FloatArray, found: FloatArray) -> Estimate:
    """Return 1 - D / E, D the mean squared distance, E that of independent draws of labels and predictions.

    E is the mean over all pairs (i, j) of (found_i - given_j)^2, and its derivative by the weight of a row
    has the pairs of the row as the first and as the second.
    """
    n_rows = len(given)
    observed = (found - given) ** 2
    to_given = (found - given.mean()) ** 2 + given.var()
    to_found = (given - found.mean()) ** 2 + found.var()
    chance, mean = float(to_given.mean()), float(observed.mean())
    if chance == 0 or mean == 0:  # undefined, or 1 without a known error
        return Estimate(1.0 if chance else float("nan"), np.empty(0))
    by_row = (observed - mean) / chance - mean * (to_given + to_found - 2 * chance) / chance**2
    return Estimate(1 - mean / chance, -by_row / n_rows)


def agreement_lines(found: GradeAgreement) -> list[str]:
    """Return the measures and the confusion matrix as tables of text."""
    measures = [
        [title, *(f"{value:.4f}" for value in (getattr(found, name), *found.intervals[name]))]
        for name, title in NAMES.items()
    ]
    names = [f"{grade:g}" if isinstance(grade, float) else str(grade) for grade in found.classes]
    counts = [[name, *map(str, row)] for name, row in zip(names, found.confusion.tolist(), strict=True)]
    return [
        *table(["measure", "value", "from", "to"], measures),
        "",
        *table(["label \\ predicted", *names], counts),
    ]
