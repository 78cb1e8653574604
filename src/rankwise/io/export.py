"""The former path of `rankwise.export`."""

from rankwise.export import export_model, read_svmrank_model

__all__ = ["export_model", "read_svmrank_model"]
