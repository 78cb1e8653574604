"""Scores of every pair of rows by the model fitted without them, in O(1) per pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise import _native
from rankwise.core.memory import require_memory
from rankwise.core.types import FloatArray
from rankwise.losses.roots import LevelRoot
from rankwise.model_selection.one_alpha import ClassSystem, KernelSmoother
from rankwise.model_selection.pair_blocks import centred

# Differences of scores below this fraction of their spread are rounding errors of equal scores.
TIE = 1e-11
# The relative rounding error of the terms of such a difference.
ROUNDING = 1e-15
_BLOCK_BYTES = 1_000_000
# The time per pair, alpha and output on a current core.
SECONDS_PER_PAIR = 1e-8
# The numbers of rows and partners of a tile whose arrays fit into a cache.
_TILE = 256, 512

Advance = Callable[[float], Any]


def ignore_progress(amount: float) -> None:
    """Ignore progress."""


def _check_pair_matrices(n_rows: int, n_matrices: int) -> None:
    what = f"The held-out scores of all pairs of {n_rows} rows, in matrices of {n_rows} x {n_rows},"
    require_memory(8 * n_matrices * n_rows**2, what, "error and auc need no such matrix")


class AllPairs:
    """Leave-pair-out if all pairs of rows count, including ties: (36) to (39) of the paper.

    Without rows i and j the cost, divided by m - 2, is that of least squares with a free intercept and the
    penalty mu ||f||^2, mu = alpha (m - 2) / 2. Let P = Z (S + mu)^-1 Z' be the smoother of the centered rows
    Phi_c = Z V' with Phi_c'Phi_c = V S V', and H = P + 1 1'/m that with the intercept. Then the predictions
    p_U for U = {i, j} of the model without U satisfy

        (I - H_UU) p_U = (H y)_U - H_UU y_U,

    two equations per pair. O(m r^2 + r^3) once for rank r, then O(m^2 (r + v)) per alpha.

    Parameters
    ----------
    Phi : array of shape (m, r)
    Y : array of shape (m, v)
        Labels for each output.
    factor : float
        Multiplies alpha.
    """

    def __init__(self, Phi: FloatArray, Y: FloatArray, factor: float = 1.0):
        self.Y, self.factor = centred(Y), factor
        self.centre = Phi.mean(axis=0)
        rows = Phi - self.centre
        curvature, basis = np.linalg.eigh(rows.T @ rows)
        self.curvature = np.maximum(curvature, 0.0)
        self.Z = rows @ basis
        self.centre = basis.T @ self.centre
        self.n_rows = len(Y)

    def work(self, alphas: FloatArray) -> float:
        """Return the number of pairs per alpha and output, the unit of the progress of `errors`."""
        return float(self.n_rows) ** 2 / 2 * self.Y.shape[1] * len(alphas)

    def errors(self, alphas: FloatArray, advance: Advance = ignore_progress) -> FloatArray:
        """Count pairs in the wrong order, in tiles that stay in the cache."""
        order = np.argsort(self.Y[:, 0], kind="stable")  # two classes: only rows of the other class remain
        Y = self.Y[order]
        smoothers = [self._smoother(alpha, order) for alpha in alphas]
        wrong = np.zeros((len(alphas), Y.shape[1]))
        for rows, before in _tiles(Y):
            for k, smoother in enumerate(smoothers):
                wrong[k] += smoother.wrong(rows, before, advance)
        return wrong / [_pairs_apart(column) for column in Y.T]

    def predictions(self, alpha: float) -> FloatArray:
        """Solve the two equations for all pairs and subtract the intercept; tied pairs are NaN."""
        _check_pair_matrices(self.n_rows, 6 * self.Y.shape[1] + 4)
        m, Y = self.n_rows, self.Y
        P, offset = self._matrix_and_offset(alpha)
        fitted = P @ Y
        H = P + 1.0 / m
        d = 1.0 - np.diag(H)
        # [i, j] is about row i and [j, i] about row j of the same pair.
        rest = fitted[:, None] - np.diag(H)[:, None, None] * Y[:, None] - H[:, :, None] * Y[None]
        with np.errstate(invalid="ignore", divide="ignore"):
            determinant = np.outer(d, d) - H**2
            p = (d[None, :, None] * rest + H[:, :, None] * rest.swapaxes(0, 1)) / determinant[:, :, None]
        moved = p - Y[:, None]  # the change of the label that would make its residual zero
        shift = (offset - 1.0 / m)[:, None, None] * moved
        scores = p + shift + shift.swapaxes(0, 1) + offset @ Y
        scores[Y[:, None] == Y[None]] = np.nan  # tied pairs are not left out
        return scores

    def _penalty(self, alpha: float) -> float:
        return self.factor * alpha * (self.n_rows - 2) / 2

    def _weights(self, alpha: float) -> FloatArray:
        return 1.0 / (self.curvature + self._penalty(alpha))

    def _smoother(self, alpha: float, order: NDArray[np.int64]) -> _Smoother:
        """Return P of the rows in the given order, computed tile by tile."""
        Z, Y, weights = self.Z[order], self.Y[order], self._weights(alpha)
        fitted = Z @ (weights[:, None] * (Z.T @ Y))
        return _Smoother(Y, Z**2 @ weights, fitted, lambda rows, before: (Z[rows] * weights) @ Z[before].T)

    def _matrix_and_offset(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return P and Z (S + mu)^-1 times the mean of the rows."""
        weights = self._weights(alpha)
        return (self.Z * weights) @ self.Z.T, self.Z @ (weights * self.centre)


class KernelPairs(AllPairs):
    """`AllPairs` for a kernel matrix and one alpha: by an inverse, at the cost of about three fits."""

    def __init__(self, K: FloatArray, Y: FloatArray, alpha: float, factor: float = 1.0):
        self.Y, self.factor, self.n_rows = centred(Y), factor, len(Y)
        self.kernel = KernelSmoother(K, self._penalty(alpha))

    def _smoother(self, alpha: float, order: NDArray[np.int64]) -> _Smoother:
        """Return P of the rows in an order."""
        P = self.kernel.matrix
        fitted, diagonal = (P @ self.Y)[order], P.diagonal()[order]
        return _Smoother(
            self.Y[order], diagonal, fitted, lambda rows, before: P[np.ix_(order[rows], order[before])]
        )

    def _matrix_and_offset(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return P and the contribution of the mean of the rows."""
        return self.kernel.matrix, self.kernel.offset


class _Smoother:
    """P for one alpha, given tile by tile, with the quantities that every pair needs."""

    def __init__(
        self,
        Y: FloatArray,
        diagonal: FloatArray,
        fitted: FloatArray,
        tile: Callable[[slice, slice], FloatArray],
    ):
        self.diagonal, self.tile = diagonal, tile
        self.labels = np.ascontiguousarray(Y.T)
        self.own = np.ascontiguousarray((fitted - diagonal[:, None] * Y).T)
        self.left = 1.0 - 2.0 / len(Y) - diagonal
        self.spread = np.abs(fitted).max(axis=0)

    def wrong(self, rows: slice, before: slice, advance: Advance) -> FloatArray:
        """Count the pairs of the two sets of rows whose scores differ in the wrong direction.

        p_i - p_j is, up to the positive determinant, u_i a_j - u_j a_i - (y_i + y_j)(P_ii - P_jj) / m with
        u_i = f_i - P_ii y_i - P_ij y_j and a_i = 1 - 2/m - P_ii - P_ij.
        """
        P = np.ascontiguousarray(self.tile(rows, before))
        wrong = np.empty(len(self.labels))
        for k, columns in enumerate(zip(self.labels, self.own, self.spread, strict=True)):
            labels, own, spread = columns
            known = labels, self.diagonal, self.left, own
            limits = TIE * spread, ROUNDING * spread
            wrong[k] = _native.twice_wrong_smoothed(P, rows.start, before.start, *known, *limits) / 2
            advance(P.size)
        return wrong


class TwoClasses:
    """Leave-pair-out for pairs of a positive and a negative row, if only such pairs count in training.

    With p - 1 positive and q - 1 negative rows left, the mean over their pairs is the variance of the errors
    y - f in each class plus the squared difference of the classes' means. It is also the
    stationary value of a weighted sum of squares, with weights D = 1 / (p - 1) and 1 / (q - 1) and an
    intercept per class. Changing the label of a row to its prediction by the others removes the row from such
    a sum. Over all rows the form is

        y'L y = sum of D (y - mean of the class)^2 + c (difference of the means)^2,   c = 1 / (1 - 1/p - 1/q),

    and with G = Phi (Phi'L Phi + alpha I)^-1 Phi', J = L - L G L and U = {i, j} the labels move by e_U and
    the scores are f_U:

        J_UU e_U = (J y)_U,   f_U = (G L y)_U - (G L)_UU e_U.

    O(m r^2 + r^3) once for rank r, then O(p q r) per alpha. With two rows in each class, c is undefined.

    Parameters
    ----------
    Phi : array of shape (m, r)
    y : array of shape (m,)
        Labels of two values.
    factor : float
        Multiplies alpha: the square of the difference of the labels for the relative cost (22).
    """

    def __init__(self, Phi: FloatArray, y: FloatArray, factor: float = 1.0):
        self.factor = factor
        self.y = y - y.mean()
        self.positive, self.negative = np.flatnonzero(self.y > 0), np.flatnonzero(self.y < 0)
        self.classes = np.column_stack([self.y > 0, self.y < 0]).astype(np.float64)
        self.sizes = self.classes.sum(axis=0)
        self.D = self.classes @ (1.0 / (self.sizes - 1.0))
        self.contrast = self.classes @ (np.array([1.0, -1.0]) / self.sizes)
        self.c = 1.0 / (1.0 - np.sum(1.0 / self.sizes))
        self.Phi = Phi

    def work(self, alphas: FloatArray) -> float:
        """Return the number of pairs per alpha, the unit of the progress of `errors`."""
        return float(len(self.positive)) * len(self.negative) * len(alphas)

    def errors(self, alphas: FloatArray, advance: Advance = ignore_progress) -> FloatArray:
        """Count positive rows below negative ones; a common offset of the rows cancels in differences."""
        decomposed = self._decomposed(centred(self.Phi))
        wrong = np.zeros((len(alphas), 1))
        step = max(1, _BLOCK_BYTES // len(self.negative))
        for k, alpha in enumerate(alphas):
            rows = self._rows(decomposed, alpha)
            negative, smallest = rows.take(self.negative, axis=1), TIE * 2.0 * np.abs(rows[0]).max()
            for begin in range(0, len(self.positive), step):
                some = self.positive[begin : begin + step]
                J, above, below = map(np.ascontiguousarray, self._tile(decomposed, alpha, some))
                positive = rows.take(some, axis=1)
                twice = _native.twice_wrong_classes(J, above, below, positive, negative, smallest)
                wrong[k] += twice / 2
                advance(J.size)
        return wrong / (len(self.positive) * len(self.negative))

    def predictions(self, alpha: float) -> FloatArray:
        """Score the pairs of a positive and a negative row; the others, which are not left out, are NaN."""
        _check_pair_matrices(len(self.y), 8)
        scores = np.full((len(self.y), len(self.y), 1), np.nan)
        above, below = self._scores(self._decomposed(self.Phi), alpha)
        scores[np.ix_(self.positive, self.negative)] = above[..., None]
        scores[np.ix_(self.negative, self.positive)] = below.T[..., None]
        return scores

    def _scores(self, decomposed: tuple[Any, Any, Any], alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the scores of both rows for each pair of a positive and a negative row, shape (p, q)."""
        rows = self._rows(decomposed, alpha)
        J, above, below = self._tile(decomposed, alpha, self.positive)
        f_i, own_i, J_ii, right_i = rows[:, self.positive, None]
        f_j, own_j, J_jj, right_j = rows[:, None, self.negative]
        determinant = J_ii * J_jj - J**2
        moved_i = (right_i * J_jj - J * right_j) / determinant
        moved_j = (J_ii * right_j - J * right_i) / determinant
        return f_i - own_i * moved_i - above * moved_j, f_j - own_j * moved_j - below * moved_i

    def _times(self, A: FloatArray) -> FloatArray:
        """Return L A."""
        means = (self.classes.T @ A) / self.sizes[:, None]
        return self.D[:, None] * (A - self.classes @ means) + self.c * np.outer(
            self.contrast, self.contrast @ A
        )

    def _decomposed(self, Phi: FloatArray) -> tuple[Any, Any, Any]:
        """Return Z = Phi V, L Z and S of Phi'L Phi = V S V'."""
        gram = Phi.T @ self._times(Phi)
        curvature, basis = np.linalg.eigh((gram + gram.T) / 2)
        Z = Phi @ basis
        return Z, self._times(Z), np.maximum(curvature, 0.0)

    def _rows(self, decomposed: tuple[Any, Any, Any], alpha: float) -> FloatArray:
        """Return the scores G L y of the model of all rows, (G L)_ii, J_ii and (J y)_i: shape (4, m)."""
        Z, LZ, curvature = decomposed
        weights = 1.0 / (curvature + alpha * self.factor)
        moved = weights * (LZ.T @ self.y)
        size = self.classes @ self.sizes
        diagonal = self.D * (1.0 - 1.0 / size) + self.c / size**2 - LZ**2 @ weights
        right = self._times(self.y[:, None])[:, 0] - LZ @ moved
        return np.stack([Z @ moved, np.sum(Z * weights * LZ, axis=1), diagonal, right])

    def _tile(
        self, decomposed: tuple[Any, Any, Any], alpha: float, i: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return J_ij, (G L)_ij and (G L)_ji of rows i and all negative rows, shape (i, q)."""
        Z, LZ, curvature = decomposed
        weights, j = 1.0 / (curvature + alpha * self.factor), self.negative
        LZ_i, LZ_j = LZ[i] * weights, LZ[j].T
        return -self.c / np.prod(self.sizes) - LZ_i @ LZ_j, (Z[i] * weights) @ LZ_j, LZ_i @ Z[j].T


class KernelClasses(TwoClasses):
    """`TwoClasses` for a kernel matrix and one alpha: by an inverse, at the cost of about four fits."""

    def __init__(self, K: FloatArray, y: FloatArray, alpha: float, factor: float = 1.0):
        super().__init__(np.empty((len(y), 0)), y, factor)
        n_rows, one = len(y), np.zeros(len(y), dtype=np.int64)
        between = np.full(n_rows, self.c * n_rows / np.prod(self.sizes))
        root = LevelRoot(np.ones(n_rows), one, (self.y > 0).astype(np.int64), self.D, between)
        self.system = ClassSystem(K, root, alpha * factor)

    def _decomposed(self, Phi: FloatArray) -> tuple[Any, Any, Any]:
        """Do nothing: the system is already solved."""
        return None, None, None

    def _rows(self, decomposed: tuple[Any, Any, Any], alpha: float) -> FloatArray:
        """Return the scores G L y of the model of all rows, (G L)_ii, J_ii and (J y)_i: shape (4, m)."""
        J, GL = self.system.J, self.system.GL
        return np.stack([GL @ self.y, GL.diagonal(), J.diagonal(), J @ self.y])

    def _tile(
        self, decomposed: tuple[Any, Any, Any], alpha: float, i: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return J_ij, (G L)_ij and (G L)_ji of rows i and all negative rows, shape (i, q)."""
        J, GL, j = self.system.J, self.system.GL, self.negative
        return J[np.ix_(i, j)], GL[np.ix_(i, j)], GL[np.ix_(j, i)].T


def _pairs_apart(column: FloatArray) -> float:
    """Return the number of pairs of rows with different labels."""
    counts = np.unique(column, return_counts=True)[1].astype(np.float64)
    return float(len(column) ** 2 - counts @ counts) / 2


def _tiles(Y: FloatArray) -> Iterator[tuple[slice, slice]]:
    """Yield rows and earlier rows that may be their partners, such that each pair is in one tile."""
    height, width = _TILE
    for begin in range(0, len(Y), height):
        rows = slice(begin, min(begin + height, len(Y)))
        end = _end_of_partners(Y, rows)
        yield from ((rows, slice(start, min(start + width, end))) for start in range(0, end, width))


def _end_of_partners(Y: FloatArray, rows: slice) -> int:
    """Return the end of the rows, sorted by the first output, that may be partners of the last of `rows`."""
    if Y.shape[1] > 1:
        return rows.stop
    return int(np.searchsorted(Y[:, 0], Y[rows.stop - 1, 0]))
