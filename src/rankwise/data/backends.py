"""Where rows can be: in this process's memory, or at a place that registers itself, such as a cluster.

A place is one package. It defines a `Place`, calls `register`, and is announced by the root of the package;
nothing else names it. Estimators, solvers and losses meet its rows as a `rankwise.data.design.Design`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

import numpy as np

from rankwise.data.sparse_rows import SparseRows


class Place(ABC):
    """What a place of rows must know; the words of `name` follow "X is" in messages."""

    name: str

    @abstractmethod
    def holds(self, values: Any) -> bool:
        """Return whether these rows, or this column, are here."""

    @abstractmethod
    def design(self, X: Any) -> Any:
        """Return the rows as a `Design`."""

    @abstractmethod
    def column(self, values: Any) -> Any:
        """Return labels, queries or weights that are here as an array in memory."""

    @abstractmethod
    def scores(self, X: Any, coef: Any) -> Any:
        """Return the scores of rows under the weights of a linear model, not yet computed."""


class RowsLostError(RuntimeError):
    """Rows that were at a place cannot be read again.

    Attributes
    ----------
    coef : array of shape (n_features,), or None
        The best weights so far; None when not a single iteration was finished.
    """

    coef: Any = None


_places: list[Place] = []
_announced: list[str] = []


def announce(module: str) -> None:
    """Name a module that registers a place; it is imported when rows are first looked for."""
    _announced.append(module)


def register(place: Place) -> None:
    """Add a place, or replace the one of the same name."""
    _places[:] = [known for known in _places if known.name != place.name] + [place]


def place_of(values: Any) -> Place | None:
    """Return the place where rows or a column are, or None for memory."""
    if values is None or isinstance(values, np.ndarray | SparseRows):  # no place need be imported to know
        return None
    while _announced:
        import_module(_announced.pop())
    return next((place for place in _places if place.holds(values)), None)


def in_memory(values: Any) -> Any:
    """Return a column as an array in memory; what is in memory already is left alone.

    Examples
    --------
    >>> in_memory([3, 1, 2])
    [3, 1, 2]
    """
    place = place_of(values)
    return values if place is None else place.column(values)
