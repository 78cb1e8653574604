"""Standard errors and tests of the weights of linear rankers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.core.pipelines import fitted_columns
from rankwise.core.threads import with_one_blas_thread
from rankwise.data.design import as_design
from rankwise.estimators.base import BaseRanker
from rankwise.evaluation.inference import infer
from rankwise.evaluation.influence import units_of
from rankwise.losses import PairwiseLoss, PiecewiseLinear, loss_class
from rankwise.preferences import Preferences

if TYPE_CHECKING:
    from rankwise.evaluation.inference import Inference

# The tolerance of the weights whose errors are estimated: their suboptimality must be far below them.
SMOOTH_TOL, HINGE_TOL = 1e-9, 1e-5


class LinearInference(BaseRanker):
    """A ranker with a method `inference`.

    `mean_loss` returns the mean loss over pairs that a fit minimizes, without the penalty.
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
        contrasts: ArrayLike | None = None,
        scaled: bool = False,
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
            intervals are for the minimum of the penalized objective, whose weights are drawn to zero.
        contrasts : array of shape (n_contrasts, n_features), optional
            Combinations of weights to estimate in place of the weights, for columns that depend on each
            other: of all levels of a category, the data determine the differences of their weights.

        scaled : bool
            Whether the columns of X were divided by their standard deviations over these rows, as by
            `StandardScaler`: these have errors too, which matter with a strong penalty and heavy tails. The
            errors are then those of the weights of the columns before. `rankwise.inference` sets it.

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
        self._check_linear()
        rows = self.validated(X, reset=False)
        refit = self._precise()
        problem = clone(refit).problem(rows, y, qid, sample_weight)
        dense = as_design(problem.X).dense()
        preferences = problem.preferences
        names = fitted_columns(self) or [f"f{number}" for number in range(1, dense.shape[1] + 1)]
        loss = self.mean_loss(preferences)
        self._check_objective(loss.value(dense @ refit._weights), refit)
        refit.fit(rows, y, qid=qid, sample_weight=sample_weight)
        units = units_of(preferences, cluster, qid)
        found = infer(
            loss,
            dense,
            refit.coef_,
            float(refit.alpha),
            units,
            names,
            debias=debias,
            contrasts=contrasts,
            scaled=scaled,
        )
        temperature = getattr(self, "temperature_", 1.0)
        if temperature == 1.0:
            return found
        return found.in_units(np.full(len(found.coef), 1.0 / temperature), found.names)

    def _check_linear(self) -> None:
        check_is_fitted(self)
        if np.any(self.l1_ratio):
            raise ValueError(
                "inference needs weights whose features were not selected by the same rows, which makes "
                "errors look too small. Split the rows: select features with l1_ratio on some of them, and "
                "fit the selected ones to the others with l1_ratio=0 (RankLogistic: and alpha=0)."
            )
        if not hasattr(self, "coef_") or self.coef_.ndim > 1:
            raise ValueError(
                "inference needs a linear model with one output: a kernel has as many weights as basis rows."
            )

    def _precise(self) -> Any:
        """Return a model that fits with a smaller gap, starting from these weights."""
        alpha = float(getattr(self, "alpha_", getattr(self, "alpha", 0.0)))
        precise = self.with_alpha(alpha) if hasattr(self, "with_alpha") else clone(self)
        has_kinks = issubclass(loss_class(getattr(self, "loss", "logistic")), PiecewiseLinear)
        tol = HINGE_TOL if has_kinks else SMOOTH_TOL
        precise.set_params(alpha=alpha, tol=min(tol, precise.tol), callback=None, verbose=0)
        if hasattr(precise, "warm_start"):
            precise.set_params(warm_start=True)
        precise._weights = getattr(self, "temperature_", 1.0) * self.coef_
        return precise

    def _check_objective(self, loss: float, precise: Any) -> None:
        """Refuse data for which the weights have another objective than for those of the fit."""
        objective = loss + precise.alpha * float(precise._weights @ precise._weights)
        if not abs(objective - self.objective_) <= 1e-6 * max(abs(self.objective_), 1e-3):
            raise ValueError(
                f"inference needs the data that the model was fitted to: the objective is {objective:.6g} "
                f"for these, and was {self.objective_:.6g}. Pass the same X, y, qid and sample_weight."
            )
