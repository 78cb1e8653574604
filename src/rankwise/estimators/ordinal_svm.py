"""Ordinal regression by a large-margin utility and boundaries between ranks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import as_array, as_codes, check_alpha, check_choice
from rankwise.core.docstrings import described_as
from rankwise.core.memory import require_memory
from rankwise.core.stored import Array, Value
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatArray, FloatVector
from rankwise.core.warn import warn_caller
from rankwise.estimators.alpha_choice import ChoosesAlpha
from rankwise.estimators.base import positions_within
from rankwise.estimators.cumulative import cumulative_shares, fit_cumulative
from rankwise.estimators.fits import PairwiseFits, best_kept, hinted, starting_weights
from rankwise.estimators.inputs import require_here, require_labels
from rankwise.estimators.pairwise import PairwiseRanker
from rankwise.estimators.parameters import (
    Candidates,
    Comparison,
    OrdinalParameters,
    Running,
    Strength,
    WarmStart,
)
from rankwise.estimators.rank_svm import RankSVM
from rankwise.estimators.thresholds import (
    ERRORS,
    METHODS,
    class_weights,
    midpoint_thresholds,
    min_error_thresholds,
    ordered_classes,
    ranks_of,
)
from rankwise.functions.kernel_parameters import is_linear
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.scoring import Scoring
from rankwise.model_selection.tunable import Problem
from rankwise.solvers import chosen_solver

# How close to 1 a difference of utilities counts as 1, at least and at most.
MARGIN_TOLERANCE = (1e-3, 0.5)
CALIBRATION_FOLDS = 5


class Ranks(NamedTuple):
    """The labels of rows as ranks.

    `plain` is true if all rows weigh the same, so that pairs can be counted.
    """

    classes: NDArray[Any]
    codes: NDArray[np.int64]
    weight: FloatVector
    plain: bool


class BaseOrdinalSVM(ClassifierMixin, PairwiseRanker):
    """A utility of rows and boundaries between ranks."""

    # A classifier has boundaries for all rows at once, so there are no queries to fit to or to score by.
    __metadata_request__fit = {"qid": UNUSED, "sample_weight": True}  # noqa: RUF012
    __metadata_request__score = {"qid": UNUSED, "sample_weight": True}  # noqa: RUF012

    learns_classes = True
    has_certified_path = False  # of a classifier, whose boundaries depend on alpha
    average = "queries"  # of which there is one
    stored: ClassVar = {
        "classes_": Array(("classes",), "", required=True),
        "thresholds_": Array(("classes-1",), finite=False, ascending=True, required=True),
        "fallback_": Array(("classes-1",), "b"),
        "slope_": Value((int, float), low=0, high=sys.float_info.max),
        "cuts_": Array(("classes-1",), finite=False, ascending=True),
    }

    thresholds: str
    categories: Sequence[Any] | None
    error: str
    class_weight: Any
    calibrated: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's test data are three blobs that no linear utility puts in the order of their labels.
        tags.classifier_tags.poor_score = is_linear(self)
        return tags

    def _ranks(self, y: Any, sample_weight: ArrayLike | None) -> Ranks:
        """Return the classes, the rank of each row, and its weight with that of its class."""
        require_labels(self, y)
        classes, codes, weight = ordered_classes(y, self.categories, sample_weight)
        plain = sample_weight is None and self.class_weight is None
        return Ranks(classes, codes, weight * class_weights(self.class_weight, classes, codes), plain)

    def _ranked(self, X: Any, ranks: Ranks) -> Problem:
        return self.problem(X, ranks.codes, None, None if ranks.plain else ranks.weight)

    def _finish(self, X: Any, problem: Problem, ranks: Ranks, alpha: float) -> None:
        """Place the boundaries and, if they are asked for, learn the probabilities."""
        self.classes_ = ranks.classes
        self.place_boundaries(self.utility(X), ranks.codes, ranks.weight)
        for name in ("slope_", "cuts_"):
            self.__dict__.pop(name, None)  # of a previous fit
        if self.calibrated:
            rows, utility = self._cross_fitted(problem, alpha)
            self.slope_, self.cuts_ = fit_cumulative(utility, ranks.codes[rows], ranks.weight[rows])

    def _cross_fitted(self, problem: Problem, alpha: float) -> tuple[NDArray[np.int64], FloatVector]:
        """Return rows, and their utilities by models that did not see them."""
        held_out = Folds(self._of_utility(alpha), problem)
        folds = held_out.split(CALIBRATION_FOLDS)
        utilities = [scores[0] for _, scores in next(held_out.scores(np.array([alpha])))]
        rows = np.concatenate([fold[1] for fold in folds])  # type: ignore[arg-type]
        return rows, np.concatenate(utilities)

    def _of_utility(self, alpha: float) -> RankSVM:
        """Return the estimator of the utility alone."""
        known = RankSVM().get_params(deep=False)
        parameters = self.get_params(deep=False) | {"alpha": alpha, "callback": None}
        return RankSVM(**{name: value for name, value in parameters.items() if name in known})

    def fits(self, problem: Problem, hint: bool = False, alone: bool = False) -> OrdinalFits:
        """Return the fits to a problem for any alpha; `hint` checks the scale of the features."""
        space = self.space(problem)
        solver = chosen_solver(self.loss, self.solver)
        return OrdinalFits(self, hinted(space, self) if hint else space, problem, solver)

    @available_if(lambda self: self.calibrated)
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label for each row, for a fit with `calibrated=True`.

        Returns
        -------
        probability : array of shape (n_rows, n_classes)
            The cumulative logit model of the utility, with columns in the order of `classes_`. The likeliest
            label need not be the predicted one, whose boundaries have the least error.
        """
        check_is_fitted(self, "slope_")
        return cumulative_shares(self.utility(X), self.slope_, self.cuts_)

    @available_if(lambda self: self.calibrated)
    def predict_expected(self, X: Any) -> FloatVector:
        """Return the expected label of each row, for a fit with `calibrated=True`.

        It is the mean of the labels by `predict_proba` or, if labels are not numbers, of their ranks, 0 for
        the lowest label that occurs. It minimizes the squared error if the probabilities are right.

        Returns
        -------
        expected : array of shape (n_rows,)

        Examples
        --------
        >>> from rankwise import OrdinalSVM
        >>> from rankwise.datasets import make_ordinal
        >>> X, y = make_ordinal(300, random_state=0)
        >>> model = OrdinalSVM(1e-4, kernel="poly", degree=2, calibrated=True).fit(X, y)
        >>> model.predict_expected([[0.9, 0.9], [0.1, 0.9]]).round(1)
        array([4., 0.])
        """
        numeric = self.classes_.dtype.kind in "iufb"
        return self.predict_proba(X) @ (self.classes_ if numeric else np.arange(len(self.classes_)))

    def conflicts(self) -> Iterator[str]:
        """Yield what contradicts the number of classes, or whether there are probabilities."""
        if len(self.classes_) < 2:
            yield "classes_"
        if not isinstance(self.calibrated, bool):
            yield "calibrated"
        if hasattr(self, "slope_") != hasattr(self, "cuts_"):
            yield "slope_"

    def check_parameters(self) -> None:
        """Check the parameters of the solver and of the boundaries."""
        super().check_parameters()
        check_choice(self.thresholds, "thresholds", METHODS)
        check_choice(self.error, "error", ERRORS)

    def outputs(self, y: Any, qid: ArrayLike | None) -> list[Any]:
        """Return the ranking of the rows by rank: boundaries change no order of utilities."""
        return super().outputs(ordered_classes(y, self.categories, None)[1], qid)

    def place_boundaries(self, utility: FloatVector, codes: NDArray[np.int64], weight: FloatVector) -> None:
        """Choose the boundaries for the utilities of rows with known ranks."""
        if self.thresholds == "min_error":
            self.thresholds_ = min_error_thresholds(utility, codes, weight, error=self.error)
            self.fallback_ = np.zeros(len(self.thresholds_), dtype=bool)
        else:
            # Around its minimum the objective rises with the square of a change of the utilities.
            tol = float(np.clip(np.sqrt(self.tol), *MARGIN_TOLERANCE))
            self.thresholds_, self.fallback_ = midpoint_thresholds(utility, codes, weight, tol=tol)
            warn_of_needless_errors(self.thresholds_, utility, codes, weight)

    def placed(self, output: Any, utility: FloatVector) -> NDArray[np.int64]:
        """Choose the boundaries between the ranks that occur, for a model that is not kept; return these."""
        weight = output.row_weight()
        present = np.unique(output.labels[weight > 0]).astype(np.int64)
        codes = np.minimum(np.searchsorted(present, output.labels), len(present) - 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            self.place_boundaries(utility, codes, weight)
        return present

    def utility(self, X: Any) -> FloatVector:
        """Return the utility of each row, a score that is higher for higher ranks.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)

        Returns
        -------
        utility : array of shape (n_rows,)
        """
        return as_array(super().predict(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row: the rank between whose boundaries its utility lies.

        A utility that equals a boundary belongs to the lower rank.
        """
        utility = self.utility(X)
        return self.classes_[ranks_of(utility, self.thresholds_)]

    def decision_function(self, X: Any) -> FloatVector:
        """Return how far inside each rank a row lies.

        Returns
        -------
        decision : array of shape (n_rows,) or (n_rows, n_classes)
            U - theta for two classes, positive for the higher. For more, column k is min(U - theta_(k-1),
            theta_k - U), the distance to the nearer boundary of rank k, negative outside; the largest is that
            of the predicted rank.
        """
        utility = self.utility(X)
        if len(self.classes_) == 2:
            return utility - self.thresholds_[0]
        what = f"decision_function of {len(utility)} rows and {len(self.classes_)} ranks"
        require_memory(24 * len(utility) * len(self.classes_), what, "predict needs no such matrix")
        fence = np.concatenate([[-np.inf], self.thresholds_, [np.inf]])
        above, below = utility[:, None] - fence[:-1], fence[1:] - utility[:, None]
        return np.minimum(above, below)

    def rank(self, X: Any, qid: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the position of each row by utility, 0 for the highest; equal utilities keep their order.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        qid : array of shape (n_rows,), optional
            Positions within each query; one ranking of all rows without it.
        """
        utility = self.utility(X)
        query = np.zeros(len(utility), dtype=np.int64)
        return positions_within(utility, query if qid is None else as_codes(qid, "qid", len(utility))[1])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:  # type: ignore[override]
        """Return the accuracy, as expected of a classifier: the share of rows with the right label.

        The share of pairs in the right order is `1 - ranking_error(y, model.utility(X))`.
        """
        predicted, labels = self.predict(X), as_array(y).reshape(-1)
        weights = None if sample_weight is None else as_array(sample_weight)
        check_consistent_length(predicted, labels, weights)
        return float(np.average(predicted == labels, weights=weights))


@dataclass(eq=False, repr=False)
class OrdinalSVM(BaseOrdinalSVM, Running, WarmStart, OrdinalParameters, Strength):
    """Ordinal regression: minimize the mean over pairs of max(0, 1 - (U(better) - U(worse))) + alpha ||U||^2.

    The pairs are all pairs of rows of different rank. The utility U is cut into ranks: a row has rank k when
    U lies between the boundaries theta_(k-1) and theta_k, equation (7) of Herbrich, Graepel and Obermayer
    (1999). U is the solution of their equation (9), trained as `RankSVM` is: no pair is enumerated, and the
    objective is within `gap_` of the optimum.

    Cost: that of `RankSVM`, O(nnz + m log m) an iteration for m rows with nnz nonzeros, and O(m log m) once
    for the boundaries (O(m K) more with K ranks for "min_error").

    Parameters
    ----------
    alpha : float
        Strength of the penalty; `alpha = 1 / (2 C t)` for the C of the paper, t the number of pairs. (The
        dual program (10) and (11) belongs to 1/2 ||w||^2 + C sum(slack), the factor 1/2 is missing in the
        text; and it has no constraint a'z = 0, as a difference of utilities has no bias.)
    loss : "hinge" or "squared_hinge"
        The loss of the distance to a boundary.
    kernel : "linear", "precomputed", any kernel of scikit-learn, or callable
        The kernel of the paper's experiments, `(x'z + 1)^2`, is `kernel="poly", degree=2, gamma=1.0`.
    gamma, degree, coef0, kernel_params :
        Parameters of the kernel, as in scikit-learn's `pairwise_kernels`.
    n_components : int, optional
        Number of basis rows for a kernel; all training rows, which is exact, by default.
    thresholds : "min_error" or "midpoint"
        "min_error" has the least training error. "midpoint" is equation (12) of the paper: halfway between
        the closest rows of two neighboring ranks whose utilities differ by at least 1, the mean of the
        midpoints where several pairs are closest (up to the square root of `tol`, to which the differences
        are known). It is of little use where ranks overlap much, and warns where it does much worse on the
        training rows. See `fit_thresholds`.
    categories : sequence, optional
        The labels from the lowest rank to the highest. Without it an ordered categorical column (pandas, or
        a polars Enum) has its own order, numbers are sorted, and text is sorted with a warning. Categories
        that do not occur in `y` are not learned and never predicted.
    error : "absolute" or "zero_one"
        What "min_error" minimizes: by how many ranks rows are missed, or how many rows are.
    class_weight : "balanced", dict or None
        Weights of the labels, by which the weights of their rows are multiplied; "balanced" gives all ranks
        the same weight in sum.
    calibrated : bool
        Whether `predict_proba` is learned: five times a model of four fifths of the rows gives the rest their
        utilities, and the cumulative logit model P(rank <= k) = 1 / (1 + exp(s U - c_k)) is fitted to them.
        The utilities of the training rows themselves would make it too sure.
    solver, tol, max_iter, warm_start, callback, n_jobs, random_state, verbose :
        As in `RankSVM`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels that occur, from the lowest rank to the highest.
    thresholds_ : array of shape (n_classes - 1,)
        The boundaries, rising; two that coincide leave out the rank between them.
    slope_, cuts_ : float and array of shape (n_classes - 1,)
        The s and the c_k of the probabilities, after a fit with `calibrated=True`.
    fallback_ : array of bool of shape (n_classes - 1,)
        Boundaries that "midpoint" had no pair for, as no two rows of the neighboring ranks differ by 1
        (alpha is large, or the ranks overlap): these part the lower from the higher ranks with the fewest
        errors.
    coef_, dual_coef_, basis_, n_pairs_, objective_, gap_, n_iter_, history_, solver_ :
        As in `RankSVM`; `n_pairs_` is t.

    See Also
    --------
    OrdinalSVMCV : Chooses alpha by cross-validation.
    AutoRanker.predict_grade : Grades if effects are curved.

    Examples
    --------
    >>> from rankwise import OrdinalSVM
    >>> from rankwise.datasets import make_ordinal
    >>> X, y = make_ordinal(300, random_state=0)
    >>> model = OrdinalSVM(alpha=1e-4, kernel="poly", degree=2).fit(X, y)
    >>> model.predict([[0.9, 0.9], [0.1, 0.9]])
    array([4, 0])
    >>> model.thresholds_.shape
    (4,)

    Text needs an order:

    >>> grades = ["bad", "poor", "fair", "good", "best"]
    >>> labels = [grades[rank] for rank in y]
    >>> model.set_params(categories=grades).fit(X, labels).predict([[0.9, 0.9], [0.1, 0.9]])
    array(['best', 'bad'], dtype='<U4')
    """

    command = "ordinal-svm"
    searching = "OrdinalSVMCV"

    @with_one_blas_thread
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> OrdinalSVM:  # type: ignore[override]
        """Learn the utility and the boundaries.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            With `kernel="precomputed"`, the kernel matrix.
        y : array of shape (n_rows,)
            The rank of each row: numbers, an ordered categorical column, or text (see `categories`).
        sample_weight : array of shape (n_rows,), optional
            A row of weight 2 is the row given twice, one of weight 0 is not there.
        """
        check_alpha(self.alpha)
        self.check_parameters()
        ranks = self._ranks(y, sample_weight)
        fits = self.fits(self._ranked(X, ranks), hint=True)
        with best_kept(self):
            result = fits.solve(self.alpha, starting_weights(self, fits.space.design.shape[1]))
        fits.keep(self, result)
        self._finish(X, fits.problem, ranks, float(self.alpha))
        return self


@dataclass(frozen=True)
class OrdinalFits(PairwiseFits):
    """The fits of utilities, with boundaries for each alpha."""

    def models(self, alphas: FloatVector) -> Iterator[Any]:
        """Yield the fitted model for each alpha; a class may have no rows among these."""
        for model in super().models(alphas):
            present = model.placed(self.problem.preferences, model.utility(self.problem.X))
            model.classes_ = self.model.classes_[present]
            yield model


def warn_of_needless_errors(
    thresholds: FloatVector, utility: FloatVector, codes: NDArray[np.int64], weight: FloatVector
) -> None:
    """Warn where boundaries miss the ranks of the training rows by much more than others would."""

    def error(boundaries: FloatVector) -> float:
        return float(np.average(np.abs(ranks_of(utility, boundaries) - codes), weights=weight))

    found, least = error(thresholds), error(min_error_thresholds(utility, codes, weight, error="absolute"))
    if found > 2 * least and found > least + 0.1:
        warn_caller(
            f"The boundaries of thresholds='midpoint' miss the ranks of the training rows by {found:.2g} on "
            f"average, those of thresholds='min_error' by {least:.2g}: the ranks overlap within the margin."
        )


@described_as(OrdinalSVM)
@dataclass(eq=False, repr=False)
class OrdinalSVMCV(ChoosesAlpha, BaseOrdinalSVM, Running, OrdinalParameters, Comparison, Candidates):
    """Ordinal regression with alpha chosen by cross-validation over rows, then fitted to all rows.

    Alphas are visited in decreasing order, each fit warm-started from the previous one and with its own
    boundaries.

    Parameters
    ----------
    alphas : array, optional
        Candidates; by default eight powers of ten relative to the scale of the data, visited
        as in `RankSVMCV`.
    cv : int, splitter or iterable of (train, test)
        An int assigns rows to folds at random, stratified by rank, the same at each fit unless `random_state`
        changes. "leave-row-out" leaves each row out once by a Newton step, with `loss="squared_hinge"` and
        `scoring="error"`: see `RankSVMCV`.
    scoring : str or callable, optional
        The criterion for alpha: by default "distance", the mean absolute error of predicted ranks;
        a measure of utilities as in `RankSVMCV` ("error", "tau"); or a scorer in the manner of scikit-learn,
        which is called with a model, the rows held out and their labels.
    ... :
        As in `OrdinalSVM`.

    Attributes
    ----------
    alpha_ : float
        The alpha with the lowest mean error over folds; the largest of these. If it is the first or the last
        candidate, an `EdgeOfGridWarning` suggests others.
    alphas_ : array of shape (n_alphas,)
        The candidates that were visited, from the largest to the smallest.
    cv_errors_ : array of shape (n_alphas, n_folds)
        The mean absolute error of held-out ranks, or the criterion that `scoring` names.
    scoring_ : str
        The criterion for alpha; "score" for a scorer.
    classes_, thresholds_, coef_, ... :
        As in `OrdinalSVM`, of the model for `alpha_`.

    See Also
    --------
    OrdinalSVM : The model for a given alpha.

    Examples
    --------
    >>> from rankwise import OrdinalSVMCV
    >>> from rankwise.datasets import make_ordinal
    >>> X, y = make_ordinal(300, random_state=0)
    >>> model = OrdinalSVMCV(kernel="poly", degree=2).fit(X, y)
    >>> model.cv_errors_.shape == (len(model.alphas_), 5)
    True
    """

    takes_backends = True
    plain = OrdinalSVM
    default_scoring = "distance"

    @with_one_blas_thread
    def fit(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, validation: Any = None
    ) -> Self:
        """Choose alpha, and learn the utility and the boundaries.

        Parameters
        ----------
        X, y, sample_weight :
            As for `OrdinalSVM.fit`.
        validation : tuple (X, y), optional
            Rows to compare alphas by, in place of folds; the model is fitted to the other rows alone. Not for
            rows on Dask.
        """
        self.check_parameters()
        ranks = self._ranks(y, sample_weight)
        fits = self.fits(self._ranked(X, ranks), hint=True)
        labels = ranks.classes[ranks.codes]
        self.classes_ = ranks.classes
        if validation is not None:
            require_here(fits.problem.X, "validation")
        self._fit_chosen(fits, labels, None, validation)
        self._finish(X, fits.problem, ranks, self.alpha_)
        return self

    def _split(self, folds: Folds, y: Any, qid: ArrayLike | None, validation: Any) -> None:
        super()._split(folds, y, qid, validation)
        if validation is not None:
            self._check_known(validation[1])

    def _check_known(self, y: Any) -> None:
        """Refuse labels of validation rows none of which is a class: no distance could be measured."""
        given = dict.fromkeys(np.ravel(as_array(y)).tolist())
        if not set(given) & set(self.classes_.tolist()):
            raise ValueError(
                f"validation has no label of y: it holds {next(iter(given))!r}, and the classes are "
                f"{', '.join(map(repr, self.classes_.tolist()))}."
            )

    def _held_out(self, problem: Problem, y: Any, qid: ArrayLike | None) -> Folds:
        scoring = self.scoring
        if scoring is None or scoring == self.default_scoring:
            scoring = distance_scoring(self.with_alpha(1.0))
        model = self.with_alpha(1.0)
        model.classes_ = self.classes_
        folds = Folds(model, problem, scoring, y)
        self.scoring_ = folds.scoring
        return folds


def distance_scoring(model: OrdinalSVM) -> Scoring:
    """Return the criterion "distance", the mean absolute error of held-out ranks.

    `model` has the parameters of the boundaries.
    """
    return Scoring("distance", scorer=minus_distance, from_scores=partial(distance_of_ranks, model))


def distance_of_ranks(
    model: OrdinalSVM, train: Any, utility: FloatVector, held_out: Any, of_held_out: FloatVector
) -> float:
    """Return the distance of ranks, as `minus_distance`, by the utilities of training rows and others."""
    ranks = model.placed(train, utility)
    predicted, given = ranks_of(of_held_out, model.thresholds_), np.searchsorted(ranks, held_out.labels)
    known = ranks[np.minimum(given, len(ranks) - 1)] == held_out.labels
    return float(np.mean(np.abs(predicted[known] - given[known]))) if known.any() else 0.0


def minus_distance(model: OrdinalSVM, X: Any, y: Any) -> float:
    """Return minus the mean number of ranks between predicted and given labels, among those of the model."""
    predicted = ranks_of(model.utility(X), model.thresholds_)
    order = {label: rank for rank, label in enumerate(model.classes_.tolist())}
    given = np.array([order.get(label, np.nan) for label in np.ravel(y).tolist()])
    known = ~np.isnan(given)
    return -float(np.mean(np.abs(predicted[known] - given[known]))) if known.any() else 0.0
