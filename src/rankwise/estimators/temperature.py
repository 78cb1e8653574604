"""From scores to probabilities of pairs: the one number by which scores are divided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from rankwise.core.checks import as_vector
from rankwise.core.types import FloatVector
from rankwise.data.precision import UNIT, rounding_terms
from rankwise.losses import Logistic
from rankwise.losses.pair_sums import violated_weight
from rankwise.preferences import as_preferences
from rankwise.preferences.base import from_heaviest

__all__ = ["fit_temperature"]

NONE_WRONG = "No pair is in the wrong order, so that no temperature fits: probabilities would all become 1."
# The logarithm of spread / T beyond which wrong pairs are ties but for rounding.
COLDEST = 256.0


def fit_temperature(
    scores: ArrayLike,
    y: Any,
    qid: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    average: str = "queries",
) -> float:
    """Return the T > 0 that minimizes the mean over pairs of log(1 + exp(-(s_better - s_worse) / T)).

    Then 1 / (1 + exp(-(s_a - s_b) / T)) is the probability that row a is above row b: scores of any ranker
    become probabilities of pairs, and those of a bold or timid model are put right. No order changes. The
    rows should be ones that the model has not seen.

    The problem is convex in 1/T and has one solution, unless all pairs are in the right order or the scores
    are no better than chance; then none exists, and a ValueError is raised. O(m) for each of some ten steps.

    Parameters
    ----------
    scores : array of shape (n_rows,)
        Scores of rows held out, their queries and weights.
    y : array of shape (n_rows,), or Preferences
        Labels, higher is better. Preferences have their own queries and weights.
    qid, sample_weight : arrays of shape (n_rows,), optional
        The query of each row.
    average : {"queries", "pairs"}
        The mean over queries of each query's mean, or the mean over all pairs.

    Returns
    -------
    temperature : float
        Log odds are scores divided by it.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankSVM, fit_temperature
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> X, y = load_diabetes_ranking(return_X_y=True)
    >>> model = RankSVM(alpha=1e-6).fit(X[::2], y[::2])
    >>> scores = model.predict(X[1::2])
    >>> temperature = fit_temperature(scores, y[1::2])
    >>> log_odds = (scores[0] - scores[1]) / temperature  # of the first row above the second
    """
    loss = Logistic(as_preferences(y, qid, sample_weight), average=average)
    return common_temperature([(loss, as_vector(scores, "scores", loss.preferences.n_rows))])


def common_temperature(parts: Sequence[tuple[Logistic, FloatVector]]) -> float:
    """Return the temperature that minimizes the mean of several losses of scores, such as those of folds."""
    parts = [
        (loss, from_heaviest(scores, loss.half_weight, loss.preferences.groups())) for loss, scores in parts
    ]
    # In units of the scores' spread the solution is not far from 1, whatever their scale.
    spread = max(float(np.abs(scores).max()) for _, scores in parts) or 1.0
    units = [(loss, scores / spread) for loss, scores in parts]
    _require_optimum(units)

    def slope(power: float) -> float:
        return sum(_slope(loss, unit, math.exp(power)) for loss, unit in units)

    low, high = -1.0, 1.0
    while slope(low) > 0:
        low *= 2
    while slope(high) <= 0:
        high *= 2
        if high > COLDEST:
            raise ValueError(NONE_WRONG)
    return spread / math.exp(brentq(slope, low, high, xtol=1e-12))


def _require_optimum(units: Sequence[tuple[Logistic, FloatVector]]) -> None:
    """Refuse scores for which the loss decreases without limit as the temperature falls, or as it rises.

    What is wrong, or better than chance, by no more than the rounding of the largest scores does not count.
    """
    slope = sum(_slope(loss, unit, 0.0) for loss, unit in units)
    rounding = sum(
        UNIT * rounding_terms(len(unit)) * float(loss.half_weight @ np.abs(unit)) for loss, unit in units
    )
    if not slope < -rounding:
        raise ValueError("The scores are no better than chance on these rows, so that no temperature fits.")
    if not any(violated_weight(loss.preferences, 1.0 + unit, 0.0).any() for loss, unit in units):
        raise ValueError(NONE_WRONG)


def _slope(loss: Logistic, scores: FloatVector, factor: float) -> float:
    """Return the derivative of the loss of factor * scores by the factor."""
    return float(np.sum(loss.value_and_coefficients(factor * scores)[1] * scores))
