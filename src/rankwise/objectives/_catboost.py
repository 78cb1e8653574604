"""Pairwise losses for CatBoost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_vector
from rankwise.core.types import FloatVector
from rankwise.losses import PairwiseLoss
from rankwise.objectives._objective import PairwiseObjective
from rankwise.objectives._sets import Rows
from rankwise.preferences import Preferences

# Scores whose relative difference is at most this count as equal.
SAME = 1e-6

ASKED = (
    "CatBoost must use boosting_type='Plain', leaf_estimation_iterations=1, metric_period=1, no text or "
    "categorical features other than one-hot ones, and eval_metric=objective.metric"
)


class CatBoostObjective(PairwiseObjective):
    """An objective for CatBoost; `metric` is the ranking error, to stop by.

    CatBoost requests derivatives for blocks of a few hundred rows, but the pairs of these rows involve all
    rows. Only the metric receives all scores, at the end of each round, so it computes the derivatives for
    the next round. The targets are row numbers, because a block does not identify its rows.
    """

    preferences: Preferences

    def __init__(self, preferences: Preferences, loss: Any, *, baseline: ArrayLike | None, **options: Any):
        if preferences is None:
            raise ValueError(
                "preferences must be given to objectives.catboost: CatBoost's labels are row numbers."
            )
        super().__init__(preferences, loss, **options)
        n_rows = preferences.n_rows
        self.baseline = (
            np.zeros(n_rows) if baseline is None else as_vector(baseline, "baseline", preferences.n_rows)
        )
        self.rows: FloatVector = np.arange(n_rows, dtype=np.float64)
        if n_rows > 2**24:
            raise ValueError(f"CatBoost's targets number at most 2^24 rows; got {n_rows}.")
        self._move_to(self.baseline)

    @property
    def metric(self) -> CatBoostMetric:
        """The ranking error for `eval_metric`; training needs it."""
        return CatBoostMetric(self)

    def calc_ders_range(self, approxes: Any, targets: Any, weights: Any) -> FloatVector:
        """Return the derivatives of minus the loss for a block of rows, of shape (n_rows, 2)."""
        if weights is not None:
            raise ValueError("Pass weights of rows to the preferences, not to CatBoost.")
        rows, scores = np.asarray(targets).astype(np.int64), np.asarray(approxes, dtype=np.float64)
        if not self._are_at(rows, scores):
            self._move_to(self.baseline)  # start of a new fit
        if not self._are_at(rows, scores):
            raise ValueError(f"The scores of this round differ from those passed to the metric: {ASKED}.")
        return self._derivatives[rows]

    def evaluate_set(self, scores: FloatVector, targets: FloatVector, weight: FloatVector | None) -> float:
        """Return the ranking error of a set; for the training set, also update the derivatives."""
        if np.array_equal(targets, self.rows):
            self._move_to(scores)
            return self.error(scores, Rows(self.rows, source=self.rows))
        return self.error(scores, Rows(targets, weight))

    def _are_at(self, rows: Any, scores: FloatVector) -> bool:
        known = self._scores[rows]
        return bool(np.all(np.abs(known - scores) <= SAME * (1.0 + np.abs(known))))

    def _move_to(self, scores: FloatVector) -> None:
        gradient, hessian = self.derivatives(scores, Rows(self.rows, source=self.rows))
        self._scores, self._derivatives = scores.copy(), -np.column_stack([gradient, hessian])


class CatBoostMetric:
    """The ranking error in the form that CatBoost takes."""

    def __init__(self, objective: CatBoostObjective):
        self.objective = objective

    def __deepcopy__(self, memo: Any) -> CatBoostMetric:
        return self

    def is_max_optimal(self) -> bool:
        """Return False: lower is better."""
        return False

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the error of a set and its weight."""
        weights = None if weight is None else np.asarray(weight)
        return self.objective.evaluate_set(np.array(approxes[0]), np.asarray(target), weights), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the error."""
        return error / weight


def catboost(
    preferences: Preferences,
    loss: str | PairwiseLoss = "squared_hinge",
    *,
    average: str = "queries",
    validation: Any = None,
    baseline: ArrayLike | None = None,
    n_threads: int = 1,
) -> CatBoostObjective:
    """Return a pairwise loss over all pairs as an objective for CatBoost, with a metric to stop by.

    CatBoost does not support losses whose derivatives need all rows, so some settings are required; others
    raise an error. The labels passed to CatBoost are row numbers, `objective.rows`::

        objective = objectives.catboost(preferences, validation=other)
        model = CatBoost(dict(loss_function=objective, eval_metric=objective.metric, boosting_type="Plain",
                              leaf_estimation_method="Newton", leaf_estimation_iterations=1))
        model.fit(X, objective.rows, eval_set=(X_other, y_other))

    The labels of `eval_set` have no effect, but CatBoost keeps the best model only if they are not all equal.
    Categorical features that are not one-hot (`one_hot_max_size`) are scored differently during training and
    raise an error. Pass weights to the preferences. The loss is computed once per round; other calls are
    look-ups.

    Parameters
    ----------
    preferences : Preferences
        Of the training rows, at most 2^24.
    loss, average, validation, n_threads :
        As in `objectives.lightgbm`.
    baseline : array of shape (n_rows,), optional
        The initial scores of the training set: the baseline of its `Pool`, or the scores of the model from
        which training continues (`init_model`).

    Returns
    -------
    objective : CatBoostObjective
        For `loss_function`; `objective.metric` is the ranking error for `eval_metric`, `objective.rows` are
        the labels.

    Examples
    --------
    >>> from rankwise import Preferences, objectives
    >>> objective = objectives.catboost(Preferences.from_scores([2.0, 1.0, 0.0]))
    >>> objective.calc_ders_range([0.0, 0.0], targets=[2, 0], weights=None).tolist()
    [[-1.0, -1.0], [1.0, -1.0]]
    """
    return CatBoostObjective(
        preferences, loss, average=average, validation=validation, baseline=baseline, n_threads=n_threads
    )
