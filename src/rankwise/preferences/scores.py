"""Rankings by real-valued labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_codes, as_labels, as_vector, as_weights, check_choice, is_constant
from rankwise.core.types import FloatVector, IntVector
from rankwise.preferences.base import Preferences
from rankwise.preferences.ranking import Ranking

__all__ = ["as_preferences", "from_scores", "qid_from_sizes"]


def qid_from_sizes(sizes: ArrayLike) -> IntVector:
    """Return the query of each row from the sizes of queries, the `group` of LightGBM and XGBoost.

    Parameters
    ----------
    sizes : array of int
        The number of rows of each query, in the order of the rows.

    Returns
    -------
    qid : array of shape (n_rows,)

    Examples
    --------
    >>> qid_from_sizes([2, 3])
    array([0, 0, 1, 1, 1])
    """
    numbers = as_vector(sizes, "sizes")
    if (numbers < 0).any() or (numbers % 1 != 0).any():
        raise ValueError("sizes must be whole numbers of rows, one per query.")
    return np.repeat(np.arange(len(numbers)), numbers.astype(np.int64))


def from_scores(
    y: ArrayLike,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    query_weight: ArrayLike | None = None,
    pair_weight: str | ArrayLike | None = None,
) -> Ranking:
    """Rank rows by real-valued scores, over all rows or within each query.

    Parameters
    ----------
    y : array of shape (n_rows,)
        Any real numbers, or an ordered categorical column; a row should be above the rows of its query with a
        lower label.
    qid : array of shape (n_rows,), optional
        The query of each row: any type, any order.
    sample_weight : array of shape (n_rows,), optional
        A pair weighs the product of its rows' weights, so a row of weight 2 equals the row given twice
        and a row of weight 0 is not there. A weight that is constant within a query cancels under
        `average="queries"`: use `query_weight` for that.
    query_weight : array of shape (n_rows,), optional
        What each query counts in the mean over queries; one value per row, constant within a query.
    pair_weight : None, "difference" or array of gains of shape (n_rows,)
        With "difference", a pair also weighs the difference of its labels; with an array, the
        difference of its gains, which must not fall as the label rises.

    Examples
    --------
    >>> Preferences.from_scores([1.5, 0.2, 7.0]).n_pairs
    3
    """
    labels = as_labels(y, "y")
    n_rows = len(labels)
    query = None if qid is None else as_codes(qid, "qid", n_rows)[1]
    weight = None if sample_weight is None else as_weights(sample_weight, "sample_weight", n_rows)
    importance = None
    if query_weight is not None:
        importance = as_weights(query_weight, "query_weight", n_rows)
        _check_constant(importance, query)
    ranking = Ranking(labels, query, weight=weight, query_weight=importance)
    ranking.require_pairs()
    if pair_weight is not None:
        ranking = ranking.replaced(gain=_gains(pair_weight, ranking))
    return ranking


def as_preferences(
    y: Any, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> Preferences:
    """Return preferences as they are, with their own queries and weights, or the order of labels."""
    if not isinstance(y, Preferences):
        return from_scores(y, qid, sample_weight)
    if qid is not None or sample_weight is not None:
        raise ValueError("qid and sample_weight must be None when y is a Preferences, which has its own.")
    return y


def _check_constant(query_weight: FloatVector, query: NDArray[np.int64] | None) -> None:
    if not is_constant(query_weight, np.zeros(len(query_weight), dtype=np.int64) if query is None else query):
        raise ValueError("query_weight must be constant within each query.")


def _gains(pair_weight: str | ArrayLike, ranking: Ranking) -> FloatVector:
    if isinstance(pair_weight, str):
        check_choice(pair_weight, "pair_weight", ("difference",))
        return ranking.labels
    gain = as_vector(pair_weight, "pair_weight", ranking.n_rows)
    index = ranking.order
    position = np.arange(len(index.row))
    query_start = index.query_begin[index.query_of_position]
    begin = np.flatnonzero(position == query_start + index.level_begin)
    highest = np.maximum.reduceat(gain[index.row], begin)
    lowest = np.minimum.reduceat(gain[index.row], begin)
    same_query = index.level_begin[begin[1:]] > 0
    if (highest[:-1] > lowest[1:])[same_query].any():
        raise ValueError("pair_weight: within a query a gain must not fall as the label rises.")
    return gain
