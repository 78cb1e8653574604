"""The data matrix as an operator: solvers need ``X w`` and ``X' c``, not how X is stored.

A new kind of data is a subclass of `Design`. Rows that are not in memory have a backend (`core.backends`).
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, singledispatch
from itertools import product
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise import _native
from rankwise.core.memory import require_memory
from rankwise.data.precision import Precision

__all__ = [
    "DenseDesign",
    "Design",
    "MemoryDesign",
    "ScoreVector",
    "SparseDesign",
    "TiledDesign",
    "as_design",
    "float_matrix",
    "require_column_memory",
    "row_blocks",
]

# Vectors with an entry per column that a short fit to sparse rows holds at the same time.
FIT_VECTORS = 10
# A tile of this many entries, as float64, stays in a cache; its longer side lies along the memory.
_TILE_ENTRIES = 1 << 17
_TILE_LENGTH = 1 << 13
# Entries of a block of rows that is centered and multiplied while it is in a cache, and of the scores of
# several columns at once.
_BLOCK_ENTRIES = 1 << 18
_COLUMN_ENTRIES = 1 << 24
# Entries that native code goes through in one call.
_STRETCH_ENTRIES = 1 << 28
# A column whose values lie further from zero than this many times their range loses more than three digits.
_FAR = 1e3


class ScoreVector(Protocol):
    """One score, or one coefficient of a loss, per row: a numpy array, or a vector that stays on workers.

    Solvers may add, subtract and scale such vectors. `c @ s` is a number, and a network round if the vectors
    are on workers. Nothing else is part of the contract: a solver that needs entries asks for an array.
    """

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, number: Any, /) -> Any: ...
    def __rmul__(self, number: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...


class Design:
    """The data matrix X of shape (n_samples, n_features), known by its products; results are float64.

    A design of a new backend defines ``_matvec``, ``_rmatvec``, ``stored``, ``weighted_squares`` and
    ``column_scale``; the other methods follow and may be overridden by faster ones. A design works
    with `scipy.sparse.linalg.aslinearoperator`.
    """

    dtype = np.dtype(np.float64)
    # The rows themselves, if they are in memory.
    X: Any
    # Where the rows are, in words that follow "X is"; None in memory.
    location: str | None = None
    # The names of the columns and the log of the work, if the backend has them.
    feature_names: list[str] | None = None
    log: Any = None
    # Fields of `precision` that differ from those of a matrix of plain numbers.
    _known_errors: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape

    @property
    def stored(self) -> int:
        """The number of entries that a product reads."""
        raise NotImplementedError(f"{type(self).__name__} does not define stored.")

    def placed_for(self, loss: Any, tol: float | None = None) -> tuple[Design, Any]:
        """Return the design and the loss to solve with; rows that are elsewhere may take the loss to them.

        Without a tolerance they take only a loss of labels that are where the rows are.
        """
        return self, loss

    def take(self, rows: Any) -> Design | None:
        """Return the design of some of the rows, copied, or None if that is not possible.

        `rows` are numbers of rows, or what the `sample` of preferences that stay with the rows returns.
        """
        return None

    def sampled(self, rows: NDArray[np.int64]) -> Design | None:
        """Return some of the rows for many passes, in memory if they are few; None if not possible."""
        return self.take(rows)

    def dense(self, rows: Any = slice(None)) -> NDArray[np.float64]:
        """Return rows as a float64 array."""
        raise NotImplementedError(f"{type(self).__name__} does not define dense.")

    def columns(self, numbers: NDArray[np.int64]) -> Any:
        """Return some columns as the rows of a float64 array, or of a CSR matrix if X is one."""
        raise NotImplementedError(f"{type(self).__name__} does not define columns.")

    def normal_equations(self, loss: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X'L X and X'r of a least-squares loss, some columns at a time."""
        m, n = self.shape
        gram = np.empty((n, n))
        for columns in row_blocks(n, m, _COLUMN_ENTRIES):
            gram[:, columns] = self.rmatmat(loss.product(self.matmat(np.eye(n)[:, columns])))
        adjoint = self.rmatvec if loss.pull.ndim == 1 else self.rmatmat
        return (gram + gram.T) / 2, adjoint(loss.pull)

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over rows of c_i x_ij^2 for each column j: a diagonal for preconditioners."""
        raise NotImplementedError(f"{type(self).__name__} does not define weighted_squares.")

    def weighted_spread(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over rows of c_i (x_ij - mean_j)^2 for each column j, the mean weighted by c."""
        squares, total = self.weighted_squares(c), float(c.sum())
        if total > 0:
            squares -= self.rmatvec(c) ** 2 / total
        return np.maximum(squares, 0.0)

    def column_spread(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the standard deviation of each column over some of the rows; 1 if it is not known."""
        return np.ones(self.shape[1])

    def preconditioner(self, loss: Any, diagonal: NDArray, shift: float) -> Callable[[NDArray], NDArray]:
        """Return an approximation of the product with (X'H X + shift I)^-1, for an H with this diagonal.

        Here it is a division by the diagonal of the matrix, up to the means of queries.
        """
        scale = self.weighted_spread(diagonal) + shift
        return lambda residual: residual / scale

    def column_scale(self) -> NDArray[np.float64]:
        """Return the largest absolute value of each column."""
        raise NotImplementedError(f"{type(self).__name__} does not define column_scale.")

    @cached_property
    def precision(self) -> Precision:
        """Bounds on the rounding errors of the products."""
        return replace(Precision.of(self.shape[0], self.column_scale()), **self._known_errors)

    def centred(self) -> Design:
        """Return X - 1 center', with a center for columns that lie far from zero, or X if there is none.

        The center cancels in all pairs, but sums of large numbers lose the digits in which rows differ.
        """
        return self

    def matvec(self, w: NDArray) -> Any:
        """Return X w, as an array or another `ScoreVector`."""
        return self._matvec(_checked(w, (self.shape[1],)))

    def rmatvec(self, c: Any) -> NDArray[np.float64]:
        """Return X' c for an array or another `ScoreVector`."""
        return self._rmatvec(_checked(c, (self.shape[0],)))

    def matvecs(self, W: NDArray) -> NDArray[np.float64]:
        """Return X w for each row w of W, shape (len(W), n_rows): the numbers of `matvec`."""
        return np.stack([self.matvec(w) for w in W])

    def rmatvecs(self, C: NDArray) -> NDArray[np.float64]:
        """Return X' c for each row c of C, shape (len(C), n_features): the numbers of `rmatvec`."""
        return np.stack([self.rmatvec(c) for c in C])

    def matmat(self, W: NDArray) -> NDArray[np.float64]:
        """Return X W for a column, or several."""
        return self._matmat(_checked(W, (self.shape[1], None)))

    def rmatmat(self, C: NDArray) -> NDArray[np.float64]:
        """Return X' C for a column, or several."""
        return self._rmatmat(_checked(C, (self.shape[0], None)))

    def __matmul__(self, W: NDArray) -> NDArray[np.float64]:
        return self.matvec(W) if np.ndim(W) == 1 else self.matmat(W)

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        raise NotImplementedError(f"{type(self).__name__} does not define _matvec.")

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        raise NotImplementedError(f"{type(self).__name__} does not define _rmatvec.")

    def _matmat(self, w: NDArray) -> NDArray[np.float64]:
        return _by_column(self._matvec, w, self.shape[0])

    def _rmatmat(self, c: NDArray) -> NDArray[np.float64]:
        return _by_column(self._rmatvec, c, self.shape[1])


class MemoryDesign(Design):
    """Rows that are in memory or in a memory map: an array or a CSR matrix X."""

    n_threads = 1

    @property
    def stored(self) -> int:
        """The number of entries that a product reads."""
        return int(self.X.nnz if sp.issparse(self.X) else self.X.size)

    def take(self, rows: NDArray[np.int64]) -> Design:
        """Return the design of some of the rows, copied."""
        return as_design(self.X[rows], n_threads=self.n_threads)

    def dense(self, rows: Any = slice(None)) -> NDArray[np.float64]:
        """Return rows as a float64 array."""
        X = self.X[rows]
        return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)

    def normal_equations(self, loss: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X'L X and X'r, from rows that are centered first: differences of large sums lose digits."""
        return next(self.equations_of_parts(loss, [None]))

    def equations_of_parts(
        self, loss: Any, parts: Iterable[NDArray[np.int64] | None]
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield the contributions of some rows, or all, to X'L X and X'r; no pair joins two parts."""
        if loss.root_is_sparse:
            means = self._means(loss.root)
            yield from (self._equations_by_root(loss.root, means, rows) for rows in parts)
            return
        Phi = loss.centred(self.dense())
        product = loss.product(Phi)
        for rows in parts:
            some = slice(None) if rows is None else rows
            gram = Phi[some].T @ product[some]
            yield (gram + gram.T) / 2, Phi[some].T @ loss.pull[some]

    def _equations_by_root(
        self, root: Any, means: Any, rows: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the contribution of some rows, or all, to the equations, by blocks that fit into a cache."""
        n, target = self.shape[1], root.target
        gram, pull = np.zeros((n, n)), np.zeros((n, *target.shape[1:]))
        blocks = list(row_blocks(self.shape[0] if rows is None else len(rows), n, _BLOCK_ENTRIES))
        buffer = np.empty((blocks[0].stop, n))
        for block in blocks:
            part, made = block if rows is None else rows[block], buffer[: block.stop - block.start]
            root.rows(self.dense(part), means, part, made)
            gram += made.T @ made
            pull += made.T @ target[part]
        return root.common**2 * gram, root.common * pull

    def _means(self, root: Any) -> Any:
        """Return the means of queries and levels."""
        return root.means(float_matrix(self.X))


class TiledDesign(MemoryDesign):
    """An array of any numeric type, or a memory map: one tile at a time becomes float64, never the whole."""

    def __init__(self, X: NDArray, n_threads: int = 1) -> None:
        super().__init__(X.shape)
        self.X = X
        self.n_threads = n_threads

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        result = np.zeros((self.shape[0], *w.shape[1:]))
        for rows, columns in _tiles(self.X):
            result[rows] += self._tile(rows, columns) @ w[columns]
        return result

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        result = np.zeros((self.shape[1], *c.shape[1:]))
        for rows, columns in _tiles(self.X):
            result[columns] += self._tile(rows, columns).T @ c[rows]
        return result

    _matmat = _matvec
    _rmatmat = _rmatvec

    def _tile(self, rows: slice, columns: Any) -> NDArray[np.float64]:
        return self.X[rows, columns].astype(np.float64, copy=False)

    def columns(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return some columns as the rows of an array."""
        return np.ascontiguousarray(self._tile(slice(None), numbers).T)

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over rows of c_i x_ij^2 for each column j."""
        result = np.zeros(self.shape[1])
        for rows, columns in _tiles(self.X):
            tile = self._tile(rows, columns)
            result[columns] += (tile * tile).T @ c[rows]
        return result

    @cached_property
    def _column_range(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lowest and the highest value of each column."""
        lowest, highest = np.full(self.shape[1], np.inf), np.full(self.shape[1], -np.inf)
        for rows, columns in _tiles(self.X):
            low, high = _native.column_range(np.ascontiguousarray(self._tile(rows, columns)))
            np.minimum(lowest[columns], low, out=lowest[columns])
            np.maximum(highest[columns], high, out=highest[columns])
        return lowest, highest

    def column_scale(self) -> NDArray[np.float64]:
        """Return the largest absolute value of each column."""
        return _largest(*self._column_range, self.shape[0])

    def centred(self) -> Design:
        """Return X - 1 center' with a center for columns that lie far from zero, or X if there is none."""
        return self._centred

    @cached_property
    def _centred(self) -> Design:
        centre = _centre_of(*self._column_range)
        return CentredDesign(self, centre) if centre.any() else self


class DenseDesign(TiledDesign):
    """An array of float64 or float32 in memory order C or F, which native code reads in place.

    Products with a vector give the same bits for any number of threads and on any BLAS.
    """

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        return self.matvecs(_vector(w)[None])[0]

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        return self._summed(_native.dense_rmatvec, _vector(c)[None])

    def matvecs(self, W: NDArray) -> NDArray[np.float64]:
        """Return X w for each row w of W from one pass over X, shape (len(W), n_rows)."""
        W, stretches = np.ascontiguousarray(W, dtype=np.float64), self._stretches()
        if len(stretches) == 1:
            return _native.dense_matvec(self.X, W, self.n_threads).reshape(len(W), -1)
        result = np.empty((len(W), self.shape[0]))
        for rows, X in stretches:
            result[:, rows] = _native.dense_matvec(X, W, self.n_threads).reshape(len(W), -1)
        return result

    def rmatvecs(self, C: NDArray) -> NDArray[np.float64]:
        """Return X' c for each row c of C from one pass over X, shape (len(C), n_features)."""
        return self._summed(_native.dense_rmatvec, C).reshape(len(C), -1)

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over rows of c_i x_ij^2 for each column j."""
        return self._summed(_native.dense_weighted_squares, _vector(c)[None])

    def _summed(self, sums: Callable[..., NDArray], C: NDArray) -> NDArray[np.float64]:
        """Add up what native code sums over the rows of each stretch."""
        parts = []
        for rows, X in self._stretches():
            parts.append(sums(X, np.ascontiguousarray(C[:, rows], dtype=np.float64), self.n_threads))
        return parts[0] if len(parts) == 1 else np.sum(parts, axis=0)

    def _matmat(self, w: NDArray) -> NDArray[np.float64]:
        return self.X @ w if self.X.dtype == np.float64 else super()._matmat(w)

    def _rmatmat(self, c: NDArray) -> NDArray[np.float64]:
        return self.X.T @ c if self.X.dtype == np.float64 else super()._rmatmat(c)

    def _stretches(self) -> list[tuple[slice, NDArray]]:
        """Split contiguous rows into chunks, so that Ctrl-C is handled between native calls."""
        if not self.X.flags.c_contiguous or self.X.size <= _STRETCH_ENTRIES:
            return [(slice(None), self.X)]
        return [(rows, self.X[rows]) for rows in row_blocks(self.shape[0], self.shape[1], _STRETCH_ENTRIES)]

    @cached_property
    def _column_range(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lowest and the highest value of each column."""
        return _native.column_range(self.X)


class CentredDesign(TiledDesign):
    """The rows of an array less a center, which is taken off a tile at a time."""

    def __init__(self, design: TiledDesign, centre: NDArray[np.float64]) -> None:
        super().__init__(design.X, design.n_threads)
        self.centre = centre
        lowest, highest = design._column_range
        self._column_range = lowest - centre, highest - centre
        self._known_errors = design._known_errors
        self._centred = self

    def _tile(self, rows: slice, columns: Any) -> NDArray[np.float64]:
        return self.X[rows, columns] - self.centre[columns]

    def dense(self, rows: Any = slice(None)) -> NDArray[np.float64]:
        """Return rows, less the center, as a float64 array."""
        return self.X[rows] - self.centre

    def _means(self, root: Any) -> Any:
        """Return the means of queries and levels, without all centered rows at once."""
        blocks = row_blocks(self.shape[0], self.shape[1], _BLOCK_ENTRIES)
        of_query, of_level = zip(*(root.means(self.dense(part), part) for part in blocks), strict=True)
        return sum(of_query), None if of_level[0] is None else sum(of_level)


class SparseDesign(MemoryDesign):
    """A CSR matrix of float32 or float64, shared with the caller; both products read the same copy.

    A product costs O(nnz) and gives the same bits for any number of threads.
    """

    def __init__(self, X: Any, n_threads: int = 1) -> None:
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

    def columns(self, numbers: NDArray[np.int64]) -> Any:
        """Return some columns as the rows of a CSR matrix."""
        return self._by_column[numbers].astype(np.float64, copy=False)

    @cached_property
    def _by_column(self) -> Any:
        """The transpose, as a copy in which columns are contiguous."""
        return self._without_duplicates().T.tocsr()

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over rows of c_i x_ij^2 for each column j."""
        arrays = self._arrays_of(self._without_duplicates())
        return _native.csr_rmatvec(*arrays, _vector(c), self.shape[1], self.n_threads, squared=True)

    def _arrays_of(self, X: Any) -> tuple[NDArray, NDArray, NDArray]:
        return self._arrays if X is self.X else (X.indptr, X.indices, X.data)

    def _without_duplicates(self) -> Any:
        if self.X.has_canonical_format:
            return self.X
        X = self.X.astype(np.float64, copy=True)
        X.sum_duplicates()
        return X

    @cached_property
    def _reach(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The largest absolute value of each column, and whether every row stores the column.

        A fit begins here, and this is the first of its vectors with an entry per column.
        """
        require_column_memory(self.shape[1], "number the features without gaps")
        return _native.csr_scale(*self._arrays_of(self._without_duplicates()), self.shape[1])

    def column_scale(self) -> NDArray[np.float64]:
        """Return the largest absolute value of each column."""
        return self._reach[0]

    def centred(self) -> Design:
        """Return X - 1 center' with a center for columns that lie far from zero, or X if there is none.

        Such a column is stored in every row; otherwise it contains zero.
        """
        return self._centred

    @cached_property
    def _centred(self) -> Design:
        full = self._reach[1]
        if not (self.X.nnz and full.any()):
            return self
        X, centre = self._without_duplicates(), np.zeros(self.shape[1])
        indices, data = X.indices[: X.nnz], X.data[: X.nnz]
        values = data[full[indices]].reshape(self.shape[0], -1)  # the indices of a row ascend
        centre[full] = _centre_of(*_native.column_range(values))
        if not centre.any():
            return self
        shifted = type(X)((data - centre[indices], indices, X.indptr), shape=X.shape)
        return SparseDesign(shifted, self.n_threads)


def as_design(X: Any, n_threads: int = 1) -> Design:
    """Wrap a data matrix, without a copy if its type allows.

    Parameters
    ----------
    X : array, memory map, scipy sparse matrix or array, Design, or rows of a registered backend
        Two-dimensional. Dense float64 and float32 arrays, memory maps and CSR are used in place; other
        numbers become float64 and other sparse formats CSR. A Design is returned as it is.
    n_threads : int
        Threads for products; the results do not depend on it.

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
    return SparseDesign(_as_csr(X), n_threads) if sp.issparse(X) else _dense_design(X, n_threads)


def require_column_memory(n_columns: int, way_out: str) -> None:
    """Refuse more columns than there is memory for the vectors of a fit."""
    require_memory(8.0 * FIT_VECTORS * n_columns, f"A fit of {n_columns:,} features", way_out)


def float_matrix(X: Any) -> Any:
    """Return a sparse matrix in float64; an array is left as it is."""
    return X.astype(np.float64, copy=False) if sp.issparse(X) else X


@singledispatch
def zero_scores(design: Design) -> Any:
    """Return the scores of zero weights, as `matvec` returns scores."""
    return np.zeros(design.shape[0])


def row_blocks(n_rows: int, n_columns: int, n_entries: int) -> Iterator[slice]:
    """Return consecutive slices of the rows of a matrix, each of at most n_entries entries or one row.

    Examples
    --------
    >>> list(row_blocks(5, 10, 29))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return _slices(n_rows, max(1, n_entries // max(1, n_columns)))


def _dense_design(X: NDArray, n_threads: int) -> Design:
    mapped = _map_of(X)
    if mapped is not None:
        _read_in_large_pieces(mapped)
    X = np.asarray(X)
    if _is_plain(X):
        return DenseDesign(X, n_threads)
    if X.dtype == np.float32 or mapped is not None:
        return TiledDesign(X, n_threads)
    return DenseDesign(np.ascontiguousarray(X, dtype=np.float64), n_threads)


def _map_of(X: Any) -> mmap.mmap | None:
    """Return the map of a file in which X lies, as a memory map or a view of one, or None."""
    while X is not None and not isinstance(X, mmap.mmap):
        X = getattr(X, "base", None)
    return X


def _read_in_large_pieces(mapped: mmap.mmap) -> None:
    """Let the system read megabytes per page fault: many systems read 128 KB and wait each time.

    Linux does so for maps that request huge pages, on any file system; elsewhere this has no effect.
    """
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            mapped.madvise(mmap.MADV_HUGEPAGE)


def _as_csr(X: Any) -> Any:
    X = X.tocsr()
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _check_indices(X: Any) -> None:
    """Refuse indices outside the arrays, which native code would follow."""
    indices = X.indices[: X.nnz]
    in_range = indices.size == 0 or (indices.min() >= 0 and indices.max() < X.shape[1])
    if not in_range or np.any(X.indptr[1:] < X.indptr[:-1]):
        raise ValueError("X is not a valid CSR matrix: an index is out of range or indptr decreases.")


def _checked(values: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Refuse a factor that does not fit: native code would read past its end."""
    array = np.asarray(values)
    if array.ndim != len(shape) or array.shape[0] != shape[0]:
        expected = f"({shape[0]},)" if len(shape) == 1 else f"({shape[0]}, any number)"
        raise ValueError(f"A factor of a product with X must have the shape {expected}; got {array.shape}.")
    return array


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


def _is_plain(X: NDArray) -> bool:
    """Return whether native code can read an array as it is."""
    contiguous = X.flags.c_contiguous or X.flags.f_contiguous
    return X.dtype in (np.float32, np.float64) and X.flags.aligned and contiguous


def _largest(lowest: NDArray, highest: NDArray, n_rows: int) -> NDArray[np.float64]:
    return np.maximum(np.abs(lowest), np.abs(highest)) if n_rows else np.zeros(len(lowest))


def _centre_of(lowest: NDArray[np.float64], highest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the middle of each column that lies far from zero for its range, and zero for the others.

    A constant column is measured by the widest of the others: a column of ones is left as it is.
    """
    middle, reach = lowest / 2 + highest / 2, highest / 2 - lowest / 2
    reach = np.where(reach > 0, reach, reach.max(initial=0.0))
    return np.where(np.abs(middle) > _FAR * reach, middle, 0.0)
