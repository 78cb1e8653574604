"""Digests of rows, labels and preferences, by which checkpoints of other data are refused."""

from __future__ import annotations

from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from rankwise.preferences import Preferences


def digest(*values: Any) -> str:
    """Return a digest of arrays, CSR matrices, frames, preferences, and tuples, lists and dicts of these.

    Examples
    --------
    >>> labels = np.array([2.0, 1.0])
    >>> digest(labels, None) == digest(labels.copy(), None)
    True
    >>> digest(Preferences.from_scores(labels)) == digest(Preferences.from_scores(-labels))
    False
    """
    return str(joblib.hash([_numbers(value) for value in values], hash_name="sha1"))


def _numbers(value: Any) -> Any:
    """Return the arrays that a value consists of, without what it has computed and kept."""
    if isinstance(value, Preferences):
        pairs = tuple(value.pairs()) if value.lists_pairs else None
        return [value.values, value.groups(), *value.partner_weights(), pairs]
    if sp.issparse(value):
        return [value.data, value.indices, value.indptr, value.shape]
    if isinstance(value, dict):
        return {name: _numbers(one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return [_numbers(one) for one in value]
    if hasattr(value, "columns"):  # a frame, whose index may have names
        return [list(map(str, value.columns)), np.asarray(value), getattr(value, "index", np.empty(0))]
    return value
