"""The weights of a linear model over alpha."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.text import TIMES, plural
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Line, Mark, Picture, Rule

# The number of features that have a colour and a name.
N_NAMED = 6


@dataclass(eq=False)
class WeightPathDisplay(Display):
    """The weights of a path over alpha; with `l1_ratio`, features enter one after the other as alpha falls.

    The first features to enter are named; if none enters later than others, those with the largest weights.

    Parameters
    ----------
    path : CertifiedPath
        The result of `rankwise.model_selection.alpha_path` for a linear model.
    names : sequence of str, optional
        The names of the features; by default those of the fit.
    spread : array of shape (n_features,), optional
        The standard deviations of the features, by which weights are multiplied.

    Examples
    --------
    >>> from rankwise import RankLogistic
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.model_selection import alpha_path
    >>> from rankwise.plotting import WeightPathDisplay
    >>> path = alpha_path(RankLogistic(l1_ratio=0.9), *load_diabetes_ranking(return_X_y=True), n_alphas=30)
    >>> display = WeightPathDisplay(path).plot()  # doctest: +SKIP
    """

    path: Any
    names: Sequence[str] | None = None
    spread: Any = None

    def picture(self, n_named: int = N_NAMED) -> Picture:
        """Return the weights over alpha as marks."""
        path, names = self.path, self.path.feature_names if self.names is None else self.names
        if names is None:
            raise ValueError("path must be that of a linear model; a kernel and curves have other weights.")
        weights = path.coef if self.spread is None else path.coef * np.asarray(self.spread)
        n_steps = np.count_nonzero(weights, axis=0)
        order = np.lexsort((-np.abs(weights[-1]), -n_steps))[: np.count_nonzero(n_steps)]
        named, others = order[:n_named], order[n_named:]
        marks: list[Mark] = [Rule(y=0.0, style="solid")]
        notes = ["others"] + [""] * len(others)
        marks += [
            Line(path.alphas, weights[:, k], "faint", note) for k, note in zip(others, notes, strict=False)
        ]
        marks += [Line(path.alphas, weights[:, k], style, names[k]) for style, k in enumerate(named)]
        label = "weight" if self.spread is None else f"weight {TIMES} standard deviation"
        return Picture(
            f"Weights of {plural(len(order), 'feature')} over alpha, the first: "
            + ", ".join(names[k] for k in named),
            marks,
            Axis("alpha", is_log=True),
            Axis(label),
        )
