"""Frames as numbers, and the levels of encoded columns that do not follow from the others."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from rankwise.core.checks import check_count
from rankwise.core.memory import require_memory
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.data.columns import (
    CATEGORY,
    MOST_WORDS,
    NUMBER,
    ORDERED,
    category_codes,
    check_words,
    is_declared,
    is_frame,
    is_missing_in,
    kind_of,
    numbers_of,
    occurring_values,
)
from rankwise.data.frames import frame_columns, new_frame, with_days


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode a frame with numbers, categories, booleans, dates and missing values as numbers.

    - A number stays. A missing one becomes the median of the fit and, if the fit had missing values, a column
      that is 1 where the value is missing.
    - A category, or a column of strings, becomes a column per level that is 1 or 0. A missing value has a
      level of its own if the fit had one. A level that the fit did not have is 0 in all columns.
    - An ordered category becomes the place of its level, 0 for the lowest; missing ones as for numbers.
    - A boolean becomes 1 or 0, a date days since 1970-01-01 in UTC; missing ones as for numbers.

    Linear models and kernels compare features by their scale: put a scaler behind it. `CurveRanker` and
    `BoostedRanker` take such frames as they are.

    Parameters
    ----------
    max_categories : int
        A column with more different strings is refused, with its name, as names or text. Columns that are
        declared as categorical are not limited.

    Attributes
    ----------
    kinds_ : list of str
        What each column is: "number", "boolean", "category", "ordered category" or "date".
    categories_ : dict of int and list
        The levels of each column of categories, by its place.
    medians_ : array of shape (n_features,)
        What replaces missing numbers; NaN for categories.
    has_missing_ : bool array of shape (n_features,)
        Whether the fit had missing values.
    source_columns_ : int array of shape (n_features_out,)
        The place of the column that each column of the result comes from.

    Examples
    --------
    >>> import pandas as pd
    >>> wines = pd.DataFrame({"price": [8.0, None, 21.0], "grape": ["merlot", "syrah", "merlot"]})
    >>> encoder = TableEncoder().fit(wines)
    >>> encoder.get_feature_names_out().tolist()
    ['price', 'price is missing', 'grape=merlot', 'grape=syrah']
    >>> encoder.transform(wines).tolist()
    [[8.0, 0.0, 1.0, 0.0], [14.5, 1.0, 0.0, 1.0], [21.0, 0.0, 1.0, 0.0]]
    """

    def __init__(self, max_categories: int = MOST_WORDS):
        self.max_categories = max_categories

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find out what each column is, its levels and its median.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
        y : ignored
        """
        check_count("max_categories", self.max_categories)
        columns = self._columns(X, reset=True)
        self.kinds_ = [NUMBER if isinstance(column, np.ndarray) else kind_of(column) for column in columns]
        self.categories_ = {
            place: self._levels(column)
            for place, column in enumerate(columns)
            if self.kinds_[place] in (CATEGORY, ORDERED)
        }
        self.medians_ = np.full(len(columns), np.nan)
        self.has_missing_ = np.zeros(len(columns), dtype=bool)
        for place, column in enumerate(columns):
            if self.kinds_[place] == CATEGORY:
                self.has_missing_[place] = is_missing_in(column).any()
                continue
            numbers = self._numbers(place, column)
            known = numbers[~np.isnan(numbers)]
            self.has_missing_[place] = len(known) < len(numbers)
            self.medians_[place] = np.median(known) if len(known) else 0.0
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the rows as numbers, without missing values.

        Parameters
        ----------
        X : frame or array of shape (n_rows, n_features)
            With the columns of the fit.
        """
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        self._require_words(columns)
        n_rows = len(columns[0])
        require_memory(8 * n_rows * len(self.source_columns_), "The encoded table", "leave out columns")
        encoded = np.empty((n_rows, len(self.source_columns_)))
        begin = 0
        for place, column in enumerate(columns):
            for values in self._encoded(place, column):
                encoded[:, begin] = values
                begin += 1
        return encoded

    @property
    def source_columns_(self) -> IntVector:
        """The place of the column that each column of the result comes from."""
        return np.repeat(
            np.arange(len(self.kinds_)), [self._width(place) for place in range(len(self.kinds_))]
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of the result."""
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = input_features
        names = [f"x{place}" for place in range(len(self.kinds_))] if given is None else list(given)
        if len(names) != len(self.kinds_):
            raise ValueError(
                f"input_features should have length equal to {len(self.kinds_)}; got {len(names)}."
            )
        found: list[str] = []
        for place, name in enumerate(names):
            levels = [f"{name}={level}" for level in self.categories_.get(place, [])]
            found += levels if self.kinds_[place] == CATEGORY else [name]
            found += [f"{name} is missing"] * bool(self.has_missing_[place])
        return np.array(found, dtype=object)

    def _levels(self, column: Any) -> list[Any]:
        """Return the declared categories, or the strings that occur; refuse names and text."""
        levels = occurring_values(column)
        if not is_declared(column):
            check_words(str(column.name), len(levels), len(column), self.max_categories)
        return levels

    def _require_words(self, columns: list[Any]) -> None:
        """Refuse an array of numbers if the fit had categories."""
        held = [place for place in self.categories_ if isinstance(columns[place], np.ndarray)]
        if held:
            name = getattr(self, "feature_names_in_", np.arange(len(columns)))[held[0]]
            raise ValueError(
                f"X is an array of numbers, but column {name!s} held categories in the fit; pass a frame."
            )

    def _width(self, place: int) -> int:
        own = len(self.categories_[place]) if self.kinds_[place] == CATEGORY else 1
        return own + bool(self.has_missing_[place])

    def _encoded(self, place: int, column: Any) -> list[FloatVector]:
        """Return the columns of the result for one column."""
        if self.kinds_[place] == CATEGORY:
            codes = category_codes(column, self.categories_[place])
            found = [(codes == code).astype(np.float64) for code in range(len(self.categories_[place]))]
            missing = is_missing_in(column)
        else:
            numbers = self._numbers(place, column)
            missing = np.isnan(numbers)
            found = [np.where(missing, self.medians_[place], numbers)]
        return [*found, missing.astype(np.float64)] if self.has_missing_[place] else found

    def _numbers(self, place: int, column: Any) -> FloatVector:
        if isinstance(column, np.ndarray):
            return column
        kind = self.kinds_[place]
        if kind == ORDERED:
            return category_codes(column, self.categories_[place])
        found = kind_of(column)
        if found == CATEGORY and not is_missing_in(column).all():
            raise ValueError(f"Column {column.name!r} holds strings, but held a {kind} in the fit.")
        numbers = numbers_of(column, found if found != CATEGORY else kind)
        if np.isinf(numbers).any():
            raise ValueError(f"Column {column.name!r} has an infinite value.")
        return numbers

    def _columns(self, X: Any, reset: bool) -> list[Any]:
        """Return the columns of a frame, or those of an array as numbers."""
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0:
                raise ValueError("X has no rows.")
            return frame_columns(X)
        values = check_array(with_days(X), dtype=None, ensure_all_finite="allow-nan", estimator=self)
        if values.dtype.kind in "OUS" and _has_words(values):
            validate_data(self, values, reset=reset, skip_check_array=True)
            return frame_columns(new_frame({f"x{k}": column for k, column in enumerate(values.T.tolist())}))
        numbers = validate_data(
            self, with_days(X), reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        return list(numbers.T)


def _has_words(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "US" or any(isinstance(value, str) for value in values.ravel().tolist())


class LevelContrasts:
    """Levels of a `TableEncoder` compared with the first level of their column, the reference.

    The columns of all levels of a category sum to 1, so that data determine differences of their weights.

    Examples
    --------
    >>> import pandas as pd
    >>> wines = pd.DataFrame({"grape": ["merlot", "syrah", "merlot"], "price": [8.0, 9.0, 7.0]})
    >>> levels = LevelContrasts(TableEncoder().fit(wines))
    >>> levels.names(), levels.columns(wines).tolist()
    (['grape=syrah', 'price'], [[0.0, 8.0], [1.0, 9.0], [0.0, 7.0]])
    """

    def __init__(self, encoder: TableEncoder):
        self.encoder = encoder
        self.source = encoder.source_columns_
        self._is_category = np.array([kind == CATEGORY for kind in encoder.kinds_])[self.source]
        first = np.append(True, self.source[1:] != self.source[:-1])
        self._reference = self._is_category & first

    @property
    def kept(self) -> IntVector:
        """The places of the columns that are no reference levels."""
        return np.flatnonzero(~self._reference)

    def names(self) -> list[str]:
        """Return the names of the columns that are kept."""
        return [str(name) for name in self.encoder.get_feature_names_out()[self.kept]]

    def matrix(self) -> FloatArray:
        """Return the combinations of weights: those of numbers, and differences from reference levels."""
        R = np.eye(len(self.source))[self.kept]
        reference_of = np.searchsorted(self.source, self.source)  # the first column of each source
        for row, place in zip(R, self.kept, strict=True):
            if self._is_category[place]:
                row[reference_of[place]] = -1.0
        return R

    def columns(self, X: Any) -> FloatArray:
        """Return the columns that are kept; refuse rows with a level that the fit did not have."""
        encoded = self.encoder.transform(X)
        for place in np.unique(self.source[self._is_category]):
            known = encoded[:, self.source == place].sum(axis=1) > 0
            if not known.all():
                names = getattr(self.encoder, "feature_names_in_", np.arange(len(self.encoder.kinds_)))
                raise ValueError(
                    f"Column {names[place]!r} has a level in row {np.flatnonzero(~known)[0]} that the "
                    "training data did not have, so that its error is unknown."
                )
        return encoded[:, self.kept]
