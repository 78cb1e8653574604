"""Compressed sparse rows as three arrays of numpy: what products need, and what commands start with.

scipy has the same and far more, but importing it takes longer than many a command runs.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.memory import require_memory

__all__ = ["SparseRows", "is_sparse", "kept_entries", "require_column_memory"]

# Rows of this many entries become an array at a time, so that their places take little memory.
_BLOCK_ENTRIES = 1 << 20


# Vectors with an entry per column that a short fit to sparse rows holds at the same time.
FIT_VECTORS = 10


class SparseRows:
    """A CSR matrix in which the indices of a row ascend and none is there twice.

    Parameters
    ----------
    arrays : tuple (data, indices, indptr)
    shape : tuple (n_rows, n_columns)

    Examples
    --------
    >>> X = SparseRows((np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1]), np.array([0, 2, 2, 3])), (3, 3))
    >>> X.toarray()
    array([[1., 0., 2.],
           [0., 0., 0.],
           [0., 3., 0.]])
    >>> X[np.array([2, 0])].toarray()
    array([[0., 3., 0.],
           [1., 0., 2.]])
    """

    ndim = 2
    has_canonical_format = True

    def __init__(self, arrays: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], shape: tuple[int, int]):
        self.data, self.indices, self.indptr = arrays
        self.shape = shape

    @property
    def dtype(self) -> np.dtype:
        """The type of the entries."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """The number of stored entries."""
        return int(self.indptr[-1])

    def __getitem__(self, rows: Any) -> SparseRows:
        rows = np.arange(self.shape[0])[rows]
        lengths = np.diff(self.indptr)[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        arrays = (self.data[places], self.indices[places], indptr.astype(self.indptr.dtype))
        return SparseRows(arrays, (len(rows), self.shape[1]))

    def tocsr(self) -> SparseRows:
        """Return the rows themselves."""
        return self

    def toarray(self) -> NDArray[Any]:
        """Return an array; where every entry is stored, it is the data without a copy."""
        n_rows, n_columns = self.shape
        if self.nnz == n_rows * n_columns:
            return self.data[: self.nnz].reshape(self.shape)
        result = np.zeros(self.shape, self.dtype)
        step = max(1, _BLOCK_ENTRIES // max(1, n_columns))
        for begin in range(0, n_rows, step):
            indptr = self.indptr[begin : begin + step + 1]
            stored = slice(indptr[0], indptr[-1])
            row = np.repeat(np.arange(begin, begin + len(indptr) - 1), np.diff(indptr))
            result[row, self.indices[stored]] = self.data[stored]
        return result

    def to_scipy(self) -> Any:
        """Return a CSR matrix of scipy that shares the arrays."""
        from scipy.sparse import csr_matrix

        matrix = csr_matrix((self.data, self.indices, self.indptr), shape=self.shape)
        matrix.has_canonical_format = True
        return matrix


def is_sparse(X: Any) -> bool:
    """Return whether X is `SparseRows` or a sparse matrix of scipy; the question does not import scipy."""
    scipy_sparse = sys.modules.get("scipy.sparse")  # what is made by a module has imported it
    return isinstance(X, SparseRows) or (scipy_sparse is not None and scipy_sparse.issparse(X))


def kept_entries(X: Any, kept: NDArray[np.bool_]) -> Any:
    """Return a CSR matrix of any kind with those of its stored entries that are marked.

    Examples
    --------
    >>> X = SparseRows((np.array([1.0, 0.0, 3.0]), np.array([0, 2, 1]), np.array([0, 2, 3])), (2, 3))
    >>> kept_entries(X, X.data != 0).indptr.tolist()
    [0, 1, 2]
    """
    indptr = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(X.indptr.dtype)
    stored = slice(X.nnz)
    return type(X)((X.data[stored][kept], X.indices[stored][kept], indptr), shape=X.shape)


def require_column_memory(n_columns: int, way_out: str) -> None:
    """Refuse more columns than there is memory for the vectors of a fit."""
    require_memory(8.0 * FIT_VECTORS * n_columns, f"A fit of {n_columns:,} features", way_out)
