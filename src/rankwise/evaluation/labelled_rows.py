"""The labelled rows of one part: labels as numbers, queries, and the scores of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_array, as_codes
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.row_parts import joined, n_rows_of
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.predicted_grades import predicted_grades, predicts_grades


@dataclass(frozen=True)
class LabelledRows:
    """Rows with a label.

    Attributes
    ----------
    n_rows : int
        The number of rows, with or without a label.
    y : array
        The labels as numbers.
    qid : array or None
        The query of each row.
    scores : dict of name to array
    classes, grades : array of int or None
        The number of the class of each row, and that of the predicted grade, for models that have them.
    """

    n_rows: int
    y: FloatArray
    qid: NDArray[Any] | None
    scores: dict[str, FloatArray]
    classes: IntArray | None = None
    grades: IntArray | None = None

    @classmethod
    def of(cls, models: Mapping[str, Any], rows: Any, y: Any, qid: Any, *scores: Any) -> LabelledRows:
        """Score the rows of a part; `scores` has the columns of the models that are None."""
        columns = iter(scores)
        named = {name: next(columns) if model is None else model for name, model in models.items()}
        first, *others = named
        X = np.empty((n_rows_of(y), 0)) if rows is None else rows
        data = EvaluationData(named[first], X, y, qid, {name: named[name] for name in others}, first, None)
        model = data.models[first]
        grades = None
        if data.label_names is not None and predicts_grades(model):
            grades = predicted_grades(data.X, data.qid, model)[data.row_numbers]
        queries = None if qid is None else as_array(data.qid)[data.row_numbers]
        classes = getattr(data, "class_of_row", None)
        return cls(n_rows_of(X), data.y, queries, data.scores, classes, grades)

    @classmethod
    def joined(cls, parts: Sequence[LabelledRows]) -> LabelledRows:
        """Return the rows of several parts."""

        def column(name: str) -> Any:
            found = [getattr(part, name) for part in parts]
            return None if found[0] is None else joined(found)

        scores = {name: np.concatenate([part.scores[name] for part in parts]) for name in parts[0].scores}
        names = ("y", "qid", "classes", "grades")
        y, qid, classes, grades = map(column, names)
        return cls(sum(part.n_rows for part in parts), y, qid, scores, classes, grades)

    @property
    def spreads(self) -> FloatArray:
        """The largest difference of two scores of each query by the first model."""
        query, scores = self.codes[1], next(iter(self.scores.values()))
        ends: Any = np.full((2, int(query.max()) + 1), -np.inf)
        np.maximum.at(ends[0], query, scores)
        np.maximum.at(ends[1], query, -scores)
        return np.asarray(ends.sum(axis=0))

    @property
    def codes(self) -> tuple[NDArray[Any], IntArray]:
        """The queries in sorted order, and the number of the query of each row."""
        if self.qid is None:
            return np.empty(0), np.zeros(len(self.y), dtype=np.int64)
        return as_codes(self.qid, "qid")
