"""The section on survival times: Kaplan-Meier curves by thirds of the score, events and censored rows."""

from __future__ import annotations

import numpy as np

from rankwise.core.text import plural, share
from rankwise.evaluation.data import EvaluationData
from rankwise.report.page import figure, figures, paragraph, section, table
from rankwise.report.survival_display import SurvivalCurve, SurvivalDisplay, curves_by_score

DIRECTION = "A higher score predicts a longer survival time."


def survival_section(data: EvaluationData) -> str:
    """Return the section, empty if labels are no survival times."""
    if data.event is None:
        return ""
    curves = curves_by_score(np.asarray(data.event) > 0, data.y, data.main_scores)
    n_events = sum(curve.n_events for curve in curves)
    words = (
        f"The event was observed for {plural(n_events, 'row')}; {plural(len(data.y) - n_events, 'row')} "
        f"({share(1 - n_events / len(data.y))}) are censored. {DIRECTION} A model that ranks well has curves "
        "that are far apart."
    )
    pooled = " The rows of all strata are pooled." if data.n_queries > 1 else ""
    return section(
        "survival",
        "Survival by score",
        paragraph(words),
        figures(figure(SurvivalDisplay(curves).picture(), CAPTION + pooled, key=True)),
        group_table(curves),
    )


CAPTION = (
    "Kaplan-Meier estimates of the fraction of rows without an event, by thirds of the score; ticks mark "
    "censored rows, and bands are pointwise 95% intervals."
)


def group_table(curves: list[SurvivalCurve]) -> str:
    """Count the rows, the events and the censored rows of each group."""
    rows = [
        [
            curve.name,
            curve.n_rows,
            curve.n_events,
            len(curve.censored),
            curve.median,
        ]
        for curve in curves
    ]
    header = ["Score", "Rows", "Events", "Censored", "Median time"]
    return table("Events and censored rows by score", header, rows, name="survival")
