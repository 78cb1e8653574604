"""The scores of each fold of queries by the model fitted without it, for many alphas at once.

With Phi'L Phi = V diag(s) V' and Z = Phi V, the weights without the rows U solve, in the basis V,
(diag(s) - G + lambda I) w = p - q, where G = Z_U'L_U Z_U and q = Z_U'r_U belong to the held-out rows.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rankwise.core.progress import Progress
from rankwise.core.types import FloatArray
from rankwise.model_selection.pair_blocks import Block, centred
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
    n_alphas, (n, n_outputs) = penalties.shape[1], spectrum.rotated.shape
    scores = np.empty((n_alphas, len(Phi), n_outputs))
    progress = Progress("Leaving folds out", len(folds), verbose)
    for fold, shifts in zip(folds, penalties, strict=True):
        held_out = HeldOut([Phi[block.rows] @ spectrum.vectors for block in fold], fold)
        if spectrum.eigenvalues.sum() - held_out.trace() < LITTLE * spectrum.eigenvalues.sum():
            others = [block for other in folds if other is not fold for block in other]
            rest = HeldOut([Phi[block.rows] @ spectrum.vectors for block in others], others)
            weights = _decomposed(*rest.equations, shifts)
        else:
            weights = _weights_without(held_out, spectrum, shifts)
        flat = weights.reshape(n, -1)
        for block, rows in zip(fold, held_out.rows, strict=True):
            scores[:, block.rows] = (rows @ flat).reshape(-1, n_alphas, n_outputs).transpose(1, 0, 2)
        progress.advance(1)
    return scores


class HeldOut:
    """The rows of some blocks in the basis V, and their part of the equations.

    Parameters
    ----------
    rows : list of arrays of shape (b, n)
        The rows of each block.
    blocks : list of Block
    """

    def __init__(self, rows: list[FloatArray], blocks: list[Block]) -> None:
        self.rows, self.blocks = rows, blocks
        self.n_rows, self.n_features = sum(map(len, rows)), rows[0].shape[1]
        self.centred = [centred(part) for part in rows]

    @cached_property
    def products(self) -> list[FloatArray]:
        """The Laplacian times the centered rows of each block."""
        return [block.times(part) for part, block in zip(self.centred, self.blocks, strict=True)]

    @cached_property
    def equations(self) -> tuple[FloatArray, FloatArray]:
        """G and q."""
        n, n_outputs = self.n_features, self.blocks[0].pull.shape[1]
        gram, pull = np.zeros((n, n)), np.zeros((n, n_outputs))
        for part, product, block in zip(self.centred, self.products, self.blocks, strict=True):
            gram += part.T @ product
            pull += part.T @ block.pull
        return gram, pull

    def trace(self) -> float:
        """Return the trace of G."""
        return float(sum(map(np.vdot, self.centred, self.products)))

    def times(self, A: FloatArray) -> FloatArray:
        """Multiply the block-diagonal Laplacian with A."""
        ends = np.cumsum([len(part) for part in self.rows])
        parts = zip(self.blocks, np.split(A, ends[:-1]), strict=True)
        return np.concatenate([block.times(part) for block, part in parts])


def _weights_without(held_out: HeldOut, spectrum: Spectrum, penalties: FloatArray) -> FloatArray:
    """Return the weights without some rows, by the cheapest way: shape (n, n_alphas, v)."""
    b, n, n_alphas = held_out.n_rows, held_out.n_features, len(penalties)
    by_rows, by_features = n_alphas * (2 * b**2 * n + b**3), (DECOMPOSITION * n + b) * n**2
    by_steps = 2 * (b + USUAL_STEPS * n_alphas) * n**2
    if by_rows > by_steps < by_features:
        weights = _weights_by_steps(held_out, spectrum, penalties)
        if weights is not None:
            return weights
    if by_rows < by_features:
        return _weights_by_rows(held_out, spectrum, penalties)
    gram, pull = held_out.equations
    return _decomposed(np.diag(spectrum.eigenvalues) - gram, spectrum.rotated - pull, penalties)


def _weights_by_steps(held_out: HeldOut, spectrum: Spectrum, penalties: FloatArray) -> FloatArray | None:
    """Solve by conjugate gradients for all alphas at once: shape (n, n_alphas, v); None if slow.

    The preconditioner diag(s) + lambda is close to the system without a few rows, so few steps suffice.
    """
    gram, pull = held_out.equations
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


def _decomposed(gram: FloatArray, pull: FloatArray, penalties: FloatArray) -> FloatArray:
    """Solve the equations for each alpha by a decomposition: shape (n, n_alphas, v)."""
    rest = Spectrum.of((gram + gram.T) / 2, pull, check=False)
    scaled = rest.rotated[:, None, :] * rest.inverses(penalties)[:, :, None]
    return (rest.vectors @ scaled.reshape(len(scaled), -1)).reshape(scaled.shape)


def _weights_by_rows(held_out: HeldOut, spectrum: Spectrum, penalties: FloatArray) -> FloatArray:
    """Solve for the scores f_U of the fold, then for the weights (S + lambda)^-1 (p - Z_U'(r_U - L_UU f_U)).

    L maps a common offset of the rows of a query to zero, so the rows can be centered within queries. This
    keeps the products of rows small relative to lambda.
    """
    part = np.concatenate(held_out.centred)
    pull = np.concatenate([block.pull for block in held_out.blocks])
    n, n_outputs = spectrum.rotated.shape
    weights = np.empty((n, len(penalties), n_outputs))
    for k, penalty in enumerate(penalties):
        scale = 1.0 / (spectrum.eigenvalues + penalty)
        K = (part * scale) @ part.T
        right = part @ (scale[:, None] * spectrum.rotated) - K @ pull
        scores = np.linalg.solve(np.eye(len(K)) - held_out.times(K).T, right)
        weights[:, k] = scale[:, None] * (spectrum.rotated - part.T @ (pull - held_out.times(scores)))
    return weights
