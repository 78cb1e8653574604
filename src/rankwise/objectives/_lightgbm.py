"""Pairwise losses for LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.core.types import FloatVector
from rankwise.objectives._objective import NAME, PairwiseObjective
from rankwise.objectives._sets import Rows
from rankwise.preferences import Preferences


class LightGBMObjective(PairwiseObjective):
    """An objective for both interfaces of LightGBM; `metric` is the ranking error, to stop by.

    The native interface calls both with the scores and a `Dataset`, that of scikit-learn with labels, scores,
    weights and sizes of queries.
    """

    def __call__(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> tuple[FloatVector, FloatVector]:
        """Return the gradient and the diagonal of the Hessian."""
        return self.derivatives(*_scores_and_rows(first, second, weight, group))

    def metric(
        self, first: Any, second: Any, weight: Any = None, group: Any = None
    ) -> tuple[str, float, bool]:
        """Return the name of the ranking error, its value, and that a higher one is not better."""
        return NAME, self.error(*_scores_and_rows(first, second, weight, group)), False


def lightgbm(
    preferences: Preferences | None = None,
    loss: str = "squared_hinge",
    *,
    average: str = "queries",
    validation: Any = None,
    n_threads: int = 1,
) -> LightGBMObjective:
    """Return a pairwise loss over all pairs as an objective for LightGBM, with a metric to stop by.

    For `lgb.train({"objective": objective, ...}, data, valid_sets=[...], feval=objective.metric)` and for
    `LGBMRegressor(objective=objective).fit(X, y, eval_set=[...], eval_metric=objective.metric)`, or
    `LGBMRanker` with its `group`. Weights of rows make a pair weigh the product of those of its rows.
    `init_score`, `init_model`, `lgb.cv` and early stopping work as with LightGBM's own objectives. Models
    predict scores, where higher is better, and no number of rows, grades or queries is too large.

    Cost of a call: that of the loss, O(m log m) for m rows and any number of pairs, or O(m) with the logistic
    loss.

    Parameters
    ----------
    preferences : Preferences, optional
        Of the training rows. By default they are ranked by the labels given to LightGBM, which keeps them as
        float32, within its groups. With preferences the labels have no influence.
    loss : "squared_hinge", "logistic", "hinge" or "least_squares"
        Least squares take the differences of labels, or the magnitudes of pairs, as their targets.
    average : "queries" or "pairs"
        The mean over queries of each query's mean, or the mean over all pairs; of loss and metric.
    validation : Preferences or list of Preferences, optional
        Of the sets that are evaluated, in their order, where `preferences` is given. Sets are known by their
        number of rows, and those with the same number by their order. The training set is known already,
        unless another has as many rows.
    n_threads : int
        Of a call. The result does not depend on it.

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
    """Return the scores and what is said of the rows, in whichever order the interface hands them over."""
    if hasattr(second, "get_label"):
        taken = None if second.used_indices is None else np.asarray(second.used_indices)
        return first, Rows(second.get_label(), second.get_weight(), second.get_group(), taken)
    return second, Rows(first, weight, group)
