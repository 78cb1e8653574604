"""What the features contribute to the scores of a model of trees or of curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.core.pipelines import before_last_step, last_step
from rankwise.core.types import FloatArray
from rankwise.evaluation.names import feature_names
from rankwise.evaluation.weights import Weights

# Rows by which the spread of parts is measured: parts take much longer than scores.
SAMPLED = 1000


@dataclass(frozen=True)
class Contributions(Weights):
    """A score as the sum of one part for each feature: the rows hold the parts, and each weight is 1.

    Attributes
    ----------
    importance : array of shape (n_features,)
        The share of each feature, as `share` says.
    meaning : str
        What a part is, in words.
    share, note : str
        What `importance` is, in short and as a sentence.
    """

    importance: FloatArray
    meaning: str
    share: str
    note: str


# What is to be said of the parts of trees, and of those of curves: see `Contributions`.
OF_TREES = (
    "its part in the score is a Shapley value of the trees",
    "Share of the gain",
    "The gain is the share of the feature in all that splits lowered the loss by, on the training rows.",
)
OF_CURVES = (
    "its part in the score is the value of its curve, and half of each table that it shares",
    "Share of the spread",
    "The share is that of the feature in the spread of all parts, on the training rows.",
)


class _RowContributions:
    """The parts of rows, computed for those that are asked for."""

    def __init__(self, ranker: Any, X: Any):
        self.ranker, self.X = ranker, X

    def __getitem__(self, rows: Any) -> FloatArray:
        return self.ranker.contributions(self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows])


def has_contributions(model: Any) -> bool:
    """Return whether the score of a model is a sum of parts of features that depend on the row."""
    return hasattr(last_step(model), "contributions")


def contributions_of(
    model: Any, X: Any, given_names: Sequence[str] | None = None, qid: Any = None
) -> Contributions | None:
    """Return the parts of a model of trees or curves, or None for other models."""
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
