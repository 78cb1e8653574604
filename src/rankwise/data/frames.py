"""Frames of any library as rows of numbers: dates as days, categories as their numbers."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, validate_data

from rankwise.core.backends import require_in_memory
from rankwise.core.memory import require_memory
from rankwise.core.text import listing
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.columns import (
    CATEGORY,
    DATE,
    MOST_WORDS,
    ORDERED,
    Column,
    category_codes,
    category_values,
    column_days,
    days,
    is_frame,
    kind_of,
    numbers_of,
)

Categories = dict[int, list[Any]]


def frame_columns(X: Any) -> list[Column]:
    """Return the columns of a frame, of which several may have one name."""
    if hasattr(X, "iloc"):
        return [nw.from_native(X.iloc[:, place], series_only=True) for place in range(X.shape[1])]
    return list(nw.from_native(X, eager_only=True).iter_columns())


def with_columns(X: Any, names: Sequence[str]) -> Any:
    """Return the rows of a frame with some of its columns, in this order."""
    frame = X if hasattr(X, "iloc") else nw.from_native(X, eager_only=True, pass_through=True)
    return nw.to_native(frame[list(names)], pass_through=True)


def new_frame(columns: Mapping[str, Any], categorical: Sequence[str] = ()) -> Any:
    """Return series, arrays and lists as a frame of the first that is installed: pandas, polars, pyarrow.

    Lists hold words, booleans or levels of any type, and None. Those named in `categorical` are categories.
    """
    names: tuple[Literal["pandas", "polars", "pyarrow"], ...] = ("pandas", "polars", "pyarrow")
    package = next((name for name in names if importlib.util.find_spec(name) is not None), None)
    if package is None:
        raise ImportError(
            "The table becomes a data frame, which needs pandas, polars or pyarrow: pip install pandas."
        )
    series = [column for column in columns.values() if isinstance(column, nw.Series)]
    if any(column.implementation.is_polars() for column in series):
        package = "polars"
    frame = nw.from_dict({name: _held(column, package) for name, column in columns.items()}, backend=package)
    declared = [nw.col(name).cast(nw.Categorical()) for name in categorical]
    return frame.with_columns(*declared).to_native()


def _held(values: Any, package: str) -> Any:
    """Return a column as the constructor of a frame takes it."""
    if isinstance(values, nw.Series):
        if package == "pandas":  # of narwhals, missing levels of a dictionary of pyarrow are wrong
            return values.to_native().to_pandas()
        return values.to_polars() if package == "polars" else values.to_arrow()
    if not isinstance(values, list):
        return values
    types = {type(value) for value in values if value is not None}
    if package == "polars" and len(types) > 1:
        import polars as pl

        return pl.Series(values, dtype=pl.Object)
    if package != "pandas":
        return values
    import pandas as pd

    dtype = ("boolean" if None in values else "bool") if types == {bool} else object
    return pd.Series(values, dtype=dtype)


def framed(X: NDArray[Any], names: Sequence[str]) -> Any:
    """Return an array as a frame."""
    if importlib.util.find_spec("pandas") is not None:
        import pandas as pd

        return pd.DataFrame(X, columns=list(names), copy=False)
    return new_frame(dict(zip(names, X.T, strict=True)))


def with_days(X: Any) -> Any:
    """Return rows with each column of dates as a column of days; rows without dates as they are.

    Examples
    --------
    >>> with_days(np.array([["1970-01-02T12:00"], ["NaT"]], dtype="datetime64[s]")).tolist()
    [[1.5], [nan]]
    """
    require_in_memory(X)
    if not is_frame(X):
        return days(X) if isinstance(X, np.ndarray) and X.dtype.kind in "Mm" else X
    columns = frame_columns(X)
    dated = {place: column_days(column) for place, column in enumerate(columns) if kind_of(column) == DATE}
    if not dated:
        return X
    if hasattr(X, "isetitem"):  # pandas, where several columns may have one name
        X = X.copy(deep=False)
        for place, values in dated.items():
            X.isetitem(place, values)
        return X
    frame = nw.from_native(X, eager_only=True)
    series = (
        nw.new_series(columns[place].name, values, backend=frame.implementation)
        for place, values in dated.items()
    )
    return frame.with_columns(*series).to_native()


def words_and_categories(X: Any) -> list[Column]:
    """Return the columns of a frame that hold strings or categories; none of other rows."""
    columns = frame_columns(X) if is_frame(X) else []
    return [column for column in columns if kind_of(column) in (CATEGORY, ORDERED)]


def require_numbers(X: Any, name: str) -> None:
    """Refuse a frame with words, categories or missing values, by the names of its columns."""
    if not is_frame(X):
        return
    odd, what = words_and_categories(X), "strings or categories"
    if not odd:
        odd = [column for column in frame_columns(X) if np.isnan(numbers_of(column, kind_of(column))).any()]
        what = "missing values"
    if odd:
        raise ValueError(
            f"X has {what} in {listing([str(column.name) for column in odd])}, but {name} needs numbers. Put "
            f"an encoder before it: make_pipeline(rankwise.preprocessing.TableEncoder(), StandardScaler(), "
            f"{name}()); CurveRanker, BoostedRanker and KernelRanker take such columns directly."
        )


def categories_of(X: Any) -> Categories:
    """Return the categories of each column of a frame that has some, by its place; none of other rows."""
    columns = frame_columns(X) if is_frame(X) else []
    return {
        place: category_values(column, MOST_WORDS)
        for place, column in enumerate(columns)
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
    if not (is_frame(X) and (estimator.categories_ or words_and_categories(X))):
        return validate_data(estimator, X, reset=reset, **options)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return check_array(encoded(X, estimator.categories_), input_name="X", estimator=estimator, **options)


def one_row(row: Any, name: str) -> Any:
    """Return a row as a matrix or frame; the index of a row of a frame (pandas) has the names of columns."""
    if hasattr(row, "to_frame") and hasattr(row, "index"):
        row = row.to_frame().T
    elif not (is_frame(row) or hasattr(row, "toarray")):
        row = np.atleast_2d(np.asarray(row))
    if row.shape[0] != 1:
        raise ValueError(f"{name} must be one row; got {row.shape[0]}.")
    return row


def _numbers(column: Column) -> FloatVector:
    kind = kind_of(column)
    if kind in (CATEGORY, ORDERED):
        raise ValueError(f"Column {column.name!r} of X holds {column.dtype}, but held numbers in the fit.")
    return numbers_of(column, kind)
