"""The factor of a kernel matrix, which may be singular, and what such a matrix must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.linalg.lapack import dpstrf

from rankwise.core.types import FloatArray
from rankwise.data.design import row_blocks
from rankwise.functions.kernel_values import Kernel, blocks_of_values

__all__ = ["check_finite", "check_symmetric", "pivoted_factor"]

# Entries of a kernel matrix that are compared with those of its factor at a time.
_LEFT_ENTRIES = 1 << 16


def pivoted_factor(
    K: NDArray[np.float64], precision: float, kernel: Kernel, independent: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Factor ``K = R R'``, destroying K; return R of shape (b, r) and the rows in which it is triangular.

    Rows whose distance from the span of the others is at most the fraction `independent` of the largest, or
    rounding does, have no column of their own.
    """
    check_finite(K, kernel)
    diagonal = K.diagonal().copy()
    rounding = len(K) * precision
    # K is symmetric: whichever of K and K' is in Fortran order can be overwritten without a copy. The factor
    # goes into the upper triangle, so that the lower one still holds K.
    least = max(rounding, independent) * max(diagonal.max(), 0.0)
    factor, order, rank, _ = dpstrf(K if K.flags.f_contiguous else K.T, tol=least, lower=0, overwrite_a=1)
    order = order.astype(np.int64) - 1
    R = np.zeros((len(K), max(rank, 1)))
    for k, row in enumerate(order):
        R[row, : min(k + 1, rank)] = factor[: min(k + 1, rank), k]
    _check_semidefinite(factor, diagonal, R, order[rank:], max(np.sqrt(precision), rounding), kernel)
    return R, order[: R.shape[1]]


def _check_semidefinite(
    lower: FloatArray,
    diagonal: FloatArray,
    R: FloatArray,
    rest: NDArray[np.int64],
    limit: float,
    kernel: Kernel,
) -> None:
    """Refuse a kernel matrix, given by its lower triangle and diagonal, whose factor has a large residual."""
    if _left_over(lower, diagonal, R, np.sort(rest)) <= limit * np.abs(diagonal).max():
        return
    eigenvalues = eigvalsh(np.tril(lower, -1) + np.diag(diagonal), check_finite=False)
    smallest, scale = eigenvalues[0], np.abs(eigenvalues).max()
    if smallest < -limit * scale:
        raise ValueError(
            f"The kernel is not positive semidefinite: with {kernel=} the smallest eigenvalue of the matrix "
            f"of {len(eigenvalues)} basis rows is {smallest / scale:.3g} times the largest in absolute value."
        )


def _left_over(lower: FloatArray, diagonal: FloatArray, R: FloatArray, rest: NDArray[np.int64]) -> float:
    """Return the largest absolute entry of K - R R' among the rows `rest`, which rise."""
    largest = np.abs(diagonal[rest] - (R[rest] ** 2).sum(axis=1)).max(initial=0.0)
    for part in row_blocks(len(rest), len(rest), _LEFT_ENTRIES):
        rows, columns = rest[part], rest[: part.stop]
        left = lower[np.ix_(rows, columns)] - R[rows] @ R[columns].T
        largest = max(largest, np.abs(np.tril(left, part.start - 1)).max(initial=0.0))
    return float(largest)


def check_finite(K: NDArray[np.float64], kernel: Kernel) -> None:
    """Refuse a kernel matrix with NaN or infinity."""
    if not np.isfinite([K.min(), K.max()]).all():
        raise ValueError(f"The values of {kernel=} on the basis rows contain NaN or infinity.")


def check_symmetric(K: NDArray[np.float64], tolerance: float) -> None:
    """Refuse a matrix that differs from its transpose by more than a fraction of its largest entry."""
    scale = max(abs(K.min()), abs(K.max()))
    gap = max(np.abs(K[rows] - K[:, rows].T).max() for rows in blocks_of_values(len(K), len(K)))
    if gap > tolerance * scale:
        raise ValueError(
            f"X must be symmetric when kernel='precomputed'; X and its transpose differ by {gap:.3g}."
        )
