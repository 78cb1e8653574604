"""The contributions of the features to the difference of two scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.text import plural
from rankwise.estimators.weights import largest_parts, pair_errors, pair_parts
from rankwise.report.axes import Display
from rankwise.report.marks import Picture
from rankwise.report.weights_display import bar_picture

if TYPE_CHECKING:
    from rankwise.evaluation.inference import Inference


@dataclass(eq=False)
class PairExplanationDisplay(Display):
    """The contribution of each feature to the difference of two scores, the largest on top.

    Parameters
    ----------
    parts : array of shape (n_features,)
        The contributions, which sum to the difference of the scores.
    names : sequence of n_features str
        The names of the features.
    values : pair of arrays of shape (n_features,), optional
        The features of both rows, written beside their names.
    half_widths : array of shape (n_features,), optional
        Half the length of the interval of each contribution.
    interval : (low, high), optional
        The interval of the difference. If it contains zero, the pair is not sure: the bars are paler, and the
        title says so.
    level : float
        The confidence level of the intervals.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.report.pair_explanation_display import PairExplanationDisplay
    >>> patients = load_diabetes_ranking()
    >>> X, names = patients.data, patients.feature_names
    >>> model = RankSVM().fit(X, patients.target)
    >>> PairExplanationDisplay.from_estimator(model, X[0], X[1], feature_names=names)  # doctest: +SKIP
    >>> found = model.inference(X, patients.target)
    >>> PairExplanationDisplay.from_estimator(model, X[0], X[1], inference=found)  # doctest: +SKIP
    """

    parts: ArrayLike
    names: Sequence[str]
    values: tuple[ArrayLike, ArrayLike] | None = None
    half_widths: ArrayLike | None = None
    interval: tuple[float, float] | None = None
    level: float = 0.95

    @classmethod
    def from_estimator(
        cls, estimator: Any, a: Any, b: Any, *, inference: Inference | None = None, level: float = 0.95,
        feature_names: Sequence[str] | None = None, ax: Any = None, **options: Any,
    ) -> PairExplanationDisplay:  # fmt: skip
        """Draw the contributions to f(a) - f(b) of a linear model, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : fitted estimator with `coef_`, or Pipeline that ends in one
        a, b : rows of n_features numbers, sparse rows, or frames of one row
        inference : Inference, optional
            From `model.inference` or `rankwise.inference`, for intervals of the difference and of its parts.
        level : float
            The confidence level of the intervals.
        feature_names : sequence of str, optional
            By default those of the frame or of the fit.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`.
        """
        explained = pair_parts(estimator, a, b, feature_names)
        if explained is None:
            raise ValueError(
                "estimator must have a score that is a sum over features: a linear model, trees or curves."
            )
        names, parts = explained
        display = cls(parts, names, numbers_of(a, b, len(names)), level=level)
        if inference is not None:
            errors = pair_errors(estimator, a, b, inference, level)
            display.interval = float(errors.difference.low[0]), float(errors.difference.high[0])
            display.half_widths = inference.quantile(level).max() * errors.parts
        return display.plot(ax, **options)

    def picture(self, n_features: int = 15) -> Picture:
        """Return the largest contributions as marks, and the sum of the others."""
        parts = np.asarray(self.parts, dtype=np.float64)
        shown, rest, n_others = largest_parts(parts, n_features)
        names, values, ends = [self._label(int(k)) for k in shown], parts[shown], None
        if self.half_widths is not None:
            half = np.asarray(self.half_widths)[shown]
            ends = values - half, values + half
        if n_others:
            names, values = [*names, plural(n_others, "other feature")], np.append(values, rest)
        return bar_picture(
            "Contributions to the difference of two scores",
            names,
            values,
            "contribution to the difference of the scores",
            ends=ends,
            is_pale=not self.is_sure,
            title=self._title(float(parts.sum())),
        )

    @property
    def is_sure(self) -> bool:
        """Whether the interval of the difference excludes zero; true without an interval."""
        return self.interval is None or not self.interval[0] <= 0 <= self.interval[1]

    def _title(self, difference: float) -> str:
        """State which row is above and by how much, and explain the numbers beside the names."""
        order = f"a is {'below' if difference < 0 else 'above'} b by {abs(difference):.4g}"
        if self.interval is not None:
            low, high = sorted(-end for end in self.interval) if difference < 0 else self.interval
            verdict = "sure" if self.is_sure else "not sure"
            order += f": {verdict}\n{100 * self.level:g}% interval {low:.4g} to {high:.4g}"
        return order if self.values is None else f"{order} (beside the names: values in a and in b)"

    def _label(self, k: int) -> str:
        """Return the name of a feature, with its values in both rows if they are known."""
        if self.values is None:
            return self.names[k]
        first, second = (float(np.asarray(row)[k]) for row in self.values)
        return f"{self.names[k]}: {first:.3g} and {second:.3g}"


def numbers_of(a: Any, b: Any, n_features: int) -> tuple[Any, Any] | None:
    """Return two rows, sparse, frames or arrays, as arrays of n_features numbers; None if they are not."""
    try:
        first, second = (
            np.ravel(row.toarray() if hasattr(row, "toarray") else row).astype(np.float64) for row in (a, b)
        )
    except (TypeError, ValueError):
        return None
    return (first, second) if len(first) == n_features else None
