"""The data matrix in partitions: w goes to the rows, scores come back; coefficients go, X' c comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.distributed import blocks
from rankwise.distributed.client import current_engine
from rankwise.distributed.codec import decode_scores, encode_counts
from rankwise.distributed.collections import Partitions, as_partitions
from rankwise.distributed.engine import Engine, Held, HeldRows, same
from rankwise.losses import Hinge

# Scores may be off by this share of the tolerance; the hinge loss is then off by at most twice as much.
SCORE_SHARE = 1e-3


class DaskDesign(Design):
    """Rows in partitions on the workers of a Dask client or, without a client, wherever they are loaded from.

    A product with X sends w once and brings 8 bytes per row; one with X' sends 8 bytes per row and brings
    X' c, summed in a tree. With a plain hinge loss both are 4 bytes per row (see `codec`). With a client the
    blocks are loaded once, and Dask loads them again where a worker is lost. Without one they are loaded in
    every round by threads, a few at a time, and may be larger than memory.

    Parameters
    ----------
    engine : Engine
    rows : Held
        The blocks.
    descriptions : list of Description
    """

    place = "on Dask"

    def __init__(
        self,
        engine: Engine,
        rows: Held,
        descriptions: Sequence[blocks.Description],
    ) -> None:
        self.lengths = [description.n_rows for description in descriptions]
        self._stored = sum(description.stored for description in descriptions)
        super().__init__((sum(self.lengths), descriptions[0].n_features))
        self.borders = np.concatenate([[0], np.cumsum(self.lengths)])
        self.engine = engine
        self.log = engine.log
        self._rows = rows
        self._unit: Any = None
        self._row_units: Any = None

    @property
    def handles(self) -> list[Any]:
        """One handle for each block."""
        return self._rows.handles

    @property
    def stored(self) -> int:
        """The number of entries in all blocks."""
        return self._stored

    @property
    def n_partitions(self) -> int:
        """The number of blocks, those without rows included."""
        return len(self.lengths)

    @classmethod
    def of(cls, X: Any) -> DaskDesign:
        """Load a Dask collection, or find out the shape of its blocks where they stay outside memory."""
        partitions = as_partitions(X)
        engine = current_engine()
        handles = partitions.blocks if partitions.loaded else engine.load(partitions.blocks)
        rows = HeldRows(engine, list(handles), partitions.kept)
        engine.restore = rows.restore
        descriptions = engine.round(lambda: engine.each(blocks.describe, rows.handles))
        check_descriptions(descriptions, partitions)
        rows.loaded = True
        design = cls(engine, rows, descriptions)
        design.feature_names = partitions.feature_names
        return design

    def slices(self, column: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut one entry per row into the parts of the partitions."""
        return [column[begin:end] for begin, end in pairwise(self.borders)]

    def placed_for(self, loss: Any, tol: float) -> tuple[Design, Any]:
        """Return the design and the loss to solve with: those for which a round moves the fewest bytes."""
        from rankwise.distributed.whole_queries import whole_queries

        pair = whole_queries(self, loss)
        if pair is not None:
            return pair
        if not self.engine.remote or not isinstance(loss, Hinge):
            return self, loss
        return self._for_hinge(loss, tol), loss

    def _for_hinge(self, loss: Hinge, tol: float) -> DaskDesign:
        """Return the same rows with four bytes per score and, where pairs count alike, a coefficient."""
        design = copy(self)
        design.__dict__.pop("precision", None)
        design._known_errors = {"score_error": SCORE_SHARE * tol}
        if loss.preferences.counts_pairs:
            design._set_unit(loss.factor)
        return design

    def _set_unit(self, factor: Any) -> None:
        self._unit = self._row_units = factor
        if np.ndim(factor) == 1:
            parts = self.slices(factor)
            self._row_units = Held(
                self.engine, lambda: self.engine.each(same, self.engine.spread(parts, self.handles))
            )

    def _matvec(self, w: NDArray) -> FloatVector:
        return self._scores(
            blocks.times, w.ravel(), [self._known_errors.get("score_error", 0.0)] * self.n_partitions
        )

    def _matmat(self, W: NDArray) -> FloatVector:
        return self._scores(blocks.times_matrix, W)

    def _scores(self, function: Any, w: NDArray, *columns: Any) -> FloatVector:
        w = np.ascontiguousarray(w, dtype=np.float64)

        def send() -> list[Any]:
            sent = [self.engine.common(w)] * self.n_partitions
            return self.engine.each(function, self.handles, sent, *columns)

        return np.concatenate([decode_scores(part) for part in self.engine.round(send)])

    def _rmatvec(self, c: NDArray) -> FloatVector:
        counts = encode_counts(c.ravel().astype(np.float64, copy=False), self._unit)
        if counts.dtype != np.int32:
            return self._sum(blocks.adjoint, counts)
        return self._sum(blocks.adjoint, counts, self._units)

    def _rmatmat(self, C: NDArray) -> FloatVector:
        return self._sum(blocks.adjoint_matrix, np.ascontiguousarray(C, dtype=np.float64))

    def _units(self) -> list[Any]:
        """Return each partition's factor: one number for all rows, or one per row that stays there."""
        if isinstance(self._row_units, Held):
            return self._row_units.handles
        return [self._row_units] * self.n_partitions

    def _sum(
        self, function: Any, column: NDArray[Any], more: Callable[[], list[Any]] | None = None
    ) -> FloatVector:
        """Sum what a function gives for each block and its part of the column."""
        parts = self.slices(column)

        def send() -> list[Any]:
            sent = [self.engine.spread(parts, self.handles)] + ([] if more is None else [more()])
            return [self.engine.total(self.engine.each(function, self.handles, *sent))]

        return np.asarray(self.engine.round(send)[0], dtype=np.float64)

    def weighted_squares(self, c: FloatVector) -> FloatVector:
        """Return the sum over rows of c_i x_ij^2 for each column j."""
        return self._sum(blocks.squares, c)

    def weighted_spread(self, c: FloatVector) -> FloatVector:
        """Return the weighted spread of each column, in one round."""
        return spread_of(self._sum(blocks.spread_sums, c))

    def column_scale(self) -> FloatVector:
        """Return the largest absolute value of each column."""
        return np.max(self.engine.round(lambda: self.engine.each(blocks.scale, self.handles)), axis=0)

    def normal_equations(self, loss: Any) -> tuple[FloatVector, FloatVector]:
        """Return X'L X and X'r of least squares."""
        from rankwise.distributed.normal_equations import normal_equations

        return normal_equations(self, loss)

    def take(self, rows: NDArray[np.int64]) -> DaskDesign:
        """Return the design of some of the rows, in as many partitions; the rows are in ascending order."""
        parts = [
            rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)] - begin
            for begin, end in pairwise(self.borders)
        ]

        def make() -> list[Any]:
            return self.engine.each(blocks.taken, self.handles, self.engine.spread(parts, self.handles))

        shapes = [blocks.Description(len(part), self.shape[1], 0, "") for part in parts]
        bytes_held = 12 * self.stored * len(rows) / max(1, self.shape[0])
        fits = self.engine.may_hold(bytes_held)
        held = Held(self.engine, make) if fits else HeldRows(self.engine, make())
        return DaskDesign(self.engine, held, shapes)


def spread_of(sums: FloatVector) -> FloatVector:
    """Return the spread of columns from the sums that `blocks.spread_sums` gives."""
    n = (len(sums) - 1) // 2
    squares, means, total = sums[:n], sums[n:-1], float(sums[-1])
    return np.maximum(squares - means**2 / total if total > 0 else squares, 0.0)


def check_descriptions(descriptions: Sequence[blocks.Description], partitions: Partitions) -> None:
    """Refuse partitions that do not make a matrix, or have rows that cannot be used."""
    if not descriptions:
        raise ValueError("X has no partitions.")
    for number, description in enumerate(descriptions):
        if description.n_features != descriptions[0].n_features:
            raise ValueError(
                f"Partition {number} of X has {description.n_features} features, but partition 0 has "
                f"{descriptions[0].n_features}."
            )
        if description.problem:
            raise ValueError(f"Partition {number} of X {description.problem}.")
    lengths = [description.n_rows for description in descriptions]
    if partitions.lengths is not None and lengths != [int(length) for length in partitions.lengths]:
        raise ValueError(
            f"The partitions of X have {lengths} rows, but were said to have {partitions.lengths}."
        )
