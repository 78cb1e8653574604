"""Pairwise least squares."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from rankwise.losses.base import FloatVector, PairwiseLoss
from rankwise.losses.least_squares_form import QuadraticForm, least_squares_form
from rankwise.preferences.base import Preferences


class LeastSquares(PairwiseLoss):
    """Mean over pairs of w (t - (s_better - s_worse))^2.

    The target difference t of a pair is 1 with `cost="unit"` and its magnitude (the difference of the labels)
    with `cost="magnitude"`: equations (20) and (21) of Pahikkala et al. (2009); the pairs of an order graph
    have magnitude 1. With `cost="relative"`, equation (22), the weight is also divided by t^2. Tied rows are
    left out unless `ties="keep"`. In matrix form s'L s - 2 s'r + constant, see `least_squares_form`: a
    product with L costs O(m) for rankings and O(l) for l explicit pairs.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> loss = LeastSquares(Preferences.from_scores([3.0, 1.0]), cost="magnitude")
    >>> loss.value_and_coefficients([1.0, 0.0])
    (1.0, array([-2.,  2.]))
    """

    def __init__(
        self, preferences: Preferences, *, cost: str = "magnitude", ties: str = "drop", **options: Any
    ):
        super().__init__(preferences, **options)
        self.cost = cost
        self.form: QuadraticForm = least_squares_form(
            preferences, cost=cost, ties=ties, average=self.average, n_threads=self.n_threads
        )

    def laplacian_product(self, direction: ArrayLike) -> FloatVector:
        """Give L times `direction`: the sum over pairs of weight times difference, at both rows."""
        return self.form.product(self.preferences.check_scores(direction, "direction"))

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Give the loss and its gradient by the scores."""
        value, coefficients = self.form.value_and_coefficients(self.preferences.check_scores(scores))
        return float(value), coefficients

    def hessian_product(self, scores: ArrayLike, direction: ArrayLike) -> FloatVector:
        """Give twice the Laplacian times `direction`; it does not depend on the scores."""
        return 2.0 * self.laplacian_product(direction)
