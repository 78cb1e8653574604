"""Logistic regression of pairs: a ranking with probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.docstrings import described_as
from rankwise.core.stored import Value
from rankwise.estimators.inputs import read_preferences
from rankwise.estimators.linear_inference import LinearInference
from rankwise.estimators.pair_probability import PairProbability
from rankwise.estimators.pairwise import PairwiseRanker, PairwiseRankerCV
from rankwise.estimators.parameters import (
    Calibration,
    Candidates,
    Comparison,
    PairwiseParameters,
    Parsimony,
    Running,
    Strength,
    WarmStart,
)
from rankwise.estimators.selected_features import SelectsFeatures
from rankwise.estimators.temperature import common_temperature, fit_temperature
from rankwise.losses import Logistic
from rankwise.model_selection.search import Choice
from rankwise.model_selection.tunable import Fit


class BaseRankLogistic(SelectsFeatures, PairProbability, LinearInference, PairwiseRanker):
    """Logistic regression of pairs, whose scores are log odds."""

    loss = "logistic"
    may_be_unpenalised = True
    stored: ClassVar = {"temperature_": Value((float,), low=0)}
    pair_weight: str | None

    def calibrate(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Divide the function by the temperature that fits held-out rows.

        The temperature minimizes the mean of log(1 + exp(-(f(better) - f(worse)) / T)) over the pairs of
        these rows, with the weights of the objective: see `fit_temperature`. It corrects
        probabilities that the penalty made underconfident, or the fit to the training rows overconfident.
        No order changes. `temperature_` is the product of all such divisors.

        Parameters
        ----------
        X, y, qid, sample_weight :
            Held-out rows, as for `fit`.
        """
        preferences = read_preferences(y, qid, sample_weight, self.pair_weight)
        self._divide(fit_temperature(self.predict(X), preferences, average=self.average))
        return self

    def _divide(self, temperature: float) -> None:
        name = "coef_" if hasattr(self, "coef_") else "dual_coef_"
        setattr(self, name, getattr(self, name) / temperature)
        self.temperature_ = getattr(self, "temperature_", 1.0) * temperature

    def store(self, fit: Fit) -> None:
        """Store a fit, which is not yet calibrated."""
        super().store(fit)
        self.temperature_ = 1.0


@dataclass(eq=False, repr=False)
class RankLogistic(BaseRankLogistic, Running, WarmStart, PairwiseParameters, Strength):
    """Minimize the mean over pairs of log(1 + exp(-(f(better) - f(worse)))) + alpha ||f||^2.

    The model gives the probability of each order: P(a above b) = 1 / (1 + exp(f(b) - f(a))), the model of
    Bradley and Terry (1952) with features, and the loss of RankNet (Burges et al. 2005). All pairs count,
    none is sampled, and the result is certified: the objective is within `gap_` of the optimum.

    Cost: O(nnz + m) for m rows with nnz nonzeros and each of some tens of products with the Hessian, whatever
    the number of pairs, label levels and queries (O(nnz + m log m) with `pair_weight` or censored times).
    With a kernel O(m^3) once and O(m^2) memory, with `n_components=b` basis rows O(m b^2) and O(m b).

    Parameters
    ----------
    alpha : float, "auto" or "learned"
        Strength of the penalty; "auto" is chosen inside the fit, as `RankLogisticCV` does, and kept as
        `alpha_`; "learned", with `gamma="learned"`, is the best on held-out rows.
        With N pairs and `average="pairs"`, scikit-learn's
        `LogisticRegression(C=1 / (2 * alpha * N), fit_intercept=False)` on the differences of all pairs has
        the same solution. With 0 the model is a probabilistic index model (Thas et al. 2012), fitted without
        a penalty; an error gives the reason if no weights are the best.
    l1_ratio : float
        Above 0, the penalty is alpha (r ||w||_1 + (1 - r) ||w||^2) with this r, at most 1: with 0.9, many
        weights are zero, and `selected_features_` has the others. It needs a linear
        kernel and rows in memory.
    penalty_weights : array of shape (n_features,), optional
        With `l1_ratio`, the factor of each feature in the penalty; 0 for none.
    kernel : "linear", "precomputed", "exponential", any kernel of scikit-learn, or callable
        "exponential" is exp(-gamma ||x - z||).
    gamma : float, "scale", "median", "learned", "learned-matrix" or None
        None is 1 / n_features. "median", for features of similar scale, is 1 / (2 d^2) for "rbf" and 1 / d
        for "laplacian" and "exponential", with the median distance d of two rows.
        With "learned", the kernels "exponential", "laplacian" and "rbf" learn a scale for each feature and
        their width, from the mean squared gradients of fits, validated on held-out queries or rows; with
        "learned-matrix" the features are also rotated.
    degree, coef0, kernel_params :
        Further parameters of the kernel, as in scikit-learn's `pairwise_kernels`.
    n_components : int, optional
        Number of basis rows for a kernel; all training rows, which is exact, by default.
    basis : "uniform" or "kmeans"
        How basis rows are chosen: at random, or as those nearest to the means of as many clusters, which may
        rank better.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs.
    pair_weight : None or "difference"
        With "difference", a pair weighs the difference of its labels, so that graded labels count by grade.
    solver : "auto" or "newton"
        The method; "auto" chooses by the loss and the sizes.
    tol : float
        Stop when the gap is at most `tol` times the attainable improvement, J(0) - J*: when
        `gap_ <= tol * (log(2) - objective_ + gap_)`, as the zero function has the objective J(0) = log 2. A
        gap that rounding explains is also accepted, up to `tol * log(2)`.
    max_iter : int
        The most iterations; a fit that needs more warns, and states its gap.
    warm_start : bool
        Start from the weights of the previous fit.
    callback : callable, optional
        Called with a state (iteration, objective, bound, gap, seconds, coef) after each iteration; a true
        return value ends the fit.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all. The result does not depend on it.
    random_state : int, optional
        Draws the basis rows.
    verbose : int
        1 prints a line per iteration.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights, for the linear kernel: the change of the log odds of a pair per unit of each feature.
    dual_coef_, basis_ : arrays
        The function is the sum of `dual_coef_` times the kernel with the rows of `basis_`, for other kernels.
    feature_scales_, gamma_, scale_errors_ : array, float, array
        For a learned gamma: the factors of the features before the kernel is applied, the gamma of the
        kernel, and the ranking error on held-out rows before and after each round.
    n_pairs_ : int
        The number of pairs of the training data.
    objective_, gap_ : float
        The objective reached and a bound on its suboptimality, before any calibration.
    temperature_ : float
        The divisor of the function by `calibrate`; 1 without it.
    n_iter_ : int
    history_ : dict of arrays
        Objective, bound, gap and seconds for each iteration.
    solver_ : str
        The solver that ran.
    rounds_ : RoundLog
        For rows on Dask, the log of the rounds: see `rankwise.distributed.RoundLog`.

    See Also
    --------
    RankLogisticCV : Chooses alpha by cross-validation.
    RankSVM : Robust to outliers, and faster.
    RankPlackettLuce : Whole rankings, and Cox regression.

    Examples
    --------
    >>> from rankwise import RankLogistic
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankLogistic(alpha=1e-3).fit(X, y)
    >>> model.gap_ <= 1e-3
    True
    >>> model.predict_pair_proba(X[:3], X[0]).shape
    (3,)
    """

    command = "rank-logistic"
    searching = "RankLogisticCV"


@described_as(RankLogistic)
@dataclass(eq=False, repr=False)
class RankLogisticCV(
    PairwiseRankerCV,
    BaseRankLogistic,
    Running,
    PairwiseParameters,
    Calibration,
    Parsimony,
    Comparison,
    Candidates,
):
    """RankLogistic with alpha chosen by cross-validation over queries, then fitted to all rows.

    Alphas are visited in decreasing order, each fit warm-started from the previous one.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default eight powers of ten relative to the scale of the data, visited
        as in `RankSVMCV`.
    cv : int, splitter or iterable of (train, test)
        An int assigns queries (rows, if there are no queries) to folds at random, the same at each fit unless
        `random_state` changes; if explicit pairs share rows, it assigns the pairs. "leave-query-out" leaves
        each query (or each component of explicit pairs) out once, by a Newton step from one fit per alpha;
        "leave-row-out" each row of one ranking, judged by `scoring="error"`. See `RankSVMCV`.
    scoring : str or callable, optional
        The criterion for alpha, as in `RankSVMCV`. By default it is "log_loss", the mean of
        log(1 + exp(-(f(better) - f(worse)))) over pairs; the ranking error, "error", ignores the
        probabilities. On seven kinds of real data the two rank equally well within the noise, except for
        one where the error ranks better; the log loss gives the better probabilities wherever they differ
        much: see docs/rank_logistic.md.
    calibrated : bool
        Whether the function is divided by the temperature that fits the held-out pairs of the folds, as
        `calibrate` does with other rows. Alphas a power of ten apart leave room for that.
    l1_ratio : float or list of float
        Several are compared as well; the alphas are then 50, from the largest that selects a feature down.
    one_standard_error : bool
        Choose the largest alpha whose error is within one standard error of the lowest: fewer features.
    ... :
        As in `RankLogistic`.

    Attributes
    ----------
    alpha_ : float
        The alpha with the lowest mean error over folds; the largest of these. If it is the first or the last
        candidate, an `EdgeOfGridWarning` suggests others. If the final fit was interrupted on its path to
        it, the alpha that was reached.
    alphas_ : array of shape (n_alphas,)
        The candidates that were visited, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas, n_folds)
        Held-out log loss of pairs, or ranking error: the mean over queries or, under
        `average="pairs"`, over all pairs; 1 minus the measure, or minus the score, that `scoring` names.
        Folds without pairs are left out; validation rows are one fold.
    l1_ratio_ : float
        The one of several ratios with the lowest error.
    scoring_ : str
        The criterion for alpha; "score" for a scorer.
    rounds_ : RoundLog
        For rows on Dask, the log of the rounds of the search and of the final fit.

    See Also
    --------
    RankLogistic : The model for a given alpha.

    Examples
    --------
    >>> from rankwise import RankLogisticCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankLogisticCV(cv=3).fit(X, y)
    >>> model.cv_errors_.shape == (len(model.alphas_), 3)
    True
    """

    plain = RankLogistic
    default_scoring = "log_loss"

    def _calibrate_by(self, held_out: Any, choice: Choice) -> None:
        self._fold_temperature = 1.0
        if self.calibrated:
            (found,) = held_out.scores(np.array([choice.alpha]))
            self._fold_temperature = common_temperature(
                [(Logistic(outputs[0], average=self.average), scores[0]) for outputs, scores in found]
            )

    def store(self, fit: Fit) -> None:
        """Store a fit, with the function divided by the temperature of the folds."""
        super().store(fit)
        self._divide(self._fold_temperature)
