"""The section on a learned kernel: which features matter, and which of them interact."""

from __future__ import annotations

from rankwise.core.pipelines import before_last_step
from rankwise.core.text import plural
from rankwise.estimators.weights import by_size, has_interactions
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import feature_names
from rankwise.report.page import figure, figures, paragraph, section, table
from rankwise.report.weights_display import bar_picture

DRAWN = 14
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
    chosen = [k for k in by_size(importances)[:DRAWN].tolist() if importances[k] > 0]
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
