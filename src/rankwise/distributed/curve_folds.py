"""Fits of curves to parts of the rows on Dask: the bins of each part, and rounds that all parts share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatArray, FloatVector
from rankwise.curves.axis import Axis
from rankwise.curves.features import CurveFeatures
from rankwise.curves.ranker import CurveMap
from rankwise.curves.screen import cell_sums
from rankwise.data.design import Design
from rankwise.data.shared_passes import DesignPart, SharedPasses
from rankwise.distributed.blocks import spread_sums
from rankwise.distributed.curve_table import (
    CurveBlock,
    CurveDesign,
    CurveTable,
    SampledColumns,
    validated_block,
)
from rankwise.distributed.design import spread_of

# A design and a vector to multiply it by.
Factors = tuple[CurveDesign, FloatVector]


class CurvePasses(SharedPasses):
    """A table for several fits of curves: each has the bins of its rows, and rounds serve all of them.

    No rows move. The workers keep the entries of all rows in the bins of each fit.

    Parameters
    ----------
    table : CurveTable
    """

    def __init__(self, table: CurveTable):
        super().__init__(CurveRounds(table))
        self.table = table
        self.designs: WeakKeyDictionary[CurveMap, CurveDesign] = WeakKeyDictionary()

    def part(self, rows: NDArray[np.int64]) -> CurvePart:
        """Return some of the rows, as a mask of all."""
        return CurvePart(self, rows)


class CurvePart:
    """Some of the rows of a table; the methods are those of `CurveTable`.

    Parameters
    ----------
    passes : CurvePasses
    rows : array of int
        The numbers of the rows.
    """

    def __init__(self, passes: CurvePasses, rows: NDArray[np.int64]):
        self._passes, self._rows = passes, rows
        self.shape = (len(rows), passes.table.shape[1])
        self.location, self.log = passes.table.location, passes.table.log

    def columns(self, weighs: NDArray[np.bool_]) -> SampledColumns:
        """Return the columns of some of these rows."""
        chosen = np.zeros(self._passes.table.shape[0], dtype=bool)
        chosen[self._rows[weighs]] = True
        return self._passes.table.columns(chosen)

    def design(self, curves: CurveMap) -> FoldDesign:
        """Return the rows as a design of the weights of curves."""
        whole = self._passes.product("designs", curves)
        self._passes.designs[curves] = whole
        return FoldDesign(self._passes, whole, self._rows)

    def cell_sums(self, axes: list[Axis], weights: Sequence[FloatVector]) -> list[FloatArray]:
        """Return the sums of weights over the rows in each pair of bins."""
        spread = np.zeros((len(weights), self._passes.table.shape[0]))
        spread[:, self._rows] = weights
        return self._passes.product("cell_sums", (axes, list(spread)))

    def scores(self, curves: CurveMap, coef: FloatArray) -> FloatArray:
        """Score rows by several functions, given by their entries: shape (n_rows, n_functions)."""
        whole = self._passes.designs[curves]
        found = [self._passes.product("look_ups", (whole, entries)) for entries in coef]
        return np.stack(found, axis=1)[self._rows]


class FoldDesign(DesignPart):
    """Some of the rows of a design of curves, which differs from fit to fit."""

    nonnegative: NDArray[np.bool_] | None = None

    def _product(self, name: str, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._shared.product(name, (self._whole, vector))

    def sampled(self, rows: NDArray[np.int64]) -> Design | None:
        """Return some of the rows for many passes."""
        return self._shared.product("samples", (self._whole, self._rows[rows]))


class CurveRounds:
    """Rounds over the rows of a table that serve several fits at once; an argument has an entry per fit.

    Parameters
    ----------
    table : CurveTable
    """

    def __init__(self, table: CurveTable):
        self._table, self._rows, self._engine = table, table.rows, table.rows.engine

    def cell_sums(self, requests: list[tuple[list[Axis], Sequence[FloatVector]]]) -> list[list[FloatArray]]:
        """Return the sums of weights over the rows in each pair of bins."""
        axes, weights = zip(*requests, strict=True)
        column = np.column_stack([one for some in weights for one in some])
        return self._rows.reduced(_cell_sums, _added_each, self._table.reader, list(axes), column=column)

    def designs(self, maps: list[CurveMap]) -> list[CurveDesign]:
        """Return all rows as designs of the weights of curves."""
        return [self._table.design(curves, len(maps)) for curves in maps]

    def samples(self, requests: list[tuple[CurveDesign, NDArray[np.int64]]]) -> list[Design | None]:
        """Return some of the rows of designs."""
        return [design.sampled(rows) for design, rows in requests]

    def matvecs(self, requests: list[Factors]) -> FloatArray:
        """Return the product of each design with a vector."""
        return self._scores(_times_each, requests)

    def look_ups(self, requests: list[Factors]) -> FloatArray:
        """Return the scores of all rows by the entries of the tables of each design."""
        return self._scores(_look_ups, requests)

    def rmatvecs(self, requests: list[Factors]) -> list[FloatVector]:
        """Return the product of each transposed design with a vector."""
        return self._sums(_adjoint_each, requests, [design.shape[1] for design, _ in requests])

    def weighted_spreads(self, requests: list[Factors]) -> list[FloatVector]:
        """Return the weighted spread of each column of the designs."""
        lengths = [2 * design.shape[1] + 1 for design, _ in requests]
        return list(map(spread_of, self._sums(_spread_sums_each, requests, lengths)))

    def _scores(self, function: Callable[..., Any], requests: list[Factors]) -> FloatArray:
        vectors = np.concatenate([vector for _, vector in requests])
        ends = np.cumsum([len(vector) for _, vector in requests])[:-1]

        def send() -> list[Any]:
            blocks = _by_partition(requests)
            sent = [self._engine.broadcast(value) for value in (vectors, ends)]
            return self._engine.map(function, blocks, *([value] * len(blocks) for value in sent))

        return np.concatenate(self._engine.execute(send), axis=1)

    def _sums(
        self, function: Callable[..., Any], requests: list[Factors], lengths: list[int]
    ) -> list[FloatVector]:
        """Return the sums over blocks of a function of blocks and coefficients, one vector per request."""
        first = requests[0][0]
        parts = first.slices(np.stack([vector for _, vector in requests]), axis=1)

        def send() -> list[Any]:
            sent = self._engine.scatter(parts, first.handles)
            return [self._engine.total(self._engine.map(function, _by_partition(requests), sent))]

        return np.split(self._engine.execute(send)[0], np.cumsum(lengths)[:-1])


def _by_partition(requests: list[Factors]) -> list[list[Any]]:
    """Return the blocks of all designs, partition by partition."""
    return [list(blocks) for blocks in zip(*(design.handles for design, _ in requests), strict=True)]


def _times_each(blocks: list[CurveBlock], vectors: FloatVector, ends: NDArray[np.int64]) -> FloatArray:
    parts = np.split(vectors, ends)
    return np.stack([block.matvec(w) for block, w in zip(blocks, parts, strict=True)])


def _look_ups(blocks: list[CurveBlock], vectors: FloatVector, ends: NDArray[np.int64]) -> FloatArray:
    parts = np.split(vectors, ends)
    return np.stack([block.look_up(values) for block, values in zip(blocks, parts, strict=True)])


def _adjoint_each(blocks: list[CurveBlock], C: FloatArray) -> FloatVector:
    return np.concatenate([block.rmatvec(c) for block, c in zip(blocks, C, strict=True)])


def _spread_sums_each(blocks: list[CurveBlock], C: FloatArray) -> FloatVector:
    return np.concatenate([spread_sums(block, c) for block, c in zip(blocks, C, strict=True)])


def _cell_sums(rows: Any, weights: FloatArray, reader: CurveFeatures, axes: list[list[Axis]]) -> Any:
    """Return the sums of a block, three weights for each list of axes."""
    X = validated_block(rows, reader)
    return [
        cell_sums([axis.codes(x) for axis, x in zip(some, X.T, strict=True)], some, list(own.T))
        for some, own in zip(axes, np.split(weights, len(axes), axis=1), strict=True)
    ]


def added(parts: Sequence[list[Any]]) -> list[Any]:
    """Return the sums of lists of arrays, entry by entry."""
    return [sum(some[1:], some[0]) for some in zip(*parts, strict=True)]


def _added_each(parts: list[list[list[Any]]]) -> list[list[Any]]:
    return [added(found) for found in zip(*parts, strict=True)]
