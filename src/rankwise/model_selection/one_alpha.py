"""Leaving queries or pairs out for one alpha: a Cholesky factor of the kernel matrix in place of a spectrum.

With R of L = R'R and z of R'z = r, RankRLS is ridge regression of z on the rows of R Phi. With
B = (R K R' + lambda I)^-1, b = B z and the rows V of a fold, the residuals of the model without them are

    z_V - (R f)_V = B_VV^-1 b_V,

and the common offset of the scores of a query, which cancels in each pair, follows from the mean of its rows
of K.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dpotri, dtrtri

from rankwise.core.types import FloatArray, IntArray
from rankwise.functions.kernel_parameters import (
    KernelModel,
    Scales,
    is_linear,
    is_precomputed,
    kernel_map_of,
    uses_kernel_matrix,
)
from rankwise.losses.roots import LevelRoot
from rankwise.model_selection.pair_blocks import Block

# An eigendecomposition takes as long as this many factorizations with inverses.
FACTORS = 6


def kernel_matrix(model: KernelModel, X: Any, scales: Scales | None = None) -> FloatArray | None:
    """Return the kernel matrix if a fit would factor it, and None otherwise."""
    n_rows, n_features = X.shape
    if is_linear(model) and n_features <= n_rows:
        return None
    if not (is_linear(model) or uses_kernel_matrix(model, n_rows)):
        return None
    if is_precomputed(model) and X.dtype == np.float32:
        return None  # directions below its rounding errors have to be dropped
    kernel_map = kernel_map_of(model, scales)
    if is_linear(model):
        kernel_map.n_components = None
    return kernel_map.fit_kernel(X)


def cholesky(matrix: FloatArray, shift: float) -> FloatArray:
    """Return the lower factor of a symmetric matrix + shift I, which is overwritten if possible."""
    matrix = matrix if matrix.flags.f_contiguous else matrix.T
    matrix[np.diag_indices_from(matrix)] += shift
    factor, failed = dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise LinAlgError("The penalty is below the rounding errors of the kernel matrix.")
    return factor


def shifted_inverse(matrix: FloatArray, shift: float) -> FloatArray:
    """Return (matrix + shift I)^-1 of a symmetric matrix, which is overwritten if possible."""
    inverse, failed = dpotri(cholesky(matrix, shift), lower=1, overwrite_c=1)
    if failed:
        raise LinAlgError("The penalty is below the rounding errors of the kernel matrix.")
    inverse = np.tril(inverse)
    inverse += np.tril(inverse, -1).T
    return inverse


class QuerySystem:
    """R K R' for rankings within queries, ready to be factored for a lambda.

    O(m^2) to set up; O(m^3) per lambda, about two fits, and O(m b^2 + b^3) per fold of b rows.
    """

    def __init__(self, K: FloatArray, root: LevelRoot, groups: IntArray):
        self.root, self.groups = root, groups
        of_query = root.means(K)[0]  # a row for each query
        self.means = np.asfortranarray(root.apply(np.ascontiguousarray(of_query.T)))
        self.matrix = root.congruence(K)

    @staticmethod
    def suits(root: Any) -> bool:
        """Return whether R determines a query's scores up to a common offset."""
        return isinstance(root, LevelRoot) and root.sees_all_rows

    def scores(self, folds: list[list[Block]], penalty: float) -> FloatArray:
        """Return the scores of the rows of the folds by the models without them, shape (m, v), NaN elsewhere.

        The dual solution without V is b - B_:V c with c = B_VV^-1 b_V, zero on V.
        """
        factor = cholesky(self.matrix.copy(order="F"), penalty)
        inverse, _ = dtrtri(factor, lower=1, overwrite_c=1)
        target = self.root.target.reshape(len(inverse), -1)
        b = inverse.T @ (inverse @ target)
        shared = dtrmm(1.0, inverse, self.means, lower=1)
        residual, mean = np.full(b.shape, np.nan), np.full((self.means.shape[1], b.shape[1]), np.nan)
        for fold in folds:
            rows = np.concatenate([block.rows for block in fold])
            queries = np.array([self.groups[block.rows[0]] for block in fold])
            columns = inverse[:, rows]
            c = np.linalg.solve(columns.T @ columns, b[rows])
            residual[rows] = c
            mean[queries] = self.means[:, queries].T @ b - (shared[:, queries].T @ columns) @ c
        return mean[self.groups] + self.root.lifted(target - residual)


class KernelSmoother:
    """The smoother P = I - mu (K_c + mu I)^-1 of the centered kernel matrix, O(m^3) for its one mu.

    K_c maps a common offset of all rows to zero. There the inverse would be 1 / mu, which would cancel digits
    of small entries. So a multiple of 1 1'/m is added first, and its contribution to the inverse is
    subtracted.
    """

    def __init__(self, K: FloatArray, penalty: float):
        m, mean = len(K), K.mean(axis=0)
        spread = max(float(K.diagonal().mean() - mean.mean()), penalty)
        centred = K - mean
        centred -= mean[:, None] - mean.mean() - spread / m
        inverse = shifted_inverse(centred, penalty)
        inverse -= 1.0 / (m * (spread + penalty))
        self.offset = inverse @ (mean - mean.mean())
        self.matrix = inverse
        self.matrix *= -penalty
        self.matrix -= 1.0 / m
        self.matrix[np.diag_indices_from(self.matrix)] += 1.0


class ClassSystem:
    """G L and J = L - L G L for G = Phi (Phi'L Phi + alpha I)^-1 Phi', L = R'R: O(m^3) for its one alpha.

    With B = (R K R' + alpha I)^-1 it is J = alpha R'B R, and R G L = (I - alpha B) R gives G L up to a
    common offset of its columns, which follows from the mean of the rows of K.
    """

    def __init__(self, K: FloatArray, root: LevelRoot, alpha: float):
        mean = root.means(K)[0][0]
        B = shifted_inverse(root.congruence(K), alpha)
        BR = root.adjoint(B).T  # B is symmetric
        self.J = alpha * root.adjoint(BR)
        self.GL = root.lifted(root.apply(np.eye(len(K))) - alpha * BR)
        self.GL += root.apply(mean) @ BR
