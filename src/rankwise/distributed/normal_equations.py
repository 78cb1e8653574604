"""The normal equations of pairwise least squares for rows in partitions; each sends n^2 numbers, once.

Rows are centered first, as in memory, to avoid cancellation. A worker computes the means of the queries that
are complete in its partition; those of a query in several partitions are summed by the driver and sent back.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.types import FloatArray
from rankwise.data.design import Design, row_blocks
from rankwise.distributed.engine import Pinned, identity
from rankwise.distributed.groups import split_groups
from rankwise.distributed.partitioned import PartitionedDesign, numbers_of_parts
from rankwise.distributed.whole_squares import WorkerSquares
from rankwise.losses import LeastSquares
from rankwise.losses.roots import LevelRoot, deviations

# The number of entries of a block of rows that is converted to a dense array.
BLOCK_ENTRIES = 1 << 18


def normal_equations(
    design: PartitionedDesign, loss: LeastSquares | WorkerSquares
) -> tuple[FloatArray, FloatArray]:
    """Return X'L X and X'r for rows in partitions.

    If no query is split over partitions, or L has a sparse root, a partition sends n^2 numbers. Otherwise
    (explicit pairs, censoring, gains) the columns of X pass through the driver, a few at a time;
    `solver="cg"` then moves less data.
    """
    if isinstance(loss, WorkerSquares):
        return loss.normal_equations(design)
    if not loss.root_is_sparse:
        return Design.normal_equations(design, loss)
    return _by_root(design, loss, None, 1)[0]


def equations_of_parts(
    design: PartitionedDesign, loss: LeastSquares, parts: list[NDArray[np.int64]]
) -> list[tuple[FloatArray, FloatArray]]:
    """Return the contributions of parts of the rows to X'L X and X'r; no pair joins two parts.

    If L has a sparse root, one pass over the rows serves all parts, and a partition sends n^2 numbers for
    each. Otherwise see `normal_equations`.
    """
    number = numbers_of_parts(parts, design.shape[0])
    if loss.root_is_sparse:
        return _by_root(design, loss, number, len(parts))
    masks = [number == part for part in range(len(parts))]
    return [Design.normal_equations(design, _MaskedSquares(loss, mask)) for mask in masks]


def _by_root(
    design: PartitionedDesign, loss: LeastSquares, number: NDArray[np.int64] | None, n_parts: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Return the equations of all rows or, with the number of each row's part, those of each part."""
    root: Any = loss.root
    assert isinstance(root, LevelRoot)
    target = root.target.reshape(design.shape[0], -1)
    found = []
    for total in _Grams(design, root, target, number, n_parts).total():
        gram, pull = np.split(total, [design.shape[1]], axis=1)
        found.append(((gram + gram.T) / 2, pull[:, 0] if root.target.ndim == 1 else pull))
    return found


class _MaskedSquares:
    """The part of a least-squares loss that belongs to some rows, which no pair leaves."""

    def __init__(self, loss: LeastSquares, mask: NDArray[np.bool_]):
        self._loss, self._mask = loss, mask
        self.pull = (loss.pull.T * mask).T

    def product(self, U: FloatArray) -> FloatArray:
        """Return L U for these rows, and zero for the others."""
        return (self._loss.product(U).T * self._mask).T


@dataclass
class Groups:
    """The groups of a partition's rows, numbered from 0; `total` is the weight of all rows of a group."""

    code: NDArray[np.int64]
    total: FloatArray
    cut: NDArray[np.int64]

    def sums(self, weight: FloatArray, X: Any) -> FloatArray:
        """Return the weighted sum of the rows of each group."""
        entries = (weight, (self.code, np.arange(len(weight))))
        sums = sp.csr_array(entries, shape=(len(self.total), len(weight))) @ X
        return sums.toarray() if sp.issparse(sums) else np.asarray(sums)

    def means(self, weight: FloatArray, X: Any, of_cut: FloatArray) -> FloatArray:
        """Return the mean of each group; `of_cut` has the means of groups in several partitions."""
        means = self.sums(weight, X) / np.where(self.total > 0, self.total, 1.0)[:, None]
        means[self.cut] = of_cut
        return means


@dataclass
class RootPiece:
    """The rows of the root R of one partition, and the number of each row's part, if there are several."""

    weight: FloatArray
    groups: list[Groups]
    scales: list[FloatArray]
    target: FloatArray
    number: NDArray[np.int64] | None
    n_parts: int


class _Grams:
    """The rows R X in partitions, and the means of groups that they share."""

    def __init__(
        self,
        design: PartitionedDesign,
        root: LevelRoot,
        target: FloatArray,
        number: NDArray[np.int64] | None,
        n_parts: int,
    ):
        self._design, self._engine = design, design.engine
        weight, codes, scales = root.parts()
        self._totals = [np.asarray(np.bincount(code, weight), np.float64) for code in codes]
        self._cut = [split_groups(code, design.borders) for code in codes]
        self._codes = codes
        pieces = [
            RootPiece(
                weight[begin:end],
                [self._local(kind, begin, end) for kind in range(len(codes))],
                [scale[begin:end] for scale in scales],
                target[begin:end],
                None if number is None else number[begin:end],
                n_parts,
            )
            for begin, end in pairwise(design.borders)
        ]
        self._present = [
            [np.unique(code[begin:end]) for code in codes] for begin, end in pairwise(design.borders)
        ]
        self._pieces = Pinned(
            self._engine,
            lambda: self._engine.map(identity, self._engine.scatter(pieces, design.handles)),
        )

    def _local(self, kind: int, begin: int, end: int) -> Groups:
        present, code = np.unique(self._codes[kind][begin:end], return_inverse=True)
        return Groups(code, self._totals[kind][present], np.flatnonzero(self._cut[kind][present]))

    def total(self) -> FloatArray:
        """Return [X'L X, X'r] of each part, shape (n_parts, n, n + n_outputs)."""
        means = [self._cut_means(kind) for kind in range(len(self._codes))]
        rows = [np.cumsum(cut) - 1 for cut in self._cut]
        sent = [
            [means[kind][rows[kind][present[self._cut[kind][present]]]] for kind, present in enumerate(parts)]
            for parts in self._present
        ]
        engine, handles = self._engine, self._design.handles

        def send() -> list[Any]:
            columns = self._pieces.handles, engine.scatter(sent, handles)
            return [engine.total(engine.map(piece_gram, handles, *columns))]

        return engine.execute(send)[0]

    def _cut_means(self, kind: int) -> FloatArray:
        """Return the means of the groups of one kind that are in several partitions."""
        cut = self._cut[kind]
        sums = np.zeros((int(cut.sum()), self._design.shape[1]))
        if not len(sums):
            return sums
        engine, row = self._engine, np.cumsum(cut) - 1
        parts = engine.execute(
            lambda: engine.map(
                cut_sums, self._design.handles, self._pieces.handles, [kind] * len(self._present)
            )
        )
        for part, present in zip(parts, self._present, strict=True):
            sums[row[present[kind][cut[present[kind]]]]] += part
        total = self._totals[kind][cut]
        return sums / np.where(total > 0, total, 1.0)[:, None]


def cut_sums(block: Design, piece: RootPiece, kind: int) -> FloatArray:
    """Return the weighted sums of the rows of groups that are in several partitions."""
    groups = piece.groups[kind]
    return groups.sums(piece.weight, _float_rows(block.X))[groups.cut]


def piece_gram(block: Design, piece: RootPiece, of_cut: list[FloatArray]) -> FloatArray:
    """Return [C'C, C'target] for the centered rows C = R X of one partition, for each part of the rows."""
    X = _float_rows(block.X)
    means = [groups.means(piece.weight, X, sent) for groups, sent in zip(piece.groups, of_cut, strict=True)]
    n = block.shape[1]
    result = np.zeros((piece.n_parts, n, n + piece.target.shape[1]))
    for part in row_blocks(block.shape[0], n, BLOCK_ENTRIES):
        rows, target = _centred(X[part], piece, means, part), piece.target[part]
        if piece.number is None:
            _add_gram(result[0], rows, target)
            continue
        number = piece.number[part]
        for k in np.unique(number[number >= 0]):
            _add_gram(result[k], rows[number == k], target[number == k])
    return result


def _add_gram(result: FloatArray, rows: FloatArray, target: FloatArray) -> None:
    n = rows.shape[1]
    result[:, :n] += rows.T @ rows
    result[:, n:] += rows.T @ target


def _centred(X: Any, piece: RootPiece, means: list[FloatArray], part: slice) -> FloatArray:
    """Return the rows of R X: deviations from the means of queries and, if they matter, of levels."""
    rows = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    spread = [mean[groups.code[part]] for mean, groups in zip(means, piece.groups, strict=True)]
    scales = [scale[part] for scale in piece.scales]
    return deviations(rows, *chain(*zip(spread, scales, strict=True)))


def _float_rows(X: Any) -> Any:
    return X.astype(np.float64, copy=False) if sp.issparse(X) else X
