"""Transformers of features: tables as numbers, scaling within queries, and binning for curves."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_names

if TYPE_CHECKING:
    from rankwise.curves.features import CurveFeatures
    from rankwise.preprocessing.query_scaler import QueryScaler, scale_within_queries
    from rankwise.preprocessing.table_encoder import TableEncoder

__all__ = [
    "CurveFeatures",
    "QueryScaler",
    "TableEncoder",
    "scale_within_queries",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "rankwise.curves.features": ["CurveFeatures"],
        "rankwise.preprocessing.query_scaler": ["QueryScaler", "scale_within_queries"],
        "rankwise.preprocessing.table_encoder": ["TableEncoder"],
    },
)
