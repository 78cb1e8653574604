"""The probit link of Thurstone (1927), case V."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from rankwise.core.types import FloatArray, FloatVector
from rankwise.leaderboard.comparisons import Outcomes
from rankwise.leaderboard.links.base import Link, Terms


class Probit(Link):
    """P(win) = Phi(d): each performance is a score plus normal noise of variance 1/2.

    Examples
    --------
    >>> Probit().chance(np.array([0.0, 1.0])).round(3)
    array([0.5  , 0.841])
    """

    unit, meaning = "standard deviations", "the normal quantile of the chance of winning"
    slope = float(1.0 / np.sqrt(2.0 * np.pi))
    elo, elo_meaning = 200.0 * np.sqrt(2.0), "a difference of 200 is a chance of 76%"

    def terms(self, d: FloatVector, shape: FloatVector, outcomes: Outcomes) -> Terms:
        """Return the loss of each entry and its derivatives, by the inverse Mills ratios m and r."""
        up, down = outcomes.wins + 0.5 * outcomes.ties, outcomes.losses + 0.5 * outcomes.ties
        win, loss, log_density = log_ndtr(d), log_ndtr(-d), -0.5 * (d * d + np.log(2.0 * np.pi))
        m, r = np.exp(log_density - win), np.exp(log_density - loss)
        return Terms(-up * win - down * loss, down * r - up * m, up * m * (m + d) + down * r * (r - d))

    def log_chances(self, d: FloatArray, shape: FloatVector) -> FloatArray:
        """Return log P of a win, a tie and a loss."""
        return np.stack([log_ndtr(d), np.full_like(d, -np.inf), log_ndtr(-d)])

    def steepness(self, largest: float) -> float:
        """Return largest + 1.26, as abs(f''') <= f'' (m + d) for the loss f = -log Phi(d).

        Sampford (1953) proved 0 < f'' = m (m + d) < 1 and f''' < 0, and f''' = m - f'' (2 m + d). Then
        1 / (m + d) > m, and abs(f''') / f'' = 2 m + d - 1 / (m + d) < m + d. For d <= 0 this is less than
        1 / m <= sqrt(pi / 2), and for d > 0 it is at most sqrt(2 / pi) + d.
        """
        return float(largest + 1.26)
