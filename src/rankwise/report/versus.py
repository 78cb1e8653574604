"""The section that compares models on the same queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rankwise.core.text import NONE, plural
from rankwise.evaluation.comparison import correction_in_words
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.inference import p_text
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.paired import Difference
from rankwise.report.interval_display import interval_picture
from rankwise.report.marks import Rule
from rankwise.report.page import Number, figure, figures, paragraph, section, table
from rankwise.report.shown import Shown, digits_for


def versus_section(
    data: EvaluationData, measured: dict[str, list[Measured]], found: Sequence[Difference]
) -> str:
    """Compare the model with each of the others."""
    if len(measured) < 2:
        return ""
    several = len(measured[data.name][0].values) > 1
    keys = list(dict.fromkeys(one.measure.key for one in found))[:2]
    charts = [difference_chart(data, [one for one in found if one.measure.key == key]) for key in keys]
    return section(
        "versus",
        "Compared with other models",
        models_table(measured),
        figures(*charts),
        comparison_table(data, measured, found, several),
        paragraph(explained(data, found, several), "note"),
    )


def models_table(measured: dict[str, list[Measured]]) -> str:
    """Write one row per model and one column per measure, with the best in bold."""
    listed = [
        list(one) for one in zip(*(found[: n_shared(measured)] for found in measured.values()), strict=True)
    ]
    columns = []
    shown = [Shown.of(found[0]) for found in listed]
    for own, found in zip(shown, listed, strict=True):
        sign = 1.0 if found[0].measure.higher_is_better else -1.0
        best = max((sign * one.mean for one in found if one.mean == one.mean), default=np.nan)
        columns.append([own.number(one.mean, sign * one.mean == best) for one in found])
    rows = [[name, *cells] for name, *cells in zip(measured, *columns, strict=True)]
    header = ["Model", *(own.title for own in shown)]
    return table("All models", header, rows, name="models", note="Bold: the best.")


def n_shared(measured: Mapping[str, Sequence[Measured]]) -> int:
    """Return the number of measures that all models have."""
    return min(len(found) for found in measured.values())


def comparison_table(
    data: EvaluationData, measured: dict[str, list[Measured]], found: Sequence[Difference], several: bool
) -> str:
    """Write one row per measure and other model."""
    ours = {one.measure.key: Shown.of(one) for one in measured[data.name]}
    theirs = {(name, one.measure.key): one.mean for name, listed in measured.items() for one in listed}
    header = ["Measure", "Model", "Mean" if several else "Value", "Improvement", "from", "to"]
    rows = [
        [
            ours[one.measure.key].title, one.other,
            ours[one.measure.key].number(theirs[one.other, one.measure.key]),
            *map(Number, improvement(one), improvement_texts(one)),
            *([one.wins, one.ties, one.losses] if several else []), Number(one.p, p_text(one.p)),
        ]
        for one in sorted(found, key=lambda one: list(ours).index(one.measure.key))
    ]  # fmt: skip
    counts = ["Wins", "Ties", "Losses"] if several else []
    header = [*header, *counts, "p"]
    return table(
        f"{data.name} compared with the other models", header, rows, name="comparison",
        search="Find a measure or model:" if len(rows) > 8 else None,
    )  # fmt: skip


def improvement(found: Difference) -> tuple[float, float, float]:
    """Return the difference and the ends of its interval, positive if the first model is better."""
    if found.measure.higher_is_better:
        return found.mean, found.low, found.high
    return -found.mean, -found.high, -found.low


def improvement_texts(found: Difference) -> list[str]:
    """Write the difference and the ends of its interval with their signs."""
    shown, digits = Shown(found.measure), digits_for(found.low, found.high)
    return [NONE if value != value else shown.gain(value, digits) for value in improvement(found)]


def explained(data: EvaluationData, found: Sequence[Difference], several: bool) -> str:
    """Explain the columns."""
    words = (
        f"Improvement: of {data.name} over the other model, positive if it is better, with the 95% interval "
        "of the paired difference."
    )
    n_models = len({one.other for one in found})
    test = "p: two-sided paired t-test of the mean difference"
    if n_models > 1:
        test += f", {correction_in_words('holm', n_models)}, as the intervals are"
    if not several:
        return f"{words} {test}, over rows, for measures of pairs."
    return f"{words} Wins count the queries on which {data.name} is better. {test}."


def _in_words(found: Difference) -> str:
    gain, low, high = improvement_texts(found)
    return f"{found.other}: improvement {gain}, from {low} to {high}"


def difference_chart(data: EvaluationData, found: Sequence[Difference]) -> str:
    """Draw the improvement over each other model by one measure, with paired intervals."""
    shown = Shown(found[0].measure)
    unit, scale = (" in points", 100.0) if shown.is_share else ("", 1.0)
    values, *ends = scale * np.array([improvement(one) for one in found]).T
    picture = interval_picture(
        f"{shown.title}: improvement of {data.name} over {plural(len(found), 'other model')}",
        [one.other for one in found],
        values,
        (ends[0], ends[1]),
        label=f"improvement{unit} (right of 0 is better)",
        titles=[_in_words(one) for one in found],
        below=[Rule(x=0.0, style="solid")],
    )
    caption = (
        f"{shown.title}: improvement of {data.name} over each other model, with the 95% interval of the "
        "paired difference. If the interval contains 0, either model may be better."
    )
    return figure(picture, caption)
