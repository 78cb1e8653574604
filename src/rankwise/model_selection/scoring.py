"""Criteria for models on held-out rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.exceptions import UndefinedMetricWarning

from rankwise import metrics
from rankwise.core.types import FloatArray
from rankwise.losses import Logistic
from rankwise.metrics.search_names import search_name
from rankwise.preferences import Preferences

METRICS: dict[str, Callable[..., Any]] = {
    "error": metrics.ranking_error,
    "tau": metrics.kendall_tau,
    "ndcg": metrics.ndcg,
    "map": metrics.average_precision,
    "mrr": metrics.reciprocal_rank,
    "p": metrics.precision,
    "log_loss": metrics.pair_log_loss,
}
LOWER_IS_BETTER = ("error", "log_loss", "distance")
# Measures with a cutoff, written after an at sign.
RANKED = ("ndcg", "p")
# Measures with a value for queries without relevant rows; precision is 0 there, and measures of pairs have
# none.
COUNTED = ("ndcg", "map", "mrr")


def parsed_measure(key: str, argument: str = "measures") -> tuple[str, dict[str, Any]]:
    """Return the key in `METRICS` of a measure such as "ndcg@10", and the options of its function.

    The names of ir-measures, such as "nDCG@10", "AP" or "P(rel=2)@5", have the gain or the lowest relevant
    grade in them.

    Examples
    --------
    >>> parsed_measure("ndcg@10"), parsed_measure("map"), parsed_measure("nDCG@10")
    (('ndcg', {'k': 10}), ('map', {}), ('ndcg', {'gain': 'linear', 'k': 10}))
    """
    if key != key.lower() and (named := search_name(key)) is not None:
        return named.base, named.options
    base, at, rank = key.partition("@")
    ranked = base in RANKED and rank.isdecimal() and int(rank) > 0
    if base not in METRICS or (at and not ranked) or (base == "p" and not at):
        accepted = ", ".join([*(name for name in METRICS if name != "p"), *(f"{name}@K" for name in RANKED)])
        raise ValueError(f"{argument} must be among {accepted}; got {key!r}.")
    return base, {"k": int(rank)} if ranked else {}


def measure_of(errors: FloatArray, key: str) -> FloatArray:
    """Return the values of the measure of a `Scoring` by its errors; see `as_scoring`.

    Examples
    --------
    >>> import numpy as np
    >>> measure_of(np.array([0.25]), "ndcg@10"), measure_of(np.array([0.25]), "log_loss")
    (array([0.75]), array([0.25]))
    """
    return errors if key in LOWER_IS_BETTER else 1.0 - errors


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
    if scoring == "concordance":
        return Scoring(scoring, held_out_error)
    base, options = parsed_measure(scoring, "scoring")
    if base in LOWER_IS_BETTER:
        return Scoring(scoring, {"error": held_out_error, "log_loss": held_out_log_loss}[base])
    if base in COUNTED:
        options["undefined"] = undefined
    return Scoring(scoring, partial(shortfall, METRICS[base], **options))


def held_out_error(preferences: Preferences, scores: FloatArray, average: str = "queries") -> float:
    """Return the ranking error: the mean over queries with pairs, or the fraction of all pairs."""
    with warnings.catch_warnings():  # queries without pairs are common, and left out
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return float(metrics.ranking_error(preferences, scores, average=average))  # type: ignore[arg-type]


def held_out_log_loss(preferences: Preferences, scores: FloatArray, average: str = "queries") -> float:
    """Return the log loss of pairs: the mean over queries with pairs, or over all pairs."""
    return Logistic(preferences, average=average).value(scores)


def shortfall(
    metric: Callable[..., Any],
    preferences: Preferences,
    scores: FloatArray,
    average: str = "queries",
    **options: Any,
) -> float:
    """Return 1 minus a measure of queries, for any average of the objective."""
    return 1.0 - float(metric(preferences, scores, **options))
