"""What a column of a table is: a number, a boolean, a category, an ordered category, a date or text."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.checks import as_array, is_missing
from rankwise.core.text import listing
from rankwise.core.types import FloatVector
from rankwise.data.dates import column_days, frame_columns, is_dated

NUMBER, BOOLEAN, CATEGORY, ORDERED, DATE = "number", "boolean", "category", "ordered category", "date"
KINDS = (NUMBER, BOOLEAN, CATEGORY, ORDERED, DATE)
# More different words in a column are names or text, as are words that occur less often than this on average.
MOST_WORDS, ROWS_PER_WORD = 100, 2


def kind_of(column: Any) -> str:
    """Return the kind of a column of a frame, by its type and, for plain objects, its values.

    Words are a category. Whether they are rather text is decided by `category_values`.

    Examples
    --------
    >>> import pandas as pd
    >>> kind_of(pd.Series([1.5, None])), kind_of(pd.Series(["red", "blue"])), kind_of(pd.Series([True]))
    ('number', 'category', 'boolean')
    """
    if is_declared(column):
        return ORDERED if getattr(column.dtype, "ordered", False) else CATEGORY
    if is_dated(column):
        return DATE
    if _is_boolean(column):
        return BOOLEAN
    return CATEGORY if _holds_words(column) else NUMBER


def category_values(column: Any, most: int) -> list[Any]:
    """Return the categories of a column: those declared, or the words that occur, sorted.

    Declared categories are taken as they are. More than `most` words, or words of which most occur once, are
    refused as names or text.
    """
    values = occurring_values(column)
    if not is_declared(column):
        check_words(str(column.name), len(values), len(column), most)
    return values


def occurring_values(column: Any) -> list[Any]:
    """Return the categories of a column that are declared, or the words that occur, sorted."""
    if type(column.dtype).__name__ in ("CategoricalDtype", "Enum"):
        return [as_python(value) for value in column.dtype.categories]
    return sorted(set(column.to_list()) - {None}, key=str) if _is_polars(column) else _words(column)


def is_declared(column: Any) -> bool:
    """Return whether a column is declared to hold categories."""
    return type(column.dtype).__name__ in ("CategoricalDtype", "Enum", "Categorical")


def check_words(name: str, n_words: int, n_rows: int, most: int) -> None:
    """Refuse a column with too many different words for categories."""
    if n_words > most or (n_rows > most and n_rows < ROWS_PER_WORD * n_words):
        raise ValueError(
            f"Column {name!r} has {n_words:,} different words in {n_rows:,} rows, so it holds "
            "names or text rather than categories. Leave it out, replace it by numbers, or make it a "
            "categorical column if it is one."
        )


def category_codes(column: Any, known: list[Any]) -> FloatVector:
    """Return the number of each value among the known categories, NaN if it is missing or unknown."""
    number = {value: float(code) for code, value in enumerate(known)}
    return np.array([number.get(as_python(value), np.nan) for value in column.to_list()])


def is_missing_in(column: Any) -> Any:
    """Return whether each value of a column is missing."""
    return np.array([is_missing(value) for value in column.to_list()], dtype=bool)


def numbers_of(column: Any, kind: str) -> FloatVector:
    """Return a column of numbers, booleans or dates as float64, NaN if a value is missing."""
    if kind == DATE:
        return column_days(column)
    try:
        return as_array(column).astype(np.float64)
    except (TypeError, ValueError):
        values = column.to_list()
    odd = next((value for value in values if not is_missing(value) and not _is_real(value)), None)
    if odd is not None:
        raise ValueError(f"Column {column.name!r} holds numbers and {odd!r}; make it a column of one type.")
    return np.array([np.nan if is_missing(value) else float(value) for value in values])


def words_and_categories(X: Any) -> list[Any]:
    """Return the columns of a frame that hold words or categories; none of other rows."""
    if not hasattr(X, "columns"):
        return []
    return [column for column in frame_columns(X) if kind_of(column) in (CATEGORY, ORDERED)]


def require_numbers(X: Any, name: str) -> None:
    """Refuse a frame with words, categories or missing values, by the names of its columns."""
    if not hasattr(X, "columns"):
        return
    odd = words_and_categories(X)
    what = "words or categories"
    if not odd:
        odd = [column for column in frame_columns(X) if np.isnan(numbers_of(column, kind_of(column))).any()]
        what = "missing values"
    if odd:
        raise ValueError(
            f"X has {what} in {listing([str(column.name) for column in odd])}, but {name} needs numbers. Put "
            f"an encoder before it: make_pipeline(rankwise.preprocessing.TableEncoder(), StandardScaler(), "
            f"{name}()); CurveRanker and BoostedRanker take such columns as they are."
        )


def as_python(value: Any) -> Any:
    """Return a scalar of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _words(column: Any) -> list[str]:
    values = {value for value in column.to_list() if not is_missing(value)}
    odd = next((value for value in values if not isinstance(value, str)), None)
    if odd is not None:
        raise ValueError(f"Column {column.name!r} holds words and {odd!r}; make it a column of one type.")
    return sorted(values)


def _is_polars(column: Any) -> bool:
    return type(column).__module__.startswith("polars")


def _is_boolean(column: Any) -> bool:
    if str(column.dtype).lower() in ("bool", "boolean"):
        return True
    return column.dtype == object and isinstance(_first(column), bool | np.bool_)


def _holds_words(column: Any) -> bool:
    if type(column.dtype).__name__ in ("StringDtype", "String", "Utf8"):
        return True
    return column.dtype == object and isinstance(_first(column), str)


def _first(column: Any) -> Any:
    return next((value for value in column.to_list() if not is_missing(value)), None)


def _is_real(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
