"""The pairwise logistic loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from rankwise import _native
from rankwise.core.checks import as_vector
from rankwise.core.types import FloatVector
from rankwise.losses.base import ScoreHessian, Smooth
from rankwise.preferences.base import Preferences, sum_by_row
from rankwise.preferences.order_graph import OrderGraph
from rankwise.preferences.ranking import Ranking

# Of a row in Newton's method by rows, as a difference of log odds.
LONGEST_STEP = 10.0


class Logistic(Smooth):
    """Mean over pairs of log(1 + exp(-(s_better - s_worse))).

    The loss of RankNet (Burges et al. 2005) and of Bradley and Terry (1952), over all pairs rather than a
    sample: 1 / (1 + exp(-(s_i - s_j))) is the probability that row i is above row j. Value, gradient and
    Hessian products cost O(m) for rankings with any labels, weights and queries, O(m log m) with pair weights
    or censored times, O(l) for l explicit pairs and O(m) an edge of an order graph. Magnitudes are ignored.

    Parameters
    ----------
    preferences : Preferences
        The pairs; scores have one entry for each of its rows.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs.
    n_threads : int
        Does not affect the result.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> loss = Logistic(Preferences.from_scores([2.0, 1.0, 0.0]))
    >>> value, coefficients = loss.value_and_coefficients([0.5, 0.0, 0.0])
    >>> round(value, 6), coefficients.round(6).tolist()
    (0.5471, [-0.251694, -0.04082, 0.292514])
    >>> loss.hessian([0.5, 0.0, 0.0]).product([1.0, 0.0, 0.0]).round(6).tolist()
    [0.156669, -0.078335, -0.078335]
    """

    formula = "mean over pairs of log(1 + exp(-(f(better) - f(worse))))"
    lipschitz = 1.0
    curvature = 0.25

    def __init__(
        self, preferences: Preferences | None = None, *, average: str = "queries", n_threads: int = 1
    ):
        super().__init__(preferences, average=average, n_threads=n_threads)

    @property
    def at_zero(self) -> float:
        """The loss of zero scores: every pair costs log 2."""
        return math.log(2.0)

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Return the loss and its gradient by the scores."""
        s = as_vector(scores, "scores", self.preferences.n_rows)
        return logistic_sums(self.preferences, s, self.factor, n_threads=self.n_threads)

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient, and the diagonal of the Hessian where Newton's method can divide by it.

        The curvature of pairs far in the wrong order vanishes while their push does not, and Newton's method
        would throw their rows anywhere: no row is to move by more than `LONGEST_STEP`.
        """
        s = as_vector(scores, "scores", self.preferences.n_rows)
        options = {"n_threads": self.n_threads}
        gradient, diagonal = logistic_derivatives(self.preferences, s, self.factor, **options)
        floor = np.abs(gradient)
        floor /= LONGEST_STEP
        return gradient, np.maximum(diagonal, floor, out=floor)

    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return the Hessian at `scores`, for several products.

        It is the Laplacian of the graph of all pairs, a pair weighing p (1 - p) with the probability p above.
        """
        s = as_vector(scores, "scores", self.preferences.n_rows)
        diagonal, multiply = logistic_hessian(self.preferences, s, self.factor, n_threads=self.n_threads)

        def product(direction: ArrayLike) -> FloatVector:
            u = as_vector(direction, "direction", self.preferences.n_rows)
            return multiply(self.preferences.centred(u))

        return ScoreHessian(diagonal, product)

    def pair_derivatives(
        self, difference: FloatVector, magnitude: FloatVector
    ) -> tuple[FloatVector, FloatVector]:
        """Return the slope and the curvature of each pair."""
        wrong = expit(-difference)
        return -wrong, wrong * expit(difference)

    def slopes(self, scores: ArrayLike) -> Callable[[FloatVector], FloatVector]:
        """Return the product with the slopes of pairs: see `logistic_slopes`."""
        s = as_vector(scores, "scores", self.preferences.n_rows)
        found = logistic_slopes(self.preferences, s, self.factor, n_threads=self.n_threads)
        return super().slopes(s) if found is None else found


@singledispatch
def logistic_sums(
    preferences: Preferences, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[float, FloatVector]:
    """Return the sum over pairs of factor w log(1 + exp(-d)), d = s_better - s_worse, and its gradient.

    The factor is one number, or one per row that is constant within a query. The cost is O(m) for a ranking
    (O(m log m) with gains or censored rows) and O(l) for l listed pairs.
    """
    better, worse, _, weight = preferences.pairs()
    difference, weight = scores[better] - scores[worse], _at(factor, better) * weight
    push = weight * expit(-difference)
    n = preferences.n_rows
    gradient = sum_by_row(worse, push, n) - sum_by_row(better, push, n)
    return -float(np.sum(weight * log_expit(difference))), gradient


@logistic_sums.register
def _(
    ranking: Ranking, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[float, FloatVector]:
    evaluate = _over_pairs(_native.logistic_gradient, ranking, scores, factor)
    value, gradient, _ = evaluate(ranking.balance, False, n_threads)
    return max(value, 0.0), gradient


@logistic_sums.register
def _(
    graph: OrderGraph, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[float, FloatVector]:
    rows, ranking, scale = graph.edge_rankings
    value, gradient = logistic_sums(ranking, scores[rows], factor * scale, n_threads=n_threads)
    return value, sum_by_row(rows, gradient, graph.n_rows)


def logistic_derivatives(
    preferences: Preferences, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[FloatVector, FloatVector]:
    """Return the gradient of `logistic_sums` and the diagonal of its Hessian; from one pass for a ranking."""
    if isinstance(preferences, Ranking):
        evaluate = _over_pairs(_native.logistic_gradient, preferences, scores, factor)
        return evaluate(preferences.balance, True, n_threads)[1:]
    gradient = logistic_sums(preferences, scores, factor, n_threads=n_threads)[1]
    return gradient, logistic_hessian(preferences, scores, factor, n_threads=n_threads)[0]


@singledispatch
def logistic_hessian(
    preferences: Preferences, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[FloatVector, Callable[[FloatVector], FloatVector]]:
    """Return the diagonal of the Hessian of `logistic_sums`, and the product with a direction."""
    better, worse, _, weight = preferences.pairs()
    difference, n = scores[better] - scores[worse], preferences.n_rows
    stiffness = _at(factor, better) * weight * expit(difference) * expit(-difference)

    def product(direction: FloatVector) -> FloatVector:
        push = stiffness * (direction[better] - direction[worse])
        return sum_by_row(better, push, n) - sum_by_row(worse, push, n)

    return sum_by_row(better, stiffness, n) + sum_by_row(worse, stiffness, n), product


@logistic_hessian.register
def _(
    ranking: Ranking, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[FloatVector, Callable[[FloatVector], FloatVector]]:
    scores = scores.copy()
    diagonal = _over_pairs(_native.logistic_diagonal, ranking, scores, factor)(n_threads)
    multiply = _over_pairs(_native.logistic_product, ranking, scores, factor)

    def product(direction: FloatVector) -> FloatVector:
        return multiply(diagonal, direction, n_threads)

    return diagonal, product


@logistic_hessian.register
def _(
    graph: OrderGraph, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> tuple[FloatVector, Callable[[FloatVector], FloatVector]]:
    rows, ranking, scale = graph.edge_rankings
    diagonal, multiply = logistic_hessian(ranking, scores[rows], factor * scale, n_threads=n_threads)

    def product(direction: FloatVector) -> FloatVector:
        return sum_by_row(rows, multiply(direction[rows]), graph.n_rows)

    return sum_by_row(rows, diagonal, graph.n_rows), product


@singledispatch
def logistic_slopes(
    preferences: Preferences, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> Callable[[FloatVector], FloatVector] | None:
    """Return the product with the slopes of pairs without a list of pairs, or None if there is no such way.

    If row j weighs v_j, the gradient of row i is v_i times the sum of C_ij v_j, which is linear in v. So the
    product with u is a difference of two gradients, one of them with weights 1 + u scaled to [1/2, 3/2]: the
    cost of a gradient.
    """
    return None


@logistic_slopes.register
def _(
    ranking: Ranking, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> Callable[[FloatVector], FloatVector]:
    scores, order, scaled = scores.copy(), ranking.order, ranking.scaled
    of_query, known = order.by_query(factor), (ranking.event, scaled.gain)
    unweighted = logistic_sums(ranking, scores, factor, n_threads=n_threads)[1]

    def product(direction: FloatVector) -> FloatVector:
        middle, half = _middle_and_half(direction)
        if half == 0.0:
            return middle * unweighted
        factors = 1.0 + (direction - middle) / (2.0 * half)
        weight = factors if scaled.weight is None else factors * scaled.weight
        up, down, *_ = _native.sum_all_partners(order.native, weight, *known, None, n_threads)
        groups, balance = _native.group_levels(order.native, weight), 0.5 * (up - down)
        pairs = scores, order.native, groups, of_query, weight, *known
        gradient = _native.logistic_gradient(*pairs, balance, False, n_threads)[1]
        return middle * unweighted + 2.0 * half * (gradient / factors - unweighted)

    return product


@logistic_slopes.register
def _(
    graph: OrderGraph, scores: FloatVector, factor: FloatVector | float, *, n_threads: int = 1
) -> Callable[[FloatVector], FloatVector]:
    rows, ranking, scale = graph.edge_rankings
    multiply = logistic_slopes(ranking, scores[rows], factor * scale, n_threads=n_threads)
    assert multiply is not None
    return lambda direction: sum_by_row(rows, multiply(direction[rows]), graph.n_rows)


def _middle_and_half(values: FloatVector) -> tuple[float, float]:
    """Return the middle of the range of values, and half of its length."""
    low, high = float(values.min()), float(values.max())
    return 0.5 * (low + high), 0.5 * (high - low)


def _over_pairs(
    function: Callable[..., Any], ranking: Ranking, scores: FloatVector, factor: FloatVector | float
) -> Callable[..., Any]:
    """Bind a native function to the pairs of a ranking at given scores."""
    order, scaled = ranking.order, ranking.scaled
    of_query, weights = order.by_query(factor), (scaled.weight, ranking.event, scaled.gain)
    return partial(function, scores, order.native, ranking.level_groups, of_query, *weights)


def _at(factor: FloatVector | float, rows: NDArray[np.int64]) -> FloatVector | float:
    return factor[rows] if isinstance(factor, np.ndarray) else factor
