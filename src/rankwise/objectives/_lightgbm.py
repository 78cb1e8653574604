"""Pairwise losses for LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.losses import PairwiseLoss
from rankwise.objectives._objective import NAME, PairwiseObjective
from rankwise.objectives._sets import Rows
from rankwise.preferences import Preferences


class LightGBMObjective(PairwiseObjective):
    """An objective for both interfaces of LightGBM; `metric` is the ranking error, to stop by.

    The native interface passes the scores and a `Dataset`; the scikit-learn interface passes labels, scores,
    weights and query sizes.
    """

    def __call__(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the Hessian."""
        return self.derivatives(*_scores_and_rows(first, second, weight, group))

    def metric(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Return the name of the ranking error, its value, and False: higher is not better."""
        return NAME, self.error(*_scores_and_rows(first, second, weight, group)), False


def lightgbm(
    preferences: Preferences | None = None,
    loss: str | PairwiseLoss = "squared_hinge",
    *,
    average: str = "queries",
    validation: Any = None,
    n_threads: int = 1,
) -> LightGBMObjective:
    """Return a pairwise loss over all pairs as an objective for LightGBM, with a metric to stop by.

    For `lgb.train({"objective": objective, ...}, data, valid_sets=[...], feval=objective.metric)` and for
    `LGBMRegressor(objective=objective).fit(X, y, eval_set=[...], eval_metric=objective.metric)`, or
    `LGBMRanker` with its `group`. The weight of a pair is the product of the weights of its rows.
    `init_score`, `init_model`, `lgb.cv` and early stopping work as with LightGBM's own objectives. Models
    predict scores; higher is better. Rows, grades and queries are unlimited in number.

    Cost per call: O(m log m) for m rows and any number of pairs, or O(m) with the logistic loss.

    Parameters
    ----------
    preferences : Preferences, optional
        Preferences of the training rows. By default, rows are ranked within groups by the labels passed to
        LightGBM, which stores them as float32. With preferences, the labels have no effect.
    loss : "squared_hinge", "logistic", "hinge", "huber_hinge", "least_squares" or an object
        The targets of least squares are the differences of labels, or the magnitudes of pairs.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs; applies to loss and metric.
    validation : Preferences or list of Preferences, optional
        Preferences of the evaluated sets, in order; required if `preferences` is given. Sets are identified
        by their number of rows, and sets of equal size by their order. The training set is identified by
        itself; if another set has as many rows and the same labels, a copy of the training set is refused.
    n_threads : int
        The number of threads per call. The result does not depend on it.

    Returns
    -------
    objective : LightGBMObjective
        Called by LightGBM; `objective.metric` is the ranking error for `feval` or `eval_metric`.

    Examples
    --------
    >>> from rankwise import objectives
    >>> objective = objectives.lightgbm(loss="logistic")
    >>> gradient, hessian = objective([2.0, 1.0, 0.0], [0.0, 0.0, 0.0])
    >>> gradient.tolist(), hessian.tolist()
    ([-2.0, 0.0, 2.0], [1.0, 1.0, 1.0])
    >>> objective.metric([2.0, 1.0, 0.0], [0.3, 0.1, 0.2])
    ('ranking_error', 0.3333333333333333, False)
    """
    return LightGBMObjective(preferences, loss, average=average, validation=validation, n_threads=n_threads)


def _scores_and_rows(first: Any, second: Any, weight: Any, group: Any) -> tuple[Any, Rows]:
    """Return the scores and the description of the rows from the arguments of either interface."""
    if hasattr(second, "get_label"):
        taken = None if second.used_indices is None else np.asarray(second.used_indices)
        return first, Rows(second.get_label(), second.get_weight(), second.get_group(), taken, second)
    labels = first if isinstance(first, np.ndarray) else None  # those that a Dataset keeps
    return second, Rows(first, weight, group, source=labels)
