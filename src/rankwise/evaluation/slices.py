"""Measures by groups of queries or rows: by the number of rows per query, or by a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.columns import is_declared, is_frame
from rankwise.data.frames import frame_columns
from rankwise.evaluation.data import EvaluationData
from rankwise.evaluation.measures import Measured, evaluated, first_measure
from rankwise.evaluation.names import feature_names
from rankwise.preferences import NoPairsError

# Numbers with more different values are grouped by quartiles; words with more groups are refused.
MOST_VALUES, MOST_GROUPS = 8, 50


@dataclass(frozen=True)
class Slice:
    """Queries or rows by groups.

    Attributes
    ----------
    title : str
    of_queries : bool
        Whether the groups are those of queries, or of rows if a column varies within a query.
    groups : list of str
        The name of the group of each query, or of each labeled row.
    """

    title: str
    of_queries: bool
    groups: list[str]

    def members(self) -> dict[str, IntArray]:
        """Return the queries or the rows of each group, in the order of their names."""
        groups = np.array(self.groups, dtype=object)
        return {name: np.flatnonzero(groups == name) for name in _sorted(list(dict.fromkeys(self.groups)))}

    def means(
        self, data: EvaluationData, measures: Mapping[str, Sequence[Measured]], inside: IntArray
    ) -> list[float]:
        """Return the first measure of each model on a group; of rows, among the pairs of its rows."""
        if self.of_queries:
            return [_mean(found[0].values[inside]) for found in measures.values()]
        rows = data.scored()[inside]
        try:
            found = evaluated(rows, [first_measure(rows)])
        except NoPairsError:
            return [float("nan") for _ in measures]
        return [found[name][0].mean for name in measures]


def slices_of(data: EvaluationData, given: Mapping[str, ArrayLike] | Sequence[str]) -> list[Slice]:
    """Return the groups of queries by the number of their rows, and of queries or rows by given columns.

    A column has one value per row, or is the name of a column of X.
    """
    found = []
    if _has_values_of_queries(data):
        found.append(Slice("Rows per query", True, _groups(data.query_sizes.astype(float))))
    found += [_slice(data, name, values) for name, values in _columns(data, given).items()]
    return [one for one in found if len(set(one.groups)) > 1]


def _has_values_of_queries(data: EvaluationData) -> bool:
    """Return whether queries have measures of their own; strata of survival times have none."""
    return data.n_queries > 1 and data.event is None


def _columns(data: EvaluationData, given: Mapping[str, ArrayLike] | Sequence[str]) -> dict[str, Any]:
    """Return the given columns, or those of X with the given names, with one value per row."""
    if not isinstance(given, Mapping):
        names = [given] if isinstance(given, str) else list(given)
        return {str(name): _column_of(data, str(name)) for name in names}
    columns = {str(name): as_array(values) for name, values in given.items()}
    for name, column in columns.items():
        if column.ndim != 1 or len(column) != data.X.shape[0]:
            raise ValueError(
                f"slices[{name!r}] must have one value for each of {data.X.shape[0]:,} rows; got shape "
                f"{column.shape}."
            )
    return columns


def _column_of(data: EvaluationData, name: str) -> Any:
    """Return a column of X by its name."""
    names = feature_names(data.X, data.models[data.name], data.feature_names, data.X.shape[1])
    if name not in names:
        raise ValueError(f"slices names the column {name!r}, which X does not have.")
    place = names.index(name)
    if is_frame(data.X):
        column = frame_columns(data.X)[place]
        return np.array(column.to_list(), dtype=object) if is_declared(column) else column.to_numpy()
    column = data.X[:, [place]]
    return np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()


def _slice(data: EvaluationData, name: str, column: Any) -> Slice:
    """Group queries by a column that is constant in each of them, and rows by any other."""
    values = column[data.row_numbers]
    _, first, codes = np.unique(data.query, return_index=True, return_inverse=True)
    is_same = values == values[first][codes]
    missing = np.array([value != value for value in values.tolist()])
    if _has_values_of_queries(data) and bool(np.all(is_same | (missing & missing[first][codes]))):
        return Slice(name, True, _groups(values[first], name))
    return Slice(name, False, _groups(values, name))


def _groups(values: Any, name: str = "") -> list[str]:
    """Return the name of the group of each value: itself, or an interval of numbers.

    Examples
    --------
    >>> _groups(np.array(["web", "news", "web"]))
    ['web', 'news', 'web']
    >>> sorted(set(_groups(np.arange(12.0))))
    ['0 to 2', '3 to 5', '6 to 8', '9 to 11']
    """
    distinct = np.unique(values.astype(str) if values.dtype.kind == "O" else values)
    if values.dtype.kind in "iufb" and len(distinct) > MOST_VALUES:
        return _intervals(values.astype(np.float64))
    if len(distinct) > MOST_GROUPS:
        raise ValueError(f"slices[{name!r}] has {len(distinct):,} different values; group them first.")
    if values.dtype.kind in "iufb":
        return ["missing" if value != value else f"{value:g}" for value in values.tolist()]
    return [str(value) for value in values.tolist()]


def _intervals(values: FloatArray) -> list[str]:
    """Return the quartile of each value by its ends."""
    known = values[~np.isnan(values)]
    edges = np.unique(np.quantile(known, [0.25, 0.5, 0.75]))
    place = np.searchsorted(edges, values, side="left")
    named = {}
    for number in np.unique(place):
        inside = values[(place == number) & ~np.isnan(values)]
        named[number] = f"{inside.min():,g} to {inside.max():,g}" if len(inside) else "missing"
    return [
        "missing" if np.isnan(value) else named[number] for value, number in zip(values, place, strict=True)
    ]


def _mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _sorted(names: list[str]) -> list[str]:
    """Sort groups by the first number in their names, with missing values last; others by name.

    Examples
    --------
    >>> _sorted(["10 to 12", "missing", "2 to 9"])
    ['2 to 9', '10 to 12', 'missing']
    """
    try:
        return sorted(
            names,
            key=lambda one: np.inf if one == "missing" else float(one.split(" ")[0].replace(",", "")),
        )
    except ValueError:
        return sorted(names)
