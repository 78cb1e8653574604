"""The section on a learned kernel: which features matter, and which of them interact."""

from __future__ import annotations

from rankwise.core.pipelines import before_last_step
from rankwise.core.text import plural
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import feature_names, shortened
from rankwise.evaluation.weights import by_size, has_interactions
from rankwise.report.page import Cell, Number, figure, paragraph, section, table
from rankwise.report.svg import LONGEST_NAME, WIDE, Chart, room_for

DRAWN = 14
MAX_PAIRS = 10


def interactions_section(data: EvaluationData) -> str:
    """Draw the importances of the columns, and list the pairs of columns with the strongest interactions."""
    if data.ranker is None or not has_interactions(data.ranker):
        return ""
    return section(
        "interactions",
        "Which features matter and interact",
        f'<div class="figures">{importance_chart(data)}</div>',
        _interactions(data),
    )


def importance_chart(data: EvaluationData) -> str:
    """Draw the most important columns."""
    importances = data.ranker.feature_importances_
    chosen = [k for k in by_size(importances)[:DRAWN].tolist() if importances[k] > 0]
    if not chosen:
        return paragraph("All scores are equal.")
    listed = feature_names(data.X, data.models[data.name], data.feature_names, len(importances))
    names = [shortened(listed[k], LONGEST_NAME) for k in chosen]
    chart = Chart(
        f"Importance of {plural(len(chosen), 'feature')}, {listed[chosen[0]]} the largest",
        (0.0, float(importances[chosen[0]])),
        (len(chosen) - 0.4, -0.5),
        x_label="importance",
        height=60 + 22 * len(chosen),
        width=WIDE,
        left=room_for(names),
    )
    for place, k in enumerate(chosen):
        importance = float(importances[k])
        title = f"{listed[k]}: {importance:.3f}"
        chart.box((0.0, importance), (place - 0.36, place + 0.36), "bar s0", title)
        chart.label(0.0, place, names[place], "end", (-8, 4))
    caption = (
        "Importance: root mean square of the change of the score if the feature has the value of another row "
        "of the query, relative to the sum over features, on the training rows."
    )
    return figure(chart.render(y_ticks=False), caption)


def _interactions(data: EvaluationData) -> str:
    rows = before_last_step(data.models[data.name], data.X, data.qid)
    found = data.ranker.interactions(rows, data.qid)[:MAX_PAIRS]
    if not found:
        return ""
    listed: list[list[Cell]] = [[one.first, one.second, Number(one.strength)] for one in found]
    return table(
        "Pairs of features, strongest interaction first",
        ["Feature", "Other feature", "Interaction"],
        listed,
        name="interactions-table",
        numeric=[False, False, True],
        note="Interaction: root mean square of the part of the score that is not the sum of the effects of "
        "the two features, relative to differences of scores of these rows. It is 0 if their effects add up.",
    )
