"""Judge a leaderboard by votes that it was not fitted to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from rankwise.core.text import listed
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.matches import Matches, frame_columns, read_matches
from rankwise.leaderboard.uncertainty import Uncertainty, pair_variances, score_errors

LISTED = 5
# Up to this number of items variances are exact; beyond it, lower bounds from the diagonal of the Hessian.
DENSE_ITEMS, BLOCK_COLUMNS = 3000, 256


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


class PredictsVotes:
    """The part of `BradleyTerry` that judges its predictions."""

    if TYPE_CHECKING:
        items_: NDArray[Any]
        scores_: FloatVector
        alpha_: float
        order_effect_: float
        tie_effect_: float
        order_effect: bool
        ties: str

        def _posterior(self) -> Uncertainty: ...

    def score(
        self, winner: Any, loser: Any = None, weight: ArrayLike | None = None, *, outcome: Any = None
    ) -> float:
        """Return the mean log likelihood of held-out votes, minus the log loss of `evaluate`.

        Higher is better; equal chances have log(1/2) = -0.693.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x", "x", "x", "y"], ["y", "z", "y", "z"])
        >>> round(model.score(["x", "z"], ["y", "y"]), 3)
        -0.648
        """
        return -self.evaluate(winner, loser, weight, outcome=outcome).log_loss

    def evaluate(
        self, winner: Any, loser: Any = None, weight: ArrayLike | None = None, *, outcome: Any = None
    ) -> HeldOut:
        """Compare the predictions of `predict_match_proba` with votes that were not in the fit.

        An item that was in no match of the fit has the score and the variance of the prior: 0, the mean of
        all items, and `prior_sd_` squared if the prior is learned. With alpha=0 or with features, such items
        have no prediction and raise a ValueError that names them.

        Parameters
        ----------
        winner, loser, weight, outcome :
            As for `fit`; a frame in place of winner and loser has the same columns.

        Returns
        -------
        held_out : HeldOut
            Log loss, accuracy, Brier score, the number of votes and the unknown items.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x", "x", "x", "y"], ["y", "z", "y", "z"])
        >>> found = model.evaluate(["x", "new"], ["y", "z"])
        >>> round(found.log_loss, 3), found.accuracy, found.unknown
        (0.38, 1.0, ['new'])
        """
        check_is_fitted(self)
        if loser is None:
            columns = frame_columns(winner, weight=weight, outcome=outcome)
            columns.pop("date", None)
        else:
            columns = {"a": winner, "b": loser, "weight": weight, "outcome": outcome}
        if self.order_effect and columns.get("outcome") is None:
            raise ValueError("A model with an order effect needs outcome: the order is not known otherwise.")
        return self._judged(read_matches(**columns))

    def _judged(self, matches: Matches) -> HeldOut:
        number_of = {name: number for number, name in enumerate(self.items_.tolist())}
        names = matches.items.tolist()
        place = np.array([number_of.get(name, -1) for name in names])
        unknown = [name for name, number in zip(names, place, strict=True) if number < 0]
        if unknown and (not self.alpha_ or hasattr(self, "coef_")):
            raise ValueError(
                f"The fit had no match of {listed([str(name) for name in unknown], LISTED)}. Without a "
                "penalty, or with features, such an item has no predicted score; leave its votes out."
            )
        result = np.ones(len(matches.first)) if matches.result is None else matches.result
        log_chances = self._log_chances(place[matches.first], place[matches.second])
        return _held_out(log_chances, result, matches.weight, unknown)

    def _log_chances(self, first: IntVector, second: IntVector) -> FloatArray:
        """Return log P of a win, tie and loss of the first; an item with the number -1 is unknown."""
        scores = np.append(self.scores_, 0.0)
        d = scores[first] - scores[second] + self.order_effect_
        if getattr(self, "prior_sd_", None) is not None:
            d = d / np.sqrt(1.0 + np.pi / 8.0 * self._variances(first, second))
        with np.errstate(divide="ignore"):  # log 0 = -inf gives ties a probability of 0
            exponents = np.stack([0.5 * d, np.log(self.tie_effect_) + 0.0 * d, -0.5 * d])
        return log_softmax(exponents, axis=0)

    def _variances(self, first: IntVector, second: IntVector) -> FloatVector:
        """Return the posterior variance of each difference; that of an unknown score is the prior's."""
        posterior, n = self._posterior(), len(self.items_)
        prior = 1.0 / (2.0 * self.alpha_ * posterior.votes)
        known, one_known = (first >= 0) & (second >= 0), (first >= 0) != (second >= 0)
        found = np.full(len(first), 2.0 * prior)
        found[known] = pair_variances(
            posterior, first[known], second[known], dense=DENSE_ITEMS, block=BLOCK_COLUMNS
        )
        other = np.maximum(first, second)[one_known]
        if n > DENSE_ITEMS:
            found[one_known] = prior + 1.0 / (posterior.hessian.diagonal[other] * posterior.votes)
        elif len(other):
            # The mean of the scores, which matches do not determine, has the variance of the prior.
            errors = score_errors(posterior, other, dense=DENSE_ITEMS, block=BLOCK_COLUMNS)
            found[one_known] = prior + prior / n + errors**2
        return found


def _held_out(
    log_chances: FloatArray, result: FloatVector, weight: FloatVector | None, unknown: list[Any]
) -> HeldOut:
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
