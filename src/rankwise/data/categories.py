"""Columns of categories in a frame as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from rankwise.core.memory import require_memory
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.column_kinds import (
    CATEGORY,
    MOST_WORDS,
    ORDERED,
    category_codes,
    category_values,
    kind_of,
    numbers_of,
)
from rankwise.data.dates import frame_columns, with_days

Categories = dict[int, list[Any]]


def categories_of(X: Any) -> Categories:
    """Return the categories of each column of a frame that has some, by its place; none of other rows."""
    if not hasattr(X, "columns"):
        return {}
    columns = enumerate(frame_columns(X))
    return {
        place: category_values(column, MOST_WORDS)
        for place, column in columns
        if kind_of(column) in (CATEGORY, ORDERED)
    }


def encoded(X: Any, categories: Categories) -> FloatArray:
    """Return the columns of a frame as numbers: a category as its number, NaN if it is unknown."""
    columns = [
        category_codes(column, categories[place]) if place in categories else _numbers(column)
        for place, column in enumerate(frame_columns(X))
    ]
    return np.column_stack(columns)


def validated_numbers(estimator: Any, X: Any, reset: bool) -> FloatArray:
    """Return the rows of `validated_rows` as a dense array.

    Columns lie together in memory, as each is looked at by itself.
    """
    X = validated_rows(estimator, X, reset, accept_sparse="csc", order="F")
    if not hasattr(X, "toarray"):
        return X
    require_memory(8 * X.shape[0] * X.shape[1], "A dense copy of X", "leave out columns of X")
    return X.toarray(order="F")


def validated_rows(estimator: Any, X: Any, reset: bool, **options: Any) -> Any:
    """Return rows of float64 with NaN where values are missing; the estimator keeps `categories_`.

    Categories of a frame are the numbers that `encoded` gives them, also where later rows hold them as plain
    words or numbers. Options are those of scikit-learn's `check_array`.
    """
    X = with_days(X)
    if reset:
        estimator.categories_ = categories_of(X)
    options = {"dtype": np.float64, "ensure_all_finite": "allow-nan"} | options
    if not (hasattr(X, "columns") and (estimator.categories_ or _has_words(X))):
        return validate_data(estimator, X, reset=reset, **options)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return check_array(encoded(X, estimator.categories_), input_name="X", estimator=estimator, **options)


def one_row(row: Any, name: str) -> Any:
    """Return a row as a matrix or frame; the index of a row of a frame (pandas) has the names of columns."""
    if hasattr(row, "to_frame") and hasattr(row, "index"):
        row = row.to_frame().T
    elif not (hasattr(row, "columns") or hasattr(row, "toarray")):
        row = np.atleast_2d(np.asarray(row))
    if row.shape[0] != 1:
        raise ValueError(f"{name} must be one row; got {row.shape[0]}.")
    return row


def _has_words(X: Any) -> bool:
    return any(kind_of(column) in (CATEGORY, ORDERED) for column in frame_columns(X))


def _numbers(column: Any) -> FloatVector:
    kind = kind_of(column)
    if kind in (CATEGORY, ORDERED):
        raise ValueError(f"Column {column.name!r} of X holds {column.dtype}, but held numbers in the fit.")
    return numbers_of(column, kind)
