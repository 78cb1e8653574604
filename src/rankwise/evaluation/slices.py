"""Groups of queries: by their number of rows, or by a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array
from rankwise.core.types import FloatArray
from rankwise.evaluation.data import EvaluationData

# Numbers with more different values are grouped by quartiles; words with more groups are refused.
MOST_VALUES, MOST_GROUPS = 8, 50


def slices_of(data: EvaluationData, given: Mapping[str, ArrayLike]) -> list[tuple[str, list[str]]]:
    """Return the name of the group of each query: by the number of its rows, and by given columns.

    A column has one value per row, of which the first of each query counts.
    """
    if data.n_queries < 2:
        return []
    found = [("Rows per query", _groups(data.query_sizes.astype(float)))]
    if not given:
        return [(title, groups) for title, groups in found if len(set(groups)) > 1]
    if data.X.shape[0] < data.n_given:
        raise ValueError("slices must be None for rows on Dask; the page groups queries by their sizes.")
    first = np.array([int(np.flatnonzero(data.query == query)[0]) for query in range(data.n_queries)])
    for name, values in given.items():
        column = as_array(values)
        if column.ndim != 1 or len(column) != data.X.shape[0]:
            raise ValueError(
                f"slices[{name!r}] must have one value for each of {data.X.shape[0]:,} rows; got shape "
                f"{column.shape}."
            )
        found.append((str(name), _groups(column[data.row_numbers[first]], str(name))))
    return [(title, groups) for title, groups in found if len(set(groups)) > 1]


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
        return [f"{value:g}" for value in values.tolist()]
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
