"""The contributions of the features to the scores of a model of trees or curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.types import FloatArray
from rankwise.data.rows import some_rows
from rankwise.estimators.weights import Weights
from rankwise.evaluation.names import feature_names

# The number of rows for standard deviations: contributions take much longer than scores.
SAMPLED = 1000


@dataclass(frozen=True)
class Contributions(Weights):
    """Scores as sums of one contribution per feature: `rows` has the contributions, and each weight is 1.

    Attributes
    ----------
    importance : array of shape (n_features,)
        The relative importance of each feature; `share` is its name.
    meaning : str
        The definition of a contribution.
    share, note : str
        The name of `importance`, and its definition.
    """

    importance: FloatArray
    meaning: str
    share: str
    note: str


# `meaning`, `share` and `note` of `Contributions`.
OF_TREES = (
    "the contribution is a Shapley value of the trees",
    "Fraction of the gain",
    "The gain is the reduction of the training loss by the splits on the feature.",
)
OF_CURVES = (
    "the contribution is the value of its curve, and half of each table that it is in",
    "Fraction of the variation",
    "The fraction is relative to the sum over all features, on the training rows.",
)


class _RowContributions:
    """The contributions of rows, computed on demand."""

    def __init__(self, ranker: Any, X: Any):
        self.ranker, self.X = ranker, X

    def __getitem__(self, rows: Any) -> FloatArray:
        return self.ranker.contributions(some_rows(self.X, rows))


def has_contributions(model: Any) -> bool:
    """Return whether a model has a method `contributions`."""
    return hasattr(last_step(model), "contributions")


def contributions_of(
    model: Any, X: Any, given_names: Sequence[str] | None = None, qid: Any = None
) -> Contributions | None:
    """Return the contributions of a model of trees or curves, None for other models."""
    if not has_contributions(model):
        return None
    ranker, n_rows = last_step(model), X.shape[0]
    names = feature_names(X, model, given_names, ranker.n_features_in_)
    rows = _RowContributions(ranker, before_last_step(model, X, qid))
    sample = rows[np.unique(np.linspace(0, n_rows - 1, min(n_rows, SAMPLED)).astype(int))]
    words = OF_TREES if hasattr(ranker, "trees_") else OF_CURVES
    return Contributions(
        names, np.ones(len(names)), sample.std(axis=0), rows, ranker.feature_importances_, *words
    )
