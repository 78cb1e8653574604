"""Selection of the pairs of features whose interaction would improve the model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rankwise.core.memory import require_memory
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import row_blocks
from rankwise.functions.curve_axis import Axis
from rankwise.losses import PairwiseLoss

# The number of entries of a block of rows that fits into a cache.
BLOCK_ENTRIES = 1 << 18


def best_pairs(
    axes: list[Axis], X: FloatArray, loss: PairwiseLoss, scores: FloatVector, pairs: list[Any], count: int
) -> list[tuple[int, int]]:
    """Return the pairs of features whose table would reduce the loss most, the best first.

    Parameters
    ----------
    axes, X, loss, scores, pairs :
        As for `pair_gains`.
    count : int
        The largest number of pairs to return; pairs that do not reduce the loss are left out.
    """
    gain = pair_gains(axes, X, loss, scores, pairs)
    order = np.argsort(-gain, kind="stable")[:count]
    return [pairs[number] for number in order if gain[number] > 0]


def pair_gains(
    axes: list[Axis], X: FloatArray, loss: PairwiseLoss, scores: FloatVector, pairs: list[Any]
) -> FloatVector:
    """Return twice the decrease of the loss by an interaction table, per pair of features.

    Let c_i and h_i be the first and second derivative of the loss with respect to the score of row i, and C
    and H their sums over the rows of a cell. A Newton step in the cell reduces the loss by C^2 / (2 H). Under
    pure noise C^2 is about the sum of c_i^2; this is subtracted, as otherwise tables with many cells would be
    preferred. The gain of each feature alone is subtracted, too. Three matrix products give all cells of all
    tables (Lou et al. 2013 do so for squared residuals).

    Cost: O(m s^2) for m rows and s bins of all features together, and O(s^2) memory.

    Parameters
    ----------
    axes : list of Axis
        The bins of each feature.
    X : array of shape (n_rows, n_features)
    loss, scores :
        The loss, and the scores of the additive model.
    pairs : list of (int, int)
        The candidates.
    """
    pull, curvature = loss.derivatives(scores)
    starts = np.concatenate([[0], np.cumsum([axis.size for axis in axes])])
    require_memory(32 * float(starts[-1]) ** 2, "The search for interactions", "name the pairs of features")
    codes = [axis.codes(x) for axis, x in zip(axes, X.T, strict=True)]
    C, H, noise = cell_sums(codes, axes, [pull, curvature, pull**2])
    gains = np.divide(C**2 - noise, H, where=H > 0, out=np.zeros_like(H))
    span = [slice(*ends) for ends in pairwise(starts)]
    alone = [float(gains.diagonal()[part].sum()) for part in span]
    return np.array([gains[span[j], span[k]].sum() - alone[j] - alone[k] for j, k in pairs])


def cell_sums(codes: list[Any], axes: list[Axis], weights: Sequence[FloatVector]) -> list[FloatArray]:
    """Return the sum of each vector of weights over the rows in each pair of bins, given the row's bins."""
    starts = np.concatenate([[0], np.cumsum([axis.size for axis in axes])])
    n_rows, n_bins = len(codes[0]), int(starts[-1])
    sums = [np.zeros((n_bins, n_bins)) for _ in weights]
    sizes = [float(np.abs(weight).max(initial=0.0)) or 1.0 for weight in weights]
    places = np.stack([start + code for start, code in zip(starts, codes, strict=False)], axis=1)
    for part in row_blocks(n_rows, n_bins, BLOCK_ENTRIES):
        # Single precision suffices to rank pairs of features, in half the time.
        ones = np.zeros((part.stop - part.start, n_bins), dtype=np.float32)
        np.put_along_axis(ones, places[part], 1.0, axis=1)
        for total, weight, size in zip(sums, weights, sizes, strict=True):
            scaled = (weight[part, None] / size).astype(np.float32)
            total += size * (ones.T @ (scaled * ones))
    return sums
