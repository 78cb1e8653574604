"""Rows by utility: one lane per rank, and the thresholds between ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_codes, as_vector
from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.text import plural, short
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.data import class_numbers
from rankwise.evaluation.names import row_words, shortened
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Bars, Dots, Mark, Picture, Rule, Text

DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# Boundaries closer than this fraction of the axis share a label.
NEAR = 0.035
# The height of the jitter within a lane.
LANE = 0.8
MARGIN = 0.04
BINS = 40
GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class UtilityAxis:
    """Rows and thresholds on the axis of utility, and the accuracy per rank.

    Attributes
    ----------
    utility : array of shape (n_rows,)
    rank : array of int of shape (n_rows,)
        The number of each row's class.
    thresholds : array of shape (n_classes - 1,)

    Examples
    --------
    >>> axis = UtilityAxis(np.array([0.0, 1.0, 3.0]), np.array([0, 1, 1]), np.array([2.0]))
    >>> axis.predicted, axis.share(0), axis.share(1)
    (array([0, 0, 1]), 1.0, 0.5)
    """

    utility: FloatArray
    rank: IntArray
    thresholds: FloatArray

    @property
    def limits(self) -> tuple[float, float]:
        """The limits of the axis, with a margin around all rows and thresholds."""
        values = np.concatenate([self.utility, self.thresholds])
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        space = MARGIN * (high - low) or 0.5
        return low - space, high + space

    @property
    def fence(self) -> FloatArray:
        """The limits and the thresholds: rank k is from fence[k] to fence[k + 1]."""
        low, high = self.limits
        return np.concatenate([[low], self.thresholds, [high]])

    @property
    def predicted(self) -> IntArray:
        """The predicted rank of each row."""
        return np.searchsorted(self.thresholds, self.utility)

    def share(self, k: int) -> float:
        """Return the fraction of the rows of rank k that are predicted correctly, NaN without rows."""
        right = self.predicted[self.rank == k] == k
        return float(right.mean()) if len(right) else float("nan")

    def lane(self, k: int, step: int = 1) -> tuple[IntArray, FloatArray]:
        """Return the rows of rank k by increasing utility, and the jitter of each within its lane.

        The jitter grows with the density of rows. A `step` of 10 takes every tenth row only.
        """
        rows = np.flatnonzero(self.rank == k)
        rows = rows[np.argsort(self.utility[rows], kind="stable")][::step]
        values = self.utility[rows]
        counts, edges = np.histogram(values, np.histogram_bin_edges(self.utility, bins=BINS))
        nearby = np.interp(values, (edges[1:] + edges[:-1]) / 2, counts / max(int(counts.max(initial=0)), 4))
        return rows, LANE * nearby * ((np.arange(len(rows)) * GOLDEN) % 1 - 0.5)


@dataclass(eq=False)
class UtilityDisplay(Display):
    """Rows by utility, one lane per rank, with the thresholds between ranks.

    After figure 1 of Herbrich, Graepel and Obermayer (1999). The shaded part of a lane is between the
    thresholds of its rank: rows inside are predicted correctly, and their fraction is written at the end of
    the lane. Within a lane rows are jittered where they are dense. Use `from_estimator` or
    `from_predictions`.

    Parameters
    ----------
    axis : UtilityAxis
        The rows, their ranks and the thresholds.
    classes : sequence of n_classes labels
        Lowest rank first.
    names : sequence of str or int, optional
        The names of the rows, shown on hover; by default their numbers.

    Examples
    --------
    >>> from rankwise import OrdinalSVM
    >>> from rankwise.datasets import make_ordinal
    >>> from rankwise.report.utility_display import UtilityDisplay
    >>> X, y = make_ordinal(100, random_state=0)
    >>> model = OrdinalSVM(1e-4, kernel="poly", degree=2).fit(X, y)
    >>> display = UtilityDisplay.from_estimator(model, X, y)  # doctest: +SKIP
    """

    axis: UtilityAxis
    classes: Sequence[Any]
    names: Sequence[str | int] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any
    ) -> UtilityDisplay:
        """Draw the rows X with labels y by a fitted `OrdinalSVM`, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : OrdinalSVM or Pipeline
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Labels among the classes of the estimator.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`.
        """
        model = last_step(estimator)
        utility = model.utility(before_last_step(estimator, X))
        classes = model.classes_
        return cls.from_predictions(utility, y, model.thresholds_, categories=classes, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        utility: ArrayLike,
        y: Any,
        thresholds: ArrayLike,
        *,
        categories: Sequence[Any] | NDArray[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> UtilityDisplay:
        """Draw rows by their utility, which may be the scores of any ranker.

        Parameters
        ----------
        utility : array of shape (n_rows,)
        y : array of shape (n_rows,)
        thresholds : array of shape (n_classes - 1,)
            Such as those of `fit_thresholds`.
        categories : sequence of n_classes labels, optional
            The labels from the lowest rank to the highest; by default the sorted labels of `y`.
        ax, **options :
            As in `from_estimator`.
        """
        values, limits = as_vector(utility, "utility"), as_vector(thresholds, "thresholds")
        classes = as_codes(y, "y", len(values))[0] if categories is None else np.asarray(categories)
        if len(classes) != len(limits) + 1:
            raise ValueError(
                f"{plural(len(limits), 'threshold')} cannot separate {len(classes)} labels. "
                "Pass the label of each rank, lowest first, as categories=[...]."
            )
        rank = class_numbers(y, classes, len(values))
        return cls(UtilityAxis(values, rank, limits), np.asarray(classes).tolist()).plot(ax, **options)

    def picture(self, step: int = 1) -> Picture:
        """Return a lane per rank as marks, the highest on top.

        Parameters
        ----------
        step : int
            10 draws every tenth row only.
        """
        axis, names = self.axis, [str(label) for label in self.classes]
        n, (low, high) = len(names), axis.limits
        place = np.arange(n)
        # Many rows have smaller dots.
        radius = float(np.clip(45 / np.sqrt(max(len(axis.utility) / step, 1)), 1.2, 2.4))
        lanes = [f"predicted {name}" for name in names]
        marks: list[Mark] = [
            Bars(axis.fence[:-1], axis.fence[1:], place - 0.44, place + 0.44, "lane", titles=lanes)
        ]
        for k in range(n):
            rows, off = axis.lane(k, step)
            titles = [
                f"{row_words(row if self.names is None else self.names[row])}: utility {short(utility)}"
                for row, utility in zip(rows.tolist(), axis.utility[rows].tolist(), strict=True)
            ]
            marks.append(Dots(axis.utility[rows], k + off, k % 2, titles=titles, radius=radius))
        for number, threshold in enumerate(axis.thresholds.tolist(), 1):
            marks.append(Rule(threshold, style="solid", title=f"threshold {number}: {short(threshold)}"))
        marks += [Text(at, n - 0.5, words) for at, words in self._thresholds(high - low)]
        shares = [axis.share(k) for k in range(n)]
        beside = [f"{part:.0%} correct" if part == part else "" for part in shares]
        return Picture(
            f"Rows by utility, in {n} ranks",
            marks,
            Axis("utility", (low, high)),
            Axis("true rank", (-0.5, n - 0.5), names=[shortened(name, 14) for name in names], beside=beside),
            (760, 70 + 48 * n),
        )

    def _thresholds(self, width: float) -> list[tuple[float, str]]:
        """Return the places and the names of the thresholds; close ones share a name."""
        thresholds = self.axis.thresholds
        numbers = np.arange(len(thresholds))
        groups = np.split(numbers, np.flatnonzero(np.diff(thresholds) > NEAR * width) + 1)
        named = []
        for group in groups if len(numbers) else []:
            first, last = (f"θ{str(number + 1).translate(DIGITS)}" for number in (group[0], group[-1]))
            joint = "," if len(group) == 2 else " … "
            name = first if len(group) == 1 else first + joint + last
            named.append((float(thresholds[group].mean()), name))
        return named
