"""Features that rankers learn from, brought to a common scale."""

from rankwise.preprocessing.query_scaler import QueryScaler
from rankwise.preprocessing.query_scaling import scale_within_queries

__all__ = ["QueryScaler", "scale_within_queries"]
