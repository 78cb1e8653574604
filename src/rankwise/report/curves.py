"""The section on curves: the contribution of each feature to the score, over the training rows."""

from __future__ import annotations

import numpy as np

from rankwise.core.text import short
from rankwise.evaluation.data import EvaluationData
from rankwise.report.curves_display import DrawnCurve, curve_picture, drawn_curves, drawn_tables, has_curves
from rankwise.report.page import figure, figures, paragraph, section, table

DRAWN = 12
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
    heights = np.concatenate([curve.y for curve in drawn])
    limits = float(heights.min()), float(heights.max())
    charts = [figure(curve_picture(curve, limits), _caption(curve)) for curve in drawn]
    left = len(curves) - DRAWN
    note = (
        paragraph(f"The {DRAWN} of {len(curves)} curves that vary most are drawn.", "note")
        if left > 0
        else ""
    )
    return section("curves", "The curves", paragraph(CAPTION, "note"), figures(*charts), note, _tables(data))


def _caption(curve: DrawnCurve) -> str:
    missing = "" if curve.missing is None else f" Missing values contribute {short(curve.missing)}."
    return f"{curve.name}: {short(curve.y.min())} to {short(curve.y.max())}.{missing}"


def _tables(data: EvaluationData) -> str:
    found = drawn_tables(data.ranker, data.feature_names)
    if not found:
        return ""
    rows = [
        [" and ".join(one.names), one.spread, one.values.min(),
         one.values.max()]
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
