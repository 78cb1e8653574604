"""Why one row is above another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from rankwise._checks import as_array
from rankwise.plotting._axes import new_axes
from rankwise.plotting.weights import draw_bars
from rankwise.report.weights import weights_of


class PairExplanationDisplay:
    """Each feature's part in the difference of two scores, the largest on top.

    Parameters
    ----------
    parts : array of shape (n_features,)
        They add up to the difference of the scores.
    names : sequence of n_features str

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : matplotlib BarContainer
    shown_ : list of str
        The names of the bars; the last may be that of all other features together.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.plotting import PairExplanationDisplay
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVM().fit(X, y)
    >>> display = PairExplanationDisplay.from_estimator(model, X[0], X[1])  # doctest: +SKIP
    """

    def __init__(self, *, parts: ArrayLike, names: Sequence[str]) -> None:
        self.parts = np.asarray(parts, dtype=np.float64)
        self.names = list(names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, a: Any, b: Any, *, feature_names: Sequence[str] | None = None, ax: Any = None,
        **options: Any,
    ) -> PairExplanationDisplay:  # fmt: skip
        """Draw why a fitted linear model, or a pipeline that ends in one, puts row a above row b.

        Parameters
        ----------
        estimator : fitted estimator with `coef_`, or Pipeline that ends in one
        a, b : rows of n_features numbers, sparse rows, or frames of one row
        feature_names : sequence of str, optional
            Those of the frame or of the fit by default.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            As in `plot`.
        """
        first, second = (row if hasattr(row, "columns") else _one_row(row) for row in (a, b))
        found = [weights_of(estimator, row, feature_names) for row in (first, second)]
        if found[0] is None or found[1] is None:
            raise ValueError("A pair is explained by a linear model with one output; this model is none.")
        apart = found[0].rows - found[1].rows
        apart = np.asarray(apart.toarray() if sp.issparse(apart) else apart, dtype=np.float64).ravel()
        return cls(parts=found[0].weights * apart, names=found[0].names).plot(ax, **options)

    def plot(self, ax: Any = None, *, n_features: int = 15, **options: Any) -> PairExplanationDisplay:
        """Draw the largest into `ax`, or a new figure; `options` go to matplotlib's barh.

        Returns
        -------
        display : PairExplanationDisplay
        """
        order = np.argsort(-np.abs(self.parts), kind="stable")
        order = order[self.parts[order] != 0]
        shown, others = order[:n_features], order[n_features:]
        values, self.shown_ = self.parts[shown], [self.names[k] for k in shown]
        if len(others):
            values = np.append(values, self.parts[others].sum())
            self.shown_.append(f"{len(others)} other features")
        self.ax_ = new_axes(self, (6.0, 1.4 + 0.28 * len(self.shown_))) if ax is None else ax
        self.figure_ = self.ax_.figure
        self.bars_ = draw_bars(self.ax_, values, self.shown_, options)
        self.ax_.set(xlabel="part in the difference of the scores")
        self.ax_.set_title(f"difference of the scores: {self.parts.sum():.4g}", fontsize="medium", loc="left")
        return self


def _one_row(row: Any) -> Any:
    if sp.issparse(row):
        return row.tocsr()
    return np.atleast_2d(as_array(row))


def plot_pair(estimator: Any, a: Any, b: Any, *, ax: Any = None, **options: Any) -> PairExplanationDisplay:
    """Draw why a is above b; `PairExplanationDisplay.from_estimator` as a function."""
    return PairExplanationDisplay.from_estimator(estimator, a, b, ax=ax, **options)
