"""Scores as a function of values: equal rows have equal scores, to the bit.

The score of a row depends on its numbers and on the model alone. It does not depend on the other rows, on
where the row stands among them, on how its memory is laid out, on float32 or float64 where they hold the same
numbers, on the order in which a CSR matrix stores its entries, or on the number of threads. BLAS promises
none of this: ties would be broken by rounding. Scores of one model may differ in the last digits between
types of CPU, and between dense and CSR rows of a linear model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise import _native
from rankwise.core.types import FloatArray
from rankwise.data.design import as_design, row_blocks

__all__ = [
    "canonical_csr",
    "compared_scores",
    "dense_rows",
    "kept_entries",
    "owned_rows",
    "row_scores",
    "sparse_rows",
]


# Rows of another type or order are copied a block of this many entries at a time.
_BLOCK_ENTRIES = 1 << 17


def row_scores(X: Any, coef: NDArray, n_threads: int = 1) -> FloatArray:
    """Return the scores ``X w`` of linear functions, each summed over the features in one fixed order.

    Parameters
    ----------
    X : array or CSR matrix of shape (m, n)
    coef : array of shape (n,) or (v, n)
        Weights of one function or of v. The scores of a function do not depend on the others.

    Returns
    -------
    ndarray of shape (m,) or (m, v)

    Examples
    --------
    >>> import numpy as np
    >>> row_scores(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 1.0]))
    array([12., 34.])
    """
    functions = dense_rows(np.atleast_2d(coef))
    if sp.issparse(X):
        scores = as_design(canonical_csr(X), n_threads=n_threads) @ functions.T
    else:
        scores = _dense_scores(X, functions, n_threads)
    return scores.reshape(X.shape[0], *np.shape(coef)[:-1])


def _dense_scores(X: NDArray, functions: FloatArray, n_threads: int) -> FloatArray:
    in_place = X.dtype == np.float64 and X.flags.c_contiguous and X.flags.aligned
    step = max(1, X.shape[0] if in_place else _BLOCK_ENTRIES // max(1, X.shape[1]))
    scores = np.empty((X.shape[0], len(functions)))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        scores[rows] = _native.row_scores(dense_rows(X[rows]), functions, n_threads)
    return scores


def compared_scores(
    X: Any, coef: NDArray, rows: NDArray[np.int64] | None = None, n_threads: int = 1
) -> FloatArray:
    """Return the scores of many functions, one after the other, of some rows of X or of all.

    As in `row_scores` equal rows have equal scores; the order of the sums is another, that of quick products
    of matrices, so that the last digits may differ.

    Returns
    -------
    ndarray of shape (v, m)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> compared_scores(X, np.array([[10.0, 1.0], [0.0, 1.0]]), rows=np.array([0, 2]))
    array([[12., 56.],
           [ 2.,  6.]])
    """
    if sp.issparse(X):
        return np.ascontiguousarray(row_scores(X if rows is None else X[rows], coef, n_threads).T)
    functions, n_rows = dense_rows(coef), X.shape[0] if rows is None else len(rows)
    scores = np.empty((len(functions), n_rows))
    for block in row_blocks(n_rows, X.shape[1], _BLOCK_ENTRIES):
        part = dense_rows(X[block if rows is None else rows[block]])
        scores[:, block] = _native.row_products(part, functions, n_threads).T
    return scores


def dense_rows(X: Any) -> FloatArray:
    """Return rows as a float64 array in C order, without a copy if possible."""
    return np.require(canonical_csr(X).toarray() if sp.issparse(X) else X, np.float64, ["C", "A"])


def canonical_csr(X: Any) -> Any:
    """Return CSR with sorted indices, no duplicates and no stored zeros; X itself if it has this form.

    Entries that are stored several times are summed in float64, in the order of their values.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> values, columns = np.array([1.0, 0.0, 2.0, 3.0]), np.array([2, 1, 0, 2])
    >>> X = sp.csr_array((values, columns, np.array([0, 4])), shape=(1, 3))
    >>> canonical_csr(X).indices.tolist(), canonical_csr(X).data.tolist()
    ([0, 2], [2.0, 4.0])
    """
    X = X.tocsr()
    X = X if X.has_canonical_format else _summed(X)
    stored = X.data[: X.nnz]
    return X if np.count_nonzero(stored) == X.nnz else kept_entries(X, stored != 0)


def kept_entries(X: Any, kept: NDArray[np.bool_]) -> Any:
    """Return a CSR matrix with those of its stored entries that are marked.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = sp.csr_array((np.array([1.0, 0.0, 3.0]), np.array([0, 2, 1]), np.array([0, 2, 3])), shape=(2, 3))
    >>> kept_entries(X, X.data != 0).indptr.tolist()
    [0, 1, 2]
    """
    indptr = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(X.indptr.dtype)
    stored = slice(X.nnz)
    return type(X)((X.data[stored][kept], X.indices[stored][kept], indptr), shape=X.shape)


def _summed(X: Any) -> Any:
    """Return CSR of scipy in float64 with sorted indices, each of them there once."""
    indices, data = X.indices[: X.nnz], X.data[: X.nnz].astype(np.float64)
    order = np.lexsort((data, indices, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))))
    X = type(X)((data[order], indices[order], X.indptr.copy()), shape=X.shape)
    X.sum_duplicates()
    return X


def sparse_rows(X: Any) -> Any:
    """Return canonical CSR in float64, with 32-bit indices if they suffice; X itself if it has this form."""
    X = canonical_csr(X)
    index = np.int32 if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max else np.int64
    if X.dtype == np.float64 and X.indices.dtype == index:
        return X
    indices, indptr = (array.astype(index, copy=False) for array in (X.indices, X.indptr))
    return type(X)((X.data.astype(np.float64, copy=False), indices, indptr), shape=X.shape)


def owned_rows(X: Any) -> Any:
    """Return a copy of rows that nobody else can change: a float64 array in C order, or canonical CSR."""
    return sparse_rows(X).copy() if sp.issparse(X) else np.array(X, dtype=np.float64, order="C")
