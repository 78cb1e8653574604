"""Judge a leaderboard by votes that it was not fitted to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankwise.core.types import FloatArray, FloatVector


class HeldOut(NamedTuple):
    """How well the probabilities of a leaderboard predict other votes; means are weighted.

    Attributes
    ----------
    votes : int
        The number of votes of positive weight.
    log_loss : float
        The mean of -log P(outcome). If ties count as halves, that of a tie is the mean of both outcomes.
    accuracy : float
        The fraction of votes for the item that is more likely to win. A tie, and a vote on two items with
        equal chances, is half correct.
    brier : float
        The mean squared difference of the result (1, 0.5 or 0) and P(win) + P(tie) / 2.
    unknown : list of names
        The items that were in no match of the fit.
    """

    votes: int
    log_loss: float
    accuracy: float
    brier: float
    unknown: list[Any]

    def __str__(self) -> str:
        return (
            f"log loss {self.log_loss:.4f}, accuracy {self.accuracy:.1%}, Brier score {self.brier:.4f} of "
            f"{self.votes:,} held-out votes"
        )


def held_out(
    log_chances: FloatArray, result: FloatVector, weight: FloatVector | None, unknown: list[Any]
) -> HeldOut:
    """Return the measures of predicted log probabilities of a win, tie and loss, one column per vote."""
    log_win, log_tie, log_lost = log_chances
    win, tie, lost = np.exp(log_chances)
    of_tie = log_tie if tie.any() else 0.5 * (log_win + log_lost)
    likelihood = np.where(result == 1.0, log_win, np.where(result == 0.0, log_lost, of_tie))
    correct = 0.5 + 0.5 * np.sign(win - lost) * np.sign(result - 0.5)
    missed = (result - win - 0.5 * tie) ** 2
    log_loss, accuracy, brier = (
        float(np.average(values, weights=weight)) for values in (-likelihood, correct, missed)
    )
    return HeldOut(len(result), log_loss, accuracy, brier, unknown)
