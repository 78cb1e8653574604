"""The curves of a model over the density of the training rows, and its tables of two features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from rankwise.core.pipelines import last_step
from rankwise.core.text import short
from rankwise.core.types import FloatArray, FloatVector
from rankwise.evaluation.names import feature_names, shortened
from rankwise.report.axes import draw, new_axes
from rankwise.report.feature_values import YES_NO
from rankwise.report.marks import Axis, Bars, Dots, Line, Mark, Picture, Rule, Text

# The height of the density as a fraction of the range of the curve.
DENSITY_HEIGHT = 0.25
MAX_LEVELS = 40
# The pixels of a panel of a figure with several.
PANEL = (256, 200)


@dataclass(frozen=True)
class DrawnCurve:
    """The contribution of one feature to the score.

    Attributes
    ----------
    name : str
    x, y : arrays
        The points of a line; for levels, 0, 1, ... and the contribution of each level.
    edges, density : arrays
        The edges of bins, and the density of rows in each bin, relative to the largest.
    levels : list of str, or None
        The names of levels, for a category.
    missing : float or None
        The contribution of missing values, if some occurred in training.
    spread : float
        The standard deviation of the contribution over the training rows.
    is_date : bool
        Whether `x` and `edges` are dates, as numbers of days.
    """

    name: str
    x: FloatVector
    y: FloatVector
    edges: FloatVector
    density: FloatVector
    levels: list[str] | None
    missing: float | None
    spread: float
    is_date: bool = False


@dataclass(frozen=True)
class DrawnTable:
    """The interaction of two features: a table without the entries of missing values.

    Attributes
    ----------
    names : tuple of two str
    values : array of shape (n_bins, n_bins)
    ticks : tuple of two lists of str
        The names of bins.
    spread : float
        The standard deviation of the entries.
    """

    names: tuple[str, str]
    values: FloatArray
    ticks: tuple[list[str], list[str]]
    spread: float


def has_curves(model: Any) -> bool:
    """Return whether the score of a model is a sum of curves."""
    return hasattr(last_step(model), "curve") and hasattr(last_step(model), "values_")


def drawn_curves(
    model: Any, given_names: Sequence[str] | None = None, kinds: Mapping[str, str] = MappingProxyType({})
) -> list[DrawnCurve]:
    """Return the curves that are not flat, the largest standard deviation first.

    `kinds` has the kind of the values of a feature, if they are dates or yes and no.
    """
    ranker = last_step(model)
    names = _names(model, given_names)
    curves = [_drawn(ranker, place, name, kinds.get(name, "number")) for place, name in enumerate(names)]
    return sorted((curve for curve in curves if curve.spread > 0), key=lambda curve: -curve.spread)


def drawn_tables(model: Any, given_names: Sequence[str] | None = None) -> list[DrawnTable]:
    """Return the tables of two features, the largest standard deviation first."""
    ranker, names = last_step(model), _names(model, given_names)
    axes = ranker.curve_features.pair_axes
    tables = [
        DrawnTable(
            (names[j], names[k]),
            values[:-1, :-1],
            (_bin_names(axes[j]), _bin_names(axes[k])),
            float(values[:-1, :-1].std()),
        )
        for (j, k), values in zip(ranker.pairs_, ranker.pair_values_, strict=True)
    ]
    return sorted(tables, key=lambda table: -table.spread)


def _names(model: Any, given: Sequence[str] | None) -> list[str]:
    return feature_names(None, model, given, last_step(model).n_features_in_)


def _drawn(ranker: Any, place: int, name: str, kind: str) -> DrawnCurve:
    curve = ranker.curve(place)
    axis, values, counts = curve.axis, curve.values[:-1], curve.counts[:-1]
    mean = np.average(values, weights=counts) if counts.any() else 0.0
    spread = float(np.sqrt(np.average((values - mean) ** 2, weights=counts))) if counts.any() else 0.0
    levels = level_names(ranker, place) if axis.kind == "levels" else None
    if kind == "yes or no" and len(values) == len(YES_NO):
        levels = list(YES_NO)
    x, y, edges = _outline(axis, values) if levels is None else _level_outline(values)
    heights = np.divide(counts, np.diff(edges), where=np.diff(edges) > 0, out=np.zeros(len(counts)))
    density = heights / (heights.max(initial=0.0) or 1.0)
    missing = float(curve.values[-1]) if curve.counts[-1] > 0 else None
    return DrawnCurve(name, x, y, edges, density, levels, missing, spread, kind == "date")


def level_names(ranker: Any, place: int) -> list[str]:
    """Return the names of the levels of a category, or their numbers."""
    known = ranker.categories_.get(place)
    levels = ranker.knots_[place].tolist()
    return [f"{level:g}" if known is None else str(known[int(level)]) for level in levels]


def _outline(axis: Any, values: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return the points of a curve, and the edges of the bins of its density."""
    if axis.kind == "lines":
        middles = axis.knots[:-1] / 2 + axis.knots[1:] / 2
        return axis.knots, values, np.concatenate([axis.knots[:1], middles, axis.knots[-1:]])
    edges = _closed(axis.knots)
    return np.repeat(edges, 2)[1:-1], np.repeat(values, 2), edges


def _level_outline(values: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return the places of levels, their values, and the edges of the bars of their density."""
    places = np.arange(len(values), dtype=np.float64)
    return places, values, np.append(places, len(values)) - 0.5


def _closed(knots: FloatVector) -> FloatVector:
    """Return the edges of all bins; the first and the last are as wide as the median bin."""
    width = float(np.median(np.diff(knots))) if len(knots) > 1 else 1.0
    begin, end = (knots[0], knots[-1]) if len(knots) else (0.0, 0.0)
    return np.concatenate([[begin - width], knots, [end + width]])


def _bin_names(axis: Any) -> list[str]:
    knots = [f"{knot:.4g}" for knot in axis.knots]
    return (
        knots if axis.kind == "levels" else [f"< {knots[0]}" if knots else "all", *(f"≥ {k}" for k in knots)]
    )


def curve_picture(curve: DrawnCurve, limits: tuple[float, float] | None = None) -> Picture:
    """Return one curve over the density of its feature as marks, optionally on a scale of several curves."""
    low, high = limits or (float(curve.y.min()), float(curve.y.max()))
    bottom = low - DENSITY_HEIGHT * ((high - low) or 1.0)
    density = bottom + curve.density * (low - bottom)
    marks: list[Mark] = [Bars(curve.edges[:-1], curve.edges[1:], bottom, density, "lane")]
    if curve.levels is None:
        marks.append(Line(curve.x, curve.y, name=curve.name))
    else:
        titles = [f"{name}: {short(y)}" for name, y in zip(curve.levels, curve.y, strict=True)]
        marks.append(Dots(curve.x, curve.y, titles=titles))
        named = zip(curve.x.tolist(), curve.y.tolist(), curve.levels[:MAX_LEVELS], strict=False)
        marks += [Text(x, y, shortened(level, 10)) for x, y, level in named]
    if curve.missing is not None:
        marks.append(Rule(y=curve.missing, name="missing values"))
    return Picture(
        f"Curve of {curve.name}, from {short(curve.y.min())} to {short(curve.y.max())}",
        marks,
        Axis(
            shortened(curve.name),
            (float(curve.edges[0]), float(curve.edges[-1])),
            kind="date" if curve.is_date else "number",
            names=None if curve.levels is None else [""] * len(curve.levels),
        ),
        Axis("contribution to the score", (bottom, None if limits is None else high)),
    )


def table_picture(table: DrawnTable) -> Picture:
    """Return the interaction of two features as a grid of bars: blue raises the score, orange lowers it."""
    values = table.values.T
    across, up = np.meshgrid(np.arange(values.shape[1]) - 0.5, np.arange(values.shape[0]) - 0.5)
    opacity = np.abs(values) / (np.abs(values).max() or 1.0)
    cells = Bars(across, across + 1, up, up + 1, (values < 0).astype(int), opacity)
    return Picture(
        f"Interaction of {table.names[0]} and {table.names[1]}",
        [cells],
        _bins_axis(table.names[0], table.ticks[0]),
        _bins_axis(table.names[1], table.ticks[1]),
    )


def _bins_axis(label: str, ticks: list[str]) -> Axis:
    """Return the axis of the bins of a feature, about three of which are named."""
    step = max(1, -(-len(ticks) // 3))
    names = [name if place % step == 0 else "" for place, name in enumerate(ticks)]
    return Axis(label, (-0.5, len(ticks) - 0.5), names=names)


@dataclass(eq=False)
class CurveDisplay:
    """The contribution of each feature to the score, over the density of the training rows.

    Parameters
    ----------
    curves : list of DrawnCurve
        The curves of single features.
    tables : list of DrawnTable
        The tables of pairs of features.

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
    >>> from rankwise.report.curves_display import CurveDisplay
    >>> patients = load_diabetes_ranking()
    >>> names = patients.feature_names
    >>> model = CurveRanker(alpha=1e-2, n_bins=16).fit(patients.data, patients.target)
    >>> display = CurveDisplay.from_estimator(model, n_features=4, feature_names=names)  # doctest: +SKIP
    """

    curves: list[DrawnCurve]
    tables: list[DrawnTable] = field(default_factory=list)

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
        names = feature_names
        return cls(drawn_curves(estimator, names), drawn_tables(estimator, names)).plot(**options)

    def plot(self, *, n_features: int = 9, n_tables: int = 3, n_columns: int = 3) -> CurveDisplay:
        """Draw the widest curves and tables into a new figure.

        Returns
        -------
        display : CurveDisplay
        """
        curves, tables = self.curves[:n_features], self.tables[:n_tables]
        pictures = [*map(curve_picture, curves), *map(table_picture, tables)]
        n_columns = max(1, min(n_columns, len(pictures)))
        n_rows = max(1, -(-len(pictures) // n_columns))
        size = PANEL[0] * n_columns, PANEL[1] * n_rows
        self.figure_, grid = new_axes(type(self).__name__, size, nrows=n_rows, ncols=n_columns, squeeze=False)
        self.axes_ = list(grid.ravel())[: len(pictures)]
        for ax in grid.ravel()[len(pictures) :]:
            ax.remove()
        self.shown_ = [curve.name for curve in curves] + [" and ".join(table.names) for table in tables]
        for place, (ax, picture) in enumerate(zip(self.axes_, pictures, strict=True)):
            draw(picture, ax, {})
            if place % n_columns and place < len(curves):
                ax.set_ylabel("")
        return self
