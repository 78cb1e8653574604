"""Scores of named items from comparisons alone."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.core.checks import check_choice, check_count, check_positive
from rankwise.core.stored import Array, Declaration, Value
from rankwise.core.types import FloatArray, FloatVector
from rankwise.core.warn import warn_caller
from rankwise.leaderboard.base import HUGE, TINY, BaseLeaderboard, check_confidence, check_items, is_dense
from rankwise.leaderboard.clusters import ClusterCounts
from rankwise.leaderboard.comparisons import Comparisons
from rankwise.leaderboard.diagnosis import diagnose, diagnose_covariates
from rankwise.leaderboard.firth import FirthFit, Profiles
from rankwise.leaderboard.fragility import Fragility, Units, fragility_of
from rankwise.leaderboard.item_features import as_rows, with_features
from rankwise.leaderboard.links import Link, Outcomes, link_of
from rankwise.leaderboard.matches import Matches, frame_columns, read_matches
from rankwise.leaderboard.newton import UnboundedScoresError, fitted, minimised
from rankwise.leaderboard.pair_model import PairModel
from rankwise.leaderboard.prior import Prior, learned_sd, pairs_similar_scores
from rankwise.leaderboard.stored import are_clusters, are_names, are_weights
from rankwise.leaderboard.table import Effect
from rankwise.leaderboard.uncertainty import ClusteredUncertainty, Uncertainty
from rankwise.solvers import Monitor, SolverResult

# Attributes of fits with features, covariates or weights, which another fit removes.
OF_FEATURES = ("_features", "n_features_in_", "coef_", "intercept_")
OF_COVARIATES = ("_covariates", "_covariate_scale")
OF_SOME_FITS = (*OF_FEATURES, "feature_names_in_", *OF_COVARIATES, "_squares")
# Up to this number of parameters the evidence is computed by inverses; beyond it, by traces.
EVIDENCE_ITEMS = 500


@dataclass(eq=False, repr=False)
class BradleyTerry(BaseLeaderboard):
    """Rank items: minimize the mean over matches of log(1 + exp(s_loser - s_winner)) + alpha ||s||^2.

    Each item has a score s, and P(a beats b) = 1 / (1 + exp(s_b - s_a)) (Zermelo 1929; Bradley and Terry
    1952), or Phi(s_a - s_b) with link="probit" (Thurstone 1927, case V). The mean is weighted. An order
    effect h is added to the score of the item named first (at home, shown first). Ties count as half a win
    and half a loss, or, by Davidson (1970), the probabilities of win, tie and loss are proportional to
    exp(d/2), nu and exp(-d/2). h and log nu are penalized like scores if `alpha` is given.

    By default the penalty is learned: scores have a normal prior whose standard deviation `prior_sd_`
    maximizes log evidence - (log sd)^2 / 2, in about 5 fits, and predictions average over the posterior.
    This assumes that pairs are chosen without regard to strength; matchmaking is warned of, and a few items
    far from all others make `prior_sd_` too large for the rest.

    With features x of the items, s = u + x' beta and the penalty is alpha ||u||^2 + feature_alpha ||beta||^2:
    the features determine the scores of items without matches, and matter most for items with few.

    With covariates z of the matches, such as a difference of lengths, the log odds are s_a - s_b + z' gamma,
    so that scores are those of matches with z = 0. gamma is penalized like h, in units of the root mean
    square of each covariate.

    It is a `BaseEstimator` for its parameters, clones and model files. Its rows are pairs of names and not
    vectors of features, so `fit` takes two columns of names, or a frame of matches, in place of X and y, and
    it has no place in a pipeline of rows.

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
    link : "logistic" or "probit"
        The chance of winning by the difference of scores; the probit link needs ties="half".
    ties : "half" or "davidson"
        How ties count: as half a win each, or with a probability of their own (Davidson).
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
        rounding.
    max_iter : int
        The most iterations; a fit that needs more warns, and states its gap.
    verbose : int
        1 prints a line per iteration.
    callback : callable, optional
        Called with a `State` after each iteration; a true return value ends the fit.
    intervals : "debiased" or "posterior"
        Standard errors, confidence intervals and ranges of ranks. "debiased": around the scores that maximize
        the likelihood times the root of the determinant of the information (Firth 1993), without the prior,
        with the inverse information there; items with fewer than five wins or losses have profile intervals.
        An end that the votes do not bound, as of an item that won all its votes, is infinite. "posterior":
        around the scores, with the inverse Hessian of the objective; also for features and for items that
        matches do not link, which the likelihood does not determine.

    Attributes
    ----------
    items_ : array of shape (n_items,)
        The names, sorted if they can be.
    scores_ : array of shape (n_items,)
        Their mean is 0. A difference of 1 is odds of e, or a standard deviation with the probit link.
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

    See Also
    --------
    BradleyTerryCV : Chooses the half-life and alpha.
    CrowdBradleyTerry : Judges who differ.
    ScoreTable : Models by tasks.

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

    _: KW_ONLY
    link: str = "logistic"
    ties: str = "half"
    order_effect: bool = False
    feature_alpha: float | None = None
    half_life: float | None = None

    has_sequences: ClassVar[bool] = True
    stored: ClassVar[dict[str, Declaration]] = {
        "n_features_in_": Value((int,), low=1, size="features"),
        "feature_names_in_": Array(("features",), "OU", text=True),
        "coef_": Array(("features",)),
        "intercept_": Value((float,), low=-HUGE, high=HUGE),
        "_features": Array(("items", "features")),
        "covariate_names_": Value((list,), check=are_names, required=True),
        "covariate_effects_": Array(("covariates",), required=True),
        "_covariate_scale": Array(("covariates",), low=TINY),
        "_covariates": Array(("covariates", "entries")),
        "_parameters": Array(("parameters",), required=True),
        "_squares": Value((tuple,), check=are_weights),
        "_clusters": Value((tuple,), check=are_clusters, required=True),
    }

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
    ) -> BradleyTerry:
        """Learn the scores.

        Parameters
        ----------
        winner, loser : columns of names, one per match
            Lists, arrays or columns of a frame, of any values that can be hashed. A frame (or dict) in
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
        """
        self._check_parameters()
        given = {"weight": weight, "outcome": outcome, "date": date, "cluster": cluster}
        given["covariates"] = covariates
        columns = frame_columns(winner, **given) if loser is None else {"a": winner, "b": loser} | given
        if self.order_effect and columns.get("outcome") is None:
            raise ValueError("order_effect needs outcome: of winner and loser alone, the order is not known.")
        matches = read_matches(**columns, half_life=self.half_life)
        if features is None:
            return self.fit_matches(matches)
        if self.alpha is not None and self.alpha == 0:
            raise ValueError("features need a positive alpha: without a penalty they explain nothing.")
        matches, rows, names = with_features(matches, features)
        return self.fit_matches(matches, rows, names)

    def fit_matches(
        self,
        matches: Matches,
        features: FloatArray | None = None,
        columns: list[Any] | None = None,
        *,
        is_start: bool = False,
    ) -> BradleyTerry:
        """Learn the scores from matches that have been read; a start of another fit is silent."""
        if matches.clusters:
            check_items(matches, "cluster")
        comparisons = Comparisons.count(
            len(matches.items), matches.first, matches.second, matches.result, matches.weight,
            ordered=self.order_effect, covariates=matches.covariate_values,
        )  # fmt: skip
        pairs = PairModel(comparisons, self.link_, order_effect=self.order_effect, features=features)
        self._set_votes(matches, pairs)
        self.alpha_ = self._alpha(pairs)
        # An item with features and without matches is not a group.
        groups = [group for group in comparisons.groups() if features is None or len(group) > 1]
        self.groups_ = [matches.items[group] for group in groups]
        compared = groups if features is None else groups[:1]
        diagnose(matches.items, comparisons, compared, self.alpha_, ties=self.ties)
        diagnose_covariates(pairs, self.covariate_names_, self.alpha_)
        self._set_features(features, columns)
        result = self._minimised(pairs, is_start=is_start)
        self._set_scores(pairs, result.coef)
        self._store_result(result)
        if self.prior_sd_ is not None and pairs_similar_scores(pairs, self.scores_):
            warn_caller(
                "Matches were mostly between items of similar scores. The learned prior assumes pairs that "
                f"were chosen without regard to strength; prior_sd_={self.prior_sd_:.3g} may be too small, "
                "and scores too close. If that matters, pass an alpha of your own."
            )
        return self

    def _minimised(self, pairs: PairModel, *, is_start: bool) -> SolverResult:
        penalty = self._penalty(pairs, self.alpha_)
        if is_start:
            return fitted(pairs, penalty, pairs.start())
        try:
            monitor = Monitor(self.verbose, self.callback)
            return minimised(pairs, penalty, tol=self.tol, max_iter=self.max_iter, monitor=monitor)
        except UnboundedScoresError:
            raise ValueError(
                "With alpha=0 the likelihood has no maximum: some outcomes are predicted without error, so "
                "that scores or effects are unbounded. Pass a positive alpha."
            ) from None

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

    @property
    def link_(self) -> Link:
        """The link of scores and chances of winning."""
        return link_of(self.link, self.ties)

    @property
    def _shape(self) -> FloatVector:
        return self._pairs().shape(self._parameters)

    def effects(self, *, confidence: float = 0.95) -> list[Effect]:
        """Return the effects of features, covariates, order and ties, with confidence intervals.

        The interval of the tie effect nu is that of log nu, as powers of e.

        Examples
        --------
        >>> model = BradleyTerry(order_effect=True)
        >>> (home,) = model.fit(list("xyxy") * 9, list("yxyx") * 9, outcome=[1, 1, 0, 1] * 9).effects()
        >>> home.name, round(home.value, 2), round(home.low, 2), round(home.high, 2)
        ('order effect', 1.38, 0.29, 3.32)
        """
        check_confidence(confidence)
        uncertainty = self._uncertainty()
        pairs, shapes = uncertainty.model, self.link_.shapes
        columns = np.eye(pairs.n_parameters)[:, pairs.n_items :] / self._units_of(pairs)[pairs.n_items :]
        names = [
            f"feature {name}"
            for name in getattr(self, "feature_names_in_", range(pairs.n_linear - pairs.n_items))
        ]
        names += [f"covariate {name}" for name in self.covariate_names_]
        names += ["order effect"] * self.order_effect + list(shapes)
        errors, low, high = uncertainty.intervals(columns, confidence)
        values = np.array([self._parameters @ columns, errors, low, high])
        if shapes:
            logs = values[:, -len(shapes) :]
            nu = np.exp(logs[0])
            values[:, -len(shapes) :] = nu, nu * logs[1], np.exp(logs[2]), np.exp(logs[3])
        return [Effect(name, *row) for name, row in zip(names, values.T.tolist(), strict=True)]

    def fragility(self, k: int = 1, *, unit: str | None = None) -> Fragility:
        """Find few votes, or clusters of votes, whose removal changes the first place, or the top k.

        Votes are ranked by their influence on the difference of two scores, one in the top k and one below
        it: one Newton step from the optimum. They are removed from the most influential on, with new scores
        and influences in between, until the order changes, and then as many as possible are put back. The
        result is proven by a fit without them: its certified error is smaller than the change. It is an upper
        bound, often but not always the fewest. Removals keep the prior of the fit. This takes some 50 fits.

        Parameters
        ----------
        k : int
        unit : "vote" or "cluster", optional
            By default clusters if the model was fitted with them (of two columns, the first), and votes
            otherwise. Votes need weights that are whole numbers, each a number of votes.

        Returns
        -------
        fragility : Fragility
            It prints as a sentence.

        Examples
        --------
        >>> from rankwise import BradleyTerry
        >>> model = BradleyTerry().fit(list("xxxxyyz"), list("yyzzzzx"))
        >>> found = model.fragility()
        >>> print(found)
        Without 2 of 7 votes (28.6%), y takes first place from x.
        >>> found.removed
        [RemovedVotes(first='x', second='y', outcome='win', votes=2)]
        """
        check_is_fitted(self)
        check_count("k", k)
        if k >= len(self.items_):
            raise ValueError(f"k must be less than the number of items, {len(self.items_)}; got {k}.")
        if not self.alpha_:
            raise ValueError(
                "fragility needs a penalty: with alpha=0 scores may be unbounded without a vote."
            )
        if self._covariates is not None:
            raise ValueError("fragility is for models without covariates.")
        pairs = self._pairs()
        penalty, units = self._penalty(pairs, self.alpha_), self._units(unit, pairs.comparisons)
        return fragility_of(pairs, penalty, self._parameters, units, self.items_.tolist(), k)

    def _units(self, unit: str | None, comparisons: Comparisons) -> Units:
        if unit is None:
            unit = "cluster" if self._clusters else "vote"
        check_choice(unit, "unit", ("vote", "cluster"))
        if unit == "cluster" and not self._clusters:
            raise ValueError('unit="cluster" needs a model that was fitted with cluster.')
        if unit == "cluster":
            return Units.of_clusters(self._clusters[0])
        if self._squares is not None:
            raise ValueError(
                "fragility counts votes, so weights must be whole numbers, without a half-life. Fit with "
                "cluster to remove clusters of votes of any weight."
            )
        return Units.of_votes(comparisons)

    def conflicts(self) -> Iterator[str]:
        """Yield the attributes of a file that contradict each other."""
        yield from super().conflicts()
        if not isinstance(self.order_effect, bool):
            yield "order_effect"
        has_covariates = {bool(self.covariate_names_), *(name in vars(self) for name in OF_COVARIATES)}
        if len(has_covariates) > 1 or len(self.covariate_effects_) != len(self.covariate_names_):
            yield "covariate_names_"
        if len({name in vars(self) for name in OF_FEATURES}) > 1:
            yield "_features"
        first, second = self._entries[0].astype(np.int64), self._entries[1]
        if not self.covariate_names_ and (np.diff(first * len(self.items_) + second) == 0).any():
            yield "_entries"
        with np.errstate(all="ignore"):
            total = np.sum(self._entries[2:])
            if not all(np.isclose(np.sum(counts[3:6]), total, rtol=1e-6) for counts in self._clusters):
                yield "_clusters"
            pairs, given = self._pairs(), self._parameters
            if len(given) != pairs.n_parameters:
                yield "_parameters"
            learned = copy(self)
            learned._set_scores(pairs, given)
            names = ("scores_", "covariate_effects_", "order_effect_", "tie_effect_")
            far = 1e-6 * (1.0 + np.abs(given).max())
            is_same = [np.allclose(getattr(self, name), getattr(learned, name), atol=far) for name in names]
            if not (all(is_same) and np.isfinite(self._posterior().hessian.diagonal).all()):
                yield "_parameters"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        link_of(self.link, self.ties)
        for name in ("half_life", "feature_alpha"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    def _set_votes(self, matches: Matches, pairs: PairModel) -> None:
        """Store counted votes, squared weights if they are not counts, and the votes of clusters."""
        for name in OF_SOME_FITS:
            self.__dict__.pop(name, None)
        counted = pairs.comparisons
        self.items_, self.n_comparisons_ = matches.items, len(matches.first)
        self._entries = counted.first, counted.second, counted.wins, counted.losses, counted.ties
        self.covariate_names_ = []
        if matches.covariates is not None:
            self.covariate_names_, self._covariate_scale = matches.covariates.names, matches.covariates.scale
            self._covariates = counted.covariates
        columns = matches.first, matches.second, matches.result
        covariates = matches.covariate_values
        self._votes = pairs.total_weight
        if matches.weight is not None and not matches.has_counts:
            self._votes = pairs.total_weight**2 / _sum_of_squares(matches.weight)
            scaled = matches.weight * (self._votes / pairs.total_weight)
            squares = Comparisons.count(
                len(matches.items), *columns, scaled**2, ordered=self.order_effect, covariates=covariates
            )
            self._squares = squares.wins, squares.losses, squares.ties
        ways = list(matches.clusters)
        if len(ways) == 2:
            ways.append(ways[0].astype(np.int64) * (int(ways[1].max()) + 1) + ways[1])
        counts = [ClusterCounts.count(way, *columns, matches.weight, covariates) for way in ways]
        self._clusters = tuple(
            tuple(column for column in vars(count).values() if column is not None) for count in counts
        )

    def _alpha(self, pairs: PairModel) -> float:
        """Return the penalty of scores, and set `prior_sd_` if it is learned."""
        self.prior_sd_ = None
        if self.alpha is not None:
            return float(self.alpha)
        rest = self._penalty(pairs, 0.0)[pairs.n_items :]
        dense = pairs.n_parameters <= EVIDENCE_ITEMS
        self.prior_sd_ = learned_sd(pairs, rest, votes=self._votes, dense=dense)
        return 1.0 / (2.0 * self._votes * self.prior_sd_**2)

    def _set_features(self, features: FloatArray | None, columns: list[Any] | None) -> None:
        """Store the features."""
        if features is not None:
            self._features, self.n_features_in_ = features, features.shape[1]
        if columns is not None and all(isinstance(name, str) for name in columns):
            self.feature_names_in_ = np.array(columns, dtype=object)

    @property
    def _comparisons(self) -> Comparisons:
        return Comparisons(len(self.items_), *self._entries, covariates=self._covariates)

    def _pairs(self) -> PairModel:
        return PairModel(
            self._comparisons, self.link_, order_effect=self.order_effect, features=self._features
        )

    def _penalty(self, pairs: PairModel, alpha: float) -> FloatVector:
        """Return the alpha of each parameter."""
        penalty = np.full(pairs.n_parameters, alpha)
        if self.alpha is None:
            penalty[pairs.n_items :] = 1.0 / (2.0 * self._votes)
        if self.feature_alpha is not None:
            penalty[pairs.n_items : pairs.n_linear] = self.feature_alpha
        return penalty

    def _set_scores(self, pairs: PairModel, parameters: FloatVector) -> None:
        """Store the scores and effects of parameters."""
        self._parameters = parameters
        scores = pairs.scores(parameters)
        self.scores_ = scores - scores.mean()
        if self._features is not None:
            self.coef_ = parameters[pairs.n_items : pairs.n_linear]
            self.intercept_ = -float(scores.mean())
        begin, end = pairs.n_linear, pairs.n_linear + len(self.covariate_names_)
        self.covariate_effects_ = (parameters / self._units_of(pairs))[begin:end]
        self.order_effect_ = pairs.order(parameters)
        self.tie_effect_ = float(np.exp(pairs.shape(parameters)).sum())

    def _units_of(self, pairs: PairModel) -> FloatVector:
        """Return the unit of each parameter: the scale of covariates, otherwise 1."""
        units = np.ones(pairs.n_parameters)
        if self._covariate_scale is not None:
            units[pairs.n_linear : pairs.n_linear + len(self._covariate_scale)] = self._covariate_scale
        return units

    @property
    def _predicts_unknown_items(self) -> bool:
        return bool(self.alpha_) and self._features is None

    def _uncertainty(self) -> Uncertainty:
        """Return the covariance of the parameters; the posterior if the matches do not determine them."""
        check_is_fitted(self)
        is_linked = self._features is None and len(self.groups_[0]) == len(self.items_)
        pairs = self._pairs()
        if is_linked and self.intervals == "debiased":
            found = self._debiased(pairs)
            # An order effect and scores may be impossible to tell apart.
            if found is not None and (
                pairs.n_parameters == pairs.n_items or not is_dense(pairs.n_items) or found.is_determined
            ):
                return found
        return self._uncertainty_at(pairs, self._parameters, 2 * self._penalty(pairs, self.alpha_))

    def _debiased(self, pairs: PairModel) -> Uncertainty | None:
        """Return the uncertainty around the scores of Firth's fit; None if effects are not determined."""
        dense = pairs.n_parameters <= EVIDENCE_ITEMS
        try:
            fit = FirthFit(pairs, self._parameters, self._votes, dense=dense)
        except (np.linalg.LinAlgError, UnboundedScoresError):
            return None
        found = self._uncertainty_at(pairs, fit.parameters, np.zeros(pairs.n_parameters))
        found.set_profiles(Profiles(fit))
        return found

    def _uncertainty_at(self, pairs: PairModel, parameters: FloatVector, ridge: FloatVector) -> Uncertainty:
        common = pairs, parameters, ridge, self._votes
        if self._clusters:
            return ClusteredUncertainty(*common, [ClusterCounts(*counts) for counts in self._clusters])
        return Uncertainty(*common, None if self._squares is None else Outcomes(*self._squares))

    def _posterior(self) -> Uncertainty:
        """Return the posterior of independent votes."""
        pairs = self._pairs()
        return Uncertainty(pairs, self._parameters, 2 * self._penalty(pairs, self.alpha_), self._votes)

    def _posteriors(self) -> list[tuple[float, Uncertainty]]:
        """Return posteriors of the scores, one per standard deviation of the prior, and their weights."""
        pairs = self._pairs()
        penalty = self._penalty(pairs, self.alpha_)
        if not self.alpha_:
            return [(1.0, self._uncertainty())]
        if self.prior_sd_ is None or pairs.n_parameters > EVIDENCE_ITEMS:
            return [(1.0, self._uncertainty_at(pairs, self._parameters, 2 * penalty))]
        prior = Prior(pairs, penalty[pairs.n_items :], self._votes)
        return [
            (weight, self._uncertainty_at(pairs, prior.fitted(log_sd)[0], 2 * prior.penalty(log_sd)))
            for log_sd, weight in prior.weighted_grid()
        ]


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
