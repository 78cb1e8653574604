"""Models alone or at the end of a pipeline of scikit-learn, and the names of their columns."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from rankwise.core.text import listing


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


def fitted_columns(model: Any) -> list[str] | None:
    """Return the names of the columns of a fit, or None if it had none.

    They are those of the frame that a model or the first step of a pipeline was fitted to. A model that was
    fitted to an array has those that its file was saved with.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(last_step(model), "feature_names_", None)
    return None if names is None else [str(name) for name in names]


def require_same_columns(
    expected: Sequence[str], found: Sequence[str], of_found: str, of_expected: str, *, ordered: bool = True
) -> None:
    """Refuse columns with other names or, if `ordered`, in another order; the error names them."""
    missing = [name for name in expected if name not in found]
    surplus = [name for name in found if name not in expected]
    problems = [f"it lacks {listing(missing)}"] * bool(missing)
    problems += [f"it also has {listing(surplus)}"] * bool(surplus)
    if not problems and (not ordered or list(expected) == list(found)):
        return
    in_order = " in the same order" if ordered else ""
    raise ValueError(
        f"{of_found} must have the columns of {of_expected}{in_order}; "
        f"{' and '.join(problems) or 'the order differs'}."
    )
