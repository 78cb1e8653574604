"""Columns of categories in a frame as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from rankwise._checks import as_array
from rankwise._memory import require_memory
from rankwise._types import FloatArray, FloatVector

Categories = dict[int, list[Any]]


def categories_of(X: Any) -> Categories:
    """Return the categories of each column of a frame that has some, by its place; none of other rows."""
    if not hasattr(X, "columns"):
        return {}
    columns = [X[name] for name in X.columns]
    return {place: _categories(column) for place, column in enumerate(columns) if _is_categorical(column)}


def encoded(X: Any, categories: Categories) -> FloatArray:
    """Return the columns of a frame as numbers: of a category its number, NaN where it is not among those."""
    columns = [
        _codes(X[name], categories[place]) if place in categories else _numbers(X[name], str(name))
        for place, name in enumerate(X.columns)
    ]
    return np.column_stack(columns)


def validated_numbers(estimator: Any, X: Any, reset: bool) -> FloatArray:
    """Return rows as a float64 array with NaN where values are missing; the estimator keeps `categories_`.

    Columns lie together in memory, as each is looked at by itself. Categories of a frame are the numbers that
    `encoded` gives them, and sparse rows become dense.
    """
    found = categories_of(X)
    if reset:
        estimator.categories_ = found
    if found:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return encoded(X, estimator.categories_)
    options = {"accept_sparse": "csc", "dtype": np.float64, "ensure_all_finite": "allow-nan", "order": "F"}
    X = validate_data(estimator, X, reset=reset, **options)
    if not hasattr(X, "toarray"):
        return X
    require_memory(8 * X.shape[0] * X.shape[1], "A dense copy of X", "leave out columns of X")
    return X.toarray(order="F")


def _is_categorical(column: Any) -> bool:
    return type(column.dtype).__name__ in ("CategoricalDtype", "Enum", "Categorical")


def _categories(column: Any) -> list[Any]:
    """Return the categories declared, or those that occur where polars declares none."""
    if type(column.dtype).__name__ == "Categorical":
        return sorted(set(column.to_list()) - {None})
    return list(column.dtype.categories)


def _codes(column: Any, known: list[Any]) -> FloatVector:
    number = {value: float(code) for code, value in enumerate(known)}
    return np.array([number.get(value, np.nan) for value in column.to_list()])


def _numbers(column: Any, name: str) -> FloatVector:
    try:
        return as_array(column).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Column {name!r} of X holds {column.dtype}, but columns must hold numbers or categories: make "
            "it a categorical column."
        ) from None
