"""Backends of rows that are not in memory, such as those of a cluster.

A backend is one package. It defines a `Backend`, calls `register`, and is announced by the root of rankwise;
no other module names it. Where rows are is decided at the edges: when a problem is read, when rows are
scored, and when they are measured. Columns become arrays in `rankwise.core.checks`, wherever they are.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

WAY_OUT = (
    "rankwise.distributed.fit_pipeline fits steps and a model to rows on Dask, and lazy_predictions scores "
    "them by any model"
)


class Backend(ABC):
    """The interface of a backend; `name`, such as "on Dask", completes "X is ..." in messages."""

    name: str

    @abstractmethod
    def holds(self, values: Any) -> bool:
        """Return whether rows or a column belong to this backend."""

    @abstractmethod
    def design(self, X: Any) -> Any:
        """Return the rows as a `rankwise.data.design.Design`."""

    @abstractmethod
    def column(self, values: Any) -> Any:
        """Return labels, queries, weights or scores of this backend as an array in memory."""

    def preferences(self, design: Any, y: Any, qid: Any, sample_weight: Any, pair_weight: str | None) -> Any:
        """Return `Preferences` that stay where the rows of a design are, or None if columns are collected."""
        return None

    @abstractmethod
    def mapped(self, function: Callable[..., Any], X: Any, qid: Any = None, shape: Any = ()) -> Any:
        """Return ``function(rows)``, one result per row, as a column of this backend, not yet computed.

        With `qid`, it is ``function(rows, qid)`` of whole queries. The result of a row has the given shape.
        """

    def by_query(self, function: Callable[..., Any], *columns: Any) -> list[Any] | None:
        """Return ``function(*columns)`` of each part of the rows, None if a query is in several parts.

        The last column has the query of each row. Columns are None, of this backend or in memory.
        """
        return None


class RowsLostError(RuntimeError):
    """Rows of a backend were lost and cannot be read again.

    Attributes
    ----------
    coef : array of shape (n_features,), or None
        The best weights so far; None when not a single iteration was finished.
    """

    coef: Any = None


_backends: list[Backend] = []
_announced: dict[str, str] = {}


def announce(module: str, needs: str) -> None:
    """Name a module that registers a backend; it is imported once the package that it needs is."""
    _announced[module] = needs


def register(backend: Backend) -> None:
    """Add a backend, or replace the one of the same name."""
    _backends[:] = [known for known in _backends if known.name != backend.name] + [backend]


def backend_of(values: Any) -> Backend | None:
    """Return the backend of rows or of a column, or None in memory."""
    if values is None or isinstance(values, np.ndarray):
        return None
    for module in [module for module, needs in _announced.items() if needs in sys.modules]:
        del _announced[module]
        import_module(module)
    return next((backend for backend in _backends if backend.holds(values)), None)


def in_memory(values: Any) -> Any:
    """Return a column as an array in memory; a column in memory is returned unchanged.

    Examples
    --------
    >>> in_memory([3, 1, 2])
    [3, 1, 2]
    """
    backend = backend_of(values)
    return values if backend is None else backend.column(values)


def require_in_memory(X: Any, who: str = "This method", way_out: str = WAY_OUT) -> None:
    """Refuse rows of a backend, with a sentence that says who needs them in memory, and the way out.

    Examples
    --------
    >>> require_in_memory([[1.0]])
    """
    if (backend := backend_of(X)) is not None:
        raise ValueError(f"{who} needs all rows in memory, but X is {backend.name}; {way_out}.")
