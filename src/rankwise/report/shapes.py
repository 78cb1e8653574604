"""Pictures that belong to a kind of label: ROC, the axis of a utility, the graph of an order."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_curve

from rankwise.metrics import ranking_error, wmw
from rankwise.report.page import Cell, Number, figure, paragraph, plural, section, share, short, table, text
from rankwise.report.subject import Subject
from rankwise.report.svg import Chart, picture

MAX_CURVES = 6
MAX_CURVE_POINTS = 200
MAX_UTILITY_POINTS = 800
MAX_CLASSES = 30
GOLDEN = (np.sqrt(5) - 1) / 2


def shapes_section(subject: Subject) -> str:
    """Show what the labels allow to be shown, or nothing."""
    if hasattr(subject.ranker, "thresholds_") and hasattr(subject, "class_of_row"):
        return utility_section(subject)
    if hasattr(subject.ranker, "edges_"):
        return graph_section(subject)
    if len(np.unique(subject.y)) == 2:
        return roc_section(subject)
    return ""


def roc_section(subject: Subject) -> str:
    """Draw the ROC curve of each model over all rows."""
    positive = subject.y == subject.y.max()
    names = list(subject.scores)[:MAX_CURVES]
    chart = Chart(
        "ROC curves of " + ", ".join(names), (0.0, 1.0), (0.0, 1.0),
        x_label="share of the lower class found", y_label="share of the higher class found", height=400,
    )  # fmt: skip
    chart.segment((0.0, 1.0), (0.0, 1.0), "rule")
    rows: list[list[Cell]] = []
    for style, name in enumerate(names):
        false, true, _ = roc_curve(positive, subject.scores[name])
        area = 1.0 - float(ranking_error(positive, subject.scores[name]))
        kept = np.unique(np.linspace(0, len(false) - 1, min(len(false), MAX_CURVE_POINTS)).astype(int))
        chart.line(false[kept], true[kept], style, name=f"{name}: area {area:.4f}")
        rows.append([name, Number(area)])
    pooled = " Rows of all queries are pooled." if subject.n_queries > 1 else ""
    return section(
        "roc",
        "The two classes apart",
        '<div class="figures">',
        figure(
            chart.render(), "ROC curve: the area below is the share of pairs in the right order." + pooled
        ),
        "<div>" + table("Area under the ROC curve", ["Model", "Area"], rows, name="areas") + legend(names),
        "</div></div>",
    )


def legend(names: list[str]) -> str:
    """Tell which line is which, where there are several."""
    if len(names) < 2:
        return ""
    items = "".join(
        f'<li><svg viewBox="0 0 40 10" width="40" height="10" aria-hidden="true" class="key">'
        f'<polyline class="line s{style}" points="0,5 40,5"/></svg> {text(name)}</li>'
        for style, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'


def utility_section(subject: Subject) -> str:
    """Draw rows on the axis of their utility with the boundaries between ranks."""
    ranker, names = subject.ranker, subject.label_names or []
    thresholds = np.asarray(ranker.thresholds_)
    predicted = np.searchsorted(thresholds, subject.main_scores)
    right = float(np.mean(predicted == subject.class_of_row))
    off = float(np.mean(np.abs(predicted - subject.class_of_row)))
    words = (
        f"The utility is cut at {plural(len(thresholds), 'boundary')}. {share(right)} of the rows get their "
        f"own rank; on average the rank is off by {short(off)}."
    )
    drawn = (
        ""
        if len(names) > MAX_CLASSES
        else figure(utility_chart(subject, thresholds), UTILITY_CAPTION, wide=True)
    )
    return section(
        "utility",
        "Ranks on the axis of utility",
        paragraph(words),
        drawn,
        confusion_table(subject, predicted),
    )


UTILITY_CAPTION = (
    "Each dot is a row, in the lane of its own rank; the shaded part of a lane is where that rank is "
    "predicted, and the share of its rows that lie there stands at its end."
)


def utility_chart(subject: Subject, thresholds: np.ndarray) -> str:
    """Draw a lane for each rank, the highest on top."""
    utility, codes, names = subject.main_scores, subject.class_of_row, subject.label_names or []
    values = np.concatenate([utility, thresholds])
    space = 0.03 * float(np.ptp(values)) or 0.5
    low, high = float(values.min()) - space, float(values.max()) + space
    chart = Chart(
        f"Rows on the axis of utility, in {len(names)} ranks", (low, high), (-0.5, len(names) - 0.5),
        x_label="utility", width=760, height=70 + 48 * len(names), left=110, right=58,
    )  # fmt: skip
    fence = [low, *thresholds.tolist(), high]
    for k, name in enumerate(names):
        chart.box((fence[k], fence[k + 1]), (k - 0.44, k + 0.44), "lane", f"predicted {name}")
        chart.label(low, k, name if len(name) < 14 else name[:13] + "…", "end", (-10, 4))
        _draw_rank(chart, k, utility[codes == k], subject.row_numbers[codes == k], len(utility))
        inside = np.searchsorted(thresholds, utility[codes == k]) == k
        if len(inside):
            chart.label(high, k, f"{np.mean(inside):.0%}", "start", (8, 4))
    for number, threshold in enumerate(thresholds.tolist(), 1):
        chart.segment(
            (threshold, threshold),
            (-0.5, len(names) - 0.5),
            "boundary",
            f"boundary {number}: {short(threshold)}",
        )
    return chart.render(y_ticks=False)


def _draw_rank(chart: Chart, k: int, utility: np.ndarray, numbers: np.ndarray, n_rows: int) -> None:
    """Spread the rows of a rank over its lane where they are dense; where there are many, draw a share."""
    step = max(1, int(np.ceil(n_rows / MAX_UTILITY_POINTS)))
    order = np.argsort(utility)[::step]
    values, numbers = utility[order], numbers[order]
    counts, edges = np.histogram(values, bins=30)
    nearby = np.interp(values, (edges[1:] + edges[:-1]) / 2, counts / max(counts.max(initial=0), 4))
    across = 0.72 * nearby * ((np.arange(len(values)) * GOLDEN) % 1 - 0.5)
    titles = [f"row {number}: utility {short(float(u))}" for number, u in zip(numbers, values, strict=True)]
    chart.points(values, k + across, k % 2, titles, 2.4)


def confusion_table(subject: Subject, predicted: np.ndarray) -> str:
    """Count the rows of each rank by the rank that is predicted."""
    names = subject.label_names or []
    if len(names) > MAX_CLASSES:
        return paragraph(
            f"The table of {len(names)} ranks given and predicted is left out for its size.", "note"
        )
    counts = confusion_matrix(subject.class_of_row, predicted, labels=range(len(names)))
    rows: list[list[Cell]] = [
        [name, *(Number(float(count)) for count in counts[k])] for k, name in enumerate(names)
    ]
    header = ["Rank given", *(f"predicted {name}" for name in names)]
    return table("Rows by rank given and rank predicted", header, rows, name="confusion")


def graph_section(subject: Subject) -> str:
    """Draw the order graph, and list the share of pairs in the right order along each edge."""
    ranker, names = subject.ranker, subject.label_names or []
    number = {value: k for k, value in enumerate(np.asarray(ranker.classes_).tolist())}
    edges = [(number[high], number[low]) for high, low in ranker.edges_]
    sizes = np.bincount(subject.class_of_row, minlength=len(names))
    shares = {edge: edge_share(subject, edge) for edge in edges if sizes[edge[0]] and sizes[edge[1]]}
    rows: list[list[Cell]] = [
        [
            f"{names[high]} above {names[low]}",
            Number(float(sizes[high]) * float(sizes[low])),
            Number(shares.get((high, low))),
        ]
        for high, low in edges
    ]
    drawn = (
        figure(graph_picture(names, edges, sizes, shares), GRAPH_CAPTION, wide=True)
        if len(names) <= MAX_CLASSES
        else ""
    )
    listed = table("Edges of the order graph", ["Edge", "Pairs", "In the right order"], rows, name="edges")
    return section("graph", "The order of the classes", drawn, listed)


GRAPH_CAPTION = (
    "An arrow leads from a class to one that it should be above, with the share of pairs in that order."
)


def edge_share(subject: Subject, edge: tuple[int, int]) -> float:
    """Give the share of pairs of rows of two classes that are in the right order."""
    rows = np.isin(subject.class_of_row, edge)
    return wmw(subject.class_of_row[rows] == edge[0], subject.main_scores[rows])


def graph_picture(
    names: list[str], edges: list[tuple[int, int]], sizes: np.ndarray, shares: dict[tuple[int, int], float]
) -> str:
    """Draw classes in layers, highest on top."""
    from rankwise.plotting.layers import bends, places  # here, as the displays use parts of this package

    stretch = max([1.0, *(min(len(name), 24) / 10 for name in names)])
    codes: Any = list(range(len(names)))
    place = places(edges, codes, stretch)
    bent = bends(edges, place, stretch)
    middles = {edge: _middle(place[edge[0]], place[edge[1]], bend) for edge, bend in bent.items()}
    points = np.array([*place.values(), *middles.values()])
    unit, room = np.array([92.0, -112.0]), np.array([56.0 * stretch + 8, 34.0])
    corner = (points * unit).min(axis=0) - room
    width, height = (points * unit).max(axis=0) + room - corner

    def at(point: Any) -> Any:
        return np.asarray(point) * unit - corner

    parts = [ARROW]
    for edge, bend in bent.items():
        parts.append(
            _arrow(at(place[edge[0]]), at(_control(place[edge[0]], place[edge[1]], bend)), at(place[edge[1]]))
        )
    parts += [_node(at(place[k]), names[k], int(sizes[k]), 50.0 * stretch) for k in codes]
    parts += [_edge_label(at(middles[edge]), shares[edge]) for edge in bent if edge in shares]
    top = names[edges[0][0]] if edges else ""
    return picture(
        f"Order graph of {len(names)} classes with {len(edges)} edges, such as from {top}",
        width,
        height,
        parts,
    )


ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
    'orient="auto"><path d="M0 0L10 5L0 10z" class="arrowhead"/></marker></defs>'
)


def _control(start: Any, end: Any, bend: float) -> tuple[float, float]:
    across, up = end[0] - start[0], end[1] - start[1]
    return (start[0] + end[0]) / 2 + bend * up, (start[1] + end[1]) / 2 - bend * across


def _middle(start: Any, end: Any, bend: float) -> tuple[float, float]:
    x, y = _control(start, end, bend)
    return (start[0] + end[0] + 2 * x) / 4, (start[1] + end[1] + 2 * y) / 4


def _arrow(start: Any, control: Any, end: Any) -> str:
    """Draw a curve from below one box to above another."""
    towards = (control - end) / np.hypot(*(control - end))
    tip = end + towards * 25 / max(abs(float(towards[1])), 0.35)
    return (
        f'<path class="edge" marker-end="url(#arrow)" d="M{start[0]:.1f} {start[1]:.1f}Q{control[0]:.1f} '
        f'{control[1]:.1f} {tip[0]:.1f} {tip[1]:.1f}"/>'
    )


def _node(place: Any, name: str, n_rows: int, half: float) -> str:
    x, y = place
    shown = name if len(name) <= 24 else name[:23] + "…"
    return (
        f"<g><title>{text(name)}: {plural(n_rows, 'row')}</title>"
        f'<rect class="node" x="{x - half:.1f}" y="{y - 23:.1f}" width="{2 * half:.1f}" height="46" rx="8"/>'
        f'<text class="strong" x="{x:.1f}" y="{y - 3:.1f}" text-anchor="middle">{text(shown)}</text>'
        f'<text x="{x:.1f}" y="{y + 14:.1f}" text-anchor="middle">{plural(n_rows, "row")}</text></g>'
    )


def _edge_label(place: Any, value: float) -> str:
    x, y = place
    return (
        f'<rect class="plate" x="{x - 24:.1f}" y="{y - 10:.1f}" width="48" height="20" rx="4"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="middle">{share(value)}</text>'
    )
