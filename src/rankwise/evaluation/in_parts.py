"""Measures of rows in parts, such as Dask partitions: each part measures its own queries.

Values per query are collected, and labels and scores of the rows of queries that are in several parts. The
intervals and tests over queries are then those of memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.memory import human_bytes
from rankwise.core.pipelines import last_step, scales_queries
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.backends import backend_among, backend_of
from rankwise.data.query_parts import CutQueries, query_places, rows_of_queries
from rankwise.data.row_parts import RowParts, WholeQueries
from rankwise.evaluation.data import edges_of_model
from rankwise.evaluation.labelled_rows import LabelledRows
from rankwise.evaluation.measures import OF_GRAPH, Choice, Metric, Scored
from rankwise.evaluation.models import is_scores
from rankwise.metrics.label_facts import LabelFacts
from rankwise.preferences import Preferences

NONE_CUT = CutQueries(set())


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

    @property
    def edges(self) -> list[tuple[int, int]] | None:
        """The edges of the order graph of the first model, if it has one."""
        return edges_of_model(last_step(next(iter(self.models.values()))))

    def candidates(self, rows: LabelledRows, facts: LabelFacts) -> Sequence[Metric]:
        """Return the measures that a part computes, some of which may be left out for all rows."""
        choice = self.choice
        if choice.names is not None:
            return [choice.named(key) for key in choice.names]
        if self.edges is not None and rows.classes is not None:
            return OF_GRAPH
        return choice.of_kinds([kind for kind in choice.kinds if kind.is_possible(facts)])

    def chosen(self, facts: LabelFacts, n_queries: int) -> tuple[Sequence[Metric], list[str]]:
        """Return the measures for all rows, and notes on the others."""
        if self.choice.names is None and self.edges is not None:
            return OF_GRAPH, []
        return self.choice.for_labels(facts, n_queries)


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
    by_key : dict of name to dict of key to array
        The value of each query, by model and measure.
    has_pairs : array of bool
        Whether a query has two different labels.
    spreads : array
        The largest difference of two scores of a query by the first model.
    graded : array of int of shape (n, 4), or None
        For models that predict grades: query, label, grade and the number of such rows.
    cut : CutQueries
        The queries in several parts, whose rows were collected.
    """

    queries: NDArray[Any]
    sizes: IntArray
    n_rows: int
    facts: LabelFacts
    by_key: dict[str, dict[str, FloatArray]]
    has_pairs: NDArray[np.bool_]
    spreads: FloatArray
    graded: IntArray | None
    cut: CutQueries = NONE_CUT

    # `evaluated` asks for them: the queries are independent, and have equal weights.
    importance = None
    cluster_of_query = None

    def values(self, measures: Sequence[Metric]) -> dict[str, list[FloatArray]]:
        """Return the value of each query, by model and measure."""
        return {name: [found[one.key] for one in measures] for name, found in self.by_key.items()}

    @property
    def notes(self) -> list[str]:
        """A note on the rows that were collected, if there are any."""
        return cut_notes(self.cut, len(self.queries), 2 + len(self.by_key))


def measurable_parts(
    X: Any, y: Any, qid: Any, wanted: Wanted, given: Sequence[Any]
) -> tuple[RowParts, CutQueries] | None:
    """Return rows, labels, queries and scores in parts, and the queries in several parts.

    None if rows are in memory, or the parts cannot measure their queries alone: if most rows are in queries
    that are in several parts, or there are fewer than two queries, or the preferences are no labels. Labels,
    queries and scores of the rows of a few cut queries are collected. A model that scales features within
    queries needs all rows of a query in one part. `given` has the scores of the models that are None.
    """
    parts = parts_with_queries(X, y, qid, given)
    if parts is None:
        return None
    places = query_places(parts.chosen(2))
    if places.n_queries < 2:
        return None
    cut = CutQueries.of(parts.chosen(2), places.cut)
    if not cut.are_few or (cut.queries and any(map(scales_queries, wanted.models.values()))):
        return None
    return parts, cut


def parts_with_queries(X: Any, y: Any, qid: Any, given: Sequence[Any]) -> RowParts | None:
    """Return rows, labels, queries and scores in parts; None in memory, without queries or labels."""
    backend = backend_among(X, *given, *((y, qid) if X is None else ()))
    if backend is None or qid is None or isinstance(y, Preferences):
        return None
    return backend.parts(X, y, qid, *given)


def merged(parts: RowParts, wanted: Wanted, cut: CutQueries = NONE_CUT) -> PartMeasures | None:
    """Return the measures of all parts, sorted by query."""
    found = [part for part in parts.map(measure_part, wanted, cut.queries) if part is not None]
    if cut.queries:
        pieces = [piece for piece in parts.map(collected_part, wanted, cut.queries) if piece is not None]
        together = measures_of(LabelledRows.joined(pieces), wanted) if pieces else None
        found += [] if together is None else [together]
    queries = WholeQueries.of([part.queries for part in found]) if found else None
    if queries is None or len(queries.values) < 2:
        return None
    values = {
        name: {
            key: queries.sorted([part.by_key[name][key] for part in found])
            for key in found[0].by_key[name]
            if all(key in part.by_key[name] for part in found)
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
        cut,
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


def measure_part(rows: Any, y: Any, qid: Any, *scores_and_common: Any) -> PartMeasures | None:
    """Measure the queries of one part that are not in others; None if no row has a label."""
    *scores, wanted, cut = scores_and_common
    chosen = rows_of_queries([rows, y, qid, *scores], qid, cut, inside=False)
    return None if chosen is None else measures_of(LabelledRows.of(wanted.models, *chosen), wanted)


def collected_part(rows: Any, y: Any, qid: Any, *scores_and_common: Any) -> LabelledRows | None:
    """Return the labelled rows of one part in queries that are in several; None if there are none."""
    *scores, wanted, cut = scores_and_common
    chosen = rows_of_queries([rows, y, qid, *scores], qid, cut, inside=True)
    return None if chosen is None else LabelledRows.of(wanted.models, *chosen)


def measures_of(rows: LabelledRows, wanted: Wanted) -> PartMeasures | None:
    """Measure the queries of some rows; None if no row has a label."""
    if len(rows.y) == 0:
        return None
    queries, query = rows.codes
    facts = LabelFacts.of(rows.y, wanted.choice.relevant_above)
    chosen = [*wanted.candidates(rows, facts), *wanted.more]
    values = Scored(rows.y, rows.scores, query, rows.classes, wanted.edges).values(chosen)
    return PartMeasures(
        queries,
        np.bincount(query, minlength=len(queries)),
        rows.n_rows,
        facts,
        {
            name: {one.key: of for one, of in zip(chosen, found, strict=True)}
            for name, found in values.items()
        },
        different_labels(rows.y, query),
        rows.spreads,
        grades_by_query(rows),
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


def grades_by_query(rows: LabelledRows) -> IntArray | None:
    """Return the number of rows by query, label and predicted grade; None for other models."""
    if rows.classes is None or rows.grades is None:
        return None
    columns = np.stack([rows.codes[1], rows.classes, rows.grades], axis=1)
    distinct, counts = np.unique(columns, axis=0, return_counts=True)
    return np.column_stack([distinct, counts])


def given_scores(models: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """Return models, with None for arrays of scores, and the arrays."""
    scores = [model for model in models.values() if is_scores(model)]
    return {name: None if is_scores(model) else model for name, model in models.items()}, scores


def cut_notes(cut: CutQueries, n_queries: int, n_columns: int) -> list[str]:
    """Return a note on the bytes that were collected of queries in several parts, if there are any."""
    if not cut.queries:
        return []
    total = human_bytes(8 * n_columns * cut.n_rows)
    return [
        f"Queries in several partitions: {len(cut.queries):,} of {n_queries:,}. "
        f"Of their rows, {8 * n_columns} bytes per row were collected, {total}."
    ]


def collected_notes(
    n_rows: int, n_queries: int, y: Any, qid: Any, scored: Iterable[Any], X: Any = None
) -> list[str]:
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
        why = "All rows are one ranking" if n_queries == 1 else "A query is in several partitions"
    total = human_bytes(n_bytes * n_rows)
    rest = "" if X is None else "; the features were not"
    return [f"{why}: {n_bytes} bytes per row were collected, {total}{rest}."]


def is_remote(column: Any) -> bool:
    """Return whether a column is not in memory."""
    return backend_of(column) is not None
