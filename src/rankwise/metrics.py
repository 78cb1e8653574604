"""How good a ranking is: pairwise errors, and the measures of information retrieval.

Every measure takes the labels `y`, the predicted `scores` (higher is better) and optionally the query of each
row, `qid`. It is computed for all queries in one pass over sorted rows, and averaged over queries. Rows with
equal scores never count by their position in the input.
"""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise._checks import as_codes, as_labels, as_vector, as_weights, check_choice
from rankwise._types import FloatArray, IntArray
from rankwise.concordance import Concordance, concordance_index, concordance_interval
from rankwise.losses import Logistic
from rankwise.preferences import NoPairsError, Preferences, as_preferences
from rankwise.preferences.order_graph import OrderGraph
from rankwise.preferences.ranking import Ranking

__all__ = [
    "Concordance",
    "average_precision",
    "concordance_index",
    "concordance_interval",
    "disagreement_error",
    "kendall_tau",
    "ndcg",
    "pair_log_loss",
    "precision",
    "ranking_error",
    "reciprocal_rank",
    "wmw",
]

Ties = Literal["half", "error", "correct"]
Undefined = Literal["skip", "nan"] | float


def ranking_error(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    ties: Ties = "half",
    average: Literal["queries", "pairs"] = "queries",
    undefined: Undefined = "skip",
    per_query: bool = False,
) -> float | FloatArray:
    """Share of the pairs of a query that the scores put in the wrong order.

        1/N * sum over pairs y_i < y_j of [s_i > s_j],   N the number of such pairs,

    equation (1) of Airola et al. (2011), with a choice for s_i = s_j. For two classes it is 1 - AUC.
    O(m log m); a query without two different labels has no pairs and is undefined.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels, any real numbers. A `Preferences` has its own queries and weights: `qid` and `sample_weight`
        are not given again. Its query weights enter the mean; explicit pairs or an order graph are one query.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    sample_weight : array of shape (m,), optional
        A pair weighs the product of the weights of its two rows.
    ties : {"half", "error", "correct"}
        What a pair with equal scores counts: one half, 1 or 0. Airola et al. count 0, Pahikkala et al. 1.
    average : {"queries", "pairs"}
        Mean of the queries' errors, or the share among all pairs of all queries.
    undefined : {"skip", "nan"} or float
        A query without pairs is left out of the mean, with a warning; or it is NaN, and so is the mean of
        queries; or it counts as this number. When no query has a pair, "skip" raises a ValueError and "nan"
        gives NaN.
    per_query : bool
        Return one value for each query, in sorted order of the unique `qid`, NaN where undefined.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> ranking_error([2, 1, 0, 1, 0], [0.9, 0.1, 0.5, 0.3, 0.3], qid=list("aaabb"), per_query=True)
    array([0.33333333, 0.5       ])
    """
    check_choice(ties, "ties", ("half", "error", "correct"))
    check_choice(average, "average", ("queries", "pairs"))
    if isinstance(y, Preferences):
        wrong, total, importance = _query_errors(as_preferences(y, qid, sample_weight), scores, ties)
    else:
        labels, scores, query, _ = _columns(y, scores, qid, "ranking_error")
        violations = _label_violations(labels, scores, query, sample_weight)
        wrong, total, importance = violations.errors(ties), violations.total, np.ones(query.max() + 1)
    if average == "pairs" and not per_query:
        wrong, total = (np.array([importance @ column]) for column in (wrong, total))
        importance = np.ones(1)
    reason = "a query needs two rows with different labels and weights above 0"
    return _summary(_share(wrong, total), "ranking_error", reason, undefined, per_query, importance)


def disagreement_error(preferences: Preferences, scores: ArrayLike, *, ties: Ties = "half") -> float:
    """Share of the given preferences that the scores contradict.

        1/W * sum over pairs (i better than j) of w_ij [s_i < s_j],   W the sum of the weights w_ij,

    equation (1) of Pahikkala et al. (2009), who count a tie as an error. Magnitudes are ignored.
    O(m log m + l) for l explicit pairs, O(m log m) for the pairs of a ranking.

    Parameters
    ----------
    preferences : Preferences
        Which row should be above which; `Preferences.from_pairs` makes them from explicit pairs.
    scores : array of shape (m,)
        Predicted scores, higher is better, one for each row that the pairs refer to.
    ties : {"half", "error", "correct"}
        What a pair with equal scores counts: one half, 1 or 0.

    Returns
    -------
    float

    Examples
    --------
    >>> from rankwise.preferences import Preferences
    >>> disagreement_error(Preferences.from_pairs([0, 0, 1, 2], [1, 2, 3, 3]), [0.4, 0.6, 0.1, 0.1])
    0.375
    """
    check_choice(ties, "ties", ("half", "error", "correct"))
    if not isinstance(preferences, Preferences):
        raise TypeError(
            f"preferences must be a rankwise Preferences, got {type(preferences).__name__}; "
            "for labels use ranking_error."
        )
    violations = _violations(preferences, as_vector(scores, "scores", len(preferences)))
    if not violations.total.any():
        raise ValueError(
            "disagreement_error is undefined: the preferences hold no pair with a weight above 0."
        )
    return float(violations.errors(ties).sum() / violations.total.sum())


def pair_log_loss(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    average: Literal["queries", "pairs"] = "queries",
    per_query: bool = False,
) -> float | FloatArray:
    """Mean surprise of the pairs of a query under the probabilities that scores state.

        1/N * sum over pairs y_i > y_j of log(1 + exp(-(s_i - s_j))),   N the number of such pairs,

    where 1 / (1 + exp(-(s_i - s_j))) is the probability that row i is above row j, so that the scores have to
    be log odds, such as those of `RankLogistic`. A coin has log 2 = 0.693. It is the smaller the more often
    the order is right, and the closer the probabilities come to what happens. O(m). Queries without two
    different labels are left out of the mean.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        As in `ranking_error`.
    scores : array of shape (m,)
        Log odds.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    sample_weight : array of shape (m,), optional
        A pair weighs the product of the weights of its two rows.
    average : {"queries", "pairs"}
        Mean of the queries' losses, or the mean over all pairs of all queries.
    per_query : bool
        Return one value for each query, in sorted order of the unique `qid`, NaN where undefined.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> round(pair_log_loss([2, 1, 0], [1.0, 0.0, 0.0]), 4)
    0.4399
    """
    try:
        preferences = as_preferences(y, qid, sample_weight)
    except NoPairsError:
        if not per_query:
            raise
        return np.full(_columns(y, scores, qid, "pair_log_loss").query.max() + 1, np.nan)
    if not per_query:
        return Logistic(preferences, average=average).value(scores)
    found = preferences.check_scores(scores)
    if not preferences.has_queries:
        return np.array([Logistic(preferences).value(found)])
    query = preferences.groups()
    parts = np.split(
        np.argsort(query, kind="stable"), np.cumsum(np.unique(query, return_counts=True)[1])[:-1]
    )
    return np.array([_log_loss(preferences[rows], found[rows]) for rows in parts])


def _log_loss(query: Preferences, scores: FloatArray) -> float:
    query = query.renumbered()
    return Logistic(query).value(scores) if query.n_pairs else float("nan")


def wmw(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    *,
    order: Any = "full",
    ties: Ties = "half",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Generalised Wilcoxon-Mann-Whitney statistic over an order graph of classes.

        1/n_edges * sum over edges (h, l) of 1/(m_h m_l) * sum over i in h, j in l of [s_i > s_j],

    the statistic of section 1.1 of Fung et al. (2005), divided by the number of edges so that a perfect
    ranking has 1. For two classes it is the area under the ROC curve. O(m log m), and O(m_h + m_l) for each
    edge.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Class of each row; or the preferences of `Preferences.from_order`, with their own edges and weights.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    order : {"full", "chain"}, list of (higher, lower) labels, or networkx.DiGraph
        Which class should be above which, as in `Preferences.from_order`: each class above every lower one,
        above its lower neighbour only, or the given edges. Edges with a class that has no rows are left out,
        with a warning.
    ties : {"half", "error", "correct"}
        A pair with equal scores counts one half, not at all, or as ordered correctly.
    sample_weight : array of shape (m,), optional
        A pair weighs the product of its rows' weights, within its edge.

    Returns
    -------
    float

    Examples
    --------
    >>> wmw([2, 2, 1, 0], [0.9, 0.4, 0.5, 0.1], order=[(2, 1), (1, 0)])
    0.75
    """
    check_choice(ties, "ties", ("half", "error", "correct"))
    if isinstance(y, Preferences):
        if sample_weight is not None:
            raise ValueError("sample_weight must be None when y is a Preferences, which has its own.")
        if isinstance(y, OrderGraph):
            return _mean_over_edges(_violations(y, y.check_scores(scores)), ties)
        if not (isinstance(y, Ranking) and y.is_complete) or y.has_queries:
            raise TypeError(
                f"wmw takes the preferences of from_order, got {y!r}; ranking_error takes preferences of all "
                "kinds."
            )
        sample_weight, y = y.weight, y.labels
    class_of_row = as_codes(y, "y")[1]
    scores = as_vector(scores, "scores", class_of_row.size)
    weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", len(scores))
    if isinstance(order, str) and order == "full":
        # Such weights give all edges the same total, so that the mean over pairs is the mean over edges.
        rows = np.ones(len(scores)) if weight is None else weight
        weight = np.divide(
            rows, np.bincount(class_of_row, rows)[class_of_row], where=rows > 0, out=np.zeros_like(rows)
        )
    preferences = Preferences.from_order(y, order, weight)
    return _mean_over_edges(_violations(preferences, scores), ties)


def _mean_over_edges(violations: "_Violations", ties: Ties) -> float:
    if not violations.total.any():
        raise NoPairsError("wmw is undefined: no edge has rows with weights above 0 in both of its classes.")
    return float(np.nanmean(1.0 - _share(violations.errors(ties), violations.total)))


def kendall_tau(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    undefined: Undefined = "skip",
    per_query: bool = False,
) -> float | FloatArray:
    """Kendall's rank correlation tau-b between labels and scores.

        (P - Q) / sqrt(N_y N_s),

    P the concordant and Q the discordant pairs, N_y the pairs with different labels, N_s those with different
    scores; equal to `scipy.stats.kendalltau` of each query. O(m log m). A query is undefined when all of its
    labels or all of its scores are equal.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels, any real numbers. A `Preferences` made from labels has its own queries and their weights;
        weights of its pairs do not enter.
    scores : array of shape (m,)
        Predicted scores, any real numbers.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    undefined : {"skip", "nan"} or float
        An undefined query is left out of the mean, with a warning; or it is NaN, and so is the mean; or it
        counts as this number.
    per_query : bool
        Return one value for each query, in sorted order of the unique `qid`, NaN where undefined.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> kendall_tau([3, 2, 1, 1, 0], [0.9, 0.1, 0.5, 0.3, 0.2], qid=[7, 7, 7, 4, 4], per_query=True)
    array([1.        , 0.33333333])
    """
    labels, scores, query, importance = _columns(y, scores, qid, "kendall_tau")
    discordant, discordant_or_tied, label_pairs = _label_violations(labels, scores, query, None)
    ranked = _Ranked.by(scores, query)
    tied_scores = np.bincount(ranked.run_query, weights=_n_pairs(ranked.run_size))
    score_pairs = _n_pairs(ranked.size) - tied_scores
    concordant = label_pairs - discordant_or_tied
    tau = _share(concordant - discordant, np.sqrt(label_pairs * score_pairs))
    reason = "a query needs two different labels and two different scores"
    return _summary(tau, "kendall_tau", reason, undefined, per_query, importance)


def ndcg(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | None = None,
    gain: Literal["exponential", "linear"] = "exponential",
    undefined: Undefined = "skip",
    per_query: bool = False,
) -> float | FloatArray:
    """Normalised discounted cumulative gain.

        DCG / max DCG,   DCG = sum over ranks r = 1..k of g(y at rank r) / log2(r + 1),

    with g(y) = 2^y - 1 ("exponential", Burges et al. 2005) or g(y) = y ("linear", Järvelin & Kekäläinen
    2002). Rows with equal scores share the mean of their gains, which is the expected value over their random
    orders; "linear" is `sklearn.metrics.ndcg_score` of each query. O(m log m). A query without a label above
    0 is undefined.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels, not negative: a negative gain is a ValueError. Large labels do not overflow. A `Preferences`
        made from labels has its own queries and their weights; weights of its pairs do not enter.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    k : int, optional
        Ranks that count; all by default.
    gain : {"exponential", "linear"}
        The gain g of a label.
    undefined : {"skip", "nan"} or float
        An undefined query is left out of the mean, with a warning; or it is NaN, and so is the mean; or it
        counts as this number: 0 is what the evaluation script of LETOR prints.
    per_query : bool
        Return one value for each query, in sorted order of the unique `qid`, NaN where undefined.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> round(ndcg([3, 0, 1], [0.2, 0.9, 0.5]), 4)
    0.5413
    >>> round(ndcg([3, 0, 1], [0.2, 0.9, 0.5], gain="linear", k=2), 4)
    0.1738
    """
    check_choice(gain, "gain", ("exponential", "linear"))
    _check_k(k)
    labels, scores, query, importance = _columns(y, scores, qid, "ndcg")
    if labels.min() < 0:
        raise ValueError(
            f"y must not be negative for ndcg, got {labels.min():g}: a {gain} gain would be negative. "
            "Shift the labels so that the lowest is 0."
        )
    ranked = _Ranked.by(scores, query)
    gains = _relative_gains(labels, ranked.largest(labels)[query], gain)
    discount = 1.0 / np.log2(ranked.position + 2.0)
    if k is not None:
        discount[ranked.position >= k] = 0.0
    best = gains[np.lexsort((-gains, query))]
    found = ranked.total(discount * ranked.expected(gains))
    value = _share(found, ranked.total(discount * best))
    return _summary(value, "ndcg", "a query needs a label above 0", undefined, per_query, importance)


def average_precision(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant_above: float = 0.0,
    undefined: Undefined = "skip",
    per_query: bool = False,
) -> float | FloatArray:
    """Mean, over the relevant rows, of the precision at the score of that row.

        1/R * sum over relevant rows i of (relevant rows with s >= s_i) / (rows with s >= s_i),

    R the number of relevant rows. Rows with equal scores are one threshold: the value equals
    `sklearn.metrics.average_precision_score` of each query, and does not depend on the order of rows, but
    with ties it is not the expected value over their random orders. O(m log m). A query without relevant rows
    is undefined.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels; a row is relevant when its label is above `relevant_above`. A `Preferences` made from labels
        has its own queries and their weights; weights of its pairs do not enter.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    relevant_above : float
        Labels above this are relevant.
    undefined : {"skip", "nan"} or float
        An undefined query is left out of the mean, with a warning; or it is NaN, and so is the mean; or it
        counts as this number.
    per_query : bool
        Return one value for each query, in sorted order of the unique `qid`, NaN where undefined.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> average_precision([1, 0, 2, 0], [0.9, 0.8, 0.7, 0.1])
    0.8333333333333333
    """
    labels, scores, query, importance = _columns(y, scores, qid, "average_precision")
    ranked = _Ranked.by(scores, query)
    run_hits = ranked.run_total(labels > relevant_above)
    hits_before = np.cumsum(run_hits) - run_hits
    first_run = np.searchsorted(ranked.run_query, np.arange(ranked.start.size))
    hits = hits_before + run_hits - hits_before[first_run][ranked.run_query]
    rows = ranked.run_start + ranked.run_size - ranked.start[ranked.run_query]
    relevant = np.add.reduceat(run_hits, first_run)
    value = _share(np.add.reduceat(run_hits * (hits / rows), first_run), relevant)
    return _summary(value, "average_precision", _NO_RELEVANT, undefined, per_query, importance)


def reciprocal_rank(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    relevant_above: float = 0.0,
    undefined: Undefined = "skip",
    per_query: bool = False,
) -> float | FloatArray:
    """One over the rank of the first relevant row.

        E[1 / (a + J)],   P(J = j) = C(t - j, r - 1) / C(t, r),

    where the best-scored relevant row is one of t rows with equal scores, r of them relevant, below a higher
    rows: the expected value over the random orders of the tied rows, 1 / (a + 1) without ties. O(m log m). A
    query without relevant rows is undefined.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels; a row is relevant when its label is above `relevant_above`. A `Preferences` made from labels
        has its own queries and their weights; weights of its pairs do not enter.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    relevant_above : float
        Labels above this are relevant.
    undefined : {"skip", "nan"} or float
        An undefined query is left out of the mean, with a warning; or it is NaN, and so is the mean; or it
        counts as this number.
    per_query : bool
        Return one value for each query, in sorted order of the unique `qid`, NaN where undefined.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> reciprocal_rank([0, 1, 0, 1], [0.9, 0.5, 0.8, 0.1])
    0.3333333333333333
    >>> reciprocal_rank([0, 1], [0.5, 0.5])
    0.75
    """
    labels, scores, query, importance = _columns(y, scores, qid, "reciprocal_rank")
    ranked = _Ranked.by(scores, query)
    run_hits = ranked.run_total(labels > relevant_above)
    hit_runs = np.flatnonzero(run_hits)
    found, first = np.unique(ranked.run_query[hit_runs], return_index=True)
    run = hit_runs[first]
    above = ranked.run_start[run] - ranked.start[found]
    value = np.full(ranked.start.size, np.nan)
    value[found] = _expected_reciprocal(above, ranked.run_size[run], run_hits[run])
    return _summary(value, "reciprocal_rank", _NO_RELEVANT, undefined, per_query, importance)


def precision(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | None = 10,
    relevant_above: float = 0.0,
    per_query: bool = False,
) -> float | FloatArray:
    """Share of relevant rows among the k best-scored.

        (relevant rows at ranks 1..k) / k,

    with the expected value over their random orders for rows with equal scores: of r relevant among t tied
    rows, n of which fall within k, n r / t count. The divisor is k also where a query has fewer rows. O(m log
    m). Every query is defined; one without relevant rows has 0.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels; a row is relevant when its label is above `relevant_above`. A `Preferences` made from labels
        has its own queries and their weights; weights of its pairs do not enter.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    k : int or None
        Ranks that count; None stands for the number of rows of each query.
    relevant_above : float
        Labels above this are relevant.
    per_query : bool
        Return one value for each query, in sorted order of the unique `qid`.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> precision([1, 0, 1, 1], [0.9, 0.8, 0.5, 0.5], k=3)
    0.6666666666666666
    """
    _check_k(k)
    labels, scores, query, importance = _columns(y, scores, qid, "precision")
    ranked = _Ranked.by(scores, query)
    run_hits = ranked.run_total(labels > relevant_above)
    depth = ranked.size if k is None else np.full(ranked.size.size, k)
    above = ranked.run_start - ranked.start[ranked.run_query]
    within = np.clip(depth[ranked.run_query] - above, 0, ranked.run_size)
    value = np.bincount(ranked.run_query, weights=within * run_hits / ranked.run_size) / depth
    return value if per_query else float(np.average(value, weights=importance))


_NO_RELEVANT = "a query needs a row with a label above relevant_above"


@dataclass(frozen=True)
class _Ranked:
    """Rows sorted by query, then by falling score. A run is the rows of one query that share a score."""

    order: IntArray  # row at each sorted place
    start: IntArray  # first place of each query
    size: IntArray  # rows of each query
    run_start: IntArray  # first place of each run
    run_size: IntArray
    run_query: IntArray

    @classmethod
    def by(cls, scores: FloatArray, query: IntArray) -> "_Ranked":
        order = np.lexsort((-scores, query))
        query, scores = query[order], scores[order]
        new_query = np.diff(query, prepend=-1) != 0
        new_run = new_query.copy()
        new_run[1:] |= scores[1:] != scores[:-1]
        start, run_start = np.flatnonzero(new_query), np.flatnonzero(new_run)
        size, run_size = (np.diff(first, append=order.size) for first in (start, run_start))
        return cls(order, start, size, run_start, run_size, query[run_start])

    @property
    def position(self) -> IntArray:
        """Rank of each sorted place within its query, 0 is best."""
        return np.arange(self.order.size) - np.repeat(self.start, self.size)

    def total(self, sorted_values: FloatArray) -> FloatArray:
        """Sum of each query."""
        return np.add.reduceat(sorted_values, self.start)

    def largest(self, values: FloatArray) -> FloatArray:
        """Greatest value of each query."""
        return np.maximum.reduceat(values[self.order], self.start)

    def run_total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of each run; a mask is counted."""
        kind = np.intp if values.dtype == bool else values.dtype
        return np.add.reduceat(values[self.order], self.run_start, dtype=kind)

    def expected(self, values: FloatArray) -> FloatArray:
        """Expected value at each sorted place when tied rows are in random order: the mean of the run."""
        return np.repeat(self.run_total(values) / self.run_size, self.run_size)


def _relative_gains(labels: FloatArray, largest: FloatArray, gain: str) -> FloatArray:
    """Gains divided by a constant of the query, which cancels in a ratio and keeps 2^y from overflowing."""
    if gain == "linear":
        return labels / np.where(largest > 0, largest, 1.0)
    # 2^-largest (2^y - 1), with no cancellation for small y.
    return np.exp2(labels - largest) * -np.expm1(-labels * np.log(2.0))


def _expected_reciprocal(above: IntArray, size: IntArray, relevant: IntArray) -> FloatArray:
    """E[1 / (above + J)], J the place of the first of `relevant` rows among `size` rows in random order."""
    start = np.cumsum(size) - size
    place = np.arange(size.sum()) - np.repeat(start, size)
    left = np.repeat(size, size) - place
    relevant = np.repeat(relevant, size)
    missed_before = np.where(place > 0, np.maximum(1.0 - relevant / (left + 1), 0.0), 1.0)
    first_here = _running_product(missed_before, place) * np.minimum(relevant / left, 1.0)
    return np.add.reduceat(first_here / (np.repeat(above, size) + place + 1), start)


def _running_product(factors: FloatArray, place: IntArray) -> FloatArray:
    """Cumulative product that starts anew wherever `place` is 0, in O(m log m)."""
    product, step = factors, 1
    # Invariant: product[i] holds the last min(step, place[i] + 1) factors up to i.
    while step <= place.max(initial=0):
        product = product.copy()
        inside = np.flatnonzero(place >= step)
        product[inside] *= product[inside - step]
        step *= 2
    return product


class _Violations(NamedTuple):
    """Weights of pairs, for each query (or edge of an order graph)."""

    wrong: FloatArray
    wrong_or_tied: FloatArray
    total: FloatArray

    def errors(self, ties: Ties) -> FloatArray:
        if ties == "half":
            return (self.wrong + self.wrong_or_tied) / 2
        return self.wrong_or_tied if ties == "error" else self.wrong


def _query_errors(
    preferences: Preferences, scores: ArrayLike, ties: Ties
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight of the errors, of all pairs, and in the mean, for each query that has rows."""
    violations = _violations(preferences, as_vector(scores, "scores", len(preferences)))
    wrong, total = preferences.by_query(violations.errors(ties)), preferences.by_query(violations.total)
    return wrong, total, preferences.query_importance()


def _label_violations(
    labels: FloatArray, scores: FloatArray, query: IntArray, sample_weight: ArrayLike | None
) -> _Violations:
    """`_violations` of labels within queries, 0 for every query when no query has a pair."""
    try:
        preferences = Preferences.from_scores(labels, query if query.max() > 0 else None, sample_weight)
    except NoPairsError:
        none = np.zeros(query.max() + 1)
        return _Violations(none, none, none)
    return _violations(preferences, scores)


def _violations(preferences: Preferences, scores: FloatArray) -> _Violations:
    return _Violations(*preferences.misordered_weight(scores), preferences.total_weight())


def _n_pairs(n: IntArray) -> FloatArray:
    return n * (n - 1.0) / 2


def _share(part: NDArray[Any], whole: NDArray[Any]) -> FloatArray:
    """Part / whole, NaN where whole is 0; rounding never takes it beyond 1."""
    return np.clip(np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0), -1.0, 1.0)


def _summary(
    values: FloatArray,
    measure: str,
    reason: str,
    undefined: Undefined,
    per_query: bool,
    importance: FloatArray | None = None,
) -> float | FloatArray:
    """All values, or their mean with the undefined ones treated as `undefined` asks."""
    if isinstance(undefined, Real) and not isinstance(undefined, bool):
        values = np.where(np.isnan(values), float(undefined), values)
    else:
        check_choice(undefined, "undefined", ("skip", "nan"))
    if per_query:
        return values
    importance = np.ones(values.size) if importance is None else importance
    missing = np.isnan(values)
    if undefined == "skip" and not importance[~missing].any():
        raise ValueError(f"{measure} is undefined for all queries: {reason}.")
    if undefined == "skip" and missing.any():
        from sklearn.exceptions import UndefinedMetricWarning

        warnings.warn(
            f"{measure} is undefined for {missing.sum()} of {values.size} queries ({reason}); "
            "they are left out of the mean.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
        values, importance = values[~missing], importance[~missing]
    return float(_share(np.atleast_1d(importance @ values), np.atleast_1d(importance.sum()))[0])


class _Columns(NamedTuple):
    """Checked labels and scores of the rows, and the number of each row's query in sorted order."""

    labels: FloatArray
    scores: FloatArray
    query: IntArray
    importance: FloatArray | None  # of each query in the mean


def _columns(y: ArrayLike | Preferences, scores: ArrayLike, qid: ArrayLike | None, measure: str) -> _Columns:
    if isinstance(y, Preferences):
        return _columns_of_preferences(y, scores, qid, measure)
    labels = as_labels(y, "y")
    if labels.size == 0:
        raise ValueError("y is empty; it needs at least one row.")
    query = np.zeros(labels.size, np.int64) if qid is None else as_codes(qid, "qid", labels.size)[1]
    return _Columns(labels, as_vector(scores, "scores", labels.size), query, None)


def _columns_of_preferences(
    y: Preferences, scores: ArrayLike, qid: ArrayLike | None, measure: str
) -> _Columns:
    """Take labels, queries and their weights; weights of pairs have no meaning for a measure of places."""
    if qid is not None:
        raise ValueError("qid must be None when y is a Preferences, which has its own.")
    if y.labels is None or not y.orders_labels:
        why = "have none" if y.labels is None else "have censored rows"
        raise TypeError(
            f"{measure} needs a label for each row, and {y!r} {why}; ranking_error takes them as they are."
        )
    query = np.unique(y.groups(), return_inverse=True)[1]
    return _Columns(y.labels, y.check_scores(scores), query, y.query_importance())


def _check_k(k: Any) -> None:
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k must be None or a whole number from 1 up, got {k!r}.")
