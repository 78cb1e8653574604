"""How the gap to the optimum falls while a model is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise._checks import check_choice
from rankwise._pipeline import last_step
from rankwise.plotting._axes import BLUE, new_axes, tidy


class ConvergenceDisplay:
    """The certified gap over time or iterations, on a logarithmic axis.

    Parameters
    ----------
    gap, seconds : arrays of shape (n_iterations,)
        As in the `history_` of an estimator.
    name : str, optional
        Of the line, for a legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.plotting import ConvergenceDisplay
    >>> model = RankSVM().fit(*load_diabetes_ranking(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(model)  # doctest: +SKIP
    """

    def __init__(self, *, gap: ArrayLike, seconds: ArrayLike, name: str | None = None) -> None:
        self.gap = np.asarray(gap, dtype=np.float64)
        self.seconds = np.asarray(seconds, dtype=np.float64)
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: str = "seconds", name: str | None = None, ax: Any = None, **options: Any
    ) -> ConvergenceDisplay:
        """Draw the fit of an estimator, or of the last step of a pipeline.

        Parameters
        ----------
        estimator : fitted estimator with `history_`, or Pipeline
        x : "seconds" or "iterations"
        name : str, optional
            The class of the estimator by default.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Of matplotlib's plot.
        """
        model = last_step(estimator)
        title = type(model).__name__
        history = getattr(model, "history_", None)
        if history is None or np.ndim(history["gap"]) != 1 or len(history["gap"]) == 0:
            raise ValueError(f"{title} has no history of iterations: it is not fitted, or has a closed form.")
        display = cls(gap=history["gap"], seconds=history["seconds"], name=name or title)
        return display.plot(ax, x=x, **options)

    def plot(self, ax: Any = None, *, x: str = "seconds", **options: Any) -> ConvergenceDisplay:
        """Draw into `ax`, or a new figure; `options` go to matplotlib's plot.

        Returns
        -------
        display : ConvergenceDisplay
        """
        check_choice(x, "x", ("seconds", "iterations"))
        fresh = ax is None
        self.ax_ = new_axes(self) if fresh else ax
        self.figure_ = self.ax_.figure
        across = self.seconds if x == "seconds" else np.arange(1, len(self.gap) + 1)
        # An infinite gap, or one that rounding took to 0, has no place on a logarithmic axis.
        gap = np.where(np.isfinite(self.gap) & (self.gap > 0), self.gap, np.nan)
        settings = {"marker": "o", "markersize": 3, "label": self.name} | ({"color": BLUE} if fresh else {})
        (self.line_,) = self.ax_.plot(across, gap, **(settings | options))
        self.ax_.set(yscale="log", xlabel=x, ylabel="gap to the optimum, at most")
        tidy(self.ax_)
        return self


def plot_convergence(estimator: Any, *, ax: Any = None, **options: Any) -> ConvergenceDisplay:
    """Draw the gap of a fit; `ConvergenceDisplay.from_estimator` as a function."""
    return ConvergenceDisplay.from_estimator(estimator, ax=ax, **options)
