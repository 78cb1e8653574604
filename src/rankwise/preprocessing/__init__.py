"""Transformers of features: tables as numbers, scaling within queries, and binning for curves."""

from typing import TYPE_CHECKING

from rankwise.core.lazy import lazy_imports

if TYPE_CHECKING:
    from rankwise.curves.features import CurveFeatures as CurveFeatures
    from rankwise.preprocessing.query_scaler import (
        QueryScaler as QueryScaler,
        scale_within_queries as scale_within_queries,
    )
    from rankwise.preprocessing.table_encoder import TableEncoder as TableEncoder


__getattr__, __dir__, __all__ = lazy_imports(__name__)
