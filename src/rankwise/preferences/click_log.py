"""Logs of clicks: checks and codes of their columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_array, as_codes, as_vector
from rankwise.core.types import IntVector


class ClickLog(NamedTuple):
    """The rows of a log; codes are numbered from 0.

    Attributes
    ----------
    clicked : array of bool of shape (n_rows,)
    positions : array of int of shape (n_positions,)
        The positions that occur, ascending.
    place : array of int of shape (n_rows,)
        The index of each row's position among these.
    query, impression : arrays of int of shape (n_rows,)
    document : array of int of shape (n_rows,), or None
    """

    clicked: NDArray[np.bool_]
    positions: IntVector
    place: IntVector
    query: IntVector
    impression: IntVector
    document: IntVector | None

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return int(self.query.max(initial=-1)) + 1


def read_log(
    clicked: ArrayLike,
    position: ArrayLike,
    qid: ArrayLike,
    impression: ArrayLike | None = None,
    document: ArrayLike | None = None,
) -> ClickLog:
    """Check the columns of a log."""
    clicks = as_vector(as_array(clicked), "clicked")
    n_rows = len(clicks)
    if not np.isin(clicks, (0.0, 1.0)).all():
        raise ValueError("clicked must hold booleans (or 0 and 1).")
    places = as_vector(position, "position", n_rows)
    if (places < 1).any() or (places % 1 != 0).any():
        raise ValueError("position must hold whole numbers, 1 for the first row of an impression.")
    positions, place = np.unique(places.astype(np.int64), return_inverse=True)
    query = as_codes(qid, "qid", n_rows)[1]
    shown = query if impression is None else _joined(query, as_codes(impression, "impression", n_rows)[1])
    documents = None if document is None else as_codes(document, "document", n_rows)[1]
    return ClickLog(clicks > 0, positions, place, query, shown, documents)


def check_impressions(log: ClickLog, named: bool) -> None:
    """Refuse impressions with two rows at one position."""
    cells = log.impression * len(log.positions) + log.place
    order = np.argsort(cells, kind="stable")
    twice = np.flatnonzero(np.diff(cells[order]) == 0)
    if not len(twice):
        return
    first, second = order[twice[0] : twice[0] + 2]
    reason = "pass impression if queries were shown more often"
    if named:
        reason = "an impression has one row per position"
    place = log.positions[log.place[first]]
    raise ValueError(f"Rows {first} and {second} are both at position {place} of one impression; {reason}.")


def _joined(query: IntVector, impression: IntVector) -> IntVector:
    """Number the pairs of query and impression that occur: sessions may have several queries."""
    found: IntVector = np.unique(query * (impression.max(initial=0) + 1) + impression, return_inverse=True)[1]
    return found
