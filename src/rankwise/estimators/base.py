"""What all rankers share: checking input, function spaces, and what one does with a fitted model."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from rankwise._checks import as_codes, as_vector
from rankwise.design import Design, as_design
from rankwise.kernels import KernelMap, kernel_scores
from rankwise.metrics import ranking_error
from rankwise.preferences import Preferences
from rankwise.solvers import Monitor, SolverResult

logger = logging.getLogger("rankwise")

FloatVector = NDArray[np.float64]


class BaseRanker(BaseEstimator):
    """A scoring function f of rows, linear or in the span of a kernel; a higher score is better."""

    # qid is passed on by pipelines and searches without the user asking for it.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", "linear") == "precomputed"
        return tags

    def predict(self, X: Any) -> FloatVector:
        """Give the score of each row; within a query, sort by it.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        scores : array of shape (n_rows,)
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if hasattr(self, "coef_"):
            return as_design(X, n_threads=self._threads()).matvec(self.coef_)
        basis = self.basis_indices_ if self.basis_ is None else self.basis_
        return kernel_scores(X, basis, self.dual_coef_, **self._kernel_arguments)

    def rank(self, X: Any, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Give the position of each row within its query, 0 for the best; equal scores keep their order.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            One ranking of all rows without it.
        """
        scores = self.predict(X)
        query = np.zeros(len(scores), dtype=np.int64) if qid is None else as_codes(qid, "qid", len(scores))[1]
        order = np.lexsort((-scores, query))
        begin = np.searchsorted(query[order], query[order])
        positions = np.empty(len(scores), dtype=np.int64)
        positions[order] = np.arange(len(scores)) - begin
        return positions

    def score(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Give 1 minus the ranking error: the share of pairs in the right order, ties counting one half.

        Queries weigh the same each. `y` may be a `Preferences`.
        """
        if qid is None and getattr(self, "fitted_with_qid_", False) and not isinstance(y, Preferences):
            warnings.warn(
                "The model was fitted with qid, but score got none: rows of different queries are compared.",
                stacklevel=2,
            )
        return 1.0 - float(ranking_error(y, self.predict(X), qid, sample_weight=sample_weight))

    def explain_pair(self, a: ArrayLike, b: ArrayLike) -> FloatVector:
        """Give each feature's part in f(a) - f(b); the parts add up to the difference of the scores.

        Parameters
        ----------
        a, b : arrays of shape (n_features,)
            Two rows.
        """
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise ValueError(
                "explain_pair needs a linear model: a kernel's score is not a sum over features."
            )
        first, second = (as_vector(row, name) for row, name in ((a, "a"), (b, "b")))
        for row, name in ((first, "a"), (second, "b")):
            if len(row) != self.n_features_in_:
                raise ValueError(f"{name} has {len(row)} features, but the model has {self.n_features_in_}.")
        return self.coef_ * (first - second)

    def _threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def _validated(self, X: Any, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])

    def _checked_input(
        self, X: Any, y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, Preferences]:
        """Give X as the solvers take it and the preferences among its rows."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        X = self._validated(X, reset=True)
        if isinstance(y, Preferences):
            preferences = self._checked_preferences(y, qid, sample_weight)
        else:
            labels = as_vector(column_or_1d(y, warn=True), "y")
            preferences = Preferences.from_scores(
                labels, qid, sample_weight, pair_weight=getattr(self, "pair_weight", None)
            )
        if preferences.n_rows != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, but y has {preferences.n_rows}.")
        preferences.require_pairs()
        self.fitted_with_qid_ = qid is not None
        self.n_pairs_ = preferences.n_pairs
        if self._is_linear():
            hint_at_scale(X)
        return X, preferences

    def _checked_preferences(
        self, y: Preferences, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> Preferences:
        if qid is not None:
            raise ValueError("qid must be None when y is a Preferences: give the queries to from_scores.")
        if getattr(self, "pair_weight", None) is not None:
            raise ValueError(
                "pair_weight must be None when y is a Preferences: give the weights to the Preferences."
            )
        return y if sample_weight is None else y.weighted(sample_weight)

    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _function_space(self, X: Any) -> tuple[Design, KernelMap | None]:
        """Give the design matrix of the function space: X itself, or the features of its kernel map."""
        if self._is_linear():
            return as_design(X, n_threads=self._threads()), None
        kernel_map = KernelMap(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            random_state=self.random_state,
        )
        return as_design(kernel_map.fit_transform(X), n_threads=self._threads()), kernel_map

    def _start(self, design: Design) -> FloatVector | None:
        """Give the weights to begin with under warm_start, where the last fit had the same shape."""
        if not self.warm_start:
            return None
        previous = getattr(self, "_weights", None)
        return previous.copy() if previous is not None and len(previous) == design.shape[1] else None

    @staticmethod
    def _blas_on_one_thread() -> Any:
        """Keep BLAS from spinning on the cores that our own threads need, and rounding from its threads."""
        return threadpool_limits(limits=1, user_api="blas")

    def _monitor(self) -> Monitor:
        return Monitor(self.verbose, self.callback)

    def _store(self, result: SolverResult, kernel_map: KernelMap | None) -> None:
        """Keep what was learned under scikit-learn's names."""
        for name in ("coef_", "dual_coef_", "basis_", "basis_indices_"):
            self.__dict__.pop(name, None)  # of a previous fit with another kernel
        self._weights = result.coef
        if kernel_map is None:
            self.coef_ = result.coef
        else:
            self.dual_coef_ = kernel_map.dual_coef(result.coef)
            self.basis_ = kernel_map.basis_
            self.basis_indices_ = kernel_map.basis_indices_
            self._kernel_arguments = kernel_map.kernel_arguments
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.gap_ = result.gap
        self.history_ = result.history
        self._warn_of(result)

    @staticmethod
    def _warn_of(result: SolverResult) -> None:
        found = f"The best model so far is kept; its objective is within {result.gap:.3g} of the optimum."
        if result.status == "interrupted":
            warnings.warn(f"Interrupted after {result.n_iter} iterations. {found}", stacklevel=4)
        elif result.status in ("max_iter", "stalled"):
            reason = (
                "max_iter was reached" if result.status == "max_iter" else "No further progress was possible"
            )
            warnings.warn(f"{reason} before the gap fell to tol. {found}", ConvergenceWarning, stacklevel=4)


def hint_at_scale(X: Any) -> None:
    """Log a hint when features differ much in scale, judged by the first rows."""
    scale = as_design(X[:10_000]).column_scale()
    scale = scale[scale > 0]
    if len(scale) and scale.max() > 1e4 * scale.min():
        logger.warning(
            "The features differ in scale by a factor of %.0e and the penalty treats them alike: scale them "
            "first (StandardScaler, or rankwise.scale_within_queries).",
            scale.max() / scale.min(),
        )
