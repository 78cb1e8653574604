"""Measures of ranked lists, in which the first positions have the largest weights."""

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import check_choice
from rankwise.core.types import FloatArray, IntArray
from rankwise.evaluation.ranked_rows import RankedRows, Undefined, columns_of, share, summary
from rankwise.preferences import Preferences


def check_gains(lowest: float, gain: str) -> None:
    """Refuse negative labels, whose gain would be negative."""
    if lowest < 0:
        raise ValueError(
            f"y must not be negative for ndcg, got {lowest:g}: its {gain} gain would be negative. "
            "Shift the labels so that the lowest is 0."
        )


def relative_gains(labels: FloatArray, largest: FloatArray, gain: str) -> FloatArray:
    """Gains divided by a constant per query, which cancels in the ratio and prevents overflow of 2^y."""
    if gain == "linear":
        return labels / np.where(largest > 0, largest, 1.0)
    # 2^-largest (2^y - 1), without cancellation for small y.
    return np.exp2(labels - largest) * -np.expm1(-labels * np.log(2.0))


def discounts(position: NDArray[Any], k: int | None) -> FloatArray:
    """Return 1 / log2(rank + 1), 0 from rank k + 1 on and for rows that are not in the list."""
    return np.where(position < (np.inf if k is None else k), 1.0 / np.log2(position + 2.0), 0.0)


def expected_reciprocal(above: IntArray, size: IntArray, relevant: IntArray) -> FloatArray:
    """E[1 / (above + J)], J the position of the first of `relevant` among `size` rows in random order."""
    start = np.cumsum(size) - size
    place = np.arange(size.sum()) - np.repeat(start, size)
    left = np.repeat(size, size) - place
    relevant = np.repeat(relevant, size)
    missed_before = np.where(place > 0, np.maximum(1.0 - relevant / (left + 1), 0.0), 1.0)
    first_here = _running_product(missed_before, place) * np.minimum(relevant / left, 1.0)
    return np.add.reduceat(first_here / (np.repeat(above, size) + place + 1), start)


def _running_product(factors: FloatArray, place: IntArray) -> FloatArray:
    """Cumulative product that restarts wherever `place` is 0, in O(m log m)."""
    product, step = factors, 1
    # Invariant: product[i] is the product of the last min(step, place[i] + 1) factors up to i.
    while step <= place.max(initial=0):
        product = product.copy()
        inside = np.flatnonzero(place >= step)
        product[inside] *= product[inside - step]
        step *= 2
    return product


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
    """Normalized discounted cumulative gain.

        DCG / max DCG,   DCG = sum over ranks r = 1..k of g(y at rank r) / log2(r + 1),

    with g(y) = 2^y - 1 ("exponential", Burges et al. 2005) or g(y) = y ("linear", Järvelin & Kekäläinen
    2002). Tied rows have the mean of their gains, the expected value over their random orders; "linear" is
    `sklearn.metrics.ndcg_score` per query. O(m log m). A query without a label above 0 is undefined.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Nonnegative labels, of any size. A `Preferences` made from labels has its own queries and their
        weights; weights of pairs are ignored.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    k : int, optional
        The number of ranks that count; by default all.
    gain : {"exponential", "linear"}
        The gain g of a label.
    undefined : {"skip", "nan"} or float
        The value of an undefined query: left out of the mean, with a warning; NaN, as is the mean; or this
        number, such as 0 in the evaluation script of LETOR.
    per_query : bool
        Return one value per query, in sorted order of the unique `qid`, NaN if undefined.

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
    value, importance = _of_lists(y, scores, qid, of_lists=ndcg_of_lists, name="ndcg", k=k, gain=gain)
    return summary(value, "ndcg", "a query needs a label above 0", undefined, per_query, importance)


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

    R the number of relevant rows. Tied rows are one threshold: the value equals
    `sklearn.metrics.average_precision_score` per query, and does not depend on the order of rows, but with
    ties it is not the expected value over their random orders. O(m log m). A query without relevant rows
    is undefined.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels; a row is relevant if its label is above `relevant_above`. A `Preferences` made from labels
        has its own queries and their weights; weights of pairs are ignored.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    relevant_above : float
        Labels above this are relevant.
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
    >>> average_precision([1, 0, 2, 0], [0.9, 0.8, 0.7, 0.1])
    0.8333333333333333
    """
    value, importance = _of_lists(
        y,
        scores,
        qid,
        of_lists=average_precision_of_lists,
        name="average_precision",
        relevant_above=relevant_above,
    )
    return summary(value, "average_precision", _NO_RELEVANT, undefined, per_query, importance)


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

    if the relevant row with the highest score is one of t tied rows, r of them relevant, below a other rows:
    the expected value over the random orders of the tied rows, 1 / (a + 1) without ties. O(m log m). A
    query without relevant rows is undefined.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels; a row is relevant if its label is above `relevant_above`. A `Preferences` made from labels
        has its own queries and their weights; weights of pairs are ignored.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    relevant_above : float
        Labels above this are relevant.
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
    >>> reciprocal_rank([0, 1, 0, 1], [0.9, 0.5, 0.8, 0.1])
    0.3333333333333333
    >>> reciprocal_rank([0, 1], [0.5, 0.5])
    0.75
    """
    value, importance = _of_lists(
        y,
        scores,
        qid,
        of_lists=reciprocal_rank_of_lists,
        name="reciprocal_rank",
        relevant_above=relevant_above,
    )
    return summary(value, "reciprocal_rank", _NO_RELEVANT, undefined, per_query, importance)


def precision(
    y: ArrayLike | Preferences,
    scores: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | None = 10,
    relevant_above: float = 0.0,
    per_query: bool = False,
) -> float | FloatArray:
    """Fraction of relevant rows among the k rows with the highest scores.

        (relevant rows at ranks 1..k) / k,

    and for tied rows the expected value over their random orders: r relevant among t tied rows, n of which
    are within k, count n r / t. The divisor is k even if a query has fewer rows. O(m log m). It is defined
    for every query, and 0 without relevant rows.

    Parameters
    ----------
    y : array of shape (m,), or Preferences
        Labels; a row is relevant if its label is above `relevant_above`. A `Preferences` made from labels
        has its own queries and their weights; weights of pairs are ignored.
    scores : array of shape (m,)
        Predicted scores, higher is better.
    qid : array of shape (m,), optional
        Query of each row, of any type and in any order. Without it all rows are one query.
    k : int or None
        The number of ranks that count; None for the number of rows of each query.
    relevant_above : float
        Labels above this are relevant.
    per_query : bool
        Return one value per query, in sorted order of the unique `qid`.

    Returns
    -------
    float, or array of shape (n_queries,)

    Examples
    --------
    >>> precision([1, 0, 1, 1], [0.9, 0.8, 0.5, 0.5], k=3)
    0.6666666666666666
    """
    _check_k(k)
    value, importance = _of_lists(
        y,
        scores,
        qid,
        of_lists=precision_of_lists,
        name="precision",
        k=k,
        relevant_above=relevant_above,
    )
    return value if per_query else float(np.average(value, weights=importance))


_NO_RELEVANT = "a query needs a row with a label above relevant_above"


def _of_lists(
    y: Any, scores: Any, qid: Any, *, of_lists: Any, name: str, **options: Any
) -> tuple[FloatArray, FloatArray | None]:
    labels, scores, query, importance = columns_of(y, scores, qid, name)
    return of_lists(labels, RankedRows.by(scores, query), **options), importance


def ndcg_of_lists(
    labels: FloatArray, ranked: RankedRows, *, k: int | None = None, gain: str = "exponential"
) -> FloatArray:
    """NDCG of ranked lists, NaN without a label above 0; labels that are NaN have no gain."""
    check_gains(np.min(labels, initial=0.0, where=~np.isnan(labels)), gain)
    labels, query = np.where(labels > 0, labels, 0.0), ranked.query
    gains = relative_gains(labels, ranked.largest(labels)[query], gain)
    best = gains[np.lexsort((-gains, query))]
    found = ranked.total(discounts(ranked.position, k) * ranked.expected(gains))
    return share(found, ranked.total(discounts(ranked.ideal, k) * best))


def average_precision_of_lists(
    labels: FloatArray, ranked: RankedRows, *, relevant_above: float = 0.0
) -> FloatArray:
    """Average precision of ranked lists, NaN without relevant rows."""
    run_hits = ranked.run_total(labels > relevant_above)
    hits_before = np.cumsum(run_hits) - run_hits
    first_run = np.searchsorted(ranked.run_query, np.arange(ranked.start.size))
    hits = hits_before + run_hits - hits_before[first_run][ranked.run_query]
    rows = ranked.run_above + ranked.run_size
    relevant = np.add.reduceat(run_hits, first_run)
    return share(np.add.reduceat(run_hits * (hits / rows), first_run), relevant)


def reciprocal_rank_of_lists(
    labels: FloatArray, ranked: RankedRows, *, relevant_above: float = 0.0
) -> FloatArray:
    """Expected reciprocal rank of ranked lists, NaN without relevant rows."""
    run_hits = ranked.run_total(labels > relevant_above)
    hit_runs = np.flatnonzero(run_hits)
    found, first = np.unique(ranked.run_query[hit_runs], return_index=True)
    run = hit_runs[first]
    value = np.full(ranked.start.size, np.nan)
    value[found] = expected_reciprocal(ranked.run_above[run], ranked.run_size[run], run_hits[run])
    return value


def precision_of_lists(
    labels: FloatArray, ranked: RankedRows, *, k: int | None = 10, relevant_above: float = 0.0
) -> FloatArray:
    """Precision of ranked lists."""
    run_hits = ranked.run_total(labels > relevant_above)
    depth = ranked.size if k is None else np.full(ranked.size.size, k)
    within = np.clip(depth[ranked.run_query] - ranked.run_above, 0, ranked.run_size)
    return np.bincount(ranked.run_query, weights=within * run_hits / ranked.run_size) / depth


def _check_k(k: Any) -> None:
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise ValueError(f"k must be None or a positive integer, got {k!r}.")
