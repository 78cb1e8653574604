"""The rows on the axis of a utility, with the boundaries between ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._checks import as_array, as_codes, as_vector

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Share of a lane that the rows of its rank may fill.
LANE = 0.8
GOLDEN = (np.sqrt(5) - 1) / 2


class UtilityDisplay:
    """Rows on the axis of their utility, a lane for each rank, with the boundaries between ranks.

    After figure 1 of Herbrich, Graepel and Obermayer (1999). The shaded part of a lane lies between the
    boundaries of its rank: rows inside are predicted right, and their share stands at the end of the lane.
    Within a lane the rows spread where they are dense. Use `from_estimator` or `from_predictions`.

    Parameters
    ----------
    utility : array of shape (n_rows,)
    rank : array of int of shape (n_rows,)
        The number of each row's class.
    thresholds : array of shape (n_classes - 1,)
    classes : array of shape (n_classes,)
        The labels, lowest rank first.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : list of matplotlib PathCollection
        One for each rank.
    boundaries_ : matplotlib LineCollection

    Examples
    --------
    >>> from rankwise import OrdinalSVM
    >>> from rankwise.datasets import make_ordinal
    >>> from rankwise.plotting import UtilityDisplay
    >>> X, y = make_ordinal(100, random_state=0)
    >>> model = OrdinalSVM(1e-4, kernel="poly", degree=2).fit(X, y)
    >>> display = UtilityDisplay.from_estimator(model, X, y)  # doctest: +SKIP
    """

    def __init__(
        self, *, utility: ArrayLike, rank: ArrayLike, thresholds: ArrayLike, classes: ArrayLike
    ) -> None:
        self.utility = as_vector(utility, "utility")
        self.rank = np.asarray(rank, dtype=np.int64)
        self.thresholds = as_vector(thresholds, "thresholds")
        self.classes = np.asarray(classes)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> UtilityDisplay:
        """Draw the rows X with labels y by a fitted `OrdinalSVM`, or a pipeline that ends in one.

        Parameters
        ----------
        estimator : OrdinalSVM or Pipeline
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Labels that the estimator knows.
        ax : matplotlib Axes, optional
            A new figure by default.
        """
        if hasattr(estimator, "steps"):
            X, estimator = estimator[:-1].transform(X), estimator[-1]
        return cls.from_predictions(
            estimator.utility(X), y, estimator.thresholds_, categories=estimator.classes_, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        utility: ArrayLike,
        y: Any,
        thresholds: ArrayLike,
        *,
        categories: Sequence[Any] | NDArray[Any] | None = None,
        ax: Any = None,
    ) -> UtilityDisplay:
        """Draw rows by their utility, for the scores of any ranker.

        Parameters
        ----------
        utility : array of shape (n_rows,)
        y : array of shape (n_rows,)
        thresholds : array of shape (n_classes - 1,)
            For instance from `fit_thresholds`.
        categories : sequence of n_classes labels, optional
            The labels from the lowest rank to the highest; the sorted labels of `y` by default.
        ax : matplotlib Axes, optional
        """
        distinct, codes = as_codes(y, "y", len(as_vector(utility, "utility")))
        classes = distinct if categories is None else np.asarray(categories)
        n_classes = len(as_vector(thresholds, "thresholds")) + 1
        if len(classes) != n_classes:
            raise ValueError(
                f"{n_classes - 1} thresholds part {n_classes} ranks, but there are {len(classes)} labels; "
                "give the label of each rank, lowest first, with categories=[...]."
            )
        rank = _numbers(distinct, classes)[codes]
        return cls(utility=utility, rank=rank, thresholds=thresholds, classes=classes).plot(ax=ax)

    def plot(self, ax: Any = None, **options: Any) -> UtilityDisplay:
        """Draw into `ax`, or a new figure; `options` go to matplotlib's scatter.

        Returns
        -------
        display : UtilityDisplay
        """
        ax = _new_axes(len(self.classes)) if ax is None else ax
        self.ax_, self.figure_ = ax, ax.figure
        colours = _colours(len(self.classes))
        limits = self._limits()
        self._draw_lanes(colours, limits)
        self.points_ = [self._draw_rank(k, colours[k], options) for k in range(len(self.classes))]
        self._draw_boundaries(limits)
        self._label_axes(limits)
        return self

    def _limits(self) -> tuple[float, float]:
        """Show all rows and boundaries."""
        values = np.concatenate([self.utility, self.thresholds])
        low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
        space = 0.04 * (high - low) or 0.5
        return low - space, high + space

    def _draw_lanes(self, colours: Any, limits: tuple[float, float]) -> None:
        fence = np.concatenate([[limits[0]], self.thresholds, [limits[1]]])
        for k, colour in enumerate(colours):
            height = LANE + 0.1
            self.ax_.barh(k, fence[k + 1] - fence[k], height, fence[k], color=colour, alpha=0.13, zorder=0)
            inside = np.searchsorted(self.thresholds, self.utility[self.rank == k]) == k
            if len(inside):
                share = f"{np.count_nonzero(inside) / len(inside):.0%}"
                self.ax_.annotate(
                    share, (1.01, k), xycoords=("axes fraction", "data"), va="center", fontsize="small"
                )

    def _draw_rank(self, k: int, colour: Any, options: dict[str, Any]) -> Any:
        values = np.sort(self.utility[self.rank == k])
        n_rows = max(len(self.utility), 1)
        settings = {
            "s": float(np.clip(6000 / n_rows, 4, 36)),
            "alpha": float(np.clip(60 / np.sqrt(n_rows), 0.4, 0.9)),
            "marker": MARKERS[k % len(MARKERS)],
            "color": [colour],
            "linewidths": 0,
        }
        return self.ax_.scatter(values, k + self._offsets(values), **(settings | options))

    def _offsets(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Spread rows over their lane in proportion to how many there are nearby."""
        counts, edges = np.histogram(values, np.histogram_bin_edges(self.utility, bins=40))
        nearby = np.interp(values, (edges[1:] + edges[:-1]) / 2, counts / max(counts.max(initial=0), 4))
        return LANE * nearby * ((np.arange(len(values)) * GOLDEN) % 1 - 0.5)

    def _draw_boundaries(self, limits: tuple[float, float]) -> None:
        bottom, top = -0.5, len(self.classes) - 0.5
        self.boundaries_ = self.ax_.vlines(
            self.thresholds, bottom, top, colors="black", linewidth=1, zorder=3
        )
        near = 0.035 * (limits[1] - limits[0])
        groups = np.split(
            np.arange(len(self.thresholds)), np.flatnonzero(np.diff(self.thresholds) > near) + 1
        )
        for group in groups:
            first, last = (rf"$\theta_{{{number + 1}}}$" for number in (group[0], group[-1]))
            text = first if len(group) == 1 else f"{first}{',' if len(group) == 2 else ' … '}{last}"
            self.ax_.annotate(
                text, (self.thresholds[group].mean(), top), (0, 3), textcoords="offset points", ha="center"
            )

    def _label_axes(self, limits: tuple[float, float]) -> None:
        self.ax_.set(xlim=limits, ylim=(-0.5, len(self.classes) - 0.5), xlabel="utility", ylabel="rank given")
        self.ax_.set_yticks(np.arange(len(self.classes)), [str(label) for label in self.classes.tolist()])
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.annotate("right", (1.01, 1), (0, 3), "axes fraction", "offset points", fontsize="small")
        self.ax_.spines[["top", "right", "left"]].set_visible(False)


def _numbers(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Give the number of each label among the classes."""
    number = {value: k for k, value in enumerate(classes.tolist())}
    unknown = [value for value in labels.tolist() if value not in number]
    if unknown:
        raise ValueError(
            f"y holds {unknown[0]!r}, which is none of the classes {as_array(classes).tolist()}."
        )
    return np.array([number[value] for value in labels.tolist()], dtype=np.int64)


def _new_axes(n_classes: int) -> Any:
    pyplot = _pyplot()
    size = (8, 1.2 + 0.55 * min(max(n_classes, 3), 14))
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _colours(n_classes: int) -> Any:
    """Give colours whose lightness rises with the rank: they differ in grey and to colour-blind eyes."""
    return _pyplot().get_cmap("viridis")(np.linspace(0.0, 0.85, n_classes))


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("UtilityDisplay needs matplotlib: pip install 'rankwise[report]'.") from None
    return pyplot
