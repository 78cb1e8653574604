"""How well scores rank: each measure for each query, its mean, and an interval for the mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import metrics
from rankwise.preferences import NoPairsError, Preferences
from rankwise.preferences.order_graph import present_edges
from rankwise.report.subject import Subject

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

RESAMPLES = 1000
# A resample of the rows measures everything anew, so that there are fewer of them for many rows, or none.
ROWS_IN_ALL = 2_000_000
FEWEST_RESAMPLES = 100
ROWS_AT_A_TIME = 1_000_000
MAX_ROWS = 50_000
CONFIDENCE = 0.95
# Gains of 2^label say nothing for labels that are no grades.
LARGEST_GRADE = 31


@dataclass(frozen=True)
class Measure:
    """A measure of the library; `of(labels, scores, query)` gives its value for each query."""

    key: str
    name: str
    higher_is_better: bool
    of: Callable[[FloatArray, FloatArray, IntArray], FloatArray]


@dataclass(frozen=True)
class Measured:
    """A measure of the scores of one model.

    Attributes
    ----------
    values : array of shape (n_queries,), NaN where undefined
    mean, low, high : float
        The mean over the queries where it is defined, and the ends of its interval.
    draws : array
        The resampled means; those of one query are on the same rows for all models.
    """

    measure: Measure
    values: FloatArray
    mean: float
    low: float
    high: float
    draws: FloatArray = field(repr=False)

    @property
    def n_defined(self) -> int:
        """The number of queries for which the measure is defined."""
        return int(np.count_nonzero(~np.isnan(self.values)))


def measures_for(
    subject: Subject, at: Sequence[int], relevant_above: float
) -> tuple[list[Measure], list[str]]:
    """Give the measures that say something about these labels, and why others do not."""
    if hasattr(subject.ranker, "edges_"):
        return _graph_measures(subject), []
    found = [
        Measure("error", "Ranking error", False, _per_query(metrics.ranking_error)),
        Measure("tau", "Kendall's tau", True, _per_query(metrics.kendall_tau)),
    ]
    notes = []
    y = subject.y
    if (y >= 0).all() and (y == np.round(y)).all() and y.max() <= LARGEST_GRADE:
        found[1:1] = [Measure(f"ndcg@{k}", f"NDCG@{k}", True, _per_query(metrics.ndcg, k=int(k))) for k in at]
    else:
        notes.append(
            "NDCG is left out: it is for grades, whole numbers from 0 up, and these labels are no grades."
        )
    relevant = y > relevant_above
    if relevant.any() and not relevant.all():
        name = "MAP" if subject.n_queries > 1 else "Average precision"
        precision = _per_query(metrics.average_precision, relevant_above=relevant_above)
        found.insert(-1, Measure("map", name, True, precision))
        notes.append(f"{name} takes labels from {y[relevant].min():g} up as relevant.")
    else:
        notes.append("MAP is left out: all rows are relevant, or none.")
    return found, notes


def _per_query(metric: Callable[..., Any], **options: Any) -> Callable[..., FloatArray]:
    def of(labels: FloatArray, scores: FloatArray, query: IntArray) -> FloatArray:
        return np.asarray(metric(labels, scores, query, per_query=True, **options))

    return of


def _graph_measures(subject: Subject) -> list[Measure]:
    """Give the measures of classes with an order graph; labels are numbers of classes here."""
    number = {value: k for k, value in enumerate(np.asarray(subject.ranker.classes_).tolist())}
    edges = [(number[high], number[low]) for high, low in subject.ranker.edges_]
    rank = dict(zip(subject.y.tolist(), subject.class_of_row.tolist(), strict=True))

    def wmw(classes: IntArray, scores: FloatArray) -> float:
        return metrics.wmw(classes, scores, order=present_edges(edges, classes))

    def error(classes: IntArray, scores: FloatArray) -> float:
        return float(
            metrics.ranking_error(Preferences.from_order(classes, present_edges(edges, classes)), scores)
        )

    def per_query(metric: Callable[[IntArray, FloatArray], float]) -> Callable[..., FloatArray]:
        def of(labels: FloatArray, scores: FloatArray, query: IntArray) -> FloatArray:
            classes = np.array([rank[label] for label in labels.tolist()])
            parts = np.split(np.argsort(query, kind="stable"), np.cumsum(np.bincount(query))[:-1])
            return np.array([_defined(metric, classes[rows], scores[rows]) for rows in parts])

        return of

    return [
        Measure("error", "Ranking error", False, per_query(error)),
        Measure("wmw", "WMW over the order graph", True, per_query(wmw)),
    ]


def _defined(metric: Callable[..., float], classes: IntArray, scores: FloatArray) -> float:
    try:
        return metric(classes, scores)
    except NoPairsError:
        return float("nan")


def measure(subject: Subject, measures: Sequence[Measure], seed: int) -> dict[str, list[Measured]]:
    """Measure all models; the same resamples serve all of them."""
    values = {
        name: [chosen.of(subject.y, scores, subject.query) for chosen in measures]
        for name, scores in subject.scores.items()
    }
    draws = resampled(subject, measures, values, seed)
    return {
        name: [
            Measured(chosen, found, _mean(found), *interval(drawn), drawn)
            for chosen, found, drawn in zip(measures, values[name], draws[name], strict=True)
        ]
        for name in values
    }


def resampled(
    subject: Subject, measures: Sequence[Measure], values: dict[str, list[FloatArray]], seed: int
) -> dict[str, list[FloatArray]]:
    """Give means over resampled queries, or measures of resampled rows where there is one query."""
    generator = np.random.default_rng(seed)
    if len(next(iter(values.values()))[0]) > 1:
        return {
            name: [resampled_means(found, np.random.default_rng(seed)) for found in listed]
            for name, listed in values.items()
        }
    draws: dict[str, list[list[FloatArray]]] = {name: [[] for _ in measures] for name in values}
    n_rows = len(subject.y)
    for size in batches(n_row_resamples(n_rows), n_rows):
        rows = generator.integers(n_rows, size=(size, n_rows)).ravel()
        query = np.repeat(np.arange(size), n_rows)  # a resample is a query: all are measured in one pass
        for name, scores in subject.scores.items():
            for chosen, kept in zip(measures, draws[name], strict=True):
                kept.append(chosen.of(subject.y[rows], scores[rows], query))
    return {name: [np.concatenate([*kept, []]) for kept in listed] for name, listed in draws.items()}


def batches(count: int, n_rows: int) -> list[int]:
    """Part a number of resamples so that memory stays small.

    Examples
    --------
    >>> batches(1000, 400), batches(100, 20_000)
    ([1000], [50, 50])
    """
    size = max(1, ROWS_AT_A_TIME // n_rows)
    return [min(size, count - start) for start in range(0, count, size)]


def resampled_means(values: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Give the mean of as many values drawn with replacement, many times; undefined ones are left out."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return np.empty(0)
    n = len(defined)
    return np.array([defined[generator.integers(n, size=n)].mean() for _ in range(RESAMPLES)])


def n_row_resamples(n_rows: int) -> int:
    """Give how often rows are resampled.

    Examples
    --------
    >>> n_row_resamples(500), n_row_resamples(10_000), n_row_resamples(1_000_000)
    (1000, 200, 0)
    """
    if n_rows > MAX_ROWS:
        return 0
    return int(np.clip(ROWS_IN_ALL // n_rows, FEWEST_RESAMPLES, RESAMPLES))


def interval(draws: FloatArray) -> tuple[float, float]:
    """Give the quantiles of a bootstrap, NaN without draws."""
    known = draws[~np.isnan(draws)]
    if len(known) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def how(subject: Subject) -> str:
    """Say where intervals come from."""
    if subject.n_queries > 1:
        return f"95% intervals: queries drawn with replacement, {RESAMPLES:,} times."
    resamples = n_row_resamples(len(subject.y))
    if resamples == 0:
        return f"No intervals: there is one query and more than {MAX_ROWS:,} rows."
    return f"95% intervals: there is one query, so rows are drawn with replacement, {resamples:,} times."


def _mean(values: FloatArray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
