"""`alpha="auto"`: alpha chosen inside a fit, by what the CV class of the estimator does."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from rankwise.data.backends import in_memory
from rankwise.estimators.inputs import read_preferences
from rankwise.losses import LOSSES, Smooth
from rankwise.model_selection.search import EdgeOfGridWarning

AUTO = "auto"
# The largest number of dimensions, and of operations of one Gram matrix, for leaving queries out.
MOST_DIMENSIONS, MOST_OPERATIONS = 2000, 1e11


def fit_with_chosen_alpha(model: Any, X: Any, y: Any, qid: Any, sample_weight: Any) -> Any:
    """Choose alpha as the CV class of a model does, and fit the model; its `alpha_` is the choice.

    Smooth losses leave every query out if there are several, and it is affordable; otherwise there are five
    folds. RankRLS has its closed forms.
    """
    from rankwise import estimators

    kinds = (f"{kind.__name__}CV" for kind in type(model).__mro__)
    searching = getattr(estimators, next(kind for kind in kinds if kind in estimators.__all__))
    known = searching().get_params(deep=False)
    given = {name: value for name, value in model.get_params(deep=False).items() if name in known}
    if hasattr(model, "loss"):
        given["cv"] = cv_for(model, X, y, qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EdgeOfGridWarning)  # its advice is for the candidates of the CV class
        searched = searching(**given).fit(X, y, qid=qid, sample_weight=sample_weight)
    parameters = model.get_params(deep=False)
    model.__dict__.update({name: value for name, value in vars(searched).items() if name not in known})
    model.__dict__.update(parameters)
    return model


def cv_for(model: Any, X: Any, y: Any, qid: Any) -> int | str:
    """Return the `cv` of the search: queries left out, or five folds."""
    m, n = X.shape if hasattr(X, "shape") else np.shape(X)
    n = n if getattr(model, "kernel", None) == "linear" else m  # kernels and curves are turned into rows
    affordable = n <= MOST_DIMENSIONS and m * float(n) ** 2 <= MOST_OPERATIONS
    if not (issubclass(LOSSES[model.loss], Smooth) and affordable):
        return 5
    preferences = read_preferences(in_memory(y), in_memory(qid), None)
    weighs = np.add(*preferences.partner_weights()) > 0
    return "leave-query-out" if len(np.unique(preferences.groups()[weighs])) > 1 else 5
