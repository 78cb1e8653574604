"""Bringing features to a common scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_array, as_codes


def scale_within_queries(X: Any, qid: ArrayLike) -> NDArray[np.float64]:
    """Scale each feature to 0..1 within each query: (x - min) / (max - min), and 0 where it is constant.

    This is what Pahikkala et al. (2009, section 5.3) do to LETOR data: a feature then means the same in a
    query with large and in one with small values.

    Parameters
    ----------
    X : array or frame of shape (n_rows, n_features)
    qid : array of shape (n_rows,)

    Returns
    -------
    array of shape (n_rows, n_features)

    Examples
    --------
    >>> scale_within_queries([[1.0, 5.0], [3.0, 5.0], [10.0, 0.0]], qid=["a", "a", "b"])
    array([[0., 0.],
           [1., 0.],
           [0., 0.]])
    """
    if sp.issparse(X):
        raise TypeError(
            "scale_within_queries shifts features and so needs a dense X; call X.toarray() first."
        )
    values = np.asarray(as_array(X), dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"X must be two-dimensional; got shape {values.shape}.")
    query = as_codes(qid, "qid", len(values))[1]
    order = np.argsort(query, kind="stable")
    begin = np.flatnonzero(np.diff(query[order], prepend=-1))
    lowest = np.minimum.reduceat(values[order], begin)
    spread = np.maximum.reduceat(values[order], begin) - lowest
    spread[spread == 0] = 1.0
    return (values - lowest[query]) / spread[query]
