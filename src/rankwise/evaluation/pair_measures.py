"""Measures of pairs: fractions in the wrong order, log loss, and rank correlation."""

from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from rankwise.core.checks import as_array, as_codes, as_vector, as_weights, check_choice
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.ranked_rows import RankedRows, Undefined, columns_of, share, summary
from rankwise.losses import Logistic
from rankwise.losses.pair_sums import misordered_weight
from rankwise.preferences import NoPairsError, Preferences, as_preferences

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
    """Fraction of the pairs of a query that the scores put in the wrong order.

        1/N * sum over pairs y_i < y_j of [s_i > s_j],   N the number of such pairs,

    equation (1) of Airola et al. (2011), with a choice for s_i = s_j. For two classes it is 1 - AUC.
    O(m log m); a query without two different labels has no pairs and is undefined.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels, any real numbers. A `Preferences` has its own queries and weights: `qid` and `sample_weight`
        must be None. Its query weights enter the mean; explicit pairs or an order graph are one query.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    sample_weight : array of shape (m,), optional
        The weight of a pair is the product of those of its two rows.
    ties : {"half", "error", "correct"}
        The error of a pair with equal scores: 1/2, 1 or 0. Airola et al. count 0, Pahikkala et al. 1.
    average : {"queries", "pairs"}
        Mean of the errors of queries, or the fraction among the pairs of all queries.
    undefined : {"skip", "nan"} or float
        The value of a query without pairs: left out of the mean, with a warning; NaN, as is the mean of
        queries; or this number. If no query has a pair, "skip" raises a ValueError and "nan" gives NaN.
    per_query : bool
        Return one value per query, in sorted order of the unique `qid`, NaN if undefined.

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
        violations = label_violations(y, scores, qid, sample_weight)
        wrong, total, importance = violations.errors(ties), violations.total, np.ones(len(violations.total))
    if average == "pairs" and not per_query:
        wrong, total = (np.array([importance @ column]) for column in (wrong, total))
        importance = np.ones(1)
    reason = "a query needs two rows with different labels and weights above 0"
    return summary(share(wrong, total), "ranking_error", reason, undefined, per_query, importance)


def disagreement_error(preferences: Preferences, scores: ArrayLike, *, ties: Ties = "half") -> float:
    """Fraction of the given preferences that the scores contradict.

        1/W * sum over pairs (i better than j) of w_ij [s_i < s_j],   W the sum of the weights w_ij,

    equation (1) of Pahikkala et al. (2009), who count a tie as an error. Magnitudes are ignored.
    O(m log m + l) for l explicit pairs, O(m log m) for the pairs of a ranking.

    Parameters
    ----------
    preferences : Preferences
        Such as `Preferences.from_pairs`, for explicit pairs.
    scores : array of shape (m,)
        Predicted scores, higher is better, one per row that the pairs refer to.
    ties : {"half", "error", "correct"}
        The error of a pair with equal scores: 1/2, 1 or 0.

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
    violations = violations_of(preferences, as_vector(scores, "scores", len(preferences)))
    if not violations.total.any():
        raise ValueError("disagreement_error is undefined: no pair has a positive weight.")
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
    """Mean negative log-likelihood of the pairs of a query, for scores that are log odds.

        1/N * sum over pairs y_i > y_j of log(1 + exp(-(s_i - s_j))),   N the number of such pairs,

    with 1 / (1 + exp(-(s_i - s_j))) the predicted probability that row i is above row j. The scores must be
    log odds, such as those of `RankLogistic`. A coin flip has log 2 = 0.693. It is a proper scoring rule: it
    rewards both the right order and calibrated probabilities. O(m). Queries without two different labels are
    left out of the mean.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        As in `ranking_error`.
    scores : array of shape (m,)
        Log odds.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    sample_weight : array of shape (m,), optional
        The weight of a pair is the product of those of its two rows.
    average : {"queries", "pairs"}
        Mean of the losses of queries, or the mean over the pairs of all queries.
    per_query : bool
        Return one value per query, in sorted order of the unique `qid`, NaN if undefined.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> round(pair_log_loss([2, 1, 0], [1.0, 0.0, 0.0]), 4)
    0.4399
    """
    if not per_query:
        return Logistic(as_preferences(y, qid, sample_weight), average=average).value(as_array(scores))
    try:
        preferences = as_preferences(y, qid, sample_weight)
    except NoPairsError:
        return np.full(columns_of(y, scores, qid, "pair_log_loss").query.max() + 1, np.nan)
    found = as_vector(scores, "scores", preferences.n_rows)
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
    """Generalized Wilcoxon-Mann-Whitney statistic over an order graph of classes.

        1/n_edges * sum over edges (h, l) of 1/(m_h m_l) * sum over i in h, j in l of [s_i > s_j],

    the statistic of section 1.1 of Fung et al. (2005), divided by the number of edges so that a perfect
    ranking has 1. For two classes it is the area under the ROC curve. O(m log m), and O(m_h + m_l) per
    edge.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Class of each row; or a `Preferences.from_order`, with its own edges and weights.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    order : {"full", "chain"}, list of (higher, lower) labels, or networkx.DiGraph
        Which class should be above which, as in `Preferences.from_order`: each class above every lower one,
        above its lower neighbor only, or the given edges. Edges with a class that has no rows are left out,
        with a warning.
    ties : {"half", "error", "correct"}
        The value of a pair with equal scores: 1/2, 0 or 1.
    sample_weight : array of shape (m,), optional
        Within an edge, the weight of a pair is the product of those of its two rows.

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
        if y.edge_codes is not None:
            return _mean_over_edges(violations_of(y, as_vector(scores, "scores", y.n_rows)), ties)
        if not y.is_complete or y.has_queries:
            raise TypeError(
                f"wmw needs a Preferences.from_order, got {y!r}; ranking_error accepts any preferences."
            )
        sample_weight, y = y.weight, cast(FloatArray, y.labels)
    class_of_row = as_codes(y, "y")[1]
    scores = as_vector(scores, "scores", class_of_row.size)
    weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", len(scores))
    if isinstance(order, str) and order == "full":
        # With these weights all edges have the same total, so the mean over pairs is the mean over edges.
        rows = np.ones(len(scores)) if weight is None else weight
        weight = np.divide(
            rows, np.bincount(class_of_row, rows)[class_of_row], where=rows > 0, out=np.zeros_like(rows)
        )
    preferences = Preferences.from_order(y, order, weight)
    return _mean_over_edges(violations_of(preferences, scores), ties)


def _mean_over_edges(violations: Violations, ties: Ties) -> float:
    if not violations.total.any():
        raise NoPairsError("wmw is undefined: no edge has rows of positive weight in both of its classes.")
    return float(np.nanmean(1.0 - share(violations.errors(ties), violations.total)))


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
    scores; equal to `scipy.stats.kendalltau` per query. O(m log m). A query is undefined if all of its labels
    or all of its scores are equal.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels, any real numbers. A `Preferences` made from labels has its own queries and their weights;
        weights of pairs are ignored.
    scores : array of shape (m,)
        Predicted scores, any real numbers.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    undefined : {"skip", "nan"} or float
        The value of an undefined query: left out of the mean, with a warning; NaN, as is the mean; or this
        number.
    per_query : bool
        Return one value per query, in sorted order of the unique `qid`, NaN if undefined.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> kendall_tau([3, 2, 1, 1, 0], [0.9, 0.1, 0.5, 0.3, 0.2], qid=[7, 7, 7, 4, 4], per_query=True)
    array([1.        , 0.33333333])
    """
    labels, scores, query, importance = columns_of(y, scores, qid, "kendall_tau")
    tau = tau_of(violations_within(labels, scores, query), RankedRows.by(scores, query))
    reason = "a query needs two different labels and two different scores"
    return summary(tau, "kendall_tau", reason, undefined, per_query, importance)


def tau_of(violations: Violations, ranked: RankedRows) -> FloatArray:
    """Return Kendall's tau-b per query, from the numbers of pairs of labels and the ranked lists."""
    tied_scores = np.bincount(ranked.run_query, weights=_n_pairs(ranked.run_size))
    score_pairs = _n_pairs(ranked.size) - tied_scores
    concordant = violations.total - violations.wrong_or_tied
    return share(concordant - violations.wrong, np.sqrt(violations.total * score_pairs))


def _n_pairs(n: IntArray) -> FloatArray:
    return n * (n - 1.0) / 2


def _query_errors(
    preferences: Preferences, scores: ArrayLike, ties: Ties
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return per query the weight of the errors, of all pairs, and in the mean."""
    violations = violations_of(preferences, as_vector(scores, "scores", len(preferences)))
    wrong, total = preferences.by_query(violations.errors(ties)), preferences.by_query(violations.total)
    return wrong, total, preferences.query_importance()
