"""The logistic link of Bradley and Terry (1952)."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from rankwise import _native
from rankwise.core.types import FloatArray, FloatVector
from rankwise.leaderboard.comparisons import Comparisons, Outcomes
from rankwise.leaderboard.links.base import Link, Terms


class Logistic(Link):
    """P(win) = 1 / (1 + exp(-d)).

    Examples
    --------
    >>> Logistic().chance(np.log([1.0, 3.0]))
    array([0.5 , 0.75])
    """

    unit, meaning, slope = "log odds", "the log odds of winning", 0.25
    elo, elo_meaning = 400.0 / np.log(10.0), "a difference of 400 is odds of 10 to 1"

    def terms(self, d: FloatVector, shape: FloatVector, outcomes: Outcomes) -> Terms:
        """Return the loss of each entry and its derivatives."""
        p, total, won = expit(d), outcomes.total, outcomes.lead + 0.5 * outcomes.total
        return Terms(total * np.logaddexp(0.0, d) - won * d, total * p - won, total * p * (1.0 - p))

    def summed(
        self, counted: Comparisons, outcomes: Outcomes, scores: FloatVector, offset: FloatVector | None,
        shape: FloatVector,
    ) -> tuple[FloatVector, Terms]:  # fmt: skip
        """Return the derivative by each score, and the terms of entries, in one pass of native code."""
        value, by_scores, by_d, by_dd = _native.logistic_comparisons(
            counted.first, counted.second, outcomes.total, outcomes.lead, scores, offset
        )
        return by_scores, Terms(value, by_d, by_dd)

    def log_chances(self, d: FloatArray, shape: FloatVector) -> FloatArray:
        """Return log P of a win, a tie and a loss."""
        return np.stack([-np.logaddexp(0.0, -d), np.full_like(d, -np.inf), -np.logaddexp(0.0, d)])

    def steepness(self, largest: float) -> float:
        """Return 1: f''' = f'' (1 - 2 p)."""
        return 1.0

    def pseudo_votes(
        self, d: FloatVector, shape: FloatVector, own: FloatVector, cross: FloatVector, corner: float
    ) -> FloatArray:
        """Return half of the leverage, once as a win and once as a loss."""
        p = expit(d)
        half = 0.5 * own * p * (1.0 - p)
        return np.stack([half, half, np.zeros(len(d))])
