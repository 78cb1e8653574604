"""Rows with the scores of models: all that a measure may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.intervals import cluster_of_units
from rankwise.evaluation.pair_measures import Violations, violations_of
from rankwise.evaluation.ranked_rows import RankedRows
from rankwise.preferences import NoPairsError, Preferences

if TYPE_CHECKING:
    from rankwise.evaluation.registry import Metric


@dataclass(frozen=True)
class Scored:
    """Rows of whole queries with the scores of models.

    Attributes
    ----------
    target : array of labels, or Preferences with their own queries
        Labels of runs are NaN for documents that were not judged.
    scores : dict of name to array
        Minus infinity for rows that are not in the list of a run.
    query : array of int, or None
        Numbered from 0; ignored if the target is a `Preferences`.
    classes, edges :
        The class of each row and the edges of an order graph, if there is one.
    cluster : array of int, or None
        The cluster of each row, if clusters are the independent units.
    units : {"queries", "rows"}, optional
        The independent units without clusters. By default they are queries or, if there is one query, rows;
        for survival times they are rows, as strata are no sample of strata.
    """

    target: FloatArray | Preferences
    scores: Mapping[str, FloatArray]
    query: IntArray | None = None
    classes: IntArray | None = None
    edges: Sequence[tuple[int, int]] | None = None
    cluster: IntArray | None = None
    units: Literal["queries", "rows", None] = None

    def __getitem__(self, rows: IntArray) -> Scored:
        """Return some rows, with queries numbered anew."""
        query = None if self.query is None else np.unique(self.query[rows], return_inverse=True)[1]
        return self.resampled(self.target[rows], rows, query)

    def resampled(self, target: Any, rows: IntArray, query: IntArray | None) -> Scored:
        """Return drawn rows with their target and queries, without clusters."""
        scores = {name: column[rows] for name, column in self.scores.items()}
        classes = None if self.classes is None else self.classes[rows]
        return replace(self, target=target, scores=scores, query=query, classes=classes, cluster=None)

    def values(self, measures: Iterable[Metric]) -> dict[str, list[FloatArray]]:
        """Return the value of each query, by model and measure."""
        return {name: [one.of(self, name) for one in measures] for name in self.scores}

    @cached_property
    def labels(self) -> FloatArray | None:
        """The labels, None for preferences that are not the order of labels."""
        if not isinstance(self.target, Preferences):
            return self.target
        return self.target.labels if self.target.orders_labels else None

    @cached_property
    def query_of_row(self) -> IntArray:
        """The number of the query of each row."""
        if isinstance(self.target, Preferences):
            return np.unique(self.target.groups(), return_inverse=True)[1]
        return np.zeros(len(self.target), np.int64) if self.query is None else self.query

    @cached_property
    def importance(self) -> FloatArray | None:
        """The weight of each query in a mean, None if they are equal."""
        return self.target.query_importance() if isinstance(self.target, Preferences) else None

    @cached_property
    def n_queries(self) -> int:
        """The number of queries, 1 without any."""
        return int(self.query_of_row.max()) + 1 if self.importance is None else len(self.importance)

    @property
    def cluster_of_query(self) -> IntArray | None:
        """The cluster of each query, None if queries are independent."""
        return None if self.cluster is None else cluster_of_units(self.cluster, self.query_of_row, "query")

    @property
    def samples_rows(self) -> bool:
        """Whether the independent units are rows, or clusters of rows."""
        if self.units is not None:
            return self.units == "rows"
        return self.n_queries == 1 or getattr(self.target, "event", None) is not None

    @cached_property
    def pairs(self) -> Preferences | None:
        """The preferences, or the order of the labels; None if no query has two different labels."""
        return self.target if isinstance(self.target, Preferences) else self._order_of_labels

    @cached_property
    def _order_of_labels(self) -> Preferences | None:
        assert self.labels is not None
        query = self.query_of_row
        try:
            return Preferences.from_scores(self.labels, query if query.max() > 0 else None)
        except NoPairsError:
            return None

    @cached_property
    def _of_model(self) -> dict[tuple[str, str], Any]:
        return {}

    def _computed(self, what: str, name: str, compute: Any) -> Any:
        """Return a result for the scores of a model, which several measures share.

        The results of one model are kept at a time.
        """
        kept = self._of_model
        if any(model != name for _, model in kept):
            kept.clear()
        if (what, name) not in kept:
            kept[what, name] = compute()
        return kept[what, name]

    def ranked(self, name: str) -> RankedRows:
        """Return the ranked lists of a model."""
        return self._computed("ranked", name, lambda: RankedRows.by(self.scores[name], self.query_of_row))

    def label_violations(self, name: str) -> Violations:
        """Return the numbers of pairs of labels in the wrong order by the scores of a model, per query."""
        return self._computed("violations", name, lambda: self._violations(self.scores[name]))

    def _violations(self, scores: FloatArray) -> Violations:
        order = self._order_of_labels
        if order is None:
            none = np.zeros(self.n_queries)
            return Violations(none, none, none)
        return violations_of(order, scores)
