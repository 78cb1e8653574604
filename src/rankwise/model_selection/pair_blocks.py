"""The least-squares cost of RankRLS query by query: what can be taken away when a query leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise._memory import require_memory
from rankwise.losses.least_squares_form import check_magnitudes, keeps_ties
from rankwise.preferences import Preferences
from rankwise.preferences.base import Pairs
from rankwise.preferences.ranking import Ranking

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass
class Block:
    """One query's share f'L f - 2 f'r + constant of the cost, with ``alpha * mass`` of the penalty.

    The objective, times the sum of all masses, is the sum of the blocks plus alpha times that sum times
    ||f||^2. Taking a block away with its mass therefore leaves the objective of the remaining rows.

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


def query_blocks(outputs: list[Preferences], cost: str, ties: str, average: str) -> list[Block]:
    """Give a block for each query (each connected component of explicit pairs).

    Several outputs may be given where `keeps_ties`: they have the same L. O(m v) with ties kept, O(b^2) time
    and memory for each query of b rows otherwise.
    """
    first = outputs[0]
    rows_of = rows_by_group(first.groups())
    if keeps_ties(first, cost, ties):
        values = np.column_stack([output.values for output in outputs])  # type: ignore[attr-defined]
        return [_all_pairs_block(first, values, rows, average) for rows in rows_of]
    return [_listed_block(first, rows, cost, average) for rows in rows_of]


def rows_by_group(groups: IntArray) -> list[IntArray]:
    """Give the row numbers of each group, in the order of the group numbers."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _all_pairs_block(ranking: Any, values: FloatArray, rows: IntArray, average: str) -> Block:
    """L = W diag(w) - w w' with W the sum of the weights w; its pairs, counted twice, weigh W^2."""
    w = np.ones(len(rows)) if ranking.weight is None else ranking.weight[rows]
    total = w.sum()
    scale, mass = _share(total**2 / 2, _importance(ranking, rows), average)

    def times(A: FloatArray) -> FloatArray:
        return (scale * total) * w[:, None] * (A - (w @ A) / (total or 1.0))

    return Block(rows, times, times(values[rows]), mass)


def _listed_block(preferences: Preferences, rows: IntArray, cost: str, average: str) -> Block:
    pairs = preferences[rows].pairs()
    if not isinstance(preferences, Ranking):  # one ranking, whatever its components
        average = "pairs"
    scale, mass = _share(float(pairs.weight.sum()), _importance(preferences, rows), average)
    laplacian, pull = laplacian_and_pull(pairs, len(rows), cost)
    laplacian *= scale
    return Block(rows, lambda A: laplacian @ A, scale * pull[:, None], mass)


def laplacian_and_pull(pairs: Pairs, n_rows: int, cost: str) -> tuple[FloatArray, FloatArray]:
    """Give L = M M' and M N for listed pairs: (20) for "unit", (21) "magnitude", (22) "relative"."""
    better, worse, magnitude, weight = pairs
    if cost == "relative":
        check_magnitudes(better, worse, magnitude)
    w = weight / magnitude**2 if cost == "relative" else weight
    target = w if cost == "unit" else w * magnitude
    adjacency = sp.coo_array((w, (better, worse)), shape=(n_rows, n_rows)).toarray()
    adjacency += adjacency.T
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    pull = np.bincount(better, target, n_rows) - np.bincount(worse, target, n_rows)
    return laplacian, np.asarray(pull, dtype=np.float64)


def _importance(preferences: Any, rows: IntArray) -> float:
    query_weight = getattr(preferences, "query_weight", None)
    return 1.0 if query_weight is None else float(query_weight[rows[0]])


def _share(size: float, importance: float, average: str) -> tuple[float, float]:
    """Give what a query's sum over pairs is multiplied with, and its mass, from the weight of its pairs."""
    if size <= 0:
        return 0.0, 0.0
    return (importance / size, importance) if average == "queries" else (importance, importance * size)


@dataclass
class NormalEquations:
    """Sum over blocks of Phi'L Phi = V diag(s) V' and of Phi'r, in the basis V, for every alpha at once.

    Attributes
    ----------
    basis : array of shape (n_features, rank)
    curvature : array of shape (rank,)
        The eigenvalues s, which are not negative.
    pull : array of shape (rank, v)
    mass : float
    """

    basis: FloatArray
    curvature: FloatArray
    pull: FloatArray
    mass: float

    @classmethod
    def of(cls, Phi: FloatArray, blocks: list[Block]) -> NormalEquations:
        """Add up and decompose: O(m n^2 + n^3) for m rows of n features with ties kept."""
        n_features, n_outputs = Phi.shape[1], blocks[0].pull.shape[1]
        gram, pull = np.zeros((n_features, n_features)), np.zeros((n_features, n_outputs))
        for block in blocks:
            part = centred(Phi[block.rows])
            gram += part.T @ block.times(part)
            pull += part.T @ block.pull
        return cls.decomposed(gram, pull, sum(block.mass for block in blocks))

    @classmethod
    def decomposed(cls, gram: FloatArray, pull: FloatArray, mass: float) -> NormalEquations:
        """Decompose the matrix of the equations."""
        curvature, basis = np.linalg.eigh((gram + gram.T) / 2)
        return cls(basis, np.maximum(curvature, 0.0), basis.T @ pull, mass)

    def solutions(self, alphas: FloatArray) -> FloatArray:
        """Give the weights in the basis V for each alpha, shape (n_alphas, rank, v)."""
        penalty = alphas[:, None] * self.mass
        return self.pull / (self.curvature + penalty)[:, :, None]


def centred(A: FloatArray) -> FloatArray:
    """Take the mean off each column; no pair of rows sees it."""
    return A - A.mean(axis=0)


def refitted_scores(
    Phi: FloatArray,
    outputs: list[Preferences],
    train: IntArray,
    test: IntArray,
    alphas: FloatArray,
    **cost: Any,
) -> FloatArray:
    """Fit the training rows for every alpha and score the test rows: shape (n_alphas, n_test, v)."""
    blocks = query_blocks([output[train] for output in outputs], **cost)
    equations = NormalEquations.of(Phi[train], blocks)
    return (Phi[test] @ equations.basis) @ equations.solutions(alphas)


def features(model: Any, X: Any) -> FloatArray:
    """Give the rows in coordinates in which ||w|| is the norm of the function: at most as many as rows.

    The features themselves where they are fewer than the rows, otherwise those of the kernel map. The kernel,
    its basis rows and `gamma="scale"` are fixed by all rows and stay when rows leave.
    """
    linear = model._is_linear()
    if linear and X.shape[1] <= X.shape[0]:
        _check_memory(X)
        return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    kernel_map = model._kernel_map()
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


def mean_squared_distance(Phi: FloatArray, blocks: list[Block]) -> float:
    """Give the mean over pairs of ||phi_i - phi_j||^2, averaged as the cost is: the scale of alpha."""
    parts = ((block, centred(Phi[block.rows])) for block in blocks)
    total = sum(float(np.sum(part * block.times(part))) for block, part in parts)
    return total / sum(block.mass for block in blocks)
