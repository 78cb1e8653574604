"""Scores of named items from comparisons alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.core.checks import as_array, check_choice, check_count, check_positive
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, FloatVector, IntVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.clusters import ClusterCounts
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.covariates import Covariates
from rankwise.leaderboard.diagnosis import diagnose, diagnose_covariates
from rankwise.leaderboard.differences import HasDifferences, check_confidence
from rankwise.leaderboard.differences import ScoreDifference as ScoreDifference
from rankwise.leaderboard.duels import DuelUncertainty
from rankwise.leaderboard.firth import FirthFit, Profiles
from rankwise.leaderboard.fragility import HasFragility
from rankwise.leaderboard.held_out import PredictsVotes
from rankwise.leaderboard.item_features import as_rows, with_features
from rankwise.leaderboard.judge_uncertainty import JudgeState, JudgeUncertainty
from rankwise.leaderboard.judged import NOT_OF_DUELS, NOT_OF_JUDGES, HasJudges
from rankwise.leaderboard.loss import ComparisonLoss
from rankwise.leaderboard.matches import Matches, frame_columns, read_matches
from rankwise.leaderboard.newton import UnboundedScoresError, solve_comparisons
from rankwise.leaderboard.posterior import sampled_posterior
from rankwise.leaderboard.prior import Prior, learned_sd, pairs_similar_scores
from rankwise.leaderboard.table import (
    Effect,
    Leaderboard,
    LeaderboardRow,
    open_note,
    rank_ranges,
    shrunk_note,
    step_down_ranges,
)
from rankwise.leaderboard.uncertainty import (
    ClusteredUncertainty,
    SampledUncertainty,
    Uncertainty,
    WeightedUncertainty,
    pair_variances,
    score_errors,
)
from rankwise.solvers import InterruptedWarning, Monitor, SolverResult

logger = logging.getLogger("rankwise")


TIES = ("half", "davidson")
INTERVALS = ("debiased", "posterior", "sampled")
# Up to this number of items all covariances are computed at once; beyond it, single columns on request.
DENSE_ITEMS = 3000
# Up to this number of parameters the evidence is computed by determinants; beyond it, by traces.
EVIDENCE_ITEMS = 500
# Columns of the covariance per block, and the largest number of items with ranges of ranks.
BLOCK_COLUMNS = 256
# Up to this number of items ranges of ranks use the distribution of the largest of all differences.
STEP_DOWN_ITEMS = 100
# Up to this number of items the posterior is sampled. Beyond it few draws have most of the weight.
SAMPLED_ITEMS = 100
# Draws of scores for the probabilities of the first places, and the largest number of values in them.
DRAWS, DRAWN_VALUES = 20_000, 10_000_000
RANKED_ITEMS = 20_000
# With fewer votes per judge, debiased scores are too far apart, and intervals are those of the posterior.
VOTES_PER_JUDGE = 30


@dataclass(eq=False, repr=False)
class BradleyTerry(PredictsVotes, HasDifferences, HasFragility, HasJudges, BaseEstimator):
    """Rank items: minimise the mean over matches of log(1 + exp(s_loser - s_winner)) + alpha ||s||^2.

    Each item has a score s, and P(a beats b) = 1 / (1 + exp(s_b - s_a)) (Zermelo 1929; Bradley and Terry
    1952). The mean is weighted. An order effect h is added to the score of the item named first
    (at home, shown first). Ties count as half a win and half a loss, or, by Davidson (1970), the
    probabilities of win, tie and loss are proportional to exp(d/2), nu and exp(-d/2). h and log nu are
    penalised like scores if `alpha` is given.

    By default the penalty is learned: scores have a normal prior whose standard deviation `prior_sd_`
    maximises log evidence - (log sd)^2 / 2, in about 15 fits, and predictions average over the posterior.
    This assumes that pairs are chosen without regard to strength; matchmaking is warned of, and a few items
    far from all others make `prior_sd_` too large for the rest.

    With features x of the items, s = u + x' beta and the penalty is alpha ||u||^2 + feature_alpha ||beta||^2:
    the features determine the scores of items without matches, and matter most for items with few.

    With covariates z of the matches, such as a difference of lengths, the log odds are s_a - s_b + z' gamma,
    so that scores are those of matches with z = 0. gamma is penalised like h, in units of the root mean
    square of each covariate.

    Equal pairs are counted first; a Newton step is a sparse system by conjugate gradients, O(distinct pairs)
    per iteration. A million matches of 10,000 items take seconds.

    Conversions: with W the sum of the weights, `alpha` is 1 / (2 W C) for the C of scikit-learn's
    LogisticRegression (without intercept, rows +1 for the winner and -1 for the loser), a / W for the alpha a
    of `choix.opt_pairwise`, and 1 / (2 W v) for a normal prior of variance v on each score.

    Parameters
    ----------
    alpha : float, optional
        Strength of the penalty, 0 for none. By default it is learned from the matches: `alpha_` is
        1 / (2 W v) with v = prior_sd_^2, and W = (sum w)^2 / sum w^2, the effective number of matches, for
        weights that are not counts. An order effect, log nu, gamma (times the root mean square of each
        covariate) and the weights of features then have standard normal priors, 1 / (2 W).
    ties : "half" or "davidson"
    order_effect : bool
        Learn the advantage of the first item of a pair. `fit` then needs `outcome`.
    feature_alpha : float, optional
        Strength of the penalty on the weights of features; by default `alpha`, or 1 / (2 W) if that is
        learned.
    half_life : float, optional
        The weight of a match halves per `half_life` before the latest match: in days for dates, otherwise in
        the unit of the numbers in `date`.
    tol : float
        Stop when the gap is at most `tol` times the attainable improvement over equal scores, or a unit of
        rounding; with judges, half the Newton decrement of the last fit takes the place of the gap.
    max_iter : int
    verbose : int
        1 prints a line per iteration.
    callback : callable, optional
        Called with a `State` after each iteration; a true return value ends the fit. With judges, each fit at
        given spreads is an iteration, too.
    intervals : "debiased", "posterior" or "sampled"
        Standard errors, confidence intervals and ranges of ranks. "debiased": around the scores that maximise
        the likelihood times the root of the determinant of the information (Firth 1993), without the prior,
        with the inverse information there; items with fewer than five wins or losses have profile intervals.
        An end that the votes do not bound, as of an item that won all its votes, is infinite. "posterior":
        around the scores, with the inverse Hessian of the objective; also for features and for items that
        matches do not link, which the likelihood does not determine. "sampled": quantiles of draws from the
        posterior of scores and, if it is learned, of the prior's sd. They are usually shorter
        if votes are few. For up to 100 items.

    Attributes
    ----------
    items_ : array of shape (n_items,)
        The names, sorted if they can be.
    scores_ : array of shape (n_items,)
        Their mean is 0. A difference of 1 is odds of e.
    order_effect_ : float
        h, 0 without an order effect.
    tie_effect_ : float
        nu, 0 for ties="half".
    covariate_names_ : list of str
    covariate_effects_ : array of shape (n_covariates,)
        gamma: the log odds per unit of each covariate.
    groups_ : list of arrays
        The items that matches link, the largest group first. Scores of different groups are not comparable.
    coef_ : array of shape (n_features,)
        With features: beta. The difference of scores and `predict` is u, which features do not explain.
    intercept_ : float
        With features: the constant that makes the mean score 0.
    prior_sd_ : float or None
        The standard deviation of the learned prior of scores; None if `alpha` was given.
    alpha_, objective_, gap_, n_iter_, history_
        The penalty of scores, and the results of the fit: the objective is within `gap_` of its minimum.
    n_comparisons_ : int
        The number of matches of positive weight.
    judges_ : array of shape (n_judges,)
        With judges: their names, sorted if they can be.
    judge_slopes_, judge_order_effects_ : arrays of shape (n_judges,)
        With judges: beta_k, below 0 for a judge that votes against the rest, and h_k.
    judge_votes_ : array of shape (n_judges,)
        With judges: the weight of the votes of each.
    judge_spreads_ : tuple of two floats
        With judges: the learned standard deviations of the logarithm of abs(beta_k) and h_k.
    judge_weight_, judge_agreement_ : float
        With `judge_outcome`: lambda, and the fraction of duels with a human vote on which the judge agreed.
    judge_gain_ : float
        With `judge_outcome`: the fraction by which the mean length of intervals of scores is below that of
        the human votes alone, by the same method with lambda = 0.
    n_duels_ : int
        With `judge_outcome`: the number of duels, with and without a human vote.

    Examples
    --------
    >>> winner, loser = ["ann", "ann", "bob", "bob", "cid", "cid"], ["bob", "cid", "cid", "cid", "bob", "ann"]
    >>> model = BradleyTerry().fit(winner, loser)
    >>> model.items_.tolist()
    ['ann', 'bob', 'cid']
    >>> round(model.predict_pair_proba("ann", "bob"), 3)
    0.529
    >>> print(model.leaderboard())
    rank  item   score    from     to   ranks  matches    won
    1     ann    0.117  -1.018  1.861  1 to 3        3  66.7%
    2     bob   -0.012  -1.358  1.161  1 to 3        4  50.0%
    3     cid   -0.104  -1.384  0.824  1 to 3        5  40.0%
    """

    alpha: float | None = None
    _: KW_ONLY
    ties: str = "half"
    order_effect: bool = False
    feature_alpha: float | None = None
    half_life: float | None = None
    tol: float = 1e-16
    max_iter: int = 100
    verbose: int = 0
    callback: Callable[[Any], Any] | None = None
    intervals: str = "debiased"

    def fit(
        self,
        winner: Any,
        loser: Any = None,
        weight: ArrayLike | None = None,
        *,
        outcome: Any = None,
        date: Any = None,
        features: Any = None,
        cluster: Any = None,
        covariates: Any = None,
        judge: Any = None,
        judge_outcome: Any = None,
    ) -> BradleyTerry:
        """Learn the scores.

        Parameters
        ----------
        winner, loser : columns of names, one per match
            Lists, arrays, pandas or polars columns of any values that can be hashed. A frame (or dict) in
            place of both has the columns winner and loser, chosen and rejected, model_a, model_b and winner
            (an arena table), or a, b and outcome; weight and date if any. Other arguments may then be
            names of columns: cluster="user", covariates=["length"].
        weight : array of shape (n_matches,), optional
            A match of weight 2 counts as two matches, and one of weight 0 as none; its items remain.
        outcome : column of "win", "loss" and "tie", or of 1, 0 and 0.5, optional
            The outcome for the item in `winner`, which is then only the first of the two. The values of arena
            tables are known, too: "model_a", "model_b", "tie" and "tie (bothbad)", which is a tie.
        date : column of dates or numbers, optional
            Used with `half_life`. Text, or numbers that are all valid dates of the years 1800 to 2199, may
            have the compact form YYYYMMDD. Times with a zone are converted to UTC.
        features : pandas frame with the names of items as its index, or dict of names and rows, optional
            Numbers of a similar scale in all columns. Every item of a match needs a row; items without
            matches get scores too.
        cluster : column of labels, or two columns, optional
            Votes of one cluster (a user, a prompt) may depend on each other; those of different clusters are
            independent. With two columns, a pair or an array or frame of two, votes that share either label
            may be dependent. Scores stay as they are; intervals and ranges of ranks take it into account.
            For up to 3,000 items.
        covariates : frame, dict of columns or array of shape (n_matches, n_covariates), optional
            Numbers z of each match, for the item named first: a difference of lengths, 1 if it was shown on
            the left and -1 otherwise. Swapping both items changes the sign of z. Without `outcome`, the first
            is the winner, so z must be a difference, winner minus loser; a column of one sign is refused.
            Units do not matter.
        judge : column of labels, optional
            Who voted. The model is then P(a beats b | judge k) = 1 / (1 + exp(-beta_k (s_a - s_b) - h_k)):
            judges differ in how sharply they discern and, if `outcome` is given, in their preference for
            the item named first. The spreads of log beta_k and h_k are learned. The problem is not convex:
            the result is the best local minimum of several starts, `objective_` includes the priors of
            judges, and `gap_` is the distance from that minimum to second order. For up to 3,000 items.
        judge_outcome : column like outcome, optional
            The vote of a judge, such as a language model, on every duel (the same prompt and answers), if
            humans voted on a random subset. `outcome` has the human votes and is missing (None, NaN or empty)
            for the other duels. The scores are those of humans; the judge makes their intervals shorter, and
            its biases do not matter. See `fit_duels`. For up to 3,000 items.
        """
        self._check_parameters()
        if loser is None:
            columns = frame_columns(
                winner, weight=weight, outcome=outcome, date=date, cluster=cluster, covariates=covariates,
                judge=judge, judge_outcome=judge_outcome,
            )  # fmt: skip
        else:
            columns = {"a": winner, "b": loser, "weight": weight, "outcome": outcome, "date": date}
            columns |= {"cluster": cluster, "covariates": covariates, "judge": judge}
            columns["judge_outcome"] = judge_outcome
        judge_outcome = columns.pop("judge_outcome", None)
        given = columns | {"features": features, "judge_outcome": judge_outcome}
        if judge is not None:
            self._check_judged("judge", **{name: given.get(name) for name in NOT_OF_JUDGES})
        if judge_outcome is not None:
            self._check_judged("judge_outcome", **{name: given.get(name) for name in NOT_OF_DUELS})
            return self._fit_duels(columns, judge_outcome)
        if self.order_effect and columns.get("outcome") is None:
            raise ValueError("order_effect needs outcome: of winner and loser alone, the order is not known.")
        matches = read_matches(**columns, half_life=self.half_life)
        if features is None:
            return self._fit_matches(matches, None, None)
        if self.alpha is not None and self.alpha == 0:
            raise ValueError("features need a positive alpha: without a penalty they explain nothing.")
        return self._fit_matches(*with_features(matches, features))

    def predict(self, X: Any) -> FloatVector:
        """Return x' beta + intercept, the scores of items of which only features are known.

        Parameters
        ----------
        X : array or frame of shape (n_items, n_features)
        """
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise ValueError("predict needs a model that was fitted with features; this one was not.")
        rows = as_rows(X)
        if rows.shape[1] != len(self.coef_):
            raise ValueError(f"X has {rows.shape[1]} features, but the model has {len(self.coef_)}.")
        validate_data(self, X, reset=False, skip_check_array=True)  # the names of columns, if there are any
        return rows @ self.coef_ + self.intercept_

    def predict_pair_proba(self, a: Any, b: Any) -> Any:
        """Return P(a above b) = 1 / (1 + exp(-k (s_a - s_b))) for a match without a tie or an order effect.

        Covariates are 0. k is 1 if `alpha` was given. With a learned prior, the probability is the mean over
        the posterior, by MacKay's (1992) approximation k = 1 / sqrt(1 + pi V / 8), with V the variance of
        s_a - s_b. Beyond 3,000 items, V is a lower bound, from the diagonal of the Hessian.

        Parameters
        ----------
        a, b : names, or columns of names

        Returns
        -------
        probability : float, or array of shape (n_pairs,)
        """
        return _plain(expit(self._expected_differences(a, b)))

    def predict_match_proba(self, a: Any, b: Any) -> FloatArray:
        """Return P(a wins), P(tie) and P(a loses) for a match in which a is first, with the order effect.

        Covariates are 0.

        Returns
        -------
        probabilities : array of shape (3,) or (n_pairs, 3)
        """
        d = self._expected_differences(a, b, self.order_effect_)
        with np.errstate(divide="ignore"):  # log 0 = -inf gives ties a probability of 0
            ties = np.log(self.tie_effect_) + 0.0 * d
        exponents = np.stack([0.5 * d, ties, -0.5 * d], axis=-1)
        weights = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def _expected_differences(self, a: Any, b: Any, lead: float = 0.0) -> Any:
        """Return s_a - s_b + lead, times MacKay's factor if the prior is learned."""
        first, second = np.broadcast_arrays(self._numbers_of(a, "a"), self._numbers_of(b, "b"))
        d = self.scores_[first] - self.scores_[second] + lead
        if getattr(self, "prior_sd_", None) is None:  # also if a file of an earlier version was loaded
            return d
        pairs = first.ravel(), second.ravel()
        variances = pair_variances(self._posterior(), *pairs, dense=DENSE_ITEMS, block=BLOCK_COLUMNS)
        return d / np.sqrt(1.0 + np.pi / 8.0 * variances.reshape(first.shape))

    def standard_errors(self, items: Any = None) -> Any:
        """Return the standard error of the score of each item, or of those named; see `intervals`.

        They are those of scores relative to the mean of all, or of `Leaderboard.reference`. For up to 3,000
        items the Hessian is inverted once;
        beyond, each item takes a sparse system.
        """
        check_is_fitted(self)
        numbers = np.arange(len(self.items_)) if items is None else self._numbers_of(items, "items")
        errors = score_errors(self._uncertainty(), numbers.ravel(), dense=DENSE_ITEMS, block=BLOCK_COLUMNS)
        return _plain(errors.reshape(numbers.shape))

    def effects(self, *, confidence: float = 0.95) -> list[Effect]:
        """Return the effects of features, covariates, order and ties, with confidence intervals.

        The interval of the tie effect nu is that of log nu, as powers of e. With judges, the effects are the
        slope and, if `outcome` was given, the order effect of each.

        Examples
        --------
        >>> model = BradleyTerry(order_effect=True)
        >>> (home,) = model.fit(list("xyxy") * 9, list("yxyx") * 9, outcome=[1, 1, 0, 1] * 9).effects()
        >>> home.name, round(home.value, 2), round(home.low, 2), round(home.high, 2)
        ('order effect', 1.38, 0.29, 3.32)
        """
        check_confidence(confidence)
        uncertainty = self._uncertainty()
        if isinstance(uncertainty, JudgeUncertainty):
            return self._judge_effects(uncertainty, confidence)
        loss, n_effects = uncertainty.loss, uncertainty.loss.n_parameters - uncertainty.loss.n_items
        if not n_effects:
            return []
        columns = np.eye(loss.n_parameters)[:, loss.n_items :] / _units(self, loss)[loss.n_items :]
        errors, lows, highs = uncertainty.intervals(columns, confidence)
        features = getattr(self, "feature_names_in_", range(loss.n_linear - loss.n_items))
        names = [f"feature {name}" for name in features]
        names += [f"covariate {name}" for name in getattr(self, "covariate_names_", [])]
        names += ["order effect"] * self.order_effect
        found = [
            Effect(name, float(value), float(error), float(low), float(high))
            for name, value, error, low, high in zip(
                [*names, *["tie effect"] * loss.davidson], self._parameters @ columns, errors, lows, highs,
                strict=True,
            )
        ]  # fmt: skip
        if loss.davidson:
            log = found.pop()
            nu = float(np.exp(log.value))
            found.append(
                Effect(log.name, nu, nu * log.standard_error, float(np.exp(log.low)), float(np.exp(log.high)))
            )
        return found

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
        places = rankdata(-self.scores_, method="min").astype(int)
        uncertainty = self._uncertainty()
        errors, best, worst = self._certainty(uncertainty, order, confidence, ranks)
        lows, highs = uncertainty.score_intervals(order, errors, confidence)
        matches, wins = self._comparisons.per_item()
        names, scores, profiles = self.items_.tolist(), self.scores_, uncertainty.profiles
        if profiles is not None and profiles.is_one_sided:
            scores = uncertainty.relative(scores)
        rows = [
            LeaderboardRow(
                int(places[k]), names[k], float(scores[k]), float(error), float(low), float(high),
                first, last, float(matches[k]), float(wins[k] / matches[k]) if matches[k] else None,
            )
            for k, error, low, high, first, last in zip(
                order, errors, lows, highs, best, worst, strict=True
            )
        ]  # fmt: skip
        if profiles is None or not profiles.is_one_sided:
            return Leaderboard(rows, confidence, self._judged_note() or shrunk_note(rows))
        reference = self.items_[profiles.reference].tolist()
        note = " ".join(filter(None, (open_note(rows, profiles.n_linked), shrunk_note(rows))))
        return Leaderboard(rows, confidence, note, reference)

    def top_probabilities(self, k: int = 1) -> FloatVector:
        """Return P(the item is among the k best) of each item, in the order of `items_`.

        By draws from the posterior of the scores, 20,000 for up to 500 items: normal distributions that take
        clusters and weights into account, averaged over the prior's standard deviation as the probability of
        `difference`, or the sample of `intervals="sampled"`. For up to 3,000 items.

        Scores are assumed to be independent draws from one normal distribution. The probabilities are right
        on average over such boards; if several of the best items are nearly equal, and far above the rest,
        that of the favourite is too large.

        Examples
        --------
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
            draws, weight = posterior.score_draws(max(round(share * size), 1))
            top = np.argpartition(-draws, k - 1, axis=1)[:, :k]
            found += share * np.bincount(top.ravel(), np.repeat(weight, k), minlength=n)
        return found

    def _certainty(
        self, uncertainty: Uncertainty, order: IntVector, confidence: float, ranks: bool | None
    ) -> tuple[FloatArray, Sequence[Any], Sequence[Any]]:
        """Return the standard error and the best and worst rank of some items."""
        n = len(self.items_)
        if ranks and n > RANKED_ITEMS:
            raise ValueError(
                f"ranks=True is limited to {RANKED_ITEMS:,} items, whose covariance takes minutes; there are "
                f"{n:,}. Pass ranks=False."
            )
        if not (n <= DENSE_ITEMS if ranks is None else ranks):
            errors = score_errors(uncertainty, order, dense=DENSE_ITEMS, block=BLOCK_COLUMNS)
            return errors, [None] * len(order), [None] * len(order)
        if isinstance(uncertainty, SampledUncertainty):
            errors = np.sqrt(np.diag(uncertainty.covariance())[order])
            first, last = uncertainty.ranks(order, confidence)
            return errors, first.tolist(), last.tolist()
        scores = uncertainty.centre
        freedom = uncertainty.least_freedom()
        if n <= min(STEP_DOWN_ITEMS, DENSE_ITEMS):
            covariance = uncertainty.covariance()
            errors = np.sqrt(np.maximum(np.diag(covariance)[order], 0.0))
            best, worst = step_down_ranges(scores, covariance, confidence, freedom, order)
            return errors, best.tolist(), worst.tolist()
        blocks = uncertainty.all_columns(dense=DENSE_ITEMS, block=BLOCK_COLUMNS)
        variance, best, worst = rank_ranges(scores, blocks, confidence, freedom)
        errors = np.sqrt(np.maximum(variance[order], 0.0))
        return errors, best[order].tolist(), worst[order].tolist()

    def _check_parameters(self) -> None:
        check_choice(self.ties, "ties", TIES)
        check_choice(self.intervals, "intervals", INTERVALS)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        if self.half_life is not None:
            check_positive("half_life", self.half_life)
        if self.alpha is not None and not (_is_number(self.alpha) and self.alpha == 0):
            check_positive("alpha", self.alpha)
        if self.feature_alpha is not None:
            check_positive("feature_alpha", self.feature_alpha)

    def _fit_matches(
        self, matches: Matches, features: FloatArray | None, columns: list[Any] | None
    ) -> BradleyTerry:
        comparisons = Comparisons.count(
            len(matches.items), matches.first, matches.second, matches.result, matches.weight,
            ordered=self.order_effect, covariates=matches.covariate_values,
        )  # fmt: skip
        loss = ComparisonLoss(comparisons, ties=self.ties, order_effect=self.order_effect, features=features)
        self._set_votes(matches, loss)
        alpha = self._alpha(loss)
        # An item with features and without matches is not a group.
        groups = [group for group in comparisons.groups() if features is None or len(group) > 1]
        compared = groups if features is None else groups[:1]
        diagnose(matches.items, comparisons, compared, alpha, davidson=self.ties == "davidson")
        diagnose_covariates(loss, matches.covariates.names if matches.covariates else [], alpha)
        try:
            # With judges, this fit is a start only.
            monitor = Monitor() if matches.judge is not None else Monitor(self.verbose, self.callback)
            result = solve_comparisons(
                loss, self._penalty(loss, alpha), tol=self.tol, max_iter=self.max_iter, monitor=monitor
            )
        except UnboundedScoresError:
            raise ValueError(
                "With alpha=0 the likelihood has no maximum: some outcomes are predicted without error, so "
                "that scores or effects are unbounded. Pass a positive alpha."
            ) from None
        self.items_, self.n_comparisons_, self.alpha_ = matches.items, len(matches.first), alpha
        self.groups_ = [matches.items[group] for group in groups]
        self._entries = (
            comparisons.first, comparisons.second, comparisons.wins, comparisons.losses, comparisons.ties
        )  # fmt: skip
        self._set_features(features, columns)
        _set_covariates(self, matches.covariates, comparisons)
        self._store(loss, result)
        self._set_judges(matches)
        _warn_of_matchmaking(loss, self.scores_, self.prior_sd_)
        return self

    def _set_votes(self, matches: Matches, loss: ComparisonLoss) -> None:
        """Store the number of votes, squared weights if they are not counts, and the votes of clusters."""
        columns = matches.first, matches.second, matches.result
        covariates = matches.covariate_values
        n_items = len(matches.items)
        if matches.clusters and n_items > DENSE_ITEMS:
            raise ValueError(f"cluster is limited to {DENSE_ITEMS:,} items; there are {n_items:,}.")
        if self.intervals == "sampled":
            _check_sampled(matches, self.alpha)
        self._votes, self._squares = loss.total_weight, None
        if matches.weight is not None and not matches.has_counts:
            self._votes = loss.total_weight**2 / _sum_of_squares(matches.weight)
            scaled = matches.weight * (self._votes / loss.total_weight)
            squares = Comparisons.count(
                n_items, *columns, scaled**2, ordered=self.order_effect, covariates=covariates
            )
            self._squares = squares.total
        ways = list(matches.clusters)
        if len(ways) == 2:
            ways.append(ways[0].astype(np.int64) * (int(ways[1].max()) + 1) + ways[1])
        counts = [ClusterCounts.count(way, *columns, matches.weight, covariates) for way in ways]
        self._clusters = tuple(
            tuple(column for column in vars(count).values() if column is not None) for count in counts
        )

    def _alpha(self, loss: ComparisonLoss) -> float:
        """Return the penalty of scores, and set `prior_sd_` if it is learned."""
        self.prior_sd_ = None
        if self.alpha is not None:
            return float(self.alpha)
        rest = self._penalty(loss, 0.0)[loss.n_items :]
        self.prior_sd_ = learned_sd(loss, rest, votes=self._votes, dense=loss.n_parameters <= EVIDENCE_ITEMS)
        return 1.0 / (2.0 * self._votes * self.prior_sd_**2)

    def _set_features(self, features: FloatArray | None, columns: list[Any] | None) -> None:
        """Store the features; remove those of an earlier fit."""
        for name in ("coef_", "intercept_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self._features = features
        if features is not None:
            self.n_features_in_ = features.shape[1]
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.array(columns, dtype=object)

    @property
    def _comparisons(self) -> Comparisons:
        # Files of version 0.1 have no covariates.
        return Comparisons(len(self.items_), *self._entries, covariates=getattr(self, "_covariates", None))

    def _loss(self) -> ComparisonLoss:
        return ComparisonLoss(
            self._comparisons, ties=self.ties, order_effect=self.order_effect, features=self._features
        )

    def _penalty(self, loss: ComparisonLoss, alpha: float) -> FloatVector:
        """Return the alpha of each parameter."""
        penalty = np.full(loss.n_parameters, alpha)
        if self.alpha is None:
            penalty[loss.n_items :] = 1.0 / (2.0 * self._n_votes(loss))
        if self.feature_alpha is not None:
            penalty[loss.n_items : loss.n_linear] = self.feature_alpha
        return penalty

    def _store(self, loss: ComparisonLoss, result: SolverResult) -> None:
        self._parameters = result.coef
        scores = loss.scores(result.coef)
        self.scores_ = scores - scores.mean()
        if self._features is not None:
            self.coef_ = result.coef[loss.n_items : loss.n_linear]
            self.intercept_ = -float(scores.mean())
        begin, end = loss.n_linear, loss.n_linear + len(self.covariate_names_)
        self.covariate_effects_ = (result.coef / _units(self, loss))[begin:end]
        self.order_effect_ = loss.order(result.coef)
        self.tie_effect_ = float(np.exp(result.coef[-1])) if self.ties == "davidson" else 0.0
        self.objective_, self.gap_ = result.objective, result.gap
        self.n_iter_, self.history_ = result.n_iter, result.history
        found = f"The best scores so far are kept; their objective is within {self.gap_:.3g} of the optimum."
        if result.status == "interrupted":
            warn_caller(f"Interrupted after {plural(self.n_iter_, 'iteration')}. {found}", InterruptedWarning)
        elif result.status in ("max_iter", "stalled"):
            warn_caller(
                f"Stopped after {plural(self.n_iter_, 'iteration')} with a gap above tol={self.tol:g} times "
                f"the attainable improvement. {found}",
                ConvergenceWarning,
            )

    def _uncertainty(self, intervals: str | None = None) -> Uncertainty:
        """Return the covariance of the parameters; the posterior if the matches do not determine them."""
        check_is_fitted(self)
        loss, parameters = self._loss(), self._parameters
        if self.intervals == "sampled":
            return _sampled(self, loss)
        is_linked = self._features is None and len(self.groups_[0]) == len(self.items_)
        debias = is_linked and (intervals or self.intervals) == "debiased"
        if getattr(self, "_duels", None) is not None and debias:
            return DuelUncertainty(loss, self._duels[0], self._votes, self._duels[1])
        if getattr(self, "_duels", None) is not None:
            return self._posterior()
        if getattr(self, "_judges", None) is not None:
            debias = debias and float(self.judge_votes_.mean()) >= VOTES_PER_JUDGE
            return JudgeUncertainty(loss, JudgeState(*self._judges), debias=debias)
        if debias:
            found = self._debiased(loss)
            # An order effect and scores may be impossible to tell apart.
            if found is not None and (
                loss.n_parameters == loss.n_items or loss.n_items > DENSE_ITEMS or found.is_determined
            ):
                return found
        return self._uncertainty_at(loss, parameters, 2 * self._penalty(loss, self.alpha_))

    def _debiased(self, loss: ComparisonLoss) -> Uncertainty | None:
        """Return the uncertainty around the scores of Firth's fit; None if effects are not determined."""
        dense = loss.n_parameters <= EVIDENCE_ITEMS
        try:
            fit = FirthFit(loss, self._parameters, self._n_votes(loss), dense=dense)
        except (np.linalg.LinAlgError, UnboundedScoresError):
            return None
        found = self._uncertainty_at(loss, fit.parameters, np.zeros(loss.n_parameters))
        found.set_profiles(Profiles(fit))
        return found

    def _uncertainty_at(
        self, loss: ComparisonLoss, parameters: FloatVector, ridge: FloatVector
    ) -> Uncertainty:
        common = loss, parameters, ridge, self._n_votes(loss)
        if getattr(self, "_clusters", ()):  # files of version 0.1 have neither clusters nor squares
            return ClusteredUncertainty(*common, [ClusterCounts(*counts) for counts in self._clusters])
        weights = getattr(self, "_squares", None)
        if weights is not None:
            zeros = np.zeros_like(weights)
            squares = replace(self._comparisons, wins=weights, losses=zeros, ties=zeros)
            return WeightedUncertainty(*common, squares)
        return Uncertainty(*common)

    def _n_votes(self, loss: ComparisonLoss) -> float:
        """Return the number of votes of which the objective is the mean; counts in files of version 0.1."""
        return getattr(self, "_votes", loss.total_weight)

    def _posterior(self) -> Uncertainty:
        """Return the posterior of independent votes."""
        loss = self._loss()
        if getattr(self, "_duels", None) is not None:
            return DuelUncertainty(loss, self.scores_, self._votes, self._duels[2])
        if getattr(self, "_judges", None) is not None:
            return JudgeUncertainty(loss, JudgeState(*self._judges), debias=False)
        ridge = 2 * self._penalty(loss, self.alpha_)
        return Uncertainty(loss, self._parameters, ridge, self._n_votes(loss))

    def _posteriors(self) -> list[tuple[float, Uncertainty]]:
        """Return posteriors of the scores, one per standard deviation of the prior, and their weights."""
        loss = self._loss()
        is_judged = getattr(self, "_duels", None) is not None or getattr(self, "_judges", None) is not None
        is_learned = getattr(self, "prior_sd_", None) is not None and loss.n_parameters <= EVIDENCE_ITEMS
        if self.intervals == "sampled" or is_judged or not is_learned:
            return [(1.0, self._uncertainty("posterior" if self.alpha_ else None))]
        prior = Prior(loss, self._penalty(loss, self.alpha_)[loss.n_items :], self._n_votes(loss))
        return [
            (weight, self._uncertainty_at(loss, prior.fitted(log_sd)[0], 2 * prior.penalty(log_sd)))
            for log_sd, weight in prior.weighted_grid()
        ]

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


def _sampled(model: BradleyTerry, loss: ComparisonLoss) -> SampledUncertainty:
    """Return draws from the posterior, and from that of the prior's sd if it is learned."""
    penalty, votes = model._penalty(loss, model.alpha_), model._n_votes(loss)
    log_sd = None if model.prior_sd_ is not None else -0.5 * np.log(2.0 * votes * model.alpha_)
    sample = sampled_posterior(Prior(loss, penalty[loss.n_items :], votes), log_sd)
    return SampledUncertainty(loss, model._parameters, 2 * penalty, votes, sample)


def _sum_of_squares(weight: FloatVector) -> float:
    """Return the sum of squared weights; refuse weights whose squares are not normal numbers."""
    with np.errstate(over="ignore", under="ignore"):
        found = float(weight @ weight)
    if not np.finfo(float).tiny <= found < np.inf:
        raise ValueError(
            f"weight has values up to {float(weight.max()):.3g}, whose squares are not numbers of double "
            "precision; multiply all weights by a constant, which changes no result."
        )
    return found


def _check_sampled(matches: Matches, alpha: float | None) -> None:
    """Refuse what draws from the posterior cannot take into account."""
    reason = None
    if matches.clusters or not matches.has_counts:
        reason = "assumes independent votes, without cluster and with weights that are counts"
    elif alpha == 0:
        reason = "needs a prior: a positive alpha, or a learned one"
    elif len(matches.items) > SAMPLED_ITEMS:
        reason = f"is limited to {SAMPLED_ITEMS} items; there are {len(matches.items):,}"
    if reason is not None:
        raise ValueError(f"intervals='sampled' {reason}.")


def parameters_fit(model: BradleyTerry) -> bool:
    """Return whether the parameters, which may come from a file, are those of the scores and effects."""
    with np.errstate(all="ignore"):
        loss, given = model._loss(), model._parameters
        scores = loss.scores(given)
        tie_effect = np.exp(given[-1]) if model.ties == "davidson" else 0.0
        effects = getattr(model, "covariate_effects_", np.zeros(0))
        covariates = slice(loss.n_linear, loss.n_linear + len(effects))
        found = [*(scores - scores.mean()), *given[covariates], loss.order(given), tie_effect]
        effects = effects * _units(model, loss)[covariates]
        stored = [*model.scores_, *effects, model.order_effect_, model.tie_effect_]
        diagonal = model._posterior().hessian.diagonal
        far = 1e-6 * (1.0 + np.abs(found).max())
        return bool(np.allclose(stored, found, atol=far) and np.isfinite(diagonal).all())


def _set_covariates(model: BradleyTerry, covariates: Covariates | None, comparisons: Comparisons) -> None:
    """Store the covariates of entries, their units and names."""
    model.covariate_names_ = [] if covariates is None else covariates.names
    model._covariates = comparisons.covariates
    model._covariate_scale = None if covariates is None else covariates.scale


def _units(model: BradleyTerry, loss: ComparisonLoss) -> FloatVector:
    """Return the unit of each parameter: the scale of covariates, otherwise 1."""
    units = np.ones(loss.n_parameters)
    scale = getattr(model, "_covariate_scale", None)
    if scale is not None:
        units[loss.n_linear : loss.n_linear + len(scale)] = scale
    return units


def _warn_of_matchmaking(loss: ComparisonLoss, scores: FloatVector, prior_sd: float | None) -> None:
    if prior_sd is not None and pairs_similar_scores(loss, scores):
        warn_caller(
            "Matches were mostly between items of similar scores. The learned prior assumes pairs that were "
            f"chosen without regard to strength; prior_sd_={prior_sd:.3g} may be too small, and scores too "
            "close. If that matters, pass an alpha of your own."
        )


def _plain(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else np.asarray(values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
