"""ROC curves, and labels against scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_curve

from rankwise.core.text import plural
from rankwise.core.types import FloatArray
from rankwise.evaluation.pair_measures import ranking_error
from rankwise.report.marks import Axis, Dots, Line, Mark, Picture

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
        Line(curve.false, curve.true, style, f"{name}: area {curve.area:.4f}")
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
