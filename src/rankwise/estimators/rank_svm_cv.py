"""RankSVM with a built-in choice of alpha."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import check_cv

from rankwise.design import Design
from rankwise.estimators.rank_svm import RankSVM, check_count, check_positive, chosen_solver
from rankwise.losses import Hinge
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold
from rankwise.preferences import NoPairsError, Preferences
from rankwise.solvers.planes import Planes

FloatVector = NDArray[np.float64]


class RankSVMCV(RankSVM):
    """Ranking SVM with alpha chosen by cross-validation over queries, then fitted to all rows.

    The alphas are gone through from the largest to the smallest, each fit beginning where the last one ended;
    the cutting planes of the hinge are valid for every alpha and are handed on.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default eight powers of ten relative to the scale of the data: at the first, scores
        spread over about one margin.
    cv : int, splitter or iterable of (train, test)
        An int deals queries (rows, where there are no queries) out to folds at random, the same at each fit.
    loss, kernel, ... :
        As in `RankSVM`.

    Attributes
    ----------
    alpha_ : float
        The alpha with the lowest mean error; the largest such. Where the last fit was interrupted on its way
        to it, the alpha that was reached.
    alphas_ : array of shape (n_alphas,)
        Candidates, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas, n_folds)
        Ranking error on the held-out rows; folds without pairs are left out.

    Examples
    --------
    >>> from rankwise import RankSVMCV
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVMCV(alphas=[1e-2, 1e-4], cv=3).fit(X, y)
    >>> model.cv_errors_.shape
    (2, 3)
    """

    _takes_dask = False  # folds are rows that are taken out

    def __init__(
        self,
        alphas: ArrayLike | None = None,
        *,
        cv: Any = 5,
        loss: str = "hinge",
        kernel: Any = "linear",
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
        callback: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        super().__init__(
            loss=loss,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            n_components=n_components,
            average=average,
            pair_weight=pair_weight,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            callback=callback,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        del self.alpha, self.warm_start
        self.alphas = alphas
        self.cv = cv

    def fit(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> RankSVMCV:
        """Choose alpha and learn to rank; parameters as for `RankSVM.fit`."""
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        self.solver_ = chosen_solver(self.loss, self.solver)
        X, preferences = self._checked_input(X, y, qid, sample_weight)
        design, kernel_map = self._function_space(X)
        self.alphas_ = self._candidates(design, preferences)
        errors = [
            self._path_errors(X, preferences, train, test)
            for train, test in self._folds(X, y, preferences, qid)
            if preferences[train].n_pairs and preferences[test].n_pairs
        ]
        if not errors:
            raise NoPairsError(
                "No fold has pairs both in its training and in its test rows; use fewer folds."
            )
        self.cv_errors_ = np.array(errors).T
        best = int(np.argmin(self.cv_errors_.mean(axis=1)))
        results = list(self._path(design, preferences, self.alphas_[: best + 1]))
        self.alpha_ = float(self.alphas_[len(results) - 1])
        self._store(results[-1], kernel_map)
        return self

    def _candidates(self, design: Design, preferences: Preferences) -> FloatVector:
        if self.alphas is None:
            return default_alphas(design, Hinge(preferences, average=self.average, n_threads=self._threads()))
        alphas = np.sort(np.asarray(self.alphas, dtype=np.float64).ravel())[::-1]
        if len(alphas) == 0:
            raise ValueError("alphas is empty.")
        for alpha in alphas:
            check_positive("alphas", float(alpha))
        return alphas.copy()

    def _folds(self, X: Any, y: Any, preferences: Preferences, qid: ArrayLike | None) -> Iterator:
        cv = 5 if self.cv is None else self.cv
        if isinstance(cv, Integral):  # shuffled, as rows may come in an order that repeats or drifts
            yield from QueryKFold(int(cv), shuffle=True, random_state=0).split(X, preferences, groups=qid)
        else:
            yield from check_cv(cv).split(X, y, groups=qid)

    def _path_errors(self, X: Any, preferences: Preferences, train: Any, test: Any) -> list[float]:
        """Return the error on the test rows for each alpha."""
        precomputed = self.kernel == "precomputed"
        X_train = X[train][:, train] if precomputed else X[train]
        X_test = X[test][:, train] if precomputed else X[test]
        design, kernel_map = self._function_space(X_train)
        weights = []
        for result in self._path(design, preferences[train], self.alphas_):
            if result.status == "interrupted":  # there is no model yet that could be kept
                raise KeyboardInterrupt
            weights.append(result.coef)
        held_out, scores = preferences[test], self._scores_of(X_test, np.array(weights), kernel_map)
        with warnings.catch_warnings():  # queries without pairs are common, and left out
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            return [float(ranking_error(held_out, column)) for column in scores.T]

    def _path(self, design: Design, preferences: Preferences, alphas: FloatVector) -> Iterator:
        """Solve from the largest alpha down, each from where the last one ended; Ctrl-C ends the path."""
        more = {} if self.solver_ == "newton" else {"planes": Planes(design.shape[1])}
        coef = None
        for alpha in alphas:
            result = self._solve(design, preferences, coef, alpha, **more)
            coef = result.coef
            yield result
            if result.status == "interrupted":
                return


def default_alphas(design: Design, loss: Hinge, count: int = 8) -> FloatVector:
    """Give powers of ten down from the alpha at which the scores of a first gradient step spread over one.

    Where all pairs violate the margin the solution is -a / (2 alpha) with a the gradient at zero.
    """
    _, coefficients, _ = loss.plane(np.zeros(design.shape[0]))
    spread = float(design.matvec(design.rmatvec(coefficients)).std())
    return np.asarray((spread or 1.0) / 2 * 10.0 ** -np.arange(count), dtype=np.float64)
