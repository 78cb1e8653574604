"""Which pairs of features would improve the model by an interaction."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.core.memory import require_memory
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import row_blocks
from rankwise.losses import PairwiseLoss

# Entries of a block of rows that is multiplied while it is in a cache.
BLOCK_ENTRIES = 1 << 18


def best_pairs(
    codes: list[Any], sizes: list[int], loss: PairwiseLoss, scores: FloatVector, pairs: list[Any], count: int
) -> list[tuple[int, int]]:
    """Return the pairs of features whose table would lower the loss most, the best first.

    Parameters
    ----------
    codes, sizes, loss, scores, pairs :
        As for `pair_gains`.
    count : int
        How many to return at most; a pair that does not lower the loss is never among them.
    """
    gain = pair_gains(codes, sizes, loss, scores, pairs)
    order = np.argsort(-gain, kind="stable")[:count]
    return [pairs[number] for number in order if gain[number] > 0]


def pair_gains(
    codes: list[Any], sizes: list[int], loss: PairwiseLoss, scores: FloatVector, pairs: list[Any]
) -> FloatVector:
    """Return twice the decrease of the loss by a table for each pair of features.

    With c_i the derivative of the loss by the score of row i and h_i its curvature, a Newton step in one cell
    of a table lowers the loss by C^2 / (2 H), C and H the sums over the rows of the cell. Noise alone makes
    C^2 about the sum of c_i^2, which is taken off, or tables with many cells would be preferred; so is what
    steps in the bins of each feature alone would gain. All cells of all tables come from three matrix
    products (Lou et al. 2013 have the like for squared residuals).

    Cost: O(m s^2) for m rows and s bins of all features together, and O(s^2) memory.

    Parameters
    ----------
    codes : list of arrays of shape (n_rows,)
        The bin of each row, for each feature.
    sizes : list of int
        The number of bins of each feature.
    loss, scores :
        The loss, and the scores of the additive model.
    pairs : list of (int, int)
        The candidates.
    """
    pull, curvature = loss.derivatives(scores)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    require_memory(32 * float(starts[-1]) ** 2, "The search for interactions", "name the pairs of features")
    C, H, noise = _cell_sums(codes, starts, [pull, curvature, pull**2])
    gains = np.divide(C**2 - noise, H, where=H > 0, out=np.zeros_like(H))
    span = [slice(*ends) for ends in pairwise(starts)]
    alone = [float(gains.diagonal()[part].sum()) for part in span]
    return np.array([gains[span[j], span[k]].sum() - alone[j] - alone[k] for j, k in pairs])


def _cell_sums(codes: list[Any], starts: Any, weights: list[FloatVector]) -> list[FloatArray]:
    """Return, for each vector of weights, its sum over the rows in each pair of bins."""
    n_rows, n_bins = len(codes[0]), int(starts[-1])
    sums = [np.zeros((n_bins, n_bins)) for _ in weights]
    sizes = [float(np.abs(weight).max(initial=0.0)) or 1.0 for weight in weights]
    places = np.stack([start + code for start, code in zip(starts, codes, strict=False)], axis=1)
    for part in row_blocks(n_rows, n_bins, BLOCK_ENTRIES):
        # Single precision suffices to rank pairs of features, and takes half the time.
        ones = np.zeros((part.stop - part.start, n_bins), dtype=np.float32)
        np.put_along_axis(ones, places[part], 1.0, axis=1)
        for total, weight, size in zip(sums, weights, sizes, strict=True):
            scaled = (weight[part, None] / size).astype(np.float32)
            total += size * (ones.T @ (scaled * ones))
    return sums
