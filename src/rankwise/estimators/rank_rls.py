"""Regularised least squares for ranking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from rankwise.core.checks import (
    as_alphas,
    as_array,
    check_alpha,
    check_choice,
    check_count,
    check_positive,
    check_size,
)
from rankwise.core.types import FloatArray
from rankwise.data.backends import in_memory
from rankwise.data.design import Design
from rankwise.estimators.base import PENALTY, BaseRanker
from rankwise.estimators.parameters import LeastSquaresParameters, Strength
from rankwise.kernels import KernelDesign, KernelMap
from rankwise.leave_out.fold_equations import FoldEquations
from rankwise.leave_out.pair_blocks import distance_alphas, joint_loss, mean_squared_distance
from rankwise.losses.least_squares import COSTS, FORMULAS, TIES, LeastSquares, keeps_ties
from rankwise.model_selection.certified_path import AlphaProblem
from rankwise.preferences import NoPairsError, Preferences
from rankwise.preferences.base import AVERAGES
from rankwise.solvers import (
    STATUSES,
    SolverResult,
    solve_conjugate_gradients,
    solve_dual,
    solve_kernel,
    solve_kernel_path,
    solve_path,
    solve_primal,
    solve_reduced,
)
from rankwise.solvers.least_squares import cheapest_solver, check_closed_form, path_solver
from rankwise.solvers.spectrum import joined_paths

SOLVERS = ("auto", "primal", "dual", "cg")


class BaseRankRLS(BaseRanker):
    """Ranking by least squares, for one alpha or for several."""

    _takes_places = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return FORMULAS[self.cost] + PENALTY

    def _fit_outputs(self, X: Any, outputs: list[Any], alpha: Any, systems: list[Any] | None = None) -> None:
        """Fit checked rows; `systems` has X'L X and X'r of each form, where they are known."""
        forms = self._forms(outputs)
        alphas = alpha_of_forms(alpha, len(outputs), len(forms))
        self.solver_ = self._chosen_solver(X, forms[0])
        if self._uses_kernel_matrix(X.shape[0]) and self.solver_ == "dual":
            kernel_map = self._kernel_map()
            K, tol = kernel_map.fit_kernel(X), float(self.tol)
            result = merged([solve_kernel(K, *one, tol=tol) for one in zip(forms, alphas, strict=True)])
            self._store_function(result.coef, kernel_map)
            self._store_course(result)
            return
        design, features = self._hinted_space(X)
        each = zip(forms, alphas, systems or [None] * len(forms), strict=True)
        self._store(merged([self._solve(design, *one, len(forms)) for one in each]), features)

    def path(
        self,
        X: Any,
        y: Any,
        alphas: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> FloatArray:
        """Return what `fit` would learn for each alpha, from one eigendecomposition: equations (31) and (42).

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
        self._check_parameters()
        strengths = as_alphas(alphas)
        model = clone(self)  # so that this one does not look fitted
        X, forms = model._checked_forms(X, y, qid, sample_weight)
        return model._paths(X, forms, strengths)[0]

    def _paths(
        self, X: Any, forms: list[LeastSquares], alphas: FloatArray
    ) -> tuple[FloatArray, KernelMap | None]:
        """Return the coefficients, shape (n_alphas, [n_outputs,] n), and the kernel that they are for."""
        self._learn_scales(X, forms[0].preferences)
        # A kernel map leaves out what is lost in the rounding of a matrix in single precision.
        rounded = self.kernel == "precomputed" and X.dtype == np.float32
        if self._uses_kernel_matrix(X.shape[0]) and not rounded:
            kernel_map = self._kernel_map()
            K = kernel_map.fit_kernel(X)
            return joined_paths([solve_kernel_path(K, form, alphas) for form in forms]), kernel_map
        design, features = self._function_space(X)
        closed = "primal" if design.shape[1] <= design.shape[0] else "dual"
        check_closed_form(closed, design, forms[0], "path", "fit each alpha with solver='cg'", n_matrices=4)
        path = joined_paths([solve_path(design, form, alphas) for form in forms])
        return path if features is None else features.dual_coef(path), features

    def _alpha_problem(
        self, X: Any, y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> AlphaProblem:
        """Return the fits of a path over alpha, all from one decomposition."""
        self._check_parameters()
        X, outputs = self._checked_outputs(X, y, qid, sample_weight)
        if len(outputs) > 1:
            raise ValueError(f"y must have one output for a path with certificates; got {len(outputs)}.")
        (form,) = self._forms(outputs)
        self._learn_scales(X, form.preferences)
        design, kernel_map = self._function_space(X)
        closed = "primal" if design.shape[1] <= design.shape[0] else "dual"
        check_closed_form(closed, design, form, "alpha_path", "use fewer features", n_matrices=4)
        solve = path_solver(design, form, tol=float(self.tol))
        return AlphaProblem(
            lambda alpha, start: solve(alpha),
            form.constant,
            lambda: self._default_alphas(design, outputs),
            kernel_map,
        )

    def _default_alphas(self, design: Design, outputs: list[Preferences]) -> FloatArray:
        """Return powers of two times the mean squared distance of the two rows of a pair."""
        loss = joint_loss(outputs[:1], cost=self.cost, ties=self.ties, average=self.average)
        return distance_alphas(mean_squared_distance(design, loss))

    def _path_scores(self, X: Any, targets: list[Any], rows: Any, alphas: FloatArray) -> FloatArray:
        """Score other rows for each alpha from one decomposition: shape (n_alphas, n_outputs, n_rows)."""
        coef, kernel_map = self._paths(X, self._forms(targets), alphas)
        scores = self._scores_by(coef.reshape(-1, coef.shape[-1]), kernel_map, rows)
        return scores.reshape(len(alphas), len(targets), -1)

    def _fold_equations(self, X: Any, targets: list[Any], tests: list[Any]) -> FoldEquations | None:
        """Return the equations of each fold's rows, where a matrix for each of them is not much."""
        m, n = X.shape
        if not self._is_linear() or n * n > m or len(tests) < 2:
            return None
        return FoldEquations(X, tests, self._forms(targets), self._threads())

    def _path_models(self, X: Any, target: Any, alphas: FloatArray) -> Iterator[RankRLS]:
        """Yield the model of each alpha, from one decomposition."""
        coef, kernel_map = self._paths(X, self._forms([target]), alphas)
        for weights in coef:
            model = clone(self)
            model.n_features_in_ = X.shape[1]
            model._store_function(weights, kernel_map)
            yield model

    def _targets(self, y: Any, qid: ArrayLike | None) -> list[Any]:
        """Return the preferences of each output."""
        columns = label_columns(y)
        if columns is None:
            return super()._targets(y, qid)
        return [output_preferences(columns, k, qid, None) for k in range(columns.shape[1])]

    def _check_parameters(self) -> None:
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        check_choice(self.cost, "cost", COSTS)
        check_choice(self.ties, "ties", TIES)
        check_choice(self.average, "average", AVERAGES)
        check_choice(self.solver, "solver", SOLVERS)

    def _checked_forms(
        self, X: Any, y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, list[LeastSquares]]:
        """Return X as the solvers take it and the forms to minimise: one, or one for each output."""
        X, outputs = self._checked_outputs(X, y, qid, sample_weight)
        return X, self._forms(outputs)

    def _checked_outputs(
        self, X: Any, y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, list[Any]]:
        """Return X as the solvers take it and the preferences of each output."""
        y, qid, sample_weight = map(in_memory, (y, qid, sample_weight))
        columns = label_columns(y)
        X, first = self._checked_input(X, y if columns is None else columns[:, 0], qid, sample_weight)
        if columns is None:
            return X, [first]
        outputs = [output_preferences(columns, k, qid, sample_weight) for k in range(columns.shape[1])]
        self.n_pairs_ = np.array([preferences.n_pairs for preferences in outputs])
        return X, outputs

    def _forms(self, outputs: list[Any]) -> list[LeastSquares]:
        """Return one form for all outputs where these share it, and one for each otherwise."""
        if len(outputs) > 1 and keeps_ties(outputs[0], self.cost, self.ties):
            return [self._loss(outputs[0], np.stack([output.values for output in outputs], axis=1))]
        return [self._loss(preferences) for preferences in outputs]

    def _loss(self, preferences: Preferences, labels: FloatArray | None = None) -> LeastSquares:
        values = preferences.values if labels is None else labels
        check_size("y", 0.0 if values is None else values)
        options: dict[str, Any] = {"cost": self.cost, "ties": self.ties, "average": self.average}
        return LeastSquares(preferences, labels=labels, n_threads=self._threads(), **options)

    def _uses_kernel_matrix(self, n_rows: int) -> bool:
        """Return whether the function space is that of a kernel with all rows as its basis."""
        reduced = isinstance(self.n_components, Integral) and self.n_components < n_rows
        return not (self._is_linear() or reduced)

    def _chosen_solver(self, X: Any, form: LeastSquares) -> str:
        if isinstance(X, Design):
            return self._solver_at(X, form)
        if self.solver != "auto":
            return self.solver
        if not self._is_linear():
            return "dual" if self._uses_kernel_matrix(X.shape[0]) else "primal"
        stored = X.nnz if sp.issparse(X) else X.size
        return cheapest_solver(X.shape[0], X.shape[1], stored, form.root_is_sparse)

    def _solver_at(self, X: Design, form: LeastSquares) -> str:
        """Return the solver for rows that are not in memory."""
        if self.solver == "dual":
            raise ValueError(
                f"solver='dual' needs all rows in one place, but X is {X.place}; use 'cg' or 'primal'."
            )
        if self.solver != "auto":
            return self.solver
        cheapest = cheapest_solver(X.shape[0], X.shape[1], X.stored, form.root_is_sparse)
        return "primal" if cheapest == "primal" and form.root_is_sparse else "cg"

    def _solve(
        self, design: Design, form: LeastSquares, alpha: Any, system: Any, n_forms: int
    ) -> SolverResult:
        if self.solver_ != "cg":
            way_out = "solver='cg' keeps no such matrix"
            check_closed_form(self.solver_, design, form, f"solver={self.solver_!r}", way_out)
        if self.solver_ == "primal" and isinstance(design, KernelDesign):
            return solve_reduced(design, form, alpha, tol=float(self.tol))
        if self.solver_ == "primal":
            return solve_primal(design, form, alpha, tol=float(self.tol), system=system)
        if self.solver_ == "dual":
            return solve_dual(design, form, alpha, tol=float(self.tol))
        monitor = self._monitor()
        design, form = design.placed_for(form, self.tol)
        with self._keeping_best(monitor):
            result = solve_conjugate_gradients(
                design, form, alpha, tol=self.tol, max_iter=int(self.max_iter), monitor=monitor
            )
        if result.status == "interrupted" and n_forms > 1:
            raise KeyboardInterrupt  # the other outputs have no weights yet that could be kept
        return result


@dataclass(eq=False, repr=False)
class RankRLS(BaseRankRLS, LeastSquaresParameters, Strength):
    """Ranking by least squares: minimise the mean over pairs of (t - f(better) + f(worse))^2 + alpha ||f||^2.

    The target difference t of a pair is the difference of its labels with `cost="magnitude"`, equation (21)
    of Pahikkala et al. (2009), and 1 with `cost="unit"`, equation (20); `cost="relative"`, equation (22),
    divides the square by t^2. The solution is a linear system, and all pairs count without being listed.

    Cost for m rows of n features, whatever the number of pairs: O(m n^2 + n^3) in the primal (28),
    O(m^2 n + m^3) in the dual (17) and with a kernel, O(m b^2) with `n_components=b` basis rows (41), O(nnz)
    an iteration of conjugate gradients. `cost="relative"` lists the l pairs: O(l) memory, and O(l n) in
    addition. More outputs cost little where L does not depend on the labels, which is `cost="magnitude"` with
    `ties="keep"`; otherwise they are fitted one after the other. `path` gives the weights for many alphas.

    Parameters
    ----------
    alpha : float, array of shape (n_outputs,), or "learned"
        Strength of the penalty, the same for all outputs or one for each; "learned", with `gamma="learned"`,
        is the best of least squares on rows held out. Pahikkala et al. sum over pairs:
        with one ranking, or under `average="pairs"`, their lambda is `alpha` times the normaliser, which is
        the number of untied pairs or, with ties kept, m^2 / 2 (the sum over queries of m_q^2 / 2). Under
        `average="queries"` with R queries it is `alpha` R, where a pair weighs 1 / normaliser of its query.
        RLScore's GlobalRankRLS keeps ties and has regparam = `alpha` m^2 / 2; its QueryRankRLS has regparam =
        `alpha` m / 2 where all queries have the same size, and weighs them by their size otherwise.
    cost : "magnitude", "unit" or "relative"
    kernel : "linear", "precomputed", "exponential", any kernel of scikit-learn, or callable
        `gamma`, `degree`, `coef0` and `kernel_params` are passed on to it; "exponential" is
        exp(-gamma ||x - z||).
    gamma : float, "scale", "learned", "learned-matrix" or None
        With "learned", the kernels "exponential", "laplacian" and "rbf" learn a scale for each feature and
        their width, by the mean squares of the gradients of fits, judged on queries or rows held out; with
        "learned-matrix" the features are turned, too.
    n_components : int, optional
        Number of basis rows for a kernel; all training rows, which is exact, by default.
    basis : "uniform" or "kmeans"
        How basis rows are chosen: at random, or as those nearest to the means of as many clusters, which may
        rank better.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs.
    ties : "keep" or "drop"
        With "keep", the mean is over all pairs of rows of a query, tied ones with target 0: the normaliser is
        half the square of the sum of weights, so that a repeated row equals a doubled weight, and every
        query with a positive weight counts. With "drop", the mean is over untied pairs. It matters for
        `cost="magnitude"` with labels alone: other costs always drop ties.
    solver : "auto", "primal", "dual" or "cg"
        "primal" and "dual" are closed forms in terms of features and of rows, "cg" is conjugate gradients;
        "auto" takes the cheapest.
    tol : float
        The gap that is asked for, as a share of what can be won: `gap_ <= tol * (zero - objective_ + gap_)`,
        where zero is the objective of the zero function, or the gap that rounding explains, up to `tol` times
        zero. A larger one is warned of. Conjugate gradients also go on to this residual of the normal
        equations relative to their right-hand side.
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
        For a gamma that is learned: what features are multiplied by before the kernel sees them, the gamma of
        the kernel, and the ranking error on the rows held out before and after each round.
    n_pairs_ : int, or array of shape (n_outputs,)
        The number of untied pairs of the training data.
    objective_, gap_ : float, or arrays of shape (n_outputs,)
        The objective reached and a bound on its distance to the optimum, ||gradient||^2 / (4 alpha) plus what
        rounding may have done to either.
    n_iter_ : int
        1 for closed forms.
    history_ : dict of arrays
        Objective, bound, gap and seconds for each iteration of conjugate gradients.
    solver_ : str
        The solver that ran.
    rounds_ : RoundLog
        For rows on Dask, how the rounds went: see `rankwise.distributed.RoundLog`.

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

    def fit(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> RankRLS:
        """Learn to rank.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            With `kernel="precomputed"`, the kernel matrix. Rows may be on Dask: a Dask array or dataframe, a
            list of partitions, or what `rankwise.distributed` makes; then so may the other arguments.
        y : array of shape (n_rows,) or (n_rows, n_outputs), or Preferences
            Labels, higher is better; or explicit preferences among the rows. Each column of several outputs
            is a ranking of its own.
        qid : array of shape (n_rows,), optional
            The query of each row: only rows of the same query are compared.
        sample_weight : array of shape (n_rows,), optional
            A pair weighs the product of its rows' weights.
        """
        if np.ndim(self.alpha) == 0:
            check_alpha(self.alpha)
        self._check_parameters()
        X, outputs = self._checked_outputs(X, y, qid, sample_weight)
        self._learn_scales(X, outputs[0])
        self._fit_outputs(X, outputs, self._strength() if np.ndim(self.alpha) == 0 else self.alpha)
        return self


def label_columns(y: Any) -> NDArray[Any] | None:
    """Return the labels as an array where they have several columns, and None otherwise."""
    if y is None or isinstance(y, Preferences):
        return None
    array = as_array(y)
    return array if array.ndim == 2 and array.shape[1] > 1 else None


def output_preferences(
    labels: NDArray[Any], k: int, qid: ArrayLike | None, sample_weight: ArrayLike | None
) -> Any:
    """Rank rows by one of several outputs; an error names it."""
    try:
        return Preferences.from_scores(labels[:, k], qid, sample_weight)
    except NoPairsError as error:
        raise NoPairsError(f"Output {k} of y: {error}") from None


def alpha_of_forms(alpha: Any, n_outputs: int, n_forms: int) -> list[Any]:
    """Return the alpha of each form: a number, or an array where the outputs of a form differ."""
    if np.ndim(alpha) == 0:
        return [float(alpha)] * n_forms
    alphas = as_alphas(alpha)
    if len(alphas) != n_outputs:
        raise ValueError(
            f"alpha must be a number or one for each of {n_outputs} outputs; got {len(alphas)} of them."
        )
    if n_outputs == 1:
        return [float(alphas[0])]
    return [alphas] if n_forms == 1 else alphas.tolist()


def merged(results: list[SolverResult]) -> SolverResult:
    """Join the results of outputs that were solved one after the other."""
    if len(results) == 1:
        return results[0]
    worst = max(results, key=lambda result: STATUSES.index(result.status))
    return SolverResult(
        np.stack([result.coef for result in results]),
        np.array([result.objective for result in results]),
        np.array([result.gap for result in results]),
        max(result.n_iter for result in results),
        worst.status,
        worst.history,
    )
