"""The ranking support vector machine, and its choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass

from rankwise.core.docstrings import described_as
from rankwise.estimators.linear_inference import LinearInference
from rankwise.estimators.pairwise import PairwiseRanker, PairwiseRankerCV
from rankwise.estimators.parameters import (
    Candidates,
    Comparison,
    Loss,
    PairwiseParameters,
    Parsimony,
    Pooling,
    Running,
    Strength,
    WarmStart,
)
from rankwise.estimators.selected_features import SelectsFeatures


@dataclass(eq=False, repr=False)
class RankSVM(
    SelectsFeatures,
    LinearInference,
    PairwiseRanker,
    Running,
    WarmStart,
    PairwiseParameters,
    Loss,
    Strength,
):
    """Ranking SVM: minimize the mean over pairs of l(f(better) - f(worse)) + alpha ||f||^2.

    The loss of a difference d is max(0, 1 - d) for `loss="hinge"` (equation (4) of Airola et al. 2011) and
    its square for `loss="squared_hinge"`. All pairs count, none is sampled, and the result is certified: the
    objective is within `gap_` of the optimum.

    Cost: O(nnz + m log m) per iteration for m rows with nnz nonzeros, for any number of pairs, label
    levels and queries; about twenty iterations are usual. With a kernel O(m^3) once and O(m^2) memory, with
    `n_components=b` basis rows O(m b^2) and O(m b).

    Parameters
    ----------
    alpha : float, "auto" or "learned"
        Strength of the penalty; "auto" is chosen inside the fit, as `RankSVMCV` does, and kept as `alpha_`;
        "learned", with `gamma="learned"`, is the best on held-out rows.
        In terms of other programs, with N pairs: the lambda of Airola et al. is
        `alpha`; solvers of 1/2 ||w||^2 + C sum(loss) have C = 1 / (2 alpha N); SVMrank with n queries has
        c = 1 / (2 alpha) under `-l 2` (`average="queries"`) and c = n / (2 alpha N) under `-l 1`
        (`average="pairs"`).
    loss : "hinge", "squared_hinge", "huber_hinge", or an object such as `losses.HuberHinge(width=0.5)`
        The loss of a pair by the difference of its scores.
    l1_ratio : float
        Above 0, the penalty is alpha (r ||w||_1 + (1 - r) ||w||^2) with this r, at most 1: with 0.9, many
        weights are zero, and `selected_features_` has the others. It needs a smooth
        loss, a linear kernel and rows in memory.
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
    solver : "auto", "bundle", "interior-point", "bmrm", "tree-rsvm", "pair-rsvm" or "newton"
        For the squared hinge, "newton". For the hinge, "bundle" (cutting planes with line search) or
        "interior-point" (8 to 20 steps at any alpha, O(N n^2) each for N pairs of n features); "auto" takes
        the latter for explicit pairs with 32 features or more, if it is affordable. The others are
        Algorithm 1 of Airola et al. as published, without the line search, for comparison: "tree-rsvm" counts
        violated pairs with their order-statistic tree, "pair-rsvm" one by one in O(m^2), "bmrm" as "bundle"
        does. All find the same solution.
    tol : float
        Stop when the gap is at most `tol` times the attainable improvement, J(0) - J*: when
        `gap_ <= tol * (1 - objective_ + gap_)`, as the zero function has the objective J(0) = 1. A gap that
        rounding explains is also accepted, up to `tol`.
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
        The weights, for the linear kernel.
    dual_coef_, basis_ : arrays
        The function is the sum of `dual_coef_` times the kernel with the rows of `basis_`, for other kernels.
    feature_scales_, gamma_, scale_errors_ : array, float, array
        For a learned gamma: the factors of the features before the kernel is applied, the gamma of the
        kernel, and the ranking error on held-out rows before and after each round.
    n_pairs_ : int
        The number of pairs of the training data.
    objective_, gap_ : float
        The objective reached and a bound on its suboptimality.
    n_iter_ : int
    history_ : dict of arrays
        Objective, bound, gap and seconds for each iteration.
    solver_ : str
        The solver that ran.
    rounds_ : RoundLog
        For rows on Dask, the log of the rounds: see `rankwise.distributed.RoundLog`.

    See Also
    --------
    RankSVMCV : Chooses alpha by cross-validation.
    RankLogistic : Probabilities of pairs.
    CurveRanker : One curve per feature.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVM(alpha=1e-3).fit(X, y)
    >>> model.gap_ <= 1e-3
    True
    >>> round(model.score(X, y), 2)
    0.75
    """

    command = "rank-svm"
    searching = "RankSVMCV"


@described_as(RankSVM)
@dataclass(eq=False, repr=False)
class RankSVMCV(
    SelectsFeatures,
    LinearInference,
    PairwiseRankerCV,
    Running,
    PairwiseParameters,
    Loss,
    Pooling,
    Parsimony,
    Comparison,
    Candidates,
):
    """Ranking SVM with alpha chosen by cross-validation over queries, then fitted to all rows.

    Alphas are visited in decreasing order, each fit warm-started from the previous one. If there are at
    least 4,096 rows, and at least as many as the square of the number of features, the fits of a linear model
    are quasi-Newton descents to a tolerance of 3e-3, or `tol` if that is larger, without a certificate. The
    descents of all folds share every pass over the rows, of which none is copied. Otherwise, if kinks of the
    loss stop a descent, or with any `solver` but "auto", each fit is certified to three times `tol`, and
    the cutting planes of the hinge are shared by all alphas. For explicit pairs with 32 features or more,
    whose hinge has `solver="interior-point"` by default, these fits minimize a `HuberHinge(width=0.25)`,
    which takes a quarter of the time. The final model is certified to `tol` in any case, for the loss
    itself.

    Parameters
    ----------
    alphas : array, optional
        Candidates, all of which are visited. By default, powers of ten relative to the scale of the data:
        from the alpha at which scores spread over about one margin, at most seven steps down, until the
        held-out error has risen twice, and at most three up while the largest is the best.
    cv : int, splitter or iterable of (train, test)
        An int assigns queries (rows, if there are no queries) to folds at random, the same at each fit unless
        `random_state` changes; if explicit pairs share rows, it assigns the pairs. "leave-query-out" leaves
        each query (or each component of explicit pairs) out once, and "leave-row-out" each row of one
        ranking, by a Newton step from one fit per alpha; both need `loss="squared_hinge"`. `cv_errors_` then
        has up to 20 groups of queries in place of folds, or one column for rows.
    scoring : str or callable, optional
        The criterion for alpha: the name of a measure ("error", "concordance", "ndcg@10", "map", "mrr",
        "p@5", "tau"), by default the ranking error; or a scorer, such as scikit-learn's `make_scorer`
        makes, which is called with a model, the held-out rows, and their preferences (their labels, if
        there are no queries).
    pooled : bool
        Judge the held-out scores of all folds together, as in section 5.4 of Pahikkala et al. (2009): of one
        ranking, pairs of rows of different folds count too, so that rare labels need no pair in each fold.
    l1_ratio : float or list of float
        Several are compared as well; the alphas are then 50, from the largest that selects a feature down.
    one_standard_error : bool
        Choose the largest alpha whose error is within one standard error of the lowest: fewer features.
    ... :
        As in `RankSVM`.

    Attributes
    ----------
    alpha_ : float
        The alpha with the lowest mean error over folds; the largest of these. If it is the first or the last
        candidate, an `EdgeOfGridWarning` suggests others. If the final fit was interrupted on its path to
        it, the alpha that was reached.
    alphas_ : array of shape (n_alphas,)
        The candidates that were visited, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas, n_folds)
        Held-out ranking error: the mean over queries or, under `average="pairs"`, the fraction of all pairs;
        or 1 minus the measure, or minus the score, that `scoring` names. Folds without pairs are left out;
        validation rows, and folds that are `pooled`, are one. Equal errors of all candidates cause an
        `EqualErrorsWarning`.
    l1_ratio_ : float
        The one of several ratios with the lowest error.
    scoring_ : str
        The criterion for alpha; "score" for a scorer.
    rounds_ : RoundLog
        For rows on Dask, the log of the rounds of the search and of the final fit.

    See Also
    --------
    RankSVM : The model for a given alpha.
    rankwise.model_selection.alpha_path : Every alpha at once.

    Examples
    --------
    >>> from rankwise import RankSVMCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVMCV(cv=3).fit(X, y)
    >>> model.cv_errors_.shape == (len(model.alphas_), 3)
    True
    """

    plain = RankSVM
