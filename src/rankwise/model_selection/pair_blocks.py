"""The least-squares cost of RankRLS as a sum over queries, so that a query can be removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwise.core.memory import require_memory
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.design import Design, float_matrix, row_blocks
from rankwise.functions.kernel_parameters import KernelModel, Scales, is_linear, kernel_map_of
from rankwise.losses.least_squares import LeastSquares, keeps_ties
from rankwise.preferences import Preferences

_BLOCK_ENTRIES = 1 << 22
_CACHE_ENTRIES = 1 << 17


@dataclass
class Block:
    """The term f'L f - 2 f'r + constant of one query in the cost, with ``alpha * mass`` of the penalty.

    All masses sum to 1. The sum of some blocks, divided by the sum of their masses, is the cost of their rows
    alone: removing a block and its mass leaves the objective of the remaining rows, times a constant.

    Attributes
    ----------
    rows : array of shape (b,)
    times : callable
        The product of the Laplacian L, of shape (b, b), with an array of shape (b, any).
    pull : array of shape (b, v)
        The vector r = M N of the paper for each output.
    mass : float
    """

    rows: IntArray
    times: Callable[[FloatArray], FloatArray]
    pull: FloatArray
    mass: float


def joint_loss(outputs: list[Preferences], cost: str, ties: str, average: str) -> LeastSquares:
    """Return the cost of one output or, if `keeps_ties`, of several with the same L."""
    shared = keeps_ties(outputs[0], cost, ties)
    labels = np.column_stack([np.asarray(output.values) for output in outputs]) if shared else None
    return LeastSquares(outputs[0], cost=cost, ties=ties, average=average, labels=labels)


def query_blocks(loss: LeastSquares) -> list[Block]:
    """Return a block for each query (each connected component of explicit pairs).

    O(m v) for rankings by scores, O(b^2) time and memory for each query of b rows otherwise and with
    `cost="relative"`.
    """
    n_rows, groups = loss.preferences.n_rows, loss.preferences.groups()
    pull, shares = loss.pull.reshape(n_rows, -1), loss.row_shares()
    return [
        Block(rows, loss.block(rows), pull[rows], float(shares[rows].sum())) for rows in rows_by_group(groups)
    ]


def rows_by_group(groups: IntArray) -> list[IntArray]:
    """Return the row numbers of each group, in the order of the group numbers."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def centred(A: FloatArray) -> FloatArray:
    """Subtract the mean of each column; it cancels in each pair of rows."""
    return A - A.mean(axis=0)


def features(model: KernelModel, X: Any, scales: Scales | None = None) -> FloatArray:
    """Return the rows in coordinates in which ||w|| is the norm of the function: at most as many as rows.

    The features themselves if they are fewer than the rows, otherwise those of the kernel map. The kernel,
    its basis rows and `gamma="scale"` are determined by all rows, including held-out ones.
    """
    linear = is_linear(model)
    if linear and X.shape[1] <= X.shape[0]:
        _check_memory(X)
        return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    kernel_map = kernel_map_of(model, scales)
    if linear:
        kernel_map.n_components = None
    return kernel_map.fit_transform(X)


def _check_memory(X: Any) -> None:
    """Refuse sparse rows that would not fit into memory as a dense array."""
    if sp.issparse(X):
        require_memory(
            8 * X.shape[0] * X.shape[1],
            f"Leaving out, which works on dense rows, {X.shape[0]} x {X.shape[1]} here,",
            "use folds of queries with GridSearchCV instead",
        )


def mean_squared_distance(design: Design, loss: LeastSquares) -> float:
    """Return the mean over pairs of ||phi_i - phi_j||^2, averaged as the cost is: the scale of alpha.

    It is the trace of Phi'L Phi, computed in blocks of rows of R Phi or of columns of Phi.
    """
    if design.location is not None:
        return float(np.trace(design.normal_equations(loss)[0]))
    Phi, (m, n) = design.X, design.shape
    if loss.root_is_sparse:
        root: Any = loss.root
        means, parts = root.means(float_matrix(Phi)), row_blocks(m, n, _CACHE_ENTRIES)
        rows = (root.rows(design.dense(part), means, part) for part in parts)
        return root.common**2 * sum(float(np.vdot(some, some)) for some in rows)
    Phi = Phi.tocsc() if sp.issparse(Phi) else Phi
    total = 0.0
    for some in row_blocks(n, m, _BLOCK_ENTRIES):
        part = Phi[:, some].toarray() if sp.issparse(Phi) else np.asarray(Phi[:, some], np.float64)
        part = loss.centred(part)
        total += float(np.vdot(part, loss.product(part)))
    return total


def distance_alphas(mean_square: float) -> FloatArray:
    """Return powers of two times the mean squared distance of the two rows of a pair.

    Alphas far above that distance only shrink the weights; far below it the penalty has little effect.
    """
    return np.asarray((mean_square or 1.0) * 2.0 ** np.arange(5, -26, -1), dtype=np.float64)
