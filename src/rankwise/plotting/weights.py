"""The weights of a linear model, at the scale of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.evaluation.weights import by_size, weights_of
from rankwise.plotting._axes import BLUE, ORANGE, new_axes, tidy


class WeightsDisplay:
    """By how much a score moves when a feature moves by its spread: weight times standard deviation.

    Parameters
    ----------
    effects : array of shape (n_features,)
    names : sequence of n_features str

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
        The features that are drawn, the largest first.
    shown_ : list of str
        Their names.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.plotting import WeightsDisplay
    >>> patients = load_diabetes_ranking()
    >>> X, names = patients.data, patients.feature_names
    >>> model = RankSVM().fit(X, patients.target)
    >>> display = WeightsDisplay.from_estimator(model, X, feature_names=names)  # doctest: +SKIP
    """

    def __init__(self, *, effects: ArrayLike, names: Sequence[str]) -> None:
        self.effects = np.asarray(effects, dtype=np.float64)
        self.names = list(names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, feature_names: Sequence[str] | None = None, ax: Any = None,
        **options: Any,
    ) -> WeightsDisplay:  # fmt: skip
        """Draw the weights of a fitted linear model or pipeline; scalers are folded into the weights.

        Parameters
        ----------
        estimator : fitted estimator with `coef_`, or Pipeline that ends in one
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            Gives the spread of the features.
        feature_names : sequence of str, optional
            Those of the frame or of the fit by default.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            As in `plot`.
        """
        weights = weights_of(estimator, X, feature_names)
        if weights is None:
            raise ValueError("The weights of a linear model with one output are drawn; this model has none.")
        return cls(effects=weights.effect, names=weights.names).plot(ax, **options)

    def plot(self, ax: Any = None, *, n_features: int = 15, **options: Any) -> WeightsDisplay:
        """Draw the largest into `ax`, or a new figure; `options` go to matplotlib's barh.

        Returns
        -------
        display : WeightsDisplay
        """
        order = by_size(self.effects)[:n_features]
        self.ax_ = new_axes(self, (6.0, 1.2 + 0.28 * len(order))) if ax is None else ax
        self.figure_ = self.ax_.figure
        self.shown_ = [self.names[k] for k in order]
        self.bars_ = draw_bars(self.ax_, self.effects[order], self.shown_, options)
        self.ax_.set_xlabel("weight × spread of the feature")  # noqa: RUF001
        if len(order) < len(self.names):
            told = f"the largest {len(order)} of {len(self.names):,} features"
            self.ax_.set_title(told, fontsize="medium", loc="left")
        return self


def draw_bars(ax: Any, values: Any, names: list[str], options: dict[str, Any]) -> Any:
    """Draw bars from the top down, to the right where they raise a score, to the left where they lower it."""
    colours = [BLUE if value >= 0 else ORANGE for value in values]
    bars = ax.barh(np.arange(len(names)), values, **({"color": colours, "height": 0.72} | options))
    # A dollar sign in a name begins no formula.
    ax.set_yticks(np.arange(len(names)), [name.replace("$", r"\$") for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.axvline(0, color="0.3", linewidth=0.8)
    tidy(ax, "x")
    ax.tick_params(axis="y", length=0)
    return bars
