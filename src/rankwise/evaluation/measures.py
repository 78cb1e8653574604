"""Measures of scores: values per query, their mean, and an interval of the mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rankwise import metrics
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.bootstrap import (
    CONFIDENCE,
    interval,
    resampled_clusters,
    resampled_preferences,
    resampled_rows,
    weighted_mean,
)
from rankwise.evaluation.label_facts import LabelFacts
from rankwise.evaluation.names import measure_name
from rankwise.metrics import sorted_lists
from rankwise.metrics.concordance import concordance_estimate
from rankwise.metrics.intervals import (
    Estimate,
    cluster_of_units,
    clustered,
    error_estimate,
    mean_estimate,
    units_of,
)
from rankwise.metrics.one_ranking import SortedRanking, error_of, tau_of
from rankwise.metrics.rows import Undefined
from rankwise.model_selection.scoring import LOWER_IS_BETTER, METRICS, parsed_measure
from rankwise.preferences import NoPairsError, Preferences
from rankwise.preferences.order_graph import present_edges

# Other measures are between 0 and 1.
BOUNDS = {"tau": (-1.0, 1.0), "log_loss": None}
# The options of each measure beside labels, scores and queries.
OPTIONS = {
    "ndcg": ("gain", "undefined"),
    "map": ("relevant_above", "undefined"),
    "mrr": ("relevant_above", "undefined"),
    "p": ("relevant_above",),
}
# Measures of one ranking in parts.
OF_RANKING: dict[str, Callable[..., float]] = {
    "error": error_of,
    "tau": tau_of,
    "ndcg": sorted_lists.ndcg_of,
    "map": sorted_lists.average_precision_of,
    "mrr": sorted_lists.reciprocal_rank_of,
    "p": sorted_lists.precision_of,
}


@dataclass(frozen=True)
class Measure:
    """A measure: its key, its name for display, whether higher values are better, and its bounds if any.

    The mean over queries of a measure that `is_total`, such as a number of documents, is replaced by the sum.
    """

    key: str
    name: str
    higher_is_better: bool
    bounds: tuple[float, float] | None = field(default=None, kw_only=True)
    is_total: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Metric(Measure):
    """A measure of scores; `of(y, scores, query)` returns its value per query.

    `y` is an array of labels, or a `Preferences` with its own queries; `query` is then ignored. If the
    independent units are rows, `over_rows(y, scores)` estimates a measure of pairs. `of_ranking` returns the
    value of one ranking in parts; None if it needs all scores in one place.
    """

    of: Callable[[Any, FloatArray, IntArray], FloatArray] = field(repr=False)
    over_rows: Callable[[Preferences, FloatArray], Estimate] | None = field(default=None, repr=False)
    of_ranking: Callable[[SortedRanking], float] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Measured:
    """A measure of the scores of one model.

    Attributes
    ----------
    values : array of shape (n_queries,), NaN if undefined
    mean, low, high : float
        The mean over the queries for which it is defined, and the ends of its interval.
    units : {"queries", "rows", "groups", "clusters", "resamples"}
        The units of the mean, or resamples of rows for measures of the whole list.
    estimate : Estimate or None
        The mean with the influence of each unit; None for resamples.
    draws : array
        The values of the resamples, which are the same for all models.
    importance : array of shape (n_queries,), or None
        The weights of the queries in the mean, None if they are equal.
    cluster : array of int of shape (n_queries,), or None
        The cluster of each query, None if queries are independent.
    """

    measure: Measure
    values: FloatArray
    mean: float
    low: float
    high: float
    units: str = "queries"
    estimate: Estimate | None = field(default=None, repr=False)
    draws: FloatArray = field(default_factory=lambda: np.empty(0), repr=False)
    importance: FloatArray | None = field(default=None, repr=False)
    cluster: IntArray | None = field(default=None, repr=False)

    @property
    def in_order(self) -> tuple[float, float, float]:
        """The fraction of pairs in the right order, of a measure of pairs, and the ends of its interval."""
        if self.measure.higher_is_better:
            return self.mean, self.low, self.high
        return 1 - self.mean, 1 - self.high, 1 - self.low

    @property
    def n_defined(self) -> int:
        """The number of queries for which the measure is defined."""
        return int(np.count_nonzero(~np.isnan(self.values)))


def named_measure(key: str, **options: Any) -> Metric:
    """Return the measure with a key such as "error", "tau", "map", "mrr", "ndcg@10", "p@5" or "log_loss".

    `options` are `relevant_above` (of map, mrr and p), `gain` (of ndcg) and `undefined` (of ndcg, map and
    mrr); other measures ignore them. Names of ir-measures, such as "nDCG@10" or "P(rel=2)@5", have the first
    two in them.

    Examples
    --------
    >>> ndcg = named_measure("ndcg@1")
    >>> ndcg.name, ndcg.of(np.array([1.0, 0.0]), np.array([2.0, 1.0]), np.array([0, 0]))
    ('NDCG@1, exponential gain', array([1.]))
    """
    base, chosen = parsed_measure(key)
    known = {name: value for name, value in options.items() if name in OPTIONS.get(base, ())}
    chosen = known | chosen  # the gain or the grade of a name of ir-measures is part of it
    return Metric(
        key,
        measure_name(key, chosen.get("gain", "exponential")),
        base not in LOWER_IS_BETTER,
        _per_query(METRICS[base], **chosen),
        error_estimate if base == "error" else None,
        partial(_value_of_ranking, OF_RANKING[base], chosen) if base in OF_RANKING else None,
        bounds=BOUNDS.get(base, (0.0, 1.0)),
    )


def _per_query(metric: Callable[..., Any], **options: Any) -> Callable[..., FloatArray]:
    return partial(_values_per_query, metric, options)


def _values_per_query(
    metric: Callable[..., Any], options: dict[str, Any], y: Any, scores: FloatArray, query: IntArray
) -> FloatArray:
    given = None if isinstance(y, Preferences) else query
    try:
        return np.asarray(metric(y, scores, given, per_query=True, **options))
    except NoPairsError:
        return np.full(n_queries_of(y, query), np.nan)


def _value_of_ranking(metric: Callable[..., float], options: dict[str, Any], ranking: SortedRanking) -> float:
    options = dict(options)
    undefined = options.pop("undefined", "skip")
    value = metric(ranking, **options)
    return float(undefined) if np.isnan(value) and not isinstance(undefined, str) else value


def n_queries_of(y: Any, query: IntArray | None) -> int:
    """Return the number of queries, 1 without any."""
    if isinstance(y, Preferences):
        return len(y.query_importance())
    return 1 if query is None else int(query.max()) + 1


def measures_for(
    y: FloatArray | Preferences,
    n_queries: int,
    at: Sequence[int],
    relevant_above: float,
    undefined: Undefined = "skip",
) -> tuple[list[Metric], list[str]]:
    """Return the measures that are defined for these labels or preferences, and notes on the others."""
    if not isinstance(y, Preferences):
        return measures_of_labels(LabelFacts.of(y, relevant_above), n_queries, at, relevant_above, undefined)
    if y.labels is None or not y.orders_labels:
        return _measures_of_pairs(y)
    facts = LabelFacts.of(y.labels, relevant_above)
    chosen, notes = measures_of_labels(facts, n_queries, at, relevant_above, undefined)
    if not y.counts_pairs:
        notes.append("Weights of pairs enter the ranking error only.")
    return chosen, notes


def _measures_of_pairs(y: Preferences) -> tuple[list[Metric], list[str]]:
    """Return the measures that need no labels."""
    if y.event is not None:
        return [CONCORDANCE], ["Harrell's concordance: the fraction of comparable pairs in the right order."]
    note = "NDCG, MAP and Kendall's tau are left out: they need a label per row, which these pairs have not."
    chosen = [named_measure("error")]
    if y.classes is not None:
        chosen.append(Metric("wmw", measure_name("wmw"), True, _wmw_of_graph, bounds=(0.0, 1.0)))
    return chosen, [note]


CONCORDANCE = Metric(
    "concordance",
    measure_name("concordance"),
    True,
    lambda y, scores, query: np.array([metrics.concordance_index(y, scores)]),
    concordance_estimate,
    bounds=(0.0, 1.0),
)


def _wmw_of_graph(y: Preferences, scores: FloatArray, query: IntArray) -> FloatArray:
    return np.array([_defined(metrics.wmw, y, scores)])


def measures_of_labels(
    facts: LabelFacts, n_queries: int, at: Sequence[int], relevant_above: float, undefined: Undefined
) -> tuple[list[Metric], list[str]]:
    """Return the measures that are defined for labels, and notes on the others."""
    keys, notes = ["error"], []
    name = measure_name("map") if n_queries > 1 else "Average precision"
    if facts.are_grades:
        keys += [f"ndcg@{k}" for k in at]
    else:
        notes.append(
            "NDCG is left out: it needs grades (nonnegative integers), and these labels are not grades."
        )
    if 0 < facts.n_relevant < facts.n_rows:
        keys.append("map")
        notes.append(f"{name}: labels of at least {facts.lowest_relevant:g} are relevant.")
    else:
        notes.append("MAP is left out: all rows are relevant, or none.")
    options = {"relevant_above": relevant_above, "undefined": undefined}
    found = [named_measure(key, **options) for key in [*keys, "tau"]]
    return [replace(one, name=name) if one.key == "map" else one for one in found], notes


def graph_measures(y: FloatArray, class_of_row: IntArray, edges: Sequence[tuple[int, int]]) -> list[Metric]:
    """Return the measures of classes with an order graph; edges are pairs of class numbers."""
    number = dict(zip(y.tolist(), class_of_row.tolist(), strict=True))

    def wmw(classes: IntArray, scores: FloatArray) -> float:
        return metrics.wmw(classes, scores, order=present_edges(edges, classes))

    def error(classes: IntArray, scores: FloatArray) -> float:
        preferences = Preferences.from_order(classes, present_edges(edges, classes))
        return float(metrics.ranking_error(preferences, scores))

    def per_query(metric: Callable[[IntArray, FloatArray], float]) -> Callable[..., FloatArray]:
        def of(labels: FloatArray, scores: FloatArray, query: IntArray) -> FloatArray:
            classes = np.array([number[label] for label in labels.tolist()])
            parts = np.split(np.argsort(query, kind="stable"), np.cumsum(np.bincount(query))[:-1])
            return np.array([_defined(metric, classes[rows], scores[rows]) for rows in parts])

        return of

    return [
        Metric("error", measure_name("error"), False, per_query(error), bounds=(0.0, 1.0)),
        Metric("wmw", measure_name("wmw"), True, per_query(wmw), bounds=(0.0, 1.0)),
    ]


def _defined(metric: Callable[..., float], classes: Any, scores: FloatArray) -> float:
    try:
        return metric(classes, scores)
    except NoPairsError:
        return float("nan")


def measured(
    y: FloatArray | Preferences,
    scores: Mapping[str, FloatArray],
    query: IntArray,
    measures: Sequence[Metric],
    seed: int = 0,
    confidence: float = CONFIDENCE,
    cluster: IntArray | None = None,
) -> dict[str, list[Measured]]:
    """Measure all models.

    The independent units are queries or, if there is one query, rows; for survival times they are rows, as
    strata are no sample of strata. `cluster` has the cluster of each row, and makes clusters the units. The
    mean has the weights of queries of the preferences, so that it equals the metrics and `score`. Measures of
    the whole list that has no queries are resampled.
    """
    is_survival = isinstance(y, Preferences) and y.event is not None
    if n_queries_of(y, query) > 1 and not is_survival:
        weight = y.query_importance() if isinstance(y, Preferences) else None
        given = y.groups() if isinstance(y, Preferences) else query
        of_query = None if cluster is None else cluster_of_units(cluster, given, "query")
        return {
            name: [
                over_queries(one, one.of(y, found, query), weight, confidence, of_query) for one in measures
            ]
            for name, found in scores.items()
        }
    listed = [one for one in measures if one.over_rows is None]
    draws = _draws(y, scores, listed, seed, cluster)
    return {
        name: [
            _over_rows(one, y, found, query, confidence, cluster)
            if one.over_rows is not None
            else resampled(one, one.of(y, found, query), draws[name][listed.index(one)], confidence)
            for one in measures
        ]
        for name, found in scores.items()
    }


def over_queries(
    metric: Measure,
    values: FloatArray,
    weight: FloatArray | None = None,
    confidence: float = CONFIDENCE,
    cluster: IntArray | None = None,
) -> Measured:
    """Return a measure with its values per query, its mean and the interval of the mean."""
    estimate = estimate_over_queries(metric, values, weight, cluster)
    ends = estimate.interval(confidence, metric.bounds)
    return Measured(
        metric, values, estimate.value, *ends, "queries", estimate, importance=weight, cluster=cluster
    )


def estimate_over_queries(
    measure: Measure, values: FloatArray, weight: FloatArray | None, cluster: IntArray | None
) -> Estimate:
    """Return the mean, or the sum, over the queries for which a measure is defined.

    If there are clusters of queries, they are the units.
    """
    estimate = mean_estimate(values, weight)
    if measure.is_total:
        n = len(estimate.influence)
        estimate = replace(estimate, value=n * estimate.value, influence=n * estimate.influence)
    if cluster is None or not len(estimate.influence):
        return estimate
    return estimate.by_cluster(cluster[~np.isnan(values)])


def _over_rows(
    metric: Metric,
    y: FloatArray | Preferences,
    scores: FloatArray,
    query: IntArray,
    confidence: float,
    cluster: IntArray | None,
) -> Measured:
    estimate, units = mean_estimate(np.empty(0)), "rows"
    try:
        pairs = y if isinstance(y, Preferences) else Preferences.from_scores(y)
        estimate = clustered(metric.over_rows(pairs, scores), pairs, cluster)  # type: ignore[misc]
        units = "rows" if units_of(pairs) is None else "groups"
        units = units if cluster is None else "clusters"
    except NoPairsError:
        pass  # undefined, as the value is
    return estimated(metric, metric.of(y, scores, query), estimate, units, confidence)


def estimated(
    metric: Metric, values: FloatArray, estimate: Estimate, units: str, confidence: float
) -> Measured:
    """Return a measure of one list, with the interval of its estimate."""
    ends = estimate.interval(confidence, metric.bounds)
    return Measured(metric, values, estimate.value, *ends, units, estimate)


def resampled(metric: Metric, values: FloatArray, draws: FloatArray, confidence: float) -> Measured:
    """Return a measure of one list, with the interval of its values of resampled rows."""
    ends = interval(draws, confidence)
    return Measured(metric, values, mean_defined(values), *ends, "resamples", draws=draws)


def _draws(
    y: FloatArray | Preferences,
    scores: Mapping[str, FloatArray],
    measures: Sequence[Metric],
    seed: int,
    cluster: IntArray | None,
) -> dict[str, list[FloatArray]]:
    """Return the measures of resampled rows, by model."""
    draws: dict[str, list[list[FloatArray]]] = {name: [[] for _ in measures] for name in scores}
    for part, rows, resample in _resamples(y, seed, cluster) if measures else ():
        for name, found in scores.items():
            for one, kept in zip(measures, draws[name], strict=True):
                kept.append(one.of(part, found[rows], resample))
    return {name: [np.concatenate([*kept, []]) for kept in listed] for name, listed in draws.items()}


def _resamples(
    y: FloatArray | Preferences, seed: int, cluster: IntArray | None
) -> Iterator[tuple[FloatArray | Preferences, IntArray, IntArray]]:
    """Yield resampled labels or preferences, their rows, and the number of the resample of each row.

    Resamples of labels are queries, so that a batch of them takes one pass.
    """
    if isinstance(y, Preferences):
        for part, rows in resampled_preferences(y, seed, cluster):
            yield part, rows, np.zeros(len(rows), dtype=np.int64)
        return
    drawn = resampled_rows(len(y), seed) if cluster is None else resampled_clusters(cluster, seed)
    for rows, resample in drawn:
        yield y[rows], rows, resample


def mean_defined(values: FloatArray, importance: FloatArray | None = None) -> float:
    """Return the mean over the queries for which a measure is defined, NaN if there are none."""
    known = ~np.isnan(values)
    return weighted_mean(values[known], (np.ones(len(values)) if importance is None else importance)[known])
