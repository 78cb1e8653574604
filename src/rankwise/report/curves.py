"""Sections on the learned functions: the contribution of each feature, and features that a kernel weighs."""

from __future__ import annotations

import numpy as np

from rankwise.core.pipelines import before_last_step
from rankwise.core.text import plural, short
from rankwise.estimators.weights import by_size, has_interactions
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import feature_names
from rankwise.report.curves_display import DrawnCurve, curve_picture, drawn_curves, drawn_tables, has_curves
from rankwise.report.feature_values import value_kinds
from rankwise.report.page import figure, figures, paragraph, section, table
from rankwise.report.weights_display import bar_picture

DRAWN = 12
CAPTION = (
    "Line: contribution of the feature to the score, on the same scale for all features. Shaded: density of "
    "the training rows."
)


def curves_section(data: EvaluationData) -> str:
    """Draw the curves with the largest standard deviation, and list the tables of two features."""
    if data.ranker is None or not has_curves(data.ranker):
        return ""
    curves = drawn_curves(data.models[data.name], data.feature_names, value_kinds(data))
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


BARS = 14
MAX_PAIRS = 10


def interactions_section(data: EvaluationData) -> str:
    """Draw the importances of the columns, and list the pairs of columns with the strongest interactions."""
    if data.ranker is None or not has_interactions(data.ranker):
        return ""
    return section(
        "interactions",
        "Which features matter and interact",
        importance_chart(data),
        _interactions(data),
    )


def importance_chart(data: EvaluationData) -> str:
    """Draw the most important columns."""
    importances = data.ranker.feature_importances_
    chosen = [k for k in by_size(importances)[:BARS].tolist() if importances[k] > 0]
    if not chosen:
        return paragraph("All scores are equal.")
    listed = feature_names(data.X, data.models[data.name], data.feature_names, len(importances))
    picture = bar_picture(
        f"Importance of {plural(len(chosen), 'feature')}, {listed[chosen[0]]} the largest",
        [listed[k] for k in chosen],
        importances[chosen],
        "importance",
        titles=[f"{listed[k]}: {importances[k]:.3f}" for k in chosen],
    )
    caption = (
        "Importance: root mean square of the change of the score if the feature has the value of another row "
        "of the query, relative to the sum over features, on the training rows."
    )
    return figures(figure(picture, caption))


def _interactions(data: EvaluationData) -> str:
    rows = before_last_step(data.models[data.name], data.X, data.qid)
    found = data.ranker.interactions(rows, data.qid)[:MAX_PAIRS]
    if not found:
        return ""
    listed = [[one.first, one.second, one.strength] for one in found]
    return table(
        "Pairs of features, strongest interaction first",
        ["Feature", "Other feature", "Interaction"],
        listed,
        name="interactions-table",
        note="Interaction: root mean square of the part of the score that is not the sum of the effects of "
        "the two features, relative to differences of scores of these rows. It is 0 if their effects add up.",
    )
