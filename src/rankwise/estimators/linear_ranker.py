"""`RankSVM` for linear functions on numpy alone: importing scikit-learn takes longer than most commands.

The parameters, the fit and the scores are those of the estimator, by the same groups and functions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from rankwise.core.checks import as_labels, check_count, check_features, check_positive
from rankwise.core.threads import thread_count, with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import Design, as_design
from rankwise.data.hints import hint_at_scale
from rankwise.data.scores import row_scores
from rankwise.data.sparse_rows import SparseRows
from rankwise.estimators.parameters import Loss, PairwiseParameters, Running, Strength, WarmStart
from rankwise.preferences import Preferences
from rankwise.solvers import Monitor, SolverResult, chosen_solver
from rankwise.solvers.pairs import solve_pairs


@dataclass(eq=False)
class LinearRanker(Running, WarmStart, PairwiseParameters, Loss, Strength):
    """Minimise the mean over pairs of a loss of f(better) - f(worse), plus alpha ||f||^2, for linear f.

    The parameters and the fitted attributes are those of `RankSVM`; the parameters of kernels are only stored
    in model files. X is an array of float64 or `SparseRows`.

    Examples
    --------
    >>> model = LinearRanker(alpha=0.5).fit(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 1.0]))
    >>> model.predict(np.array([[2.0, 5.0]])).round(3).tolist()
    [2.0]
    """

    tuned = "alpha"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, sorted by name as scikit-learn does."""
        return {name: getattr(self, name) for name in sorted(field.name for field in fields(self))}

    def set_params(self, **parameters: Any) -> Self:
        """Change some of the parameters."""
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    @with_one_blas_thread
    def fit(self, X: Any, y: Any, *, qid: Any = None) -> Self:
        """Learn to rank rows by their labels, within queries if there are any."""
        check_positive("alpha", self.alpha)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        self.solver_ = chosen_solver(self.loss, self.solver)
        check_rows(X)
        self.n_features_in_ = int(X.shape[1])
        preferences = Preferences.from_scores(as_labels(y, "y"), qid, pair_weight=self.pair_weight)
        preferences.require_pairs()
        self.fitted_with_qid_ = qid is not None
        self.n_pairs_ = preferences.n_pairs
        design = as_design(X, n_threads=thread_count(self.n_jobs))
        check_features(design.column_scale())
        hint_at_scale(design)
        self._store(self._solve(design, preferences))
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the score of each row; within a query, sort by it."""
        check_rows(X)
        return row_scores(X, self.coef_, thread_count(self.n_jobs))

    def _solve(self, design: Design, preferences: Preferences) -> SolverResult:
        return solve_pairs(
            design,
            preferences,
            float(self.alpha),
            loss=self.loss,
            solver=self.solver_,
            tol=self.tol,
            max_iter=int(self.max_iter),
            average=self.average,
            n_threads=thread_count(self.n_jobs),
            start=self._start(design.shape[1]),
            monitor=Monitor(self.verbose, self.callback),
        )

    def _start(self, n_weights: int) -> FloatVector | None:
        """Return the weights of the previous fit under warm_start, if there are as many as now."""
        previous = getattr(self, "_weights", None) if self.warm_start else None
        return previous.copy() if previous is not None and len(previous) == n_weights else None

    def _store(self, result: SolverResult) -> None:
        self._weights = self.coef_ = result.coef
        self.n_iter_ = result.n_iter
        self.objective_, self.gap_ = result.objective, result.gap
        self.history_ = result.history
        if result.status not in ("converged", "stopped"):
            from rankwise.solvers.endings import warn_of_ending

            warn_of_ending(result, self.tol)


def check_rows(X: Any) -> None:
    """Refuse no rows, no columns and numbers that are not finite, in the words of scikit-learn."""
    numbers = X.data if isinstance(X, SparseRows) else X
    if 0 not in X.shape and np.isfinite(numbers).all():
        return
    from sklearn.utils import check_array

    rows = X.to_scipy() if isinstance(X, SparseRows) else X
    check_array(rows, accept_sparse="csr", input_name="X", estimator="RankSVM")
