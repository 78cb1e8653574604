"""The time of a fit by the number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankwise.core.checks import as_indices
from rankwise.plotting._axes import axes_for, tidy


class CostDisplay:
    """Seconds by number of rows on logarithmic axes, one line per method; its slope is the order of growth.

    Parameters
    ----------
    times : dict of name to (sizes, seconds)

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of name to matplotlib Line2D
    slopes_ : dict of name to float
        The slope of the least-squares line: 1 is linear time, 2 quadratic time.

    Examples
    --------
    >>> from rankwise.plotting import CostDisplay
    >>> times = {"merge": ([1000, 2000], [0.01, 0.021]), "all pairs": ([1000, 2000], [0.1, 0.4])}
    >>> display = CostDisplay(times=times).plot()  # doctest: +SKIP
    """

    def __init__(self, *, times: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> None:
        self.times = {
            name: (np.asarray(sizes, dtype=np.float64), np.asarray(seconds, dtype=np.float64))
            for name, (sizes, seconds) in times.items()
        }

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
            Options of matplotlib's plot.
        """
        counts = as_indices(sizes, "sizes", X.shape[0] + 1)
        seconds = []
        for size in counts.tolist():
            more = {} if qid is None else {"qid": np.asarray(qid)[:size]}
            seconds.append(min(_seconds(clone(estimator), X[:size], y[:size], more) for _ in range(repeats)))
        return cls(times={name or type(estimator).__name__: (counts, seconds)}).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> CostDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's plot.

        Returns
        -------
        display : CostDisplay
        """
        self.ax_, self.figure_ = axes_for(self, ax)
        self.lines_, self.slopes_ = {}, {}
        for name, (sizes, seconds) in self.times.items():
            self.slopes_[name] = _slope(sizes, seconds)
            known = np.isfinite(self.slopes_[name])
            label = f"{name}, slope {self.slopes_[name]:.2f}" if known else name
            settings = {"marker": "o", "markersize": 4, "label": label}
            (self.lines_[name],) = self.ax_.plot(sizes, seconds, **(settings | options))
        self.ax_.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
        self.ax_.legend(frameon=False)
        tidy(self.ax_)
        return self


def _seconds(model: Any, X: Any, y: Any, more: dict[str, Any]) -> float:
    start = perf_counter()
    model.fit(X, y, **more)
    return perf_counter() - start


def _slope(sizes: Any, seconds: Any) -> float:
    if len(np.unique(sizes)) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
