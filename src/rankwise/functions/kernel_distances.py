"""Squared distances of CSR rows that keep their digits on columns far from zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from rankwise import _native
from rankwise.core.types import FloatArray
from rankwise.data.design import row_blocks
from rankwise.data.scores import dense_rows, kept_entries

__all__ = ["sparse_squared_distances", "typical_distance"]

# Distances, and entries of differences of rows, that are worked on at a time.
_BLOCK_ENTRIES = 1 << 18
# A squared distance below this fraction of |x|^2 + |z|^2 is summed from differences: the others
# have lost two digits at most.
_LEAST_SHARE = 1e-2
# Pairs of rows from which a typical distance is measured.
_N_PAIRS = 2000


def typical_distance(X: Any, kernel: str, seed: int = 0) -> float:
    """Return the median distance of two rows as a kernel measures it, from random pairs; 1 if it is zero.

    Examples
    --------
    >>> typical_distance(3 * np.eye(10), "laplacian")
    6.0
    """
    first, second = np.random.default_rng(seed).integers(X.shape[0], size=(2, _N_PAIRS))
    difference = X[first] - X[second]
    if hasattr(difference, "toarray"):
        size = abs(difference) if kernel == "laplacian" else difference.multiply(difference)
        found = np.asarray(size.sum(axis=1)).ravel()
        found = found if kernel == "laplacian" else np.sqrt(found)
    else:
        found = np.linalg.norm(difference, 1 if kernel == "laplacian" else 2, axis=1)
    return float(np.median(found)) or 1.0


def sparse_squared_distances(X: Any, Z: Any, n_threads: int = 1) -> FloatArray:
    """Compute ``|x_i - z_j|^2`` for all rows of X and Z, to about twelve digits each.

    Columns that most rows of Z store are made dense, and their differences squared. The others are expanded
    to ``|x|^2 + |z|^2 - 2 x'z``, and if that cancels, the differences of the pair are squared. A distance
    depends on its two rows, and in its last digits on which columns most rows of Z store.

    Parameters
    ----------
    X : canonical CSR of shape (m, n)
    Z : canonical CSR of shape (b, n)
    n_threads : int
        Threads for the sums over dense columns; the distances do not depend on it.

    Returns
    -------
    ndarray of shape (m, b)
        Cost O(m b s) at most, for s entries stored in a row; rows with few common columns cost less. No row
        is made dense beyond the columns that most rows of Z store, which are at most 2 s.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> X = sp.csr_array([[1e9 + 1, 0.0, 2.0], [1e9, 1.0, 0.0]])
    >>> sparse_squared_distances(X, X)
    array([[0., 6.],
           [6., 0.]])
    """
    common = _common_columns(Z)
    Z_common, Z_rest = _parted(Z, common)
    products, Z_norms = -2 * Z_rest.T.tocsr(), row_norms(Z_rest, squared=True)
    squares = np.empty((X.shape[0], Z.shape[0]))
    for rows in row_blocks(X.shape[0], Z.shape[0], _BLOCK_ENTRIES):
        X_common, X_rest = _parted(X[rows], common)
        block, of_common = squares[rows], _dense_squares(X_common, Z_common, n_threads)
        norms = np.add.outer(row_norms(X_rest, squared=True), Z_norms)
        with np.errstate(invalid="ignore"):  # NaN if norms overflow
            np.add(norms, safe_sparse_dot(X_rest, products, dense_output=True), out=block)
            block += of_common
        norms *= _LEAST_SHARE
        i, j = np.unravel_index(np.flatnonzero(~(block >= norms)), block.shape)
        block[i, j] = of_common[i, j] + _squared_differences(X_rest, i, Z_rest, j)
    return squares


def _dense_squares(X: FloatArray, Z: FloatArray, n_threads: int) -> FloatArray:
    if not X.shape[1]:
        return np.broadcast_to(0.0, (len(X), len(Z)))
    return _native.squared_distances(X, Z, n_threads)


def _common_columns(Z: Any) -> NDArray[np.bool_]:
    """Mark the columns that more than half of the rows store."""
    return 2 * np.bincount(Z.indices[: Z.nnz], minlength=Z.shape[1]) > Z.shape[0]


def _parted(X: Any, common: NDArray[np.bool_]) -> tuple[FloatArray, Any]:
    """Return the marked columns as an array, and CSR of the same shape with the entries of the others."""
    columns = np.flatnonzero(common)
    if not len(columns):
        return np.empty((X.shape[0], 0)), X
    return dense_rows(X[:, columns]), kept_entries(X, ~common[X.indices[: X.nnz]])


def _squared_differences(X: Any, i: NDArray[np.int64], Z: Any, j: NDArray[np.int64]) -> FloatArray:
    """Return the squared distances of pairs of rows, from their differences."""
    longest = sum(int(np.diff(rows.indptr).max(initial=0)) for rows in (X, Z))
    squares = np.empty(len(i))
    for pairs in row_blocks(len(i), longest, _BLOCK_ENTRIES):
        squares[pairs] = row_norms(X[i[pairs]] - Z[j[pairs]], squared=True)
    return squares
