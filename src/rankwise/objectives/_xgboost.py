"""Pairwise losses for XGBoost."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.objectives._objective import NAME, PairwiseObjective
from rankwise.objectives._sets import Rows
from rankwise.preferences import Preferences


class XGBoostObjective(PairwiseObjective):
    """An objective for both interfaces of XGBoost; `metric` is the ranking error, to stop by.

    The native interface calls both with the scores and a `DMatrix`, that of scikit-learn with labels, scores
    and weights.
    """

    @property
    def metric(self) -> XGBoostMetric:
        """The ranking error for `custom_metric` or `eval_metric`."""
        return XGBoostMetric(self)

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the Hessian."""
        return self.derivatives(*_scores_and_rows(first, second, sample_weight))


class XGBoostMetric:
    """The ranking error as a function with a name, which XGBoost's interface of scikit-learn asks for."""

    __name__ = NAME

    def __init__(self, objective: XGBoostObjective):
        self.objective = objective

    def __deepcopy__(self, memo: Any) -> XGBoostMetric:
        return self

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> Any:
        """Return the error, with its name in the native interface."""
        error = self.objective.error(*_scores_and_rows(first, second, sample_weight))
        return (NAME, error) if _is_matrix(second) else error


def xgboost(
    preferences: Preferences | None = None,
    loss: str = "squared_hinge",
    *,
    average: str = "queries",
    validation: Any = None,
    n_threads: int = 1,
) -> XGBoostObjective:
    """Return a pairwise loss over all pairs as an objective for XGBoost, with a metric to stop by.

    For `xgb.train(parameters, data, obj=objective, evals=[...], custom_metric=objective.metric)` and for
    `XGBRegressor(objective=objective, eval_metric=objective.metric)`, where `XGBRanker` takes no objective.
    Weights of rows make a pair weigh the product of those of its rows; where a `DMatrix` has queries, XGBoost
    has weights of queries. `base_margin`, `xgb_model` and early stopping work as with XGBoost's own
    objectives. Models predict scores, where higher is better.

    Parameters
    ----------
    preferences : Preferences, optional
        Of the training rows. By default they are ranked by the labels given to XGBoost, which keeps them as
        float32, within the queries of its `DMatrix`. With preferences the labels have no influence.
    loss, average, validation, n_threads :
        As in `objectives.lightgbm`.

    Returns
    -------
    objective : XGBoostObjective
        Called by XGBoost; `objective.metric` is the ranking error.

    Examples
    --------
    >>> from rankwise import Preferences, objectives
    >>> objective = objectives.xgboost(Preferences.from_pairs(better=[0], worse=[1]))
    >>> gradient, hessian = objective([0.0, 0.0], [0.5, 0.0])
    >>> gradient.tolist(), hessian.tolist()
    ([-0.5, 0.5], [1.0, 1.0])
    """
    return XGBoostObjective(preferences, loss, average=average, validation=validation, n_threads=n_threads)


def _is_matrix(data: Any) -> bool:
    return hasattr(data, "get_label")


def _scores_and_rows(first: Any, second: Any, weight: Any) -> tuple[Any, Rows]:
    """Return the scores and what is said of the rows, in whichever order the interface hands them over."""
    if not _is_matrix(second):
        return second, Rows(first, weight)
    labels, weight = second.get_label(), second.get_weight()
    sizes = np.diff(second.get_uint_info("group_ptr"))
    if len(labels) == 0:  # preferences need none
        labels = np.zeros(second.num_row())
    return first, Rows(labels, weight if len(weight) else None, sizes if len(sizes) else None)
