"""Features that rankers learn from: brought to a common scale, or cut into curves."""

from rankwise.preprocessing.curve_features import CurveFeatures
from rankwise.preprocessing.query_scaler import QueryScaler
from rankwise.preprocessing.query_scaling import scale_within_queries

__all__ = ["CurveFeatures", "QueryScaler", "scale_within_queries"]
