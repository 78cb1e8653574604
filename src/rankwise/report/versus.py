"""The section that compares models on the same queries."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured
from rankwise.evaluation.names import shortened
from rankwise.evaluation.paired import Difference, paired_test
from rankwise.report.page import Cell, Number, better_in_words, figure, paragraph, section, short, table
from rankwise.report.svg import LONGEST_NAME, WIDE, Chart, room_for

TESTS = {
    "permutation": "permutation test: the sign of each query's difference is flipped",
    "wilcoxon": "Wilcoxon's signed-rank test",
}


def versus_section(
    data: EvaluationData, measured: dict[str, list[Measured]], found: Sequence[Difference]
) -> str:
    """Show all models side by side."""
    if len(measured) < 2:
        return ""
    several = len(measured[data.name][0].values) > 1
    keys = list(dict.fromkeys(one.measure.key for one in found))[:2]
    charts = [difference_chart(data, [one for one in found if one.measure.key == key]) for key in keys]
    return section(
        "versus",
        "Compared with other models",
        f'<div class="figures">{"".join(charts)}</div>',
        comparison_table(data, measured, found, several),
        paragraph(explained(data, found, several), "note"),
    )


def comparison_table(
    data: EvaluationData, measured: dict[str, list[Measured]], found: Sequence[Difference], several: bool
) -> str:
    """Write a row for each measure and other model."""
    ours = {one.measure.key: one.mean for one in measured[data.name]}
    theirs = {(name, one.measure.key): one.mean for name, listed in measured.items() for one in listed}
    header = ["Measure", "Model", "Its mean" if several else "Its value", "Difference", "from", "to"]
    rows: list[list[Cell]] = [
        [
            one.measure.name, one.other, Number(theirs[one.other, one.measure.key]),
            Number(one.mean, signed(one.mean)), Number(one.low), Number(one.high),
            *([Number(one.wins), Number(one.ties), Number(one.losses), Number(one.p)] if several else []),
        ]
        for one in sorted(found, key=lambda one: list(ours).index(one.measure.key))
    ]  # fmt: skip
    kinds = [False, False, True, True, True, True]
    if several:
        header, kinds = [*header, "Wins", "Ties", "Losses", "p"], kinds + [True] * 4
    return table(
        f"{data.name} against the others", header, rows, name="comparison", numeric=kinds,
        search="Find a measure or model:" if len(rows) > 8 else None,
    )  # fmt: skip


def signed(value: float) -> str:
    """Write a difference with its sign.

    Examples
    --------
    >>> signed(0.25)
    '+0.2500'
    """
    return f"+{short(value)}" if value > 0 else short(value)


def explained(data: EvaluationData, found: Sequence[Difference], several: bool) -> str:
    """Say what the columns mean."""
    measures = {one.measure.key: one for one in found}.values()
    words = (
        f"Difference: {data.name} minus the other model, with the 95% interval of the paired "
        f"difference. {better_in_words([one.measure for one in measures])}"
    )
    if not several:
        return (
            words + " There is one query, so there is no test over queries; rows are drawn for the interval."
        )
    queries = max(one.wins + one.ties + one.losses for one in found)
    return (
        f"{words} Wins count the queries on which {data.name} is better. p: two-sided paired "
        f"{TESTS[paired_test(queries)]}; not corrected for the number of tests."
    )


def difference_chart(data: EvaluationData, found: Sequence[Difference]) -> str:
    """Draw how much better the model is than each other by one measure, with paired intervals, beside 0."""
    measure = found[0].measure
    sign = 1 if measure.higher_is_better else -1
    ends = [0.0] + [v for one in found for v in (one.low, one.high, one.mean) if v == v]
    ends = [sign * v for v in ends]
    space = 0.06 * (max(ends) - min(ends)) or 0.01
    low, high = min(ends) - space, max(ends) + space
    names = [shortened(one.other, LONGEST_NAME) for one in found]
    chart = Chart(
        f"{measure.name}: how much better {data.name} is than {len(found)} others, with 95% intervals",
        (low, high),
        (len(found) - 0.5, -0.5),
        x_label="right of 0 is better",
        height=70 + 34 * len(found),
        width=WIDE,
        left=room_for(names),
    )
    chart.rule(x=0.0, kind="rule strong")
    for place, one in enumerate(found):
        title = f"{one.other}: difference {short(one.mean)}, from {short(one.low)} to {short(one.high)}"
        if one.low == one.low:
            chart.segment((sign * one.low, sign * one.high), (place, place), "whisker s0", title)
        if one.mean == one.mean:
            chart.points([sign * one.mean], [place], 0, [title], 5)
        chart.label(low, place, names[place], "end", (-8, 4))
    caption = (
        f"{measure.name}: how much better {data.name} is than each other model, with the 95% interval of "
        "the paired difference. An interval that holds 0 leaves open which is better."
    )
    return figure(chart.render(y_ticks=False), caption)
