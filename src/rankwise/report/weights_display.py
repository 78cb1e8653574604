"""The weights of a linear model times the standard deviations of the features, and other bars per feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.text import TIMES
from rankwise.core.types import FloatArray, IntArray
from rankwise.estimators.weights import by_size, encoder_of, weights_of
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Intervals, Mark, Picture, Rule, named_bars, rows_axis

if TYPE_CHECKING:
    from rankwise.evaluation.inference import Inference


def columns_of(model: Any, names: Sequence[str]) -> list[Any] | None:
    """Return the column of a table that each feature is made of by a TableEncoder, None for other models."""
    encoder = encoder_of(model)
    if encoder is None:
        return None
    made = zip(encoder.get_feature_names_out().tolist(), encoder.source_columns_.tolist(), strict=True)
    source = {str(name): place for name, place in made}
    return [source.get(name, name) for name in names]


def together(order: IntArray, columns: Sequence[Any] | None) -> IntArray:
    """Return an order of features in which those of one column follow the first of them.

    Examples
    --------
    >>> together(np.array([3, 0, 2, 1]), ["price", "brand", "price", "brand"]).tolist()
    [3, 1, 0, 2]
    """
    if columns is None:
        return order
    first: dict[Any, int] = {}
    for place, k in enumerate(order.tolist()):
        first.setdefault(columns[k], place)
    return np.array(sorted(order.tolist(), key=lambda k: first[columns[k]]), dtype=np.int64)


def bar_picture(
    name: str,
    names: Sequence[str],
    values: FloatArray,
    label: str,
    *,
    titles: Sequence[str] | None = None,
    ends: tuple[FloatArray, FloatArray] | None = None,
    is_pale: ArrayLike = False,
    title: str = "",
    limits: tuple[float | None, float | None] = (None, None),
) -> Picture:
    """Return named bars from the top down as marks, with the intervals of the first of them."""
    marks: list[Mark] = [named_bars(values, titles, is_pale), Rule(x=0.0, style="solid")]
    if ends is not None:
        marks.append(Intervals(*ends, "solid", titles))
    height = 60 + 22 * len(names) + 18 * len(title.splitlines())
    return Picture(name, marks, Axis(label, limits), rows_axis(names), (560, height), title)


@dataclass(eq=False)
class WeightsDisplay(Display):
    """Weight times standard deviation of each feature: the change of the score per standard deviation.

    Parameters
    ----------
    effects : array of shape (n_features,)
        The weight of each feature, times its spread.
    names : sequence of n_features str
        The names of the features.
    intervals : array of shape (n_features, 2), optional
        The interval of each effect; bars whose interval contains zero are paler.
    level : float
        The confidence level of the intervals.
    label : str
        What the bars are.
    titles : sequence of n_features str, optional
        Shown on hover.
    columns : sequence of length n_features, optional
        The column that each feature is made of; the features of one column are drawn together.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.report.weights_display import WeightsDisplay
    >>> patients = load_diabetes_ranking()
    >>> X, names = patients.data, patients.feature_names
    >>> model = RankSVM().fit(X, patients.target)
    >>> display = WeightsDisplay.from_estimator(model, X, feature_names=names)  # doctest: +SKIP
    >>> found = model.inference(X, patients.target)
    >>> display = WeightsDisplay.from_estimator(model, X, inference=found)  # doctest: +SKIP
    """

    effects: ArrayLike
    names: Sequence[str]
    intervals: ArrayLike | None = None
    level: float = 0.95
    label: str = f"weight {TIMES} standard deviation"
    titles: Sequence[str] | None = None
    columns: Sequence[Any] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, inference: Inference | None = None, level: float = 0.95,
        feature_names: Sequence[str] | None = None, ax: Any = None, **options: Any,
    ) -> WeightsDisplay:  # fmt: skip
        """Draw the weights of a fitted linear model or pipeline; scalers are folded into the weights.

        Parameters
        ----------
        estimator : fitted estimator with `coef_`, or Pipeline that ends in one
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            Rows from which the standard deviations are computed.
        inference : Inference, optional
            From `model.inference` or `rankwise.inference`, for error bars.
        level : float
            The confidence level of the error bars.
        feature_names : sequence of str, optional
            By default those of the frame or of the fit.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`.
        """
        weights = weights_of(estimator, X, feature_names)
        if weights is None:
            raise ValueError("estimator must be a linear model with one output; it has no weights.")
        intervals = weights.with_inference(inference).effect_intervals(level)
        columns = columns_of(estimator, weights.names)
        return cls(weights.effect, weights.names, intervals, level, columns=columns).plot(ax, **options)

    def picture(self, n_features: int = 15, largest: float | None = None) -> Picture:
        """Return the largest effects as marks, on an axis that ends at `largest` if given."""
        effects = np.asarray(self.effects, dtype=np.float64)
        order = by_size(effects)[:n_features]
        order = together(order[effects[order] != 0], self.columns)
        label, ends, may_be_zero = self.label, None, np.zeros(len(order), dtype=bool)
        if self.intervals is not None:
            low, high = np.asarray(self.intervals, dtype=np.float64)[order].T
            ends, may_be_zero = (low, high), (low <= 0) & (high >= 0)
            label += f", with {100 * self.level:g}% intervals"
        is_part = len(order) < len(self.names)
        return bar_picture(
            f"{self.label} of {len(order)} features, the largest on top",
            [self.names[k] for k in order],
            effects[order],
            label,
            titles=None if self.titles is None else [self.titles[k] for k in order],
            ends=ends,
            is_pale=may_be_zero,
            title=f"the largest {len(order)} of {len(self.names):,} features" if is_part else "",
            limits=(None, largest),
        )
