"""The weights of a linear model times the standard deviations of the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.evaluation.weights import by_size, weights_of
from rankwise.plotting._axes import axes_for, draw_bars, draw_whiskers

if TYPE_CHECKING:
    from rankwise.uncertainty.inference import Inference


class WeightsDisplay:
    """Weight times standard deviation of each feature: the change of the score per standard deviation.

    Parameters
    ----------
    effects : array of shape (n_features,)
    names : sequence of n_features str
    intervals : array of shape (n_features, 2), optional
        The interval of each effect; bars whose interval contains zero are paler.
    level : float
        The confidence level of the intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
        One bar per feature, the largest first.
    shown_ : list of str
        The names of the bars.
    whiskers_ : matplotlib ErrorbarContainer
        The intervals, if there are any.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.plotting import WeightsDisplay
    >>> patients = load_diabetes_ranking()
    >>> X, names = patients.data, patients.feature_names
    >>> model = RankSVM().fit(X, patients.target)
    >>> display = WeightsDisplay.from_estimator(model, X, feature_names=names)  # doctest: +SKIP
    >>> found = model.inference(X, patients.target)
    >>> display = WeightsDisplay.from_estimator(model, X, inference=found)  # doctest: +SKIP
    """

    def __init__(
        self, *, effects: ArrayLike, names: Sequence[str], intervals: ArrayLike | None = None,
        level: float = 0.95,
    ) -> None:  # fmt: skip
        self.effects = np.asarray(effects, dtype=np.float64)
        self.names = list(names)
        self.intervals = None if intervals is None else np.asarray(intervals, dtype=np.float64)
        self.level = level

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
        display = cls(effects=weights.effect, names=weights.names, intervals=intervals, level=level)
        return display.plot(ax, **options)

    def plot(self, ax: Any = None, *, n_features: int = 15, **options: Any) -> WeightsDisplay:
        """Draw the largest into `ax`, by default a new figure; `options` are those of matplotlib's barh.

        Returns
        -------
        display : WeightsDisplay
        """
        order = by_size(self.effects)[:n_features]
        self.ax_, self.figure_ = axes_for(self, ax, (6.0, 1.2 + 0.28 * len(order)))
        self.shown_ = [self.names[k] for k in order]
        label = "weight × standard deviation"  # noqa: RUF001
        may_be_zero: ArrayLike = False
        if self.intervals is not None:
            low, high = self.intervals[order].T
            may_be_zero = (low <= 0) & (high >= 0)
            label += f", with {100 * self.level:g}% intervals"
            self.whiskers_ = draw_whiskers(self.ax_, low, high)
        self.bars_ = draw_bars(self.ax_, self.effects[order], self.shown_, options, may_be_zero)
        self.ax_.set_xlabel(label)
        if len(order) < len(self.names):
            title = f"the largest {len(order)} of {len(self.names):,} features"
            self.ax_.set_title(title, fontsize="medium", loc="left")
        return self
