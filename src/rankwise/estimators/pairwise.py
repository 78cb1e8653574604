"""What the rankers with a mean loss over pairs share: the fit of one loss along one or many alphas."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankwise.core.checks import check_alpha, check_count, check_positive
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.estimators.alpha_choice import ChoosesAlpha
from rankwise.estimators.base import PENALTY, BaseRanker
from rankwise.losses import LOSSES
from rankwise.model_selection.certified_path import AlphaProblem
from rankwise.model_selection.search import Choice
from rankwise.preferences import Preferences
from rankwise.solvers import SOLVERS, Descent, SolverResult, chosen_solver, descent_of
from rankwise.solvers.pairs import pairwise_loss, solve_pairs

# The tolerance of fits that choose alpha.
ROUGH = 1e-2


class PairwiseRanker(BaseRanker):
    """Minimise the mean over pairs of a loss of f(better) - f(worse), plus alpha ||f||^2.

    `loss` is the name of the loss in `LOSSES`: an attribute of the class, or a parameter of its own.
    """

    _takes_places = True
    loss: str

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return LOSSES[self.loss].formula + PENALTY

    def fit(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
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
        check_alpha(self.alpha)
        self._check_solver()
        X, preferences = self._checked_input(X, y, qid, sample_weight)
        design, kernel_map = self._space(X, preferences)
        self._store(self._solve(design, preferences, self._start(design)), kernel_map)
        return self

    def _space(self, X: Any, preferences: Preferences, hint: bool = True) -> tuple[Design, Any]:
        """Return the function space to fit in, which a kernel or a subclass may choose by the preferences."""
        self._learn_scales(X, preferences)
        return self._hinted_space(X) if hint else self._function_space(X)

    def _check_solver(self) -> None:
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        self.solver_ = chosen_solver(self.loss, self.solver)

    def _path(
        self, design: Design, preferences: Preferences, alphas: FloatVector, coef: FloatVector | None = None
    ) -> Iterator[SolverResult]:
        """Solve from the largest alpha down, each from where the last one ended; Ctrl-C ends the path.

        The cutting planes of the hinge are valid for every alpha and are handed on.
        """
        more = SOLVERS[self.solver_].carried(design.shape[1])
        for alpha in alphas:
            result = self._solve(design, preferences, coef, alpha, **more)
            coef = result.coef
            yield result
            if result.status == "interrupted":
                return

    def _alpha_problem(
        self, X: Any, y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> AlphaProblem:
        """Return the certified fits of a path over alpha; the planes of the hinge are handed on."""
        self._check_solver()
        X, preferences = self._checked_input(X, y, qid, sample_weight)
        design, kernel_map = self._space(X, preferences)
        more = SOLVERS[self.solver_].carried(design.shape[1])
        return AlphaProblem(
            lambda alpha, start: self._solve(design, preferences, start, alpha, **more),
            pairwise_loss(self.loss, preferences, self.solver_, **self._averaging()).at_zero,
            lambda: self._default_alphas(design, [preferences]),
            kernel_map,
        )

    def _weights_path(self) -> Callable[..., Iterator[FloatArray]]:
        """Return what solves for several alphas, only as well as it takes to compare them."""
        rough = clone(self).set_params(tol=max(self.tol, ROUGH), callback=None, verbose=0)
        rough.solver_ = self.solver_
        return lambda *problem: (result.coef for result in rough._path(*problem))

    def _compared_path(
        self, design: Design, preferences: Preferences, alphas: FloatVector
    ) -> Iterator[SolverResult]:
        """Yield weights that are good enough to compare alphas by, from the largest alpha down.

        With `solver="auto"` it is a descent that does not certify, as long as the loss lets it.
        """
        coef, n_done = None, 0
        for result in self._descended(design, preferences, alphas):
            coef, n_done = result.coef, n_done + 1
            yield _uninterrupted(result)
        for result in self._path(design, preferences, alphas[n_done:], coef):
            yield _uninterrupted(result)

    def _descended(
        self, design: Design, preferences: Preferences, alphas: FloatVector
    ) -> Iterator[SolverResult]:
        """Descend to each alpha, up to the first one where kinks of the loss keep a descent from it."""
        descent = self._descent(design, preferences)
        if descent is None:
            return
        for alpha in alphas:
            result = descent.minimise(float(alpha), self.tol, self._monitor())
            if result is None:
                return
            yield result

    def _descent(self, design: Design, preferences: Preferences) -> Descent | None:
        if self.solver != "auto":
            return None
        return descent_of(design, pairwise_loss(self.loss, preferences, self.solver_, **self._averaging()))

    def _path_scores(self, X: Any, targets: list[Any], rows: Any, alphas: FloatVector) -> FloatArray:
        """Solve along the path of alphas and score other rows: shape (n_alphas, 1, n_rows)."""
        self.solver_ = chosen_solver(self.loss, self.solver)
        design, kernel_map = self._space(X, targets[0], hint=False)
        results = list(self._compared_path(design, targets[0], alphas))
        coef = np.stack([result.coef for result in results])
        dual = coef if kernel_map is None else kernel_map.dual_coef(coef)
        return self._scores_by(dual, kernel_map, rows)[:, None]

    def _path_models(self, X: Any, target: Any, alphas: FloatVector) -> Iterator[Self]:
        """Yield the model of each alpha, for what looks at more than scores."""
        self.solver_ = chosen_solver(self.loss, self.solver)
        design, kernel_map = self._space(X, target, hint=False)
        for result in self._compared_path(design, target, alphas):
            model = clone(self)
            model.n_features_in_ = X.shape[1]
            with warnings.catch_warnings():  # of fits that are not kept
                warnings.simplefilter("ignore", ConvergenceWarning)
                model._store(result, kernel_map)
            yield model

    def _chosen_fit(
        self, design: Design, preferences: Preferences, choice: Choice
    ) -> tuple[float, SolverResult]:
        """Fit all rows with the alpha that was chosen; where that is interrupted, with the one reached."""
        descent = self._descent(design, preferences)
        near = None if descent is None else descent.minimise(choice.alpha, self.tol)
        if near is not None and near.status == "interrupted":
            return choice.alpha, near
        if near is not None:
            return choice.alpha, self._solve(design, preferences, near.coef, choice.alpha)
        results = list(self._path(design, preferences, choice.alphas[: choice.best + 1]))
        return float(choice.alphas[len(results) - 1]), results[-1]

    def _solve(
        self, design: Design, preferences: Preferences, start: Any, alpha: float | None = None, **more: Any
    ) -> SolverResult:
        monitor = self._monitor()
        with self._keeping_best(monitor):
            return solve_pairs(
                design,
                preferences,
                self._strength() if alpha is None else float(alpha),
                loss=self.loss,
                solver=self.solver_,
                tol=self.tol,
                max_iter=int(self.max_iter),
                **self._averaging(),
                start=start,
                monitor=monitor,
                **more,
            )

    def _averaging(self) -> dict[str, Any]:
        return {"average": self.average, "n_threads": self._threads()}


def _uninterrupted(result: SolverResult) -> SolverResult:
    """Pass Ctrl-C on from a fit that is compared: there is no model yet that could be kept."""
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


class PairwiseRankerCV(ChoosesAlpha, PairwiseRanker):
    """A ranker of pairs whose alpha is chosen by cross-validation over queries, then fitted to all rows."""

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
            As for `fit` with one alpha.
        validation : tuple (X, y) or (X, y, qid), optional
            Rows to compare alphas by, in place of folds; the model is fitted to the other rows alone.
        """
        self._check_solver()
        X, preferences = self._checked_input(X, y, qid, sample_weight)
        design, kernel_map = self._space(X, preferences)
        search = self._search(X, [preferences], y, qid)
        self.alphas_ = search.candidates(self.alphas, design)
        if validation is None:
            folds = search.folds(5 if self.cv is None else self.cv, y, qid)
        else:
            folds = [self._validation(validation)]
        choice = self._choice(search, folds)
        self.cv_errors_ = choice.errors
        self.alpha_, result = self._chosen_fit(design, preferences, choice)
        self._store(result, kernel_map)
        if self.alpha_ == choice.alpha:
            choice.warn_at_edge()
        return self
