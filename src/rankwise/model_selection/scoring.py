"""Criteria for models on held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.exceptions import UndefinedMetricWarning

from rankwise import metrics
from rankwise.core.checks import as_vector
from rankwise.core.types import FloatArray
from rankwise.evaluation.ranked_rows import summary
from rankwise.evaluation.registry import Metric, named_measure, parsed_name
from rankwise.evaluation.scored import Scored
from rankwise.losses import Logistic
from rankwise.preferences import Preferences


def is_error(key: str) -> bool:
    """Return whether lower values of the measure of a `Scoring` are better.

    Examples
    --------
    >>> is_error("log_loss"), is_error("ndcg@10")
    (True, False)
    """
    found = parsed_name(key)
    return key == "distance" or (found is not None and not found[0].higher_is_better)


def measure_of(errors: FloatArray, key: str) -> FloatArray:
    """Return the values of the measure of a `Scoring` by its errors; see `as_scoring`.

    Examples
    --------
    >>> import numpy as np
    >>> measure_of(np.array([0.25]), "ndcg@10"), measure_of(np.array([0.25]), "log_loss")
    (array([0.75]), array([0.25]))
    """
    return errors if is_error(key) else 1.0 - errors


@dataclass(frozen=True)
class Scoring:
    """A criterion on held-out rows; lower is better.

    Attributes
    ----------
    key : str
        The name of a measure, or "score" for a scorer.
    error : callable or None
        `error(preferences, scores, average)` of the scores of held-out rows.
    scorer : callable or None
        `scorer(model, X, y)` of a fitted model; higher is better.
    from_scores : callable or None
        `from_scores(train, train_scores, held_out, held_out_scores)` of preferences and scores: what
        minus the scorer is, without a model.
    """

    key: str
    error: Callable[..., float] | None = None
    scorer: Callable[..., float] | None = None
    from_scores: Callable[..., float] | None = None


def as_scoring(scoring: Any, undefined: Any = "skip") -> Scoring:
    """Return the criterion for the name of a measure, or for a scorer in the manner of scikit-learn.

    The error of a measure for which higher is better is 1 minus its value, that of a scorer minus its score.
    `undefined` is the value of a query without relevant rows; see `rankwise.metrics.ndcg`.

    Examples
    --------
    >>> preferences = Preferences.from_scores([2.0, 1.0, 0.0])
    >>> as_scoring("concordance").error(preferences, [0.5, 0.9, 0.1])
    0.333...
    """
    if isinstance(scoring, Scoring):
        return scoring
    if callable(scoring):
        return Scoring("score", scorer=scoring)
    if not isinstance(scoring, str):
        raise ValueError(
            f"scoring must be the name of a measure, such as 'ndcg@10', or a scorer; got {scoring!r}."
        )
    if scoring in OF_PAIRS:
        return Scoring(scoring, OF_PAIRS[scoring])
    return Scoring(scoring, partial(error_of, named_measure(scoring, "scoring", undefined=undefined)))


def held_out_error(preferences: Preferences, scores: FloatArray, average: str = "queries") -> float:
    """Return the ranking error: the mean over queries with pairs, or the fraction of all pairs."""
    with warnings.catch_warnings():  # queries without pairs are common, and left out
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return float(metrics.ranking_error(preferences, scores, average=average))  # type: ignore[arg-type]


def held_out_log_loss(preferences: Preferences, scores: FloatArray, average: str = "queries") -> float:
    """Return the log loss of pairs: the mean over queries with pairs, or over all pairs."""
    return Logistic(preferences, average=average).value(scores)


# Criteria that follow the average of the objective, over queries or over all pairs.
OF_PAIRS = {"error": held_out_error, "concordance": held_out_error, "log_loss": held_out_log_loss}


def error_of(
    measure: Metric, preferences: Preferences, scores: FloatArray, average: str = "queries"
) -> float:
    """Return the mean over queries of a measure for which lower is better, or 1 minus that of the others."""
    scored = Scored(preferences, {"": as_vector(scores, "scores", len(preferences))})
    values, reason = measure.of(scored, ""), measure.undefined_because
    mean = float(summary(values, measure.key, reason, "skip", False, scored.importance))
    return 1.0 - mean if measure.higher_is_better else mean
