"""Dask as a backend of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankwise.core.backends import Backend
from rankwise.distributed.collections import gathered, is_distributed
from rankwise.distributed.design import DaskDesign
from rankwise.distributed.remote_labels import RemotePreferences, remote_preferences
from rankwise.distributed.row_blocks import mapped_rows
from rankwise.distributed.row_parts import by_query
from rankwise.distributed.whole_queries import whole_queries_pay


class DaskBackend(Backend):
    """Rows in Dask collections, in lists of Dask objects or in `Partitions`."""

    name = DaskDesign.location

    def holds(self, values: Any) -> bool:
        """Return whether values are on Dask, without importing it."""
        return is_distributed(values)

    def design(self, X: Any) -> DaskDesign:
        """Return the rows as a design; with a client, they are loaded."""
        return DaskDesign.of(X)

    def column(self, values: Any) -> Any:
        """Return a column as an array in memory."""
        return gathered(values)

    def preferences(
        self, design: Any, y: Any, qid: Any, sample_weight: Any, pair_weight: str | None
    ) -> RemotePreferences | None:
        """Return preferences that stay on the workers, or None if that is not possible or not cheaper."""
        if qid is None or not whole_queries_pay(design, has_line_search=True):
            return None
        return remote_preferences(design, y, qid, sample_weight, pair_weight)

    def mapped(self, function: Callable[..., Any], X: Any, qid: Any = None, shape: Any = ()) -> Any:
        """Return a function of the rows as a Dask array that is not yet computed."""
        return mapped_rows(function, X, gathered(qid), shape)

    def by_query(self, function: Callable[..., Any], *columns: Any) -> list[Any] | None:
        """Return a function of each partition, None if a query is in several partitions."""
        return by_query(function, *columns)
