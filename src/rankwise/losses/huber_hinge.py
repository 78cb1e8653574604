"""The hinge with a smooth kink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.types import FloatVector
from rankwise.losses.base import LossBounds, ScoreHessian, Smooth
from rankwise.losses.squared_hinge import SquaredHinge
from rankwise.preferences.base import Preferences


class HuberHinge(Smooth):
    """Mean over pairs of a hinge that is a parabola over a width below the margin.

    The loss of a difference d = s_better - s_worse is 0 from the margin 1 on, (1 - d)^2 / (2 width) down to
    1 - width, and the line 1 - d - width / 2 below. A small width is close to the hinge, whose largest
    errors it counts alike, and Newton's method minimizes it.

    It is the difference of two squared hinges, with the margins 1 and 1 - width, divided by 2 width: no pair
    is listed, and value, gradient and Hessian products cost O(m log m) each.

    Parameters
    ----------
    preferences : Preferences, optional
        As for every loss; without them the object only states the width, as `RankSVM(loss=...)` takes it.
    width : float
        Above 0 and below 1.

    Examples
    --------
    >>> from rankwise import Preferences, RankSVM
    >>> loss = HuberHinge(Preferences.from_scores([1.0, 0.0]), width=0.5)
    >>> loss.value_and_coefficients([0.75, 0.0])
    (0.0625, array([-0.5,  0.5]))
    >>> loss.value_and_coefficients([0.0, 0.0])
    (0.75, array([-1.,  1.]))
    >>> model = RankSVM(loss=HuberHinge(width=0.25)).fit([[0.0], [1.0]], [0, 1])
    """

    formula = "mean over pairs of a hinge of f(better) - f(worse) that is a parabola below the margin"

    def __init__(self, preferences: Preferences | None = None, *, width: float = 0.5, **options: Any):
        if not 0.0 < width < 1.0:
            raise ValueError(f"width must be above 0 and below 1; got {width!r}.")
        self.width = width
        # By squares, as it is computed: their rounding errors are those that a certificate must allow for.
        self.curvature = 1.0 / width
        super().__init__(preferences, **options)
        if preferences is not None:
            self._outer, self._inner = (SquaredHinge(preferences, **options) for _ in range(2))

    @property
    def at_zero(self) -> float:
        """The loss of zero scores."""
        return 1.0 - self.width / 2.0

    @property
    def bounds(self) -> LossBounds:
        """How fast the loss can change, and the size of the squares that it is summed from."""
        return LossBounds(curvature=self.curvature, at_zero=max(1.0, 0.5 / self.width))

    @property
    def _margin(self) -> float:
        """The margin of the inner squared hinge, which is that of margin 1 for scores divided by this."""
        return 1.0 - self.width

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Return the loss and its gradient by the scores."""
        margin, double = self._margin, 2.0 * self.width
        outer, slopes = self._outer.value_and_coefficients(scores)
        inner, inner_slopes = self._inner.value_and_coefficients(self._divided(scores))
        return max(outer - margin**2 * inner, 0.0) / double, (slopes - margin * inner_slopes) / double

    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return the (generalized) Hessian at `scores`, for several products."""
        outer, inner = self._outer.hessian(scores), self._inner.hessian(self._divided(scores))
        diagonal = np.maximum(outer.diagonal - inner.diagonal, 0.0) / (2.0 * self.width)

        def product(direction: ArrayLike) -> FloatVector:
            return (outer.product(direction) - inner.product(direction)) / (2.0 * self.width)

        return ScoreHessian(diagonal, product)

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient, and half the weight of each row's pairs, as for the hinge.

        The curvature of pairs far below the margin vanishes while their push does not.
        """
        return self.value_and_coefficients(scores)[1], self.half_weight

    def pair_derivatives(
        self, difference: FloatVector, magnitude: FloatVector
    ) -> tuple[FloatVector, FloatVector]:
        """Return the slope and the curvature of each pair."""
        below = (1.0 - difference) / self.width
        return -np.clip(below, 0.0, 1.0), ((below > 0) & (below < 1)) / self.width

    def slopes(self, scores: ArrayLike) -> Callable[[FloatVector], FloatVector]:
        """Return the product with the slopes of pairs by sums over violated partners, O(m log m)."""
        outer, inner = self._outer.slopes(scores), self._inner.slopes(self._divided(scores))
        return lambda moment: (outer(moment) - self._margin * inner(moment)) / (2.0 * self.width)

    def _divided(self, scores: ArrayLike) -> FloatVector:
        return np.asarray(scores, dtype=np.float64) / self._margin
