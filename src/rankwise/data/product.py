"""Rows whose features are sums of few entries of tables: a product of two sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design, SparseDesign

__all__ = ["ProductDesign"]

Factors = tuple[FloatArray, FloatArray]


class ProductDesign(Design):
    """The matrix S T, known by its factors: entries S that each row meets, and T from weights to entries.

    T is block diagonal: a sparse matrix for the curves, and a Kronecker product for each table of a pair.

    The rows of S hold nonnegative weights that sum to at most 1 within each table. The product may
    be far less sparse than S: differences of 128 bins are many numbers for each feature, of which S has one.

    Cost of a product: O(nnz of S + nnz of the sparse part), and O(b^3) for a table of b x b entries.

    Parameters
    ----------
    entries : CSR matrix of shape (n_rows, n_entries)
    coding : CSR matrix
        From the first weights to the first entries.
    tables : sequence of (A, B)
        The factors of the Kronecker products: a table is A W B' for a matrix W of weights.

    Attributes
    ----------
    nonnegative : array of bool of shape (n_weights,), or None
        Which weights may not be negative; a solver has to see to it.
    """

    nonnegative: NDArray[np.bool_] | None = None

    def __init__(self, entries: Any, coding: Any, n_threads: int = 1, tables: Sequence[Factors] = ()) -> None:
        n_weights = coding.shape[1] + sum(A.shape[1] * B.shape[1] for A, B in tables)
        super().__init__((entries.shape[0], n_weights))
        self.entries, self.coding, self.n_threads, self.tables = entries, coding, n_threads, tables
        self._entries = SparseDesign(entries, n_threads)
        self._adjoint = coding.T.tocsr()

    @property
    def stored(self) -> int:
        """The number of entries that a product reads."""
        return int(self.entries.nnz + self.coding.nnz + sum(A.size + B.size for A, B in self.tables))

    def take(self, rows: NDArray[np.int64]) -> Design:
        """Return the design of some of the rows, copied."""
        taken = ProductDesign(self.entries[rows], self.coding, self.n_threads, self.tables)
        taken.nonnegative = self.nonnegative
        return taken

    def tocsr(self) -> sp.csr_array:
        """Return the product itself."""
        blocks = [sp.coo_array(self.coding), *(sp.kron(A, B, format="coo") for A, B in self.tables)]
        return sp.csr_array(self.entries @ sp.csr_array(sp.block_diag(blocks, format="csr")))

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over rows of c_i x_ij^2 for each column j, if each row meets one entry of a table.

        If it meets two, it is the sum of the mean squares, which is not smaller.
        """
        squares = self._adjoint.multiply(self._adjoint)
        return _reduced(squares, [(A * A, B * B) for A, B in self.tables], self._entries.rmatvec(c))

    def column_scale(self) -> NDArray[np.float64]:
        """Return a bound of the absolute values of each column: the largest entry that a row could meet."""
        largest = np.asarray(abs(self._adjoint).max(axis=1).toarray(), dtype=np.float64).ravel()
        tables = (np.outer(*(abs(factor).max(axis=0) for factor in factors)) for factors in self.tables)
        return np.concatenate([largest, *(table.ravel() for table in tables)])

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        first, *others = _split(np.ravel(w), self.coding.shape[1], self.tables, axis=1)
        values = [A @ W @ B.T for (A, B), W in zip(self.tables, others, strict=True)]
        return self._entries.matvec(_joined(self.coding @ first, values))

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        return _reduced(self._adjoint, self.tables, self._entries.rmatvec(np.ravel(c)))


def _reduced(adjoint: Any, tables: Sequence[Factors], entries: FloatVector) -> FloatVector:
    """Return the product of T' with a vector of entries."""
    first, *others = _split(entries, adjoint.shape[1], tables, axis=0)
    return _joined(adjoint @ first, [A.T @ E @ B for (A, B), E in zip(tables, others, strict=True)])


def _split(values: FloatVector, n_first: int, tables: Sequence[Factors], axis: int) -> Iterator[FloatArray]:
    """Yield the part of the curves, and a matrix for each table: of its entries (axis 0) or weights (1)."""
    yield values[:n_first]
    start = n_first
    for A, B in tables:
        shape = A.shape[axis], B.shape[axis]
        yield values[start : start + shape[0] * shape[1]].reshape(shape)
        start += shape[0] * shape[1]


def _joined(first: FloatVector, matrices: list[FloatArray]) -> FloatVector:
    return np.concatenate([first, *(matrix.ravel() for matrix in matrices)]) if matrices else first
