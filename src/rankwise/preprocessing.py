"""Transformers of features: tables as numbers, scaling within queries, and binning for curves."""

from rankwise.data.query_scaler import QueryScaler, scale_within_queries
from rankwise.data.table_encoder import TableEncoder
from rankwise.functions.curve_features import CurveFeatures

__all__ = ["CurveFeatures", "QueryScaler", "TableEncoder", "scale_within_queries"]
