"""Standard errors and tests of the weights of linear rankers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.core.columns import fitted_columns
from rankwise.core.threads import with_one_blas_thread
from rankwise.data.backends import backend_of, in_memory
from rankwise.data.design import as_design
from rankwise.estimators.base import BaseRanker
from rankwise.losses.base import PairwiseLoss
from rankwise.preferences import Preferences

if TYPE_CHECKING:
    from rankwise.uncertainty.inference import Inference

# The tolerance of the weights whose errors are estimated: their suboptimality must be far below them.
SMOOTH_TOL, HINGE_TOL = 1e-9, 1e-5


class LinearInference(BaseRanker):
    """A ranker with a method `inference`.

    `mean_loss` returns the mean loss over pairs that a fit minimises, without the penalty.
    """

    mean_loss: Callable[[Preferences], PairwiseLoss]

    @with_one_blas_thread
    def inference(
        self,
        X: Any,
        y: Any,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        cluster: ArrayLike | None = None,
        debias: bool = False,
    ) -> Inference:
        """Return the weights with standard errors, intervals and tests.

        What is independent decides the errors: queries if there are any, clusters if they are given, listed
        pairs (or their groups), and rows otherwise. Pairs of one ranking share rows, so they are never taken
        as independent.

        Cost: about four products with the loss per feature, without a list of pairs, and a fit to a small
        tolerance that starts from the weights.

        Parameters
        ----------
        X, y, qid, sample_weight :
            The training data, as given to `fit`; other data are refused.
        cluster : array of shape (n_rows,), optional
            What rows have in common, such as a patient or a user; rows of different clusters are independent.
            With explicit pairs, one entry per pair.
        debias : bool
            Take a Newton step of the loss without the penalty, which removes most of its bias. Otherwise the
            intervals are for the minimum of the penalised objective, whose weights are drawn to zero.

        Returns
        -------
        Inference
            The weights are those of `coef_` up to the tolerance of the fit. An alpha that was chosen by
            cross-validation is taken as given, which ignores the error of the choice.

        Examples
        --------
        >>> from rankwise import RankLogistic
        >>> from rankwise.datasets import load_diabetes_ranking
        >>> X, y = load_diabetes_ranking(return_X_y=True)
        >>> found = RankLogistic(alpha=1e-4).fit(X, y).inference(X, y)
        >>> found.wald_test([0, 7]).p_value > 0.05  # age and s4
        True
        """
        from rankwise.uncertainty.inference import infer
        from rankwise.uncertainty.influence import units_of

        self._check_linear(X)
        y, qid, sample_weight, cluster = map(in_memory, (y, qid, sample_weight, cluster))
        rows = self.validated(X, reset=False)
        refit = self._refitted(rows, y, qid, sample_weight)
        problem = clone(refit).problem(rows, y, qid, sample_weight)
        dense = as_design(problem.X).dense()
        preferences = problem.preferences
        names = fitted_columns(self) or [f"f{number}" for number in range(1, dense.shape[1] + 1)]
        found = infer(
            self.mean_loss(preferences), dense, refit.coef_, float(refit.alpha),
            units_of(preferences, cluster, qid), names, debias=debias,
        )  # fmt: skip
        temperature = getattr(self, "temperature_", 1.0)
        return found if temperature == 1.0 else found.in_units(np.full(len(names), 1.0 / temperature), names)

    def _check_linear(self, X: Any) -> None:
        check_is_fitted(self)
        if not hasattr(self, "coef_") or self.coef_.ndim > 1:
            raise ValueError(
                "inference needs a linear model with one output: a kernel has as many weights as basis rows."
            )
        if (backend := backend_of(X)) is not None:
            raise ValueError(f"inference needs all rows in memory, but X is {backend.name}.")

    def _refitted(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> Any:
        """Return the same model with a smaller gap; refuse data that it was not fitted to."""
        alpha = float(getattr(self, "alpha_", getattr(self, "alpha", 0.0)))
        refit = self.with_alpha(alpha) if hasattr(self, "with_alpha") else clone(self)
        tol = HINGE_TOL if getattr(self, "loss", "") == "hinge" else SMOOTH_TOL
        refit.set_params(alpha=alpha, tol=min(tol, refit.tol), callback=None, verbose=0)
        coef = getattr(self, "temperature_", 1.0) * self.coef_
        if hasattr(refit, "warm_start"):
            refit.set_params(warm_start=True)
            refit._weights = coef
        refit.fit(X, y, qid=qid, sample_weight=sample_weight)
        # The objective is strongly convex: J(w) - J* is at least alpha ||w - w*||^2.
        apart = alpha * float(np.sum((refit.coef_ - coef) ** 2))
        slack = self.gap_ + refit.gap_ + 1e-6 * abs(self.objective_)
        if not max(abs(self.objective_ - refit.objective_), apart) <= slack:
            raise ValueError(
                "inference needs the data that the model was fitted to: these have other weights. Fit the "
                "model to them, with the same qid and sample_weight."
            )
        return refit
