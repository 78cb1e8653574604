"""The section that compares models on the same queries."""

from __future__ import annotations

from collections.abc import Sequence

from rankwise.evaluation.measures import Measured
from rankwise.evaluation.names import shortened
from rankwise.evaluation.paired import Difference, paired_test
from rankwise.evaluation.subject import Subject
from rankwise.report.page import Cell, Number, figure, paragraph, section, short, table
from rankwise.report.svg import Chart

TESTS = {
    "permutation": "permutation test: the sign of each query's difference is flipped",
    "wilcoxon": "Wilcoxon's signed-rank test",
}


def versus_section(subject: Subject, measured: dict[str, list[Measured]], found: Sequence[Difference]) -> str:
    """Show all models side by side."""
    if len(measured) < 2:
        return ""
    several = len(measured[subject.name][0].values) > 1
    charts = "".join(interval_chart(measured, k) for k in range(min(2, len(measured[subject.name]))))
    return section(
        "versus",
        "Compared with other models",
        f'<div class="figures">{charts}</div>',
        comparison_table(subject, measured, found, several),
        paragraph(explained(subject, found, several), "note"),
    )


def comparison_table(
    subject: Subject, measured: dict[str, list[Measured]], found: Sequence[Difference], several: bool
) -> str:
    """Write a row for each measure and other model."""
    ours = {one.measure.key: one.mean for one in measured[subject.name]}
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
        f"{subject.name} against the others", header, rows, name="comparison", numeric=kinds,
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


def explained(subject: Subject, found: Sequence[Difference], several: bool) -> str:
    """Say what the columns mean."""
    words = (
        f"Difference: {subject.name} minus the other model, with the 95% interval of the paired "
        "difference. For the ranking error a negative difference is the better one."
    )
    if not several:
        return (
            words + " There is one query, so there is no test over queries; rows are drawn for the interval."
        )
    queries = max(one.wins + one.ties + one.losses for one in found)
    return (
        f"{words} Wins count the queries on which {subject.name} is better. p: two-sided paired "
        f"{TESTS[paired_test(queries)]}; not corrected for the number of tests."
    )


def interval_chart(measured: dict[str, list[Measured]], k: int) -> str:
    """Draw the mean of each model with its interval."""
    found = {name: listed[k] for name, listed in measured.items()}
    name = next(iter(found.values())).measure.name
    ends = [v for one in found.values() for v in (one.low, one.high, one.mean) if v == v]
    if not ends:
        return ""
    space = 0.06 * (max(ends) - min(ends)) or 0.01
    chart = Chart(
        f"{name} of {len(found)} models with 95% intervals",
        (min(ends) - space, max(ends) + space),
        (len(found) - 0.5, -0.5),
        x_label=name,
        height=70 + 34 * len(found),
        left=170,
    )
    for place, (model, one) in enumerate(found.items()):
        title = f"{model}: {short(one.mean)}, from {short(one.low)} to {short(one.high)}"
        if one.low == one.low:
            chart.segment((one.low, one.high), (place, place), f"whisker s{int(place > 0)}", title)
        chart.points([one.mean], [place], int(place > 0), [title], 5)
        chart.label(min(ends) - space, place, shortened(model), "end", (-8, 4))
    better = "further right" if next(iter(found.values())).measure.higher_is_better else "further left"
    return figure(
        chart.render(y_ticks=False), f"{name}: mean and 95% interval of each model; {better} is better."
    )
