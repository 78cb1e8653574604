"""Join the human votes of one table and the judge's votes of another by the id of the duel."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.checks import as_they_are
from rankwise.core.text import listing
from rankwise.core.types import IntVector
from rankwise.data.columns import columns_by_name
from rankwise.leaderboard.matches import numbered, results_of

COLUMNS = ("a", "b", "outcome")


def join_duels(human: Any, judge: Any, *, on: str = "id") -> dict[str, Any]:
    """Return the columns a, b, outcome and judge_outcome of `BradleyTerry.fit` from two tables of votes.

    The tables are matched by the id of the duel, one prompt with two answers. The judge voted on all duels,
    humans on some. A human vote on the same two items in the other order is reversed.

    Parameters
    ----------
    human, judge : frames, or dicts of columns
        With the columns of the id, a, b and outcome.
    on : str
        The column of the id.

    Returns
    -------
    columns : dict
        In the order of `judge`; `outcome` is NaN for duels without a human vote.

    Raises
    ------
    ValueError
        If a table has an id twice, if the judge has no vote on a human's duel, or if both tables name
        different items for one duel.

    Examples
    --------
    >>> judge = {"id": [1, 2, 3], "a": ["x", "y", "x"], "b": ["y", "z", "z"], "outcome": [1, 0, 1]}
    >>> human = {"id": [3], "a": ["z"], "b": ["x"], "outcome": ["win"]}
    >>> columns = join_duels(human, judge)
    >>> columns["outcome"], columns["judge_outcome"]
    (array([nan, nan,  0.]), array([1., 0., 1.]))
    """
    tables = {"human": _columns(human, "human", on), "judge": _columns(judge, "judge", on)}
    place = _places(tables["judge"][on], "judge", on)
    ids = tables["human"][on]
    _places(ids, "human", on)
    unmatched = [one for one in ids if one not in place]
    if unmatched:
        raise ValueError(f"judge has no vote on duels of human: {on} {listing(list(map(str, unmatched)))}.")
    rows: IntVector = np.array([place[one] for one in ids], dtype=np.int64)
    results = {name: results_of(columns["outcome"], len(columns[on])) for name, columns in tables.items()}
    outcome = np.full(len(place), np.nan)
    outcome[rows] = np.where(_are_reversed(tables, rows, on), 1.0 - results["human"], results["human"])
    names = {side: as_they_are(tables["judge"][side]) for side in ("a", "b")}
    return {**names, "outcome": outcome, "judge_outcome": results["judge"]}


def _columns(table: Any, name: str, on: str) -> dict[str, list[Any]]:
    """Return the columns of a table as lists."""
    columns = columns_by_name(table)
    if columns is None:
        raise ValueError(f"{name} must be a frame or a dict of columns; got {type(table).__name__}.")
    lacking = [column for column in (on, *COLUMNS) if column not in columns]
    if lacking:
        raise ValueError(
            f"{name} has no column {listing(lacking)}; its columns are {listing(list(columns))}."
        )
    found = {}
    for column in (on, *COLUMNS):
        values, (codes,) = numbered({f"{column} of {name}": columns[column]})
        named = values.tolist()
        found[column] = [named[code] for code in codes.tolist()]
    if len({len(values) for values in found.values()}) > 1:
        raise ValueError(f"The columns of {name} have different lengths.")
    return found


def _places(ids: list[Any], name: str, on: str) -> dict[Any, int]:
    """Return the row of each id."""
    place = {one: row for row, one in enumerate(ids)}
    if len(place) < len(ids):
        twice = next(one for row, one in enumerate(ids) if place[one] != row)
        raise ValueError(f"{name} has {on} {str(twice)!r} more than once; a duel has one vote per table.")
    return place


def _are_reversed(tables: dict[str, dict[str, list[Any]]], rows: IntVector, on: str) -> list[bool]:
    """Return which human votes have the items of the judge's row in the other order."""
    human, judge = tables["human"], tables["judge"]
    reversed_ = []
    for one, row in enumerate(rows.tolist()):
        pair, other = (human["a"][one], human["b"][one]), (judge["a"][row], judge["b"][row])
        if pair not in (other, other[::-1]):
            raise ValueError(
                f"{on} {str(human[on][one])!r} is a duel of {pair[0]!r} and {pair[1]!r} in human, but of "
                f"{other[0]!r} and {other[1]!r} in judge."
            )
        reversed_.append(pair != other)
    return reversed_
