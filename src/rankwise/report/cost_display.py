"""The time of a fit by the number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankwise.core.checks import as_indices
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Dots, Line, Mark, Picture


@dataclass(eq=False)
class CostDisplay(Display):
    """Seconds by number of rows on logarithmic axes, one line per method; its slope is the order of growth.

    Parameters
    ----------
    times : dict of name to (sizes, seconds)
        The seconds of each method by the number of rows.

    Examples
    --------
    >>> from rankwise.report.cost_display import CostDisplay
    >>> times = {"merge": ([1000, 2000], [0.01, 0.021]), "all pairs": ([1000, 2000], [0.1, 0.4])}
    >>> display = CostDisplay(times=times).plot()  # doctest: +SKIP
    """

    times: Mapping[str, tuple[ArrayLike, ArrayLike]]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, sizes: Sequence[int], *, qid: ArrayLike | None = None,
        repeats: int = 3, name: str | None = None, ax: Any = None, **options: Any,
    ) -> CostDisplay:  # fmt: skip
        """Time fits of copies of an estimator to the first rows of the data, and take the shortest time.

        Parameters
        ----------
        estimator : estimator
            Copied for each fit; it need not be fitted.
        X, y, qid :
            Arrays with at least max(sizes) rows.
        sizes : sequence of int
        repeats : int
            The number of fits per size.
        name : str, optional
            By default the class of the estimator.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of `plot`.
        """
        counts = as_indices(sizes, "sizes", X.shape[0] + 1)
        seconds = []
        for size in counts.tolist():
            more = {} if qid is None else {"qid": np.asarray(qid)[:size]}
            seconds.append(min(_seconds(clone(estimator), X[:size], y[:size], more) for _ in range(repeats)))
        return cls({name or type(estimator).__name__: (counts, seconds)}).plot(ax, **options)

    @property
    def slopes(self) -> dict[str, float]:
        """The slope of the least-squares line of each method: 1 is linear time, 2 quadratic time."""
        return {
            name: float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
            if len(np.unique(sizes)) > 1
            else float("nan")
            for name, (sizes, seconds) in self.times.items()
        }

    def picture(self) -> Picture:
        """Return a line per method as marks."""
        slopes, marks = self.slopes, list[Mark]()
        for style, (name, (sizes, seconds)) in enumerate(self.times.items()):
            slope = f", slope {slopes[name]:.2f}" if np.isfinite(slopes[name]) else ""
            marks += [Line(sizes, seconds, style, name + slope), Dots(sizes, seconds, style)]
        axes = Axis("rows", is_log=True), Axis("seconds", is_log=True)
        return Picture(f"Seconds by rows of {', '.join(self.times)}", marks, *axes)


def _seconds(model: Any, X: Any, y: Any, more: dict[str, Any]) -> float:
    start = perf_counter()
    model.fit(X, y, **more)
    return perf_counter() - start
