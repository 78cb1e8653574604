"""The pairwise hinge loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_vector
from rankwise.core.types import FloatVector
from rankwise.losses.base import PiecewiseLinear, ScoreHessian
from rankwise.losses.pair_sums import PartnerSums, count_violations
from rankwise.preferences.base import Preferences


class Hinge(PiecewiseLinear):
    """Mean over pairs of max(0, 1 - (s_better - s_worse)).

    Equations (4) to (8) of Airola et al. (2011), with weights. One pass gives value and coefficients:
    O(m log m) for any real-valued labels and scores, O(l) for l explicit pairs. If s_better - s_worse is
    exactly 1, the subgradient ignores the pair.

    Examples
    --------
    >>> from rankwise import Preferences
    >>> loss = Hinge(Preferences.from_scores([2.0, 1.0, 0.0]))
    >>> value, coefficients = loss.value_and_coefficients([0.5, 0.0, 0.0])
    >>> round(value, 6), coefficients.round(6).tolist()
    (0.666667, [-0.666667, 0.0, 0.666667])
    """

    formula = "mean over pairs of max(0, 1 - (f(better) - f(worse)))"
    lipschitz = 1.0

    def __init__(self, preferences: Preferences | None = None, **options: Any):
        super().__init__(preferences, **options)
        if preferences is not None:
            counts = preferences.counts_pairs and self.counting == "merge"
            self._query_factor = preferences.query_factor(self.average) if counts else None

    @property
    def at_zero(self) -> float:
        """The loss of zero scores: every pair costs 1."""
        return 1.0

    def plane(self, scores: ArrayLike) -> tuple[float, FloatVector, float]:
        """Return the loss, a subgradient c and the offset b with loss(t) >= c't + b for all scores t.

        Equality holds at `scores`. The offset is the weighted fraction of violated pairs, so it is exact when
        the difference loss(s) - c's would lose digits.
        """
        return self.at_margin(scores, 1.0)

    def at_margin(self, scores: ArrayLike, margin: float) -> tuple[float, FloatVector, float]:
        """Return the mean of max(0, margin - (s_better - s_worse)), and a subgradient.

        The third value is the weighted fraction of the pairs with s_better - s_worse below the margin.
        """
        s = as_vector(scores, "scores", self.preferences.n_rows)
        if self._query_factor is not None:
            ranking: Any = self.preferences
            net, violations, losses = count_violations(ranking, s, margin=margin, n_threads=self.n_threads)
            net *= self.factor
            # Sums rather than dot products: they are pairwise, and leave the threads of BLAS asleep.
            factor = self._query_factor
            return float((losses * factor).sum()), net, float((violations * factor).sum())
        sums = self._sums(s, margin=margin)
        coefficients = self.factor * (sums.up - sums.down)
        share = float(np.sum(self.factor * sums.up))
        value = float(np.sum(coefficients * self.preferences.centred(s)))
        return value + margin * share, coefficients, share

    def pair_derivatives(
        self, difference: FloatVector, magnitude: FloatVector
    ) -> tuple[FloatVector, FloatVector]:
        """Return the slope of each pair, -1 if it is violated, and zeros: the curvature is at the kink."""
        return -(difference < 1.0).astype(np.float64), np.zeros_like(difference)

    def slopes(self, scores: ArrayLike) -> Callable[[FloatVector], FloatVector]:
        """Return the product with the slopes of pairs by sums over violated partners, O(m log m)."""
        s = as_vector(scores, "scores", self.preferences.n_rows)

        def product(moment: FloatVector) -> FloatVector:
            sums = self._sums(s, moment)
            return self.factor * (sums.moment_up - sums.moment_down)

        return product

    def smoothed_hessian(self, scores: ArrayLike, width: float) -> ScoreHessian:
        """Return the Hessian of the expected loss, with the density of pairs at the margin by a window.

        A pair whose margin s_better - s_worse is within `width` of 1 has curvature 1 / (2 width): the
        difference of the sums over violated partners at two margins.
        """
        s = as_vector(scores, "scores", self.preferences.n_rows)

        def sums(moment: FloatVector | None) -> list[PartnerSums]:
            return [self._sums(s, moment, margin) for margin in (1.0 + width, 1.0 - width)]

        scale = self.factor / (2.0 * width)
        wide, narrow = sums(None)
        diagonal = scale * (wide.up + wide.down - narrow.up - narrow.down)

        def product(direction: ArrayLike) -> FloatVector:
            u = self.preferences.centred(as_vector(direction, "direction", self.preferences.n_rows))
            wide, narrow = sums(u)
            return diagonal * u - scale * (wide.moments - narrow.moments)

        return ScoreHessian(diagonal, product)

    def difference_deviation(self, scores: ArrayLike) -> float:
        """Return the standard deviation of the score difference over pairs."""
        s = self.preferences.centred(as_vector(scores, "scores", self.preferences.n_rows))
        sums = self._sums(None, s)
        mean = float(np.sum(self.factor * (sums.down - sums.up) * s))
        square = float(np.sum(self.factor * ((sums.up + sums.down) * s - sums.moments) * s))
        return float(np.sqrt(max(square - mean**2, 0.0)))
