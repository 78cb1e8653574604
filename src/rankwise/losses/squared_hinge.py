"""The pairwise squared hinge loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise import _native
from rankwise.core.checks import as_vector
from rankwise.core.types import FloatVector
from rankwise.losses.base import ScoreHessian, Smooth
from rankwise.losses.pair_sums import adjacency, partner_sums
from rankwise.preferences.base import Preferences
from rankwise.preferences.ranking import Ranking


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
        value, gradient, diagonal = self._derivatives(s)
        self._last = s.copy(), diagonal
        return value, gradient

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the Hessian, from the same sums."""
        return self._derivatives(as_vector(scores, "scores", self.preferences.n_rows))[1:]

    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return the (generalised) Hessian at `scores`, for several products.

        It is twice the weighted Laplacian of the graph of violated pairs.
        """
        s = as_vector(scores, "scores", self.preferences.n_rows)
        multiply = adjacency(self.preferences, s, counting=self.counting, n_threads=self.n_threads)
        known, diagonal = self._last
        if not np.array_equal(known, s):
            diagonal = self._derivatives(s)[2]

        def product(direction: ArrayLike) -> FloatVector:
            u = self.preferences.centred(as_vector(direction, "direction", self.preferences.n_rows))
            return diagonal * u - 2.0 * self.factor * multiply(u)

        return ScoreHessian(diagonal, product)

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
    if isinstance(preferences, Ranking) and counting == "merge":
        order, scaled = preferences.order, preferences.scaled
        weights = scaled.weight, preferences.event, scaled.gain
        of_query = order.by_query(factor)
        return _native.squared_hinge_ranking(scores, order.native, of_query, *weights, n_threads)
    s = preferences.centred(scores)
    sums = partner_sums(preferences, scores, s, counting=counting, n_threads=n_threads)
    as_worse = (1.0 + s) * sums.up - sums.moment_up
    as_better = (1.0 - s) * sums.down + sums.moment_down
    half = factor * (as_worse - as_better)
    value = np.sum(half * s) + np.sum(factor * as_worse)
    return float(value), 2.0 * half, 2.0 * factor * (sums.up + sums.down)
