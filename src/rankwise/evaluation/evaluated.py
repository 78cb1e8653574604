"""The evaluation of models on rows in memory or in parts, which are measured alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.checks import as_codes
from rankwise.core.pipelines import last_step
from rankwise.core.types import IntArray
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.grades import GradeAgreement, grade_agreement
from rankwise.evaluation.in_parts import (
    CollectedRows,
    PartMeasures,
    collected_rows,
    different_labels,
    measured_in_parts,
)
from rankwise.evaluation.measures import Choice, Measured, Metric, evaluated
from rankwise.evaluation.models import predicts_grades


@dataclass(frozen=True)
class Outcome:
    """Models measured on rows.

    Attributes
    ----------
    measured : dict of name to list of Measured
    more : list of Measured
        Further measures of the first model.
    notes, collected : list of str
        Notes on the measures, such as why some are left out; and what was collected of rows that are not in
        memory.
    confidence : float
    data : EvaluationData or None
        The rows, None if they are in parts.
    cluster : array of int or None
        The cluster of each row of the data.
    of_parts : PartMeasures or None
        The measures of the parts.
    rows : CollectedRows or None
        The rows that were measured in memory.
    """

    measured: dict[str, list[Measured]]
    more: list[Measured]
    notes: list[str]
    collected: list[str]
    confidence: float
    data: EvaluationData | None = None
    cluster: IntArray | None = None
    of_parts: PartMeasures | None = None
    rows: CollectedRows | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows with a label."""
        return len(self.data.y) if self.of_parts is None else self.of_parts.facts.n_rows  # type: ignore[union-attr]

    @property
    def queries(self) -> list[Any]:
        """The queries in sorted order, None alone without any."""
        if self.of_parts is not None:
            return self.of_parts.queries.tolist()
        assert self.data is not None
        return self.data.queries.tolist() or [None]

    @property
    def n_equal_labels(self) -> int:
        """The number of queries whose rows all have the same label."""
        if self.of_parts is not None:
            return int(np.count_nonzero(~self.of_parts.has_pairs))
        assert self.data is not None
        return int(np.count_nonzero(~different_labels(self.data.y, self.data.query)))

    def agreement(self, model: Any) -> GradeAgreement | None:
        """Return the agreement of the grades that a model predicts, None if it predicts none."""
        rows = self._graded(model)
        if rows is None:
            return None
        classes, (given, predicted, cluster) = last_step(model).classes_, rows
        return grade_agreement(
            classes[given],
            classes[predicted],
            categories=classes.tolist(),
            cluster=cluster,
            confidence=self.confidence,
        )

    def _graded(self, model: Any) -> tuple[IntArray, IntArray, IntArray | None] | None:
        """Return the numbers of given and predicted grades, and the clusters of rows."""
        if self.of_parts is not None:
            if self.of_parts.graded is None:
                return None
            query, given, predicted = np.repeat(
                self.of_parts.graded[:, :3], self.of_parts.graded[:, 3], axis=0
            ).T
            return given, predicted, query
        data, rows = self.data, self.rows
        if data is None or rows is None or data.label_names is None or not predicts_grades(model):
            return None
        predicted = rows.grades(model)[data.row_numbers]
        cluster = data.query if self.cluster is None and data.n_queries > 1 else self.cluster
        return data.class_of_row, predicted, cluster


def evaluated_rows(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    qid: Any,
    choice: Choice,
    *,
    more: Sequence[Metric] = (),
    confidence: float = CONFIDENCE,
    cluster: Any = None,
    seed: int = 0,
    feature_names: Sequence[str] | None = None,
) -> Outcome:
    """Measure models, or arrays of scores, on rows in memory or in parts.

    The scores of rows of a backend whose queries the parts cannot measure are collected. Rows with clusters
    are measured in memory. `more` are measures of the first model.
    """
    choice.check()
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    first = next(iter(models))
    of_parts = None if cluster is not None else measured_in_parts(models, X, y, qid, choice, more)
    if of_parts is not None:
        chosen, notes = of_parts.chosen(choice)
        measured = evaluated(of_parts, chosen, confidence=confidence, seed=seed)
        beside = evaluated(of_parts, more, confidence=confidence)[first]
        return Outcome(measured, beside, notes, [], confidence, of_parts=of_parts)
    rows = collected_rows(models, X, y, qid)
    if X is None and len(rows.y) == 0:
        raise ValueError("y has no rows.")
    named = {name: model for name, model in models.items() if name != first}
    data = EvaluationData(models[first], rows.X, rows.y, rows.qid, named, first, feature_names, rows.scores)
    codes = None if cluster is None else as_codes(cluster, "cluster", data.n_given)[1]
    scored = data.scored(codes)
    chosen, notes = choice.for_rows(scored)
    measured = evaluated(scored, chosen, confidence=confidence, seed=seed)
    beside = evaluated(data.scored(names=[first]), more, confidence=confidence, seed=seed)[first]
    collected = rows.notes(data.n_queries)
    return Outcome(measured, beside, notes, collected, confidence, data, scored.cluster, rows=rows)
