"""Pairwise least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise._checks import check_choice
from rankwise.losses.base import FloatVector, PairwiseLoss
from rankwise.preferences.base import Preferences
from rankwise.preferences.order_graph import OrderGraph
from rankwise.preferences.ranking import Ranking

COSTS = ("unit", "magnitude")


class LeastSquares(PairwiseLoss):
    """Mean over pairs of (t - (s_better - s_worse))^2.

    The target difference t of a pair is 1 with `cost="unit"` and its magnitude (the difference of the labels)
    with `cost="magnitude"`: equations (20) and (21) of Pahikkala et al. (2009), tied rows left out; the pairs
    of an order graph have magnitude 1. In matrix form s'L s - 2 s'r + constant, with L the weighted Laplacian
    of all pairs: a product with it costs O(m) for rankings and O(l) for l explicit pairs.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> loss = LeastSquares(Preferences.from_scores([3.0, 1.0]), cost="magnitude")
    >>> loss.value_and_coefficients([1.0, 0.0])
    (1.0, array([-2.,  2.]))
    """

    def __init__(self, preferences: Preferences, *, cost: str = "magnitude", **options: Any):
        super().__init__(preferences, **options)
        check_choice(cost, "cost", COSTS)
        self.cost = cost
        sums = self._sums(None)
        self._degree = self.factor * (sums.up + sums.down)
        self._pull, self._constant = self._targets()

    def laplacian_product(self, direction: ArrayLike) -> FloatVector:
        """Give L times `direction`: the sum over pairs of weight times difference, at both rows."""
        u = self.preferences.centred(self.preferences.check_scores(direction, "direction"))
        sums = self._sums(None, u)
        return self._degree * u - self.factor * (sums.moment_up + sums.moment_down)

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Give the loss and its gradient by the scores."""
        s = self.preferences.centred(self.preferences.check_scores(scores))
        product = self.laplacian_product(s)
        value = np.sum(s * (product - 2.0 * self._pull)) + self._constant
        return float(value), 2.0 * (product - self._pull)

    def hessian_product(self, scores: ArrayLike, direction: ArrayLike) -> FloatVector:
        """Give twice the Laplacian times `direction`; it does not depend on the scores."""
        return 2.0 * self.laplacian_product(direction)

    def _targets(self) -> tuple[FloatVector, float]:
        """Give r_i = sum of w t over pairs won minus pairs lost, and the mean of t^2 over pairs."""
        if self.cost == "unit" or isinstance(self.preferences, OrderGraph):
            sums = self._sums(None)
            return self.factor * (sums.down - sums.up), 1.0
        if isinstance(self.preferences, Ranking):
            values = self.preferences.centred(self.preferences.values)
            pull = self.laplacian_product(values)
            return pull, float(np.sum(values * pull))
        better, worse, magnitude, weight = self.preferences.pairs()
        target = self.factor * weight * magnitude
        n = self.preferences.n_rows
        won, lost = np.bincount(better, target, n), np.bincount(worse, target, n)
        return np.asarray(won - lost, dtype=np.float64), float(np.sum(target * magnitude))
