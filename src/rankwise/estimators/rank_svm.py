"""The ranking support vector machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise._checks import check_count, check_positive
from rankwise._types import FloatArray, FloatVector
from rankwise.design import Design
from rankwise.estimators.base import PENALTY, BaseRanker
from rankwise.losses import LOSSES
from rankwise.preferences import Preferences
from rankwise.solvers import SOLVERS, SolverResult, chosen_solver, solve_sample


class RankSVM(BaseRanker):
    """Ranking SVM: minimise the mean over pairs of l(f(better) - f(worse)) + alpha ||f||^2.

    The loss of a difference d is max(0, 1 - d) for `loss="hinge"` (equation (4) of Airola et al. 2011) and
    its square for `loss="squared_hinge"`. All pairs count, none is sampled, and the result is certified: the
    objective is within `gap_` of the optimum.

    Cost: O(nnz + m log m) an iteration for m rows with nnz nonzeros, whatever the number of pairs, label
    levels and queries; some twenty iterations are usual. With a kernel O(m^3) once and O(m^2) memory, with
    `n_components=b` basis rows O(m b^2) and O(m b).

    Parameters
    ----------
    alpha : float
        Strength of the penalty. In terms of other programs, with N pairs: the lambda of Airola et al. is
        `alpha`; solvers of 1/2 ||w||^2 + C sum(loss) have C = 1 / (2 alpha N); SVMrank with n queries has
        c = 1 / (2 alpha) under `-l 2` (`average="queries"`) and c = n / (2 alpha N) under `-l 1`
        (`average="pairs"`).
    loss : "hinge" or "squared_hinge"
    kernel : "linear", "precomputed", any kernel of scikit-learn, or callable
        `gamma`, `degree`, `coef0` and `kernel_params` are passed on to it.
    n_components : int, optional
        Number of basis rows for a kernel; all training rows, which is exact, by default.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs.
    pair_weight : None or "difference"
        With "difference", a pair weighs the difference of its labels, so that graded labels count by grade.
    solver : "auto", "bundle", "bmrm" or "newton"
        For the hinge, "bundle" (cutting planes with line search, the default) or "bmrm" (Algorithm 1 of
        Airola et al. as published, for comparison); for the squared hinge, "newton".
    tol : float
        The fit ends when the objective is certified to be this close to the optimum. The objective of the
        zero function is 1.
    max_iter : int
    warm_start : bool
        Begin with the weights of the previous fit.
    callback : callable, optional
        Called with a state (iteration, objective, bound, gap, seconds, coef) after each iteration; a true
        return value ends the fit.
    n_jobs : int, optional
        Number of threads; None means 1, -1 all. The result does not depend on it.
    random_state : int, optional
        Draws the basis rows.
    verbose : int
        1 prints a line for each iteration.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        The weights, for the linear kernel.
    dual_coef_, basis_ : arrays
        The function is the sum of `dual_coef_` times the kernel with the rows of `basis_`, for other kernels.
    n_pairs_ : int
        The number of pairs of the training data.
    objective_, gap_ : float
        The objective reached and a bound on its distance to the optimum.
    n_iter_ : int
    history_ : dict of arrays
        Objective, bound, gap and seconds for each iteration.
    solver_ : str
        The solver that ran.
    rounds_ : RoundLog
        For rows on Dask, how the rounds went: see `rankwise.distributed.RoundLog`.

    Examples
    --------
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVM(alpha=1e-3).fit(X, y)
    >>> model.gap_ <= 1e-3
    True
    >>> round(model.score(X, y), 2)
    0.74
    """

    _takes_places = True

    def __init__(
        self,
        alpha: float = 1e-3,
        *,
        loss: str = "hinge",
        kernel: str | Callable = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        average: str = "queries",
        pair_weight: str | None = None,
        solver: str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        callback: Callable | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.alpha = alpha
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.average = average
        self.pair_weight = pair_weight
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return LOSSES[self.loss].formula + PENALTY

    def fit(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> RankSVM:
        """Learn to rank.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            With `kernel="precomputed"`, the kernel matrix. Rows may be on Dask: a Dask array or dataframe, a
            list of partitions, or what `rankwise.distributed` makes; then so may the other arguments.
        y : array of shape (n_rows,) or Preferences
            Labels, higher is better; or explicit preferences among the rows.
        qid : array of shape (n_rows,), optional
            The query of each row: only rows of the same query are compared.
        sample_weight : array of shape (n_rows,), optional
            A pair weighs the product of its rows' weights.
        """
        check_positive("alpha", self.alpha)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        self.solver_ = chosen_solver(self.loss, self.solver)
        X, preferences = self._checked_input(X, y, qid, sample_weight)
        design, kernel_map = self._hinted_space(X)
        self._store(self._solve(design, preferences, self._start(design)), kernel_map)
        return self

    def _path(self, design: Design, preferences: Preferences, alphas: FloatVector) -> Iterator[SolverResult]:
        """Solve from the largest alpha down, each from where the last one ended; Ctrl-C ends the path.

        The cutting planes of the hinge are valid for every alpha and are handed on.
        """
        more = SOLVERS[self.solver_].carried(design.shape[1])
        coef = None
        for alpha in alphas:
            result = self._solve(design, preferences, coef, alpha, **more)
            coef = result.coef
            yield result
            if result.status == "interrupted":
                return

    def _path_scores(self, X: Any, targets: list[Any], rows: Any, alphas: FloatVector) -> FloatArray:
        """Solve along the path of alphas and score other rows: shape (n_alphas, 1, n_rows)."""
        self.solver_ = chosen_solver(self.loss, self.solver)
        design, kernel_map = self._function_space(X)
        results = list(self._path(design, targets[0], alphas))
        if results[-1].status == "interrupted":  # there is no model yet that could be kept
            raise KeyboardInterrupt
        coef = np.stack([result.coef for result in results])
        dual = coef if kernel_map is None else kernel_map.dual_coef(coef)
        return self._scores_by(dual, kernel_map, rows)[:, None]

    def _solve(
        self, design: Design, preferences: Preferences, start: Any, alpha: float | None = None, **more: Any
    ) -> SolverResult:
        strength = float(self.alpha if alpha is None else alpha)
        averaging: dict[str, Any] = {"average": self.average, "n_threads": self._threads()}

        def solve(design: Design, preferences: Preferences, **options: Any) -> SolverResult:
            loss = LOSSES[self.loss](preferences, **averaging)
            design, loss = design.placed_for(loss, options["tol"])
            return SOLVERS[self.solver_].solve(design, loss, strength, **options)

        return self._solve_from_sample(solve, design, preferences, start, more)

    def _solve_from_sample(
        self,
        solve: Callable[..., SolverResult],
        design: Design,
        preferences: Preferences,
        start: Any,
        more: dict[str, Any],
    ) -> SolverResult:
        """Solve, beginning with a rough solution on a sample of the rows where there is no other start."""
        monitor, max_iter, sampled = self._monitor(), int(self.max_iter), None
        if start is None and SOLVERS[self.solver_].from_sample:
            rough = partial(solve, tol=max(self.tol, 3e-3), max_iter=max_iter)
            sampled = solve_sample(design, preferences, rough)
        interrupted = sampled is not None and sampled.status == "interrupted"
        with self._keeping_best(monitor):
            result = solve(
                design,
                preferences,
                start=start if sampled is None else sampled.coef,
                monitor=monitor,
                tol=self.tol,
                max_iter=1 if interrupted else max_iter,
                **more,
            )
        return replace(result, status="interrupted") if interrupted else result
