"""Rows of a backend as one object: functions of rows run in its parts, and single rows are fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rankwise.data.backends import Backend, backend_of
from rankwise.data.columns import column_names
from rankwise.data.row_parts import PartsInMemory, distinct_queries, joined, n_rows_of, whole_queries_of


class Head(NamedTuple):
    """The shape of a part, and the names of its columns if they are words."""

    n_rows: int
    n_features: int
    names: list[str] | None


class RemoteRows:
    """Rows in the parts of a backend.

    Attributes
    ----------
    shape : (n_rows, n_features)
    columns : list of str or None
        The names of the columns, if the rows have names.
    """

    def __init__(self, backend: Backend, X: Any) -> None:
        self._backend, self._X, self._parts = backend, X, backend.parts(X)
        heads: list[Head] = self._parts.map(head_of)
        self.shape = (sum(head.n_rows for head in heads), heads[0].n_features if heads else 0)
        self.columns = heads[0].names if heads else None

    def __getitem__(self, rows: Any) -> Any:
        """Fetch the rows with some numbers; the others stay in their parts."""
        return self._parts.take(np.asarray(rows, dtype=np.int64))

    def map(self, function: Callable[..., Any], qid: Any, *common: Any) -> Any:
        """Return ``function(rows, qid, *common)``, one entry per row, of all parts in one array."""
        return np.concatenate(self._backend.parts(self._X, qid).map(function, *common))

    def has_whole(self, qid: Any) -> bool:
        """Return whether each query is in one part."""
        return whole_queries_of(self._backend.parts(self._X, qid).chosen(1)) is not None


def remote_rows(X: Any) -> Any:
    """Return rows of a backend as `RemoteRows`, and rows in memory unchanged.

    Examples
    --------
    >>> remote_rows([[1.0], [2.0]])
    [[1.0], [2.0]]
    """
    backend = backend_of(X)
    return X if backend is None else RemoteRows(backend, X)


def n_queries_of(qid: Any) -> int:
    """Return the number of distinct queries of a column in memory or of a backend; each part returns its own.

    Examples
    --------
    >>> n_queries_of([3, 1, 3])
    2
    """
    backend = backend_of(qid)
    parts = PartsInMemory(qid) if backend is None else backend.parts(qid)
    found = parts.map(distinct_queries)
    return len(distinct_queries(joined(found))) if found else 0


def head_of(rows: Any) -> Head:
    """Return the shape of some rows, and the names of their columns."""
    names = column_names(rows)
    named = bool(names) and all(isinstance(name, str) for name in names or ())
    return Head(n_rows_of(rows), int(np.shape(rows)[1]), names if named else None)
