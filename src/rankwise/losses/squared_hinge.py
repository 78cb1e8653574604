"""The pairwise squared hinge loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise import _native
from rankwise.core.checks import as_vector
from rankwise.core.types import FloatVector
from rankwise.losses.base import ScoreHessian, Smooth
from rankwise.losses.laplacians import row_levels
from rankwise.losses.pair_sums import adjacency, partner_sums
from rankwise.preferences.base import Preferences, weighing_rows
from rankwise.preferences.order_graph import OrderGraph
from rankwise.preferences.ranking import Ranking

# The sums multiply scores, whose squares are known to `EPSILON`. If the loss is not known to `ACCURACY` for
# that reason, scores are taken from nearer origins.
EPSILON, ACCURACY = 2.0**-52, 1e-6


class SquaredHinge(Smooth):
    """Mean over pairs of max(0, 1 - (s_better - s_worse))^2.

    Value, gradient and Hessian products by sums over the violated partners of each row (Chapelle & Keerthi
    2010; Lee & Lin 2014), O(m log m) each. With v = 1 + s_worse - s_better the loss of a pair is v times v,
    which splits into sums that belong to its two rows.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> loss = SquaredHinge(Preferences.from_scores([1.0, 0.0]))
    >>> loss.value_and_coefficients([0.5, 0.0])
    (0.25, array([-1.,  1.]))
    >>> loss.hessian([0.5, 0.0]).product([1.0, 0.0])
    array([ 2., -2.])
    """

    formula = "mean over pairs of max(0, 1 - (f(better) - f(worse)))²"
    curvature = 2.0
    # The scores that the loss was last computed at, and the diagonal of its Hessian there.
    _last: tuple[Any, Any] = (None, None)

    @property
    def at_zero(self) -> float:
        """The loss of zero scores: every pair costs 1."""
        return 1.0

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Return the loss and its gradient by the scores."""
        s = as_vector(scores, "scores", self.preferences.n_rows)
        self._last = None, None  # freed before the sums, which take most memory
        value, gradient, diagonal = self._derivatives(s)
        self._last = s.copy(), diagonal
        return value, gradient

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the Hessian, from the same sums."""
        return self._derivatives(as_vector(scores, "scores", self.preferences.n_rows))[1:]

    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return the (generalized) Hessian at `scores`, for several products.

        It is twice the weighted Laplacian of the graph of violated pairs.
        """
        s = as_vector(scores, "scores", self.preferences.n_rows)
        multiply = adjacency(self.preferences, s, counting=self.counting, n_threads=self.n_threads)
        known, diagonal = self._last
        if not np.array_equal(known, s):
            diagonal = self._derivatives(s)[2]

        def product(direction: ArrayLike) -> FloatVector:
            u = self.preferences.centred(as_vector(direction, "direction", self.preferences.n_rows))
            received = 2.0 * self.factor * multiply(u)  # first, as it takes most memory
            return diagonal * u - received

        return ScoreHessian(diagonal, product)

    def pair_derivatives(
        self, difference: FloatVector, magnitude: FloatVector
    ) -> tuple[FloatVector, FloatVector]:
        """Return the slope and the curvature of each pair."""
        violated = (difference < 1.0).astype(np.float64)
        return -2.0 * violated * (1.0 - difference), 2.0 * violated

    def slopes(self, scores: ArrayLike) -> Callable[[FloatVector], FloatVector]:
        """Return the product with the slopes of pairs by sums over violated partners, O(m log m)."""
        given = as_vector(scores, "scores", self.preferences.n_rows)
        s = self.preferences.centred(given)

        def product(moment: FloatVector) -> FloatVector:
            plain, scored = (self._sums(given, values) for values in (moment, s * moment))
            as_worse = (1.0 + s) * plain.moment_up - scored.moment_up
            as_better = (1.0 - s) * plain.moment_down + scored.moment_down
            return 2.0 * self.factor * (as_worse - as_better)

        return product

    def _derivatives(self, scores: FloatVector) -> tuple[float, FloatVector, FloatVector]:
        return squared_hinge_sums(
            self.preferences, scores, self.factor, counting=self.counting, n_threads=self.n_threads
        )


def squared_hinge_sums(
    preferences: Preferences,
    scores: FloatVector,
    factor: FloatVector | float,
    *,
    counting: str = "merge",
    n_threads: int = 1,
) -> tuple[float, FloatVector, FloatVector]:
    """Return the sum over pairs of factor w max(0, 1 - d)^2, d = s_better - s_worse, and its derivatives.

    These are the gradient and the diagonal of the Hessian. The factor is one number, or one per row that is
    constant within a query. With v = 1 - d, v^2 splits into sums of v that belong to the two rows of a pair.
    """
    options: dict[str, Any] = {"counting": counting, "n_threads": n_threads}
    if isinstance(preferences, Ranking) and counting == "merge":
        order, scaled = preferences.order, preferences.scaled
        weights = scaled.weight, preferences.event, scaled.gain
        of_query = order.by_query(factor)
        found = _native.squared_hinge_ranking(scores, order.native, of_query, *weights, n_threads)
    else:
        found = _centred_sums(preferences, scores, preferences.centred(scores), factor, **options)
    spread = float(scores.max()) - float(scores.min())
    if EPSILON * spread * spread > ACCURACY * found[0] and found[2].any():
        found = _centred_sums(preferences, scores, near_zero(preferences, scores), factor, **options)
    return found


def _centred_sums(
    preferences: Preferences, scores: FloatVector, s: FloatVector, factor: FloatVector | float, **options: Any
) -> tuple[float, FloatVector, FloatVector]:
    """Return the sums, given scores `s` less offsets that the two rows of a violated pair share."""
    sums = partner_sums(preferences, scores, s, **options)
    as_worse = (1.0 + s) * sums.up - sums.moment_up
    as_better = (1.0 - s) * sums.down + sums.moment_down
    half = factor * (as_worse - as_better)
    value = np.sum(half * s) + np.sum(factor * as_worse)
    return max(float(value), 0.0), 2.0 * half, 2.0 * factor * (sums.up + sums.down)


def near_zero(preferences: Preferences, scores: FloatVector) -> FloatVector:
    """Return the scores less the lowest one of each run of rows that no violated pair leaves.

    Rows far from all others, and in the right place, then add no large numbers to the sums of others.
    """
    groups = preferences.groups() if isinstance(preferences, Ranking) else np.zeros(len(scores), np.int64)
    order = np.lexsort((scores, groups))
    order = order[weighing_rows(preferences)[order]]
    sorted_scores = scores[order]
    joined = _crossed(preferences, order)
    joined |= (np.diff(sorted_scores) < 1.0) & (np.diff(groups[order]) == 0)
    begin = np.append(0, 1 + np.flatnonzero(~joined))
    near = np.zeros(len(scores))
    near[order] = sorted_scores - np.repeat(sorted_scores[begin], np.diff(np.append(begin, len(order))))
    return near


def _crossed(preferences: Preferences, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell for each place between two rows of an order whether a pair has its better row before it.

    Its worse row is then behind it. Pairs are those of labels, of classes (an edge spans all places from the
    first row of its better class to the last one of its worse class) or listed.
    """
    m = len(order)
    if isinstance(preferences, Ranking):
        level = row_levels(preferences)[order]
        return np.maximum.accumulate(level)[:-1] > np.minimum.accumulate(level[::-1])[::-1][1:]
    if isinstance(preferences, OrderGraph):
        node, (better, worse) = preferences.codes, preferences.edge_codes.T
    else:
        node, (better, worse) = np.arange(preferences.n_rows), preferences.pairs()[:2]
    n_nodes = 1 + int(max(node.max(), better.max(), worse.max()))
    first, last = np.full(n_nodes, m), np.full(n_nodes, -1)
    np.minimum.at(first, node[order], np.arange(m))
    np.maximum.at(last, node[order], np.arange(m))
    begin, end = first[better], last[worse]
    spans = begin < end
    opened, closed = (np.bincount(places[spans], minlength=m) for places in (begin, end))
    return np.cumsum(opened - closed)[: m - 1] > 0
