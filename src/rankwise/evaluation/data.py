"""The data of an evaluation: rows with labels and queries, and the scores of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_array, as_codes, as_labels, declared_order, split_missing
from rankwise.core.pipelines import last_step
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.models import is_scores, orders_classes, scores_of
from rankwise.evaluation.names import model_name
from rankwise.evaluation.scored import Scored
from rankwise.preferences import Preferences


class EvaluationData:
    """Rows, labels, queries and the scores of each model; the first model is the main one.

    Attributes
    ----------
    models : dict of name to model, or to None if only scores were given
    scores : dict of name to array of shape (n_rows,)
    preferences : Preferences, or None
        Those given in place of labels.
    y : array of shape (n_rows,)
        The labels as numbers; classes are numbered from 0, the lowest. Zeros if rows have no labels.
    label_names : list of str or None
        The names of classes.
    qid : array, or None
        The query of each row of X, as given.
    query : array of int of shape (n_rows,)
    queries : array of shape (n_queries,)
        The values of `qid` in sorted order; empty without queries.
    query_names : list of str
    X, feature_names :
        As given.
    row_numbers : array of int
        The number of each row in the given X; rows without a label are left out.
    row_names : sequence of str, or None
        The name of each row of the given X, such as a document id.
    """

    row_names: Sequence[str] | None = None

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        qid: ArrayLike | None,
        models: Mapping[str, Any],
        name: str | None,
        feature_names: Sequence[str] | None,
        known_scores: Mapping[str, Any] | None = None,
    ) -> None:
        everything = named_models(model, models, name)
        first = next(iter(everything))
        self.models = {key: None if is_scores(value) else value for key, value in everything.items()}
        self.name = first
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows == 0:
            raise ValueError("X has no rows.")
        self.qid = labels_and_queries(y, qid)[1]
        scorers = known_scores or everything
        scores = {key: scores_of(value, X, key, self.qid) for key, value in scorers.items()}
        self._set_labels(y, qid, n_rows)
        known = self.row_numbers
        self.scores = {key: value[known] for key, value in scores.items()}
        self.X, self.feature_names = X, feature_names

    @property
    def ranker(self) -> Any:
        """The main model, or its last step if it is a pipeline; None if only scores were given."""
        return last_step(self.models[self.name])

    @property
    def target(self) -> FloatArray | Preferences:
        """The given preferences, or the labels."""
        return self.y if self.preferences is None else self.preferences

    def scored(self, cluster: IntArray | None = None, names: Sequence[str] | None = None) -> Scored:
        """Return the labeled rows with the scores of some models, by default of all.

        `cluster` has the cluster of each given row.
        """
        if cluster is not None:
            cluster = np.unique(cluster[self.row_numbers], return_inverse=True)[1]
        scores = {name: self.scores[name] for name in names or self.scores}
        edges = self.edges if self.preferences is None else None
        classes = None if edges is None else self.class_of_row
        return Scored(self.target, scores, self.query, classes, edges, cluster)

    @property
    def edges(self) -> list[tuple[int, int]] | None:
        """The edges of the order graph as numbers of (higher, lower) classes, None without a graph."""
        if self.preferences is not None:
            return _edges_of(self.preferences)
        return edges_of_model(self.ranker)

    @property
    def is_ordered_by_labels(self) -> bool:
        """Whether the pairs are exactly those of rows of one query with different labels."""
        return self.edges is None if self.preferences is None else self.preferences.orders_labels

    def wished(self, rows: IntArray) -> NDArray[np.bool_]:
        """Return a matrix for rows of one query: entry (i, j) is True if row i should be above row j."""
        if self.is_ordered_by_labels:
            return self.y[rows][:, None] > self.y[rows][None, :]
        found = np.zeros((len(rows), len(rows)), dtype=bool)
        if self.preferences is not None:
            pairs = self.preferences[rows].pairs()
            found[pairs.better, pairs.worse] = True
            return found
        for high, low in self.edges or []:
            found |= np.logical_and.outer(self.class_of_row[rows] == high, self.class_of_row[rows] == low)
        return found

    @property
    def n_queries(self) -> int:
        """The number of queries, 1 without any."""
        return len(self.query_names)

    @property
    def main_scores(self) -> FloatArray:
        """The scores of the main model."""
        return self.scores[self.name]

    @property
    def event(self) -> FloatArray | None:
        """Whether each event was observed; None unless labels are survival times."""
        return getattr(self.preferences, "event", None)

    @property
    def n_labelled(self) -> int:
        """The number of rows with a label."""
        return len(self.y)

    @property
    def n_given(self) -> int:
        """The number of rows of the given X."""
        return int(self.X.shape[0])

    @property
    def query_sizes(self) -> IntArray:
        """The number of labeled rows of each query."""
        return np.bincount(self.query, minlength=self.n_queries)

    @property
    def query_spreads(self) -> FloatArray:
        """The largest difference of two scores of each query by the main model."""
        ends: Any = np.full((2, self.n_queries), -np.inf)
        np.maximum.at(ends[0], self.query, self.main_scores)
        np.maximum.at(ends[1], self.query, -self.main_scores)
        return np.asarray(ends.sum(axis=0))

    def row_id(self, row: int) -> int | str:
        """Return the name of a row or, without names, its number in the given X."""
        number = int(self.row_numbers[row])
        return number if self.row_names is None else self.row_names[number]

    def label(self, row: int) -> str:
        """Return the label of a row as text, empty if it has none; a plus marks a censored time."""
        if self.label_names is not None:
            return self.label_names[int(self.class_of_row[row])]
        if self.preferences is not None and self.preferences.values is None:
            return ""
        return f"{self.y[row]:.6g}" + ("" if self.event is None or self.event[row] else "+")

    def _set_labels(self, y: Any, qid: ArrayLike | None, n_rows: int) -> None:
        y, qid = labels_and_queries(y, qid)
        self.preferences = y if isinstance(y, Preferences) else None
        if self.preferences is not None:
            if len(y) != n_rows:
                raise ValueError(f"X has {plural(n_rows, 'row')}, but y has {len(y)}.")
            if not y.orders_labels:
                self._set_structure(self.preferences, qid)
                return
            y = y.values
        known, present = split_missing(y)
        if len(known) != n_rows:
            raise ValueError(f"X has {plural(n_rows, 'row')}, but y has {len(known)}.")
        classes = self.ranker.classes_ if orders_classes(self.ranker) else None
        if classes is None and (declared := declared_order(y)) is not None:
            classes = np.array(list(declared))
        if classes is None and not known.all():
            raise ValueError("y contains missing values.")
        self.row_numbers = np.flatnonzero(known)
        self.label_names: list[str] | None = None
        if classes is None:
            self.y = as_labels(present, "y")
        else:
            self._set_classes(present, as_array(classes))
        self._set_queries(qid, known)

    def _set_classes(self, labels: Any, classes: NDArray[Any]) -> None:
        """Number the labels by the classes, the worst first; numbers in ascending order keep their values."""
        self.class_of_row = class_numbers(labels, classes)
        self.label_names = [str(value) for value in classes.tolist()]
        ascends = classes.dtype.kind in "iufb" and np.all(classes[1:] > classes[:-1])
        numbers = classes if ascends else np.arange(len(classes))
        self.y = np.asarray(numbers, dtype=np.float64)[self.class_of_row]

    def _set_structure(self, y: Preferences, qid: Any) -> None:
        """Set the labels from preferences that are not those of labels."""
        self.row_numbers = np.arange(y.n_rows)
        self.label_names = None
        self.y = np.zeros(y.n_rows) if y.values is None else y.values
        if y.classes is not None and y.codes is not None:
            self.class_of_row = y.codes
            self.label_names = [str(value) for value in y.classes.tolist()]
            self.y = y.codes.astype(np.float64)
        self._set_queries(qid, np.ones(y.n_rows, dtype=bool))

    def _set_queries(self, qid: Any, known: NDArray[np.bool_]) -> None:
        if qid is None:
            self.query, self.query_names = np.zeros(len(self.y), dtype=np.int64), ["all rows"]
            self.queries = np.empty(0)
            return
        distinct, codes = as_codes(qid, "qid", len(known))
        present, self.query = np.unique(codes[known], return_inverse=True)
        self.queries = as_array(distinct)[present]
        self.query_names = [str(value) for value in self.queries.tolist()]


def _edges_of(preferences: Preferences) -> list[tuple[int, int]] | None:
    edges = preferences.edge_codes
    return None if edges is None else [(int(high), int(low)) for high, low in edges]


def named_models(model: Any, models: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """Return all models by name, the main model first."""
    first = model_name(model) if name is None else name
    if first in models:
        raise ValueError(
            f"models already contains {first!r}, the name of `model`; pass name=... to rename it."
        )
    return {first: model, **models}


def edges_of_model(ranker: Any) -> list[tuple[int, int]] | None:
    """Return the edges of the order graph of a model as numbers of (higher, lower) classes, or None."""
    if not hasattr(ranker, "edges_"):
        return None
    number = {value: k for k, value in enumerate(as_array(ranker.classes_).tolist())}
    return [(number[high], number[low]) for high, low in ranker.edges_]


def labels_and_queries(y: Any, qid: Any) -> tuple[Any, Any]:
    """Return labels or preferences, and queries; preferences have their own queries."""
    if not isinstance(y, Preferences):
        return y, qid
    if qid is not None:
        raise ValueError("qid must be None when y is a Preferences, which has its own.")
    return y, y.groups() if y.has_queries else None


def class_numbers(y: Any, classes: Any, n_rows: int | None = None, name: str = "y") -> IntArray:
    """Return the index of each label among the classes.

    Examples
    --------
    >>> class_numbers(["good", "bad", "good"], ["bad", "good"]).tolist()
    [1, 0, 1]
    """
    names = as_array(classes).tolist()
    number = {value: k for k, value in enumerate(names)}
    distinct, codes = as_codes(y, name, n_rows)
    unknown = [value for value in distinct.tolist() if value not in number]
    if unknown:
        raise ValueError(f"{name} contains {unknown[0]!r}, which is not among the classes {names}.")
    return np.array([number[value] for value in distinct.tolist()], dtype=np.int64)[codes]
