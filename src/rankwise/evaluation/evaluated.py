"""The evaluation of models on rows in memory or in parts, which are measured alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.checks import as_codes
from rankwise.core.pipelines import last_step
from rankwise.core.types import IntArray
from rankwise.data.backends import in_memory
from rankwise.data.remote_rows import RemoteRows, remote_rows
from rankwise.data.row_parts import RowParts
from rankwise.evaluation.bootstrap import CONFIDENCE
from rankwise.evaluation.data import EvaluationData, labels_and_queries
from rankwise.evaluation.grades import GradeAgreement, grade_agreement
from rankwise.evaluation.in_parts import (
    PartMeasures,
    Wanted,
    collected_notes,
    different_labels,
    given_scores,
    measurable_parts,
    merged,
)
from rankwise.evaluation.measures import Choice, Measured, Metric, evaluated
from rankwise.evaluation.predicted_grades import predicted_grades, predicts_grades


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
    parts : RowParts or None
    of_parts : PartMeasures or None
        The measures of the parts.
    """

    measured: dict[str, list[Measured]]
    more: list[Measured]
    notes: list[str]
    collected: list[str]
    confidence: float
    data: EvaluationData | None = None
    cluster: IntArray | None = None
    parts: RowParts | None = None
    of_parts: PartMeasures | None = None

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
        data = self.data
        if data is None or data.label_names is None or not predicts_grades(model):
            return None
        predicted = predicted_grades(data.X, data.qid, model)[data.row_numbers]
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
    collect: bool = False,
) -> Outcome:
    """Measure models, or arrays of scores, on rows in memory or in parts.

    With `collect`, rows of a backend whose queries the parts cannot measure are collected before the models
    see them; otherwise the scores are. Rows with clusters are measured in memory. `more` are measures of the
    first model.
    """
    choice.check()
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    first = next(iter(models))
    without_scores, given = given_scores(models)
    wanted = Wanted(without_scores, choice, more)
    there = measurable_parts(X, y, qid, wanted, given) if cluster is None else None
    if there is not None and (found := merged(there[0], wanted, there[1])) is not None:
        chosen, notes = wanted.chosen(found.facts, len(found.queries))
        measured = evaluated(found, chosen, confidence=confidence, seed=seed)
        beside = evaluated(found, more, confidence=confidence)[first]
        return Outcome(measured, beside, notes, found.notes, confidence, parts=there[0], of_parts=found)
    data = _data(models, X, y, qid, feature_names, collect)
    codes = None if cluster is None else as_codes(in_memory(cluster), "cluster", data.n_given)[1]
    scored = data.scored(codes)
    chosen, notes = choice.for_rows(scored)
    measured = evaluated(scored, chosen, confidence=confidence, seed=seed)
    beside = evaluated(data.scored(names=[first]), more, confidence=confidence, seed=seed)[first]
    collected = collected_notes(data.n_given, data.n_queries, y, qid, models.values(), X)
    return Outcome(measured, beside, notes, collected, confidence, data, scored.cluster)


def _data(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    qid: Any,
    feature_names: Sequence[str] | None,
    collect: bool,
) -> EvaluationData:
    """Return rows with the scores of models; without X, the models are scores."""
    if X is None:
        y = labels_and_queries(y, qid)[0]
        if len(y) == 0:
            raise ValueError("y has no rows.")
    rows = np.empty((len(y), 0)) if X is None else remote_rows(X)
    if collect and isinstance(rows, RemoteRows):
        rows = rows[np.arange(rows.shape[0])]
    first, *others = models
    named = {name: models[name] for name in others}
    return EvaluationData(models[first], rows, y, qid, named, first, feature_names)
