"""The curves of a model as points, with the density of the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.pipelines import last_step
from rankwise.core.types import FloatArray, FloatVector
from rankwise.evaluation.names import feature_names


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
    """

    name: str
    x: FloatVector
    y: FloatVector
    edges: FloatVector
    density: FloatVector
    levels: list[str] | None
    missing: float | None
    spread: float


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


def drawn_curves(model: Any, given_names: Sequence[str] | None = None) -> list[DrawnCurve]:
    """Return the curves that are not flat, the largest standard deviation first."""
    ranker = last_step(model)
    names = _names(model, given_names)
    curves = [_drawn(ranker, place, name) for place, name in enumerate(names)]
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


def _drawn(ranker: Any, place: int, name: str) -> DrawnCurve:
    curve = ranker.curve(place)
    axis, values, counts = curve.axis, curve.values[:-1], curve.counts[:-1]
    mean = np.average(values, weights=counts) if counts.any() else 0.0
    spread = float(np.sqrt(np.average((values - mean) ** 2, weights=counts))) if counts.any() else 0.0
    levels = level_names(ranker, place) if axis.kind == "levels" else None
    x, y, edges = _outline(axis, values)
    heights = np.divide(counts, np.diff(edges), where=np.diff(edges) > 0, out=np.zeros(len(counts)))
    density = heights / (heights.max(initial=0.0) or 1.0)
    missing = float(curve.values[-1]) if curve.counts[-1] > 0 else None
    return DrawnCurve(name, x, y, edges, density, levels, missing, spread)


def level_names(ranker: Any, place: int) -> list[str]:
    """Return the names of the levels of a category, or their numbers."""
    known = ranker.categories_.get(place)
    levels = ranker.knots_[place].tolist()
    return [f"{level:g}" if known is None else str(known[int(level)]) for level in levels]


def _outline(axis: Any, values: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return the points of a curve, and the edges of the bins of its density."""
    if axis.kind == "levels":
        places = np.arange(len(values), dtype=np.float64)
        return places, values, np.append(places, len(values)) - 0.5
    if axis.kind == "lines":
        middles = axis.knots[:-1] / 2 + axis.knots[1:] / 2
        return axis.knots, values, np.concatenate([axis.knots[:1], middles, axis.knots[-1:]])
    edges = _closed(axis.knots)
    return np.repeat(edges, 2)[1:-1], np.repeat(values, 2), edges


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
