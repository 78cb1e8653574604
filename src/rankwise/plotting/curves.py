"""The curves of a model over the density of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.figures.curves import DrawnCurve, DrawnTable, drawn_curves, drawn_tables, has_curves
from rankwise.plotting._axes import BLUE, GREY, ORANGE, literal, pyplot_for, tidy

# The height of the density as a fraction of the range of the curve.
DENSITY_HEIGHT = 0.2


class CurveDisplay:
    """The contribution of each feature to the score, over the density of the training rows.

    Parameters
    ----------
    curves : list of DrawnCurve
    tables : list of DrawnTable
        From `rankwise.figures.curves`.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : list of matplotlib Axes
        One per panel: first the curves, then the tables of two features.
    shown_ : list of str
        The names of the features of the panels.

    Examples
    --------
    >>> from rankwise import CurveRanker
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.plotting import CurveDisplay
    >>> patients = load_diabetes_ranking()
    >>> names = patients.feature_names
    >>> model = CurveRanker(alpha=1e-2, n_bins=16).fit(patients.data, patients.target)
    >>> display = CurveDisplay.from_estimator(model, n_features=4, feature_names=names)  # doctest: +SKIP
    """

    def __init__(self, *, curves: Sequence[DrawnCurve], tables: Sequence[DrawnTable] = ()) -> None:
        self.curves, self.tables = list(curves), list(tables)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Sequence[str] | None = None, **options: Any
    ) -> CurveDisplay:
        """Draw the curves of a fitted `CurveRanker`.

        Parameters
        ----------
        estimator : fitted CurveRanker or CurveRankerCV, or Pipeline that ends in one
        feature_names : sequence of str, optional
            By default those of the fit.
        **options
            Options of `plot`.
        """
        if not has_curves(estimator):
            raise ValueError(
                "estimator must be a fitted CurveRanker or CurveRankerCV, or a Pipeline that ends in one."
            )
        drawn = drawn_curves(estimator, feature_names), drawn_tables(estimator, feature_names)
        return cls(curves=drawn[0], tables=drawn[1]).plot(**options)

    def plot(self, *, n_features: int = 9, n_tables: int = 3, n_columns: int = 3) -> CurveDisplay:
        """Draw the widest curves and tables into a new figure.

        Returns
        -------
        display : CurveDisplay
        """
        curves, tables = self.curves[:n_features], self.tables[:n_tables]
        count = max(1, len(curves) + len(tables))
        n_columns = min(n_columns, count)
        n_rows = -(-count // n_columns)
        size = (3.2 * n_columns, 2.5 * n_rows)
        self.figure_, grid = pyplot_for(self).subplots(
            n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
        )
        self.axes_ = list(grid.ravel())
        for ax in self.axes_[count:]:
            ax.remove()
        self.axes_ = self.axes_[:count]
        self.shown_ = [curve.name for curve in curves] + [" and ".join(table.names) for table in tables]
        for ax, curve in zip(self.axes_, curves, strict=False):
            draw_curve(ax, curve)
        for ax, table in zip(self.axes_[len(curves) :], tables, strict=False):
            draw_table(ax, table)
        return self


def draw_curve(ax: Any, curve: DrawnCurve) -> None:
    """Draw one curve over the density of the rows, and the value for missing data as a dotted line."""
    low, high = float(curve.y.min()), float(curve.y.max())
    height = (high - low) or 1.0
    bottom = low - (DENSITY_HEIGHT + 0.05) * height
    widths = np.diff(curve.edges)
    ax.bar(
        curve.edges[:-1], DENSITY_HEIGHT * height * curve.density, widths, bottom, align="edge", color=GREY
    )
    if curve.levels is None:
        ax.plot(curve.x, curve.y, color=BLUE)
    else:
        ax.plot(curve.x, curve.y, "o", color=BLUE)
        ax.set_xticks(curve.x, [literal(name) for name in curve.levels], rotation=45)
    if curve.missing is not None:
        ax.axhline(curve.missing, color=ORANGE, linestyle=":", label="missing")
        ax.legend(frameon=False, fontsize="small")
    ax.set_xlabel(literal(curve.name))
    tidy(ax, "y")


def draw_table(ax: Any, table: DrawnTable) -> None:
    """Draw the interaction of two features: blue raises the score, orange lowers it."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("parts", [ORANGE, "white", BLUE])
    largest = float(np.abs(table.values).max()) or 1.0
    ax.imshow(table.values.T, origin="lower", aspect="auto", cmap=colours, vmin=-largest, vmax=largest)
    for set_ticks, names in ((ax.set_xticks, table.ticks[0]), (ax.set_yticks, table.ticks[1])):
        step = max(1, len(names) // 4)
        set_ticks(np.arange(len(names))[::step], names[::step], fontsize="small")
    ax.tick_params(axis="x", rotation=30)
    ax.set_xlabel(literal(table.names[0]))
    ax.set_ylabel(literal(table.names[1]))
