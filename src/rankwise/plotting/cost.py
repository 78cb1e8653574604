"""How the time of a fit grows with the number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from rankwise.core.checks import as_indices
from rankwise.plotting._axes import new_axes, tidy


class CostDisplay:
    """Seconds against size on logarithmic axes, a line for each method; its slope is the order of growth.

    Parameters
    ----------
    times : dict of name to (sizes, seconds)

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : dict of name to matplotlib Line2D
    slopes_ : dict of name to float
        The slope of the line of least squares: 1 is time in proportion to size, 2 to its square.

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
        """Time fits of copies of an estimator to the first rows of the data; the shortest time counts.

        Parameters
        ----------
        estimator : estimator
            It is copied and need not be fitted.
        X, y, qid :
            Arrays of at least as many rows as the largest size.
        sizes : sequence of int
        repeats : int
            Fits for each size.
        name : str, optional
            The class of the estimator by default.
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Of matplotlib's plot.
        """
        counts = as_indices(sizes, "sizes", X.shape[0] + 1)
        seconds = []
        for size in counts.tolist():
            more = {} if qid is None else {"qid": np.asarray(qid)[:size]}
            seconds.append(min(_seconds(clone(estimator), X[:size], y[:size], more) for _ in range(repeats)))
        return cls(times={name or type(estimator).__name__: (counts, seconds)}).plot(ax, **options)

    def plot(self, ax: Any = None, **options: Any) -> CostDisplay:
        """Draw into `ax`, or a new figure; `options` go to matplotlib's plot.

        Returns
        -------
        display : CostDisplay
        """
        self.ax_ = new_axes(self) if ax is None else ax
        self.figure_ = self.ax_.figure
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
