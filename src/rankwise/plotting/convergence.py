"""The gap to the optimum during a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import check_choice
from rankwise.core.pipelines import last_step
from rankwise.figures.convergence import gap_curve, history_of
from rankwise.plotting._axes import BLUE, axes_for, tidy


class ConvergenceDisplay:
    """The certified gap over time or iterations, on a logarithmic axis.

    Parameters
    ----------
    gap, seconds : arrays of shape (n_iterations,)
        As in the `history_` of an estimator.
    name : str, optional
        The label of the line in a legend.

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
            By default the class of the estimator.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of matplotlib's plot.
        """
        title, history = type(last_step(estimator)).__name__, history_of(estimator)
        if history is None:
            raise ValueError(
                f"{title} has no history of iterations: it is not fitted, or its solver is a closed form."
            )
        display = cls(gap=history["gap"], seconds=history["seconds"], name=name or title)
        return display.plot(ax, x=x, **options)

    def plot(self, ax: Any = None, *, x: str = "seconds", **options: Any) -> ConvergenceDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's plot.

        Returns
        -------
        display : ConvergenceDisplay
        """
        check_choice(x, "x", ("seconds", "iterations"))
        fresh = ax is None
        self.ax_, self.figure_ = axes_for(self, ax)
        curve = gap_curve(self.gap, self.seconds)
        across = curve.seconds if x == "seconds" else curve.iterations
        settings = {"marker": "o", "markersize": 3, "label": self.name} | ({"color": BLUE} if fresh else {})
        (self.line_,) = self.ax_.plot(across, curve.gap, **(settings | options))
        self.ax_.set(yscale="log", xlabel=x, ylabel="certified gap to the optimum")
        tidy(self.ax_)
        return self
