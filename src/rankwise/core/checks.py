"""Checks of arguments: each returns the value in the form that the library uses, or raises an error."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.backends import in_memory

LARGEST, SMALLEST = 1e100, 1e-150
# The quotient of a number around 1 and a smaller number overflows, or its product with a larger one.
LEAST_DIVISOR, LARGEST_FACTOR = 1e-300, 1e300
# Weights are quotients by alpha, and squares of quotients by a smaller one overflow.
LEAST_ALPHA = 1e-150
# From here on, float64 cannot represent all integers.
LARGE_INTEGER = 2.0**53
MERGED = (
    "has distinct integers above 2^53 that are equal as float64; use their ranks instead, for example by "
    "scipy.stats.rankdata."
)


def check_choice(value: Any, name: str, choices: Collection[str]) -> None:
    """Refuse a value that is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        accepted = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {accepted}; got {value!r}.")


def check_positive(name: str, value: Any, least: float = LEAST_DIVISOR) -> None:
    """Refuse a parameter that is not a positive finite number, or with which numbers would overflow."""
    if not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise ValueError(f"{name} must be a positive number; got {value!r}.")
    if float(value) < least:
        raise ValueError(f"{name} must be at least {least:g}, or quotients overflow; got {value!r}.")
    if float(value) > LARGEST_FACTOR:
        raise ValueError(f"{name} must be at most {LARGEST_FACTOR:g}, or products overflow; got {value!r}.")


def check_alpha(alpha: Any, *, may_be_zero: bool = False) -> None:
    """Refuse a strength of the penalty that is not a positive number, nor a word that a fit replaces."""
    is_zero = may_be_zero and isinstance(alpha, Real) and float(alpha) == 0.0
    if not is_zero and not (isinstance(alpha, str) and alpha == "learned"):
        check_positive("alpha", alpha, LEAST_ALPHA)


def check_count(name: str, value: Any) -> None:
    """Refuse a parameter that is not an integer of at least 1."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1; got {value!r}.")


def is_constant(values: NDArray[Any], groups: NDArray[np.int64]) -> bool:
    """Tell whether all rows of each group have the same value."""
    of_group = np.zeros(groups.max(initial=-1) + 1, dtype=values.dtype)
    of_group[groups] = values
    return bool((of_group[groups] == values).all())


def check_size(name: str, values: ArrayLike) -> None:
    """Refuse numbers whose squares, or sums and products of them, overflow."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if not largest <= LARGEST:
        raise ValueError(
            f"{name} has values as large as {largest:.3g}, but products of numbers above {LARGEST:g} "
            f"overflow; divide {name.rpartition(' of ')[2]} by a power of ten."
        )


def check_columns(scale: NDArray[np.float64], names: Any = None) -> None:
    """Refuse features whose squares overflow and name the largest; `scale` has the size of each."""
    if len(scale):
        column = int(np.argmax(scale))
        check_size(f"Column {column if names is None else repr(str(names[column]))} of X", scale)


def check_features(scale: NDArray[np.float64], names: Any = None) -> None:
    """Refuse features whose squares overflow, and features whose squares all underflow."""
    check_columns(scale, names)
    largest = float(scale.max(initial=0.0))
    if 0.0 < largest < SMALLEST:
        raise ValueError(
            f"X has no number above {largest:.3g}, but products of numbers below {SMALLEST:g} underflow; "
            "multiply X by a power of ten."
        )


def as_array(values: Any) -> NDArray[Any]:
    """Return lists, columns of frames, arrays and columns of a backend as a numpy array."""
    values = in_memory(values)
    if hasattr(values, "to_numpy"):
        return values.to_numpy()
    array = np.asarray(values)
    of_numbers = isinstance(values, list | tuple) and array.dtype == np.float64 and array.ndim == 1
    if of_numbers and is_large(array).any() and merges_integers(given := as_they_are(values), array):
        return given  # in which distinct integers are distinct
    return array


def _objects(array: NDArray[Any]) -> list[Any]:
    return array.ravel().tolist() if array.dtype.kind == "O" else []


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas' NA has no truth value
        return True


def split_missing(values: Any) -> tuple[NDArray[np.bool_], Any]:
    """Return which entries are not missing, and these entries; a column of a frame remains one."""
    values = in_memory(values)
    array = as_they_are(values) if isinstance(values, list | tuple) else as_array(values)
    if array.dtype.kind in "fM":
        known = ~np.isnan(array.reshape(len(array), -1)).any(axis=1)
    else:
        known = np.array([not is_missing(value) for value in _objects(array)] or [True] * len(array))
    if known.all():
        return known, values
    if isinstance(values, list | tuple | np.ndarray):
        return known, as_they_are(array[known].tolist())
    if hasattr(values, "filter") and not hasattr(values, "loc"):  # polars does not index by masks
        return known, values.filter(known.tolist())
    return known, values[known]


def as_vector(values: ArrayLike, name: str, length: int | None = None) -> NDArray[np.float64]:
    """Return a contiguous float64 vector; refuse other shapes, NaN, infinity and a wrong length."""
    if _is_plain_vector(values, length):
        return values
    array = as_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {array.shape}.")
    try:
        if array.dtype.kind in "cUSMm" or any(isinstance(value, str) for value in _objects(array)):
            raise TypeError
        vector = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        way_out = "; convert text to an ordered categorical column" if name == "y" else ""
        raise ValueError(f"{name} must be real numbers; got dtype {array.dtype}{way_out}.") from None
    if length is not None and len(vector) != length:
        raise ValueError(
            f"{name} has length {len(vector)}, but must have length {length}, one entry per row."
        )
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    if merges_integers(array, vector):
        raise ValueError(f"{name} {MERGED}")
    return vector


def _is_plain_vector(values: Any, length: int | None) -> TypeGuard[NDArray[np.float64]]:
    """Tell whether `as_vector` has nothing to do, as for the scores of every iteration of a solver."""
    return (
        type(values) is np.ndarray
        and values.dtype == np.float64
        and values.ndim == 1
        and values.flags.c_contiguous
        and (length is None or len(values) == length)
        and bool(np.isfinite(values).all())
    )


def as_labels(values: Any, name: str, length: int | None = None) -> NDArray[np.float64]:
    """Return labels as numbers; for an ordered categorical column, the rank of each category.

    Categories that are numbers in ascending order are the labels themselves.

    Examples
    --------
    >>> as_labels([2, 0], "y")
    array([2., 0.])
    """
    values = in_memory(values)
    declared = declared_order(values)
    if declared is None or _ascend(list(declared)):
        return as_vector(values, name, length)
    distinct, codes = as_codes(values, name, length)
    return np.array([declared[value] for value in distinct.tolist()], dtype=np.float64)[codes]


def _ascend(values: list[Any]) -> bool:
    return all(isinstance(value, Real) for value in values) and values == sorted(values)


def is_large(vector: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which numbers are so large that float64 cannot represent all integers."""
    return np.abs(vector) >= LARGE_INTEGER


def merges_integers(array: NDArray[Any], vector: NDArray[np.float64]) -> bool:
    """Tell whether distinct integers are equal as float64 in the vector, which would tie their rows.

    Examples
    --------
    >>> large = np.array([2**53, 2**53 + 1])
    >>> merges_integers(large, large.astype(float)), merges_integers(large[1:], large[1:].astype(float))
    (True, False)
    """
    if array.dtype.kind not in "iuO":
        return False
    large = is_large(vector)
    return len(set(vector[large].tolist())) < len(set(array[large].tolist()))


def as_weights(
    values: ArrayLike, name: str, length: int | None = None, may_be_zero: bool = False
) -> NDArray[np.float64]:
    """Return a vector of finite numbers that are not negative and, unless `may_be_zero`, not all zero."""
    vector = as_vector(values, name, length)
    if (vector < 0).any():
        raise ValueError(f"{name} must not be negative; the smallest is {vector.min():g}.")
    if len(vector) and not vector.any() and not may_be_zero:
        raise ValueError(f"{name} is zero for every row.")
    return vector


def as_alphas(values: ArrayLike) -> NDArray[np.float64]:
    """Return candidates for alpha as a vector; refuse numbers that are not positive."""
    alphas = np.asarray(values, dtype=np.float64).ravel()
    if len(alphas) == 0:
        raise ValueError("alphas is empty.")
    bad = alphas[~((alphas > 0) & np.isfinite(alphas))]
    if len(bad):
        raise ValueError(f"alphas must be positive numbers; got {float(bad[0])!r}.")
    for value in (alphas.min(), alphas.max()):
        check_positive("alphas", float(value), LEAST_ALPHA)
    return alphas


def as_indices(values: ArrayLike, name: str, n_rows: int | None = None) -> NDArray[np.int64]:
    """Return row numbers as int64; refuse fractions, negative numbers and numbers past the last row."""
    array = as_array(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {array.shape}.")
    if len(array) and array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be row numbers (integers); got dtype {array.dtype}.")
    indices = array.astype(np.int64)
    if len(indices) and indices.min() < 0:
        raise ValueError(f"{name} must not have negative row numbers; the smallest is {indices.min()}.")
    if len(indices) and n_rows is not None and indices.max() >= n_rows:
        raise ValueError(
            f"{name} has row number {indices.max()}, but must be below {n_rows}, the number of rows."
        )
    return indices


def as_codes(
    values: ArrayLike, name: str, length: int | None = None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct values, sorted if possible, and the code of each entry.

    The values of an ordered categorical column (pandas) or an Enum (polars) are in their declared order.
    """
    values = in_memory(values)
    declared = declared_order(values)
    array = as_they_are(values) if isinstance(values, list | tuple) else as_array(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional; got shape {array.shape}.")
    if length is not None and len(array) != length:
        hint = ""
        if name == "qid" and array.dtype.kind in "iu" and array.sum() == length:
            hint = " Its entries sum to the number of rows: for sizes of queries, pass qid_from_sizes(sizes)."
        raise ValueError(
            f"{name} has length {len(array)}, but must have length {length}, one entry per row.{hint}"
        )
    if (array.dtype.kind in "fM" and np.isnan(array).any()) or any(map(is_missing, _objects(array))):
        raise ValueError(f"{name} contains missing values.")
    try:
        distinct, codes = _numbered(array)
        if len(set(_objects(distinct))) < len(_objects(distinct)):
            raise TypeError  # such as sets, which are only partially ordered
    except TypeError:  # values without a common order are numbered as they occur
        numbers = {value: number for number, value in enumerate(dict.fromkeys(array.tolist()))}
        distinct = np.array(list(numbers), dtype=object)
        codes = np.array([numbers[value] for value in array.tolist()])
    if declared is not None:
        rank = np.argsort(np.argsort([declared[value] for value in distinct.tolist()]))
        distinct, codes = distinct[np.argsort(rank)], rank[codes]
    return distinct, codes.astype(np.int64, copy=False)


def _numbered(array: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct values, sorted, and the code of each entry, without sorting sorted numbers."""
    if array.dtype.kind not in "iuf" or (array[1:] < array[:-1]).any():
        return np.unique(array, return_inverse=True)
    begins = np.ones(len(array), dtype=bool)
    np.not_equal(array[1:], array[:-1], out=begins[1:])
    codes = np.cumsum(begins)
    codes -= 1
    return array[begins], codes


def as_they_are(values: Any) -> NDArray[Any]:
    """Return a list as an array without conversion of its entries: 1 and '1' are distinct."""
    types = {type(value) for value in values}
    if len(types) <= 1 and tuple not in types:
        array = np.asarray(values)
        # Not integers converted to floats, nor strings, from which numpy strips NULs.
        too_large = array.dtype.kind == "f" and int in types
        if not too_large and not (array.dtype.kind in "US" and _ends_in_nul(values)):
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def _ends_in_nul(values: Any) -> bool:
    return any(value[-1:] in ("\0", b"\0") for value in values)


def declared_order(values: Any) -> dict[Any, int] | None:
    """Return the rank of each category of an ordered categorical column, or None for other columns."""
    dtype: Any = getattr(values, "dtype", None)
    ordered = getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"
    return {value: rank for rank, value in enumerate(dtype.categories)} if ordered else None
