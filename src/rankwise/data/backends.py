"""Backends of rows that are not in memory, such as those of a cluster.

A backend is one package. It defines a `Backend`, calls `register`, and is announced by the root of rankwise;
no other module names it. Estimators, solvers and losses use its rows as a `rankwise.data.design.Design`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rankwise.data.row_parts import RowParts


class Backend(ABC):
    """The interface of a backend; `name`, such as "on Dask", completes "X is ..." in messages."""

    name: str

    @abstractmethod
    def holds(self, values: Any) -> bool:
        """Tell whether rows or a column belong to this backend."""

    @abstractmethod
    def design(self, X: Any) -> Any:
        """Return the rows as a `Design`."""

    @abstractmethod
    def column(self, values: Any) -> Any:
        """Return labels, queries or weights of this backend as an array in memory."""

    def preferences(self, design: Any, y: Any, qid: Any, sample_weight: Any, pair_weight: str | None) -> Any:
        """Return `Preferences` that stay where the rows of a design are, or None if columns are collected."""
        return None

    @abstractmethod
    def scores(self, X: Any, coef: Any, feature_names: Any = None) -> Any:
        """Return the scores of rows under the weights of a linear model, not yet computed.

        Rows with other names of columns than those of the fit are refused.
        """

    def parts(self, *columns: Any) -> RowParts:
        """Return columns of the same rows, of this backend or in memory, in the same parts.

        The parts are those of the first column of this backend. By default, all rows are collected as one
        part.
        """
        from rankwise.data.row_parts import PartsInMemory

        return PartsInMemory(*(self.column(one) if self.holds(one) else one for one in columns))

    def predictions(self, model: Any, X: Any) -> Any:
        """Return the scores of rows by a fitted model of any kind, not yet computed."""
        raise ValueError(f"{type(model).__name__} needs all rows in memory, but X is {self.name}.")


class RowsLostError(RuntimeError):
    """Rows of a backend were lost and cannot be read again.

    Attributes
    ----------
    coef : array of shape (n_features,), or None
        The best weights so far; None when not a single iteration was finished.
    """

    coef: Any = None


_backends: list[Backend] = []
_announced: list[str] = []


def announce(module: str) -> None:
    """Name a module that registers a backend; it is imported on the first use of `backend_of`."""
    _announced.append(module)


def register(backend: Backend) -> None:
    """Add a backend, or replace the one of the same name."""
    _backends[:] = [known for known in _backends if known.name != backend.name] + [backend]


def backend_of(values: Any) -> Backend | None:
    """Return the backend of rows or of a column, or None for memory."""
    if values is None or isinstance(values, np.ndarray):  # without importing a backend
        return None
    while _announced:
        import_module(_announced.pop())
    return next((backend for backend in _backends if backend.holds(values)), None)


def backend_among(*values: Any) -> Backend | None:
    """Return the backend of the first of several columns that is not in memory, None if all are."""
    return next((found for found in map(backend_of, values) if found is not None), None)


def in_memory(values: Any) -> Any:
    """Return a column as an array in memory; a column in memory is returned unchanged.

    Examples
    --------
    >>> in_memory([3, 1, 2])
    [3, 1, 2]
    """
    backend = backend_of(values)
    return values if backend is None else backend.column(values)
