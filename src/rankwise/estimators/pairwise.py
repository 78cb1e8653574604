"""Rankers with a mean loss over pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from rankwise.core.checks import check_alpha, check_count, check_positive
from rankwise.core.threads import thread_count, with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design
from rankwise.estimators.alpha_choice import ChoosesAlpha
from rankwise.estimators.auto_alpha import AUTO, fit_with_chosen_alpha
from rankwise.estimators.base import PENALTY, BaseRanker
from rankwise.estimators.fits import PairwiseFits, best_kept, hinted, starting_weights
from rankwise.estimators.fold_descents import fold_descents
from rankwise.estimators.spaces import strength, with_scales
from rankwise.losses import PairwiseLoss, formula_of, loss_over
from rankwise.model_selection.tunable import Problem, Space
from rankwise.preferences import Preferences
from rankwise.solvers import chosen_solver
from rankwise.solvers.descent import MIN_ROWS

if TYPE_CHECKING:
    from rankwise.estimators.fold_descents import FoldDescents


class PairwiseRanker(BaseRanker):
    """Minimise the mean over pairs of a loss of f(better) - f(worse), plus alpha ||f||^2.

    `loss` is a name in `LOSSES` or an object: an attribute of the class, or a parameter of its own.
    """

    takes_backends = True
    has_certified_path = True
    # Whether alpha may be 0.
    may_be_unpenalised = False
    loss: str
    solver: str

    @property
    def formula(self) -> str:
        """The objective, in words."""
        return formula_of(self.loss) + PENALTY

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

    def fits(self, problem: Problem, hint: bool = False, alone: bool = False) -> PairwiseFits:
        """Return the fits to a problem for any alpha; `hint` checks the scale of the features.

        With `alone` there is one fit, and its alpha counts in the choice of the solver.
        """
        problem = with_scales(self, problem, self._rough_path)
        space = self.space(problem)
        alpha = strength(self) if alone else None
        solver = chosen_solver(self.loss, self.solver, space.design, problem.preferences, alpha)
        return PairwiseFits(self, hinted(space, self) if hint else space, problem, solver)

    def fold_descents(
        self, problem: Problem, parts: list[Any], design: Design | None = None
    ) -> FoldDescents | None:
        """Return fits of all folds that share passes over the rows, or None if descents do not suit them."""
        if (
            self.solver != "auto"
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
