"""Some of the rows of a design in partitions: folds, samples, and the spread of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.data.design import Design, as_design, row_blocks
from rankwise.distributed import blocks
from rankwise.distributed.engine import Engine

# The bytes of a stored entry and its index, and of rows or scores that may be on the driver for some time.
ENTRY_BYTES, FETCHED_BYTES = 12, 1 << 30


class PartitionedDesign(Design):
    """A design in partitions, and what it does with some of its rows.

    Attributes
    ----------
    engine : Engine
    lengths : list of int
        The number of rows of each partition.
    borders : array of int of shape (n_partitions + 1,)
        The first row of each partition, and the number of rows.
    """

    engine: Engine
    lengths: list[int]
    borders: NDArray[np.int64]

    @property
    def handles(self) -> list[Any]:
        """One handle per block."""
        raise NotImplementedError(f"{type(self).__name__} does not define handles.")

    def slices(self, column: NDArray[Any], axis: int = 0) -> list[NDArray[Any]]:
        """Split a column with one entry per row, or an array with an axis of rows, by partition."""
        return np.split(column, self.borders[1:-1], axis=axis)

    def equations_of_parts(
        self, loss: Any, parts: Iterable[NDArray[np.int64]]
    ) -> list[tuple[FloatVector, FloatVector]]:
        """Return the contributions of parts of the rows to X'L X and X'r; no pair joins two parts."""
        from rankwise.distributed.normal_equations import equations_of_parts

        return equations_of_parts(self, loss, list(parts))

    def scores_of_parts(self, functions: FloatVector, parts: list[NDArray[np.int64]]) -> list[FloatVector]:
        """Return the scores of the rows of each part by functions of its own, each of (n_functions, n_rows).

        `functions` has shape (n_parts, n_functions, n_features). One round serves as many functions as the
        driver can hold the scores of.
        """
        m, engine, found = self.shape[0], self.engine, []
        columns = self.slices(numbers_of_parts(parts, m))
        for some in row_blocks(functions.shape[1], 8 * m, FETCHED_BYTES):
            sent = np.ascontiguousarray(functions[:, some])

            def send(sent: FloatVector = sent) -> list[Any]:
                weights = [engine.broadcast(sent)] * len(columns)
                return engine.map(
                    blocks.part_scores, self.handles, engine.scatter(columns, self.handles), weights
                )

            found.append(np.concatenate(engine.execute(send), axis=1))
        scores = np.concatenate(found)
        return [scores[:, part] for part in parts]

    def column_spread(self, rows: NDArray[np.int64]) -> FloatVector:
        """Return the standard deviation of each column over some of the rows, in ascending order."""
        number, mean, squares = np.transpose(self._of_rows(blocks.moments, rows), (1, 0, 2))
        total = np.maximum(number.sum(axis=0), 1.0)
        between = number * (mean - (number * mean).sum(axis=0) / total) ** 2
        return np.sqrt((squares + between).sum(axis=0) / total)

    def sampled(self, rows: NDArray[np.int64]) -> Design | None:
        """Return some of the rows, in ascending order: on the driver if they are few."""
        if ENTRY_BYTES * self.stored * len(rows) > FETCHED_BYTES * self.shape[0]:
            return self.take(rows)
        parts = self.rows_by_partition(rows)
        return self.fetched(lambda: self.engine.scatter(parts, self.handles))

    def fetched(self, rows: Callable[[], list[Any]]) -> Design:
        """Bring rows to the driver; `rows` returns the handles of their numbers in each partition."""
        parts = self.engine.execute(lambda: self.engine.map(blocks.row_copies, self.handles, rows()))
        return as_design(sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts))

    def _of_rows(self, function: Any, rows: NDArray[np.int64]) -> list[Any]:
        """Return the results of a function of each block and the numbers of some of its rows."""
        engine, parts = self.engine, self.rows_by_partition(rows)
        return engine.execute(lambda: engine.map(function, self.handles, engine.scatter(parts, self.handles)))

    def rows_by_partition(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the numbers of some rows, in ascending order, within their partitions."""
        return [
            rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)] - begin
            for begin, end in pairwise(self.borders)
        ]


def numbers_of_parts(parts: Sequence[NDArray[np.int64]], n_rows: int) -> NDArray[np.int64]:
    """Return the number of each row's part, and -1 for rows in none.

    Examples
    --------
    >>> numbers_of_parts([np.array([0, 2]), np.array([3])], 4)
    array([ 0, -1,  0,  1])
    """
    numbers = np.full(n_rows, -1, dtype=np.int64)
    for number, rows in enumerate(parts):
        numbers[rows] = number
    return numbers
