"""OrdinalSVM with a built-in choice of alpha."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array
from rankwise.core.threads import with_one_blas_thread
from rankwise.core.types import FloatVector
from rankwise.estimators.alpha_choice import ChoosesAlpha
from rankwise.estimators.inputs import require_here
from rankwise.estimators.ordinal_svm import BaseOrdinalSVM, OrdinalSVM
from rankwise.estimators.parameters import Candidates, Comparison, OrdinalParameters, Running
from rankwise.estimators.thresholds import ranks_of
from rankwise.model_selection.folds import Folds
from rankwise.model_selection.scoring import Scoring
from rankwise.model_selection.tunable import Problem


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
    loss, kernel, thresholds, categories, class_weight, calibrated, ... :
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
