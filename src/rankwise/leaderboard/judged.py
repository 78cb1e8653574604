"""Judges who differ, and votes of humans sharpened by those of a judge."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rankwise.core.text import listed, plural
from rankwise.core.types import FloatArray, FloatVector
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.duels import fit_duels, read_duels, warn_of_few_votes
from rankwise.leaderboard.firth import FEW
from rankwise.leaderboard.judge_loss import JudgeVotes, Progress
from rankwise.leaderboard.judge_uncertainty import JudgeUncertainty
from rankwise.leaderboard.judges import JudgeFit, fit_judges, warn_of_judges
from rankwise.leaderboard.matches import Matches
from rankwise.leaderboard.table import Effect
from rankwise.solvers import Monitor

# Up to this number of items covariances are computed at once.
DENSE_ITEMS = 3000
# Items that a note names.
LISTED = 5
# Attributes of fits with judges, which another fit removes.
OF_JUDGES = (
    "judges_", "judge_slopes_", "judge_order_effects_", "judge_votes_", "judge_spreads_", "judge_weight_",
    "judge_agreement_", "judge_gain_", "n_duels_",
)  # fmt: skip
# Arguments of `fit` that judges do not support, and those that votes of humans and of a judge do not.
NOT_OF_JUDGES = ("cluster", "covariates", "features", "judge_outcome")
NOT_OF_DUELS = ("judge", "cluster", "covariates", "features", "weight")


class HasJudges:
    """The part of `BradleyTerry` that fits judges."""

    if TYPE_CHECKING:
        alpha: float | None
        half_life: float | None
        intervals: str
        max_iter: int
        n_iter_: int
        history_: dict[str, NDArray[np.float64]]
        tol: float
        verbose: int
        callback: Callable[[Any], Any] | None
        order_effect: bool
        ties: str
        alpha_: float
        groups_: list[NDArray[Any]]
        items_: NDArray[Any]
        n_comparisons_: int
        judges_: NDArray[Any]
        judge_votes_: FloatVector
        prior_sd_: float | None
        scores_: FloatVector
        _parameters: FloatVector
        _votes: float
        _judges: Any
        _duels: Any

        @property
        def _comparisons(self) -> Comparisons: ...

        def _fit_matches(
            self, matches: Matches, features: FloatArray | None, columns: list[Any] | None
        ) -> Any: ...

    def _check_judged(self, name: str, **others: Any) -> None:
        """Refuse options that judges do not support."""
        given = [other for other, value in others.items() if value is not None]
        if given:
            raise ValueError(f"{name} cannot be combined with {given[0]}.")
        if self.ties != "half":
            raise ValueError(f"{name} needs ties='half'; got {self.ties!r}.")
        if self.intervals == "sampled":
            raise ValueError(f"{name} cannot be combined with intervals='sampled'.")
        if self.order_effect and name == "judge":
            raise ValueError("With judge, each judge has its own order effect; order_effect must be False.")
        if self.order_effect or (self.half_life is not None and name == "judge_outcome"):
            option = "order_effect" if self.order_effect else "half_life"
            raise ValueError(f"{name} cannot be combined with {option}.")
        if self.alpha is not None and self.alpha == 0:
            raise ValueError(f"{name} needs a positive alpha, or None for a learned one; got 0.")

    def _given_sd(self) -> float | None:
        """Return the standard deviation of the prior of scores by a given alpha, or None."""
        return None if self.alpha is None else (2.0 * self._votes * self.alpha) ** -0.5

    def _fit_duels(self, columns: dict[str, Any], judge_outcome: Any) -> Self:
        """Fit the human votes, then sharpen the scores by the votes of the judge."""
        if columns.get("outcome") is None:
            raise ValueError("judge_outcome needs outcome, the human votes; got None.")
        matches, duels = read_duels(columns["a"], columns["b"], columns["outcome"], judge_outcome)
        check_items(matches, "judge_outcome")
        self._fit_matches(matches, None, None)
        sd = self._given_sd() or self.prior_sd_
        assert sd is not None
        is_linked = len(self.groups_[0]) == len(self.items_)
        found = fit_duels(duels, self.scores_, sd, debias=is_linked)
        alone = fit_duels(duels, self.scores_, sd, weight=0.0, debias=is_linked)
        self.scores_ = self._parameters = found.scores
        self._duels = found.centre, found.centre_covariance, found.covariance
        self.objective_, self.gap_ = found.objective, found.gap
        self.judge_weight_, self.judge_agreement_ = found.weight, duels.agreement
        debias = self.intervals == "debiased"
        self.judge_gain_ = 1.0 - found.mean_error(debias=debias) / alone.mean_error(debias=debias)
        self.n_duels_ = int(duels.count.sum())
        if not (debias and is_linked):
            warn_of_few_votes(self.n_comparisons_)
        return self

    def _judged_note(self) -> str:
        """Return sentences on the votes of a judge and on items whose intervals may be too short."""
        if getattr(self, "_duels", None) is None and getattr(self, "_judges", None) is None:
            return ""
        matches, wins = self._comparisons.per_item()
        few = self.items_[np.minimum(wins, matches - wins) < FEW].tolist()
        note = self._duel_note()
        if few:
            names = listed([str(name) for name in few], LISTED)
            note += f" Items with fewer than {FEW:g} wins or losses may have too short intervals: {names}."
        return note.strip()

    def _duel_note(self) -> str:
        if getattr(self, "_duels", None) is None:
            return ""
        humans = f"{plural(self.n_comparisons_, 'human vote')} alone"
        votes = f"The votes of the judge on {plural(self.n_duels_, 'duel')}"
        agreement = f"it agrees with humans on {self.judge_agreement_:.0%} of their duels"
        if self.judge_gain_ < 0.005:
            return f"{votes} do not make intervals shorter than the {humans}; {agreement}."
        return f"{votes} make intervals {self.judge_gain_:.0%} shorter than the {humans}; {agreement}."

    def _set_judges(self, matches: Matches) -> None:
        """Fit the judges of matches, from the scores of equal judges, and store the results."""
        for name in OF_JUDGES:
            self.__dict__.pop(name, None)
        self._judges = self._duels = None
        if matches.judges is None or matches.judge is None:
            return
        check_items(matches, "judge")
        votes, monitor = JudgeVotes.count(matches), Monitor(self.verbose, self.callback)
        found = fit_judges(
            votes, self.scores_, len(matches.judges), has_orders=matches.result is not None,
            prior_sd=self._given_sd(), max_iter=self.max_iter, tol=self.tol * self._votes * float(np.log(2)),
            progress=Progress(monitor, self._votes),
        )  # fmt: skip
        self.n_iter_, self.history_ = monitor.iteration, monitor.history
        self._store_judges(matches.judges, found)
        weight = np.ones(len(matches.judge)) if matches.weight is None else matches.weight
        self.judge_votes_ = np.bincount(matches.judge, weight, len(matches.judges)).astype(np.float64)
        warn_of_judges(self.judges_, found, is_stopped=monitor.stop_requested)

    def _store_judges(self, names: Any, found: JudgeFit) -> None:
        loss, parameters = found.loss, found.minimum.point.parameters
        spreads = np.array([found.spreads.scores, found.spreads.slopes, found.spreads.orders])
        self._judges = tuple(vars(loss.votes).values()), loss.signs, spreads, parameters
        scores, logs, orders = loss.split(loss.normalised(parameters))
        self.scores_ = self._parameters = scores - scores.mean()
        self.judges_, self.judge_slopes_ = names, loss.signs * np.exp(logs)
        self.judge_order_effects_ = orders.copy()
        self.judge_spreads_ = found.spreads.slopes, found.spreads.orders if loss.has_orders else 0.0
        if self.alpha is None:
            self.prior_sd_ = found.spreads.scores * float(np.exp(loss.split(parameters)[1].mean()))
            self.alpha_ = 1.0 / (2.0 * self._votes * self.prior_sd_**2)
        self.objective_ = found.minimum.point.value / self._votes
        self.gap_ = found.minimum.decrease / self._votes

    def _judge_effects(self, uncertainty: JudgeUncertainty, confidence: float) -> list[Effect]:
        found = []
        values = np.stack([self.judge_slopes_, self.judge_order_effects_], axis=1).tolist()
        intervals = uncertainty.judge_intervals(confidence)
        for name, own, of_judge in zip(self.judges_.tolist(), values, intervals, strict=True):
            kinds = (f"slope of judge {name}", f"order effect of judge {name}")
            # Without order effects there are only slopes.
            found += [Effect(*row[:2], *row[2]) for row in zip(kinds, own, of_judge, strict=False)]
        return found


def check_items(matches: Matches, name: str) -> None:
    """Refuse more items than covariances are computed of."""
    if len(matches.items) > DENSE_ITEMS:
        raise ValueError(f"{name} is limited to {DENSE_ITEMS:,} items; there are {len(matches.items):,}.")
