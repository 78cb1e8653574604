"""The section on survival times: Kaplan-Meier curves by thirds of the score, events and censored rows."""

from __future__ import annotations

import numpy as np

from rankwise.core.text import plural, share
from rankwise.core.types import FloatArray
from rankwise.evaluation.data import EvaluationData
from rankwise.figures.survival import SurvivalCurve, as_steps, curves_by_score
from rankwise.report.page import Cell, Number, figure, paragraph, section, table
from rankwise.report.shapes import legend
from rankwise.report.svg import Chart

# Longer curves are thinned out to about this many points, and so are the ticks of censored rows.
MAX_POINTS = 300
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
        '<div class="figures">',
        figure(survival_chart(curves), CAPTION + pooled),
        legend([curve.name for curve in curves]) + "</div>",
        group_table(curves),
    )


CAPTION = (
    "Kaplan-Meier estimates of the fraction of rows without an event, by thirds of the score; ticks mark "
    "censored rows."
)


def survival_chart(curves: list[SurvivalCurve]) -> str:
    """Draw the curve of each group, with ticks at the times of censored rows."""
    ends = [(curve.time[0], curve.time[-1]) for curve in curves]
    limits = float(min(first for first, _ in ends)), float(max(last for _, last in ends))
    chart = Chart(
        "Kaplan-Meier curves by thirds of the score",
        limits,
        (0.0, 1.0),
        x_label="time",
        y_label="fraction without an event",
        height=360,
    )
    for style, curve in enumerate(curves):
        kept = thinned(curve.time)
        name = f"{curve.name}: {curve.n_events} of {curve.n_rows} rows with an event"
        chart.line(*as_steps(curve.time[kept], curve.survival[kept]), style, name=name)
        censored = curve.censored[thinned(curve.censored)]
        for time, height in zip(censored.tolist(), curve.at(censored).tolist(), strict=True):
            title = f"{curve.name}: censored at {time:g}"
            chart.segment((time, time), (height - 0.012, height + 0.012), f"whisker s{style}", title)
    return chart.render()


def thinned(values: FloatArray) -> np.ndarray:
    """Return the places of at most `MAX_POINTS` values, evenly, with the first and the last.

    Examples
    --------
    >>> len(thinned(np.arange(5000.0))), thinned(np.arange(3.0)).tolist()
    (300, [0, 1, 2])
    """
    return np.unique(np.linspace(0, len(values) - 1, min(len(values), MAX_POINTS)).astype(int))


def group_table(curves: list[SurvivalCurve]) -> str:
    """Count the rows, the events and the censored rows of each group."""
    rows: list[list[Cell]] = [
        [
            curve.name,
            Number(float(curve.n_rows)),
            Number(float(curve.n_events)),
            Number(float(len(curve.censored))),
            Number(curve.median),
        ]
        for curve in curves
    ]
    header = ["Score", "Rows", "Events", "Censored", "Median time"]
    return table("Events and censored rows by score", header, rows, name="survival")
