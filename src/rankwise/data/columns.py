"""Columns of frames of any library: what they hold, their levels, and their values as numbers.

A column of pandas, polars, pyarrow or another library is a series of narwhals here. A date is the number of
days since 1970-01-01 with its fraction, in UTC if it has a time zone; a duration is a number of days; a
missing value is NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_array, is_missing
from rankwise.core.types import FloatArray, FloatVector

Column = nw.Series[Any]

NUMBER, BOOLEAN, CATEGORY, ORDERED, DATE = "number", "boolean", "category", "ordered category", "date"
KINDS = (NUMBER, BOOLEAN, CATEGORY, ORDERED, DATE)
# More different strings in a column are names or text, as are strings that occur less often on average.
MOST_WORDS, ROWS_PER_WORD = 100, 2
DAY = np.timedelta64(1, "D")
_DATED = (nw.Date, nw.Datetime, nw.Duration, nw.Time)


def is_frame(X: Any) -> bool:
    """Return whether rows are a frame in memory, of pandas, polars, pyarrow or another library."""
    return bool(nw.dependencies.is_into_dataframe(X))


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns of a frame, None for other rows."""
    if is_frame(X) and not hasattr(X, "iloc"):
        return list(nw.from_native(X, eager_only=True).columns)
    names = getattr(X, "columns", None)  # of pandas, of which several may be equal, or of a frame on Dask
    return None if names is None else list(names)


def columns_by_name(table: Any) -> dict[Any, Any] | None:
    """Return the columns of a frame of any library, or of a mapping; None for other values.

    Examples
    --------
    >>> columns_by_name({"winner": ["x"], "loser": ["y"]})
    {'winner': ['x'], 'loser': ['y']}
    """
    names = list(table) if isinstance(table, Mapping) else column_names(table)
    return None if names is None else {name: table[name] for name in names}


def kind_of(column: Any) -> str:
    """Return the kind of a column, by its type and, for plain objects, its first value.

    Words are a category. Whether they are rather text is decided by `category_values`.

    Examples
    --------
    >>> import pandas as pd
    >>> kind_of(pd.Series([1.5, None])), kind_of(pd.Series(["red", "blue"])), kind_of(pd.Series([True]))
    ('number', 'category', 'boolean')
    """
    column = nw.from_native(column, series_only=True)
    dtype = column.dtype
    if is_declared(column):
        return ORDERED if getattr(_native_type(column), "ordered", False) else CATEGORY
    if isinstance(dtype, _DATED):
        return DATE
    if dtype == nw.Boolean:
        return BOOLEAN
    if dtype != nw.Object and dtype != nw.String:
        return NUMBER
    if dtype == nw.String and _native_type(column) != np.dtype(object):
        return CATEGORY
    first = next((value for value in column.to_list() if not is_missing(value)), None)
    kinds = {str: CATEGORY, bool: BOOLEAN, np.bool_: BOOLEAN, date: DATE, time: DATE}
    return next((kind for held, kind in kinds.items() if isinstance(first, held)), NUMBER)


def is_declared(column: Column) -> bool:
    """Return whether a column is declared to hold categories."""
    return isinstance(column.dtype, nw.Categorical | nw.Enum)


def category_values(column: Column, most: int) -> list[Any]:
    """Return the categories of a column: those declared, or the words that occur, sorted.

    Declared categories are taken as they are. More than `most` words, or words of which most occur once, are
    refused as names or text.
    """
    values = occurring_values(column)
    if not is_declared(column):
        check_words(str(column.name), len(values), len(column), most)
    return values


def occurring_values(column: Column) -> list[Any]:
    """Return the categories of a column that are declared, or the words that occur, sorted."""
    # A Categorical of polars knows the words of other columns, too.
    if is_declared(column) and not (column.implementation.is_polars() and column.dtype == nw.Categorical):
        return [as_python(level) for level in column.cat.get_categories().to_list()]
    values = {value for value in column.to_list() if not is_missing(value)}
    odd = next((value for value in values if not isinstance(value, str)), None)
    if odd is not None:
        raise ValueError(f"Column {column.name!r} holds words and {odd!r}; make it a column of one type.")
    return sorted(values)


def check_words(name: str, n_words: int, n_rows: int, most: int) -> None:
    """Refuse a column with too many different strings for categories."""
    if n_words > most or (n_rows > most and n_rows < ROWS_PER_WORD * n_words):
        raise ValueError(
            f"Column {name!r} has {n_words:,} different strings in {n_rows:,} rows, so it holds "
            "names or text rather than categories. Leave it out, replace it by numbers, or make it a "
            "categorical column if it is one."
        )


def category_codes(column: Column, known: list[Any]) -> FloatVector:
    """Return the number of each value among the known categories, NaN if it is missing or unknown."""
    code_of = {value: float(code) for code, value in enumerate(known)}
    return np.array([code_of.get(as_python(value), np.nan) for value in column.to_list()])


def is_missing_in(column: Column) -> NDArray[np.bool_]:
    """Return whether each value of a column is missing."""
    return np.array([is_missing(value) for value in column.to_list()], dtype=bool)


def numbers_of(column: Any, kind: str) -> FloatVector:
    """Return a column of numbers, booleans or dates as float64, NaN if a value is missing."""
    column = nw.from_native(column, series_only=True)
    if kind == DATE:
        return column_days(column)
    try:
        return as_array(column).astype(np.float64, copy=False)
    except (TypeError, ValueError):
        values = column.to_list()
    odd = next((value for value in values if not is_missing(value) and not _is_real(value)), None)
    if odd is not None:
        raise ValueError(f"Column {column.name!r} holds numbers and {odd!r}; make it a column of one type.")
    return np.array([np.nan if is_missing(value) else float(value) for value in values])


def as_python(value: Any) -> Any:
    """Return a scalar of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def column_days(column: Column) -> FloatArray:
    """Return a column of dates or durations in days."""
    values = column.to_numpy()
    if values.dtype.kind in "Mm":  # dates with a time zone are in UTC
        return days(values)
    moments = [_moment(value, str(column.name)) for value in values.tolist()]
    return days(np.array(moments, dtype="datetime64[us]"))


def days(values: NDArray[Any]) -> FloatArray:
    """Return dates or durations of any unit in days; equal times give equal bits."""
    if values.dtype.kind == "m":
        return values / DAY
    whole = values.astype("datetime64[D]")
    numbers = whole.astype(np.int64) + (values - whole) / DAY
    return np.where(np.isnat(values), np.nan, numbers)


def _moment(value: Any, name: str) -> date | None:
    """Return a date or a time in UTC, None if it is missing."""
    if is_missing(value):
        return None
    if not isinstance(value, date):
        raise ValueError(
            f"Column {name!r} of X has dates and {value!r}, which is no date; make it a column of one type."
        )
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _native_type(column: Column) -> Any:
    native = column.to_native()
    return native.dtype if hasattr(native, "dtype") else native.type


def _is_real(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
