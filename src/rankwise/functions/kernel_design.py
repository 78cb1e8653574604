"""The rows in the function space of a kernel with few basis rows, as an operator.

The features are ``phi(x) = T^-T k(Z, x)`` with ``K_ZZ = T'T``, so that ``||w||`` is the norm of the function.
They are never formed: a product with Phi is one with the kernel values K and a solve with the triangle T.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dlauum

from rankwise.core.threads import in_order
from rankwise.core.types import FloatArray
from rankwise.data.design import DenseDesign, MemoryDesign, row_blocks

__all__ = ["FactorDesign", "KernelDesign", "centred_gram", "positive_factor"]

Rows = slice | NDArray[np.int64]
Result = TypeVar("Result")

# Kernel values of a block of rows, which one thread multiplies. The blocks do not depend on the number of
# threads, and so neither do the sums.
_BLOCK_ENTRIES = 1 << 19
# Rows of a block whose products with each other are summed in one call of BLAS.
_GRAM_ROWS = 2048
# Rows for each basis row from which the curvature of a loss is estimated.
_ROWS_PER_BASIS_ROW = 6
# Two normalized diagonals are alike if their total variation, at most 2, is below this.
_LIKE = 0.5
# If the ratio of the smallest to the largest pivot of K_ZZ is below this, products in single precision would
# lose the contribution of the smallest.
_WELL_CONDITIONED = 1e-5
# Products of kernel values of this size neither overflow nor vanish in single precision.
_SINGLE_RANGE = 1e-15, 1e15
# Random vectors by which a mean square is estimated.
_PROBES = 8
# A matrix that rounding has made indefinite gets a fraction of its mean diagonal added, and more until it is
# positive definite: these are the first fractions for sums of products in single and double precision.
_JITTER = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-12}


class FactorDesign(DenseDesign):
    """The factor Phi of a kernel matrix K = Phi Phi', which is exact up to the rounding of K.

    Parameters
    ----------
    factor : array of shape (m, r)
    triangle : array of shape (r, r)
        The rows of the factor that make an upper triangle T, transposed.
    largest : float
        The largest entry of K.
    value_error : float
        The error of an entry of K, relative to the largest.
    n_threads : int
    """

    def __init__(
        self,
        factor: FloatArray,
        triangle: FloatArray,
        largest: float,
        value_error: float,
        n_threads: int = 1,
    ) -> None:
        super().__init__(factor, n_threads)
        self._triangle, self._largest, self._value_error = triangle, largest, value_error
        self._size_of_sums = _SizeOfSums(triangle, largest)
        self._known_errors = {"magnitude": self.magnitude, "product_error": value_error * largest}

    def take(self, rows: NDArray[np.int64]) -> FactorDesign:
        """Return the design of some of the rows, copied."""
        known = self._triangle, self._largest, self._value_error
        return FactorDesign(self.X[rows], *known, self.n_threads)

    def magnitude(self, w: FloatArray) -> Any:
        """Return how large the sums on the way to a score become, of products with w or of kernel values."""
        return self.column_scale() @ np.abs(w) + self._size_of_sums(w)


class KernelDesign(MemoryDesign):
    """Phi = K T^-1 of shape (m, r), by products with K and solves with T.

    A product costs O(m r + r^2), and O(m r n) more if the kernel values are not kept. The results do not
    depend on the number of threads.

    Parameters
    ----------
    values : callable
        Returns the kernel values of some rows with the r basis rows, in float64.
    n_rows : int
    triangle : array of shape (r, r)
        The upper triangular T with T'T = K_ZZ, its pivots falling.
    largest : float
        The largest value of k(x, x).
    n_threads : int
    dtype : numpy type or None
        How the kernel values are kept; None computes them anew for each product.
    """

    def __init__(
        self,
        values: Callable[[Rows], FloatArray],
        n_rows: int,
        triangle: FloatArray,
        largest: float,
        n_threads: int = 1,
        dtype: Any = np.float64,
    ) -> None:
        super().__init__((n_rows, len(triangle)))
        self.n_threads = n_threads
        self._values, self._triangle, self._largest, self._dtype = values, triangle, largest, dtype
        self._size_of_sums = _SizeOfSums(triangle, largest)
        self._curvature: tuple[FloatArray, FloatArray] | None = None
        self._kept = None if dtype is None else self._computed(np.empty(self.shape, dtype))

    def _computed(self, kept: NDArray[Any]) -> NDArray[Any]:
        def compute(rows: slice) -> None:
            kept[rows] = self._values(rows)

        for _ in self._each_block(compute):
            pass
        return kept

    @property
    def stored(self) -> int:
        """The number of entries that a product reads."""
        return self.shape[0] * self.shape[1]

    @property
    def X(self) -> FloatArray:  # type: ignore[override]  # noqa: N802
        """The features as an array, which are computed at each call."""
        return self.dense()

    def kernel(self, rows: Rows = slice(None), dtype: Any = np.float64) -> NDArray[Any]:
        """Return the kernel values of rows with the basis rows."""
        values = self._values(rows) if self._kept is None else self._kept[rows]
        return values.astype(dtype, copy=False)

    def dense(self, rows: Rows = slice(None)) -> FloatArray:
        """Return the features of rows as an array."""
        return self._whitened(self.kernel(rows))

    def _whitened(self, K: FloatArray) -> FloatArray:
        return solve_triangular(self._triangle, K.T, trans=1, check_finite=False).T

    def take(self, rows: NDArray[np.int64]) -> KernelDesign:
        """Return the design of some of the rows; their kept values are copied."""
        part = KernelDesign(
            lambda some: self._values(rows[some]),
            len(rows),
            self._triangle,
            self._largest,
            self.n_threads,
            None,
        )
        part._dtype, part._kept = self._dtype, None if self._kept is None else self._kept[rows]
        return part

    def _matvec(self, w: NDArray) -> FloatArray:
        a = solve_triangular(self._triangle, w, check_finite=False)
        scores = np.empty((self.shape[0], *w.shape[1:]))

        def score(rows: slice) -> None:
            scores[rows] = self.kernel(rows) @ a

        for _ in self._each_block(score):
            pass
        return scores

    def _rmatvec(self, c: NDArray) -> FloatArray:
        total = np.zeros((self.shape[1], *c.shape[1:]))
        for part in self._each_block(lambda rows: self.kernel(rows).T @ c[rows]):
            total += part
        return solve_triangular(self._triangle, total, trans=1, check_finite=False)

    _matmat = _matvec
    _rmatmat = _rmatvec

    def _each_block(self, work: Callable[[slice], Result]) -> Iterator[Result]:
        return in_order(work, row_blocks(self.shape[0], self.shape[1], _BLOCK_ENTRIES), self.n_threads)

    def column_scale(self) -> FloatArray:
        """Return a bound on the absolute values of each column: |phi(x)|^2 is at most k(x, x)."""
        return np.full(self.shape[1], np.sqrt(self._largest))

    @cached_property
    def _known_errors(self) -> dict[str, Any]:  # type: ignore[override]
        row_norm = np.sqrt(self._largest)  # |phi(x)|^2 is at most k(x, x)
        return {"magnitude": self.magnitude, "row_norm": row_norm, "amplification": self._amplification()}

    def _amplification(self) -> float:
        """Estimate the root mean square of T^-T e over vectors e of signs, in the scale of the features."""
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(self.shape[1], _PROBES))
        solved = solve_triangular(self._triangle, signs, trans=1, check_finite=False)
        return max(1.0, np.sqrt(self._largest * (solved**2).sum() / _PROBES))

    def magnitude(self, w: FloatArray) -> Any:
        """Return how large the sums of terms a_z k(x, z) on the way to a score become."""
        return self._size_of_sums(w)

    def weighted_squares(self, c: FloatArray) -> FloatArray:
        """Return the sum over rows of c_i phi_ij^2 for each column j."""
        return sum(
            self._each_block(lambda rows: (self.dense(rows) ** 2).T @ c[rows]), np.zeros(self.shape[1])
        )

    def _means(self, root: Any) -> Any:
        """Return the means of queries and levels, from those of the kernel values."""
        of_query, of_level = zip(
            *self._each_block(lambda rows: root.means(self.kernel(rows), rows)), strict=True
        )
        return self._whitened(sum(of_query)), None if of_level[0] is None else self._whitened(sum(of_level))

    def preconditioner(
        self, loss: Any, diagonal: FloatArray, shift: float
    ) -> Callable[[FloatArray], FloatArray]:
        """Return the product with (Phi'L Phi + shift I)^-1 for an L near to that of a loss.

        L is what the diagonal and the means of queries leave: diag(d) less its mean, estimated on a sample of
        the rows. In terms of the kernel values the inverse is T (K'L K + shift K_ZZ)^-1 T', which a Cholesky
        factor solves: the preconditioner of Rudi, Carratino and Rosasco (Falkon, 2017).
        """
        T, total = self._triangle, float(diagonal.sum())
        curved = total * self._shape_of(loss, diagonal) if total > 0 else 0.0  # on the lines of a loss
        factor = positive_factor(curved + shift * self._square, _JITTER[self._gram_dtype])
        return lambda residual: T @ cho_solve(factor, T.T @ residual, check_finite=False)

    @cached_property
    def _square(self) -> FloatArray:
        # LAPACK multiplies U U' for an upper triangle U, in a sixth of the time of a product of matrices:
        # T' is one when both its rows and its columns are reversed.
        reversed_triangle = np.array(self._triangle.T[::-1, ::-1], order="F")  # a copy, whatever its size
        upper = dlauum(reversed_triangle, overwrite_c=1)[0]
        square = np.triu(upper)[::-1, ::-1]
        return square + np.tril(square, -1).T

    def _shape_of(self, loss: Any, diagonal: FloatArray) -> FloatArray:
        """Return K'L K for an L whose diagonal adds up to 1: that of the loss, or an earlier one like it."""
        shares = diagonal / diagonal.sum()
        if self._curvature is None or np.abs(shares - self._curvature[0]).sum() > _LIKE:
            step = max(1, self.shape[0] // (_ROWS_PER_BASIS_ROW * self.shape[1]))
            rows = np.flatnonzero(diagonal > 0)[::step]
            group = loss.preferences.groups()[rows]
            self._curvature = shares, self._centred_gram(rows, group, diagonal[rows])
        return self._curvature[1]

    def _centred_gram(
        self, rows: NDArray[np.int64], group: NDArray[np.int64], weight: FloatArray
    ) -> FloatArray:
        return centred_gram(
            lambda part: self.kernel(rows[part], self._gram_dtype), group, weight, self.n_threads
        )

    @cached_property
    def _gram_dtype(self) -> np.dtype[Any]:
        """The precision in which products of kernel values are summed for a preconditioner."""
        pivots = self._triangle.diagonal() ** 2
        well_conditioned = pivots.min() >= _WELL_CONDITIONED * pivots.max()
        in_range = _SINGLE_RANGE[0] <= self._largest <= _SINGLE_RANGE[1]
        return np.dtype(np.float32 if well_conditioned and in_range else np.float64)


class _SizeOfSums:
    """How large sums of terms a_z k(x, z) become, for the coefficients a = T^-1 w of weights w.

    The coefficients change sign so often that sums of some of the terms are like those of a random walk.
    Certificates ask several times about one point, so the last one is kept.
    """

    def __init__(self, triangle: FloatArray, largest: float) -> None:
        self._triangle, self._root = triangle, np.sqrt(largest)
        self._last: tuple[FloatArray, Any] | None = None

    def __call__(self, w: FloatArray) -> Any:
        last = self._last
        if last is None or not np.array_equal(last[0], w):
            # In units of the weights, as the squares of coefficients might overflow.
            a = self._root * solve_triangular(self._triangle, w, check_finite=False)
            self._last = last = w.copy(), self._root * np.sqrt((a * a).sum(axis=0))
        return last[1]


def centred_gram(
    values: Callable[[slice], NDArray[Any]], group: NDArray[np.int64], weight: FloatArray, n_threads: int = 1
) -> FloatArray:
    """Return the weighted mean over rows of (k - mean) (k - mean)', with the weighted means of groups.

    The products of a block of rows are summed in the precision of its values, and blocks in float64.
    """
    code = np.unique(group, return_inverse=True)[1]
    total = np.bincount(code, weight)[code]  # zero for a query without pairs
    share = np.divide(weight, total, where=total > 0, out=np.zeros(len(code)))
    of_row = sp.csr_array((share, (code, np.arange(len(code)))))
    root = np.sqrt(weight / weight.sum())
    parts = list(row_blocks(len(code), 1, _GRAM_ROWS))

    def mean(part: slice) -> Any:
        K = values(part)
        return of_row[:, part].astype(K.dtype) @ K

    means = sum(in_order(mean, parts, n_threads))

    def product(part: slice) -> NDArray[Any]:
        K = values(part) - means[code[part]]
        K *= root[part, None].astype(K.dtype)
        return K.T @ K

    return sum(in_order(product, parts, n_threads), np.zeros((means.shape[1],) * 2))


def positive_factor(A: NDArray[Any], share: float) -> tuple[NDArray[Any], bool]:
    """Return the Cholesky factor of a matrix, with its diagonal raised as much as rounding requires.

    At least the fraction `share` of the mean diagonal is added.
    """
    added = share * A.trace() / len(A)
    while True:
        B = A.copy(order="F")
        B[np.diag_indices_from(B)] += added
        try:
            return cho_factor(B, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            added *= 10
