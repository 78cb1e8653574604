"""Measures of one ranking whose rows are in parts: sorted into ranges of scores, none is collected.

The intervals of the ranking error are those of memory. So are those of other measures: in memory, they have
none for more rows than can be resampled. With fewer rows, the resamples need all scores in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from rankwise.core.checks import as_codes
from rankwise.core.pipelines import scales_queries
from rankwise.core.types import IntArray
from rankwise.data.backends import backend_among
from rankwise.data.query_parts import query_places
from rankwise.data.row_parts import RowParts, joined
from rankwise.evaluation.bootstrap import n_row_resamples
from rankwise.evaluation.in_parts import Wanted
from rankwise.evaluation.label_facts import LabelFacts
from rankwise.evaluation.labelled_rows import LabelledRows
from rankwise.evaluation.measures import Measured, Metric, estimated, resampled
from rankwise.metrics.intervals import Estimate, mean_estimate
from rankwise.metrics.one_ranking import SortedRanking
from rankwise.metrics.ranking_errors import error_estimates
from rankwise.preferences import NoPairsError, Preferences


@dataclass(frozen=True)
class RankingMeasures:
    """The measures of one ranking.

    Attributes
    ----------
    facts : LabelFacts
    measured : dict of name to list of Measured
    notes : list of str
        The measures that are left out, and why.
    graded : array of int of shape (n, 3), or None
        For models that predict grades: label, grade and the number of such rows.
    query : object
        The only query, None without queries.
    """

    facts: LabelFacts
    measured: dict[str, list[Measured]]
    notes: list[str]
    graded: IntArray | None
    query: Any = None


def measure_ranking(
    X: Any,
    y: Any,
    qid: Any,
    wanted: Wanted,
    given: Sequence[Any],
    confidence: float,
    *,
    resamples: bool = True,
) -> RankingMeasures | None:
    """Measure one ranking; None if rows are in memory, or a measure or its resamples need all scores.

    Without `resamples`, only measures of pairs have intervals.
    """
    parts = _parts_of(X, y, qid, wanted, given)
    queries = [None] if parts is None or qid is None else _queries_of(parts)
    scored = None if parts is None or len(queries) > 1 else parts.transformed(scored_part, wanted)
    if scored is None:
        return None
    facts = reduce(add, scored.chosen(0).map(LabelFacts.of, wanted.relevant_above))
    metrics, notes = wanted.chosen(facts, 1)
    needs_draws = (
        resamples and n_row_resamples(facts.n_rows) and any(one.over_rows is None for one in metrics)
    )
    if needs_draws:
        return None
    names = list(wanted.models)
    numbered, starts = scored.chosen(*range(1 + len(names))).numbered()
    rankings = [SortedRanking(numbered.chosen(1 + k, 0, 1 + len(names))) for k in range(len(names))]
    estimates = _estimates(rankings, starts, metrics)
    measured = {
        name: [_measured(one, ranking, estimate, confidence) for one in metrics]
        for name, ranking, estimate in zip(names, rankings, estimates, strict=True)
    }
    counts = scored.chosen(0, 1 + len(names), 2 + len(names)).map(grade_counts)
    return RankingMeasures(facts, measured, notes, _joined(counts), queries[0])


def _parts_of(X: Any, y: Any, qid: Any, wanted: Wanted, given: Sequence[Any]) -> RowParts | None:
    """Return rows, labels, queries and scores in parts, if they can measure one ranking."""
    backend = backend_among(X, *given, *((y, qid) if X is None else ()))
    if backend is None or isinstance(y, Preferences) or wanted.edges is not None:
        return None
    if any(map(scales_queries, wanted.models.values())):  # a part would be scaled on its own
        return None
    if wanted.metrics is not None and any(one.of_ranking is None for one in wanted.metrics):
        return None
    return backend.parts(X, y, qid, *given)


def _queries_of(parts: RowParts) -> list[Any]:
    """Return the distinct queries."""
    found = query_places(parts.chosen(2)).found
    return as_codes(joined(found), "qid")[0].tolist() if found else [None]


def scored_part(rows: Any, y: Any, qid: Any, *scores_and_wanted: Any) -> tuple[Any, ...]:
    """Return labels, the scores of each model, and the numbers of classes and predicted grades, if any."""
    *scores, wanted = scores_and_wanted
    found = LabelledRows.of(wanted.models, rows, y, qid, *scores)
    return found.y, *found.scores.values(), found.classes, found.grades


def _estimates(
    rankings: Sequence[SortedRanking], starts: IntArray, metrics: Sequence[Metric]
) -> Sequence[Estimate]:
    """Return the error of each ranking; without pairs, or if it is not asked for, an undefined estimate."""
    undefined = [mean_estimate(np.empty(0))] * len(rankings)
    if all(one.over_rows is None for one in metrics):
        return undefined
    try:
        return error_estimates(rankings, starts)
    except NoPairsError:
        return undefined


def _measured(metric: Metric, ranking: SortedRanking, error: Estimate, confidence: float) -> Measured:
    assert metric.of_ranking is not None
    values = np.array([metric.of_ranking(ranking)])
    if metric.over_rows is not None:
        return estimated(metric, values, error, "rows", confidence)
    return resampled(metric, values, np.empty(0), confidence)


def grade_counts(labels: Any, classes: Any, grades: Any) -> IntArray | None:
    """Return the number of rows by label and predicted grade, None for models without grades."""
    if classes is None or grades is None:
        return None
    distinct, counts = np.unique(np.stack([classes, grades], axis=1), axis=0, return_counts=True)
    return np.column_stack([distinct, counts])


def _joined(counts: Sequence[IntArray | None]) -> IntArray | None:
    known = [one for one in counts if one is not None]
    return np.concatenate(known) if known else None
