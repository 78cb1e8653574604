"""Sections for kinds of labels: ROC curves, ranks by utility, order graphs, and survival times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, roc_curve

from rankwise.core.text import listed, plural, share, short
from rankwise.core.types import FloatArray
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.pair_measures import ranking_error
from rankwise.report.marks import Axis, Dots, Line, Mark, Picture
from rankwise.report.order_graph_display import edge_shares, layers_of
from rankwise.report.page import Number, figure, figures, paragraph, section, table
from rankwise.report.survival_display import SurvivalCurve, SurvivalDisplay, curves_by_score
from rankwise.report.utility_display import UtilityAxis, UtilityDisplay

MAX_CURVE_POINTS = 200


class Roc(NamedTuple):
    """A ROC curve and the area under it, the fraction of pairs in the right order."""

    false: FloatArray
    true: FloatArray
    area: float


def roc(positive: NDArray[np.bool_], scores: FloatArray, weight: FloatArray | None = None) -> Roc:
    """Return the ROC curve of scores, thinned out to at most 200 points.

    Examples
    --------
    >>> roc(np.array([False, True, False]), np.array([0.1, 0.9, 0.5])).area
    1.0
    """
    false, true, _ = roc_curve(positive, scores, sample_weight=weight)
    kept = np.unique(np.linspace(0, len(false) - 1, min(len(false), MAX_CURVE_POINTS)).astype(int))
    return Roc(false[kept], true[kept], 1.0 - float(ranking_error(positive, scores, sample_weight=weight)))


def roc_picture(curves: Mapping[str, Roc]) -> Picture:
    """Return the ROC curves of named models as marks."""
    lines = [
        Line(curve.false, curve.true, style, f"{name}: area {share(curve.area)}")
        for style, (name, curve) in enumerate(curves.items())
    ]
    chance = Line([0.0, 1.0], [0.0, 1.0], "dashed")
    rates = Axis("false positive rate", (0.0, 1.0)), Axis("true positive rate", (0.0, 1.0))
    return Picture("ROC curves of " + ", ".join(curves), [chance, *lines], *rates, (480, 400))


def labels_picture(
    scores: FloatArray, labels: FloatArray, titles: Sequence[str], is_censored: NDArray[np.bool_], label: str
) -> Picture:
    """Return labels against scores as dots; rows with a censored time are rings."""
    marks: list[Mark] = []
    for style, (name, chosen) in enumerate({"event": ~is_censored, "censored": is_censored}.items()):
        own = [title for title, is_own in zip(titles, chosen.tolist(), strict=True) if is_own]
        if own:
            named = name if is_censored.any() else ""
            shape: Literal["dot", "ring"] = "ring" if style else "dot"
            marks.append(Dots(scores[chosen], labels[chosen], style, named, own, 2.6, shape))
    name = f"Labels against scores of {plural(len(scores), 'row')}"
    return Picture(name, marks, Axis("score"), Axis(label))


MAX_CURVES = 6
ROC_CAPTION = "The area under the curve is the fraction of pairs in the right order."
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
    curves = {name: roc(positive, data.scores[name], row_weights(data)) for name in names}
    rows = [[name, Number(curve.area, share(curve.area))] for name, curve in curves.items()]
    pooled = " The rows of all queries are pooled." if data.n_queries > 1 else ""
    return section(
        "roc",
        "ROC curve",
        figures(
            figure(roc_picture(curves), ROC_CAPTION + pooled, key=True),
            table("Area under the ROC curve", ["Model", "Area"], rows, name="areas"),
        ),
    )


def row_weights(data: EvaluationData) -> Any:
    """Return the weights of the rows, None if all are equal."""
    return getattr(data.preferences, "weight", None)


def utility_section(data: EvaluationData) -> str:
    """Show the rows by utility, with the thresholds between ranks."""
    names = data.label_names or []
    axis = UtilityAxis(data.main_scores, data.class_of_row, np.asarray(data.ranker.thresholds_))
    off = np.abs(axis.predicted - axis.rank)
    right = share(np.mean(off == 0))
    words = (
        f"{plural(len(axis.thresholds), 'threshold')} of the utility. The rank of {right} of the rows is "
        f"predicted correctly; the mean absolute error of the rank is {short(np.mean(off))}."
    )
    step = max(1, int(np.ceil(len(axis.utility) / MAX_UTILITY_POINTS)))
    display = UtilityDisplay(axis, names, [data.row_id(row) for row in range(len(axis.utility))])
    drawn = "" if len(names) > MAX_CLASSES else figure(display.picture(step), UTILITY_CAPTION, wide=True)
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


def confusion_table(names: list[str], axis: UtilityAxis) -> str:
    """Return the confusion matrix of the ranks."""
    if len(names) > MAX_CLASSES:
        return paragraph(
            f"The confusion matrix of {len(names)} ranks is left out; the limit is {MAX_CLASSES}.",
            "note",
        )
    counts = confusion_matrix(axis.rank, axis.predicted, labels=range(len(names)))
    rows = [[name, *(count for count in counts[k])] for k, name in enumerate(names)]
    header = ["True rank", *(f"predicted {name}" for name in names)]
    return table("Rows by true and predicted rank", header, rows, name="confusion")


def graph_section(data: EvaluationData) -> str:
    """List the layers of the order graph, and the concordance of each edge."""
    names, edges = data.label_names or [], data.edges or []
    sizes, shares = edge_shares(edges, data.class_of_row, data.main_scores, row_weights(data))
    rows = [
        [
            f"{names[high]} above {names[low]}",
            float(sizes[high]) * float(sizes[low]),
            Number(shares[high, low], share(shares[high, low])) if (high, low) in shares else None,
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
