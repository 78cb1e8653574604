"""The scores of each fold of queries by the model fitted without it, for many alphas at once.

With Phi'L Phi = V diag(s) V' and Z = Phi V, the weights without the rows U solve, in the basis V,
(diag(s) - G + lambda I) w = p - q, where G = Z_U'L_U Z_U and q = Z_U'r_U belong to the held-out rows.
"""

from __future__ import annotations

import numpy as np

from rankwise.core.progress import Progress
from rankwise.core.types import FloatArray
from rankwise.leave_out.pair_blocks import Block, centred
from rankwise.solvers.spectrum import Spectrum

# Conjugate gradients stop at this relative error, in the norm of the equations. They are abandoned after this
# many steps, or if the first ones help little: the fold is a large part of all rows.
STEP_ERROR = 1e-12
MOST_STEPS, FIRST_STEPS, FIRST_SHARE = 12, 3, 1e-3
# The typical number of steps, and the operations of a decomposition divided by the cube of the features.
USUAL_STEPS, DECOMPOSITION = 5, 12
# If less than this share of the equations stays, they are summed anew: a difference would lose digits.
LITTLE = 1e-2
TINY = float(np.finfo(np.float64).tiny)


def scores_without_fold(
    Phi: FloatArray,
    spectrum: Spectrum,
    folds: list[list[Block]],
    penalties: FloatArray,
    verbose: int = 0,
) -> FloatArray:
    """Score each row by the model without its fold: shape (n_alphas, m, v).

    Cost for a fold of b rows of n features: O(b n^2), and a few steps of O(n^2) per alpha. If the fold is a
    large part of all rows, O(n^3) instead of the steps; if b is small, only O(b^2 n + b^3) per alpha.
    """
    Z = Phi @ spectrum.vectors
    n_alphas, (n, n_outputs) = penalties.shape[1], spectrum.rotated.shape
    scores = np.empty((n_alphas, len(Phi), n_outputs))
    progress = Progress("Leaving queries out", len(folds), verbose)
    for fold, shifts in zip(folds, penalties, strict=True):
        b = sum(len(block.rows) for block in fold)
        by_rows, by_features = n_alphas * (2 * b**2 * n + b**3), (DECOMPOSITION * n + b) * n**2
        by_steps = 2 * (b + USUAL_STEPS * n_alphas) * n**2
        weights = None
        if _leaves_little(Z, spectrum, fold):
            others = [block for other in folds if other is not fold for block in other]
            weights = _decomposed(*_summed(Z, others), shifts)
        elif by_rows > by_steps < by_features:
            weights = _weights_by_steps(Z, spectrum, fold, shifts)
        if weights is None:
            solve = _weights_by_rows if by_rows < by_features else _weights_by_features
            weights = solve(Z, spectrum, fold, shifts)
        flat = weights.reshape(n, -1)
        for block in fold:
            found = (Z[block.rows] @ flat).reshape(-1, n_alphas, n_outputs)
            scores[:, block.rows] = found.transpose(1, 0, 2)
        progress.advance(1)
    return scores


def _leaves_little(Z: FloatArray, spectrum: Spectrum, fold: list[Block]) -> bool:
    """Return whether a fold has nearly all of the trace of the equations; one fold at most has."""
    parts = ((centred(Z[block.rows]), block) for block in fold)
    own, whole = sum(np.vdot(part, block.times(part)) for part, block in parts), spectrum.eigenvalues.sum()
    return bool(whole - own < LITTLE * whole)


def _summed(Z: FloatArray, blocks: list[Block]) -> tuple[FloatArray, FloatArray]:
    """Return G and q of the rows of some blocks."""
    gram, pull = np.zeros((Z.shape[1],) * 2), np.zeros((Z.shape[1], blocks[0].pull.shape[1]))
    for block in blocks:
        part = centred(Z[block.rows])
        gram += part.T @ block.times(part)
        pull += part.T @ block.pull
    return gram, pull


def _weights_by_steps(
    Z: FloatArray, spectrum: Spectrum, fold: list[Block], penalties: FloatArray
) -> FloatArray | None:
    """Solve by conjugate gradients for all alphas at once: shape (n, n_alphas, v); None if slow.

    The preconditioner diag(s) + lambda is close to the system without a few rows, so few steps suffice.
    """
    gram, pull = _summed(Z, fold)
    n_outputs = pull.shape[1]
    if spectrum.loses(float(penalties.min())):
        return None
    shifted = np.repeat(spectrum.eigenvalues[:, None] + penalties, n_outputs, axis=1)
    right = np.tile(spectrum.rotated - pull, (1, len(penalties)))
    weights = right / shifted
    residual = gram @ weights
    direction = residual / shifted
    start, left = _products(right, weights), _products(residual, direction)
    for step in range(MOST_STEPS):
        if (left <= STEP_ERROR**2 * start).all():
            return weights.reshape(len(weights), -1, n_outputs)
        if step == FIRST_STEPS and (left > FIRST_SHARE**2 * start).any():
            return None
        product = shifted * direction - gram @ direction
        length = left / np.maximum(_products(direction, product), TINY)
        weights += length * direction
        residual -= length * product
        scaled = residual / shifted
        previous, left = left, _products(residual, scaled)
        direction = scaled + (left / np.maximum(previous, TINY)) * direction
    return None


def _products(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.einsum("ij,ij->j", first, second)


def _weights_by_features(
    Z: FloatArray, spectrum: Spectrum, fold: list[Block], penalties: FloatArray
) -> FloatArray:
    """Decompose the equations without the fold."""
    gram, pull = _summed(Z, fold)
    return _decomposed(np.diag(spectrum.eigenvalues) - gram, spectrum.rotated - pull, penalties)


def _decomposed(gram: FloatArray, pull: FloatArray, penalties: FloatArray) -> FloatArray:
    """Solve the equations for each alpha by a decomposition: shape (n, n_alphas, v)."""
    rest = Spectrum.of((gram + gram.T) / 2, pull, check=False)
    scaled = rest.rotated[:, None, :] * rest.inverses(penalties)[:, :, None]
    return (rest.vectors @ scaled.reshape(len(scaled), -1)).reshape(scaled.shape)


def _weights_by_rows(
    Z: FloatArray, spectrum: Spectrum, fold: list[Block], penalties: FloatArray
) -> FloatArray:
    """Solve for the scores f_U of the fold, then for the weights (S + lambda)^-1 (p - Z_U'(r_U - L_UU f_U)).

    L maps a common offset of the rows of a query to zero, so the rows can be centred within queries. This
    keeps the products of rows small relative to lambda.
    """
    part = np.concatenate([centred(Z[block.rows]) for block in fold])
    pull = np.concatenate([block.pull for block in fold])
    n, n_outputs = spectrum.rotated.shape
    weights = np.empty((n, len(penalties), n_outputs))
    for k, penalty in enumerate(penalties):
        scale = 1.0 / (spectrum.eigenvalues + penalty)
        K = (part * scale) @ part.T
        right = part @ (scale[:, None] * spectrum.rotated) - K @ pull
        scores = np.linalg.solve(np.eye(len(K)) - _times(fold, K).T, right)
        weights[:, k] = scale[:, None] * (spectrum.rotated - part.T @ (pull - _times(fold, scores)))
    return weights


def _times(fold: list[Block], A: FloatArray) -> FloatArray:
    """Multiply the block-diagonal Laplacian of a fold with A."""
    ends = np.cumsum([len(block.rows) for block in fold])
    return np.concatenate(
        [block.times(part) for block, part in zip(fold, np.split(A, ends[:-1]), strict=True)]
    )
