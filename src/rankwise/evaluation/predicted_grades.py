"""The grades that a model predicts, as numbers of its classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.types import IntArray


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
