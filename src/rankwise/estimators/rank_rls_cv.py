"""RankRLS with a built-in choice of alpha."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike

from rankwise._checks import check_choice
from rankwise.design import as_design
from rankwise.estimators.alpha_choice import ChoosesAlpha
from rankwise.estimators.rank_rls import RankRLS
from rankwise.model_selection.leave_out import (
    HeldOutTask,
    has_pair_formula,
    pairs_left_out,
    queries_left_out,
)
from rankwise.model_selection.search import Choice

# Beyond so many rows, leaving every pair out for 31 alphas takes minutes and folds say as much.
MANY_ROWS = 5000
DEFAULT_FOLDS = 5
LEAVE_OUT = ("leave-query-out", "leave-pair-out")


class RankRLSCV(ChoosesAlpha, RankRLS):
    """Ranking by least squares with alpha chosen by exact cross-validation, then fitted to all rows.

    The alpha with the lowest share of held-out pairs in the wrong order is taken. All alphas share one
    decomposition, and where single queries or pairs are held out nothing is fitted again: see
    `leave_query_out` (equation (33) of Pahikkala et al. 2009) and `leave_pair_out` (equations (36) to (39)),
    which also state the cost. Folds have a decomposition each.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default 2^5, 2^4, ..., 2^-25 times the mean squared distance of the two rows of a pair
        in the function space.
    cv : None, "leave-query-out", "leave-pair-out", int, splitter or iterable of (train, test)
        By default leave-query-out where there are several queries. In one ranking it is leave-pair-out where
        that has a closed form and there are at most 5,000 rows, and five folds of rows otherwise. An int
        deals queries (rows, where there are no queries) out to folds at random, the same at each fit.
    cost, kernel, ... :
        As in `RankRLS`. Where single queries or pairs are left out, the kernel's basis rows and
        `gamma="scale"` are those of all rows; folds see their training rows alone.

    Attributes
    ----------
    alpha_ : float
        The alpha with the lowest error; the largest such. Where it is the first or the last of the
        candidates, an `EdgeOfGridWarning` says which to add.
    alphas_ : array of shape (n_alphas,)
        Candidates, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas,)
        Ranking error on what was left out: the mean over queries or, under `average="pairs"`, the share of
        all pairs; the mean of that over folds, where there are some, and over outputs, which share one alpha.
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

    _plain = RankRLS

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
        self._learn_scales(checked, outputs[0])
        task = HeldOutTask(self._with_alpha(1.0), checked, outputs, alphas=[1.0])
        task.model._handed_scales = self._learned_scales()  # which a clone does not keep
        cv = default_cv(task) if self.cv is None else self.cv
        choice = self._left_out(task, cv) if isinstance(cv, str) else self._over_folds(task, cv, y, qid)
        self.alpha_, self.cv_errors_ = choice.alpha, choice.mean
        model = self._with_alpha(self.alpha_).fit(X, y, qid=qid, sample_weight=sample_weight)
        parameters = self.get_params(deep=False)
        learned = {
            name: value
            for name, value in vars(model).items()
            if name not in {*parameters, "alpha", "_handed_scales"}
        }
        self.__dict__.update(learned)
        choice.warn_at_edge()
        return self

    def _left_out(self, task: HeldOutTask, cv: str) -> Choice:
        """Leave every query or every pair out, by the closed forms."""
        check_choice(cv, "cv", LEAVE_OUT)
        self.cv_ = cv
        search = self._search(task.X, task.outputs)
        task.alphas = self.alphas_ = search.candidates(self.alphas, as_design(task.features()))
        by_query = cv == "leave-query-out"
        result = queries_left_out(task, average=self.average) if by_query else pairs_left_out(task)
        return Choice(self.alphas_, result.error.mean(axis=1, keepdims=True))

    def _over_folds(self, task: HeldOutTask, cv: Any, y: Any, qid: ArrayLike | None) -> Choice:
        """Fit the training rows of each fold anew."""
        self.cv_ = "splits"
        if isinstance(cv, Integral):
            self.cv_ = "folds of queries" if task.has_queries else "folds of rows"
        search = self._search(task.X, task.outputs)
        self.alphas_ = search.candidates(self.alphas)
        return self._choice(search, cv, y, qid)


def default_cv(task: HeldOutTask) -> str | int:
    """Choose what to leave out; few rows are dealt out such that two or more are in a fold."""
    if task.has_queries:
        return "leave-query-out"
    if task.n_rows <= MANY_ROWS and has_pair_formula(task):
        return "leave-pair-out"
    return max(2, min(DEFAULT_FOLDS, task.n_rows // 2))
