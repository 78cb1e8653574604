"""Rounds without scores: if no query is split over partitions, each worker counts the pairs of its rows.

The solvers are the same. They add scores, multiply them by numbers, pass them to a loss and pass its
coefficients to the design; `Scores` and `Coefficients` do so with vectors that stay on the workers. A round
sends w and returns X' c; a step of a line search sends one number and returns the value and the slope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import getitem
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.core.types import FloatVector
from rankwise.distributed import blocks
from rankwise.distributed.design import DaskDesign, spread_of
from rankwise.distributed.engine import Engine, Pinned
from rankwise.distributed.groups import split_groups
from rankwise.distributed.remote_labels import LocalLabels, RemotePreferences
from rankwise.losses import LeastSquares, PairwiseLoss, PiecewiseLinear
from rankwise.losses.base import LossBounds, ScoreHessian
from rankwise.preferences.base import Preferences

# The bytes that a network moves during the latency of a round (10 ms at 1 Gb/s), and the additional rounds
# per iteration if the workers count: those of the line search, which least squares does not need.
ROUND_BYTES = 1_000_000
LINE_ROUNDS = 6


def whole_queries(design: DaskDesign, loss: Any) -> tuple[WholeQueryDesign, Any] | None:
    """Return a design and a loss that leave scores on the workers, if that is possible and cheaper.

    With P partitions a round then moves 16 n P bytes, but each step of a line search is a round. Rounds with
    scores move 8 m + 16 n bytes.
    """
    from rankwise.distributed.whole_squares import WorkerSquares

    if isinstance(loss, WorkerSquares):
        design.engine.log.mode = "whole queries"
        return WholeQueryDesign(design), loss
    squares = isinstance(loss, LeastSquares)
    if not isinstance(loss.preferences, RemotePreferences):
        if not (squares or loss.is_of_pairs):  # workers sum pairs
            return None
        if not whole_queries_pay(design, has_line_search=not squares):
            return None
        if squares and loss.pull.ndim > 1:  # several outputs
            return None
        if split_groups(loss.preferences.groups(), design.borders).any():
            return None
    design.engine.log.mode = "whole queries"
    whole = WholeQueryDesign(design)
    return whole, WorkerSquares.of(whole, loss) if squares else WorkerLoss(whole, loss)


def whole_queries_pay(design: DaskDesign, has_line_search: bool) -> bool:
    """Return whether rounds of whole queries move fewer bytes, or the bytes of their latency."""
    m, n = design.shape
    cost = 16 * n * design.n_partitions + has_line_search * LINE_ROUNDS * ROUND_BYTES
    return design.engine.remote and cost <= 8 * m + 16 * n


class RemoteScores(Pinned):
    """The scores X w on the workers; they are recomputed if a worker is lost, by default from w."""

    def __init__(
        self,
        design: WholeQueryDesign,
        w: FloatVector,
        handles: list[Any] | None = None,
        make: Callable[[], list[Any]] | None = None,
    ):
        super().__init__(design.engine, make or (lambda: design.send_weights(w)))
        self.w = w
        if handles is not None:
            self._handles, self._generation = handles, design.engine.generation


class Scores:
    """A linear combination of remote scores; with more than two terms, the workers compute the sum."""

    MOST_TERMS = 2
    __array_ufunc__ = None  # so that products with numpy's numbers use __rmul__

    def __init__(self, design: WholeQueryDesign, terms: dict[RemoteScores, float]):
        self.design = design
        self.terms = terms

    def __add__(self, other: Scores) -> Scores:
        if len(self.terms.keys() | other.terms.keys()) > self.MOST_TERMS:
            self._settle()
            other._settle()
        scores = [*self.terms, *(term for term in other.terms if term not in self.terms)]
        sums = {term: self.terms.get(term, 0.0) + other.terms.get(term, 0.0) for term in scores}
        return Scores(self.design, sums)

    def __mul__(self, factor: float) -> Scores:
        return Scores(self.design, {term: factor * number for term, number in self.terms.items() if factor})

    __rmul__ = __mul__

    def __sub__(self, other: Scores) -> Scores:
        return self + -1.0 * other

    def _settle(self) -> None:
        """Replace the terms by a single one of the same value."""
        if len(self.terms) > 1:
            handles = self.design.engine.map(blocks.combined, *self.columns())
            w = np.sum([number * term.w for term, number in self.terms.items()], axis=0)
            self.terms = {RemoteScores(self.design, w, handles): 1.0}

    def std(self) -> float:
        """Return the standard deviation over all rows."""
        engine, lengths = self.design.engine, self.design.lengths
        parts = engine.execute(lambda: engine.map(blocks.score_moments, *self.columns(), lengths))
        number, mean, squares = np.transpose(parts)
        total = max(float(number.sum()), 1.0)
        between = number * (mean - number @ mean / total) ** 2
        return float(np.sqrt((squares + between).sum() / total))

    def columns(self) -> tuple[list[Any], list[Any]]:
        """Return the factors and the vectors of the terms, for each partition."""
        vectors = [list(parts) for parts in zip(*(term.handles for term in self.terms), strict=True)]
        n_partitions = self.design.n_partitions
        return [tuple(self.terms.values())] * n_partitions, vectors or [[]] * n_partitions


class Coefficients(Pinned):
    """The derivative of a loss by each score, on the workers, with its products with some scores."""

    ndim = 1

    def __init__(self, engine: Engine, function: Callable, columns: Callable[[], Sequence[Any]]):
        super().__init__(engine, lambda: engine.map(function, *columns()))
        self._function, self._columns = function, columns
        self.products: dict[RemoteScores, float] = {}

    def used_by(self, function: Callable, rows: Sequence[Any]) -> list[Any]:
        """Call a function of rows and coefficients for each partition; compute those not pinned."""
        if self.is_current:
            return self._engine.map(function, rows, self.handles)
        return self._engine.map(partial(composed, function, self._function), rows, *self._columns())

    def __matmul__(self, scores: Scores) -> float:
        for term in scores.terms:
            if term not in self.products:
                self.products[term] = self._product(term)
        return sum(number * self.products[term] for term, number in scores.terms.items())

    def _product(self, term: RemoteScores) -> float:
        engine = self._engine
        parts = engine.execute(lambda: engine.map(blocks.dot, self.handles, term.handles))
        return float(np.sum(parts))


class WholeQueryDesign(DaskDesign):
    """The same rows, with products X w that stay on the workers."""

    def __init__(self, design: DaskDesign) -> None:
        shapes = [blocks.Description(length, design.shape[1], 0, "") for length in design.lengths]
        super().__init__(design.engine, design._rows, shapes)

    def send_weights(self, w: FloatVector) -> list[Any]:
        """Send w to the workers, which compute the scores of their rows."""
        return self.engine.map(blocks.times, self.handles, [self.engine.broadcast(w)] * self.n_partitions)

    def matvec(self, w: Any) -> Any:
        """Return the scores X w, which stay on the workers, without waiting for them."""
        return Scores(self, {RemoteScores(self, np.ascontiguousarray(w, dtype=np.float64)): 1.0})

    def matvecs(self, W: NDArray) -> Any:
        """Return the scores X w for each row w of W, from one pass."""
        engine, n, W = self.engine, self.n_partitions, np.ascontiguousarray(W, dtype=np.float64)
        every = Pinned(engine, lambda: engine.map(blocks.times_each, self.handles, [engine.broadcast(W)] * n))

        def scores_of(k: int) -> Scores:
            def make() -> list[Any]:
                return engine.map(getitem, every.handles, [k] * n)

            return Scores(self, {RemoteScores(self, W[k], make=make): 1.0})

        return [scores_of(k) for k in range(len(W))]

    def rmatvecs(self, C: Any) -> Any:
        """Return X' c for several coefficients, from one pass."""
        engine = self.engine

        def send() -> list[Any]:
            return [engine.total(engine.map(blocks.adjoint_all, self.handles, *(c.handles for c in C)))]

        return engine.execute(send)[0]

    def rmatvec(self, c: Any) -> FloatVector:
        """Return X' c."""
        return self._sum_pinned(blocks.adjoint, c)

    def weighted_spread(self, c: Any) -> FloatVector:
        """Return the weighted spread of each column."""
        return spread_of(self._sum_pinned(blocks.spread_sums, c))

    def _sum_pinned(self, function: Callable, c: Coefficients) -> FloatVector:
        engine = self.engine
        return engine.execute(lambda: [engine.total(c.used_by(function, self.handles))])[0]


def no_scores(design: WholeQueryDesign) -> Scores:
    """Return the scores of zero weights, which need no work."""
    return Scores(design, {})


class WorkerLoss:
    """A pairwise loss as a sum over partitions, each evaluated by its worker.

    The mean over the pairs of a partition is multiplied by their fraction of the weight of all pairs.
    """

    def __init__(self, design: WholeQueryDesign, loss: PairwiseLoss):
        self._design, engine, n = design, design.engine, design.n_partitions
        self.preferences, self.average = loss.preferences, loss.average
        make, average, pieces = loss.maker(), loss.average, located_pieces(design, loss)
        self._losses = Pinned(engine, lambda: engine.map(LocalLoss, [make] * n, pieces(), [average] * n))
        if not isinstance(loss.preferences, RemotePreferences):
            self.at_zero, self.bounds = loss.at_zero, loss.bounds
            return
        self.at_zero = self.value(Scores(design, {}))
        self.bounds = LossBounds(loss.lipschitz, loss.curvature, at_zero=max(1.0, self.at_zero))

    def plane(self, scores: Scores) -> tuple[float, Coefficients, float]:
        """Return the loss, a subgradient and the offset of its plane, in one round."""
        engine = self._design.engine
        parts = engine.execute(lambda: engine.map(evaluate, self._losses.handles, *scores.columns()))
        value, offset, *products = np.sum(parts, axis=0).tolist()
        # Few points of a line search need their slopes, which are recomputed rather than pinned.
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
        held = Pinned(engine, lambda: engine.map(LocalHessian, self._losses.handles, *scores.columns()))

        def product(direction: Any) -> Any:
            return Coefficients(engine, LocalHessian.times, lambda: (held.handles, *direction.columns()))

        diagonal: Any = Coefficients(engine, LocalHessian.diagonal, lambda: (held.handles,))
        return ScoreHessian(diagonal, product)


@dataclass(frozen=True)
class PartitionPreferences:
    """The preferences among the rows of one partition, and their fraction of the weight of all pairs.

    Not a tuple, which Dask traverses; older versions cannot rebuild a named tuple.
    """

    preferences: Preferences
    fraction: float


def located_pieces(design: DaskDesign, loss: PairwiseLoss) -> Callable[[], list[Any]]:
    """Return a function that returns the preferences of each partition as handles."""
    engine, remote = design.engine, loss.preferences
    if isinstance(remote, RemotePreferences):
        fractions = remote.fractions(loss.average)
        return lambda: engine.map(piece_of, remote.handles, fractions)
    pieces = partition_preferences(loss, design.borders)
    return lambda: engine.scatter(pieces, design.handles)


def piece_of(labels: LocalLabels, fraction: float) -> PartitionPreferences:
    """Return the preferences of a partition, on its worker."""
    assert labels.ranking is not None, "labels were checked"
    return PartitionPreferences(labels.ranking, fraction)


def cut_preferences(preferences: Preferences, borders: NDArray[np.int64]) -> list[Preferences]:
    """Split preferences by partition."""
    return [preferences[begin:end].renumbered() for begin, end in pairwise(borders)]


def partition_preferences(loss: PairwiseLoss, borders: NDArray[np.int64]) -> list[PartitionPreferences]:
    """Split the preferences of a loss by partition, with their fractions of the weight of all pairs."""
    pieces = cut_preferences(loss.preferences, borders)
    as_worse, _ = loss.preferences.partner_weights()
    parts = np.split(loss.preferences.row_factor(loss.average) * as_worse, borders[1:-1])
    return [PartitionPreferences(piece, float(part.sum())) for piece, part in zip(pieces, parts, strict=True)]


class LocalLoss:
    """The loss of one partition times its fraction of the weight of all pairs; zero if it has no pairs."""

    def __init__(self, make: Callable[..., PairwiseLoss], piece: PartitionPreferences, average: str):
        self.fraction = piece.fraction
        self.n_rows = piece.preferences.n_rows
        self.loss: Any = make(piece.preferences, average=average) if piece.fraction > 0 else None

    def plane(self, scores: FloatVector) -> tuple[float, FloatVector, float]:
        """Return the value, the slopes and the offset."""
        if self.loss is None:
            return 0.0, np.zeros(self.n_rows), 0.0
        if isinstance(self.loss, PiecewiseLinear):
            value, slopes, offset = self.loss.plane(scores)
        else:
            (value, slopes), offset = self.loss.value_and_coefficients(scores), 0.0
        return self.fraction * value, self.fraction * slopes, self.fraction * offset


def composed(use: Callable, make: Callable, rows: Any, *arguments: Any) -> Any:
    """Return use(rows, make(...)), as one task rather than two."""
    return use(rows, make(*arguments))


def evaluate(loss: LocalLoss, numbers: tuple[float, ...], vectors: list[FloatVector]) -> FloatVector:
    """Return the loss at a linear combination, the offset, and the slopes times each vector."""
    value, slopes, offset = loss.plane(blocks.combined(numbers, vectors, loss.n_rows))
    return np.array([value, offset, *(slopes @ vector for vector in vectors)])


def slopes(loss: LocalLoss, numbers: tuple[float, ...], vectors: list[FloatVector]) -> FloatVector:
    """Return the derivative of the loss by each score."""
    return loss.plane(blocks.combined(numbers, vectors, loss.n_rows))[1]


class LocalHessian:
    """The Hessian of a partition's loss; it is recomputed if Dask moves it to another worker."""

    def __init__(self, loss: LocalLoss, numbers: tuple[float, ...], vectors: list[FloatVector]):
        self._parts = loss, blocks.combined(numbers, vectors, loss.n_rows)
        self._hessian = None if loss.loss is None else loss.loss.hessian(self._parts[1])

    def __reduce__(self) -> Any:
        loss, scores = self._parts
        return LocalHessian, (loss, (1.0,), [scores])

    def diagonal(self) -> FloatVector:
        """Return the diagonal."""
        loss, scores = self._parts
        return np.zeros_like(scores) if self._hessian is None else loss.fraction * self._hessian.diagonal

    def times(self, numbers: tuple[float, ...], vectors: list[FloatVector]) -> FloatVector:
        """Return the product with a linear combination of vectors."""
        loss, scores = self._parts
        direction = blocks.combined(numbers, vectors, len(scores))
        return (
            np.zeros_like(scores)
            if self._hessian is None
            else loss.fraction * self._hessian.product(direction)
        )
