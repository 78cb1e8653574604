"""What all rankers share: scores, what one does with them, and the meeting with searches over alpha."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.core.backends import backend_of
from rankwise.core.checks import as_array, as_codes
from rankwise.core.states import State
from rankwise.core.stored import Array, Declaration, Numbers, Value
from rankwise.core.threads import thread_count
from rankwise.core.types import FloatArray, FloatVector
from rankwise.core.warn import warn_caller
from rankwise.data.design import Design, as_design
from rankwise.data.frames import require_numbers, with_days
from rankwise.estimators.completion import Completion
from rankwise.estimators.inputs import mixes_queries, read_preferences, read_problem, read_row
from rankwise.estimators.sparsity import sparse_alphas
from rankwise.evaluation.pair_measures import ranking_error
from rankwise.functions.kernel_parameters import is_linear, kernel_map_of
from rankwise.functions.learned import SCALES, KernelSum, Linear
from rankwise.losses import Hinge
from rankwise.model_selection.grids import margin_alphas
from rankwise.model_selection.tunable import Fit, Fits, Problem, Space
from rankwise.preferences import Preferences
from rankwise.preferences.base import is_preferences_list
from rankwise.solvers import InterruptedWarning
from rankwise.solvers.endings import warn_of_ending

logger = logging.getLogger("rankwise")


class BaseRanker(Completion, BaseEstimator):
    """A scoring function f of rows, linear or in the span of a kernel; a higher score is better.

    Searches and paths over alpha meet it at `rankwise.model_selection.tunable.Tunable`.
    """

    # Both are passed on by pipelines and searches without the user asking for it.
    __metadata_request__fit = {"qid": True, "sample_weight": True}  # noqa: RUF012
    __metadata_request__score = {"qid": True, "sample_weight": True}  # noqa: RUF012

    # The classes of functions that fits find.
    functions: ClassVar[tuple[type[Any], ...]] = (Linear, KernelSum)
    # What a fit leaves beside the function: see `rankwise.core.stored`.
    stored: ClassVar[dict[str, Declaration]] = {
        "n_features_in_": Value((int,), low=1, size="features", required=True),
        "feature_names_in_": Array(("features",), "OU", text=True),
        "fitted_with_qid_": Value((bool,)),
        "classes_": Array((2,)),
        "feature_scales_": SCALES,
        "_weights": Array(("outputs?", "weights"), has_norm=True),
        "n_iter_": Value((int,), low=0),
        "history_": Value((dict,)),
    }
    stored["l1_ratio_"] = Value((float,), low=0, high=1)
    stored |= dict.fromkeys(("solver_", "scoring_", "cv_"), Value((str,)))
    stored |= dict.fromkeys(("n_pairs_", "objective_", "gap_"), Numbers())
    stored |= dict.fromkeys(("alpha_", "alphas_", "cv_errors_", "gamma_", "scale_errors_"), Numbers())

    # Yields the attributes that contradict each other, beside those of the function, if a class has such.
    conflicts: Callable[[], Iterator[str]] | None = None

    # See `Tunable`.
    tuned = "alpha"
    has_certified_path = False
    fits_all_at_once = False
    fold_descents: Callable[..., Any] | None = None
    fold_equations: Callable[..., Any] | None = None
    # The name of the estimator in the shell, and that of the class that chooses its parameter `tuned`.
    command = ""
    searching = ""
    # Whether the rows may be elsewhere than in memory.
    takes_backends = False
    # Whether rows may hold strings and missing values.
    takes_tables = False
    # Whether labels are classes and not numbers, and whether explicit pairs may have sizes.
    learns_classes = False
    takes_margins = False
    # What values of the parameter `tuned` are compared by, unless `scoring` asks for something else.
    default_scoring = "error"

    # The share of absolute weights in the penalty.
    l1_ratio: Any = 0.0
    # Parameters that most subclasses declare.
    alpha: Any
    kernel: str | Callable
    gamma: float | str | None
    degree: float
    coef0: float
    kernel_params: dict[str, Any] | None
    n_components: int | None
    average: str
    tol: float
    max_iter: int
    warm_start: bool
    callback: Callable | None
    n_jobs: int | None
    random_state: Any
    verbose: int
    fit: Callable[..., Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", "linear") == "precomputed"
        return with_classes(tags, self)

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
        if (backend := backend_of(X)) is not None:
            shape = getattr(self, "coef_", np.empty(0)).shape[:-1]
            return backend.mapped(partial(BaseRanker.predict, self), X, shape=shape)
        X, n_threads = self.validated(X, reset=False), thread_count(self.n_jobs)
        return self.function.scores(X, n_threads)

    def decision_function(self, X: Any) -> FloatVector:
        """Return the score of each row, as `predict` does: scikit-learn's scorers ask for it by this name.

        A model that was fitted to two labels counts as a binary classifier: `RocCurveDisplay`,
        `CalibratedClassifierCV` and the scorers "roc_auc" and "average_precision" take it.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        """
        return self.predict(X)

    def rank(self, X: Any, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the position of each row within its query, 0 for the best; equal scores keep their order.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            All rows are one ranking without it.

        Returns
        -------
        positions : array of the shape of the scores
            Several outputs are ranked column by column.
        """
        scores = as_array(self.predict(X))
        query = np.zeros(len(scores), dtype=np.int64) if qid is None else as_codes(qid, "qid", len(scores))[1]
        return np.apply_along_axis(positions_within, 0, scores, query)

    def score(
        self, X: Any, y: Any, *, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return 1 minus the ranking error: the fraction of pairs in the right order; ties count one half.

        Queries weigh the same, and those without pairs are left out. `y` may be a `Preferences`. The
        scores of several outputs are averaged.
        """
        if mixes_queries(self, y, qid):
            warn_caller(
                "The model was fitted with qid, but score got none: rows of different queries are compared. "
                "Pass score(..., qid=qid); scikit-learn's searches pass it on after "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        scores = as_array(self.predict(X))
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
        first, second = (read_row(self, row, name) for row, name in ((a, "a"), (b, "b")))
        return self.coef_ * (first - second)  # one row per output, if there are several

    def validated(self, X: Any, reset: bool) -> Any:
        """Check rows; `reset` remembers their columns, otherwise they must be those of the fit."""
        if not isinstance(X, np.ndarray) or X.dtype.kind in "Mm":
            X = with_days(X)
        try:
            return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32])
        except ValueError:
            require_numbers(X, type(self).__name__)  # names the columns and the way out
            raise

    def problem(
        self,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        may_stay: bool = False,
    ) -> Problem:
        """Read and check what to learn from; with `may_stay`, labels may stay where the rows are."""
        return read_problem(self, X, y, qid, sample_weight, may_stay)

    def outputs(self, y: Any, qid: ArrayLike | None) -> list[Any]:
        """Return the outputs of a problem from labels or preferences."""
        return [read_preferences(y, qid, None, getattr(self, "pair_weight", None))]

    def space(self, problem: Problem) -> Space:
        """Return the rows of a problem themselves, or the features of the kernel map."""
        n_threads = thread_count(self.n_jobs)
        if is_linear(self):
            return Space(as_design(problem.X, n_threads=n_threads))
        kernel_map = kernel_map_of(self, problem.scales)
        return Space(kernel_map.fit_design(problem.X, n_threads), kernel_map)

    def grid(self, problem: Problem, design: Design | None = None) -> FloatVector:
        """Return powers of ten down from the alpha at which scores spread over about one margin.
        With absolute weights in the penalty, they begin where the first feature is selected: `sparse_alphas`.

        Columns of a linear model whose scale is far above that of the others do not raise it.
        """
        design = self.space(problem).design if design is None else design
        if np.any(self.l1_ratio):
            return sparse_alphas(self, problem, design)
        average, n_threads = getattr(self, "average", "queries"), thread_count(self.n_jobs)
        loss: Any = Hinge(problem.preferences, average=average, n_threads=n_threads)
        design, loss = design.placed_for(loss)
        is_plain = getattr(self, "kernel", None) == "linear"
        return margin_alphas(design, loss, problem.X if is_plain else None)

    def fits(self, problem: Problem, hint: bool = False) -> Fits:
        """Return the fits to a problem for any alpha; `hint` checks the scale of the features."""
        return Refits(self, problem)

    @property
    def function(self) -> Any:
        """The function of the fit, of a class in `functions`."""
        *others, last = self.functions
        kind = next((kind for kind in others if kind.stored.keys() <= vars(self).keys()), last)
        return kind(**{name: getattr(self, name) for name in kind.stored})

    def store(self, fit: Fit) -> None:
        """Store a fit under scikit-learn's names in place of a previous one, and warn if it ended early."""
        for kind in self.functions:
            for name in kind.stored:
                self.__dict__.pop(name, None)
        self.__dict__.update(vars(fit.function))
        result = fit.result
        if result is None:
            return
        self.solver_, self._weights, self.n_iter_ = fit.solver, result.coef, result.n_iter
        self.objective_, self.gap_, self.history_ = result.objective, result.gap, result.history
        if result.status not in ("converged", "stopped"):
            warn_of_ending(result, self.tol)


def with_classes(tags: Any, model: Any) -> Any:
    """Return the tags of a binary classifier if a model was fitted to two labels."""
    if np.shape(getattr(model, "classes_", 0)) == (2,):
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags(multi_class=False)
    return tags


@dataclass(frozen=True)
class Refits:
    """Fits by the method `fit` of an estimator, one after the other."""

    model: BaseRanker
    problem: Problem

    def state(self) -> State:
        """Return nothing: no fit starts from another."""
        return {}

    def scores(self, alphas: FloatVector, rows: Any) -> Iterable[FloatArray]:
        """Score other rows by the fit for each alpha in turn: shape (1, n_rows)."""
        return (model.predict(rows)[None] for model in self.models(alphas))

    def models(self, alphas: FloatVector) -> Iterator[BaseRanker]:
        """Yield the fitted model for each alpha.

        Warnings of these fits are dropped, and an interrupted fit is not compared.
        """
        for alpha in alphas:
            model = clone(self.model).set_params(alpha=float(alpha))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                warnings.simplefilter("error", InterruptedWarning)
                try:
                    model.fit(self.problem.X, self.problem.outputs[0])
                except InterruptedWarning:
                    raise KeyboardInterrupt from None
            yield model


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
    elif is_preferences_list(y) and len(y) == scores.shape[1]:
        columns = list(y)
    else:
        columns = list(as_array(y).T)
        if as_array(y).ndim != 2 or len(columns) != scores.shape[1]:
            raise ValueError(
                f"y must have one column for each of {scores.shape[1]} outputs; got shape {np.shape(y)}."
            )
    return columns
