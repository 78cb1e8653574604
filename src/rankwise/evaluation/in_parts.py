"""Measures of rows in parts, such as Dask partitions: each part measures its own queries.

Only values per query are collected. The intervals and tests over queries are then those of memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.memory import human_bytes
from rankwise.core.pipelines import last_step
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.backends import backend_among, backend_of
from rankwise.data.row_parts import RowParts, WholeQueries, n_rows_of, whole_queries_of
from rankwise.evaluation.data import EvaluationData, edges_of_model
from rankwise.evaluation.label_facts import LabelFacts
from rankwise.evaluation.measures import (
    Measured,
    Metric,
    graph_measures,
    measures_of_labels,
    named_measure,
    over_queries,
)
from rankwise.evaluation.models import is_scores
from rankwise.evaluation.predicted_grades import predicted_grades, predicts_grades
from rankwise.metrics.rows import Undefined
from rankwise.preferences import Preferences


@dataclass(frozen=True)
class Wanted:
    """What the parts measure.

    Attributes
    ----------
    models : dict of name to model; None if a column has the scores
    metrics : list of Metric, or None
        By default those of `measures_of_labels` for all rows, of which parts know only their own labels.
    at, relevant_above, undefined :
        Of the default measures.
    more : list of Metric
        Further measures.
    """

    models: Mapping[str, Any]
    metrics: Sequence[Metric] | None
    at: Sequence[int] = ()
    relevant_above: float = 0.0
    undefined: Undefined = "skip"
    more: Sequence[Metric] = ()

    @property
    def edges(self) -> list[tuple[int, int]] | None:
        """The edges of the order graph of the first model, if it has one."""
        return edges_of_model(last_step(next(iter(self.models.values()))))

    def candidates(self, data: EvaluationData, facts: LabelFacts) -> Sequence[Metric]:
        """Return the measures that a part computes, some of which may be left out for all rows."""
        if self.metrics is not None:
            return self.metrics
        if self.edges is not None:
            return graph_measures(data.y, data.class_of_row, self.edges)
        options = {"relevant_above": self.relevant_above, "undefined": self.undefined}
        ranks = [f"ndcg@{k}" for k in self.at] if facts.are_grades else []
        return [named_measure(key, **options) for key in ("error", *ranks, "map", "tau")]

    def chosen(self, facts: LabelFacts, n_queries: int) -> tuple[Sequence[Metric], list[str]]:
        """Return the measures for all rows, and notes on the others."""
        if self.metrics is not None:
            return self.metrics, []
        if self.edges is not None:
            return graph_measures(np.empty(0), np.empty(0, dtype=np.int64), self.edges), []
        return measures_of_labels(facts, n_queries, self.at, self.relevant_above, self.undefined)


@dataclass(frozen=True)
class PartMeasures:
    """The measures of one part, per query; or those of all parts.

    Attributes
    ----------
    queries : array
        The values of `qid`.
    sizes : array of int
        The number of labelled rows of each query.
    n_rows : int
        The number of rows, with or without a label.
    facts : LabelFacts
    values : dict of name to dict of key to array
    has_pairs : array of bool
        Whether a query has two different labels.
    spreads : array
        The largest difference of two scores of a query by the first model.
    graded : array of int of shape (n, 4), or None
        For models that predict grades: query, label, grade and the number of such rows.
    """

    queries: NDArray[Any]
    sizes: IntArray
    n_rows: int
    facts: LabelFacts
    values: dict[str, dict[str, FloatArray]]
    has_pairs: NDArray[np.bool_]
    spreads: FloatArray
    graded: IntArray | None


def measure_in_parts(X: Any, y: Any, qid: Any, wanted: Wanted, given: Sequence[Any]) -> PartMeasures | None:
    """Measure the queries of all parts; None if rows are in memory, or the parts cannot measure them alone.

    That is the case if a query is in two parts, or there are fewer than two queries, or the preferences are
    no labels. `given` has the scores of the models that are None.
    """
    parts = parts_of_whole_queries(X, y, qid, given)
    return None if parts is None else merged(parts, wanted)


def parts_of_whole_queries(X: Any, y: Any, qid: Any, given: Sequence[Any]) -> RowParts | None:
    """Return rows, labels, queries and scores in parts with whole queries; None if there are none."""
    backend = backend_among(X, *given, *((y, qid) if X is None else ()))
    if backend is None or qid is None or isinstance(y, Preferences):
        return None
    parts = backend.parts(X, y, qid, *given)
    queries = whole_queries_of(parts.chosen(2))
    return None if queries is None or len(queries.values) < 2 else parts


def merged(parts: RowParts, wanted: Wanted) -> PartMeasures | None:
    """Return the measures of all parts, sorted by query."""
    found = [part for part in parts.map(measure_part, wanted) if part is not None]
    queries = WholeQueries.of([part.queries for part in found]) if found else None
    if queries is None or len(queries.values) < 2:
        return None
    values = {
        name: {
            key: queries.sorted([part.values[name][key] for part in found])
            for key in found[0].values[name]
            if all(key in part.values[name] for part in found)
        }
        for name in wanted.models
    }
    return PartMeasures(
        queries.values,
        queries.sorted([part.sizes for part in found]),
        sum(part.n_rows for part in found),
        reduce(add, (part.facts for part in found)),
        values,
        queries.sorted([part.has_pairs for part in found]),
        queries.sorted([part.spreads for part in found]),
        joined_grades(found),
    )


def joined_grades(found: Sequence[PartMeasures]) -> IntArray | None:
    """Return the numbers of labels and grades of all parts, with queries numbered one after the other."""
    starts = np.cumsum([0, *(len(part.queries) for part in found)])
    rows = [
        part.graded + np.array([start, 0, 0, 0])
        for part, start in zip(found, starts, strict=False)
        if part.graded is not None
    ]
    return np.concatenate(rows) if rows else None


def measure_part(rows: Any, y: Any, qid: Any, *scores_and_wanted: Any) -> PartMeasures | None:
    """Measure the queries of one part; None if no row has a label."""
    *scores, wanted = scores_and_wanted
    columns = iter(scores)
    models = {name: next(columns) if model is None else model for name, model in wanted.models.items()}
    first, *others = models
    X = np.empty((n_rows_of(y), 0)) if rows is None else rows
    data = EvaluationData(models[first], X, y, qid, {name: models[name] for name in others}, first, None)
    if len(data.y) == 0:
        return None
    facts = LabelFacts.of(data.y, wanted.relevant_above)
    chosen = [*wanted.candidates(data, facts), *wanted.more]
    return PartMeasures(
        data.queries,
        np.bincount(data.query, minlength=data.n_queries),
        X.shape[0],
        facts,
        {
            name: {one.key: one.of(data.target, found, data.query) for one in chosen}
            for name, found in data.scores.items()
        },
        different_labels(data.y, data.query),
        data.query_spreads,
        grades_by_query(data),
    )


def different_labels(y: FloatArray, query: IntArray) -> NDArray[np.bool_]:
    """Return for each query whether it has two different labels.

    Examples
    --------
    >>> different_labels(np.array([1.0, 4.0, 2.0]), np.array([0, 0, 1]))
    array([ True, False])
    """
    found = np.zeros(int(query.max()) + 1, dtype=bool)
    first = np.zeros(len(found))
    first[query] = y
    np.logical_or.at(found, query, y != first[query])
    return found


def grades_by_query(data: EvaluationData) -> IntArray | None:
    """Return the number of rows by query, label and predicted grade; None for other models."""
    model = data.models[data.name]
    if data.label_names is None or not predicts_grades(model):
        return None
    predicted = predicted_grades(data.X, data.qid, model)[data.row_numbers]
    rows = np.stack([data.query, data.class_of_row, predicted], axis=1)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    return np.column_stack([distinct, counts])


def measured_of(
    found: PartMeasures, metrics: Sequence[Metric], confidence: float
) -> dict[str, list[Measured]]:
    """Return the measures of each model, with intervals over queries."""
    return {
        name: [over_queries(one, values[one.key], None, confidence) for one in metrics]
        for name, values in found.values.items()
    }


def given_scores(models: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return models, with None for arrays of scores, and the arrays."""
    scores = [model for model in models.values() if is_scores(model)]
    return {name: None if is_scores(model) else model for name, model in models.items()}, scores


def collected_notes(data: EvaluationData, X: Any, y: Any, qid: Any, scored: Sequence[Any]) -> list[str]:
    """Return a note on the bytes that were collected, if columns were not in memory.

    `scored` are models and arrays of scores: one number per row was collected of each.
    """
    there = [one for one in scored if is_remote(X) or is_remote(one)]
    n_bytes = 8 * (len(there) + is_remote(y) + is_remote(qid))
    if not n_bytes:
        return []
    if isinstance(y, Preferences):
        why = "The preferences are those of all rows"
    else:
        why = "All rows are one ranking" if data.n_queries == 1 else "A query is in several partitions"
    total = human_bytes(n_bytes * data.X.shape[0])
    return [f"{why}: {n_bytes} bytes per row were collected, {total}; the features were not."]


def is_remote(column: Any) -> bool:
    """Return whether a column is not in memory."""
    return backend_of(column) is not None
