"""Rows by utility, with the thresholds between ranks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_codes, as_vector
from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.text import plural
from rankwise.evaluation.data import class_numbers
from rankwise.figures.utility import LANE, UtilityAxis
from rankwise.plotting._axes import axes_for, pyplot_for

MARKERS = ("o", "s", "^", "D", "v", "P", "X")


class UtilityDisplay:
    """Rows by utility, one lane per rank, with the thresholds between ranks.

    After figure 1 of Herbrich, Graepel and Obermayer (1999). The shaded part of a lane is between the
    thresholds of its rank: rows inside are predicted correctly, and their fraction is written at the end of
    the lane. Within a lane rows are jittered where they are dense. Use `from_estimator` or
    `from_predictions`.

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
        One per rank.
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
            Labels among the classes of the estimator.
        ax : matplotlib Axes, optional
            A new figure by default.
        """
        model = last_step(estimator)
        utility = model.utility(before_last_step(estimator, X))
        return cls.from_predictions(utility, y, model.thresholds_, categories=model.classes_, ax=ax)

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
        """Draw rows by their utility, which may be the scores of any ranker.

        Parameters
        ----------
        utility : array of shape (n_rows,)
        y : array of shape (n_rows,)
        thresholds : array of shape (n_classes - 1,)
            Such as those of `fit_thresholds`.
        categories : sequence of n_classes labels, optional
            The labels from the lowest rank to the highest; by default the sorted labels of `y`.
        ax : matplotlib Axes, optional
        """
        n_rows = len(as_vector(utility, "utility"))
        classes = as_codes(y, "y", n_rows)[0] if categories is None else np.asarray(categories)
        n_classes = len(as_vector(thresholds, "thresholds")) + 1
        if len(classes) != n_classes:
            raise ValueError(
                f"{plural(n_classes - 1, 'threshold')} cannot separate {len(classes)} labels. "
                "Pass the label of each rank, lowest first, as categories=[...]."
            )
        rank = class_numbers(y, classes, n_rows)
        return cls(utility=utility, rank=rank, thresholds=thresholds, classes=classes).plot(ax=ax)

    def plot(self, ax: Any = None, **options: Any) -> UtilityDisplay:
        """Draw into `ax`, by default a new figure; `options` are those of matplotlib's scatter.

        Returns
        -------
        display : UtilityDisplay
        """
        n_classes = len(self.classes)
        self.ax_, self.figure_ = axes_for(self, ax, (8, 1.2 + 0.55 * min(max(n_classes, 3), 14)))
        axis = UtilityAxis(self.utility, self.rank, self.thresholds)
        # Lightness rises with the rank, so colours differ in grey scale and for colour-blind readers.
        colours = pyplot_for(self).get_cmap("viridis")(np.linspace(0.0, 0.85, n_classes))
        self._draw_lanes(axis, colours)
        self.points_ = [self._draw_rank(k, axis, colours[k], options) for k in range(n_classes)]
        self._draw_boundaries(axis.limits)
        self._label_axes(axis.limits)
        return self

    def _draw_lanes(self, axis: UtilityAxis, colours: Any) -> None:
        for k, (low, high) in enumerate(pairwise(axis.fence)):
            self.ax_.barh(k, high - low, LANE + 0.1, low, color=colours[k], alpha=0.13, zorder=0)
            if axis.share(k) == axis.share(k):
                self.ax_.annotate(
                    f"{axis.share(k):.0%}", (1.01, k), xycoords=("axes fraction", "data"), va="center",
                    fontsize="small",
                )  # fmt: skip

    def _draw_rank(self, k: int, axis: UtilityAxis, colour: Any, options: dict[str, Any]) -> Any:
        rows, off = axis.lane(k)
        n_rows = max(len(self.utility), 1)
        settings = {
            "s": float(np.clip(6000 / n_rows, 4, 36)),
            "alpha": float(np.clip(60 / np.sqrt(n_rows), 0.4, 0.9)),
            "marker": MARKERS[k % len(MARKERS)],
            "color": [colour],
            "linewidths": 0,
        }
        return self.ax_.scatter(self.utility[rows], k + off, **(settings | options))

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
        self.ax_.set(xlim=limits, ylim=(-0.5, len(self.classes) - 0.5), xlabel="utility", ylabel="true rank")
        self.ax_.set_yticks(np.arange(len(self.classes)), [str(label) for label in self.classes.tolist()])
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.annotate("correct", (1.01, 1), (0, 3), "axes fraction", "offset points", fontsize="small")
        self.ax_.spines[["top", "right", "left"]].set_visible(False)
