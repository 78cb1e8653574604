"""Regularized least squares for ranking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from rankwise.core.checks import as_alphas, as_array, check_alpha, check_choice, check_count, check_positive
from rankwise.core.docstrings import described_as
from rankwise.core.stored import Array
from rankwise.core.threads import thread_count, with_one_blas_thread
from rankwise.core.types import FloatArray
from rankwise.data.design import Design, as_design
from rankwise.estimators.alpha_choice import DEFAULT_FOLDS, ChoosesAlpha, seed_of
from rankwise.estimators.auto_alpha import AUTO, fit_with_chosen_alpha
from rankwise.estimators.fits import PairwiseFits, hinted, starting_weights
from rankwise.estimators.inputs import read_preferences, read_problem, read_validation, require_here
from rankwise.estimators.least_squares_fits import LeastSquaresFits, forms_of
from rankwise.estimators.linear_inference import LinearInference
from rankwise.estimators.parameters import (
    Candidates,
    Comparison,
    CrossValidation,
    Kept,
    LeastSquaresParameters,
    OutputAlphas,
    Parsimony,
    Pooling,
    Strength,
)
from rankwise.estimators.selected_features import SelectsFeatures
from rankwise.estimators.spaces import strength, with_scales
from rankwise.estimators.sparsity import (
    check_sparse,
    penalty_words,
    sparse_alphas,
)
from rankwise.functions.kernel_parameters import is_linear
from rankwise.losses.least_squares import COSTS, FORMULAS, TIES, LeastSquares
from rankwise.model_selection.fold_equations import FoldEquations
from rankwise.model_selection.fold_rows import Fold, PairFold
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.grids import near_share
from rankwise.model_selection.leave_out import (
    HeldOutTask,
    has_pair_formula,
    pairs_left_out,
    queries_left_out,
)
from rankwise.model_selection.pair_blocks import distance_alphas, mean_squared_distance
from rankwise.model_selection.search import HeldOut, Search
from rankwise.model_selection.tunable import Problem
from rankwise.preferences import NoPairsError, Preferences
from rankwise.preferences.base import AVERAGES, is_preferences_list, same_rows
from rankwise.solvers import chosen_solver

SOLVERS = ("auto", "primal", "dual", "cg")


class BaseRankRLS(SelectsFeatures, LinearInference):
    """Ranking by least squares, for one alpha or for several."""

    takes_backends = True
    takes_margins = True
    has_certified_path = True
    stored: ClassVar = {
        "coef_": Array(("outputs?", "features"), has_norm=True),
        "dual_coef_": Array(("outputs?", "basis"), has_norm=True),
    }
    cost: str
    ties: str
    solver: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return FORMULAS[self.cost] + penalty_words(self)

    @property
    def fits_all_at_once(self) -> bool:  # type: ignore[override]
        """Whether one decomposition serves all alphas: not with absolute weights."""
        return not np.any(self.l1_ratio)

    @property
    def loss(self) -> LeastSquares:
        """The loss of a pair, without pairs."""
        return LeastSquares(cost=self.cost, ties=self.ties)

    @with_one_blas_thread
    def path(
        self,
        X: Any,
        y: Any,
        alphas: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> FloatArray:
        """Return the fit for each alpha from one eigendecomposition: equations (31) and (42).

        Parameters
        ----------
        X, y, qid, sample_weight :
            As for `fit`; the model itself is not fitted.
        alphas : array of shape (n_alphas,)

        Returns
        -------
        coef : array of shape (n_alphas, n_features), or (n_alphas, n_outputs, n_features)
            The `coef_` for each alpha, or for a kernel the `dual_coef_`.

        Examples
        --------
        >>> from rankwise.datasets import load_diabetes_ranking
        >>> X, y = load_diabetes_ranking(return_X_y=True)
        >>> RankRLS().path(X, y, [1e-1, 1e-2, 1e-3]).shape
        (3, 10)
        """
        self.check_parameters()
        if np.any(self.l1_ratio):
            raise ValueError("path has no l1_ratio above 0; use rankwise.model_selection.alpha_path.")
        strengths = as_alphas(alphas)
        model = clone(self)  # so that this one does not look fitted
        return model.fits(model.problem(X, y, qid, sample_weight)).functions(strengths)[0]

    def check_parameters(self) -> None:
        """Check all parameters but alpha."""
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_choice(self.cost, "cost", COSTS)
        check_choice(self.ties, "ties", TIES)
        check_choice(self.average, "average", AVERAGES)
        check_choice(self.solver, "solver", SOLVERS)
        if np.any(self.l1_ratio) or self.penalty_weights is not None:
            check_sparse(self)
        if np.any(self.l1_ratio) and self.solver != "auto":
            raise ValueError(f"solver={self.solver!r} has no l1_ratio above 0; use solver='auto'.")

    def problem(
        self,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        may_stay: bool = False,
    ) -> Problem:
        """Read and check what to learn from; each column of y, or each of its preferences, is an output."""
        return read_problem(self, X, y, qid, sample_weight, may_stay, several_outputs)

    def outputs(self, y: Any, qid: ArrayLike | None) -> list[Any]:
        """Return the preferences of each output."""
        return several_outputs(y, qid, None) or super().outputs(y, qid)

    def mean_loss(self, preferences: Preferences) -> LeastSquares:
        """Return the mean square over pairs."""
        return forms_of(self, [preferences])[0]

    def grid(self, problem: Problem, design: Design | None = None) -> FloatArray:
        """Return powers of two times the mean squared distance of the two rows of a pair.

        Columns of a linear model whose scale is far above that of the others are damped first.
        """
        design = self.space(problem).design if design is None else design
        if np.any(self.l1_ratio):
            return sparse_alphas(self, problem, design)
        loss = self.mean_loss(problem.preferences)
        share = near_share(problem.X) if is_linear(self) else 1.0
        return distance_alphas(share * mean_squared_distance(design, loss))

    def fits(self, problem: Problem, hint: bool = False) -> Any:
        """Return the fits to a problem for any alpha."""
        if not np.any(self.l1_ratio):
            return LeastSquaresFits(self, with_scales(self, problem))
        if len(problem.outputs) > 1:
            raise ValueError(
                f"l1_ratio={self.l1_ratio!r} is for one output, but y has {len(problem.outputs)}; fit each "
                "alone, or use l1_ratio=0."
            )
        space = self.space(problem)
        solver = chosen_solver(self.loss, self.solver, is_elastic=True)
        return PairwiseFits(self, hinted(space, self) if hint else space, problem, solver)

    def finish(self, fits: Any, result: Any) -> None:
        """Keep nothing beside the function and the result of a fit."""

    def fold_equations(self, problem: Problem, tests: list[Any]) -> FoldEquations | None:
        """Return the equations of each fold's rows, if a matrix for each of them is small."""
        m, n = problem.X.shape
        if np.any(self.l1_ratio) or not is_linear(self) or n * n > m or len(tests) < 2:
            return None
        return FoldEquations(problem.X, tests, forms_of(self, problem.outputs), thread_count(self.n_jobs))


@dataclass(eq=False, repr=False)
class RankRLS(BaseRankRLS, LeastSquaresParameters, Strength):
    """Ranking by least squares: minimize the mean over pairs of (t - f(better) + f(worse))^2 + alpha ||f||^2.

    The target difference t of a pair is the difference of its labels with `cost="magnitude"`, equation (21)
    of Pahikkala et al. (2009), and 1 with `cost="unit"`, equation (20); `cost="relative"`, equation (22),
    divides the square by t^2. The solution is a linear system, and all pairs count without being listed.

    Cost for m rows of n features, whatever the number of pairs: O(m n^2 + n^3) in the primal (28),
    O(m^2 n + m^3) in the dual (17) and with a kernel, O(m b^2) with `n_components=b` basis rows (41), O(nnz)
    per iteration of conjugate gradients. `cost="relative"` lists the l pairs: O(l) memory, and O(l n) in
    addition. Further outputs cost little if L does not depend on the labels, that is for `cost="magnitude"`
    with `ties="keep"`; otherwise they are fitted one by one. `path` gives the weights for many alphas.

    Parameters
    ----------
    alpha : float, array of shape (n_outputs,), "auto" or "learned"
        Strength of the penalty, the same for all outputs or one for each; "auto" is the choice of
        `RankRLSCV`, kept as `alpha_`; "learned", with `gamma="learned"`,
        is the best on held-out rows. Pahikkala et al. sum over pairs:
        with one ranking, or under `average="pairs"`, their lambda is `alpha` times the normalizer, which is
        the number of untied pairs or, with ties kept, m^2 / 2 (the sum over queries of m_q^2 / 2). Under
        `average="queries"` with R queries that have pairs it is `alpha` R, where a pair weighs 1 / normalizer
        of its query.
        RLScore's GlobalRankRLS keeps ties and has regparam = `alpha` m^2 / 2; its QueryRankRLS has regparam =
        `alpha` m / 2 if all queries have the same size, and weighs them by their size otherwise.
    cost : "magnitude", "unit" or "relative"
        The cost of a pair: equations (20), (21) and (22) of Pahikkala et al. (2009).
    l1_ratio : float
        Above 0, the penalty is alpha (r ||w||_1 + (1 - r) ||w||^2) with this r, at most 1: with 0.9, many
        weights are zero, and `selected_features_` has the others. It needs a linear
        kernel, rows in memory and one output.
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
    ties : "keep" or "drop"
        With "keep", the mean is over all pairs of rows of a query, tied ones with target 0: the normalizer is
        half the square of the sum of weights, so that a repeated row equals a doubled weight, and every
        query with two rows of positive weight counts. With "drop", the mean is over untied pairs. It matters
        for `cost="magnitude"` with labels alone: other costs always drop ties.
    solver : "auto", "primal", "dual" or "cg"
        "primal" and "dual" are closed forms in terms of features and of rows, "cg" is conjugate gradients;
        "auto" takes the cheapest.
    tol : float
        The gap that is asked for, relative to the attainable improvement J(0) - J*:
        `gap_ <= tol * (J(0) - objective_ + gap_)`, with the objective J(0) of the zero function. A gap that
        rounding explains is also accepted, up to `tol * J(0)`; a larger gap causes a warning. Conjugate
        gradients also stop only when the residual of the normal equations, relative to their right-hand
        side, is at most `tol`.
    max_iter : int
        Limit of the iterations of conjugate gradients for each output.
    callback : callable, optional
        Called with a state (iteration, objective, bound, gap, seconds, coef) after each iteration of
        conjugate gradients; a true return value ends the fit.
    n_jobs : int, optional
        Number of threads for products with sparse data; None means 1, -1 all.
    random_state : int, optional
        Draws the basis rows.
    verbose : int
        1 prints a line for each iteration of conjugate gradients.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_outputs, n_features)
        The weights, for the linear kernel.
    dual_coef_, basis_ : arrays
        The function is the sum of `dual_coef_` times the kernel with the rows of `basis_`, for other kernels.
    feature_scales_, gamma_, scale_errors_ : array, float, array
        For a learned gamma: the factors of the features before the kernel is applied, the gamma of the
        kernel, and the ranking error on held-out rows before and after each round.
    n_pairs_ : int, or array of shape (n_outputs,)
        The number of untied pairs of the training data.
    objective_, gap_ : float, or arrays of shape (n_outputs,)
        The objective reached and a bound on its suboptimality, ||gradient||^2 / (4 alpha) plus the rounding
        errors of both.
    n_iter_ : int
        1 for closed forms.
    history_ : dict of arrays
        Objective, bound, gap and seconds for each iteration of conjugate gradients.
    solver_ : str
        The solver that ran.
    rounds_ : RoundLog
        For rows on Dask, the log of the rounds: see `rankwise.distributed.RoundLog`.

    See Also
    --------
    RankRLSCV : Chooses alpha, also by leaving pairs out.
    rankwise.model_selection.leave_pair_out : Exact errors without refits.

    References
    ----------
    T. Pahikkala, E. Tsivtsivadze, A. Airola, J. Järvinen and J. Boberg, "An efficient algorithm for learning
    to rank from preference graphs", Machine Learning 75, 2009.

    Examples
    --------
    >>> from rankwise import RankRLS
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankRLS(alpha=1e-3).fit(X, y)
    >>> model.solver_
    'primal'
    >>> round(model.score(X, y), 2)
    0.75
    """

    command = "rank-rls"
    searching = "RankRLSCV"

    @with_one_blas_thread
    def fit(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> RankRLS:
        """Learn to rank.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            With `kernel="precomputed"`, the kernel matrix. Rows may be on Dask: a Dask array or dataframe, a
            list of partitions, or what `rankwise.distributed` makes; then so may the other arguments.
        y : array of shape (n_rows,) or (n_rows, n_outputs), or Preferences, or a list of them
            Labels, higher is better; or explicit preferences among the rows. Each column, or each element of
            a list, is an output: a ranking of its own.
        qid : array of shape (n_rows,), optional
            The query of each row: only rows of the same query are compared.
        sample_weight : array of shape (n_rows,), optional
            A pair weighs the product of its rows' weights.
        """
        if isinstance(self.alpha, str) and self.alpha == AUTO:
            return fit_with_chosen_alpha(self, X, y, qid, sample_weight)
        if np.ndim(self.alpha) == 0:
            check_alpha(self.alpha)
        self.check_parameters()
        fits = self.fits(self.problem(X, y, qid, sample_weight, may_stay=True))
        if np.any(self.l1_ratio):
            fits.keep(self, fits.solve(strength(self), starting_weights(self, fits.space.design.shape[1])))
            return self
        fits.fit(strength(self) if np.ndim(self.alpha) == 0 else self.alpha)
        return self


def several_outputs(
    y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None
) -> list[Preferences] | None:
    """Return the preferences of each output if y has several columns or is a list of them, or else None."""
    if is_preferences_list(y):
        return [read_preferences(output, qid, sample_weight) for output in same_rows(y)]
    if y is None or isinstance(y, Preferences):
        return None
    labels = as_array(y)
    if labels.ndim != 2 or labels.shape[1] < 2:
        return None
    return [output_preferences(labels, k, qid, sample_weight) for k in range(labels.shape[1])]


def output_preferences(
    labels: NDArray[Any], k: int, qid: ArrayLike | None, sample_weight: ArrayLike | None
) -> Any:
    """Rank rows by one of several outputs; an error names it."""
    try:
        return Preferences.from_scores(labels[:, k], qid, sample_weight)
    except NoPairsError as error:
        raise NoPairsError(f"Output {k} of y: {error}") from None


# With more rows, leaving out every pair for 31 alphas takes minutes, and every query three times as long as
# folds, which are as informative.
MANY_ROWS = 5000
LEAVE_OUT = ("leave-query-out", "leave-pair-out")
# The measures that are defined for single pairs.
PAIR_ERRORS = ("error", "concordance")


@described_as(RankRLS)
@dataclass(eq=False, repr=False)
class RankRLSCV(
    ChoosesAlpha,
    BaseRankRLS,
    LeastSquaresParameters,
    Kept,
    Pooling,
    OutputAlphas,
    Parsimony,
    Comparison,
    Candidates,
):
    """Ranking by least squares with alpha chosen by exact cross-validation, then fitted to all rows.

    The alpha with the lowest fraction of held-out pairs in the wrong order is chosen. All alphas share one
    decomposition, and leaving out single queries or pairs needs no refit: see
    `leave_query_out` (equation (33) of Pahikkala et al. 2009) and `leave_pair_out` (equations (36) to (39)),
    which also state the cost. Folds have a decomposition each, and folds of queries share one pass over rows.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default 2^5, 2^4, ..., 2^-25 times the mean squared distance of the two rows of a pair
        in the function space.
    cv : None, "leave-query-out", "leave-pair-out", int, splitter or iterable of (train, test)
        By default, several queries are left out one by one, or in five folds by a linear model of more than
        5,000 rows. For one ranking it is leave-pair-out if that has a closed form and there are at most 5,000
        rows, and five folds of rows otherwise. An int assigns
        queries (rows, if there are no queries) to folds at random, the same at each fit unless `random_state`
        changes; if explicit pairs share rows, it assigns the pairs. For rows on Dask the default is five
        folds.
    scoring : str or callable, optional
        The criterion for alpha: the name of a measure ("error", "concordance", "ndcg@10", "map", "mrr",
        "p@5", "tau"), by default the ranking error; or a scorer, such as scikit-learn's `make_scorer`
        makes, which is called with a model, the held-out rows, and their preferences (their labels, if
        there are no queries).
        Leave-pair-out has the ranking error alone; with another measure, the default for one ranking is five
        folds.
    alpha_per_output : bool
        If y has several columns, choose an alpha for each, as section 5.4 of the paper does; the
        decomposition is the same. By default they share one. An output is judged by the folds in which it
        has pairs, to learn from and to judge by.
    pooled : bool
        Judge the held-out scores of all folds together, as in section 5.4 of the paper: of one ranking, pairs
        of rows of different folds count too, so that rare labels need no pair in each fold. By default, and
        on validation rows, each fold is judged alone. Leaving out single queries judges all of them together
        anyway; with one ranking, the default is then five folds.
    keep : "alpha" or "lambda"
        The quantity that is the same in all fits if single queries or pairs are left out, as in
        `leave_query_out`: "lambda" is that of the paper. Folds keep alpha.
    l1_ratio : float or list of float
        Several are compared as well; the alphas are then 50, from the largest that selects a feature down.
    one_standard_error : bool
        Choose the largest alpha whose error is within one standard error of the lowest: it needs folds.
    ... :
        As in `RankRLS`.

    Attributes
    ----------
    alpha_ : float, or array of shape (n_outputs,) with `alpha_per_output`
        The alpha with the lowest error; the largest of these. If it is the first or the last candidate, an
        `EdgeOfGridWarning` suggests others.
    alphas_ : array of shape (n_alphas,)
        Candidates, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas,)
        Held-out ranking error: the mean over queries or, under `average="pairs"`, the fraction of all pairs;
        or 1 minus the measure, or minus the score, that `scoring` names. It is averaged over folds unless
        they are `pooled`, then over outputs that share one alpha; with `alpha_per_output` it has one column
        per output, and with `l1_ratio` one per fold.
    cv_ : str
        What was left out: "leave-query-out", "leave-pair-out", "folds of queries", "folds of rows", "folds of
        pairs", "validation", or "splits" if `cv` has them.
    l1_ratio_ : float
        The one of several ratios with the lowest error.
    scoring_ : str
        The criterion for alpha; "score" for a scorer.
    coef_, dual_coef_, basis_, n_pairs_, objective_, gap_, n_iter_, solver_ :
        As in `RankRLS`, of the model for `alpha_`.
    rounds_ : RoundLog
        For rows on Dask, the log of the rounds of the search and of the final fit.

    See Also
    --------
    RankRLS : The model for a given alpha.

    Examples
    --------
    >>> from rankwise import RankRLSCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankRLSCV().fit(X, y)
    >>> model.cv_, model.cv_errors_.shape
    ('leave-pair-out', (31,))
    >>> round(1 - float(model.cv_errors_.min()), 2)
    0.75
    """

    cv: CrossValidation = field(default=None, kw_only=True)

    plain = RankRLS
    takes_backends = True

    @with_one_blas_thread
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation: Any = None,
    ) -> Self:
        """Choose alpha and learn to rank.

        Parameters
        ----------
        X, y, qid, sample_weight :
            As for `RankRLS.fit`.
        validation : tuple (X, y) or (X, y, qid), optional
            Rows to compare alphas by, in place of `cv`; the model is fitted to the other rows alone.
        """
        self.check_parameters()
        fits = self.fits(self.problem(X, y, qid, sample_weight, validation is None))
        if np.any(self.l1_ratio):
            return self._fit_chosen(fits, y, qid, validation)
        folds = self._held_out(fits.problem, y, qid)
        held_out, systems = self._scheme(folds, y, qid, validation)
        search = Search(folds.scoring, callback=self.callback, one_standard_error=self.one_standard_error)
        choice = search.choose(held_out, self.alphas_)
        own = self.alpha_per_output and len(choice.by_output) > 1
        choices = choice.by_output if own else [choice]
        self.alpha_: Any = np.array([one.alpha for one in choices]) if own else choice.alpha
        self.cv_errors_ = np.column_stack([one.mean for one in choices]) if own else choice.mean
        fits.fit(self.alpha_, systems())
        for one in choices:
            one.warn_at_edge()
        return self

    def _scheme(self, folds: Folds, y: Any, qid: ArrayLike | None, validation: Any) -> tuple[HeldOut, Any]:
        """Return the rows or pairs held out, and a function for the equations of all rows, or None."""
        problem, cv, self.cv_ = folds.problem, self.cv, "splits"
        if validation is not None:
            self.cv_, folds.splits = "validation", [read_validation(self, validation)]
        elif isinstance(problem.X, Design):
            if isinstance(cv, str):
                require_here(problem.X, f"cv={cv!r}")
            cv = DEFAULT_FOLDS if cv is None else cv
        elif cv is None or isinstance(cv, str):
            task = HeldOutTask(folds.model, problem.X, folds.held_out, None, [1.0], self.keep, problem.scales)
            cv = default_cv(task, folds.scoring in PAIR_ERRORS and not self.pooled) if cv is None else cv
            if isinstance(cv, str):
                self.cv_, left_out = cv, LeftOut(folds, task, cv)
                folds.design = as_design(task.features())
                self.alphas_ = folds.candidates(self.alphas)
                return left_out, left_out.systems
        if validation is None:
            folds.split(cv, y, qid, seed_of(self.random_state))
            if isinstance(cv, Integral):
                self.cv_ = f"folds of {parts_of_folds(folds.held_out[0], folds.splits)}"
        if self.keep != "alpha":
            raise ValueError(
                f"keep={self.keep!r} is for cv='leave-query-out' and cv='leave-pair-out'; folds keep alpha."
            )
        shared = folds.shared
        own = shared is None or self.alphas is not None
        self.alphas_ = folds.candidates(self.alphas) if own else shared.default_alphas()
        return folds, lambda: None if shared is None else shared.whole


class LeftOut(HeldOut):
    """The errors without each query or pair, by the closed forms of least squares; all alphas at once."""

    def __init__(self, folds: Folds, task: HeldOutTask, cv: str):
        check_choice(cv, "cv", LEAVE_OUT)
        by_pair = cv == "leave-pair-out"
        if folds.pooled and by_pair:
            raise ValueError(
                "pooled=True needs folds, such as cv=10: each pair that is left out has its scores."
            )
        if folds.scoring == "score" or (by_pair and folds.scoring not in PAIR_ERRORS):
            scorer = folds.criterion.scorer or folds.scoring
            raise ValueError(
                f"cv={cv!r} has no models to score, or single pairs alone: give folds (cv=5) with "
                f"scoring={scorer!r}."
            )
        self.folds, self.task, self._by_pair = folds, task, by_pair
        self.model: Any = folds.model

    def errors(self, values: FloatArray) -> Iterator[FloatArray]:
        """Yield the errors of each alpha in turn: shape (n_outputs, 1)."""
        task, folds = self.task, self.folds
        task.alphas = values
        average = self.model.average
        result = pairs_left_out(task) if self._by_pair else queries_left_out(task, average=average)
        errors = result.error
        if folds.scoring not in PAIR_ERRORS:
            scores = result.predictions.reshape(len(values), task.n_rows, -1).transpose(0, 2, 1)
            errors = [folds.judged(folds.held_out, found) for found in scores]
        return (found[:, None] for found in np.asarray(errors))

    def state(self) -> None:
        """All alphas are compared at once, and no step between is kept."""

    def systems(self) -> list[Any] | None:
        """Return the equations of all rows that were found on the way, if they serve a fit."""
        task = self.task
        if task.system is None or len(task.outputs) > 1 or not is_linear(self.model):
            return None
        gram, pull = task.system
        return [(gram, pull.ravel())]


def parts_of_folds(preferences: Preferences, folds: list[Fold]) -> str:
    """Return the name of the units that folds consist of: queries, pairs or rows."""
    if preferences.has_queries:
        return "queries"
    return "pairs" if isinstance(folds[0], PairFold) else "rows"


def default_cv(task: HeldOutTask, by_pairs: bool) -> str | int:
    """Choose what to leave out; few rows are dealt out such that two or more are in a fold."""
    pairs = task.outputs[0]
    if pairs.pair_folds(2):  # which are all of one component
        return int(max(2, min(DEFAULT_FOLDS, pairs.n_pairs // 2)))
    n_queries = len(np.unique(pairs.groups()))
    if n_queries > 1:
        in_folds = task.n_rows > MANY_ROWS and task.keep == "alpha" and is_linear(task.model)
        return DEFAULT_FOLDS if in_folds and n_queries > DEFAULT_FOLDS else "leave-query-out"
    if by_pairs and task.n_rows <= MANY_ROWS and has_pair_formula(task):
        return "leave-pair-out"
    return max(2, min(DEFAULT_FOLDS, task.n_rows // 2))
