"""Scores of items from few votes of humans, sharpened by the votes of a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rankwise.core.checks import check_positive
from rankwise.core.stored import Declaration, Value
from rankwise.core.text import plural
from rankwise.leaderboard.base import HUGE, BaseLeaderboard, check_items
from rankwise.leaderboard.bradley_terry import BradleyTerry
from rankwise.leaderboard.duels import DuelUncertainty, fit_duels, read_duels, warn_of_few_votes
from rankwise.leaderboard.matches import frame_columns
from rankwise.leaderboard.stored import are_covariances
from rankwise.leaderboard.table import LeaderboardRow, few_votes_note
from rankwise.solvers import Monitor


@dataclass(eq=False, repr=False)
class PredictionPoweredBradleyTerry(BaseLeaderboard):
    """Rank items by human votes on some duels and a judge's votes on all (Angelopoulos et al. 2023, PPI++).

    A duel is a prompt with two answers. The mean loss of the judge on all duels minus that on the duels that
    humans voted on, a random subset, is added to the mean loss of the humans, times lambda. It has a mean of
    0 whatever the judge does, and removes the part of the humans' noise that the judge shares. So the scores
    are those of humans, the judge makes their intervals shorter, and its biases do not matter. See
    `fit_duels`. For up to 3,000 items.

    Parameters
    ----------
    alpha : float, optional
        Strength of the penalty on scores, positive. By default the prior is learned; see `BradleyTerry`.
    tol, max_iter, verbose, callback :
        Of the last fit; see `BradleyTerry`.
    intervals : "debiased" or "posterior"
        "debiased": one Newton step without the prior from the scores. "posterior": around the scores, with
        the variance of the bias of the prior, which needs more votes.

    Attributes
    ----------
    items_, scores_, groups_, n_comparisons_, alpha_, prior_sd_, objective_, gap_, n_iter_, history_
        As in `BradleyTerry`, for the human votes; the objective is per human vote.
    judge_weight_, judge_agreement_ : float
        lambda, and the fraction of duels with a human vote on which the judge agreed.
    judge_gain_ : float
        The fraction by which the mean length of intervals of scores is below that of the human votes alone,
        by the same method with lambda = 0.
    n_duels_ : int
        The number of duels, with and without a human vote.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import PredictionPoweredBradleyTerry
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.permuted(np.tile(list("xyz"), (2000, 1)), axis=1)[:, :2].T
    >>> judge = (rng.random(2000) < np.where(a < b, 0.7, 0.3)) * 1.0
    >>> human = np.where(rng.random(2000) < 0.9, judge, 1 - judge)
    >>> human[500:] = np.nan
    >>> model = PredictionPoweredBradleyTerry().fit(a, b, outcome=human, judge_outcome=judge)
    >>> print(model.leaderboard().note)  # doctest: +ELLIPSIS
    The votes of the judge on 2,000 duels make intervals ...% shorter than the 500 human votes alone; ...
    """

    stored: ClassVar[dict[str, Declaration]] = {
        "_duels": Value((tuple,), check=are_covariances, required=True),
        "judge_gain_": Value((float,), low=-HUGE, high=1.0, required=True),
        "n_duels_": Value((int,), low=1, required=True),
    }
    stored |= dict.fromkeys(("judge_weight_", "judge_agreement_"), Value((float,), 0.0, 1.0, required=True))

    def fit(
        self, winner: Any, loser: Any = None, *, outcome: Any = None, judge_outcome: Any
    ) -> PredictionPoweredBradleyTerry:
        """Learn the scores.

        Parameters
        ----------
        winner, loser : columns of names, one per duel, or a frame
            As for `BradleyTerry.fit`; the items that are named first and second.
        outcome : column of "win", "loss" and "tie", or of 1, 0 and 0.5
            The human votes; missing (None, NaN or empty) for the other duels.
        judge_outcome : column like outcome
            The votes of the judge, on every duel.
        """
        self._check_parameters()
        given = {"outcome": outcome, "judge_outcome": judge_outcome}
        columns = frame_columns(winner, **given) if loser is None else {"a": winner, "b": loser} | given
        if columns.get("outcome") is None:
            raise ValueError("judge_outcome needs outcome, the human votes; got None.")
        matches, duels = read_duels(*(columns[name] for name in ("a", "b", "outcome", "judge_outcome")))
        check_items(matches, "judge_outcome")
        sd = self._take_start(BradleyTerry(self.alpha).fit_matches(matches, is_start=True)) or self.prior_sd_
        assert sd is not None
        is_linked = len(self.groups_[0]) == len(self.items_)
        alone = fit_duels(duels, self.scores_, sd, weight=0.0, debias=is_linked)
        found = fit_duels(
            duels, self.scores_, sd, debias=is_linked, tol=self.tol, max_iter=self.max_iter,
            monitor=Monitor(self.verbose, self.callback),
        )  # fmt: skip
        self.scores_ = found.scores
        self._duels = found.centre, found.centre_covariance, found.covariance
        self.judge_weight_, self.judge_agreement_ = found.weight, duels.agreement
        debias = self.intervals == "debiased"
        self.judge_gain_ = 1.0 - found.mean_error(debias=debias) / alone.mean_error(debias=debias)
        self.n_duels_ = int(duels.count.sum())
        if not (debias and is_linked):
            warn_of_few_votes(self.n_comparisons_)
        self._store_result(found.result)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.alpha is not None:
            check_positive("alpha", self.alpha)

    def _uncertainty(self) -> DuelUncertainty:
        is_linked = len(self.groups_[0]) == len(self.items_)
        if self.intervals == "debiased" and is_linked:
            return DuelUncertainty(*self._duels[:2])
        return self._posterior()

    def _posterior(self) -> DuelUncertainty:
        return DuelUncertainty(self.scores_, self._duels[2])

    def _note(self, rows: list[LeaderboardRow]) -> str:
        humans = f"the {plural(self.n_comparisons_, 'human vote')} alone"
        votes = f"The votes of the judge on {plural(self.n_duels_, 'duel')}"
        gain = f"make intervals {self.judge_gain_:.0%} shorter than"
        if self.judge_gain_ < 0.005:
            gain = "do not make intervals shorter than"
        agreement = f"it agrees with humans on {self.judge_agreement_:.0%} of their duels."
        few = few_votes_note(self.items_, *self._comparisons.per_item())
        return f"{votes} {gain} {humans}; {agreement} {few}".strip()
