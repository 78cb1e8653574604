"""`alpha="auto"`: alpha chosen inside a fit, by what the CV class of the estimator does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from rankwise import estimators
from rankwise.core.backends import backend_of
from rankwise.estimators.alpha_choice import DEFAULT_FOLDS
from rankwise.estimators.fits import adopt
from rankwise.estimators.inputs import read_preferences
from rankwise.losses import Smooth, loss_class
from rankwise.model_selection.search import EdgeOfGridWarning
from rankwise.preferences import FewRowsError, NoPairsError

AUTO = "auto"
# The largest number of dimensions, and of operations of one Gram matrix, for leaving queries out.
MOST_DIMENSIONS, MOST_OPERATIONS = 2000, 1e11
# The place in the default grid of the alpha of a few rows without folds: on 200 rows of the sets of
# `benchmarks/suite.py` it is near the best for most.
PLACE_FOR_FEW_ROWS = 2


def fit_with_chosen_alpha(model: Any, X: Any, y: Any, qid: Any, sample_weight: Any) -> Any:
    """Choose alpha as the CV class of a model does, and fit the model; its `alpha_` is the choice.

    Smooth losses leave every query out if there are several, and it is affordable; otherwise there are the
    folds of the CV class, as for rows on Dask and with `l1_ratio`. RankRLS has its closed forms. If the rows
    are too few for folds with pairs, alpha is large.
    """
    searching = getattr(estimators, model.searching)
    known = searching().get_params(deep=False)
    given = {name: value for name, value in model.get_params(deep=False).items() if name in known}
    if not model.fits_all_at_once:
        given["cv"] = cv_for(model, X, y, qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)  # its advice is for the candidates of the CV class
        try:
            searched = searching(**given).fit(X, y, qid=qid, sample_weight=sample_weight)
        except (NoPairsError, FewRowsError):
            searched = _fitted_to_few_rows(model, X, y, qid, sample_weight)
    adopt(model, searched)
    return model


def _fitted_to_few_rows(model: Any, X: Any, y: Any, qid: Any, sample_weight: Any) -> Any:
    """Return a fit without folds, as there are none with pairs; refuse rows without pairs."""
    fitted = clone(model)
    problem = fitted.problem(X, y, qid, sample_weight)
    fitted.alpha_ = float(fitted.grid(problem)[PLACE_FOR_FEW_ROWS])
    return fitted.set_params(alpha=fitted.alpha_).fit(X, y, qid=qid, sample_weight=sample_weight)


def _shape(X: Any) -> tuple[int, int]:
    return X.shape if hasattr(X, "shape") else np.asarray(X).shape


def cv_for(model: Any, X: Any, y: Any, qid: Any) -> int | str | None:
    """Return the `cv` of the search: queries left out, or None for folds, or one fold per query of few."""
    n_queries, loss = _n_ranked(y, qid), loss_class(model.loss)
    if n_queries > 1 and issubclass(loss, Smooth) and loss.is_of_pairs and _can_leave_out(model, X):
        return "leave-query-out"
    return n_queries if 1 < n_queries < DEFAULT_FOLDS else None


def _n_ranked(y: Any, qid: Any) -> int:
    """Return the number of queries with pairs; they are counted in place if labels are not in memory."""
    backend = backend_of(qid)
    counts = None if backend is None else backend.by_query(_n_ranked, y, qid)
    if counts is not None:
        return sum(counts)
    preferences = read_preferences(y, qid, None)
    weighs = np.add(*preferences.partner_weights()) > 0
    return len(np.unique(preferences.groups()[weighs]))


def _can_leave_out(model: Any, X: Any) -> bool:
    """Return whether leaving every query out is possible, which needs rows in memory, and affordable."""
    if backend_of(X) is not None or np.any(model.l1_ratio):
        return False
    m, n = _shape(X)
    n = n if getattr(model, "kernel", None) == "linear" else m  # kernels and curves are turned into rows
    return n <= MOST_DIMENSIONS and m * float(n) ** 2 <= MOST_OPERATIONS
