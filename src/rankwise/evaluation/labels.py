"""Conversion of labels and queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.checks import as_array, as_codes
from rankwise.core.types import IntArray
from rankwise.data.backends import in_memory
from rankwise.preferences import Preferences


def labels_and_queries(y: Any, qid: Any) -> tuple[Any, Any]:
    """Return labels or preferences, and queries, in memory; preferences have their own queries."""
    y, qid = in_memory(y), in_memory(qid)
    if not isinstance(y, Preferences):
        return y, qid
    if qid is not None:
        raise ValueError("qid must be None when y is a Preferences, which has its own.")
    return y, y.groups() if y.has_queries else None


def class_numbers(y: Any, classes: Any, n_rows: int | None = None) -> IntArray:
    """Return the index of each label among the classes.

    Examples
    --------
    >>> class_numbers(["good", "bad", "good"], ["bad", "good"]).tolist()
    [1, 0, 1]
    """
    names = as_array(classes).tolist()
    number = {value: k for k, value in enumerate(names)}
    distinct, codes = as_codes(y, "y", n_rows)
    unknown = [value for value in distinct.tolist() if value not in number]
    if unknown:
        raise ValueError(f"y contains {unknown[0]!r}, which is not among the classes {names}.")
    return np.array([number[value] for value in distinct.tolist()], dtype=np.int64)[codes]
