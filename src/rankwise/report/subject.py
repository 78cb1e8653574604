"""What a report is about: rows with labels and queries, and the models that score them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankwise._checks import as_array, as_codes, as_vector, split_missing
from rankwise._pipeline import last_step
from rankwise.distributed import gathered
from rankwise.preferences import Preferences
from rankwise.preferences.ranking import Ranking

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Subject:
    """Rows, labels, queries and the scores of each model; the first model is the one reported on.

    Attributes
    ----------
    models : dict of name to model, or None where only scores were given
    scores : dict of name to array of shape (n_rows,)
    y : array of shape (n_rows,)
        The labels as numbers; classes count from 0, the lowest.
    label_names : list of str or None
        The names of classes.
    query : array of int of shape (n_rows,)
    query_names : list of str
    X, feature_names :
        As given.
    row_numbers : array of int
        The number of each row in the X that was given: rows without a label are left out.
    """

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        qid: ArrayLike | None,
        models: Mapping[str, Any],
        name: str | None,
        feature_names: Sequence[str] | None,
    ) -> None:
        first = _default_name(model) if name is None else name
        if first in models:
            raise ValueError(
                f"models has the name {first!r} of the model itself; give that another by name=."
            )
        everything = {first: model, **models}
        self.models = {key: None if is_scores(value) else value for key, value in everything.items()}
        self.name = first
        X = gathered(X)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows == 0:
            raise ValueError("X has no rows.")
        scores = {key: scores_of(value, X, key) for key, value in everything.items()}
        self._set_labels(y, qid, n_rows)
        known = self.row_numbers
        self.scores = {key: value[known] for key, value in scores.items()}
        self.X, self.feature_names = X, feature_names

    @property
    def ranker(self) -> Any:
        """The model itself, or the last step of a pipeline; None for bare scores."""
        return last_step(self.models[self.name])

    @property
    def order(self) -> list[tuple[float, float]] | None:
        """The (higher, lower) labels of an order graph, or None where higher numbers are better."""
        if not hasattr(self.ranker, "edges_"):
            return None
        value = dict(zip(self.class_of_row.tolist(), self.y.tolist(), strict=True))
        codes = {name: k for k, name in enumerate(as_array(self.ranker.classes_).tolist())}
        edges = [(codes[high], codes[low]) for high, low in self.ranker.edges_]
        return [(value[high], value[low]) for high, low in edges if high in value and low in value]

    def below(self, a: FloatArray, b: FloatArray) -> NDArray[np.bool_]:
        """Tell where rows of the first labels should be below rows of the second."""
        if self.order is None:
            return a < b
        found = np.zeros(np.broadcast_shapes(a.shape, b.shape), dtype=bool)
        for high, low in self.order:
            found |= (a == low) & (b == high)
        return found

    @property
    def n_queries(self) -> int:
        """The number of queries, 1 without any."""
        return len(self.query_names)

    @property
    def main_scores(self) -> FloatArray:
        """The scores of the model that is reported on."""
        return self.scores[self.name]

    def label(self, row: int) -> str:
        """Give the label of a row as text."""
        return (
            f"{self.y[row]:.6g}"
            if self.label_names is None
            else self.label_names[int(self.class_of_row[row])]
        )

    def _set_labels(self, y: Any, qid: ArrayLike | None, n_rows: int) -> None:
        y, qid = gathered(y), gathered(qid)
        if isinstance(y, Preferences):
            if not isinstance(y, Ranking) or qid is not None:
                raise ValueError(
                    "y must be labels, or Preferences.from_scores without qid: the measures of a report are "
                    "those of labels."
                )
            y, qid = y.values, y.groups()
        known, present = split_missing(y)
        if len(known) != n_rows:
            raise ValueError(f"X has {n_rows} rows, but y has {len(known)}.")
        classes = getattr(self.ranker, "classes_", None)
        if classes is None and not known.all():
            raise ValueError("y contains missing values.")
        self.row_numbers = np.flatnonzero(known)
        self.label_names: list[str] | None = None
        if classes is None:
            self.y = as_vector(present, "y")
        else:
            self._set_classes(present, classes)
        self._set_queries(qid, known)

    def _set_classes(self, labels: Any, classes: Any) -> None:
        """Number the labels in the order of the model's classes; numbers stay what they are."""
        names = as_array(classes).tolist()
        number = {value: k for k, value in enumerate(names)}
        distinct, codes = as_codes(labels, "y")
        unknown = [value for value in distinct.tolist() if value not in number]
        if unknown:
            raise ValueError(f"y holds {unknown[0]!r}, which is none of the classes {names} of the model.")
        self.class_of_row = np.array([number[value] for value in distinct.tolist()])[codes]
        self.label_names = [str(value) for value in names]
        self.y = self.class_of_row.astype(np.float64)
        if as_array(classes).dtype.kind in "iufb":
            self.y = np.asarray(as_array(classes), dtype=np.float64)[self.class_of_row]

    def _set_queries(self, qid: Any, known: NDArray[np.bool_]) -> None:
        if qid is None:
            self.query, self.query_names = np.zeros(len(self.y), dtype=np.int64), ["all rows"]
            return
        distinct, codes = as_codes(qid, "qid", len(known))
        present, self.query = np.unique(codes[known], return_inverse=True)
        self.query_names = [str(value) for value in as_array(distinct)[present].tolist()]


def is_scores(model: Any) -> bool:
    """Tell scores from a model."""
    return not hasattr(model, "predict")


def scores_of(model: Any, X: Any, name: str) -> FloatArray:
    """Give the score of each row: a utility, a probability of the higher class, or what predict gives."""
    if is_scores(model):
        return as_vector(gathered(model), f"the scores of {name!r}", X.shape[0])
    if hasattr(last_step(model), "utility"):
        scores = last_step(model).utility(model[:-1].transform(X) if hasattr(model, "steps") else X)
    elif hasattr(model, "predict_proba"):
        scores = _of_two_classes(model.predict_proba(X), name)
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    else:
        scores = gathered(model.predict(X))
    if np.ndim(scores) != 1:
        raise ValueError(f"A report needs one score a row, but {name!r} gives shape {np.shape(scores)}.")
    return as_vector(scores, f"the scores of {name!r}", X.shape[0])


def _of_two_classes(probability: Any, name: str) -> FloatArray:
    if probability.shape[1] != 2:
        raise ValueError(
            f"A report needs one score a row, but {name!r} has {probability.shape[1]} classes, not 2."
        )
    return np.asarray(probability[:, 1])


def _default_name(model: Any) -> str:
    return "scores" if is_scores(model) else type(last_step(model)).__name__


def matrix_of(X: Any) -> Any:
    """Give rows as an array or a CSR matrix."""
    return X.tocsr() if sp.issparse(X) else as_array(X)


def names_of(X: Any, model: Any, given: Sequence[str] | None, n_features: int) -> list[str]:
    """Give names as given, of the frame, of the fit, as saved with the model, or f1, f2, ..."""
    ranker = last_step(model)
    found = [
        given,
        getattr(X, "columns", None),
        getattr(model, "feature_names_in_", None),
        getattr(ranker, "feature_names_", None),
    ]
    names = next((list(map(str, listed)) for listed in found if listed is not None), None)
    if names is None:
        return [f"f{number}" for number in range(1, n_features + 1)]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names, but X has {n_features} features.")
    return names
