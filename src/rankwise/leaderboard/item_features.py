"""Features of the items of matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rankwise.core.checks import as_they_are
from rankwise.core.text import plural
from rankwise.core.types import FloatArray
from rankwise.data.columns import is_frame
from rankwise.leaderboard.matches import Matches, in_order


def with_features(matches: Matches, features: Any) -> tuple[Matches, FloatArray, list[Any] | None]:
    """Return the matches with all items that have features, the features in their order, and column names.

    Parameters
    ----------
    matches : Matches
    features : pandas frame with the names of items as its index, or mapping of names to rows of numbers
        Items without matches are allowed.

    Examples
    --------
    >>> from rankwise.leaderboard.matches import read_matches
    >>> matches, X, _ = with_features(read_matches(["y"], ["x"]), {"x": [1, 2], "y": [3, 4], "w": [5, 6]})
    >>> matches.items.tolist(), X[:, 0].tolist(), matches.first.tolist()
    (['w', 'x', 'y'], [5.0, 1.0, 3.0], [2])
    """
    row_of, rows, columns = _read(features)
    lacking = [name for name in matches.items.tolist() if name not in row_of]
    if lacking:
        more = f" and {plural(len(lacking) - 1, 'other')}" if len(lacking) > 1 else ""
        raise ValueError(f"features has no row for {lacking[0]!r}{more}; every item of a match needs one.")
    items = in_order(row_of)
    number_of = {name: number for number, name in enumerate(items)}
    place = np.array([number_of[name] for name in matches.items.tolist()], dtype=np.int32)
    joined = replace(
        matches, items=as_they_are(items), first=place[matches.first], second=place[matches.second]
    )
    return joined, rows[[row_of[name] for name in items]], columns


def _read(features: Any) -> tuple[dict[Any, int], FloatArray, list[Any] | None]:
    """Return the row number of each name, the rows, and the names of the columns if there are any."""
    if isinstance(features, Mapping):
        names, values, columns = list(features), list(features.values()), None
    elif is_frame(features) and hasattr(features, "index"):
        names, values, columns = features.index.tolist(), features.to_numpy(), list(features.columns)
    else:
        raise ValueError(
            "features must be a pandas frame with the names of items as its index, or a dict of names and "
            f"rows of numbers; got {type(features).__name__}."
        )
    row_of = {name: row for row, name in enumerate(names)}
    if len(row_of) < len(names):
        twice = next(name for row, name in enumerate(names) if row_of[name] != row)
        raise ValueError(f"features has more than one row for {twice!r}.")
    return row_of, as_rows(values), columns


def as_rows(values: Any) -> FloatArray:
    """Return rows of finite numbers, or raise a ValueError."""
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("features must hold numbers, as many for each item.") from None
    if rows.ndim != 2 or not rows.shape[1] or not np.isfinite(rows).all():
        raise ValueError("features must hold finite numbers, as many and at least one for each item.")
    return rows
