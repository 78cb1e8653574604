"""The data matrix as an operator: a solver asks for ``X w`` and ``X' c`` and never learns how X is stored.

A new kind of data is a subclass of `Design` with ``_matvec``, ``_rmatvec``, ``weighted_squares`` and
``column_scale``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from rankwise import _native

__all__ = ["DenseDesign", "Design", "SparseDesign", "TiledDesign", "as_design"]

# A tile of this many entries, as float64, stays in a cache; its longer side lies along the memory.
_TILE_ENTRIES = 1 << 17
_TILE_LENGTH = 1 << 13


class Design(LinearOperator):
    """The data matrix X of shape (n_samples, n_features), known by its products; results are float64."""

    X: Any
    n_threads = 1

    def __init__(self, shape: tuple[int, int]) -> None:
        super().__init__(np.float64, shape)

    def joined(self, loss: Any, tol: float) -> tuple[Design, Any]:
        """Give the design and the loss to solve with; rows that are elsewhere may take the loss to them."""
        return self, loss

    def __sizeof__(self) -> int:
        """Give the bytes of the data, which is how Dask knows what a block takes."""
        X: Any = getattr(self, "X", None)
        arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        return 256 + sum(getattr(array, "nbytes", 0) for array in arrays)

    def take(self, rows: NDArray[np.int64]) -> Design:
        """Give the design of some of the rows, copied."""
        return as_design(self.X[rows], n_threads=self.n_threads)

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the sum over rows of c_i x_ij^2 for each column j: a diagonal for preconditioners."""
        raise NotImplementedError(f"{type(self).__name__} does not define weighted_squares.")

    def weighted_spread(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the sum over rows of c_i (x_ij - mean_j)^2, with the mean weighted by c, for each column j."""
        squares, total = self.weighted_squares(c), float(c.sum())
        if total > 0:
            squares -= self.rmatvec(c) ** 2 / total
        return np.maximum(squares, 0.0)

    def column_scale(self) -> NDArray[np.float64]:
        """Give the largest absolute value of each column."""
        raise NotImplementedError(f"{type(self).__name__} does not define column_scale.")

    def _matmat(self, w: NDArray) -> NDArray[np.float64]:
        return _by_column(self._matvec, w, self.shape[0])

    def _rmatmat(self, c: NDArray) -> NDArray[np.float64]:
        return _by_column(self._rmatvec, c, self.shape[1])


class DenseDesign(Design):
    """A float64 array in memory order C or F: one call of BLAS a product, and no copy."""

    def __init__(self, X: NDArray) -> None:
        super().__init__(X.shape)
        self.X = X

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        return self.X @ w

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        return self.X.T @ c

    _matmat = _matvec
    _rmatmat = _rmatvec

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the sum over rows of c_i x_ij^2 for each column j."""
        return _weighted_squares(self.X, c)

    def column_scale(self) -> NDArray[np.float64]:
        """Give the largest absolute value of each column."""
        return _column_scale(self.X)


class TiledDesign(DenseDesign):
    """An array of any numeric type, or a memory map: one tile at a time becomes float64, never the whole."""

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        result = np.zeros((self.shape[0], *w.shape[1:]))
        for rows, columns in _tiles(self.X):
            result[rows] += self.X[rows, columns].astype(np.float64, copy=False) @ w[columns]
        return result

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        result = np.zeros((self.shape[1], *c.shape[1:]))
        for rows, columns in _tiles(self.X):
            result[columns] += self.X[rows, columns].astype(np.float64, copy=False).T @ c[rows]
        return result

    _matmat = _matvec
    _rmatmat = _rmatvec


class SparseDesign(Design):
    """A CSR matrix of float32 or float64, shared with the caller; both products read the same copy.

    A product costs O(nnz) and gives the same bits for any number of threads.
    """

    def __init__(self, X: sp.csr_matrix | sp.csr_array, n_threads: int = 1) -> None:
        super().__init__(X.shape)
        _check_indices(X)
        self.X = X
        self.n_threads = n_threads
        contiguous = np.ascontiguousarray
        self._arrays = (contiguous(X.indptr), contiguous(X.indices), contiguous(X.data))

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        return _native.csr_matvec(*self._arrays, _vector(w), self.n_threads)

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        return _native.csr_rmatvec(*self._arrays, _vector(c), self.shape[1], self.n_threads)

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the sum over rows of c_i x_ij^2 for each column j."""
        X = self._without_duplicates()
        indptr, indices, data = self._arrays if X is self.X else (X.indptr, X.indices, X.data)
        return _native.csr_rmatvec(
            indptr, indices, data, _vector(c), self.shape[1], self.n_threads, squared=True
        )

    def _without_duplicates(self) -> Any:
        if self.X.has_canonical_format:
            return self.X
        X = self.X.astype(np.float64, copy=True)
        X.sum_duplicates()
        return X

    def column_scale(self) -> NDArray[np.float64]:
        """Give the largest absolute value of each column."""
        X = self._without_duplicates()
        scale = np.zeros(self.shape[1])
        for part in _slices(X.nnz, _TILE_ENTRIES):
            np.maximum.at(scale, X.indices[part], np.abs(X.data[part]))
        return scale


def as_design(X: Any, n_threads: int = 1) -> Design:
    """Wrap a data matrix, without a copy where its type allows.

    Parameters
    ----------
    X : array, memory map, scipy sparse matrix or array, or Design
        Two-dimensional. Dense float64 and float32 arrays, memory maps and CSR are used in place; other
        numbers become float64 and other sparse formats CSR. A Design is returned as it is.
    n_threads : int
        Threads for products with a CSR matrix; the results do not depend on it.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = as_design(sp.csr_array([[1.0, 0.0], [0.0, -2.0], [3.0, 0.0]]), n_threads=2)
    >>> X.matvec(np.array([1.0, 10.0]))
    array([  1., -20.,   3.])
    >>> X.rmatvec(np.array([1.0, 1.0, 1.0]))
    array([ 4., -2.])
    >>> X.column_scale()
    array([3., 2.])
    """
    if isinstance(X, Design):
        return X
    if not sp.issparse(X):
        X = np.asanyarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, got {X.ndim} dimension(s).")
    return SparseDesign(_as_csr(X), n_threads) if sp.issparse(X) else _dense_design(X)


def _dense_design(X: NDArray) -> Design:
    mapped = _is_memory_map(X)
    X = np.asarray(X)
    contiguous = X.flags.c_contiguous or X.flags.f_contiguous
    if X.dtype == np.float64 and contiguous:
        return DenseDesign(X)
    if X.dtype == np.float32 or mapped:
        return TiledDesign(X)
    return DenseDesign(np.ascontiguousarray(X, dtype=np.float64))


def _is_memory_map(X: Any) -> bool:
    """Tell whether X is a memory map or a view of one, such as scikit-learn's validation leaves."""
    while X is not None and not isinstance(X, np.memmap):
        X = getattr(X, "base", None)
    return X is not None


def _as_csr(X: Any) -> Any:
    X = X.tocsr()
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _check_indices(X: Any) -> None:
    """Refuse what would make the native code read or write outside its arrays."""
    indices = X.indices[: X.nnz]
    in_range = indices.size == 0 or (indices.min() >= 0 and indices.max() < X.shape[1])
    if not in_range or np.any(X.indptr[1:] < X.indptr[:-1]):
        raise ValueError("X is not a valid CSR matrix: an index is out of range or indptr decreases.")


def _vector(w: NDArray) -> NDArray[np.float64]:
    return np.ascontiguousarray(w, dtype=np.float64).ravel()


def _by_column(times: Callable[[NDArray], NDArray], W: NDArray, n_rows: int) -> NDArray[np.float64]:
    result = np.empty((n_rows, W.shape[1]))
    for j, column in enumerate(W.T):
        result[:, j] = times(column)
    return result


def _slices(n: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _tiles(X: NDArray) -> Iterator[tuple[slice, slice]]:
    """Cut X into tiles that are long in the direction in which its memory runs."""
    along = 0 if X.flags.f_contiguous else 1
    long_step = max(1, min(X.shape[along], _TILE_LENGTH))
    steps = [max(1, _TILE_ENTRIES // long_step)] * 2
    steps[along] = long_step
    return product(_slices(X.shape[0], steps[0]), _slices(X.shape[1], steps[1]))


def _weighted_squares(X: NDArray, c: NDArray[np.float64]) -> NDArray[np.float64]:
    result = np.zeros(X.shape[1])
    for rows, columns in _tiles(X):
        tile = X[rows, columns].astype(np.float64, copy=False)
        result[columns] += (tile * tile).T @ c[rows]
    return result


def _column_scale(X: NDArray) -> NDArray[np.float64]:
    highest, lowest = X.max(axis=0, initial=0), X.min(axis=0, initial=0)
    return np.maximum(highest.astype(np.float64), -lowest.astype(np.float64))
