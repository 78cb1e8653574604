"""What the methods of estimators are given: rows, labels or preferences, queries and weights, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d

from rankwise import estimators
from rankwise.core.backends import Backend, backend_of, in_memory
from rankwise.core.checks import as_array, as_labels, as_vector, declared_order
from rankwise.core.memory import require_memory
from rankwise.core.pipelines import require_same_columns
from rankwise.core.text import plural
from rankwise.core.types import FloatVector
from rankwise.core.warn import warn_caller
from rankwise.data.columns import column_names
from rankwise.data.design import Design
from rankwise.data.frames import one_row, with_days
from rankwise.data.hints import hint_at_queries
from rankwise.estimators.fits import keep_pairs
from rankwise.functions.kernel_parameters import is_linear
from rankwise.model_selection.fold_rows import Validation
from rankwise.model_selection.tunable import Problem
from rankwise.preferences import Preferences, as_preferences
from rankwise.preferences.base import is_preferences_list

if TYPE_CHECKING:
    from rankwise.estimators.base import BaseRanker

# The most rows of one ranking, and the bytes that their labels and index take.
MOST_ROWS, DRIVER_BYTES = 2**31 - 2, 50


def read_problem(
    model: BaseRanker,
    X: Any,
    y: Any,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    may_stay: bool = False,
    several: Callable[..., list[Preferences] | None] | None = None,
) -> Problem:
    """Read rows and the preferences among them; the model keeps the columns and the number of pairs.

    With `may_stay`, labels may stay where the rows are, if these are not in memory.
    `several(y, qid, sample_weight)` returns the preferences of each output, or None if y is a single one.
    """
    require_labels(model, y)
    backend, X, pair_weight = backend_of(X), read_rows(model, X), getattr(model, "pair_weight", None)
    if backend is not None:
        may_stay = may_stay and getattr(model, "labels_may_stay", True)
        there = backend.preferences(X, y, qid, sample_weight, pair_weight) if may_stay else None
        if there is not None:
            model.fitted_with_qid_, model.n_pairs_ = True, there.n_pairs
            if 2 * there.n_ranked < there.n_queries:
                hint_at_queries(there.n_queries - there.n_ranked, there.n_queries)
            return Problem(X, [there])
        check_driver(X)
    outputs = None if several is None else several(y, qid, sample_weight)
    first = read_preferences(y, qid, sample_weight, pair_weight) if outputs is None else outputs[0]
    if first.n_rows != X.shape[0]:
        raise ValueError(f"X has {plural(X.shape[0], 'row')}, but y has {first.n_rows}.")
    keep_pairs(model, first, qid is not None)
    if outputs is not None:
        model.n_pairs_ = np.array([output.n_pairs for output in outputs])
    return Problem(X, outputs or [first])


def check_driver(X: Design) -> None:
    """Refuse more rows than one ranking in memory holds, or than the memory of this process."""
    n_rows = X.shape[0]
    way_out = (
        "give y and qid as Dask columns with the partitions of X, sorted by query, so that they stay on the "
        "workers"
    )
    if n_rows > MOST_ROWS:
        raise ValueError(
            f"X has {n_rows:,} rows {X.location}. One ranking, with its labels in the memory of the driver, "
            f"has at most 2^31 - 2 rows and takes about {DRIVER_BYTES} bytes per row; {way_out}."
        )
    require_memory(
        DRIVER_BYTES * n_rows, f"The labels of {n_rows:,} rows, about {DRIVER_BYTES} bytes each,", way_out
    )


def require_labels(model: BaseRanker, y: Any) -> None:
    """Refuse a missing y in the words of scikit-learn."""
    if y is None:
        raise ValueError(
            f"This {type(model).__name__} estimator requires y to be passed, but the target y is None."
        )


def read_rows(model: BaseRanker, X: Any) -> Any:
    """Return X as validated by scikit-learn or, if its rows are not in memory, as a design."""
    model.__dict__.pop("rounds_", None)  # of a previous fit
    if (backend := backend_of(X)) is None:
        return model.validated(X, reset=True)
    if not model.takes_backends:
        kinds = [getattr(estimators, name) for name in estimators.__all__]
        others = [kind.__name__ for kind in kinds if getattr(kind, "command", "") and kind.takes_backends]
        raise ValueError(
            f"{type(model).__name__} needs all rows in one place, but X is {backend.name}; use "
            f"{', '.join(others[:-1])} or {others[-1]}, with an alpha or as CV class; or fit it to a sample "
            "of whole queries in memory, and score all rows by rankwise.distributed.lazy_predictions."
        )
    check_linear(model, backend)
    design = backend.design(X)
    model.n_features_in_ = design.shape[1]
    model.__dict__.pop("feature_names_in_", None)  # of a previous fit
    if design.feature_names is not None:
        model.feature_names_in_ = np.array(design.feature_names, dtype=object)
    model.rounds_ = design.log
    return design


def check_linear(model: BaseRanker, backend: Backend) -> None:
    """Refuse a kernel on rows that are not in memory."""
    if not is_linear(model):
        raise ValueError(
            f"kernel={model.kernel!r} needs all rows in one place, but X is {backend.name}; use "
            "kernel='linear'."
        )


def require_here(X: Any, cv: str) -> None:
    """Refuse closed forms of cross-validation for rows that are not in memory."""
    if getattr(X, "location", None) is not None:
        raise ValueError(f"{cv} needs all rows in one place, but X is {X.location}; use folds, such as cv=5.")


def read_preferences(
    y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None, pair_weight: str | None = None
) -> Preferences:
    """Return the preferences among rows: y itself, or those of its labels."""
    if not isinstance(y, Preferences):
        y = in_memory(y)
        labels = as_labels(y if declared_order(y) else column_or_1d(as_array(y), warn=True), "y")
        return Preferences.from_scores(labels, qid, sample_weight, pair_weight=pair_weight)
    if qid is not None:
        raise ValueError("qid must be None when y is a Preferences: give the queries to from_scores.")
    if pair_weight is not None:
        raise ValueError(
            "pair_weight must be None when y is a Preferences: give the weights to the Preferences."
        )
    return y if sample_weight is None else y.weighted(sample_weight)


def mixes_queries(model: BaseRanker, y: Any, qid: Any) -> bool:
    """Return whether rows of different queries are compared, although those of the fit were not."""
    return qid is None and getattr(model, "fitted_with_qid_", False) and not isinstance(y, Preferences)


def check_validation_queries(model: BaseRanker, y: Any, qid: Any) -> None:
    """Warn of validation rows without queries after a fit with queries."""
    if mixes_queries(model, y, qid):
        warn_caller(
            "fit got qid, but validation has none: its rows of different queries are compared. Give "
            "validation=(X, y, qid)."
        )


def read_validation(model: BaseRanker, validation: Any) -> Validation:
    """Return the rows that alphas are compared by."""
    if not isinstance(validation, tuple | list) or len(validation) not in (2, 3):
        raise ValueError("validation must be (X, y) or (X, y, qid), the rows that alphas are judged by.")
    y, qid = (*validation[1:], None)[:2]
    check_validation_queries(model, y, qid)
    X = read_held_out(model, validation[0])
    outputs = [as_preferences(output) for output in model.outputs(y, qid)]
    if outputs[0].n_rows != X.shape[0]:
        raise ValueError(
            f"X of validation has {plural(X.shape[0], 'row')}, but its y has {outputs[0].n_rows}."
        )
    for output in outputs:
        output.require_pairs()
    return Validation(X, outputs, labels_alone(y, qid))


def read_held_out(model: BaseRanker, X: Any) -> Any:
    """Return rows with the columns of the fit: checked, or as a design or table if not in memory."""
    if (backend := backend_of(X)) is None:
        return model.validated(X, reset=False)
    check_linear(model, backend)
    design = backend.design(X)
    if design.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X of validation has {plural(design.shape[1], 'feature')}, but X has {model.n_features_in_}."
        )
    expected = getattr(model, "feature_names_in_", None)
    if expected is not None and design.feature_names is not None:
        require_same_columns(list(expected), design.feature_names, "X of validation", "X")
    return design


def labels_alone(y: Any, qid: ArrayLike | None) -> Any:
    """Return the labels of rows without queries, which a scorer takes as they are, or None."""
    if isinstance(y, Preferences) or is_preferences_list(y) or qid is not None:
        return None
    return as_array(y)


def read_row(model: BaseRanker, row: Any, name: str) -> FloatVector:
    """Return one row as a vector with the features of the fit."""
    names = getattr(row, "index", None) if (columns := column_names(row)) is None else columns
    expected = getattr(model, "feature_names_in_", None)
    if expected is not None and names is not None and not callable(names) and list(names) != list(expected):
        raise ValueError(f"The features of {name} must be those of the fit, in the same order.")
    row = one_row(row, name)
    values = row.toarray() if hasattr(row, "toarray") else as_array(with_days(row))
    vector = as_vector(values[0], name)
    if len(vector) != model.n_features_in_:
        raise ValueError(
            f"{name} has {plural(len(vector), 'feature')}, but the model has {model.n_features_in_}."
        )
    return vector
