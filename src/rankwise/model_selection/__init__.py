"""Choosing models without tearing queries apart."""

from rankwise.model_selection.splits import QueryKFold

__all__ = ["QueryKFold"]
