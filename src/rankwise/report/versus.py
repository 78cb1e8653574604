"""The section that compares models on the same queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise.core.text import plural, short
from rankwise.evaluation.comparison import correction_in_words
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.paired import Difference
from rankwise.report.interval_display import interval_picture
from rankwise.report.marks import Rule
from rankwise.report.page import Number, better_in_words, figure, figures, paragraph, section, table


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
    for found in listed:
        sign = 1.0 if found[0].measure.higher_is_better else -1.0
        best = max((sign * one.mean for one in found if one.mean == one.mean), default=np.nan)
        columns.append([Number(one.mean, short(one.mean), sign * one.mean == best) for one in found])
    rows = [[name, *cells] for name, *cells in zip(measured, *columns, strict=True)]
    header = ["Model", *(found[0].measure.name for found in listed)]
    return table("All models", header, rows, name="models", note="Bold: the best.")


def n_shared(measured: dict[str, list[Measured]]) -> int:
    """Return the number of measures that all models have."""
    return min(len(found) for found in measured.values())


def comparison_table(
    data: EvaluationData, measured: dict[str, list[Measured]], found: Sequence[Difference], several: bool
) -> str:
    """Write one row per measure and other model."""
    ours = {one.measure.key: one.mean for one in measured[data.name]}
    theirs = {(name, one.measure.key): one.mean for name, listed in measured.items() for one in listed}
    header = ["Measure", "Model", "Mean" if several else "Value", "Improvement", "from", "to"]
    rows = [
        [
            one.measure.name, one.other, theirs[one.other, one.measure.key],
            *(Number(value, signed(value)) for value in improvement(one)),
            *([one.wins, one.ties, one.losses] if several else []), one.p,
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


def signed(value: float) -> str:
    """Write a difference with its sign.

    Examples
    --------
    >>> signed(0.25)
    '+0.2500'
    """
    return f"+{short(value)}" if value > 0 else short(value)


def explained(data: EvaluationData, found: Sequence[Difference], several: bool) -> str:
    """Explain the columns."""
    measures = {one.measure.key: one for one in found}.values()
    words = (
        f"Improvement: of {data.name} over the other model, positive if it is better, with the 95% interval "
        f"of the paired difference. {better_in_words([one.measure for one in measures])}"
    )
    n_models = len({one.other for one in found})
    test = "p: two-sided paired t-test of the mean difference"
    if n_models > 1:
        test += f", {correction_in_words('holm', n_models)}, as the intervals are"
    if not several:
        return f"{words} {test}, over rows, for measures of pairs."
    return f"{words} Wins count the queries on which {data.name} is better. {test}."


def _in_words(found: Difference) -> str:
    gain, low, high = map(signed, improvement(found))
    return f"{found.other}: improvement {gain}, from {low} to {high}"


def difference_chart(data: EvaluationData, found: Sequence[Difference]) -> str:
    """Draw the improvement over each other model by one measure, with paired intervals."""
    measure = found[0].measure
    values, *ends = np.array([improvement(one) for one in found]).T
    picture = interval_picture(
        f"{measure.name}: improvement of {data.name} over {plural(len(found), 'other model')}",
        [one.other for one in found],
        values,
        (ends[0], ends[1]),
        label="improvement (right of 0 is better)",
        titles=[_in_words(one) for one in found],
        below=[Rule(x=0.0, style="solid")],
    )
    caption = (
        f"{measure.name}: improvement of {data.name} over each other model, with the 95% interval of the "
        "paired difference. If the interval contains 0, either model may be better."
    )
    return figure(picture, caption)
