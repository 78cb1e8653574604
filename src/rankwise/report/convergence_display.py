"""The gap to the optimum during a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import check_choice
from rankwise.core.pipelines import last_step
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Dots, Line, Mark, Picture

MOST_DOTS = 300


@dataclass(eq=False)
class ConvergenceDisplay(Display):
    """The certified gap over time or iterations, on a logarithmic axis.

    Parameters
    ----------
    gap, seconds : arrays of shape (n_iterations,)
        As in the `history_` of an estimator.
    name : str
        The label of the line in a legend.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.report.convergence_display import ConvergenceDisplay
    >>> model = RankSVM().fit(*load_diabetes_ranking(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(model)  # doctest: +SKIP
    """

    gap: ArrayLike
    seconds: ArrayLike
    name: str = ""

    @classmethod
    def of(cls, model: Any, name: str | None = None) -> ConvergenceDisplay | None:
        """Return the display of a fitted model, None for one without a history of iterations."""
        ranker = last_step(model)
        history = getattr(ranker, "history_", None)
        if history is None or np.ndim(history["gap"]) != 1 or len(history["gap"]) == 0:
            return None
        return cls(history["gap"], history["seconds"], name or type(ranker).__name__)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **options: Any
    ) -> ConvergenceDisplay:
        """Draw the fit of an estimator, or of the last step of a pipeline.

        Parameters
        ----------
        estimator : fitted estimator with `history_`, or Pipeline
        name : str, optional
            By default the class of the estimator.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`, such as x="iterations".
        """
        display = cls.of(estimator, name)
        if display is None:
            title = type(last_step(estimator)).__name__
            raise ValueError(
                f"{title} has no history of iterations: it is not fitted, or its solver is a closed form."
            )
        return display.plot(ax, **options)

    def picture(self, x: str = "seconds") -> Picture:
        """Return the gap by seconds or iterations as marks, where it is finite and positive.

        Rounding can make the last gaps 0.
        """
        check_choice(x, "x", ("seconds", "iterations"))
        gap, seconds = np.asarray(self.gap, dtype=np.float64), np.asarray(self.seconds, dtype=np.float64)
        shown = np.flatnonzero(np.isfinite(gap) & (gap > 0))
        gap, seconds = gap[shown], seconds[shown]
        unit, factor = ("milliseconds", 1000.0) if seconds.max(initial=0.0) < 1 else ("seconds", 1.0)
        across = factor * seconds if x == "seconds" else shown + 1
        marks: list[Mark] = [Line(across, gap, name=self.name)]
        if len(gap) <= MOST_DOTS:
            titles = [
                f"iteration {n}: gap {g:.3g} after {s:.3g} s"
                for n, g, s in zip(shown + 1, gap, seconds, strict=True)
            ]
            marks.append(Dots(across, gap, titles=titles))
        return Picture(
            f"Gap to the optimum in {len(gap)} iterations and {factor * seconds.max(initial=0.0):.3g} {unit}",
            marks,
            Axis(unit, (0.0, None)) if x == "seconds" else Axis(x),
            Axis("certified gap to the optimum", is_log=True),
        )
