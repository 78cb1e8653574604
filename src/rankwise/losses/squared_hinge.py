"""The pairwise squared hinge loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise._types import FloatVector
from rankwise.losses.base import ScoreHessian, Smooth


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
    # The scores that the loss was last computed at, centred, and the weight of each row's violated pairs.
    _last: tuple[Any, Any] = (None, None)

    @property
    def at_zero(self) -> float:
        """The loss of zero scores: every pair costs 1."""
        return 1.0

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Return the loss and its gradient by the scores."""
        s = self.preferences.centred(self.preferences.check_scores(scores))
        sums = self._sums(s, s)
        as_worse = (1.0 + s) * sums.up - sums.moment_up
        as_better = (1.0 - s) * sums.down + sums.moment_down
        self._last = s, sums.up + sums.down
        half = self.factor * (as_worse - as_better)
        value = np.sum(half * s) + np.sum(self.factor * as_worse)
        return float(value), 2.0 * half

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the Hessian, from the same sums."""
        s = self.preferences.centred(self.preferences.check_scores(scores))
        sums = self._sums(s, s)
        diagonal = sums.up + sums.down
        gradient = s * diagonal  # and in place from here on: fresh memory costs more than what fills it
        gradient += sums.up
        for part in (sums.down, sums.moment_up, sums.moment_down):
            gradient -= part
        factor = 2.0 * self.factor
        gradient *= factor
        diagonal *= factor
        return gradient, diagonal

    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return the (generalised) Hessian at `scores`, for several products.

        It is twice the weighted Laplacian of the graph of violated pairs.
        """
        s = self.preferences.centred(self.preferences.check_scores(scores))
        adjacency = self.preferences.adjacency(s, counting=self.counting, n_threads=self.n_threads)
        diagonal = 2.0 * self.factor * self._violated_weight(s)

        def product(direction: ArrayLike) -> FloatVector:
            u = self.preferences.centred(self.preferences.check_scores(direction, "direction"))
            return diagonal * u - 2.0 * self.factor * adjacency(u)

        return ScoreHessian(diagonal, product)

    def _violated_weight(self, centred_scores: FloatVector) -> FloatVector:
        """Return the weight of each row's violated pairs, known already where the loss was just computed."""
        scores, weight = self._last
        if np.array_equal(scores, centred_scores):
            return weight
        sums = self._sums(centred_scores)
        return sums.up + sums.down
