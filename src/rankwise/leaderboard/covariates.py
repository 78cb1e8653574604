"""Covariates of votes, such as a difference of lengths: numbers per vote that shift its log odds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.checks import as_array, is_missing
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.columns import column_names


@dataclass(frozen=True)
class Covariates:
    """Numbers per vote, from the view of the item named first.

    Attributes
    ----------
    names : list of str
    values : array of shape (n_covariates, n_votes)
    scale : array of shape (n_covariates,)
        The unit of `values` in each column: a covariate is `scale` times its value.
    """

    names: list[str]
    values: FloatArray
    scale: FloatVector

    def take(self, kept: NDArray[np.bool_]) -> Covariates:
        """Return those of some votes."""
        return replace(self, values=self.values[:, kept])

    def scaled(self, weight: FloatVector | None) -> Covariates:
        """Return the covariates in units of their root mean square, so that a penalty has no unit.

        Examples
        --------
        >>> read_covariates({"length": [30, -40]}, 2).scaled(None).scale.round(3).tolist()
        [35.355]
        """
        largest = np.abs(self.values).max(axis=1)
        for name, size in zip(self.names, largest, strict=True):
            if not size:
                raise ValueError(
                    f"Covariate {name!r} is 0 in every vote of positive weight, so that its effect cannot be "
                    "learned; leave it out."
                )
        values = self.values / largest[:, None]
        scale = np.sqrt(np.average(values**2, axis=1, weights=weight))
        return Covariates(self.names, values / scale[:, None], self.scale * largest * scale)


def read_covariates(covariates: Any, length: int, *, is_difference: bool = False) -> Covariates:
    """Return covariates from a frame, a mapping of columns, an array of one row per vote, or one column.

    Parameters
    ----------
    covariates : frame, mapping of columns, array of shape (n_votes, n_covariates) or column
    length : int
        The number of votes.
    is_difference : bool
        The item named first won each vote, so a covariate that never changes its sign is refused.

    Examples
    --------
    >>> found = read_covariates({"length": [120, -30], "first": [1, -1]}, 2)
    >>> found.names, found.values.tolist()
    (['length', 'first'], [[120.0, -30.0], [1.0, -1.0]])
    """
    columns = _columns_of(covariates)
    if not columns:
        raise ValueError("covariates has no columns.")
    values = [_numbers(column, name, length) for name, column in columns.items()]
    for name, column in zip(columns, values, strict=True):
        if is_difference and column.any() and ((column >= 0).all() or (column <= 0).all()):
            raise ValueError(
                f"Covariate {name!r} has one sign in all votes. Without outcome, covariates must be "
                "differences, winner minus loser; this one would predict every vote without error. Otherwise "
                "name the items in the order shown and pass outcome."
            )
    return Covariates(list(columns), np.array(values), np.ones(len(columns)))


def _columns_of(covariates: Any) -> dict[str, Any]:
    """Return the columns by name; without names, by number."""
    names = list(covariates) if isinstance(covariates, Mapping) else column_names(covariates)
    if names is not None:
        if len(set(map(str, names))) < len(names):
            raise ValueError(f"covariates must have columns of different names; got {names}.")
        return {str(name): covariates[name] for name in names}
    array = as_array(covariates)
    if array.ndim == 1:
        return {str(getattr(covariates, "name", None) or 0): array}
    if array.ndim != 2:
        raise ValueError(
            "covariates must be a frame, a dict of columns, or an array of one row per vote; got "
            f"{type(covariates).__name__} of shape {array.shape}."
        )
    return {str(number): column for number, column in enumerate(array.T)}


def _numbers(column: Any, name: str, length: int) -> FloatVector:
    """Return a column as finite numbers; refuse missing values and text."""
    array = as_array(column)
    if array.shape != (length,):
        raise ValueError(
            f"Covariate {name!r} has {len(array) if array.ndim else 'no'} entries for "
            f"{plural(length, 'match')}."
        )
    if array.dtype.kind == "O":
        _refuse_missing(np.array([is_missing(value) for value in array.tolist()]), name)
    if array.dtype.kind not in "biuf":
        values = array.tolist()
        other = next((row for row, value in enumerate(values) if not isinstance(value, Real)), None)
        if other is not None:
            raise ValueError(
                f"Covariate {name!r} must hold numbers; got {values[other]!r} in row {other}. Of categories, "
                "make columns of 0 and 1."
            )
    numbers = array.astype(np.float64)
    _refuse_missing(np.isnan(numbers), name)
    if np.isinf(numbers).any():
        raise ValueError(f"Covariate {name!r} is infinite in row {int(np.isinf(numbers).argmax())}.")
    return numbers


def _refuse_missing(missing: NDArray[np.bool_], name: str) -> None:
    if missing.any():
        raise ValueError(
            f"Covariate {name!r} is missing in row {int(missing.argmax())}; fill it in or leave the vote out."
        )
