"""Dask as a backend of rows."""

from __future__ import annotations

from typing import Any

from rankwise.data.backends import Backend
from rankwise.distributed.collections import gathered, is_distributed, lazy_scores
from rankwise.distributed.design import DaskDesign
from rankwise.distributed.remote_labels import RemotePreferences, remote_preferences
from rankwise.distributed.row_parts import DaskParts
from rankwise.distributed.whole_queries import whole_queries_pay


class DaskBackend(Backend):
    """Rows in Dask collections, in lists of Dask objects or in `Partitions`."""

    name = DaskDesign.location

    def holds(self, values: Any) -> bool:
        """Tell whether values are on Dask, without importing it."""
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

    def scores(self, X: Any, coef: Any, feature_names: Any = None) -> Any:
        """Return the scores as a Dask array that is not yet computed."""
        return lazy_scores(X, coef, feature_names)

    def parts(self, *columns: Any) -> DaskParts:
        """Return columns in the partitions of the first that is on Dask."""
        return DaskParts.of(*columns)

    def predictions(self, model: Any, X: Any) -> Any:
        """Return the scores of a model of any kind as a Dask array that is not yet computed."""
        from rankwise.distributed.pipelines import lazy_predictions

        return lazy_predictions(model, X)
