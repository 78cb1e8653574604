"""Why one row is above another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.evaluation.weights import largest_parts, pair_parts
from rankwise.plotting._axes import new_axes
from rankwise.plotting.weights import draw_bars


class PairExplanationDisplay:
    """Each feature's part in the difference of two scores, the largest on top.

    Parameters
    ----------
    parts : array of shape (n_features,)
        They add up to the difference of the scores.
    names : sequence of n_features str
    values : pair of arrays of shape (n_features,), optional
        The features of both rows, which stand beside their names.

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
    >>> patients = load_diabetes_ranking()
    >>> X, names = patients.data, patients.feature_names
    >>> model = RankSVM().fit(X, patients.target)
    >>> PairExplanationDisplay.from_estimator(model, X[0], X[1], feature_names=names)  # doctest: +SKIP
    """

    def __init__(
        self, *, parts: ArrayLike, names: Sequence[str], values: tuple[ArrayLike, ArrayLike] | None = None
    ) -> None:
        self.parts = np.asarray(parts, dtype=np.float64)
        self.names = list(names)
        self.values = None if values is None else np.asarray(values, dtype=np.float64)

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
        found = pair_parts(estimator, a, b, feature_names)
        if found is None:
            raise ValueError("A pair is explained by a linear model with one output; this model is none.")
        names, parts = found
        return cls(parts=parts, names=names, values=numbers_of(a, b, len(names))).plot(ax, **options)

    def plot(self, ax: Any = None, *, n_features: int = 15, **options: Any) -> PairExplanationDisplay:
        """Draw the largest into `ax`, or a new figure; `options` go to matplotlib's barh.

        Returns
        -------
        display : PairExplanationDisplay
        """
        shown, rest, n_others = largest_parts(self.parts, n_features)
        values, self.shown_ = self.parts[shown], [self.names[k] for k in shown]
        labels = [self._label(int(k)) for k in shown]
        if n_others:
            values = np.append(values, rest)
            self.shown_.append(f"{n_others} other features")
            labels.append(self.shown_[-1])
        self.ax_ = new_axes(self, (6.0, 1.4 + 0.28 * len(self.shown_))) if ax is None else ax
        self.figure_ = self.ax_.figure
        self.bars_ = draw_bars(self.ax_, values, labels, options)
        self.ax_.set(xlabel="part in the difference of the scores")
        self.ax_.set_title(self._title(), fontsize="medium", loc="left")
        return self

    def _title(self) -> str:
        """Return which row is above, by how much, and what the numbers behind the names are."""
        difference = self.parts.sum()
        told = f"a is {'below' if difference < 0 else 'above'} b by {abs(difference):.4g}"
        return told if self.values is None else f"{told} (beside the names: values in a and in b)"

    def _label(self, k: int) -> str:
        """Name a feature, with its values in both rows where they are known."""
        if self.values is None:
            return self.names[k]
        return f"{self.names[k]}: {self.values[0, k]:.3g} and {self.values[1, k]:.3g}"


def numbers_of(a: Any, b: Any, n_features: int) -> tuple[Any, Any] | None:
    """Return two rows, sparse, frames or arrays, as arrays of that many numbers; None where they are not."""
    try:
        first, second = (
            np.ravel(row.toarray() if hasattr(row, "toarray") else row).astype(np.float64) for row in (a, b)
        )
    except (TypeError, ValueError):
        return None
    return (first, second) if len(first) == n_features else None
