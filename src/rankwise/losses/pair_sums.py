"""Sums over the pairs of a structure, from which losses and metrics are made; no pair is listed if possible.

Each function dispatches on the kind of the structure. The default lists the pairs, so that it works for any
structure; rankings and order graphs count or sum in native code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise import _native
from rankwise.core.checks import as_vector, check_choice
from rankwise.core.types import FloatVector
from rankwise.preferences.base import Preferences, sum_by_row
from rankwise.preferences.order_graph import OrderGraph
from rankwise.preferences.ranking import Ranking

COUNTING_METHODS = ("merge", "tree", "pairs")
# The mean number of rows that share a query up to which comparing all pairs is faster than sorting.
SMALL_QUERY = 600


class PartnerSums(NamedTuple):
    """Sums over the partners of each row: `up` over those that should be above it, `down` over those below.

    With the weight w_ij of a pair, `up_i` is the sum of w_ij and `moment_up_i` the sum of w_ij moment_j (None
    without a moment).
    """

    up: FloatVector
    down: FloatVector
    moment_up: Any = None
    moment_down: Any = None

    @property
    def moments(self) -> FloatVector:
        """The sum of w_ij moment_j over all partners j."""
        return self.moment_up + self.moment_down


@singledispatch
def partner_sums(
    preferences: Preferences,
    scores: FloatVector | None,
    moment: FloatVector | None = None,
    *,
    margin: float = 1.0,
    counting: str = "merge",
    n_threads: int = 1,
) -> PartnerSums:
    """Sum over the violated partners of each row, or over all its partners if `scores` is None.

    A pair is violated if s_better - s_worse is below `margin`. The cost is O(l) for l listed pairs; for a
    ranking it is O(m log m) over violated partners and O(m) over all.
    """
    better, worse, _, weight = preferences.pairs()
    if scores is not None:
        hit = scores[better] - scores[worse] < margin
        better, worse, weight = better[hit], worse[hit], weight[hit]

    def total(rows: NDArray[np.int64], values: FloatVector) -> FloatVector:
        return sum_by_row(rows, values, preferences.n_rows)

    up, down = total(worse, weight), total(better, weight)
    if moment is None:
        return PartnerSums(up, down)
    return PartnerSums(up, down, total(worse, weight * moment[better]), total(better, weight * moment[worse]))


@partner_sums.register
def _(
    ranking: Ranking,
    scores: FloatVector | None,
    moment: FloatVector | None = None,
    *,
    margin: float = 1.0,
    counting: str = "merge",
    n_threads: int = 1,
) -> PartnerSums:
    check_choice(counting, "counting", COUNTING_METHODS)
    index, scaled = ranking.order.native, ranking.scaled
    weights = scaled.weight, ranking.event, scaled.gain
    if scores is None:
        return PartnerSums(*_native.sum_all_partners(index, *weights, moment, n_threads))
    return PartnerSums(*_native.sum_ranking(scores, index, margin, counting, *weights, moment, n_threads))


@partner_sums.register
def _(
    graph: OrderGraph,
    scores: FloatVector | None,
    moment: FloatVector | None = None,
    *,
    margin: float = 1.0,
    counting: str = "merge",
    n_threads: int = 1,
) -> PartnerSums:
    if scores is None:
        scores, margin = np.zeros(graph.n_rows), np.inf
    return PartnerSums(*graph.edge_sums(scores, moment, margin, n_threads)[:4])


def adjacency(
    preferences: Preferences, scores: FloatVector, *, counting: str = "merge", n_threads: int = 1
) -> Callable[[FloatVector], FloatVector]:
    """Return the product with the weighted adjacency matrix of the graph of violated pairs.

    `adjacency(preferences, scores)(moment)` has the sum of w_ij moment_j over the violated partners j of row
    i. A ranking is sorted once for all products.
    """
    if isinstance(preferences, Ranking) and counting == "merge":
        return _ranking_adjacency(preferences, scores, n_threads)

    def product(moment: FloatVector) -> FloatVector:
        sums = partner_sums(preferences, scores, moment, counting=counting, n_threads=n_threads)
        return sums.moments

    return product


def _ranking_adjacency(
    ranking: Ranking, scores: FloatVector, n_threads: int
) -> Callable[[FloatVector], FloatVector]:
    index, scaled = ranking.order.native, ranking.scaled
    windows = _native.find_windows(scores, index, 1.0, n_threads)

    def product(moment: FloatVector) -> FloatVector:
        weights = scaled.weight, ranking.event, scaled.gain
        return _native.sum_moment(windows, index, *weights, moment, n_threads)

    return product


def count_violations(
    ranking: Ranking, scores: FloatVector, *, margin: float = 1.0, n_threads: int = 1
) -> tuple[FloatVector, NDArray[np.int64], FloatVector]:
    """Count the violated pairs of a ranking that `counts_pairs`, in O(m log m).

    Return, per row, the number of violated pairs in which it is the worse one less those in which it is the
    better one (c_i - d_i); and, per query, the number of violated pairs and their summed hinge loss.
    Equations (5) to (8) of Airola et al. (2011).
    """
    return _native.count_ranking(scores, ranking.order.native, margin, n_threads)


@singledispatch
def violated_weight(
    preferences: Preferences, scores: ArrayLike, margin: float, *, n_threads: int = 1
) -> FloatVector:
    """Return the weight of the violated pairs, per query (per edge of an order graph, or in all)."""
    scores = as_vector(scores, "scores", preferences.n_rows)
    return partner_sums(preferences, scores, margin=margin, n_threads=n_threads).up.sum(keepdims=True)


@violated_weight.register
def _(ranking: Ranking, scores: ArrayLike, margin: float, *, n_threads: int = 1) -> FloatVector:
    scores = as_vector(scores, "scores", ranking.n_rows)
    if ranking.counts_pairs:
        counts = _native.count_violations(scores, ranking.order.native, margin, n_threads)
        return counts.astype(np.float64)
    sums = partner_sums(ranking, scores, margin=margin, n_threads=n_threads)
    return ranking.order.sum_by_query(sums.up) * ranking.scaled.query_scale


@violated_weight.register
def _(graph: OrderGraph, scores: ArrayLike, margin: float, *, n_threads: int = 1) -> FloatVector:
    return graph.edge_sums(as_vector(scores, "scores", graph.n_rows), None, margin, n_threads)[4]


def misordered_weight(preferences: Preferences, scores: FloatVector) -> tuple[FloatVector, FloatVector]:
    """Return the weight of the pairs in the wrong order, without and with the pairs of equal scores.

    Both are per query, as in `violated_weight`.
    """
    if isinstance(preferences, Ranking) and preferences.counts_pairs and _has_small_queries(preferences):
        wrong, wrong_or_tied = _native.count_order_errors(scores, preferences.order.native, 1)
        return wrong.astype(np.float64), wrong_or_tied.astype(np.float64)
    return _sorted_misordered_weight(preferences, scores)


def _sorted_misordered_weight(
    preferences: Preferences, scores: FloatVector
) -> tuple[FloatVector, FloatVector]:
    with np.errstate(over="ignore"):  # a difference that overflows has the right sign
        wrong = violated_weight(preferences, scores, 0.0)
    ordered = np.sort(scores)
    if (ordered[1:] != ordered[:-1]).all():
        return wrong, wrong
    # Ranks keep order and ties and are integers, so a margin of half a rank is exact.
    ranks = np.unique(scores, return_inverse=True)[1].astype(np.float64)
    return wrong, violated_weight(preferences, ranks, 0.5)


def _has_small_queries(ranking: Ranking) -> bool:
    """Return whether rows have so few others in their query, on average, that sorting does not pay."""
    sizes = np.diff(ranking.order.query_begin).astype(np.float64)
    return bool(sizes @ sizes <= SMALL_QUERY * ranking.n_rows)
