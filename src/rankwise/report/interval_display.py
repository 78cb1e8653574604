"""Named values with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankwise.core.types import FloatArray
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Dots, Intervals, Line, Mark, Picture, rows_axis


def interval_picture(
    name: str,
    names: Sequence[str],
    values: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    *,
    label: str,
    titles: Sequence[str] | None = None,
    beside: Sequence[str] = (),
    below: Sequence[Mark] = (),
    kind: Literal["number", "share"] = "number",
) -> Picture:
    """Return named values with their intervals from the top down as marks, over the marks `below`.

    Undefined values and intervals are left out.
    """
    known = np.flatnonzero(np.isfinite(values))
    shown = None if titles is None else [titles[k] for k in known.tolist()]
    dots = Dots(values[known], known, titles=shown, radius=4)
    return Picture(
        name,
        [*below, Intervals(*ends, titles=titles), dots],
        Axis(label, kind=kind),
        rows_axis(names, beside),
        (560, 70 + 26 * len(names)),
    )


@dataclass(eq=False)
class OrderComparisonDisplay(Display):
    """The concordance of held-out pairs for each order graph, the best on top: mean, range and folds.

    Parameters
    ----------
    comparison : OrderComparison
        From `rankwise.model_selection.compare_orders`.

    Examples
    --------
    >>> from rankwise import HullRanker
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.model_selection import compare_orders
    >>> from rankwise.report.interval_display import OrderComparisonDisplay
    >>> X, y = make_ranking(60, 3, n_levels=3, noise=1.0, random_state=0)
    >>> display = OrderComparisonDisplay(compare_orders(HullRanker(), X, y, cv=3))
    >>> display = display.plot()  # doctest: +SKIP
    """

    comparison: Any

    def picture(self) -> Picture:
        """Return the means with the ranges over the folds as marks, and each fold as a thin line."""
        order = np.argsort(-self.comparison.mean, kind="stable")
        scores = self.comparison.scores[order]
        folds = [Line(fold, np.arange(len(order)), "faint") for fold in scores.T]
        return interval_picture(
            "Held-out pairs in the right order, by order graph",
            [self.comparison.names[k] for k in order],
            self.comparison.mean[order],
            (scores.min(axis=1), scores.max(axis=1)),
            label="held-out pairs in the right order (mean and range over folds)",
            below=folds,
        )
