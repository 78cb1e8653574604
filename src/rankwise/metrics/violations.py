"""The weight of pairs in the wrong order, per query."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.types import FloatArray, IntArray
from rankwise.data.backends import backend_among
from rankwise.losses.pair_sums import misordered_weight
from rankwise.metrics.one_ranking import SortedRanking
from rankwise.metrics.parts import by_query
from rankwise.metrics.rows import RankedRows, columns_of
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


class RankCounts(NamedTuple):
    """Numbers of pairs per query, for rank correlations, and the weight of the query in the mean."""

    discordant: FloatArray
    discordant_or_tied: FloatArray
    label_pairs: FloatArray  # with different labels
    score_pairs: FloatArray  # with different scores
    importance: FloatArray | None = None


def violations_of(preferences: Preferences, scores: FloatArray) -> Violations:
    """Return the weights of the pairs of preferences."""
    return Violations(*misordered_weight(preferences, scores), preferences.total_weight())


def label_violations(y: Any, scores: Any, qid: Any, sample_weight: Any) -> Violations:
    """Return the weights of the pairs of labels within queries, in memory or in parts."""
    backend = backend_among(scores, y)
    if backend is not None and qid is None and sample_weight is None:
        counts = SortedRanking(backend.parts(scores, y)).counts
        return Violations(*(np.array([count]) for count in counts[:3]))
    return Violations(*by_query(_label_violations, y, scores, qid, sample_weight, weighted=(0, 1, 2)))


def rank_counts(y: Any, scores: Any, qid: Any) -> RankCounts:
    """Return the counts of Kendall's tau of labels and scores within queries, in memory or in parts."""
    backend = backend_among(scores, y)
    if backend is not None and qid is None and not isinstance(y, Preferences):
        counts = SortedRanking(backend.parts(scores, y)).counts
        return RankCounts(*(np.array([count]) for count in counts))
    return RankCounts(*by_query(_rank_counts, y, scores, qid))


def _label_violations(y: Any, scores: Any, qid: Any, sample_weight: Any) -> Violations:
    labels, scores, query, _ = columns_of(y, scores, qid, "ranking_error")
    return _within(labels, scores, query, sample_weight)


def _within(
    labels: FloatArray, scores: FloatArray, query: IntArray, sample_weight: ArrayLike | None
) -> Violations:
    """Return the weights of pairs within queries, 0 for all queries if none has a pair."""
    try:
        preferences = Preferences.from_scores(labels, query if query.max() > 0 else None, sample_weight)
    except NoPairsError:
        none = np.zeros(query.max() + 1)
        return Violations(none, none, none)
    return violations_of(preferences, scores)


def _rank_counts(y: Any, scores: Any, qid: Any, _: Any) -> RankCounts:
    labels, scores, query, importance = columns_of(y, scores, qid, "kendall_tau")
    ranked = RankedRows.by(scores, query)
    tied_scores = np.bincount(ranked.run_query, weights=_n_pairs(ranked.run_size))
    score_pairs = _n_pairs(ranked.size) - tied_scores
    return RankCounts(*_within(labels, scores, query, None), score_pairs, importance)


def _n_pairs(n: IntArray) -> FloatArray:
    return n * (n - 1.0) / 2
