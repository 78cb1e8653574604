"""The default grids of alpha, from the scale of the scores and of the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design, zero_scores

# Columns whose standard deviation is further above the median of columns than this do not raise the grid; it
# is measured from at most this many rows.
FAR_ABOVE, MEASURED_ROWS = 30.0, 20_000


def margin_alphas(design: Design, loss: Any, X: Any = None, count: int = 8) -> FloatArray:
    """Return powers of ten down from the alpha at which the scores of a first gradient step spread over one.

    If all pairs violate the margin, the solution is -a / (2 alpha) with the gradient a at zero. X holds the
    rows of a linear design: its columns far above the others in scale are damped first.
    """
    _, coefficients, _ = loss.plane(zero_scores(design))
    step = design.rmatvec(coefficients)
    if X is not None and np.abs(step).max(initial=0.0) > FAR_ABOVE * np.median(np.abs(step)):
        step = step * far_columns(X) ** 2
    spread = float(design.matvec(step).std())
    return np.asarray((spread or 1.0) / 2 * 10.0 ** -np.arange(count), dtype=np.float64)


def far_columns(X: Any) -> FloatVector:
    """Return factors that bring columns far above the median standard deviation down to `FAR_ABOVE` times it.

    They are 1 for all other columns.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 900.0]])
    >>> far_columns(X)
    array([1.        , 1.        , 0.06666667])
    """
    return _damping(_column_spread(X))


def near_share(X: Any) -> float:
    """Return the fraction of the squared distances of rows that is left if far columns are damped.

    Examples
    --------
    >>> near_share(np.array([[0.0, 0.0], [1.0, 2.0]]))
    1.0
    """
    spread = _column_spread(X)
    total = float(np.sum(spread**2))
    return float(np.sum((_damping(spread) * spread) ** 2)) / total if 0 < total < np.inf else 1.0


def _column_spread(X: Any) -> FloatVector:
    """Return the standard deviation of each column, from some of the rows; 1 if it is not known."""
    step = -(-X.shape[0] // MEASURED_ROWS)
    if isinstance(X, Design):
        return X.column_spread(np.arange(0, X.shape[0], step))
    if not (isinstance(X, np.ndarray) or sp.issparse(X)):
        return np.ones(X.shape[1])
    rows = X[::step]
    if sp.issparse(rows):
        return np.sqrt(mean_variance_axis(sp.csr_matrix(rows, dtype=np.float64), axis=0)[1])
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(rows, dtype=np.float64).std(axis=0)


def _damping(spread: FloatVector) -> FloatVector:
    varied = spread[(spread > 0) & np.isfinite(spread)]
    limit = FAR_ABOVE * float(np.median(varied)) if len(varied) else np.inf
    return np.minimum(1.0, np.divide(limit, spread, where=spread > 0, out=np.ones_like(spread)))
