"""The weight of pairs in the wrong order, per query."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.ranked_rows import columns_of
from rankwise.losses.pair_sums import misordered_weight
from rankwise.preferences import NoPairsError, Preferences

Ties = Literal["half", "error", "correct"]


class Violations(NamedTuple):
    """Weights of pairs, per query or per edge of an order graph."""

    wrong: FloatArray
    wrong_or_tied: FloatArray
    total: FloatArray

    def errors(self, ties: Ties) -> FloatArray:
        """Return the weight of the errors, by the rule for equal scores."""
        if ties == "half":
            return (self.wrong + self.wrong_or_tied) / 2
        return self.wrong_or_tied if ties == "error" else self.wrong


def violations_of(preferences: Preferences, scores: FloatArray) -> Violations:
    """Return the weights of the pairs of preferences."""
    return Violations(*misordered_weight(preferences, scores), preferences.total_weight())


def label_violations(y: Any, scores: Any, qid: Any, sample_weight: Any) -> Violations:
    """Return the weights of the pairs of labels within queries."""
    labels, scores, query, _ = columns_of(y, scores, qid, "ranking_error")
    return violations_within(labels, scores, query, sample_weight)


def violations_within(
    labels: FloatArray, scores: FloatArray, query: IntArray, sample_weight: ArrayLike | None = None
) -> Violations:
    """Return the weights of pairs within queries, 0 for all queries if none has a pair."""
    try:
        preferences = Preferences.from_scores(labels, query if query.max() > 0 else None, sample_weight)
    except NoPairsError:
        none = np.zeros(query.max() + 1)
        return Violations(none, none, none)
    return violations_of(preferences, scores)
