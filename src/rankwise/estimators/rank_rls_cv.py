"""RankRLS with a built-in choice of alpha."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import check_cv

from rankwise._checks import as_alphas, check_choice, check_count
from rankwise.estimators.rank_rls import RankRLS, label_columns, output_preferences
from rankwise.model_selection import QueryKFold
from rankwise.model_selection.leave_out import (
    HeldOutTask,
    LeaveOutResult,
    has_pair_formula,
    pairs_left_out,
    queries_left_out,
    splits_left_out,
)
from rankwise.model_selection.pair_blocks import mean_squared_distance, query_blocks
from rankwise.preferences import Preferences

FloatArray = NDArray[np.float64]

# Beyond so many rows, leaving every pair out for 31 alphas takes minutes and folds say as much.
MANY_ROWS = 5000
DEFAULT_FOLDS = 5
LEAVE_OUT: dict[str, Callable[[HeldOutTask], LeaveOutResult]] = {
    "leave-query-out": queries_left_out,
    "leave-pair-out": pairs_left_out,
}


class RankRLSCV(RankRLS):
    """Ranking by least squares with alpha chosen by exact cross-validation, then fitted to all rows.

    The alpha with the lowest share of held-out pairs in the wrong order is taken. All alphas share one
    decomposition, and what is held out is never refitted: see `leave_query_out` (equation (33) of Pahikkala
    et al. 2009) and `leave_pair_out` (equations (36) to (39)), which also state the cost.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default 2^15, 2^14, ..., 2^-15 times the mean squared distance of the two rows of a
        pair in the function space.
    cv : None, "leave-query-out", "leave-pair-out", int, splitter or iterable of (train, test)
        By default leave-query-out where there are several queries. In one ranking it is leave-pair-out where
        that has a closed form and there are at most 5,000 rows, and five folds of rows otherwise. An int
        deals queries (rows, where there are no queries) out to folds at random, the same at each fit.
    cost, kernel, ... :
        As in `RankRLS`. The kernel's basis rows and `gamma="scale"` are those of all rows in every fold.

    Attributes
    ----------
    alpha_ : float
        The alpha with the lowest error; the largest such.
    alphas_ : array of shape (n_alphas,)
        Candidates, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas,)
        Ranking error on what was left out: mean over queries, over pairs, or over folds of rows; and over
        outputs, which share one alpha.
    cv_ : str
        What was left out: "leave-query-out", "leave-pair-out", "folds of queries", "folds of rows", or
        "splits" where `cv` gave them.
    coef_, dual_coef_, basis_, n_pairs_, objective_, gap_, n_iter_, solver_ :
        As in `RankRLS`, of the model for `alpha_`.

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

    _takes_dask = False  # folds are rows that are taken out

    def __init__(
        self,
        alphas: ArrayLike | None = None,
        *,
        cv: Any = None,
        cost: str = "magnitude",
        kernel: str | Callable = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        n_components: int | None = None,
        average: str = "queries",
        ties: str = "keep",
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        callback: Callable | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        super().__init__(
            cost=cost,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            n_components=n_components,
            average=average,
            ties=ties,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            callback=callback,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        del self.alpha
        self.alphas = alphas
        self.cv = cv

    def fit(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> RankRLSCV:
        """Choose alpha and learn to rank; parameters as for `RankRLS.fit`."""
        self._check_parameters()
        checked, outputs = self._checked_outputs(X, y, qid, sample_weight)
        task = HeldOutTask(self._with_alpha(1.0), checked, outputs, alphas=[1.0])
        task.alphas = self.alphas_ = self._candidates(task)
        self.cv_errors_ = np.asarray(self._held_out(task, qid).error).mean(axis=1)
        self.alpha_ = float(self.alphas_[np.argmin(self.cv_errors_)])
        model = self._with_alpha(self.alpha_).fit(X, y, qid=qid, sample_weight=sample_weight)
        parameters = self.get_params(deep=False)
        learned = {name: value for name, value in vars(model).items() if name not in {*parameters, "alpha"}}
        self.__dict__.update(learned)
        return self

    def _checked_outputs(
        self, X: Any, y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, list[Preferences]]:
        """Give X as the solvers take it and the preferences of each output."""
        columns = label_columns(y)
        checked, first = self._checked_input(X, y if columns is None else columns[:, 0], qid, sample_weight)
        if columns is None:
            return checked, [first]
        numbers = range(columns.shape[1])
        return checked, [output_preferences(columns, k, qid, sample_weight) for k in numbers]

    def _with_alpha(self, alpha: float) -> RankRLS:
        parameters = self.get_params(deep=False)
        shared = {name: value for name, value in parameters.items() if name not in ("alphas", "cv")}
        return RankRLS(alpha, **shared)

    def _candidates(self, task: HeldOutTask) -> FloatArray:
        if self.alphas is not None:
            return np.sort(as_alphas(self.alphas))[::-1].copy()
        blocks = query_blocks(task.outputs[:1], **task.cost)
        scale = mean_squared_distance(task.features(), blocks) or 1.0
        return np.asarray(scale * 2.0 ** np.arange(15, -16, -1), dtype=np.float64)

    def _held_out(self, task: HeldOutTask, qid: ArrayLike | None) -> LeaveOutResult:
        cv = default_cv(task) if self.cv is None else self.cv
        if isinstance(cv, str):
            check_choice(cv, "cv", LEAVE_OUT)
            self.cv_ = cv
            return LEAVE_OUT[cv](task)
        if not isinstance(cv, Integral):
            self.cv_ = "splits"
            return splits_left_out(task, check_cv(cv).split(task.X, task.outputs[0], groups=qid))
        check_count("cv", cv)
        if task.has_queries:
            self.cv_ = "folds of queries"
            return queries_left_out(task, int(cv))
        self.cv_ = "folds of rows"
        splits = QueryKFold(int(cv), shuffle=True, random_state=0).split(np.zeros(task.n_rows))
        return splits_left_out(task, splits)


def default_cv(task: HeldOutTask) -> str | int:
    """Choose what to leave out; few rows are dealt out such that two or more are in a fold."""
    if task.has_queries:
        return "leave-query-out"
    if task.n_rows <= MANY_ROWS and has_pair_formula(task):
        return "leave-pair-out"
    return max(2, min(DEFAULT_FOLDS, task.n_rows // 2))
