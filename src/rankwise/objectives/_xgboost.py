"""Pairwise losses for XGBoost."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.losses import PairwiseLoss
from rankwise.objectives._objective import NAME, PairwiseObjective
from rankwise.objectives._sets import Rows
from rankwise.preferences import Preferences


class XGBoostObjective(PairwiseObjective):
    """An objective for both interfaces of XGBoost; `metric` is the ranking error, to stop by.

    The native interface passes the scores and a `DMatrix`; the scikit-learn interface passes labels, scores
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
    """The ranking error as a named function, which XGBoost's scikit-learn interface requires."""

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
    loss: str | PairwiseLoss = "squared_hinge",
    *,
    average: str = "queries",
    validation: Any = None,
    n_threads: int = 1,
) -> XGBoostObjective:
    """Return a pairwise loss over all pairs as an objective for XGBoost, with a metric to stop by.

    For `xgb.train(parameters, data, obj=objective, evals=[...], custom_metric=objective.metric)` and for
    `XGBRegressor(objective=objective, eval_metric=objective.metric)`; `XGBRanker` takes no objective.
    The weight of a pair is the product of the weights of its rows; if a `DMatrix` has queries, its weights
    are per query. `base_margin`, `xgb_model` and early stopping work as with XGBoost's own objectives.
    Models predict scores; higher is better.

    Parameters
    ----------
    preferences : Preferences, optional
        Preferences of the training rows. By default, rows are ranked within the queries of the `DMatrix` by
        the labels passed to XGBoost, which stores them as float32. With preferences, the labels have no
        effect.
    loss, average, validation, n_threads :
        As in `objectives.lightgbm`. The interface of scikit-learn tells a training set and a validation set
        with equally many rows apart by their labels.

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
    """Return the scores and the description of the rows from the arguments of either interface."""
    if not _is_matrix(second):
        return second, Rows(first, weight)
    labels, weight = second.get_label(), second.get_weight()
    sizes = np.diff(second.get_uint_info("group_ptr"))
    if len(labels) == 0:  # preferences need no labels
        labels = np.zeros(second.num_row())
    weight, sizes = (column if len(column) else None for column in (weight, sizes))
    return first, Rows(labels, weight, sizes, source=second)
