"""The logistic link with ties of Davidson (1970)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_softmax

from rankwise.core.types import FloatArray, FloatVector
from rankwise.leaderboard.comparisons import Outcomes
from rankwise.leaderboard.links.base import Link, Terms
from rankwise.leaderboard.links.logistic import Logistic


class Davidson(Link):
    """P(win), P(tie) and P(loss) are proportional to exp(d/2), nu and exp(-d/2); the shape is log nu.

    Examples
    --------
    >>> np.exp(Davidson().log_chances(np.array([0.0]), np.log([2.0]))).ravel()
    array([0.25, 0.5 , 0.25])
    """

    unit, meaning, slope = Logistic.unit, Logistic.meaning, Logistic.slope
    elo, elo_meaning = Logistic.elo, Logistic.elo_meaning
    shapes, at_zero = ("tie effect",), float(np.log(3.0))

    def terms(self, d: FloatVector, shape: FloatVector, outcomes: Outcomes) -> Terms:
        """Return the loss of each entry and its derivatives.

        Relative to the more likely of win and loss, the probabilities of the other and of a tie are
        proportional to exp(-|d|) and nu exp(-|d|/2), which do not overflow.
        """
        size, weight = np.abs(d), outcomes.total
        little, tie = np.exp(-size), np.exp(shape[0] - 0.5 * size)
        whole = 1.0 + little + tie
        big, value = 1.0 / whole, weight * (np.log(whole) + 0.5 * size) - outcomes.lead * d
        little, tie = little * big, tie * big
        ahead = np.copysign(big - little, d)
        return Terms(
            value - outcomes.ties * shape[0],
            0.5 * weight * ahead - outcomes.lead,
            weight * ((big + little) * (0.25 * tie) + big * little),
            weight * tie - outcomes.ties,
            -0.5 * weight * ahead * tie,
            weight * tie * (1.0 - tie),
        )

    def log_chances(self, d: FloatArray, shape: FloatVector) -> FloatArray:
        """Return log P of a win, a tie and a loss."""
        return np.asarray(log_softmax(np.stack([0.5 * d, np.full_like(d, shape[0]), -0.5 * d]), axis=0))

    def chance(self, d: FloatArray) -> FloatArray:
        """Return P(first above second) without ties."""
        return np.asarray(expit(d))

    def steepness(self, largest: float) -> float:
        """Return 1, along the largest range of the exponents of an entry."""
        return 1.0

    def least_information(self, d: FloatVector, shape: FloatVector, outcomes: Outcomes) -> float:
        """Return m with v' H v >= m r^2 for all v, r the largest range of the exponents of an entry along v.

        The variance of the exponents is at least p q / (p + q) r^2 if outcomes of probabilities p and q are
        the extreme ones, so m is the smallest weighted p q / (p + q).
        """
        p, q = np.sort(np.exp(self.log_chances(d, shape)), axis=0)[:2]
        return float((outcomes.total * p * q / (p + q)).min())

    def pseudo_votes(
        self, d: FloatVector, shape: FloatVector, own: FloatVector, cross: FloatVector, corner: float
    ) -> FloatArray:
        """Return p_o (Q_o + h) / 2 votes of each outcome o of probability p_o.

        Q_o is the variance of the entry's log probabilities along outcome o, and h the sum of p_o Q_o.
        """
        chances = np.exp(self.log_chances(d, shape))
        by_d = np.array([0.5, 0.0, -0.5])[:, None] - 0.5 * (chances[0] - chances[2])
        by_nu = np.array([0.0, 1.0, 0.0])[:, None] - chances[1]
        squares = own * by_d**2 + 2.0 * cross * by_d * by_nu + corner * by_nu**2
        squares += (chances * squares).sum(axis=0)
        return (0.5 * chances * squares)[[0, 2, 1]]
