"""The evaluation that a report presents, of rows in memory or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwise.core.memory import human_bytes
from rankwise.core.text import plural
from rankwise.core.types import IntArray
from rankwise.data.remote_rows import remote_rows
from rankwise.data.row_parts import RowParts
from rankwise.evaluation.comparison import Comparison, comparison_of
from rankwise.evaluation.data import EvaluationData, named_models
from rankwise.evaluation.evaluated import Outcome, evaluated_rows
from rankwise.evaluation.in_parts import PartMeasures
from rankwise.evaluation.measures import Choice, named_measure
from rankwise.evaluation.models import has_probabilities
from rankwise.evaluation.shown import ShownData, sampled_queries
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
    more = [named_measure("log_loss")] if has_probabilities(model) else []
    found = evaluated_rows(
        rows.models,
        X,
        y,
        qid,
        Choice(at=at, relevant_above=relevant_above),
        more=more,
        seed=seed,
        feature_names=feature_names,
        collect=True,
    )
    comparison = comparison_of(found.measured)
    comparison.measures[rows.main] += found.more
    if found.data is not None:
        return Evaluated(found.data, found.data, comparison, found.notes, _collected(rows, found.data))
    return _on_workers(rows, found, comparison, seed)


def _collected(rows: Rows, data: EvaluationData) -> dict[str, str]:
    """State that rows of a backend were collected, and why."""
    if remote_rows(rows.X) is rows.X:
        return {}
    n_bytes = getattr(data.X, "nbytes", None) or 8 * int(np.prod(data.X.shape))
    why = "all rows are one ranking" if data.n_queries == 1 else "a query is in several partitions"
    return {ON_WORKERS: f"All rows were collected, {human_bytes(int(np.sum(n_bytes)))}, as {why}."}


def _on_workers(rows: Rows, outcome: Outcome, comparison: Comparison, seed: int) -> Evaluated:
    parts, found = outcome.parts, outcome.of_parts
    assert parts is not None
    assert found is not None
    shown, random = _listed(rows, parts, found, comparison), sampled_queries(found.sizes, seed)
    data, sample = (
        ShownData(parts, found, rows.models, rows.feature_names, queries) for queries in (shown, random)
    )
    fact = (
        f"The rows of {plural(len(shown), 'query')} were fetched, {len(data.y):,} of {found.facts.n_rows:,}. "
        "Calibration, ROC curves, interactions and spreads of features are those of a random sample of "
        f"{plural(len(random), 'query')}, {plural(len(sample.y), 'row')}. The measures are those of all rows."
    )
    return Evaluated(data, sample, comparison, outcome.notes, {ON_WORKERS: " ".join([fact, *found.notes])})


def _listed(rows: Rows, parts: RowParts, found: PartMeasures, comparison: Comparison) -> IntArray:
    """Return the queries whose rows the page lists."""
    first = comparison.measures[rows.main][0].values
    queries = named_queries(first).tolist()
    if rows.pair is not None and all(0 <= row < found.n_rows for row in rows.pair):
        place = {value: number for number, value in enumerate(found.queries.tolist())}
        values = np.asarray(parts.chosen(2).take(np.array(rows.pair))).tolist()
        queries += [place[value] for value in values if value in place]
    return np.unique(np.array(queries or [0], dtype=np.int64))
