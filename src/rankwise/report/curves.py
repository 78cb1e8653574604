"""The section on curves: the contribution of each feature to the score, over the training rows."""

from __future__ import annotations

import numpy as np

from rankwise.core.text import short
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import shortened
from rankwise.figures.curves import DrawnCurve, drawn_curves, drawn_tables, has_curves
from rankwise.report.page import Cell, Number, figure, paragraph, section, table
from rankwise.report.svg import Chart, padded

DRAWN = 12
MAX_LEVELS = 40
# The height of the density as a fraction of the range of the curve.
DENSITY_HEIGHT = 0.25
CAPTION = (
    "Line: contribution of the feature to the score, on the same scale for all features. Shaded: density of "
    "the training rows."
)


def curves_section(data: EvaluationData) -> str:
    """Draw the curves with the largest standard deviation, and list the tables of two features."""
    if data.ranker is None or not has_curves(data.ranker):
        return ""
    curves = drawn_curves(data.ranker, data.feature_names)
    if not curves:
        return section("curves", "The curves", paragraph("All curves are flat: all scores are equal."))
    drawn = curves[:DRAWN]
    limits = padded(np.concatenate([curve.y for curve in drawn]))
    charts = "".join(curve_chart(curve, limits) for curve in drawn)
    left = len(curves) - DRAWN
    note = (
        paragraph(f"The {DRAWN} of {len(curves)} curves that vary most are drawn.", "note")
        if left > 0
        else ""
    )
    figures = f'<div class="figures">{charts}</div>'
    return section("curves", "The curves", paragraph(CAPTION, "note"), figures, note, _tables(data))


def curve_chart(curve: DrawnCurve, limits: tuple[float, float]) -> str:
    """Draw one curve over the density of its feature, on the scale of all curves."""
    low, high = limits
    bottom = low - DENSITY_HEIGHT * (high - low)
    chart = Chart(
        f"Curve of {curve.name}, from {short(float(curve.y.min()))} to {short(float(curve.y.max()))}",
        (float(curve.edges[0]), float(curve.edges[-1])),
        (bottom, high),
        x_label=shortened(curve.name),
        y_label="contribution to the score",
    )
    for begin, end, density in zip(curve.edges[:-1], curve.edges[1:], curve.density, strict=True):
        top = bottom + density * (low - bottom)
        chart.box((float(begin), float(end)), (float(bottom), float(top)), "lane")
    if curve.levels is None:
        chart.line(curve.x, curve.y)
    else:
        titles = [f"{name}: {short(float(y))}" for name, y in zip(curve.levels, curve.y, strict=True)]
        chart.points(curve.x, curve.y, titles=titles)
        for place, name in enumerate(curve.levels[:MAX_LEVELS]):
            chart.label(place, float(curve.y[place]), shortened(name, 10), "middle", (0, -8))
    missing = "" if curve.missing is None else f" Missing values contribute {short(curve.missing)}."
    ends = f"{short(float(curve.y.min()))} to {short(float(curve.y.max()))}"
    return figure(chart.render(x_ticks=curve.levels is None), f"{curve.name}: {ends}.{missing}")


def _tables(data: EvaluationData) -> str:
    found = drawn_tables(data.ranker, data.feature_names)
    if not found:
        return ""
    rows: list[list[Cell]] = [
        [" and ".join(one.names), Number(one.spread), Number(float(one.values.min())),
         Number(float(one.values.max()))]
        for one in found
    ]  # fmt: skip
    header = ["Features", "Standard deviation", "Lowest entry", "Highest entry"]
    note = "The interaction of two features beyond their curves; 0 if either is in its middle bin."
    return table(
        "Tables of two features",
        header,
        rows,
        name="interactions",
        note=note,
    )
