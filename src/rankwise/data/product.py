"""Rows whose features are sums of few entries of tables: a product of two sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.data.design import Design, SparseDesign

__all__ = ["ProductDesign"]


class ProductDesign(Design):
    """The matrix S T, known by its factors: entries S that each row meets, and T from weights to entries.

    The rows of S hold nonnegative weights that sum to at most 1 within each table. The product may
    be far less sparse than S: differences of 128 bins are many numbers for each feature, of which S has one.

    Cost of a product: O(nnz of S + nnz of T).

    Parameters
    ----------
    entries : CSR matrix of shape (n_rows, n_entries)
    coding : CSR matrix of shape (n_entries, n_weights)

    Attributes
    ----------
    nonnegative : array of bool of shape (n_weights,), or None
        Which weights may not be negative; a solver has to see to it.
    """

    nonnegative: NDArray[np.bool_] | None = None

    def __init__(self, entries: Any, coding: Any, n_threads: int = 1) -> None:
        super().__init__((entries.shape[0], coding.shape[1]))
        self.entries, self.coding, self.n_threads = entries, coding, n_threads
        self._entries = SparseDesign(entries, n_threads)
        self._adjoint = coding.T.tocsr()

    @property
    def stored(self) -> int:
        """The number of entries that a product reads."""
        return int(self.entries.nnz + self.coding.nnz)

    def take(self, rows: NDArray[np.int64]) -> Design:
        """Return the design of some of the rows, copied."""
        taken = ProductDesign(self.entries[rows], self.coding, self.n_threads)
        taken.nonnegative = self.nonnegative
        return taken

    def tocsr(self) -> sp.csr_array:
        """Return the product itself."""
        return sp.csr_array(self.entries @ self.coding)

    def weighted_squares(self, c: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over rows of c_i x_ij^2 for each column j, if each row meets one entry of a table.

        If it meets two, it is the sum of the mean squares, which is not smaller.
        """
        return self._adjoint.multiply(self._adjoint) @ self._entries.rmatvec(c)

    def column_scale(self) -> NDArray[np.float64]:
        """Return a bound of the absolute values of each column: the largest entry that a row could meet."""
        largest = abs(self._adjoint).max(axis=1)
        return np.asarray(largest.toarray(), dtype=np.float64).ravel()

    def _matvec(self, w: NDArray) -> NDArray[np.float64]:
        return self._entries.matvec(self.coding @ np.ravel(w))

    def _rmatvec(self, c: NDArray) -> NDArray[np.float64]:
        return self._adjoint @ self._entries.rmatvec(np.ravel(c))
