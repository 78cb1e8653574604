"""Measures of rows in parts, such as Dask partitions: each part measures its own queries.

Values per query are collected; the intervals and tests over queries are then the same as in memory. If a
query is in several parts, or all rows are one ranking, the scores are collected, and measured in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.backends import Backend, backend_of, in_memory
from rankwise.core.checks import as_codes
from rankwise.core.memory import human_bytes
from rankwise.core.pipelines import scales_queries
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.rows import joined
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import OF_GRAPH, Choice, Metric
from rankwise.evaluation.models import is_scores, predicted_grades, predicts_grades, scores_of
from rankwise.evaluation.registry import LabelFacts
from rankwise.preferences import Preferences


@dataclass(frozen=True)
class Wanted:
    """What the parts measure.

    Attributes
    ----------
    models : dict of name to model; None if a column has the scores
    choice : Choice
        The measures; those by default are chosen for all rows, of which parts know only their own labels.
    more : list of Metric
        Further measures.
    """

    models: Mapping[str, Any]
    choice: Choice
    more: Sequence[Metric] = ()

    def candidates(self, has_edges: bool, facts: LabelFacts) -> Sequence[Metric]:
        """Return the measures that a part computes, some of which may be left out for all rows."""
        choice = self.choice
        if choice.names is not None:
            return [choice.named(key) for key in choice.names]
        if has_edges:
            return OF_GRAPH
        return choice.of_kinds([kind for kind in choice.kinds if kind.is_possible(facts)])


@dataclass(frozen=True)
class PartMeasures:
    """The measures of one part, per query; or those of all parts.

    Attributes
    ----------
    queries : array
        The values of `qid`.
    facts : LabelFacts
    has_edges : bool
        Whether the first model has an order graph.
    by_key : dict of name to dict of key to array
        The value of each query, by model and measure.
    has_pairs : array of bool
        Whether a query has two different labels.
    graded : array of int of shape (n, 4), or None
        For models that predict grades: query, label, grade and the number of such rows.
    """

    queries: NDArray[Any]
    facts: LabelFacts
    has_edges: bool
    by_key: dict[str, dict[str, FloatArray]]
    has_pairs: NDArray[np.bool_]
    graded: IntArray | None

    # `evaluated` asks for them: the queries are independent, and have equal weights.
    importance = None
    cluster_of_query = None

    def values(self, measures: Sequence[Metric]) -> dict[str, list[FloatArray]]:
        """Return the value of each query, by model and measure."""
        return {name: [found[one.key] for one in measures] for name, found in self.by_key.items()}

    def chosen(self, choice: Choice) -> tuple[Sequence[Metric], list[str]]:
        """Return the measures for all rows, and notes on the others."""
        if choice.names is None and self.has_edges:
            return OF_GRAPH, []
        return choice.for_labels(self.facts, len(self.queries))


def backend_among(*columns: Any) -> Backend | None:
    """Return the backend of the first of several columns that is not in memory, None if all are."""
    return next((found for found in map(backend_of, columns) if found is not None), None)


def measured_in_parts(
    models: Mapping[str, Any], X: Any, y: Any, qid: Any, choice: Choice, more: Sequence[Metric]
) -> PartMeasures | None:
    """Return the measures of rows in parts.

    None if rows are in memory, or the parts cannot measure their queries alone: if a query is in several
    parts, or there are fewer than two queries, or the preferences are no labels.
    """
    scores = [model for model in models.values() if is_scores(model)]
    backend = backend_among(X, *scores, *((y, qid) if X is None else ()))
    if backend is None or qid is None or isinstance(y, Preferences):
        return None
    wanted = Wanted({name: None if is_scores(one) else one for name, one in models.items()}, choice, more)
    found = backend.by_query(partial(measure_part, wanted), X, y, *scores, qid)
    known = [part for part in found or () if part is not None]
    return merged(known) if sum(len(part.queries) for part in known) > 1 else None


def measure_part(wanted: Wanted, rows: Any, y: Any, *scores_and_qid: Any) -> PartMeasures | None:
    """Measure the queries of some rows; None if no row has a label."""
    *scores, qid = scores_and_qid
    columns = iter(scores)
    models = {name: next(columns) if model is None else model for name, model in wanted.models.items()}
    first, *others = models
    X = np.empty((len(y), 0)) if rows is None else rows
    data = EvaluationData(models[first], X, y, qid, {name: models[name] for name in others}, first, None)
    if len(data.y) == 0:
        return None
    facts = LabelFacts.of(data.y, wanted.choice.relevant_above)
    scored = data.scored()
    chosen = [*wanted.candidates(scored.edges is not None, facts), *wanted.more]
    return PartMeasures(
        data.queries,
        facts,
        scored.edges is not None,
        {
            name: {one.key: of for one, of in zip(chosen, found, strict=True)}
            for name, found in scored.values(chosen).items()
        },
        different_labels(data.y, data.query),
        grades_by_query(data),
    )


def merged(parts: Sequence[PartMeasures]) -> PartMeasures:
    """Return the measures of all parts, sorted by query."""
    queries, codes = as_codes(joined([part.queries for part in parts]), "qid")
    order = np.argsort(codes)
    keys = [key for key in next(iter(parts[0].by_key.values())) if all(_has(part, key) for part in parts)]
    starts = np.cumsum([0, *(len(part.queries) for part in parts)])
    graded = [
        part.graded + np.array([start, 0, 0, 0])
        for part, start in zip(parts, starts, strict=False)
        if part.graded is not None
    ]
    return PartMeasures(
        queries,
        reduce(add, (part.facts for part in parts)),
        parts[0].has_edges,
        {
            name: {key: np.concatenate([part.by_key[name][key] for part in parts])[order] for key in keys}
            for name in parts[0].by_key
        },
        np.concatenate([part.has_pairs for part in parts])[order],
        np.concatenate(graded) if graded else None,
    )


def _has(part: PartMeasures, key: str) -> bool:
    return all(key in found for found in part.by_key.values())


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
    grades = predicted_grades(data.X, data.qid, model)[data.row_numbers]
    columns = np.stack([data.query, data.class_of_row, grades], axis=1)
    distinct, counts = np.unique(columns, axis=0, return_counts=True)
    return np.column_stack([distinct, counts])


@dataclass(frozen=True)
class CollectedRows:
    """Rows to measure in memory: those of a backend are known by the scores of models.

    Attributes
    ----------
    X : rows, without columns if they are elsewhere
    y, qid : labels or preferences, and queries, in memory
    scores : dict of name to column, or None for rows in memory, which models have not seen yet
    elsewhere : rows of a backend, or None
    n_columns : int
        The number of columns that were collected, of 8 bytes per row.
    """

    X: Any
    y: Any
    qid: Any
    scores: dict[str, Any] | None = None
    elsewhere: Any = None
    n_columns: int = 0

    def grades(self, model: Any) -> IntArray:
        """Return the number of the predicted class of each row."""
        backend = backend_of(self.elsewhere)
        if backend is None:
            return predicted_grades(self.X, self.qid, model)
        found = backend.mapped(partial(_grades_of_rows, model), self.elsewhere)
        return np.asarray(backend.column(found), dtype=np.int64)

    def notes(self, n_queries: int) -> list[str]:
        """Return a note on the bytes that were collected, if columns were not in memory."""
        if not self.n_columns:
            return []
        if isinstance(self.y, Preferences):
            why = "The preferences are those of all rows"
        else:
            why = "All rows are one ranking" if n_queries == 1 else "A query is in several partitions"
        n_bytes, rest = 8 * self.n_columns, "" if self.elsewhere is None else "; the features were not"
        return [f"{why}: {n_bytes} bytes per row were collected, {human_bytes(n_bytes * len(self.y))}{rest}."]


def collected_rows(models: Mapping[str, Any], X: Any, y: Any, qid: Any) -> CollectedRows:
    """Return rows in memory as they are, and the scores of rows of a backend.

    Without X, the models are scores.
    """
    backend, (labels, queries) = backend_of(X), map(in_memory, (y, qid))
    columns = [y, qid, *(model for model in models.values() if is_scores(model))]
    n_columns = sum(backend_of(column) is not None for column in columns)
    if backend is None:
        rows = np.empty((len(labels), 0)) if X is None else X
        return CollectedRows(rows, labels, queries, n_columns=n_columns)
    scores = dict(models)
    for name, model in models.items():
        if not is_scores(model):
            query = queries if scales_queries(model) else None
            scores[name] = backend.mapped(partial(_scores_of_rows, model, name), X, query)
            n_columns += 1
    return CollectedRows(np.empty((len(labels), 0)), labels, queries, scores, X, n_columns)


def _scores_of_rows(model: Any, name: str, rows: Any, qid: Any = None) -> FloatArray:
    return scores_of(model, rows, name, qid)


def _grades_of_rows(model: Any, rows: Any) -> IntArray:
    return predicted_grades(rows, None, model)
