"""Measures of scored rows: values per query, their mean, and an interval of the mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol

import numpy as np

from rankwise import metrics
from rankwise.core.text import listed
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.bootstrap import (
    CONFIDENCE,
    interval,
    resampled_clusters,
    resampled_preferences,
    resampled_rows,
    weighted_mean,
)
from rankwise.evaluation.concordance import concordance_estimate
from rankwise.evaluation.intervals import (
    Estimate,
    clustered,
    mean_estimate,
    units_of,
)
from rankwise.evaluation.ranked_rows import Undefined, check_undefined
from rankwise.evaluation.registry import (
    KINDS,
    Kind,
    LabelFacts,
    Measure,
    Metric,
    named_measure,
    parsed_measure,
)
from rankwise.evaluation.scored import Scored
from rankwise.preferences import NoPairsError, Preferences
from rankwise.preferences.order_graph import present_edges

__all__ = ["Choice", "Measure", "Measured", "Metric", "Scored", "evaluated", "named_measure", "over_queries"]

RANKS = (5, 10)
UNIT = (0.0, 1.0)
Weights = Literal["harrell", "uno"]
MOST_TITLES = 10


class OfQueries(Protocol):
    """Rows whose measures are known per query, such as rows in parts."""

    @property
    def importance(self) -> FloatArray | None:
        """The weight of each query in a mean, None if they are equal."""

    @property
    def cluster_of_query(self) -> IntArray | None:
        """The cluster of each query, None if queries are independent."""

    def values(self, measures: Sequence[Metric]) -> dict[str, list[FloatArray]]:
        """Return the value of each query, by model and measure."""


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

    def as_dict(self) -> dict[str, Any]:
        """Return the mean, its interval and the number of queries for which it is defined, for JSON."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "defined": self.n_defined}


@dataclass(frozen=True)
class Choice:
    """The choice of measures: by their names or, by default, those that suit the labels.

    Attributes
    ----------
    names : sequence of str, or None
    at : sequence of int
        The cutoffs of the default measures.
    relevant_above, gain, undefined :
        The options of measures; see `named_measure`.
    detailed : bool
        Whether the default measures are the longer list of the shell.
    with_probabilities : bool
        Whether the models have probabilities of pairs.
    """

    names: Sequence[str] | None = None
    at: Sequence[int] = RANKS
    relevant_above: float = 0.0
    gain: str = "exponential"
    undefined: Undefined = "skip"
    detailed: bool = False
    with_probabilities: bool = False

    def named(self, key: str) -> Metric:
        """Return the measure with a key, with the options."""
        return named_measure(key, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        """The options of measures."""
        return {"relevant_above": self.relevant_above, "gain": self.gain, "undefined": self.undefined}

    def check(self) -> None:
        """Refuse unknown names and options before any work."""
        check_undefined(self.undefined)
        for key in self.names or ():
            self.named(key)

    @property
    def kinds(self) -> list[Kind]:
        """The kinds of measures that are shown by default."""
        places = ("summary", "details") if self.detailed else ("summary",)
        shown = [kind for kind in KINDS.values() if kind.shown in places]
        return [kind for kind in shown if self.with_probabilities or "probabilities" not in kind.needs]

    def of_kinds(self, kinds: Sequence[Kind]) -> list[Metric]:
        """Return the measures of some kinds."""
        return [
            kind.measure(key, parsed_measure(key)[1], **self.options)
            for kind in kinds
            for key in kind.keys(self.at, self.detailed)
        ]

    def for_labels(self, facts: LabelFacts, n_queries: int) -> tuple[list[Metric], list[str]]:
        """Return the measures for labels, and notes on the others."""
        if self.names is not None:
            return [self.named(key) for key in self.names], []
        reasons = [(kind, kind.left_out(facts)) for kind in self.kinds]
        notes = [
            f"{listed(titles, MOST_TITLES)} {'is' if len(titles) == 1 else 'are'} left out: {why}."
            for why, titles in titles_by_reason(reasons).items()
        ]
        chosen = [
            replace(kind, title=kind.title_of_one) if n_queries == 1 and kind.title_of_one else kind
            for kind, why in reasons
            if not why
        ]
        by_grade = [kind.title for kind in chosen if "relevant" in kind.needs]
        if by_grade:
            notes.append(f"{', '.join(by_grade)}: labels of at least {facts.lowest_relevant:g} are relevant.")
        return self.of_kinds(chosen), notes

    def for_rows(self, scored: Scored) -> tuple[Sequence[Metric], list[str]]:
        """Return the measures for these rows, and notes on the others."""
        y, labels = scored.target, scored.labels
        if self.names is not None:
            return [self.named(key) for key in self.names], []
        if isinstance(y, Preferences) and labels is None:
            return self._for_pairs(y)
        if scored.edges is not None:
            return OF_GRAPH, []
        assert labels is not None
        chosen, notes = self.for_labels(LabelFacts.of(labels, self.relevant_above), scored.n_queries)
        if isinstance(y, Preferences) and not y.counts_pairs:
            notes.append("Weights of pairs enter the ranking error only.")
        return chosen, notes

    def _for_pairs(self, y: Preferences) -> tuple[Sequence[Metric], list[str]]:
        """Return the measures that need no labels."""
        if y.event is not None:
            note = "Harrell's concordance: the fraction of comparable pairs in the right order."
            return ((CONCORDANCE, UNO), []) if self.detailed else ((CONCORDANCE,), [note])
        note = (
            "NDCG, MAP and Kendall's tau are left out: they need a label per row, which these pairs have not."
        )
        return [self.named("error"), *([] if y.classes is None else [WMW])], [note]


def titles_by_reason(reasons: Sequence[tuple[Kind, str]]) -> dict[str, list[str]]:
    """Return the titles of the kinds of measures that are left out, by the reason."""
    found: dict[str, list[str]] = {}
    for kind, why in reasons:
        if why:
            found.setdefault(why, []).append(kind.title)
    return found


def first_measure(scored: Scored) -> Metric:
    """Return the measure of pairs that is defined for any rows."""
    return Choice(at=()).for_rows(scored)[0][0]


def _of_graph(function: Any, scored: Scored, name: str) -> FloatArray:
    """Measure each query by the pairs of classes that an edge joins."""
    assert scored.classes is not None
    query, scores = scored.query_of_row, scored.scores[name]
    parts = np.split(np.argsort(query, kind="stable"), np.cumsum(np.bincount(query))[:-1])
    return np.array([_defined(function, scored.classes[rows], scores[rows], scored.edges) for rows in parts])


def _graph_error(classes: IntArray, scores: FloatArray, edges: Any) -> float:
    preferences = Preferences.from_order(classes, present_edges(edges, classes))
    return float(metrics.ranking_error(preferences, scores))


def _graph_wmw(classes: IntArray, scores: FloatArray, edges: Any) -> float:
    return metrics.wmw(classes, scores, order=present_edges(edges, classes))


def _wmw(scored: Scored, name: str) -> FloatArray:
    if not isinstance(scored.target, Preferences):
        return _of_graph(_graph_wmw, scored, name)
    return np.array([_defined(metrics.wmw, scored.target, scored.scores[name])])


def _defined(metric: Any, *arguments: Any) -> float:
    try:
        return float(metric(*arguments))
    except NoPairsError:
        return float("nan")


def _concordance(weights: Weights, scored: Scored, name: str) -> FloatArray:
    return np.array([metrics.concordance_index(scored.target, scored.scores[name], weights=weights)])


def _concordance_by(weights: Weights, key: str, name: str) -> Metric:
    estimate = partial(concordance_estimate, weights=weights)
    return Metric(key, name, True, partial(_concordance, weights), estimate, bounds=UNIT)


# The measures of preferences that are not the order of labels.
CONCORDANCE = _concordance_by("harrell", "concordance", "Concordance")
UNO = _concordance_by("uno", "uno", "Uno's concordance")
WMW = Metric("wmw", "WMW over the order graph", True, _wmw, bounds=UNIT)
OF_GRAPH = (Metric("error", "Ranking error", False, partial(_of_graph, _graph_error), bounds=UNIT), WMW)


def evaluated(
    scored: Scored | OfQueries,
    measures: Sequence[Metric],
    *,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> dict[str, list[Measured]]:
    """Measure all models.

    The independent units are queries, rows or clusters; see `Scored`. The mean has the weights of queries of
    the preferences, so that it equals the metrics and `score`. Measures of a single list that are no measures
    of pairs are resampled.
    """
    values = scored.values(measures)
    if isinstance(scored, Scored) and scored.samples_rows:
        return _over_rows(scored, measures, values, confidence, seed)
    weight, cluster = scored.importance, scored.cluster_of_query
    return {
        name: [
            over_queries(one, of, weight, confidence, cluster)
            for one, of in zip(measures, found, strict=True)
        ]
        for name, found in values.items()
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
    scored: Scored,
    measures: Sequence[Metric],
    values: Mapping[str, Sequence[FloatArray]],
    confidence: float,
    seed: int,
) -> dict[str, list[Measured]]:
    """Return measures whose independent units are rows, or clusters of rows."""
    of_lists = [one for one in measures if one.over_rows is None]
    drawn = [part.values(of_lists) for part in _resamples(scored, seed)] if of_lists else []
    found: dict[str, list[Measured]] = {}
    for name, of_measures in values.items():
        draws = [np.concatenate([[], *parts]) for parts in zip(*(part[name] for part in drawn), strict=True)]
        remaining = iter(draws or [np.empty(0)] * len(of_lists))
        found[name] = [
            _of_pairs(scored, one, name, of, confidence)
            if one.over_rows is not None
            else _resampled(one, of, next(remaining), confidence)
            for one, of in zip(measures, of_measures, strict=True)
        ]
    return found


def _of_pairs(scored: Scored, metric: Metric, name: str, values: FloatArray, confidence: float) -> Measured:
    """Return a measure of pairs with the interval of its estimate over rows, groups or clusters."""
    estimate, units, pairs = mean_estimate(np.empty(0)), "rows", scored.pairs
    try:
        if pairs is not None and metric.over_rows is not None:
            estimate = clustered(metric.over_rows(pairs, scored.scores[name]), pairs, scored.cluster)
            units = "rows" if units_of(pairs) is None else "groups"
            units = units if scored.cluster is None else "clusters"
    except NoPairsError:
        pass  # undefined, as the value is
    ends = estimate.interval(confidence, metric.bounds)
    return Measured(metric, values, estimate.value, *ends, units, estimate)


def _resampled(metric: Metric, values: FloatArray, draws: FloatArray, confidence: float) -> Measured:
    """Return a measure of one list, with the interval of its values of resampled rows."""
    ends = interval(draws, confidence)
    return Measured(metric, values, mean_defined(values), *ends, "resamples", draws=draws)


def _resamples(scored: Scored, seed: int) -> Iterator[Scored]:
    """Yield resampled rows; resamples of labels are queries, so that a batch of them takes one pass."""
    y, cluster = scored.target, scored.cluster
    if isinstance(y, Preferences):
        for part, rows in resampled_preferences(y, seed, cluster):
            yield scored.resampled(part, rows, None)
        return
    drawn = resampled_rows(len(y), seed) if cluster is None else resampled_clusters(cluster, seed)
    for rows, number in drawn:
        yield scored.resampled(y[rows], rows, number)


def mean_defined(values: FloatArray, importance: FloatArray | None = None) -> float:
    """Return the mean over the queries for which a measure is defined, NaN if there are none."""
    known = ~np.isnan(values)
    return weighted_mean(values[known], (np.ones(len(values)) if importance is None else importance)[known])
