"""Sections for kinds of labels: ROC curves, ranks by utility, order graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from rankwise.core.text import escaped, listed, plural, share, short
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.names import row_words, shortened
from rankwise.figures.distribution import roc
from rankwise.figures.order_graph import edge_shares, layers_of
from rankwise.figures.utility import UtilityAxis
from rankwise.report.page import Cell, Number, figure, paragraph, section, table
from rankwise.report.svg import Chart

MAX_CURVES = 6
MAX_UTILITY_POINTS = 800
MAX_CLASSES = 30


def shapes_section(data: EvaluationData) -> str:
    """Return the section for the kind of the labels, if there is one."""
    if data.edges is not None:
        return graph_section(data)
    if hasattr(data.ranker, "thresholds_") and hasattr(data, "class_of_row"):
        return utility_section(data)
    return roc_section(data) if has_two_classes(data) else ""


def has_two_classes(data: EvaluationData) -> bool:
    """Return whether the labels are two ordered classes."""
    return data.is_ordered_by_labels and len(np.unique(data.y)) == 2


def roc_section(data: EvaluationData) -> str:
    """Draw the ROC curve of each model over all rows."""
    positive = data.y == data.y.max()
    names = list(data.scores)[:MAX_CURVES]
    chart = Chart(
        "ROC curves of " + ", ".join(names), (0.0, 1.0), (0.0, 1.0),
        x_label="false positive rate", y_label="true positive rate", height=400,
    )  # fmt: skip
    chart.segment((0.0, 1.0), (0.0, 1.0), "rule")
    rows: list[list[Cell]] = []
    for style, name in enumerate(names):
        false, true, area = roc(positive, data.scores[name], row_weights(data))
        chart.line(false, true, style, name=f"{name}: area {area:.4f}")
        rows.append([name, Number(area)])
    pooled = " The rows of all queries are pooled." if data.n_queries > 1 else ""
    return section(
        "roc",
        "ROC curve",
        '<div class="figures">',
        figure(
            chart.render(), "The area under the curve is the fraction of pairs in the right order." + pooled
        ),
        "<div>" + table("Area under the ROC curve", ["Model", "Area"], rows, name="areas") + legend(names),
        "</div></div>",
    )


def row_weights(data: EvaluationData) -> Any:
    """Return the weights of the rows, None if all are equal."""
    return getattr(data.preferences, "weight", None)


def legend(names: list[str], dots: Sequence[int] = ()) -> str:
    """Return a legend of the lines, or of the dots of the given styles, empty for one of them."""
    if len(names) < 2:
        return ""
    mark = "circle cx='20' cy='5' r='4' class='dot" if dots else "polyline points='0,5 40,5' class='line"
    items = "".join(
        f'<li><svg viewBox="0 0 40 10" width="40" height="10" aria-hidden="true" class="key">'
        f"<{mark} s{style}'/></svg> {escaped(name)}</li>"
        for style, name in zip(dots or range(len(names)), names, strict=True)
    )
    return f'<ul class="legend">{items}</ul>'


def utility_section(data: EvaluationData) -> str:
    """Show the rows by utility, with the thresholds between ranks."""
    names = data.label_names or []
    axis = UtilityAxis(data.main_scores, data.class_of_row, np.asarray(data.ranker.thresholds_))
    off = np.abs(axis.predicted - axis.rank)
    right = share(float(np.mean(off == 0)))
    words = (
        f"{plural(len(axis.thresholds), 'threshold')} of the utility. The rank of {right} of the rows is "
        f"predicted correctly; the mean absolute error of the rank is {short(float(np.mean(off)))}."
    )
    drawn = "" if len(names) > MAX_CLASSES else figure(utility_chart(data, axis), UTILITY_CAPTION, wide=True)
    return section(
        "utility",
        "Ranks by utility",
        paragraph(words),
        drawn,
        confusion_table(names, axis),
    )


UTILITY_CAPTION = (
    "Each dot is a row, in the lane of its true rank. That rank is predicted in the shaded part of the lane; "
    "the fraction of rows inside is written at the end of the lane."
)


def utility_chart(data: EvaluationData, axis: UtilityAxis) -> str:
    """Draw one lane per rank, the highest on top."""
    names = data.label_names or []
    low, high = axis.limits
    chart = Chart(
        f"Rows by utility, in {len(names)} ranks", (low, high), (-0.5, len(names) - 0.5),
        x_label="utility", width=760, height=70 + 48 * len(names), left=110, right=58,
    )  # fmt: skip
    for k, name in enumerate(names):
        chart.box((axis.fence[k], axis.fence[k + 1]), (k - 0.44, k + 0.44), "lane", f"predicted {name}")
        chart.label(low, k, shortened(name, 14), "end", (-10, 4))
        _draw_rank(chart, k, axis, data)
        if axis.share(k) == axis.share(k):
            chart.label(high, k, f"{axis.share(k):.0%}", "start", (8, 4))
    for number, threshold in enumerate(axis.thresholds.tolist(), 1):
        chart.segment(
            (threshold, threshold),
            (-0.5, len(names) - 0.5),
            "boundary",
            f"threshold {number}: {short(threshold)}",
        )
    return chart.render(y_ticks=False)


def _draw_rank(chart: Chart, k: int, axis: UtilityAxis, data: EvaluationData) -> None:
    """Draw the rows of a rank in its lane, thinned out if there are many."""
    rows, off = axis.lane(k, step=max(1, int(np.ceil(len(axis.utility) / MAX_UTILITY_POINTS))))
    titles = [
        f"{row_words(data.row_id(row))}: utility {short(float(axis.utility[row]))}" for row in rows.tolist()
    ]
    chart.points(axis.utility[rows], k + off, k % 2, titles, 2.4)


def confusion_table(names: list[str], axis: UtilityAxis) -> str:
    """Return the confusion matrix of the ranks."""
    if len(names) > MAX_CLASSES:
        return paragraph(
            f"The confusion matrix of {len(names)} ranks is left out; the limit is {MAX_CLASSES}.",
            "note",
        )
    counts = confusion_matrix(axis.rank, axis.predicted, labels=range(len(names)))
    rows: list[list[Cell]] = [
        [name, *(Number(float(count)) for count in counts[k])] for k, name in enumerate(names)
    ]
    header = ["True rank", *(f"predicted {name}" for name in names)]
    return table("Rows by true and predicted rank", header, rows, name="confusion")


def graph_section(data: EvaluationData) -> str:
    """List the layers of the order graph, and the concordance of each edge."""
    names, edges = data.label_names or [], data.edges or []
    sizes, shares = edge_shares(edges, data.class_of_row, data.main_scores, row_weights(data))
    rows: list[list[Cell]] = [
        [
            f"{names[high]} above {names[low]}",
            Number(float(sizes[high]) * float(sizes[low])),
            Number(shares.get((high, low))),
        ]
        for high, low in edges
    ]
    header = ["Layer", "Classes, with their rows"]
    layers = [
        [str(number), listed([f"{names[k]} ({sizes.get(k, 0):,})" for k in layer], MAX_CLASSES)]
        for number, layer in enumerate(layers_of(edges, range(len(names))), 1)
    ]
    return section(
        "graph",
        "The order of the classes",
        table("Layers of the order graph, the highest first", header, layers, name="layers"),
        table("Edges of the order graph", ["Edge", "Pairs", "In the right order"], rows, name="edges"),
    )
