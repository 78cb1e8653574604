"""Scores of every pair of rows by the model that was trained without the two, in O(1) a pair."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.design import row_blocks
from rankwise.model_selection.pair_blocks import centred

FloatArray = NDArray[np.float64]
Signs = NDArray[np.int8]

# Differences of scores below this part of the spread of the scores are those of equal rows, rounded.
TIE = 1e-11
# The terms of such a difference are known to this part of their size.
ROUNDING = 1e-15
_BLOCK_ENTRIES = 125_000


class AllPairs:
    """Leave-pair-out where all pairs of rows count, tied ones included: (36) to (39) of the paper.

    Without rows i and j the cost, divided by m - 2, is that of least squares with a free intercept and the
    penalty mu ||f||^2, mu = alpha (m - 2) / 2. Let P = Z (S + mu)^-1 Z' be the smoother of the centred rows
    Phi_c = Z V' with Phi_c'Phi_c = V S V', and H = P + 1 1'/m that with the intercept. Then the predictions
    p_U for U = {i, j} of the model that did not see U satisfy

        (I - H_UU) p_U = (H y)_U - H_UU y_U,

    two equations for each pair. O(m r^2 + r^3) once for rank r, then O(m^2 (r + v)) for each alpha.

    Parameters
    ----------
    Phi : array of shape (m, r)
    Y : array of shape (m, v)
        Labels for each output.
    """

    def __init__(self, Phi: FloatArray, Y: FloatArray):
        self.Y = centred(Y)
        self.centre = Phi.mean(axis=0)
        rows = Phi - self.centre
        curvature, basis = np.linalg.eigh(rows.T @ rows)
        self.curvature = np.maximum(curvature, 0.0)
        self.Z = rows @ basis
        self.centre = basis.T @ self.centre
        self.n_rows = len(Y)

    def errors(self, alphas: FloatArray) -> FloatArray:
        """Count pairs in the wrong order, in blocks of rows that stay in the cache."""
        order = np.argsort(self.Y[:, 0], kind="stable")  # two classes: only rows of the other class remain
        Z, Y = self.Z[order], self.Y[order]
        smoothers = [_Smoother(Z, Y, self._weights(alpha)) for alpha in alphas]
        wrong, n_pairs = np.zeros((len(alphas), Y.shape[1])), np.zeros(Y.shape[1])
        for rows in row_blocks(self.n_rows, self.n_rows, _BLOCK_ENTRIES):
            before = slice(0, _end_of_partners(Y, rows))
            direction = lru_cache(maxsize=64)(partial(_direction, Y, rows, before))
            n_pairs += [np.count_nonzero(direction(k)) for k in range(Y.shape[1])]
            for k, smoother in enumerate(smoothers):
                wrong[k] += smoother.wrong(rows, before, direction)
        return wrong / n_pairs

    def predictions(self, alpha: float) -> FloatArray:
        """Solve the two equations for all pairs and take the intercept off again."""
        weights, m, Y = self._weights(alpha), self.n_rows, self.Y
        P = (self.Z * weights) @ self.Z.T
        fitted = P @ Y
        H = P + 1.0 / m
        d = 1.0 - np.diag(H)
        # [i, j] is about row i and [j, i] about row j of the same pair.
        rest = fitted[:, None] - np.diag(H)[:, None, None] * Y[:, None] - H[:, :, None] * Y[None]
        with np.errstate(invalid="ignore", divide="ignore"):
            determinant = np.outer(d, d) - H**2
            p = (d[None, :, None] * rest + H[:, :, None] * rest.swapaxes(0, 1)) / determinant[:, :, None]
        moved = p - Y[:, None]  # by how much the label would have to move for the row to be as predicted
        offset = self.Z @ (weights * self.centre)
        shift = (offset - 1.0 / m)[:, None, None] * moved
        scores = p + shift + shift.swapaxes(0, 1) + offset @ Y
        scores[np.diag_indices(m)] = np.nan
        return scores

    def _weights(self, alpha: float) -> FloatArray:
        return 1.0 / (self.curvature + alpha * (self.n_rows - 2) / 2)


class _Smoother:
    """P for one alpha, made block by block, with what is needed of it for every pair."""

    def __init__(self, Z: FloatArray, Y: FloatArray, weights: FloatArray):
        self.Z, self.Y, self.weights = Z, Y, weights
        self.diagonal = Z**2 @ weights
        self.fitted = Z @ (weights[:, None] * (Z.T @ Y))
        self.own = self.fitted - self.diagonal[:, None] * Y
        self.left = 1.0 - 2.0 / len(Y) - self.diagonal
        self.spread = np.abs(self.fitted).max(axis=0)

    def wrong(self, rows: slice, before: slice, direction: Callable[[int], Signs]) -> FloatArray:
        """Count the pairs of the two sets of rows whose scores differ in the wrong direction.

        p_i - p_j is, up to the positive determinant, u_i a_j - u_j a_i - (y_i + y_j)(P_ii - P_jj) / m with
        u_i = f_i - P_ii y_i - P_ij y_j and a_i = 1 - 2/m - P_ii - P_ij.
        """
        P = (self.Z[rows] * self.weights) @ self.Z[before].T
        a_i, a_j = self.left[rows, None] - P, self.left[before] - P
        steepness = (self.diagonal[rows, None] - self.diagonal[before]) / len(self.Y)
        share = 1.0 / len(self.Y)
        determinant = (self.left[rows, None] + share) * (self.left[before] + share) - (P + share) ** 2
        smallest = np.maximum(TIE * np.abs(determinant), ROUNDING * np.minimum(np.abs(a_i), np.abs(a_j)))
        wrong = np.empty(self.Y.shape[1])
        for k, y in enumerate(self.Y.T):
            difference = (self.own[rows, k, None] - P * y[before]) * a_j
            difference -= (self.own[before, k] - P * y[rows, None]) * a_i
            difference -= (y[rows, None] + y[before]) * steepness
            wrong[k] = _wrong(difference, direction(k), smallest * self.spread[k])
        return wrong


class TwoClasses:
    """Leave-pair-out for pairs of a positive and a negative row, where only such pairs count in training.

    With p - 1 positive and q - 1 negative rows left, the mean over their pairs is the variance of the errors
    y - f in each class plus the squared difference of the classes' means. It is also what remains of a
    weighted sum of squares, weights D = 1 / (p - 1) and 1 / (q - 1), with an intercept for each class, at its
    stationary point; a row leaves such a sum when its label is moved to where the others predict it. Over all
    rows the form is

        y'L y = sum of D (y - mean of the class)^2 + c (difference of the means)^2,   c = 1 / (1 - 1/p - 1/q),

    and with G = Phi (Phi'L Phi + alpha I)^-1 Phi', J = L - L G L and U = {i, j} the labels move by e_U and
    the scores are f_U:

        J_UU e_U = (J y)_U,   f_U = (G L y)_U - (G L)_UU e_U.

    O(m r^2 + r^3) once for rank r, then O(p q r) for each alpha. Two rows in each class have no such c.

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
        self._centred = self._decomposed(centred(Phi))

    def errors(self, alphas: FloatArray) -> FloatArray:
        """Count positive rows below negative ones; differences do not feel a common offset of the rows."""
        direction = np.ones((len(self.positive), len(self.negative)), dtype=np.int8)
        errors = np.empty((len(alphas), 1))
        for k, alpha in enumerate(alphas):
            above, below = self._scores(self._centred, alpha)
            spread = np.abs(above).max() + np.abs(below).max()
            errors[k] = _wrong(above - below, direction, TIE * spread) / direction.size
        return errors

    def predictions(self, alpha: float) -> FloatArray:
        """Score the pairs of a positive and a negative row; the others, which are not left out, are NaN."""
        scores = np.full((len(self.y), len(self.y), 1), np.nan)
        above, below = self._scores(self._decomposed(self.Phi), alpha)
        scores[np.ix_(self.positive, self.negative)] = above[..., None]
        scores[np.ix_(self.negative, self.positive)] = below.T[..., None]
        return scores

    def _times(self, A: FloatArray) -> FloatArray:
        """Give L A."""
        means = (self.classes.T @ A) / self.sizes[:, None]
        return self.D[:, None] * (A - self.classes @ means) + self.c * np.outer(
            self.contrast, self.contrast @ A
        )

    def _decomposed(self, Phi: FloatArray) -> tuple[Any, Any, Any]:
        """Give Z = Phi V, L Z and S of Phi'L Phi = V S V'."""
        gram = Phi.T @ self._times(Phi)
        curvature, basis = np.linalg.eigh((gram + gram.T) / 2)
        Z = Phi @ basis
        return Z, self._times(Z), np.maximum(curvature, 0.0)

    def _scores(self, decomposed: tuple[Any, Any, Any], alpha: float) -> tuple[FloatArray, FloatArray]:
        """Give the scores of the positive and of the negative row of each pair, shape (p, q) each."""
        Z, LZ, curvature = decomposed
        weights = 1.0 / (curvature + alpha * self.factor)
        i, j = self.positive, self.negative
        moved_i, moved_j = self._moves(LZ, weights)
        fitted = Z @ (weights * (LZ.T @ self.y))
        own = np.sum(Z * weights * LZ, axis=1)
        above = fitted[i, None] - own[i, None] * moved_i - ((Z[i] * weights) @ LZ[j].T) * moved_j
        below = fitted[j] - own[j] * moved_j - ((LZ[i] * weights) @ Z[j].T) * moved_i
        return above, below

    def _moves(self, LZ: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve J_UU e_U = (J y)_U for each pair: two arrays of shape (p, q)."""
        i, j = self.positive, self.negative
        size = self.classes @ self.sizes
        diagonal = self.D * (1.0 - 1.0 / size) + self.c / size**2 - LZ**2 @ weights
        J = -self.c / np.prod(self.sizes) - (LZ[i] * weights) @ LZ[j].T
        right = self._times(self.y[:, None])[:, 0] - LZ @ (weights * (LZ.T @ self.y))
        determinant = np.outer(diagonal[i], diagonal[j]) - J**2
        moved_i = (np.outer(right[i], diagonal[j]) - J * right[j]) / determinant
        moved_j = (np.outer(diagonal[i], right[j]) - J * right[i, None]) / determinant
        return moved_i, moved_j


def _wrong(difference: FloatArray, direction: Signs, smallest: FloatArray | float) -> float:
    """Count pairs in the wrong order; equal scores count one half."""
    lower, not_higher = direction[difference < -smallest], direction[difference <= smallest]
    return np.count_nonzero(direction < 0) + 0.5 * float(lower.sum(dtype=int) + not_higher.sum(dtype=int))


def _end_of_partners(Y: FloatArray, rows: slice) -> int:
    """Give the end of the rows, sorted by the first output, that may be partners of the last of `rows`."""
    if Y.shape[1] > 1:
        return rows.stop
    return int(np.searchsorted(Y[:, 0], Y[rows.stop - 1, 0]))


def _direction(Y: FloatArray, rows: slice, before: slice, output: int) -> Signs:
    """Give the sign of y_i - y_j, 0 unless j comes before i: shape (rows, before)."""
    y_i, y_j = Y[rows, output, None], Y[before, output]
    earlier = np.arange(before.stop) < np.arange(rows.start, rows.stop)[:, None]
    higher, lower = (y_i > y_j) & earlier, (y_i < y_j) & earlier
    return higher.astype(np.int8) - lower.astype(np.int8)
