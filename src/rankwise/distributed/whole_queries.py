"""Rounds in which no score travels: where no query is cut, each worker counts the pairs of its own rows.

The solvers are the same. They add scores, multiply them by numbers, hand them to a loss and hand what it
gives to the design; `Scores` and `Coefficients` do these things with vectors that stay on the workers. So a
round sends w and brings X' c, and a step on a line sends one number and brings the value and the slope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.distributed import blocks
from rankwise.distributed.design import DaskDesign, spread_of
from rankwise.distributed.engine import Engine, Held
from rankwise.distributed.groups import split_groups
from rankwise.losses import LeastSquares, PairwiseLoss, PiecewiseLinear
from rankwise.losses.base import ScoreHessian
from rankwise.preferences.base import Preferences

# What a network moves in the time that a round takes at least (10 ms at 1 Gb/s), and how many rounds more an
# iteration takes when the workers count: least squares need no search on a line, and none more.
ROUND_BYTES = 1_000_000
LINE_ROUNDS = 6


def whole_queries(design: DaskDesign, loss: Any) -> tuple[WholeQueryDesign, Any] | None:
    """Return a design and a loss that leave scores on the workers, where possible and cheaper.

    With P partitions a round moves 16 n P bytes, but steps on a line are rounds of their own; with scores
    it moves 8 m + 16 n.
    """
    m, n = design.shape
    squares = isinstance(loss, LeastSquares)
    cost = 16 * n * design.n_partitions + (0 if squares else LINE_ROUNDS * ROUND_BYTES)
    if not design.engine.remote or cost > 8 * m + 16 * n:
        return None
    if squares and loss.pull.ndim > 1:  # several outputs
        return None
    if split_groups(loss.preferences.groups(), design.borders).any():
        return None
    design.engine.log.mode = "whole queries"
    whole = WholeQueryDesign(design)
    if not squares:
        return whole, WorkerLoss(whole, loss)
    from rankwise.distributed.whole_squares import WorkerSquares

    return whole, WorkerSquares(whole, loss)


class Image(Held):
    """The scores X w, held by the workers; they are computed from w again when a worker is lost."""

    def __init__(self, design: WholeQueryDesign, w: FloatVector, handles: list[Any] | None = None):
        super().__init__(design.engine, lambda: design.send_weights(w))
        self.w = w
        if handles is not None:
            self._handles, self._generation = handles, design.engine.generation


class Scores:
    """A sum of images, each times a number. It is summed on the workers when it has more than two terms."""

    MOST_TERMS = 2
    __array_ufunc__ = None  # numpy's numbers leave products with scores to __rmul__

    def __init__(self, design: WholeQueryDesign, terms: dict[Image, float]):
        self.design = design
        self.terms = terms

    def __add__(self, other: Scores) -> Scores:
        if len(self.terms.keys() | other.terms.keys()) > self.MOST_TERMS:
            self._settle()
            other._settle()
        images = [*self.terms, *(image for image in other.terms if image not in self.terms)]
        sums = {image: self.terms.get(image, 0.0) + other.terms.get(image, 0.0) for image in images}
        return Scores(self.design, sums)

    def __mul__(self, factor: float) -> Scores:
        return Scores(self.design, {image: factor * share for image, share in self.terms.items() if factor})

    __rmul__ = __mul__

    def __sub__(self, other: Scores) -> Scores:
        return self + -1.0 * other

    def _settle(self) -> None:
        """Become a single image of the same value."""
        if len(self.terms) > 1:
            handles = self.design.engine.each(blocks.combined, *self.columns())
            w = np.sum([share * image.w for image, share in self.terms.items()], axis=0)
            self.terms = {Image(self.design, w, handles): 1.0}

    def columns(self) -> tuple[list[Any], list[Any]]:
        """Return the numbers and the vectors of the terms, for each partition."""
        vectors = [list(parts) for parts in zip(*(image.handles for image in self.terms), strict=True)]
        n_partitions = self.design.n_partitions
        return [tuple(self.terms.values())] * n_partitions, vectors or [[]] * n_partitions


class Coefficients(Held):
    """One number a row that a loss gave, held by the workers, with its products with some images."""

    ndim = 1

    def __init__(self, engine: Engine, function: Callable, columns: Callable[[], Sequence[Any]]):
        super().__init__(engine, lambda: engine.each(function, *columns()))
        self._function, self._columns = function, columns
        self.products: dict[Image, float] = {}

    def used_by(self, function: Callable, rows: Sequence[Any]) -> list[Any]:
        """Call a function of rows and coefficients for each partition; those not held are made on the way."""
        if self.held:
            return self._engine.each(function, rows, self.handles)
        return self._engine.each(partial(on_the_way, function, self._function), rows, *self._columns())

    def __matmul__(self, scores: Scores) -> float:
        for image in scores.terms:
            if image not in self.products:
                self.products[image] = self._product(image)
        return sum(share * self.products[image] for image, share in scores.terms.items())

    def _product(self, image: Image) -> float:
        engine = self._engine
        parts = engine.round(lambda: engine.each(blocks.dot, self.handles, image.handles))
        return float(np.sum(parts))


class WholeQueryDesign(DaskDesign):
    """The same rows; the products with X stay on the workers."""

    def __init__(self, design: DaskDesign) -> None:
        shapes = [blocks.Description(length, design.shape[1], 0, "") for length in design.lengths]
        super().__init__(design.engine, design._rows, shapes)

    def send_weights(self, w: FloatVector) -> list[Any]:
        """Let each worker compute the scores of its rows."""
        return self.engine.each(blocks.times, self.handles, [self.engine.common(w)] * self.n_partitions)

    def matvec(self, w: Any) -> Any:
        """Return the scores X w, which the workers keep; nothing is waited for."""
        return Scores(self, {Image(self, np.ascontiguousarray(w, dtype=np.float64)): 1.0})

    def rmatvec(self, c: Any) -> FloatVector:
        """Return X' c."""
        return self._sum_held(blocks.adjoint, c)

    def weighted_spread(self, c: Any) -> FloatVector:
        """Return the weighted spread of each column."""
        return spread_of(self._sum_held(blocks.spread_sums, c))

    def _sum_held(self, function: Callable, c: Coefficients) -> FloatVector:
        engine = self.engine
        return engine.round(lambda: [engine.total(c.used_by(function, self.handles))])[0]


class WorkerLoss:
    """A pairwise loss that each worker evaluates on its own rows; the values are added.

    A partition's mean over its pairs enters with its share of what all pairs count.
    """

    def __init__(self, design: WholeQueryDesign, loss: PairwiseLoss):
        self._design, self.at_zero, self.bounds = design, loss.at_zero, loss.bounds
        engine = design.engine
        pieces = local_pieces(loss, design.borders)
        kind, average = type(loss), loss.average

        def make() -> list[Any]:
            n = design.n_partitions
            sent = engine.spread(pieces, design.handles)
            return engine.each(LocalLoss, [kind] * n, sent, [average] * n)

        self._losses = Held(engine, make)

    def plane(self, scores: Scores) -> tuple[float, Coefficients, float]:
        """Return the loss, a subgradient and the offset of its plane, in one round."""
        engine = self._design.engine
        parts = engine.round(lambda: engine.each(evaluate, self._losses.handles, *scores.columns()))
        value, offset, *products = np.sum(parts, axis=0).tolist()
        # Few of the points on a line need their slopes: they are computed again there, rather than held.
        coefficients = Coefficients(engine, slopes, lambda: (self._losses.handles, *scores.columns()))
        coefficients.products = dict(zip(scores.terms, products, strict=True))
        return value, coefficients, offset

    def value_and_coefficients(self, scores: Scores) -> tuple[float, Coefficients]:
        """Return the loss and its derivative by each score."""
        value, coefficients, _ = self.plane(scores)
        return value, coefficients

    def value(self, scores: Scores) -> float:
        """Return the loss alone."""
        return self.plane(scores)[0]

    def hessian(self, scores: Scores) -> ScoreHessian:
        """Return the Hessian at the scores; its products stay on the workers."""
        engine = self._design.engine
        held = Held(engine, lambda: engine.each(LocalHessian, self._losses.handles, *scores.columns()))

        def product(direction: Any) -> Any:
            return Coefficients(engine, LocalHessian.times, lambda: (held.handles, *direction.columns()))

        diagonal: Any = Coefficients(engine, LocalHessian.diagonal, lambda: (held.handles,))
        return ScoreHessian(diagonal, product)


@dataclass(frozen=True)
class Piece:
    """The preferences among the rows of one partition, and what its pairs count of all.

    Not a tuple: Dask would take one apart, and older versions cannot put a named one together again.
    """

    preferences: Preferences
    share: float


def cut_preferences(preferences: Preferences, borders: NDArray[np.int64]) -> list[Preferences]:
    """Cut preferences at the borders of the partitions."""
    return [preferences[begin:end].renumbered() for begin, end in pairwise(borders)]


def local_pieces(loss: PairwiseLoss, borders: NDArray[np.int64]) -> list[Piece]:
    """Cut the preferences of a loss, and tell what the pairs of each piece count of all."""
    pieces = cut_preferences(loss.preferences, borders)
    parts = np.split(loss.preferences.row_shares(loss.average), borders[1:-1])
    return [Piece(piece, float(part.sum())) for piece, part in zip(pieces, parts, strict=True)]


class LocalLoss:
    """The loss of one partition's rows, times its share of all pairs; a partition without pairs has none."""

    def __init__(self, kind: type, piece: Piece, average: str):
        self.share = piece.share
        self.n_rows = piece.preferences.n_rows
        self.loss: Any = kind(piece.preferences, average=average) if piece.share > 0 else None

    def plane(self, scores: FloatVector) -> tuple[float, FloatVector, float]:
        """Return the value, the slopes and the offset."""
        if self.loss is None:
            return 0.0, np.zeros(self.n_rows), 0.0
        if isinstance(self.loss, PiecewiseLinear):
            value, slopes, offset = self.loss.plane(scores)
        else:
            (value, slopes), offset = self.loss.value_and_coefficients(scores), 0.0
        return self.share * value, self.share * slopes, self.share * offset


def on_the_way(use: Callable, make: Callable, rows: Any, *arguments: Any) -> Any:
    """Return a function of rows and of coefficients that are made here: Dask is told of one task, not two."""
    return use(rows, make(*arguments))


def evaluate(loss: LocalLoss, numbers: tuple[float, ...], vectors: list[FloatVector]) -> FloatVector:
    """Return the loss at a sum of vectors, the offset, and the products of its slopes with each vector."""
    value, slopes, offset = loss.plane(blocks.combined(numbers, vectors, loss.n_rows))
    return np.array([value, offset, *(slopes @ vector for vector in vectors)])


def slopes(loss: LocalLoss, numbers: tuple[float, ...], vectors: list[FloatVector]) -> FloatVector:
    """Return the derivative of the loss by each score."""
    return loss.plane(blocks.combined(numbers, vectors, loss.n_rows))[1]


class LocalHessian:
    """The Hessian of a partition's loss. It is rebuilt, not copied, where Dask moves it to another worker."""

    def __init__(self, loss: LocalLoss, numbers: tuple[float, ...], vectors: list[FloatVector]):
        self._parts = loss, blocks.combined(numbers, vectors, loss.n_rows)
        self._hessian = None if loss.loss is None else loss.loss.hessian(self._parts[1])

    def __reduce__(self) -> Any:
        loss, scores = self._parts
        return LocalHessian, (loss, (1.0,), [scores])

    def diagonal(self) -> FloatVector:
        """Return the diagonal."""
        loss, scores = self._parts
        return np.zeros_like(scores) if self._hessian is None else loss.share * self._hessian.diagonal

    def times(self, numbers: tuple[float, ...], vectors: list[FloatVector]) -> FloatVector:
        """Return the product with a sum of vectors."""
        loss, scores = self._parts
        direction = blocks.combined(numbers, vectors, len(scores))
        return (
            np.zeros_like(scores) if self._hessian is None else loss.share * self._hessian.product(direction)
        )
