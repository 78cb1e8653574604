"""The pairwise logistic loss."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.types import FloatVector
from rankwise.losses.base import ScoreHessian, Smooth
from rankwise.preferences.base import Preferences

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
        Has no influence on the result.

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

    def __init__(self, preferences: Preferences, *, average: str = "queries", n_threads: int = 1):
        super().__init__(preferences, average=average, n_threads=n_threads)

    @property
    def at_zero(self) -> float:
        """The loss of zero scores: every pair costs log 2."""
        return math.log(2.0)

    def value_and_coefficients(self, scores: ArrayLike) -> tuple[float, FloatVector]:
        """Return the loss and its gradient by the scores."""
        s = self.preferences.check_scores(scores)
        return self.preferences.logistic(s, self.factor, n_threads=self.n_threads)

    def derivatives(self, scores: ArrayLike) -> tuple[FloatVector, FloatVector]:
        """Return the gradient, and the diagonal of the Hessian where Newton's method can divide by it.

        The curvature of pairs far in the wrong order vanishes while their push does not, and Newton's method
        would throw their rows anywhere: no row is to move by more than `LONGEST_STEP`.
        """
        s = self.preferences.check_scores(scores)
        gradient, diagonal = self.preferences.logistic_derivatives(s, self.factor, n_threads=self.n_threads)
        floor = np.abs(gradient)
        floor /= LONGEST_STEP
        return gradient, np.maximum(diagonal, floor, out=floor)

    def hessian(self, scores: ArrayLike) -> ScoreHessian:
        """Return the Hessian at `scores`, for several products.

        It is the Laplacian of the graph of all pairs, a pair weighing p (1 - p) with the probability p above.
        """
        s = self.preferences.check_scores(scores)
        diagonal, multiply = self.preferences.logistic_hessian(s, self.factor, n_threads=self.n_threads)

        def product(direction: ArrayLike) -> FloatVector:
            return multiply(self.preferences.centred(self.preferences.check_scores(direction, "direction")))

        return ScoreHessian(diagonal, product)
