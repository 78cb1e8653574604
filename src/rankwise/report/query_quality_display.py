"""The distribution of a measure over queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.text import plural, share, short
from rankwise.core.types import FloatArray
from rankwise.evaluation.models import scores_of
from rankwise.evaluation.names import metric_name
from rankwise.evaluation.pair_measures import ranking_error
from rankwise.report.axes import Display
from rankwise.report.marks import Axis, Dots, Intervals, Mark, Picture, rows_axis

# The number of columns of dots, and the space between dots above each other and above the mean, in strips.
COLUMNS, STEP, FIRST, HEIGHT = 64, 0.1, 0.2, 0.74
# The pixels of a strip, and the largest number of dots of a picture.
STRIP, MOST_DOTS = 66, 400


@dataclass(eq=False)
class QueryQualityDisplay(Display):
    """A measure of each query as a dot, one strip per model on a common axis, above the mean of the strip.

    Parameters
    ----------
    values : array of shape (n_queries,), or dict of name to such arrays
        The measure of each query, NaN if it is undefined.
    measure : str
        The name of the measure.
    means : sequence of (mean, low, high), optional
        The mean of each strip and its interval; by default the mean of the queries.
    queries : sequence of n_queries str, optional
        The names of the queries, shown on hover.
    kind : {"number", "share"}
        Whether values are written in per cent.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.report.query_quality_display import QueryQualityDisplay
    >>> X, y, qid = make_ranking(900, 3, n_queries=90, noise=1.0, random_state=0)
    >>> train, test = qid < 30, qid >= 30
    >>> model = RankSVM().fit(X[train], y[train], qid=qid[train])
    >>> QueryQualityDisplay.from_estimator(model, X[test], y[test], qid[test])  # doctest: +SKIP
    """

    values: ArrayLike | Mapping[str, ArrayLike]
    measure: str = "ranking error"
    means: Sequence[tuple[float, float, float]] | None = None
    queries: Sequence[str] | None = None
    kind: Literal["number", "share"] = "number"

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, qid: ArrayLike, *, metric: Callable = ranking_error,
        ax: Any = None, **options: Any,
    ) -> QueryQualityDisplay:  # fmt: skip
        """Draw the quality of a fitted estimator on rows X.

        Parameters
        ----------
        estimator : fitted estimator or Pipeline
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y, qid : arrays of shape (n_rows,)
        metric : function of `rankwise.metrics` with a parameter `per_query`
        ax : matplotlib Axes, optional
            A new figure by default.
        **options
            Options of the metric, such as k=10.
        """
        scores = scores_of(estimator, X, type(estimator).__name__)
        return cls.from_predictions(y, scores, qid, metric=metric, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls, y: Any, scores: ArrayLike, qid: ArrayLike, *, metric: Callable = ranking_error, ax: Any = None,
        **options: Any,
    ) -> QueryQualityDisplay:  # fmt: skip
        """Draw the quality of scores.

        Parameters
        ----------
        y, scores, qid : arrays of shape (n_rows,)
        metric, ax, **options :
            As in `from_estimator`.
        """
        return cls(metric(y, scores, qid, per_query=True, **options), metric_name(metric, options)).plot(ax)

    def picture(self, n_dots: int = MOST_DOTS) -> Picture:
        """Return the strips as marks.

        Parameters
        ----------
        n_dots : int
            The largest number of dots. Of more queries, some are drawn, evenly spaced in their order.
        """
        given = self.values if isinstance(self.values, Mapping) else {"": self.values}
        strips = {name: np.asarray(values, dtype=np.float64) for name, values in given.items()}
        if all(np.isnan(values).all() for values in strips.values()):
            raise ValueError(f"{self.measure} is undefined for all queries.")
        known = np.concatenate(list(strips.values()))
        ends = float(np.nanmin(known)), float(np.nanmax(known))
        room = max(1, n_dots // len(strips))
        marks: list[Mark] = [
            self._strip(place, name, values, ends, room)
            for place, (name, values) in enumerate(strips.items())
        ]
        means = self.means or [(float(np.nanmean(values)), np.nan, np.nan) for values in strips.values()]
        middle, low, high = np.array(means, dtype=np.float64).T
        told = [
            f"{name or self.measure}: mean {self._text(a)}"
            + (f", from {self._text(b)} to {self._text(c)}" if b == b else "")
            for name, (a, b, c) in zip(strips, means, strict=True)
        ]
        places = np.arange(len(strips))
        marks += [
            Intervals(low, high, "solid", titles=told),
            Dots(middle, places, "solid", titles=told, radius=7, shape="tick"),
        ]
        n_queries = max(int(np.count_nonzero(~np.isnan(values))) for values in strips.values())
        return Picture(
            f"{self.measure} of {plural(n_queries, 'query')}: the mean is {self._text(middle[0])}",
            marks,
            Axis(self.measure, kind=self.kind),
            rows_axis(list(strips)),
            (560, 64 + STRIP * len(strips)),
        )

    def _strip(self, place: int, name: str, values: FloatArray, ends: tuple[float, float], room: int) -> Dots:
        """Return the dots of a strip, above each other if they are close."""
        order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
        if len(order) > room:
            order = order[np.linspace(0, len(order) - 1, room).astype(int)]
        shown = values[order]
        width = (ends[1] - ends[0]) / COLUMNS or 1.0
        column = np.floor((shown - ends[0]) / width).astype(int)
        height = np.arange(len(shown)) - np.searchsorted(column, column, side="left")
        step = min(STEP, HEIGHT / max(1, height.max(initial=0)))
        words = [f"{self.queries[k]}: " if self.queries is not None else "" for k in order.tolist()]
        titles = [f"{word}{self._text(value)}" for word, value in zip(words, shown.tolist(), strict=True)]
        return Dots(shown, place - FIRST - step * height, place, titles=titles, radius=3)

    def _text(self, value: float) -> str:
        return share(value) if self.kind == "share" else short(value)
