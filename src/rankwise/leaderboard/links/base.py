"""What a link is: the chances of winning, and their derivatives, by the difference of two scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from rankwise.core.types import FloatArray, FloatVector
from rankwise.leaderboard.comparisons import Comparisons, Outcomes

# The smallest difference at which the ratio of `Link.pseudo_votes`, which is 0 / 0 at 0, is computed.
NEAR_ZERO = 1e-3


class Terms(NamedTuple):
    """The loss -log P(outcomes) of each entry, and its derivatives by the difference d and by a shape.

    `value` may be the sum over entries. Derivatives by a shape are None for links without shapes.
    """

    value: FloatVector | float
    by_d: FloatVector
    by_dd: FloatVector
    by_shape: FloatVector | None = None
    by_d_shape: FloatVector | None = None
    by_shape_shape: FloatVector | None = None


class Link(ABC):
    """P(win), P(tie) and P(loss) as functions of d = s_first - s_second + z' gamma + h, and of shapes.

    The loss of an outcome must be convex in d and the shapes. Ties are half a win and half a loss, unless a
    link has a probability of ties. Functions take arrays of differences, one per entry.

    Attributes
    ----------
    unit : str
        The unit of scores, such as "log odds".
    meaning : str
        What a difference of scores is, in words.
    shapes : tuple of str
        The names of effects whose logarithms are parameters beside the scores: nu of Davidson's ties.
    slope : float
        The derivative of P(win) + P(tie) / 2 at equal scores, without ties.
    elo : float
        Points of Elo per unit of score, and `elo_meaning`, what a difference of points means.
    at_zero : float
        The loss of an outcome at equal chances.
    """

    unit: str
    meaning: str
    slope: float
    elo: float
    elo_meaning: str
    shapes: tuple[str, ...] = ()
    at_zero = float(np.log(2.0))

    @abstractmethod
    def terms(self, d: FloatVector, shape: FloatVector, outcomes: Outcomes) -> Terms:
        """Return the loss of each entry and its derivatives."""

    @abstractmethod
    def log_chances(self, d: FloatArray, shape: FloatVector) -> FloatArray:
        """Return log P of a win, a tie and a loss, along a new first axis; -inf for ties without a chance."""

    @abstractmethod
    def steepness(self, largest: float) -> float:
        """Return k with abs(f''') <= k f'' for the loss f of a win or loss, wherever abs(d) <= largest.

        It certifies fits without a penalty. It may be infinite for an infinite argument.
        """

    def summed(
        self, counted: Comparisons, outcomes: Outcomes, scores: FloatVector, offset: FloatVector | None,
        shape: FloatVector,
    ) -> tuple[FloatVector, Terms]:  # fmt: skip
        """Return the derivative by each score, and the terms of entries, of which values may be summed."""
        d = scores[counted.first] - scores[counted.second]
        terms = self.terms(d if offset is None else d + offset, shape, outcomes)
        return counted.signed_sums(terms.by_d), terms

    def least_information(self, d: FloatVector, shape: FloatVector, outcomes: Outcomes) -> float:
        """Return m with v' H v >= m r^2 for all v, with r the largest change of a difference along v."""
        return float(self.terms(d, shape, outcomes).by_dd.min())

    def averaged(self, d: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the difference with the mean chances of differences of this mean and variance.

        For the distribution function of a normal distribution this is exact, and other links have that of
        the same slope at 0: MacKay's (1992) factor 1 / sqrt(1 + pi variance / 8) for the logistic function.
        """
        return d / np.sqrt(1.0 + 2.0 * np.pi * self.slope**2 * variance)

    def chance(self, d: FloatArray) -> FloatArray:
        """Return P(first above second) without ties."""
        return np.exp(self.log_chances(d, np.zeros(0))[0])

    def pseudo_votes(
        self, d: FloatVector, shape: FloatVector, own: FloatVector, cross: FloatVector, corner: float
    ) -> FloatArray:
        """Return wins, losses and ties to add per vote, which remove the bias of first order (Firth 1993).

        With F the chance of a win, f its derivative and `own` the variance of d, the score of an entry needs
        own I f' / (2 f) more, with I the information f^2 / (F (1 - F)). As many wins as losses have this
        score. `cross` and `corner` are the covariance of d with a shape and the variance of the shape.
        """
        d = np.where(np.abs(d) < NEAR_ZERO, NEAR_ZERO, d)
        ones, none = np.ones(len(d)), np.zeros(len(d))
        win = self.terms(d, shape, Outcomes(ones, none, none))
        loss = self.terms(d, shape, Outcomes(none, ones, none))
        # f / F is -win.by_d and f / (1 - F) is loss.by_d; f' f / F^2 is the square of f / F minus win.by_dd.
        more = 0.5 * own * loss.by_d * (win.by_dd - win.by_d**2) / (win.by_d + loss.by_d)
        return np.stack([more, more, none])
