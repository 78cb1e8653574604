"""The scores and the grades of any model, of this library or of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.core.checks import as_array, as_vector
from rankwise.core.pipelines import before_last_step, has_probabilities, last_step, scales_queries
from rankwise.core.types import FloatArray, IntArray


def is_scores(model: Any) -> bool:
    """Return whether `model` is an array of scores rather than a model."""
    return not hasattr(model, "predict")


def matrix_of(X: Any) -> Any:
    """Return rows as an array or a CSR matrix."""
    return X.tocsr() if sp.issparse(X) else as_array(X)


def scores_of(model: Any, X: Any, name: str, qid: Any = None) -> FloatArray:
    """Return the score of each row: its utility, probability of the higher class, or prediction."""
    if is_scores(model):
        return as_vector(model, f"the scores of {name!r}", X.shape[0])
    if scales_queries(model):
        model, X = last_step(model), before_last_step(model, X, qid)
    if hasattr(last_step(model), "utility"):
        scores = last_step(model).utility(before_last_step(model, X))
    elif hasattr(model, "predict_proba"):
        scores = _of_two_classes(model.predict_proba(X), name)
    elif hasattr(model, "decision_function"):
        scores = model.decision_function(X)
    else:
        scores = as_array(model.predict(X))
    if np.ndim(scores) != 1:
        raise ValueError(f"{name!r} must give one score per row; it gives shape {np.shape(scores)}.")
    return as_vector(scores, f"the scores of {name!r}", X.shape[0])


def log_odds_of(model: Any, X: Any, name: str) -> FloatArray:
    """Return scores whose differences are the log odds of pairs."""
    if not has_probabilities(model):
        raise TypeError(f"{name!r} has no predict_pair_proba; use RankLogistic or RankLogisticCV.")
    return scores_of(model, X, name)


def _of_two_classes(probability: Any, name: str) -> FloatArray:
    if probability.shape[1] != 2:
        raise ValueError(
            f"{name!r} must give one score per row, but has {probability.shape[1]} classes instead of 2."
        )
    return np.asarray(probability[:, 1])


def predicts_grades(model: Any) -> bool:
    """Return whether a model predicts grades: a utility with boundaries between classes."""
    ranker = last_step(model)
    return hasattr(ranker, "thresholds_")


def orders_classes(ranker: Any) -> bool:
    """Return whether a model puts classes in order, so that labels are numbered by them."""
    return hasattr(ranker, "thresholds_") or hasattr(ranker, "intervals_")


def predicted_grades(X: Any, qid: Any, model: Any) -> IntArray:
    """Return the number of the predicted class of each row."""
    ranker = last_step(model)
    number = {value: k for k, value in enumerate(ranker.classes_.tolist())}
    predicted = ranker.predict(before_last_step(model, X, qid))
    return np.array([number[value] for value in predicted.tolist()], dtype=np.int64)
