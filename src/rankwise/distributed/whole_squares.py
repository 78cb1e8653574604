"""Pairwise least squares if no query is split over partitions: each worker has a diagonal block of L."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.distributed import blocks
from rankwise.distributed.engine import Pinned
from rankwise.distributed.whole_queries import Coefficients, Scores, WholeQueryDesign, cut_preferences
from rankwise.losses import LeastSquares
from rankwise.preferences.base import Preferences


class WorkerSquares:
    """Least squares over all pairs as a sum over partitions; see `LeastSquares`."""

    def __init__(self, design: WholeQueryDesign, loss: LeastSquares):
        pieces = cut_preferences(loss.preferences, design.borders)
        traces = [float(part.sum()) for part in design.slices(loss.diagonal)]
        options, engine = [loss.options] * design.n_partitions, design.engine
        self._engine = engine
        self._losses = Pinned(
            engine,
            lambda: engine.map(LocalSquares, engine.scatter(pieces, design.handles), traces, options),
        )
        self.constant, self.bounds = loss.constant, loss.bounds
        self.pull = self._coefficients(LocalSquares.pull)
        self.diagonal = self._coefficients(LocalSquares.diagonal)

    def _coefficients(self, function: Any, scores: Scores | None = None) -> Coefficients:
        def columns() -> tuple[Any, ...]:
            return (self._losses.handles, *(() if scores is None else scores.columns()))

        return Coefficients(self._engine, function, columns)

    def product(self, scores: Scores) -> Coefficients:
        """Return L times the scores."""
        return self._coefficients(LocalSquares.times, scores)

    def value_and_coefficients(self, scores: Scores) -> tuple[float, Coefficients]:
        """Return the loss and its derivative by each score."""
        parts = self._engine.execute(
            lambda: self._engine.map(LocalSquares.value, self._losses.handles, *scores.columns())
        )
        return float(np.sum(parts)), self._coefficients(LocalSquares.slopes, scores)


class LocalSquares:
    """Least squares over one partition, times its fraction of the weight of all pairs.

    The fraction is the ratio of two traces: of its block of the L of all pairs, and of its own L.
    """

    def __init__(self, preferences: Preferences, trace: float, options: dict[str, Any]):
        self._n_rows = preferences.n_rows
        self._loss = LeastSquares(preferences, **options) if trace > 0 else None
        self._fraction = trace / float(self._loss.diagonal.sum()) if self._loss is not None else 0.0

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

    def _evaluated(self, numbers: tuple[float, ...], vectors: list[FloatVector]) -> tuple[float, FloatVector]:
        if self._loss is None:
            return 0.0, np.zeros(self._n_rows)
        scores = blocks.combined(numbers, vectors, self._n_rows)
        value, slopes = self._loss.value_and_coefficients(scores)
        return self._fraction * float(value), self._fraction * slopes
