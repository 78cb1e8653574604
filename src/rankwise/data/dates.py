"""Dates as numbers: days since 1970-01-01 with their fraction, whatever unit they are stored in.

Dates with a time zone are converted to UTC, durations are days, and a missing date (NaT) is NaN.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import is_missing
from rankwise.core.types import FloatArray

DAY = np.timedelta64(1, "D")
EPOCH = datetime(1970, 1, 1)


def with_days(X: Any) -> Any:
    """Return rows with each column of dates as a column of days; rows without dates as they are.

    Examples
    --------
    >>> with_days(np.array([["1970-01-02T12:00"], ["NaT"]], dtype="datetime64[s]")).tolist()
    [[1.5], [nan]]
    """
    if not hasattr(X, "columns"):
        is_dates = isinstance(X, np.ndarray) and X.dtype.kind in "Mm"
        return days(X) if is_dates else X
    found = {place: column for place, column in enumerate(frame_columns(X)) if is_dated(column)}
    if not found:
        return X
    if hasattr(X, "isetitem"):  # pandas
        X = X.copy(deep=False)
        for place, column in found.items():
            X.isetitem(place, column_days(column))
        return X
    names = list(X.columns)
    return X.with_columns(**{names[place]: column_days(column) for place, column in found.items()})


def frame_columns(X: Any) -> list[Any]:
    """Return the columns of a frame, of which several may have one name."""
    return [X.iloc[:, place] if hasattr(X, "iloc") else X[name] for place, name in enumerate(X.columns)]


def is_dated(column: Any) -> bool:
    """Return whether a column of a frame holds dates or durations."""
    kind = getattr(column.dtype, "kind", None)
    if kind is not None:  # pandas, or polars' numbers
        return kind in "Mm" or (column.dtype == object and _holds_dates(column))
    return type(column.dtype).__name__ in ("Date", "Datetime", "Duration", "Time")


def _holds_dates(column: Any) -> bool:
    return isinstance(next((value for value in column if not is_missing(value)), None), date | time)


def column_days(column: Any) -> FloatArray:
    """Return a column of dates or durations in days."""
    if getattr(column.dtype, "tz", None) is not None and hasattr(column, "dt"):
        column = column.dt.tz_convert(None)  # to UTC
    values = column.to_numpy()
    if values.dtype.kind in "Mm":  # of polars, dates with a time zone are UTC already
        return days(values)
    return np.array([_day(value, str(column.name)) for value in values.tolist()])


def days(values: NDArray[Any]) -> FloatArray:
    """Return dates or durations of any unit in days; equal times give equal bits."""
    if values.dtype.kind == "m":
        return values / DAY
    whole = values.astype("datetime64[D]")
    numbers = whole.astype(np.int64) + (values - whole) / DAY
    return np.where(np.isnat(values), np.nan, numbers)


def _day(value: Any, name: str) -> float:
    if is_missing(value):
        return np.nan
    if not isinstance(value, date):
        raise ValueError(
            f"Column {name!r} of X has dates and {value!r}, which is no date; make it a column of one type."
        )
    if not isinstance(value, datetime):
        return float(value.toordinal() - EPOCH.toordinal())
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    elapsed = value - EPOCH
    return elapsed.days + elapsed.seconds / 86400 + elapsed.microseconds / 86400e6
