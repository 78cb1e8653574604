"""What all rankers share: checking input, function spaces, and what one does with a fitted model."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.core.checks import as_array, as_codes, as_labels, as_vector, check_features, declared_order
from rankwise.core.threads import thread_count, with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.core.warn import warn_caller
from rankwise.data.backends import Place, RowsLostError, in_memory, place_of
from rankwise.data.design import Design, as_design
from rankwise.data.hints import hint_at_scale
from rankwise.data.scores import compared_scores, row_scores
from rankwise.estimators.feature_scales import FeatureScales, is_learned, learn_scales
from rankwise.kernels import KernelMap, kernel_scores
from rankwise.losses import Hinge
from rankwise.metrics import ranking_error
from rankwise.model_selection.search import margin_alphas
from rankwise.preferences import Preferences
from rankwise.solvers import InterruptedWarning, Monitor, SolverResult
from rankwise.solvers.endings import warn_of_ending

logger = logging.getLogger("rankwise")

# What every objective ends with, in words.
PENALTY = " + \N{GREEK SMALL LETTER ALPHA}‖f‖²"


class BaseRanker(BaseEstimator):
    """A scoring function f of rows, linear or in the span of a kernel; a higher score is better."""

    # Both are passed on by pipelines and searches without the user asking for it.
    __metadata_request__fit = {"qid": True, "sample_weight": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True, "sample_weight": True}  # noqa: RUF012

    # The parameter that a search chooses, by `_path_scores`.
    _tuned = "alpha"
    # Scales of features that a search hands on to the fits it makes.
    _handed_scales: FeatureScales | None = None
    # Whether the rows may be elsewhere than in memory.
    _takes_places = False

    def __init_subclass__(cls, **options: Any) -> None:
        for name in {"fit", "path"} & set(vars(cls)):
            setattr(cls, name, with_one_blas_thread(getattr(cls, name)))
        super().__init_subclass__(**options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", "linear") == "precomputed"
        return tags

    def predict(self, X: Any) -> FloatVector:
        """Return the score of each row; within a query, sort by it.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        scores : array of shape (n_rows,), or (n_rows, n_outputs) after a fit to several outputs
            For rows on Dask a Dask array, not yet computed. The score of a row depends on its numbers and on
            the model alone, so that equal rows have equal scores; on another type of CPU the last digits may
            differ.
        """
        check_is_fitted(self)
        if (place := place_of(X)) is not None:
            self._check_linear(place)
            return place.scores(X, self.coef_)
        X = self._validated(X, reset=False)
        if hasattr(self, "coef_"):
            return row_scores(X, self.coef_, self._threads())
        basis = self.basis_indices_ if self.basis_ is None else self.basis_
        return kernel_scores(X, basis, self.dual_coef_, n_threads=self._threads(), **self._kernel_arguments)

    def rank(self, X: Any, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the position of each row within its query, 0 for the best; equal scores keep their order.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            One ranking of all rows without it.

        Returns
        -------
        positions : array of the shape of the scores
            Several outputs are ranked column by column.
        """
        scores, qid = in_memory(self.predict(X)), in_memory(qid)
        query = np.zeros(len(scores), dtype=np.int64) if qid is None else as_codes(qid, "qid", len(scores))[1]
        return np.apply_along_axis(positions_within, 0, scores, query)

    def _mixes_queries(self, y: Any, qid: Any) -> bool:
        """Return whether rows of different queries are compared, which those of the fit were not."""
        return qid is None and getattr(self, "fitted_with_qid_", False) and not isinstance(y, Preferences)

    def _check_validation_queries(self, y: Any, qid: Any) -> None:
        if self._mixes_queries(y, qid):
            warn_caller(
                "fit got qid, but validation has none: its rows of different queries are compared. Give "
                "validation=(X, y, qid)."
            )

    def score(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return 1 minus the ranking error: the share of pairs in the right order, ties counting one half.

        Queries weigh the same each, and those without pairs are left out. `y` may be a `Preferences`. The
        scores of several outputs are averaged.
        """
        if self._mixes_queries(y, qid):
            warn_caller(
                "The model was fitted with qid, but score got none: rows of different queries are compared. "
                "Pass score(..., qid=qid); scikit-learn's searches pass it on after "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        scores, y, qid, sample_weight = map(in_memory, (self.predict(X), y, qid, sample_weight))
        pairs = zip(outputs_of(y, scores), np.atleast_2d(scores.T), strict=True)
        with warnings.catch_warnings():  # queries without pairs are common, and left out
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            errors = [
                ranking_error(labels, column, qid, sample_weight=sample_weight) for labels, column in pairs
            ]
        return 1.0 - float(np.mean([float(error) for error in errors]))

    def explain_pair(self, a: ArrayLike, b: ArrayLike) -> FloatVector:
        """Return each feature's part in f(a) - f(b); the parts add up to the difference of the scores.

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
        first, second = (self._checked_row(row, name) for row, name in ((a, "a"), (b, "b")))
        return self.coef_ * (first - second)  # of each output, where there are several

    def _checked_row(self, row: Any, name: str) -> FloatVector:
        names = getattr(row, "columns", getattr(row, "index", None))
        expected = getattr(self, "feature_names_in_", None)
        if (
            expected is not None
            and names is not None
            and not callable(names)
            and list(names) != list(expected)
        ):
            raise ValueError(f"The features of {name} must be those of the fit, in the same order.")
        values = row.toarray() if hasattr(row, "toarray") else as_array(row)
        vector = as_vector(values[0] if values.ndim == 2 and len(values) == 1 else values, name)
        if len(vector) != self.n_features_in_:
            raise ValueError(f"{name} has {len(vector)} features, but the model has {self.n_features_in_}.")
        return vector

    def _threads(self) -> int:
        return thread_count(self.n_jobs)

    def _validated(self, X: Any, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])

    def _checked_input(
        self, X: Any, y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Any, Preferences]:
        """Return X as the solvers take it and the preferences among its rows."""
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        X, y, qid, sample_weight = self._loaded(X), *map(in_memory, (y, qid, sample_weight))
        preferences = self._preferences(y, qid, sample_weight)
        if preferences.n_rows != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows, but y has {preferences.n_rows}.")
        preferences.require_pairs()
        self.fitted_with_qid_ = qid is not None
        self.n_pairs_: Any = preferences.n_pairs
        return X, preferences

    def _preferences(self, y: Any, qid: ArrayLike | None, sample_weight: ArrayLike | None) -> Preferences:
        """Return the preferences among the rows, from their labels where y holds these."""
        if isinstance(y, Preferences):
            return self._checked_preferences(y, qid, sample_weight)
        labels = as_labels(y if declared_order(y) else column_or_1d(as_array(y), warn=True), "y")
        pair_weight = getattr(self, "pair_weight", None)
        return Preferences.from_scores(labels, qid, sample_weight, pair_weight=pair_weight)

    def _loaded(self, X: Any) -> Any:
        """Return X as validated by scikit-learn or, where its rows are not in memory, as a design."""
        self.__dict__.pop("rounds_", None)  # of a previous fit
        if (place := place_of(X)) is None:
            return self._validated(X, reset=True)
        if not self._takes_places:
            raise ValueError(
                f"{type(self).__name__} needs all rows in one place, but X is {place.name}; use RankSVM, "
                "RankLogistic or RankRLS."
            )
        self._check_linear(place)
        design = place.design(X)
        self.n_features_in_ = design.shape[1]
        self.__dict__.pop("feature_names_in_", None)  # of a previous fit
        if design.feature_names is not None:
            self.feature_names_in_ = np.array(design.feature_names, dtype=object)
        self.rounds_ = design.log
        return design

    def _check_linear(self, place: Place) -> None:
        if not self._is_linear():
            raise ValueError(
                f"kernel={self.kernel!r} needs all rows in one place, but X is {place.name}; use "
                "kernel='linear'."
            )

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
        """Return the design matrix of the function space: X itself, or the features of its kernel map."""
        if self._is_linear():
            return as_design(X, n_threads=self._threads()), None
        kernel_map = self._kernel_map()
        return kernel_map.fit_design(X, self._threads()), kernel_map

    def _hinted_space(self, X: Any) -> tuple[Design, KernelMap | None]:
        """Return the function space to fit in, with a hint where its features differ much in scale."""
        design, kernel_map = self._function_space(X)
        if kernel_map is None and design.place is None:
            check_features(design.column_scale(), getattr(self, "feature_names_in_", None))
            hint_at_scale(design, getattr(self, "feature_names_in_", None))
        return design, kernel_map

    def _learn_scales(self, X: Any, preferences: Preferences) -> None:
        """Learn the scales of features and alpha where gamma and alpha ask for it.

        A search hands on what it has learned from all rows.
        """
        for name in ("feature_scales_", "gamma_", "scale_errors_"):
            self.__dict__.pop(name, None)  # of a previous fit
        learns = not self._is_linear() and is_learned(self.gamma)
        learns_alpha = hasattr(self, "alpha") and isinstance(self.alpha, str)
        if learns_alpha and not learns:
            raise ValueError("alpha='learned' goes with a kernel that has gamma='learned'.")
        if not learns:
            return
        found = self._handed_scales
        if found is None:
            options = {
                "average": self.average,
                "path": self._weights_path() if learns_alpha else None,
                "n_threads": self._threads(),
                "random_state": self.random_state,
            }
            found = learn_scales(X, preferences, self.kernel, full=self.gamma == "learned-matrix", **options)
        self.feature_scales_, self.gamma_, self.scale_errors_ = found.scales, found.gamma, found.errors
        if learns_alpha:
            self.alpha_ = found.alpha

    def _weights_path(self) -> Callable[..., Any] | None:
        """Return what solves for several alphas where the loss is not least squares."""
        return None

    def _learned_scales(self) -> FeatureScales | None:
        """Return what a fit has learned, for fits of other rows or alphas to go on with."""
        if not hasattr(self, "feature_scales_"):
            return None
        return FeatureScales(self.feature_scales_, self.gamma_, np.nan, self.scale_errors_)

    def _strength(self) -> float:
        """Return the alpha to fit with."""
        return float(self.alpha_ if isinstance(self.alpha, str) else self.alpha)

    def _kernel_map(self) -> KernelMap:
        learned = (self._learned_scales() or self._handed_scales) if is_learned(self.gamma) else None
        if learned is None and is_learned(self.gamma):
            raise ValueError(
                f"gamma={self.gamma!r} is for the fits of RankSVM, RankLogistic and RankRLS and their CV."
            )
        return KernelMap(
            self.kernel,
            gamma=self.gamma if learned is None else learned.gamma,
            scales=None if learned is None else learned.scales,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_components=self.n_components,
            basis=getattr(self, "basis", "uniform"),
            random_state=self.random_state,
        )

    def _start(self, design: Design) -> FloatVector | None:
        """Return the weights to begin with under warm_start, where the last fit had the same shape."""
        if not self.warm_start:
            return None
        previous = getattr(self, "_weights", None)
        return previous.copy() if previous is not None and len(previous) == design.shape[1] else None

    # What a search over alpha asks for.

    def _targets(self, y: Any, qid: ArrayLike | None) -> list[Any]:
        """Return what `_path_scores` learns from, one entry for each output."""
        return [self._preferences(y, qid, None)]

    def _default_alphas(self, design: Design, outputs: list[Preferences]) -> FloatVector:
        """Return the grid for rows in the function space, from the largest alpha down."""
        average = getattr(self, "average", "queries")
        return margin_alphas(design, Hinge(outputs[0], average=average, n_threads=self._threads()))

    def _path_scores(self, X: Any, targets: list[Any], rows: Any, alphas: FloatVector) -> FloatArray:
        """Fit X for each alpha and score other rows: shape (n_alphas, n_outputs, n_rows).

        Warnings of fits that are not kept are of no use, and one that was cut short is not compared.
        """
        scores = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("error", InterruptedWarning)
            for alpha in alphas:
                try:
                    self.set_params(alpha=float(alpha)).fit(X, targets[0])
                except InterruptedWarning:
                    raise KeyboardInterrupt from None
                scores.append([BaseRanker.predict(self, rows)])
        return np.array(scores)

    def _fold_equations(self, X: Any, targets: list[Any], tests: list[Any]) -> Any:
        """Return what scores each fold's test rows from one pass over X; None where no such thing is known.

        No query is cut, and each row is in the test rows of one fold, which the others learn from.
        """
        return None

    def _path_models(self, X: Any, target: Any, alphas: FloatVector) -> Iterator[Any]:
        """Yield the model of each alpha, fitted to X."""
        for alpha in alphas:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                yield clone(self).set_params(alpha=float(alpha)).fit(X, target)

    def _scores_by(self, coef: FloatArray, kernel_map: KernelMap | None, rows: Any) -> FloatArray:
        """Score rows by several functions: shape (n_functions, n_rows)."""
        if kernel_map is None:
            return compared_scores(rows, coef, n_threads=self._threads())
        return kernel_map.scores(rows, coef, n_threads=self._threads()).T

    @contextmanager
    def _keeping_best(self, monitor: Monitor) -> Iterator[None]:
        """Where rows are lost for good, keep the best weights so far: a warm start goes on from them."""
        try:
            yield
        except RowsLostError as error:
            if monitor.coef is not None:
                error.coef = self._weights = self.coef_ = monitor.coef.copy()
            raise

    def _monitor(self) -> Monitor:
        return Monitor(self.verbose, self.callback)

    def _store(self, result: SolverResult, kernel_map: KernelMap | None) -> None:
        """Keep what was learned under scikit-learn's names."""
        self._weights = result.coef
        dual = result.coef if kernel_map is None else kernel_map.dual_coef(result.coef)
        self._store_function(dual, kernel_map)
        self._store_course(result)

    def _store_function(self, coef: FloatVector, kernel_map: KernelMap | None) -> None:
        """Keep the weights of a linear function, or the dual coefficients of a kernel."""
        for name in ("coef_", "dual_coef_", "basis_", "basis_indices_"):
            self.__dict__.pop(name, None)  # of a previous fit with another kernel
        if kernel_map is None:
            self.coef_ = coef
        else:
            self.dual_coef_ = coef
            self.basis_ = kernel_map.basis_
            self.basis_indices_ = kernel_map.basis_indices_
            self._kernel_arguments = kernel_map.kernel_arguments

    def _store_course(self, result: SolverResult) -> None:
        self.n_iter_ = result.n_iter
        self.objective_ = result.objective
        self.gap_ = result.gap
        self.history_ = result.history
        warn_of_ending(result, self.tol)


def positions_within(scores: FloatVector, query: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each row within its query, 0 for the highest score."""
    order = np.lexsort((-scores, query))
    begin = np.searchsorted(query[order], query[order])
    positions = np.empty(len(scores), dtype=np.int64)
    positions[order] = np.arange(len(scores)) - begin
    return positions


def outputs_of(y: Any, scores: FloatVector) -> list[Any]:
    """Return the labels of each output; y needs one column for each column of the scores."""
    if isinstance(y, Preferences):
        columns = [y] * (1 if scores.ndim == 1 else scores.shape[1])
    elif scores.ndim == 1:
        columns = [y]
    else:
        columns = list(as_array(y).T)
        if as_array(y).ndim != 2 or len(columns) != scores.shape[1]:
            raise ValueError(
                f"y must have one column for each of {scores.shape[1]} outputs; got shape {np.shape(y)}."
            )
    return columns
