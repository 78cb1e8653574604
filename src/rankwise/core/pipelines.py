"""Models alone or at the end of a pipeline of scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any


def last_step(model: Any) -> Any:
    """Return the last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def has_probabilities(model: Any) -> bool:
    """Return whether a model predicts the probability that one row is above another."""
    return hasattr(last_step(model), "predict_pair_proba")


def scales_queries(model: Any) -> bool:
    """Tell whether a step of a pipeline needs the query of each row."""
    return any(takes_queries(step) for _, step in getattr(model, "steps", [])[:-1])


def takes_queries(step: Any) -> bool:
    """Tell whether a step transforms rows by their queries."""
    return hasattr(step, "transform") and "qid" in inspect.signature(step.transform).parameters


def before_last_step(model: Any, X: Any, qid: Any = None) -> Any:
    """Return the rows transformed by all steps but the last; steps that take queries get them."""
    if not scales_queries(model):
        return model[:-1].transform(X) if hasattr(model, "steps") else X
    for _, step in model.steps[:-1]:
        if step is not None and step != "passthrough":
            X = step.transform(X, qid=qid) if takes_queries(step) else step.transform(X)
    return X
