"""The data matrix in partitions: X w and X'c as rounds of messages between driver and workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.data.design import Design
from rankwise.distributed import blocks
from rankwise.distributed.client import current_engine
from rankwise.distributed.codec import decode_scores, encode_counts
from rankwise.distributed.collections import Partitions, as_partitions
from rankwise.distributed.engine import Engine, Pinned, PinnedRows, identity
from rankwise.distributed.partitioned import ENTRY_BYTES, PartitionedDesign
from rankwise.distributed.remote_labels import RemotePreferences, RemoteRows
from rankwise.losses import Hinge

# The error of scores as a fraction of the tolerance; the error of the hinge loss is at most twice as large.
SCORE_ERROR_FRACTION = 1e-3


class DaskDesign(PartitionedDesign):
    """Rows in partitions on the workers of a Dask client or, without a client, on this machine.

    A product with X sends w once and returns 8 bytes per row; one with X' sends 8 bytes per row and returns
    X' c, summed in a tree. With an unweighted hinge loss both are 4 bytes per row (see `codec`). With a
    client, the blocks are loaded once, and again if a worker is lost. Without one, threads load them in every
    round, a few at a time, and together they may be larger than memory.

    Parameters
    ----------
    engine : Engine
        What runs functions on the partitions.
    rows : Pinned
        The blocks.
    descriptions : list of Description
        The sizes of the partitions.
    """

    location = "on Dask"

    def __init__(
        self,
        engine: Engine,
        rows: Pinned,
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
        """One handle per block."""
        return self._rows.handles

    @property
    def stored(self) -> int:
        """The number of entries in all blocks."""
        return self._stored

    @property
    def nbytes(self) -> int:
        """The bytes of all blocks, about."""
        return ENTRY_BYTES * self.stored

    def __getitem__(self, rows: Any) -> Design:
        """Return some of the rows, given in ascending order or by a mask, as the rows of a fold."""
        numbers = np.arange(self.shape[0])[rows]
        if (numbers[1:] < numbers[:-1]).any():
            raise ValueError(f"The rows of a fold must be in ascending order, as X is {self.location}.")
        return self.take(numbers)

    @property
    def n_partitions(self) -> int:
        """The number of blocks, including those without rows."""
        return len(self.lengths)

    @classmethod
    def of(cls, X: Any) -> DaskDesign:
        """Load a Dask collection; without a client, only find the shapes of its blocks."""
        partitions = as_partitions(X)
        engine = current_engine()
        handles = partitions.blocks if partitions.loaded else engine.load(partitions.blocks)
        rows = PinnedRows(engine, list(handles), partitions.kept)
        engine.restore = rows.restore
        descriptions = engine.execute(lambda: engine.map(blocks.describe, rows.handles))
        check_descriptions(descriptions, partitions)
        rows.loaded = True
        design = cls(engine, rows, descriptions)
        design.feature_names = partitions.feature_names or descriptions[0].feature_names
        return design

    def placed_for(self, loss: Any, tol: float | None = None) -> tuple[Design, Any]:
        """Return the design and the loss to solve with, those for which a round moves the fewest bytes.

        Without a tolerance, a loss of labels in memory stays there.
        """
        from rankwise.distributed.whole_queries import whole_queries

        if tol is None and not isinstance(loss.preferences, RemotePreferences):
            return self, loss
        pair = whole_queries(self, loss)
        if pair is not None:
            return pair
        if tol is None or not self.engine.remote or not isinstance(loss, Hinge):
            return self, loss
        return self._for_hinge(loss, tol), loss

    def _for_hinge(self, loss: Hinge, tol: float) -> DaskDesign:
        """Return the same rows with four bytes per score and, if all pairs have equal weight, coefficient."""
        design = copy(self)
        design.__dict__.pop("precision", None)
        design._known_errors = {"score_error": SCORE_ERROR_FRACTION * tol}
        if loss.preferences.counts_pairs:
            design._set_unit(loss.factor)
        return design

    def _set_unit(self, factor: Any) -> None:
        self._unit = self._row_units = factor
        if np.ndim(factor) == 1:
            parts = self.slices(factor)
            self._row_units = Pinned(
                self.engine, lambda: self.engine.map(identity, self.engine.scatter(parts, self.handles))
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
            sent = [self.engine.broadcast(w)] * self.n_partitions
            return self.engine.map(function, self.handles, sent, *columns)

        parts = [decode_scores(part) for part in self.engine.execute(send)]
        return np.concatenate(parts, axis=-1 if function is blocks.times_each else 0)

    def matvecs(self, W: NDArray) -> FloatVector:
        """Return X w for each row w of W, in one round."""
        return self._scores(blocks.times_each, W)

    def rmatvecs(self, C: NDArray) -> FloatVector:
        """Return X' c for each row c of C, in one round."""
        return self._sum(blocks.adjoint_each, np.asarray(C, dtype=np.float64), axis=1)

    def _rmatvec(self, c: NDArray) -> FloatVector:
        counts = encode_counts(c.ravel().astype(np.float64, copy=False), self._unit)
        if counts.dtype != np.int32:
            return self._sum(blocks.adjoint, counts)
        return self._sum(blocks.adjoint, counts, self._units)

    def _rmatmat(self, C: NDArray) -> FloatVector:
        return self._sum(blocks.adjoint_matrix, np.ascontiguousarray(C, dtype=np.float64))

    def _units(self) -> list[Any]:
        """Return the factor of each partition: a number, or one number per row on the workers."""
        if isinstance(self._row_units, Pinned):
            return self._row_units.handles
        return [self._row_units] * self.n_partitions

    def _sum(
        self,
        function: Any,
        column: NDArray[Any],
        more: Callable[[], list[Any]] | None = None,
        axis: int = 0,
    ) -> FloatVector:
        """Return the sum over blocks of a function of the block and its part of the column."""
        parts = self.slices(column, axis)

        def send() -> list[Any]:
            sent = [self.engine.scatter(parts, self.handles)] + ([] if more is None else [more()])
            return [self.engine.total(self.engine.map(function, self.handles, *sent))]

        return np.asarray(self.engine.execute(send)[0], dtype=np.float64)

    def weighted_squares(self, c: FloatVector) -> FloatVector:
        """Return the sum over rows of c_i x_ij^2 for each column j."""
        return self._sum(blocks.squares, c)

    def weighted_spread(self, c: FloatVector) -> FloatVector:
        """Return the weighted spread of each column, in one round."""
        return spread_of(self._sum(blocks.spread_sums, c))

    def column_scale(self) -> FloatVector:
        """Return the largest absolute value of each column."""
        return np.max(self.engine.execute(lambda: self.engine.map(blocks.scale, self.handles)), axis=0)

    def normal_equations(self, loss: Any) -> tuple[FloatVector, FloatVector]:
        """Return X'L X and X'r of least squares."""
        from rankwise.distributed.normal_equations import normal_equations

        return normal_equations(self, loss)

    def sampled(self, rows: Any) -> Design | None:
        """Return some of the rows, in ascending order: on the driver if they are few."""
        return self.take(rows) if isinstance(rows, RemoteRows) else super().sampled(rows)

    def take(self, rows: Any) -> Design:
        """Return the design of some of the rows, in ascending order, with as many partitions.

        Rows that were drawn on the workers are few, and are brought to the driver.
        """
        if isinstance(rows, RemoteRows):
            return self.fetched(lambda: rows.handles)
        parts = self.rows_by_partition(rows)

        def make() -> list[Any]:
            return self.engine.map(blocks.taken, self.handles, self.engine.scatter(parts, self.handles))

        shapes = [blocks.Description(len(part), self.shape[1], 0, "") for part in parts]
        bytes_held = ENTRY_BYTES * self.stored * len(rows) / max(1, self.shape[0])
        fits = self.engine.can_persist(bytes_held)
        held = Pinned(self.engine, make) if fits else PinnedRows(self.engine, make())
        return DaskDesign(self.engine, held, shapes)


def spread_of(sums: FloatVector) -> FloatVector:
    """Return the spread of columns from the result of `blocks.spread_sums`."""
    n = (len(sums) - 1) // 2
    squares, means, total = sums[:n], sums[n:-1], float(sums[-1])
    return np.maximum(squares - means**2 / total if total > 0 else squares, 0.0)


def check_descriptions(descriptions: Sequence[blocks.Description], partitions: Partitions) -> None:
    """Refuse partitions with unequal columns or with invalid values."""
    blocks.check_columns(descriptions, partitions.feature_names)
    for number, description in enumerate(descriptions):
        if description.problem:
            raise ValueError(f"Partition {number} of X {description.problem}.")
    lengths = [description.n_rows for description in descriptions]
    if partitions.lengths is not None and lengths != [int(length) for length in partitions.lengths]:
        raise ValueError(f"The partitions of X have {lengths} rows, but {partitions.lengths} were expected.")
