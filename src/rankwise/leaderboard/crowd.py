"""Scores of items from the votes of judges who differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import check_positive
from rankwise.core.stored import Array, Declaration, Value
from rankwise.leaderboard.base import BaseLeaderboard, check_confidence, check_items
from rankwise.leaderboard.bradley_terry import BradleyTerry
from rankwise.leaderboard.judge_model import JudgeVotes
from rankwise.leaderboard.judge_uncertainty import JudgeState, JudgeUncertainty
from rankwise.leaderboard.judges import JudgeFit, fit_judges, warn_of_contrary
from rankwise.leaderboard.matches import frame_columns, read_matches
from rankwise.leaderboard.stored import are_judges, are_spreads
from rankwise.leaderboard.table import Effect, LeaderboardRow, few_votes_note
from rankwise.solvers import Monitor

# With fewer votes per judge, debiased scores are too far apart, and intervals are those of the posterior.
VOTES_PER_JUDGE = 30


@dataclass(eq=False, repr=False)
class CrowdBradleyTerry(BaseLeaderboard):
    """Rank items by the votes of judges who differ in how sharply they discern (Chen et al. 2013).

    P(a beats b | judge k) = 1 / (1 + exp(-beta_k (s_a - s_b) - h_k)): each judge has a slope beta_k and, if
    `outcome` is given, an order effect h_k in favor of the item named first. Ties count as half a win and
    half a loss. The spreads of log beta_k and h_k are learned, as is the prior of scores. The problem is not
    convex: the result is the best local minimum of several starts. O(n_items^3) per Newton step; for up to
    3,000 items.

    Parameters
    ----------
    alpha : float, optional
        Strength of the penalty on scores, positive. By default the prior is learned; see `BradleyTerry`.
    half_life : float, optional
        The weight of a match halves per `half_life` before the latest match.
    tol : float
        Stop when half the Newton decrement is at most `tol` times the attainable improvement over equal
        scores, or a unit of rounding.
    max_iter : int
        Of each fit at learned spreads.
    verbose : int
        1 prints a line per iteration.
    callback : callable, optional
        Called with a `State` after each iteration of the fit, and after each fit at given spreads; a true
        return value ends the fit.
    intervals : "debiased" or "posterior"
        "debiased": one Newton step without the prior of scores from the optimum; with fewer than 30 votes per
        judge, those of the posterior. "posterior": around the scores, with the inverse Hessian.

    Attributes
    ----------
    items_, scores_, groups_, n_comparisons_, alpha_, prior_sd_ :
        As in `BradleyTerry`. Scores are those of an average judge: the mean of log abs(beta_k) is 0.
    judges_ : array of shape (n_judges,)
        Their names, sorted if they can be.
    judge_slopes_, judge_order_effects_ : arrays of shape (n_judges,)
        beta_k, below 0 for a judge that votes against the rest, and h_k.
    judge_votes_ : array of shape (n_judges,)
        The weight of the votes of each.
    judge_spreads_ : tuple of two floats
        The learned standard deviations of the logarithm of abs(beta_k) and h_k.
    objective_, gap_, n_iter_, history_
        The objective includes the priors of judges, and `gap_` is the distance from the local minimum to
        second order.

    Examples
    --------
    >>> from rankwise import CrowdBradleyTerry
    >>> model = CrowdBradleyTerry().fit(list("xxxxxy") * 18, list("yyyyyx") * 18, judge=list("stusts") * 18)
    >>> dict(zip(model.judges_.tolist(), model.judge_slopes_.round(1).tolist()))
    {'s': 0.3, 't': 2.0, 'u': 1.7}
    """

    _: KW_ONLY
    half_life: float | None = None

    stored: ClassVar[dict[str, Declaration]] = {
        "_judges": Value((tuple,), check=are_judges, required=True),
        "judges_": Array(("judges",), "", required=True),
        "judge_spreads_": Value((tuple,), check=are_spreads, required=True),
    }
    stored |= dict.fromkeys(
        ("judge_slopes_", "judge_order_effects_", "judge_votes_"), Array(("judges",), required=True)
    )

    def fit(
        self,
        winner: Any,
        loser: Any = None,
        weight: ArrayLike | None = None,
        *,
        judge: Any,
        outcome: Any = None,
        date: Any = None,
    ) -> CrowdBradleyTerry:
        """Learn the scores and the judges.

        Parameters
        ----------
        winner, loser, weight, outcome, date :
            As for `BradleyTerry.fit`.
        judge : column of labels
            Who voted.
        """
        self._check_parameters()
        given = {"weight": weight, "outcome": outcome, "date": date, "judge": judge}
        columns = frame_columns(winner, **given) if loser is None else {"a": winner, "b": loser} | given
        matches = read_matches(**columns, half_life=self.half_life)
        if matches.judges is None or matches.judge is None:
            raise ValueError("judge must be a column of labels, who voted; got None.")
        check_items(matches, "judge")
        prior_sd = self._take_start(BradleyTerry(self.alpha).fit_matches(matches, is_start=True))
        found = fit_judges(
            JudgeVotes.count(matches), self.scores_, len(matches.judges),
            has_orders=matches.result is not None, prior_sd=prior_sd, tol=self.tol,
            max_iter=self.max_iter, monitor=Monitor(self.verbose, self.callback),
        )  # fmt: skip
        self._set_judges(matches.judges, found)
        weight = np.ones(len(matches.judge)) if matches.weight is None else matches.weight
        self.judge_votes_ = np.bincount(matches.judge, weight).astype(np.float64)
        warn_of_contrary(self.judges_, found.model.signs)
        self._store_result(found.result)
        return self

    def _set_judges(self, names: NDArray[Any], found: JudgeFit) -> None:
        """Store the scores and the judges of a fit."""
        model, spreads, parameters = found.model, found.spreads, found.result.coef
        self._judges = (
            tuple(vars(model.votes).values()), model.signs,
            np.array([spreads.scores, spreads.slopes, spreads.orders]), parameters,
        )  # fmt: skip
        scores, logs, orders = model.split(model.normalised(parameters))
        self.scores_ = scores - scores.mean()
        self.judges_, self.judge_slopes_ = names, model.signs * np.exp(logs)
        self.judge_order_effects_ = orders.copy()
        self.judge_spreads_ = spreads.slopes, spreads.orders if model.has_orders else 0.0
        if self.alpha is None:
            self.prior_sd_ = spreads.scores * float(np.exp(model.split(parameters)[1].mean()))
            self.alpha_ = 1.0 / (2.0 * self._votes * self.prior_sd_**2)

    def conflicts(self) -> Iterator[str]:
        """Yield the attributes of a file that contradict each other."""
        yield from super().conflicts()
        if not JudgeState(*self._judges).is_valid(self.scores_):
            yield "_judges"
        for uncertainty in (self._posterior(), self._uncertainty()):
            uncertainty.hessian.log_determinant()  # a LinAlgError unless it is positive definite
        if len(set(self.judges_.tolist())) < len(self.judges_):
            yield "judges_"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.alpha is not None:
            check_positive("alpha", self.alpha)
        if self.half_life is not None:
            check_positive("half_life", self.half_life)

    def effects(self, *, confidence: float = 0.95) -> list[Effect]:
        """Return the slope and, if `outcome` was given, the order effect of each judge, with intervals."""
        check_confidence(confidence)
        values = np.stack([self.judge_slopes_, self.judge_order_effects_], axis=1).tolist()
        intervals = self._uncertainty().judge_intervals(confidence)
        return [
            Effect(f"{kind} of judge {name}", value, *interval)
            for name, pair, judge in zip(self.judges_.tolist(), values, intervals, strict=True)
            # Without order effects there are only slopes.
            for kind, value, interval in zip(("slope", "order effect"), pair, judge, strict=False)
        ]

    def _uncertainty(self) -> JudgeUncertainty:
        is_linked = len(self.groups_[0]) == len(self.items_)
        has_many = float(self.judge_votes_.mean()) >= VOTES_PER_JUDGE
        debias = self.intervals == "debiased" and is_linked and has_many
        return JudgeUncertainty(len(self.items_), JudgeState(*self._judges), debias=debias)

    def _posterior(self) -> JudgeUncertainty:
        return JudgeUncertainty(len(self.items_), JudgeState(*self._judges), debias=False)

    def _note(self, rows: list[LeaderboardRow]) -> str:
        return few_votes_note(self.items_, *self._comparisons.per_item())
