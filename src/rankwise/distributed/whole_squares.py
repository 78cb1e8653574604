"""Pairwise least squares if no query is split over partitions: each worker has a diagonal block of L."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwise.core.checks import check_size
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.distributed import blocks
from rankwise.distributed.engine import Engine, Pinned
from rankwise.distributed.partitioned import PartitionedDesign
from rankwise.distributed.remote_labels import RemotePreferences
from rankwise.distributed.whole_queries import (
    Coefficients,
    PartitionPreferences,
    Scores,
    cut_preferences,
    piece_of,
)
from rankwise.losses import LeastSquares
from rankwise.losses.base import LossBounds
from rankwise.losses.least_squares import keeps_ties


class WorkerSquares:
    """Least squares over all pairs as a sum over partitions; see `LeastSquares`.

    Parameters
    ----------
    engine : Engine
    pieces : callable
        Returns a handle of `PartitionPreferences` per partition.
    options : dict
        Options of `LeastSquares`.
    """

    def __init__(self, engine: Engine, pieces: Callable[[], list[Any]], options: dict[str, Any]):
        self._engine = engine

        def make() -> list[Any]:
            located = pieces()
            return engine.map(LocalSquares, located, [options] * len(located))

        self.losses = Pinned(engine, make)
        parts = engine.execute(lambda: engine.map(LocalSquares.totals, self.losses.handles))
        self.constant, mass, n_dense = np.sum(parts, axis=0).tolist()
        self.bounds = LossBounds(curvature=2.0, mass=mass, at_zero=self.constant)
        self.root_is_sparse = n_dense == 0
        self.pull = self._coefficients(LocalSquares.pull)
        self.diagonal = self._coefficients(LocalSquares.diagonal)

    @classmethod
    def of(cls, design: PartitionedDesign, loss: LeastSquares) -> WorkerSquares:
        """Send the preferences of a loss in memory to the workers."""
        shares = [float(part.sum()) for part in design.slices(loss.row_shares())]
        parts = cut_preferences(loss.preferences, design.borders)
        pieces = [PartitionPreferences(*one) for one in zip(parts, shares, strict=True)]
        return cls(design.engine, lambda: design.engine.scatter(pieces, design.handles), loss.options)

    def _coefficients(self, function: Any, scores: Scores | None = None) -> Coefficients:
        def columns() -> tuple[Any, ...]:
            return (self.losses.handles, *(() if scores is None else scores.columns()))

        return Coefficients(self._engine, function, columns)

    def product(self, scores: Scores) -> Coefficients:
        """Return L times the scores."""
        return self._coefficients(LocalSquares.times, scores)

    def value_and_coefficients(self, scores: Scores) -> tuple[float, Coefficients]:
        """Return the loss and its derivative by each score."""
        parts = self._engine.execute(
            lambda: self._engine.map(LocalSquares.value, self.losses.handles, *scores.columns())
        )
        return float(np.sum(parts)), self._coefficients(LocalSquares.slopes, scores)

    def normal_equations(self, design: PartitionedDesign) -> tuple[FloatArray, FloatArray]:
        """Return X'L X and X'r; each partition sends n (n + 1) numbers."""
        engine = self._engine
        total = engine.execute(
            lambda: [engine.total(engine.map(local_equations, design.handles, self.losses.handles))]
        )[0]
        return total[:, :-1], total[:, -1]


def remote_squares(preferences: RemotePreferences, *, labels: None = None, **options: Any) -> WorkerSquares:
    """Return least squares over the pairs of rows whose labels are on the workers."""
    assert labels is None, "several outputs have their labels in memory"
    check_size("y", preferences.largest_label)
    with_ties = keeps_ties(preferences, options["cost"], options["ties"])
    fractions = preferences.fractions(options["average"], with_ties)
    engine = preferences.engine
    return WorkerSquares(engine, lambda: engine.map(piece_of, preferences.handles, fractions), options)


class LocalSquares:
    """Least squares over one partition, times its fraction of the weight of all pairs."""

    def __init__(self, piece: PartitionPreferences, options: dict[str, Any]):
        self._n_rows, self._fraction = piece.preferences.n_rows, piece.fraction
        self._loss = LeastSquares(piece.preferences, **options) if piece.fraction > 0 else None

    def totals(self) -> FloatVector:
        """Return the loss of zero scores, the weight of all pairs, and 1 if the root of L is dense."""
        if self._loss is None:
            return np.zeros(3)
        constant, mass = self._fraction * self._loss.constant, self._fraction * self._loss.mass
        return np.array([constant, mass, not self._loss.root_is_sparse], dtype=np.float64)

    def pull(self) -> FloatVector:
        """Return the vector r."""
        return np.zeros(self._n_rows) if self._loss is None else self._fraction * self._loss.pull

    def diagonal(self) -> FloatVector:
        """Return the diagonal of L."""
        return np.zeros(self._n_rows) if self._loss is None else self._fraction * self._loss.diagonal

    def times(self, numbers: tuple[float, ...], vectors: list[FloatVector]) -> FloatVector:
        """Return L times a linear combination of vectors."""
        u = blocks.combined(numbers, vectors, self._n_rows)
        return np.zeros(self._n_rows) if self._loss is None else self._fraction * self._loss.product(u)

    def value(self, numbers: tuple[float, ...], vectors: list[FloatVector]) -> float:
        """Return the loss at a linear combination of vectors."""
        return self._evaluated(numbers, vectors)[0]

    def slopes(self, numbers: tuple[float, ...], vectors: list[FloatVector]) -> FloatVector:
        """Return the derivative of the loss at a linear combination of vectors."""
        return self._evaluated(numbers, vectors)[1]

    def equations(self, rows: Design) -> tuple[FloatArray, FloatVector]:
        """Return X'L X and X'r of the rows of the partition."""
        n = rows.shape[1]
        if self._loss is None:
            return np.zeros((n, n)), np.zeros(n)
        gram, pull = rows.normal_equations(self._loss)
        return self._fraction * gram, self._fraction * pull

    def _evaluated(self, numbers: tuple[float, ...], vectors: list[FloatVector]) -> tuple[float, FloatVector]:
        if self._loss is None:
            return 0.0, np.zeros(self._n_rows)
        scores = blocks.combined(numbers, vectors, self._n_rows)
        value, slopes = self._loss.value_and_coefficients(scores)
        return self._fraction * float(value), self._fraction * slopes


def local_equations(rows: Design, loss: LocalSquares) -> FloatArray:
    """Return [X'L X, X'r] of one partition."""
    return np.column_stack(loss.equations(rows))
