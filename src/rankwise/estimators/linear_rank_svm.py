"""`RankSVM` for linear functions on numpy alone: importing scikit-learn takes longer than most commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rankwise.core.checks import as_labels, check_positive
from rankwise.core.threads import thread_count, with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.design import as_design
from rankwise.data.scores import row_scores
from rankwise.data.sparse_rows import SparseRows
from rankwise.estimators.fits import (
    PairwiseFits,
    check_solver,
    hinted,
    keep_fit,
    keep_pairs,
    starting_weights,
)
from rankwise.estimators.parameters import RankSVMParameters
from rankwise.model_selection.tunable import Problem, Space
from rankwise.preferences import Preferences


@dataclass(eq=False)
class LinearRankSVM(RankSVMParameters):
    """The parameters, the fit and the scores of `RankSVM` for arrays of float64 and `SparseRows`.

    Parameters of kernels are only stored in model files.

    Examples
    --------
    >>> model = LinearRankSVM(alpha=0.5).fit(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([0.0, 1.0]))
    >>> model.predict(np.array([[2.0, 5.0]])).round(3).tolist()
    [2.0]
    """

    tuned = "alpha"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, sorted by name as scikit-learn does."""
        return {name: getattr(self, name) for name in sorted(self.__dataclass_fields__)}

    def set_params(self, **parameters: Any) -> Self:
        """Change some of the parameters."""
        vars(self).update(parameters)
        return self

    @with_one_blas_thread
    def fit(self, X: Any, y: Any, *, qid: Any = None) -> Self:
        """Learn to rank rows by their labels, within queries if there are any."""
        model: Any = self  # it has all that the functions below need of a ranker
        check_positive("alpha", self.alpha)
        check_solver(model)
        check_rows(X)
        self.n_features_in_ = int(X.shape[1])
        preferences = Preferences.from_scores(as_labels(y, "y"), qid, pair_weight=self.pair_weight)
        keep_pairs(model, preferences, qid is not None)
        space = hinted(Space(as_design(X, n_threads=thread_count(self.n_jobs))), model)
        fits = PairwiseFits(model, space, Problem(X, [preferences]))
        result = fits.solve(float(self.alpha), starting_weights(model, self.n_features_in_))
        keep_fit(model, result, space)
        return self

    def set_function(self, coef: FloatVector, features: None) -> None:
        """Keep the weights."""
        self.coef_ = coef

    def predict(self, X: Any) -> FloatArray:
        """Return the score of each row; within a query, sort by it."""
        check_rows(X)
        return row_scores(X, self.coef_, thread_count(self.n_jobs))


def check_rows(X: Any) -> None:
    """Refuse no rows, no columns and numbers that are not finite, in the words of scikit-learn."""
    numbers = X.data if isinstance(X, SparseRows) else X
    if 0 not in X.shape and np.isfinite(numbers).all():
        return
    from sklearn.utils import check_array

    rows = X.to_scipy() if isinstance(X, SparseRows) else X
    check_array(rows, accept_sparse="csr", input_name="X", estimator="RankSVM")
