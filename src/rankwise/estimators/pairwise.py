"""Rankers with a mean loss over pairs, and the fits of all their folds at once."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import check_alpha, check_count, check_positive
from rankwise.core.states import joined, nested, part_of
from rankwise.core.threads import thread_count, with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.estimators.alpha_choice import ChoosesAlpha
from rankwise.estimators.auto_alpha import AUTO, fit_with_chosen_alpha
from rankwise.estimators.base import BaseRanker
from rankwise.estimators.fits import PairwiseFits, best_kept, hinted, starting_weights
from rankwise.estimators.spaces import strength, with_scales
from rankwise.estimators.sparsity import check_sparse, penalty_words
from rankwise.losses import PairwiseLoss, formula_of, loss_over
from rankwise.model_selection.tunable import Problem, Space
from rankwise.preferences import Preferences
from rankwise.solvers import Monitor, SolverResult, chosen_solver
from rankwise.solvers.descent import MIN_ROWS, Descent, curvature_of, in_lockstep

# With this tolerance held-out errors are within some .0002 of those of certified fits: `benchmarks/suite.py`.
TOL = 3e-3
# A sample has this fraction of the rows, or more for as many rows per feature.
FRACTION, ROWS_PER_FEATURE = 1 / 16, 60
# The rows that a fold learns from, and their preferences.
Part = tuple[NDArray[np.int64] | slice, Preferences]


class FoldDescents:
    """Descents of all folds over one design: a product with X serves all of them.

    No rows are copied, and the scores of rows held out come with those of the training rows. A descent on a
    sample of the rows goes ahead: its change from one alpha to the next is the first step of each fold, and
    its curvature serves the others.

    Parameters
    ----------
    fits : PairwiseFits
        The fits to all rows.
    parts : list of (rows, preferences)
        What each fold learns from.
    sample : Descent
        Of some rows.
    """

    def __init__(self, fits: PairwiseFits, parts: list[Part], sample: Descent):
        self._model, self._sample = fits.model, sample
        self._tol = max(float(fits.model.tol), TOL)
        design = fits.space.design
        placed = [design.placed_for(fits.loss_of(preferences)) for _, preferences in parts]
        self._design = placed[0][0].centred()
        self._descents = [
            Descent(self._design, loss, copy(sample.curvature), rows)
            for (_, loss), (rows, _) in zip(placed, parts, strict=True)
        ]
        self._ahead = np.zeros(self._design.shape[1])
        self._coef: dict[float, FloatArray] = {}

    def scores(self, alpha: float) -> list[FloatVector] | None:
        """Return the scores of all rows by the fit of each fold, or None if kinks stop a descent."""
        if alpha in self._coef:
            return list(self._design.matvecs(self._coef[alpha]))
        return None if self.weights(alpha) is None else [descent.scores for descent in self._descents]

    def weights(self, alpha: float) -> FloatArray | None:
        """Return the weights of each fold, shape (n_folds, n), or None if kinks stop a descent."""
        if alpha in self._coef:
            return self._coef[alpha]
        guess, model = self._guess(alpha), self._model
        runs = [
            descent.descending(alpha, self._tol, Monitor(model.verbose, model.callback), guess)
            for descent in self._descents
        ]
        results = in_lockstep(self._design, runs)
        if any(result is None for result in results):
            return None
        self._coef[alpha] = np.stack([result.coef for result in results])
        return self._coef[alpha]

    def _guess(self, alpha: float) -> FloatVector | None:
        """Return the change of the weights of the sample since the last alpha, and hand on its curvature."""
        result = self._sample.minimise(alpha, self._tol)
        if result is None:
            return None
        for descent in self._descents:
            descent.curvature = copy(self._sample.curvature)
        last, self._ahead = self._ahead, result.coef
        return self._ahead - last

    def state(self) -> dict[str, FloatArray] | None:
        """Return the arrays from which the next alpha starts, or None if scores are not in memory."""
        states = [descent.state() for descent in (self._sample, *self._descents)]
        of_sample, *of_folds = [state for state in states if state is not None]
        if len(of_folds) < len(self._descents):
            return None
        found = {"ahead": self._ahead, "alphas": np.array(list(self._coef))}
        found |= {"coef": np.array(list(self._coef.values()))}
        return found | nested("sample", of_sample) | joined(of_folds)

    def restore(self, state: dict[str, FloatArray]) -> None:
        """Continue from the state of other descents of the same folds."""
        self._ahead = state["ahead"]
        self._coef = dict(zip(state["alphas"].tolist(), state["coef"], strict=True))
        self._sample.restore(part_of(state, "sample"))
        for k, descent in enumerate(self._descents):
            descent.curvature = copy(self._sample.curvature)
            descent.restore(part_of(state, str(k)))

    def start(self, alpha: float) -> FloatVector | None:
        """Return weights near those of all rows, the mean over folds, if the alpha was visited."""
        return self._coef[alpha].mean(axis=0) if alpha in self._coef else None


def fold_descents(
    model: PairwiseRanker, problem: Problem, parts: list[Part], design: Design | None = None
) -> FoldDescents | None:
    """Return the descents of all folds of a linear model, or None if a descent does not suit the rows."""
    design = model.space(problem).design if design is None else design
    preferences = problem.preferences
    solver = chosen_solver(model.loss, model.solver, design, preferences)
    fits = PairwiseFits(model, Space(design), problem, solver)
    curvature = curvature_of(design, preferences, model.average)
    if curvature is None:
        return None
    m, n = design.shape
    rows = preferences.sample(min(1.0, max(FRACTION, ROWS_PER_FEATURE * n / m)))
    part = None if rows is None else design.sampled(rows)
    if rows is None or part is None:
        return None
    return FoldDescents(fits, parts, Descent(part, fits.loss_of(preferences[rows]), curvature))


class PairwiseRanker(BaseRanker):
    """Minimize the mean over pairs of a loss of f(better) - f(worse), plus alpha ||f||^2.

    `loss` is a name in `LOSSES` or an object: an attribute of the class, or a parameter of its own.
    """

    takes_backends = True
    has_certified_path = True
    # Whether alpha may be 0.
    may_be_unpenalised = False
    # The factors of features in the penalty.
    penalty_weights: Any = None
    loss: str
    solver: str

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return formula_of(self.loss) + penalty_words(self)

    @with_one_blas_thread
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
        if isinstance(self.alpha, str) and self.alpha == AUTO:
            return fit_with_chosen_alpha(self, X, y, qid, sample_weight)
        check_alpha(self.alpha, may_be_zero=self.may_be_unpenalised)
        self.check_parameters()
        # Without a penalty, the scale of features does not matter.
        problem = self.problem(X, y, qid, sample_weight, may_stay=True)
        fits = self.fits(problem, hint=self.alpha != 0, alone=True)
        with best_kept(self):
            result = fits.solve(strength(self), starting_weights(self, fits.space.design.shape[1]))
        fits.keep(self, result)
        return self

    def mean_loss(self, preferences: Preferences) -> PairwiseLoss:
        """Return the mean loss over pairs."""
        return loss_over(self.loss, preferences, average=self.average, n_threads=thread_count(self.n_jobs))

    def check_parameters(self) -> None:
        """Check the parameters of the solver."""
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        if np.any(self.l1_ratio) or self.penalty_weights is not None:
            check_sparse(self)

    def fits(self, problem: Problem, hint: bool = False, alone: bool = False) -> PairwiseFits:
        """Return the fits to a problem for any alpha; `hint` checks the scale of the features.

        With `alone` there is one fit, and its alpha counts in the choice of the solver.
        """
        problem = with_scales(self, problem, self._rough_path)
        space = self.space(problem)
        alpha = strength(self) if alone else None
        data = space.design, problem.preferences, alpha
        solver = chosen_solver(self.loss, self.solver, *data, is_elastic=bool(np.any(self.l1_ratio)))
        return PairwiseFits(self, hinted(space, self) if hint else space, problem, solver)

    def finish(self, fits: PairwiseFits, result: SolverResult) -> None:
        """Keep what a fit leaves beside its function and its result: nothing, unless a class says so."""

    def fold_descents(
        self, problem: Problem, parts: list[Any], design: Design | None = None
    ) -> FoldDescents | None:
        """Return fits of all folds that share passes over the rows, or None if descents do not suit them."""
        if (
            self.solver != "auto"
            or np.any(self.l1_ratio)
            or getattr(self, "kernel", None) != "linear"
            or problem.X.shape[0] < MIN_ROWS
        ):
            return None
        return fold_descents(self, problem, parts, design)

    def _rough_path(
        self, design: Design, preferences: Preferences, alphas: FloatVector
    ) -> Iterator[FloatArray]:
        """Yield weights for each alpha, only as good as the choice of alpha needs."""
        solver = chosen_solver(self.loss, self.solver)
        fits = PairwiseFits(self, Space(design), Problem(None, [preferences]), solver).rough()
        return (result.coef for result in fits.along(alphas))


class PairwiseRankerCV(ChoosesAlpha, PairwiseRanker):
    """A ranker of pairs whose alpha is chosen by cross-validation over queries, then fitted to all rows."""

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
            As for `fit` with one alpha.
        validation : tuple (X, y) or (X, y, qid), optional
            Rows to compare alphas by, in place of folds; the model is fitted to the other rows alone.
        """
        self.check_parameters()
        fits = self.fits(self.problem(X, y, qid, sample_weight, validation is None), hint=True)
        return self._fit_chosen(fits, y, qid, validation)
