"""The evaluation that a report presents, of rows in memory or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise.core.memory import human_bytes
from rankwise.core.text import plural
from rankwise.core.types import IntArray
from rankwise.data.remote_rows import RemoteRows, remote_rows
from rankwise.data.row_parts import RowParts
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.comparison import Comparison, comparison_of
from rankwise.evaluation.data import EvaluationData, named_models
from rankwise.evaluation.in_parts import (
    PartMeasures,
    Wanted,
    given_scores,
    measurable_parts,
    measured_of,
    merged,
)
from rankwise.evaluation.measures import measured, named_measure, over_queries
from rankwise.evaluation.models import has_probabilities
from rankwise.evaluation.shown import ShownData, sampled_queries
from rankwise.evaluation.single import metrics_of
from rankwise.report.queries import named_queries

ON_WORKERS = "Rows on workers"


@dataclass(frozen=True)
class Rows:
    """The arguments of a report that describe its rows and models."""

    models: dict[str, Any]
    X: Any
    y: Any
    qid: Any
    feature_names: Sequence[str] | None
    pair: tuple[int, int] | None

    @property
    def main(self) -> str:
        """The name of the main model."""
        return next(iter(self.models))

    def in_memory(self) -> EvaluationData:
        """Return the data of an evaluation; rows of a backend are collected."""
        X = remote_rows(self.X)
        X = X[np.arange(X.shape[0])] if isinstance(X, RemoteRows) else X
        others = {name: model for name, model in self.models.items() if name != self.main}
        model = self.models[self.main]
        return EvaluationData(model, X, self.y, self.qid, others, self.main, self.feature_names)


@dataclass(frozen=True)
class Evaluated:
    """What a report shows.

    Attributes
    ----------
    data, sample : EvaluationData
        The rows of the queries that the page lists, and those of which sections pool rows; all rows if they
        are in memory.
    comparison : Comparison
    notes : list of str
        The measures that are left out, and why.
    facts : dict of str to str
        What was fetched of rows that are not in memory.
    """

    data: EvaluationData
    sample: EvaluationData
    comparison: Comparison
    notes: list[str]
    facts: dict[str, str] = field(default_factory=dict)


def evaluated(
    model: Any,
    X: Any,
    y: Any,
    qid: Any,
    *,
    models: Mapping[str, Any],
    name: str | None,
    feature_names: Sequence[str] | None,
    pair: tuple[int, int] | None,
    at: Sequence[int],
    relevant_above: float,
    seed: int,
) -> Evaluated:
    """Evaluate models; rows on workers stay there if most queries are in one partition."""
    rows = Rows(named_models(model, models, name), X, y, qid, feature_names, pair)
    without_scores, scores = given_scores(rows.models)
    more = [named_measure("log_loss")] if has_probabilities(model) else []
    wanted = Wanted(without_scores, None, at, relevant_above, more=more)
    there = measurable_parts(X, y, qid, wanted, scores)
    found = None if there is None else merged(there[0], wanted, there[1])
    if there is None or found is None:
        return _in_memory(rows, at, relevant_above, seed)
    return _on_workers(rows, there[0], found, wanted, seed)


def _in_memory(rows: Rows, at: Sequence[int], relevant_above: float, seed: int) -> Evaluated:
    data = rows.in_memory()
    chosen, notes = metrics_of(data, at, relevant_above)
    comparison = comparison_of(measured(data.target, data.scores, data.query, chosen, seed))
    if has_probabilities(data.models[data.name]):
        ours = {data.name: data.main_scores}
        more = measured(data.target, ours, data.query, [named_measure("log_loss")], seed)
        comparison.measures[data.name] += more[data.name]
    return Evaluated(data, data, comparison, notes, _collected(rows, data))


def _collected(rows: Rows, data: EvaluationData) -> dict[str, str]:
    """State that rows of a backend were collected, and why."""
    if remote_rows(rows.X) is rows.X:
        return {}
    n_bytes = getattr(data.X, "nbytes", None) or 8 * int(np.prod(data.X.shape))
    why = "all rows are one ranking" if data.n_queries == 1 else "a query is in several partitions"
    return {ON_WORKERS: f"All rows were collected, {human_bytes(int(np.sum(n_bytes)))}, as {why}."}


def _on_workers(rows: Rows, parts: RowParts, found: PartMeasures, wanted: Wanted, seed: int) -> Evaluated:
    chosen, notes = wanted.chosen(found.facts, len(found.queries))
    comparison = comparison_of(measured_of(found, chosen, CONFIDENCE))
    comparison.measures[rows.main] += [
        over_queries(one, found.values[rows.main][one.key]) for one in wanted.more
    ]
    shown, random = _listed(rows, parts, found, comparison), sampled_queries(found.sizes, seed)
    data, sample = (
        ShownData(parts, found, rows.models, rows.feature_names, queries) for queries in (shown, random)
    )
    fact = (
        f"The rows of {plural(len(shown), 'query')} were fetched, {len(data.y):,} of {found.facts.n_rows:,}. "
        "Calibration, ROC curves, interactions and spreads of features are those of a random sample of "
        f"{plural(len(random), 'query')}, {plural(len(sample.y), 'row')}. The measures are those of all rows."
    )
    return Evaluated(data, sample, comparison, notes, {ON_WORKERS: " ".join([fact, *found.notes])})


def _listed(rows: Rows, parts: RowParts, found: PartMeasures, comparison: Comparison) -> IntArray:
    """Return the queries whose rows the page lists."""
    first = comparison.measures[rows.main][0].values
    queries = named_queries(first).tolist()
    if rows.pair is not None and all(0 <= row < found.n_rows for row in rows.pair):
        place = {value: number for number, value in enumerate(found.queries.tolist())}
        values = np.asarray(parts.chosen(2).take(np.array(rows.pair))).tolist()
        queries += [place[value] for value in values if value in place]
    return np.unique(np.array(queries or [0], dtype=np.int64))
