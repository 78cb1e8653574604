"""What votes, judges and duels share: predictions, intervals and tables of scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import as_array, check_choice, check_count, check_positive
from rankwise.core.stored import Array, Declaration, Value
from rankwise.core.text import listed
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.leaderboard.anytime import PLANNED, level
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.held_out import HeldOut, held_out
from rankwise.leaderboard.links import LINKS, Link
from rankwise.leaderboard.matches import Matches, frame_columns, read_matches
from rankwise.leaderboard.stored import are_entries, are_lists
from rankwise.leaderboard.table import (
    Effect,
    Intervals,
    Leaderboard,
    LeaderboardRow,
    ScoreDifference,
    open_note,
    rank_ranges,
    rows_of,
    shrunk_note,
    step_down_ranges,
)
from rankwise.leaderboard.uncertainty import Uncertainty, predictive_variances, score_errors
from rankwise.solvers import SolverResult
from rankwise.solvers.endings import warn_of_ending

# Up to this number of items all covariances are computed at once; beyond it, single columns on request.
DENSE_ITEMS = 3000
# Columns of the covariance per block, and the largest number of items with ranges of ranks.
BLOCK_COLUMNS, RANKED_ITEMS = 256, 20_000
# Up to this number of items ranges of ranks use the distribution of the largest of all differences.
STEP_DOWN_ITEMS = 100
# Draws of scores for the probabilities of the first places, and the largest number of values in them.
DRAWS, DRAWN_VALUES = 20_000, 10_000_000
# What a fit leaves in every leaderboard, beside the results of the solver.
OF_A_BOARD = (
    "items_", "scores_", "groups_", "n_comparisons_", "alpha_", "prior_sd_", "_entries", "_votes",
)  # fmt: skip
TINY, HUGE = float(np.finfo(float).tiny), float(np.finfo(float).max)
# Names that a message lists.
LISTED = 5


@dataclass(eq=False, repr=False)
class LeaderboardParameters:
    """The parameters of all leaderboards."""

    alpha: float | None = None
    _: KW_ONLY
    tol: float = 1e-16
    max_iter: int = 100
    verbose: int = 0
    callback: Callable[[Any], Any] | None = None
    intervals: str = "debiased"


class BaseLeaderboard(LeaderboardParameters, BaseEstimator):
    """Scores of named items, with their covariance.

    A subclass has a `fit` that sets the attributes below, and returns uncertainties of the scores:
    `_uncertainty` for intervals and `_posterior` for predictions.
    """

    # Whether intervals for all looks are known to hold, as far as options allow.
    has_sequences: ClassVar[bool] = False
    # What a fit leaves: see `rankwise.core.stored`.
    stored: ClassVar[dict[str, Declaration]] = {
        "items_": Array(("items",), "", required=True),
        "scores_": Array(("items",), required=True),
        "groups_": Value((list,), check=are_lists, required=True),
        "n_comparisons_": Value((int,), low=1, required=True),
        "prior_sd_": Value((float, type(None)), low=TINY, high=HUGE, required=True),
        "n_iter_": Value((int,), low=0),
        "history_": Value((dict,)),
        "_entries": Value((tuple,), check=are_entries, required=True),
        "_votes": Value((float,), low=TINY, high=HUGE, required=True),
    }
    stored |= dict.fromkeys(("alpha_", "tie_effect_"), Value((float,), low=0.0, high=HUGE))
    stored |= dict.fromkeys(("objective_", "gap_"), Value((float,)))
    stored |= {"order_effect_": Value((float,), low=-HUGE, high=HUGE)}
    functions = ()

    items_: NDArray[Any]
    scores_: FloatVector
    groups_: list[NDArray[Any]]
    n_comparisons_: int
    alpha_: float
    prior_sd_: float | None
    objective_: float
    gap_: float
    n_iter_: int
    history_: dict[str, NDArray[np.float64]]
    order_effect: bool = False
    order_effect_: float = 0.0
    tie_effect_: float = 0.0
    _entries: tuple[Any, Any, Any, Any, Any]
    _votes: float
    _features: FloatArray | None = None
    _covariates: FloatArray | None = None
    _covariate_scale: FloatVector | None = None
    _squares: tuple[FloatVector, ...] | None = None

    def conflicts(self) -> Iterator[str]:
        """Yield the attributes of a file that contradict each other."""
        self._check_parameters()
        if len(set(self.items_.tolist())) < len(self.items_):
            yield "items_"

    def _uncertainty(self) -> Uncertainty:
        """Return the uncertainty of the scores of intervals."""
        raise NotImplementedError

    def _posterior(self) -> Uncertainty:
        """Return the posterior of the scores of predictions."""
        raise NotImplementedError

    def _posteriors(self) -> list[tuple[float, Uncertainty]]:
        """Return posteriors of the scores with their weights, for probabilities of an order."""
        return [(1.0, self._posterior())]

    @property
    def link_(self) -> Link:
        """The link of scores and chances of winning."""
        return LINKS["logistic"]

    @property
    def _shape(self) -> FloatVector:
        """The shapes of the link."""
        return np.zeros(0)

    @property
    def _comparisons(self) -> Comparisons:
        return Comparisons(len(self.items_), *self._entries)

    def predict_pair_proba(self, a: Any, b: Any) -> Any:
        """Return P(a above b) for a match without a tie or an order effect.

        Covariates are 0. With a learned prior, the probability is the mean over the posterior: s_a - s_b is
        divided by sqrt(1 + 2 pi k^2 V), with V its variance and k the slope of the link at 0 (MacKay 1992).
        Beyond 3,000 items, V is a lower bound, from the diagonal of the Hessian.

        Parameters
        ----------
        a, b : names, or columns of names

        Returns
        -------
        probability : float, or array of shape (n_pairs,)
        """
        first, second = self._pairs_of(a, b)
        return _plain(self.link_.chance(self._averaged(first, second)))

    def predict_match_proba(self, a: Any, b: Any) -> FloatArray:
        """Return P(a wins), P(tie) and P(a loses) for a match in which a is first, with the order effect.

        Covariates are 0.

        Returns
        -------
        probabilities : array of shape (3,) or (n_pairs, 3)
        """
        first, second = self._pairs_of(a, b)
        d = self._averaged(first, second, self.order_effect_)
        return np.exp(np.moveaxis(self.link_.log_chances(d, self._shape), 0, -1))

    def predict_pair_interval(
        self, a: Any, b: Any, *, confidence: float = 0.95, intervals: str = "fixed", planned: float = PLANNED
    ) -> tuple[float, float]:
        """Return the confidence interval of P(a above b): that of `difference`, as probabilities.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x"] * 30 + ["y"] * 10, ["y"] * 30 + ["x"] * 10)
        >>> low, high = model.predict_pair_interval("x", "y")
        >>> round(low, 2), round(high, 2)
        (0.59, 0.86)
        """
        difference = self.difference(a, b, confidence=confidence, intervals=intervals, planned=planned)
        low, high = self.link_.chance(np.array([difference.low, difference.high])).tolist()
        return low, high

    def _averaged(self, first: IntVector, second: IntVector, lead: float = 0.0) -> FloatArray:
        """Return s_first - s_second + lead as chances of a posterior mean need it; -1 is an unknown item."""
        scores = np.append(self.scores_, 0.0)
        d = scores[first] - scores[second] + lead
        if self.prior_sd_ is None:
            return d
        pairs, prior = (first.ravel(), second.ravel()), self.prior_sd_**2
        variances = predictive_variances(
            self._posterior(), *pairs, prior, dense=DENSE_ITEMS, block=BLOCK_COLUMNS
        )
        return self.link_.averaged(d, variances.reshape(first.shape))

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
        matches = read_matches(**columns)
        number_of = {name: number for number, name in enumerate(self.items_.tolist())}
        names = matches.items.tolist()
        place = np.array([number_of.get(name, -1) for name in names])
        unknown = [name for name, number in zip(names, place, strict=True) if number < 0]
        if unknown and not self._predicts_unknown_items:
            raise ValueError(
                f"The fit had no match of {listed([str(name) for name in unknown], LISTED)}. Without a "
                "penalty, or with features, such an item has no predicted score; leave its votes out."
            )
        result = np.ones(len(matches.first)) if matches.result is None else matches.result
        d = self._averaged(place[matches.first], place[matches.second], self.order_effect_)
        return held_out(self.link_.log_chances(d, self._shape), result, matches.weight, unknown)

    @property
    def _predicts_unknown_items(self) -> bool:
        """Whether an item without matches has the score of the prior."""
        return bool(self.alpha_)

    def standard_errors(self, items: Any = None) -> Any:
        """Return the standard error of the score of each item, or of those named; see `intervals`.

        They are those of scores relative to the mean of all, or of `Leaderboard.reference`. For up to 3,000
        items the Hessian is inverted once; beyond, each item takes a sparse system.
        """
        check_is_fitted(self)
        numbers = np.arange(len(self.items_)) if items is None else self._numbers_of(items, "items")
        errors = score_errors(self._uncertainty(), numbers.ravel(), dense=DENSE_ITEMS, block=BLOCK_COLUMNS)
        return _plain(errors.reshape(numbers.shape))

    def difference(
        self, a: Any, b: Any, *, confidence: float = 0.95, intervals: str = "fixed", planned: float = PLANNED
    ) -> ScoreDifference:
        """Return s_a - s_b with its standard error, confidence interval and P(s_a > s_b).

        The probability averages over the posterior of the prior's standard deviation, up to 500 items, in 20
        warm fits; beyond, it is at `prior_sd_`. See `ScoreDifference` for what it assumes.

        Parameters
        ----------
        a, b : names
        confidence : float
        intervals : "fixed" or "anytime"
            A fixed interval is for one look. Anytime intervals hold at all looks while votes arrive, as in
            `ScoreTable.difference`: asymptotically, for `BradleyTerry` without half-life, features or
            posterior intervals, if the votes (or their clusters) are a sample whose pairs are drawn in one
            way throughout.
        planned : float
            The number of votes (or clusters) at which anytime intervals are narrowest.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x", "x", "x", "y"], ["y", "y", "y", "x"])
        >>> [round(value, 2) for value in model.difference("x", "y")]
        [0.56, 1.09, -0.96, 3.18, 0.72]
        """
        for name, argument in ((a, "a"), (b, "b")):
            if self._numbers_of(name, argument).ndim:
                raise ValueError(f"{argument} must be the name of one item; got {name!r}.")
        options: dict[str, Any] = {"confidence": confidence, "intervals": intervals, "planned": planned}
        return self.differences(a, b, **options)[0]

    def differences(
        self, a: Any, b: Any, *, confidence: float = 0.95, intervals: str = "fixed", planned: float = PLANNED
    ) -> list[ScoreDifference]:
        """Return `difference` of each pair of two columns of names.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x", "x", "x", "y"], ["y", "y", "y", "x"])
        >>> [round(one.difference, 2) for one in model.differences(["x", "y"], ["y", "x"])]
        [0.56, -0.56]
        """
        first, second = (numbers.ravel() for numbers in self._pairs_of(a, b))
        check_confidence(confidence)
        uncertainty = self._uncertainty()
        if intervals != "fixed":
            is_mean = getattr(self, "half_life", None) is None and not hasattr(self, "coef_")
            if not (self.has_sequences and self.intervals == "debiased" and is_mean):
                raise ValueError(
                    'intervals="anytime" is for BradleyTerry with intervals="debiased", without half_life '
                    "and features."
                )
            confidence = float(level(confidence, uncertainty.n_units, intervals, planned))
        apart = (self.scores_[first] - self.scores_[second]).tolist()
        above = np.sum([weight * one.above(first, second) for weight, one in self._posteriors()], axis=0)
        pairs = zip(first.tolist(), second.tolist(), strict=True)
        return [
            ScoreDifference(difference, *uncertainty.difference(*pair, confidence), float(chance))
            for difference, pair, chance in zip(apart, pairs, above, strict=True)
        ]

    def effects(self, *, confidence: float = 0.95) -> list[Effect]:
        """Return the effects other than scores, with confidence intervals."""
        check_is_fitted(self)
        return []

    def leaderboard(
        self, top: int | None = None, *, confidence: float = 0.95, ranks: bool | None = None
    ) -> Leaderboard:
        """Return the items from the highest score to the lowest, with intervals and ranges of ranks.

        Parameters
        ----------
        top : int, optional
            The number of rows; by default all.
        confidence : float
            The confidence level of the interval of each score and of each range of ranks (see
            `rank_ranges`).
        ranks : bool, optional
            Compute the ranges of ranks, from the covariance of all items. By default only for up to 3,000
            items; True takes one sparse system per item beyond, and raises a ValueError for more than 20,000.

        Returns
        -------
        leaderboard : Leaderboard
            A list of rows that prints as a table.
        """
        check_is_fitted(self)
        check_confidence(confidence)
        if top is not None:
            check_count("top", top)
        order = np.argsort(-self.scores_, kind="stable")[:top]
        places = rankdata(-self.scores_, method="min")
        uncertainty, scores = self._uncertainty(), self.scores_
        errors, best, worst = _certainty(uncertainty, order, confidence, ranks)
        low, high = uncertainty.score_intervals(order, errors, confidence)
        profiles = uncertainty.profiles
        if profiles is not None and profiles.is_one_sided:
            scores = uncertainty.relative(scores)
        found = Intervals(scores[order], errors, low, high, best, worst)
        counts, link = self._comparisons.per_item(), self.link_
        rows = rows_of(self.items_.tolist(), order, places, found, counts, link.elo)
        if profiles is None or not profiles.is_one_sided:
            return Leaderboard(rows, confidence, self._note(rows), unit=link.unit)
        reference = self.items_[profiles.reference].tolist()
        note = " ".join(filter(None, (open_note(rows, profiles.n_linked), self._note(rows))))
        return Leaderboard(rows, confidence, note, reference, link.unit)

    def _note(self, rows: list[LeaderboardRow]) -> str:
        """Return sentences on the rows of a leaderboard."""
        return shrunk_note(rows)

    def top_probabilities(self, k: int = 1) -> FloatVector:
        """Return P(the item is among the k best) of each item, in the order of `items_`.

        By draws from the posterior of the scores, 20,000 for up to 500 items: normal distributions that take
        clusters and weights into account, averaged over the prior's standard deviation as the probability of
        `difference`. For up to 3,000 items.

        Scores are assumed to be independent draws from one normal distribution. The probabilities are right
        on average over such boards; if several of the best items are nearly equal, and far above the rest,
        that of the favourite is too large.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(["x"] * 30 + ["y"] * 20, ["y"] * 30 + ["x"] * 20)
        >>> model.top_probabilities().round(2)
        array([0.87, 0.13])
        """
        check_is_fitted(self)
        check_count("k", k)
        n = len(self.items_)
        if n > DENSE_ITEMS:
            raise ValueError(f"top_probabilities is limited to {DENSE_ITEMS:,} items; there are {n:,}.")
        k, size = min(k, n), min(DRAWS, DRAWN_VALUES // n)
        found = np.zeros(n)
        for share, posterior in self._posteriors():
            draws = posterior.score_draws(max(round(share * size), 1))
            top = np.argpartition(-draws, k - 1, axis=1)[:, :k]
            found += share * np.bincount(top.ravel(), minlength=n) / len(draws)
        return found

    def _check_parameters(self) -> None:
        check_choice(self.intervals, "intervals", ("debiased", "posterior"))
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        is_number = isinstance(self.alpha, int | float | np.number) and not isinstance(self.alpha, bool)
        if self.alpha is not None and not (is_number and self.alpha == 0):
            check_positive("alpha", self.alpha)

    def _take_start(self, start: BaseLeaderboard) -> float | None:
        """Take the board of a fit of the same matches, and return the sd of its prior if alpha is given."""
        for name in OF_A_BOARD:
            setattr(self, name, getattr(start, name))
        return None if self.alpha is None else float((2.0 * self._votes * self.alpha) ** -0.5)

    def _store_result(self, result: SolverResult) -> None:
        """Store the results of a fit, and warn if it ended early."""
        self.objective_, self.gap_ = result.objective, result.gap
        self.n_iter_, self.history_ = result.n_iter, result.history
        if result.status not in ("converged", "stopped"):
            warn_of_ending(result, self.tol)

    def _pairs_of(self, a: Any, b: Any) -> tuple[IntVector, IntVector]:
        """Return the indices of two names, or of two columns of names."""
        first, second = np.broadcast_arrays(self._numbers_of(a, "a"), self._numbers_of(b, "b"))
        return first, second

    def _numbers_of(self, names: Any, argument: str) -> IntVector:
        """Return the index of one name, or those of a column of names."""
        check_is_fitted(self)
        number_of: dict[Any, int] = {name: number for number, name in enumerate(self.items_.tolist())}
        is_column = isinstance(names, list | np.ndarray) or hasattr(names, "to_numpy")
        if isinstance(names, tuple) and names not in number_of:
            is_column = True
        if is_column and not isinstance(names, list | tuple):
            names = as_array(names).tolist()
        try:
            return np.array([number_of[name] for name in names] if is_column else number_of[names])
        except (KeyError, TypeError) as error:
            unknown = error.args[0] if isinstance(error, KeyError) else names
            raise ValueError(f"{argument} names {unknown!r}, which was in no match of the fit.") from None


def _certainty(
    uncertainty: Uncertainty, order: IntVector, confidence: float, ranks: bool | None
) -> tuple[FloatVector, list[Any], list[Any]]:
    """Return the standard error and the best and worst rank of some items."""
    n = uncertainty.n_items
    if ranks and n > RANKED_ITEMS:
        raise ValueError(
            f"ranks=True is limited to {RANKED_ITEMS:,} items, whose covariance takes minutes; there are "
            f"{n:,}. Pass ranks=False."
        )
    if not (is_dense(n) if ranks is None else ranks):
        errors = score_errors(uncertainty, order, dense=DENSE_ITEMS, block=BLOCK_COLUMNS)
        return errors, [None] * len(order), [None] * len(order)
    scores, freedom = uncertainty.centre, uncertainty.least_freedom()
    if n <= min(STEP_DOWN_ITEMS, DENSE_ITEMS):
        covariance = uncertainty.covariance()
        errors = np.sqrt(np.maximum(np.diag(covariance)[order], 0.0))
        best, worst = step_down_ranges(scores, covariance, confidence, freedom, order)
        return errors, best.tolist(), worst.tolist()
    blocks = uncertainty.all_columns(dense=DENSE_ITEMS, block=BLOCK_COLUMNS)
    variance, best, worst = rank_ranges(scores, blocks, confidence, freedom)
    errors = np.sqrt(np.maximum(variance[order], 0.0))
    return errors, best[order].tolist(), worst[order].tolist()


def is_dense(n_items: int) -> bool:
    """Return whether the covariance of all items is computed at once."""
    return n_items <= DENSE_ITEMS


def check_items(matches: Matches, name: str) -> None:
    """Refuse more items than covariances are computed of."""
    if len(matches.items) > DENSE_ITEMS:
        raise ValueError(f"{name} is limited to {DENSE_ITEMS:,} items; there are {len(matches.items):,}.")


def check_confidence(confidence: Any) -> None:
    """Refuse a level that is no number between 0 and 1."""
    is_number = isinstance(confidence, int | float | np.number)
    if not (is_number and 0 < confidence < 1):
        raise ValueError(f"confidence must be a number between 0 and 1; got {confidence!r}.")


def _plain(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else np.asarray(values)
