"""Checked labels, scores and queries, rows sorted by score, and means over queries."""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.core.checks import as_codes, as_labels, as_vector, check_choice
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, IntArray
from rankwise.preferences import Preferences

Undefined = Literal["skip", "nan"] | float


def share(part: NDArray[Any], whole: NDArray[Any]) -> FloatArray:
    """Part / whole, NaN if whole is 0, clipped to [-1, 1] against rounding."""
    return np.clip(np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0), -1.0, 1.0)


def summary(
    values: FloatArray,
    measure: str,
    reason: str,
    undefined: Undefined,
    per_query: bool,
    importance: FloatArray | None = None,
) -> float | FloatArray:
    """Return the values per query, or their mean with `undefined` as the rule for NaN."""
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
            f"{measure} is undefined for {missing.sum()} of {plural(values.size, 'query')} ({reason}); "
            "the mean leaves undefined values out.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
        values, importance = values[~missing], importance[~missing]
    if not importance.sum() > 0:
        return float("nan")
    return float(np.clip(importance @ values / importance.sum(), values.min(), values.max()))


def check_undefined(undefined: Any) -> None:
    """Refuse a value of undefined queries that is neither "skip" nor a finite number."""
    is_number = isinstance(undefined, Real) and not isinstance(undefined, bool)
    if undefined != "skip" and not (is_number and np.isfinite(float(undefined))):
        raise ValueError(f"undefined must be 'skip' or a number; got {undefined!r}.")


class Columns(NamedTuple):
    """Checked labels and scores of the rows, and the number of each row's query in sorted order."""

    labels: FloatArray
    scores: FloatArray
    query: IntArray
    importance: FloatArray | None  # of each query in the mean


def columns_of(y: ArrayLike | Preferences, scores: ArrayLike, qid: ArrayLike | None, measure: str) -> Columns:
    """Check labels, or preferences that have labels, with scores and queries."""
    if isinstance(y, Preferences):
        return _of_preferences(y, scores, qid, measure)
    labels = as_labels(y, "y")
    if labels.size == 0:
        raise ValueError("y is empty; it must have at least one row.")
    query = np.zeros(labels.size, np.int64) if qid is None else as_codes(qid, "qid", labels.size)[1]
    return Columns(labels, as_vector(scores, "scores", labels.size), query, None)


def _of_preferences(y: Preferences, scores: ArrayLike, qid: ArrayLike | None, measure: str) -> Columns:
    """Return labels, queries and weights of queries; weights of pairs do not apply to ranked lists."""
    if qid is not None:
        raise ValueError("qid must be None when y is a Preferences, which has its own.")
    labels = require_labels(y.labels if y.orders_labels else None, y, measure)
    query = np.unique(y.groups(), return_inverse=True)[1]
    return Columns(labels, as_vector(scores, "scores", y.n_rows), query, y.query_importance())


def require_labels(labels: FloatArray | None, y: Any, measure: str) -> FloatArray:
    """Return labels; refuse preferences that are not the order of labels."""
    if labels is None:
        why = "has none" if y.labels is None else "has censored rows"
        raise TypeError(
            f"{measure} needs a label per row, but {y!r} {why}; ranking_error accepts any preferences."
        )
    return labels


@dataclass(frozen=True)
class RankedRows:
    """Rows sorted by query, then by decreasing score. A run is the rows of one query with equal scores."""

    order: IntArray  # row at each sorted position
    start: IntArray  # first position of each query
    size: IntArray  # number of rows per query
    run_start: IntArray  # first position of each run
    run_size: IntArray
    run_query: IntArray
    run_above: NDArray[
        Any
    ]  # number of rows above it in its query; infinite for rows that are not in the list

    @classmethod
    def by(cls, scores: FloatArray, query: IntArray) -> "RankedRows":
        """Sort rows by score within queries; a score of minus infinity means: not in the list."""
        order = np.lexsort((-scores, query))
        query, scores = query[order], scores[order]
        new_query = np.diff(query, prepend=-1) != 0
        new_run = new_query.copy()
        new_run[1:] |= scores[1:] != scores[:-1]
        start, run_start = np.flatnonzero(new_query), np.flatnonzero(new_run)
        size, run_size = (np.diff(first, append=order.size) for first in (start, run_start))
        above: Any = run_start - start[query[run_start]]
        if np.isneginf(missing := scores[run_start]).any():
            above = np.where(np.isneginf(missing), np.inf, above)
        return cls(order, start, size, run_start, run_size, query[run_start], above)

    @property
    def position(self) -> NDArray[Any]:
        """Rank of each sorted row within its query, 0 is best; infinite for rows that are not in the list."""
        position = self.ideal
        if self.run_above.dtype.kind == "i":
            return position
        return np.where(np.isinf(np.repeat(self.run_above, self.run_size)), np.inf, position)

    @property
    def ideal(self) -> IntArray:
        """Rank of each sorted row if all rows were in the list."""
        return np.arange(self.order.size) - np.repeat(self.start, self.size)

    @property
    def query(self) -> IntArray:
        """Query of each row, in the order of rows."""
        query = np.empty(self.order.size, np.int64)
        query[self.order] = np.repeat(np.arange(self.start.size), self.size)
        return query

    def total(self, sorted_values: FloatArray) -> FloatArray:
        """Sum per query."""
        return np.add.reduceat(sorted_values, self.start)

    def largest(self, values: FloatArray) -> FloatArray:
        """Largest value per query."""
        return np.maximum.reduceat(values[self.order], self.start)

    def run_total(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum per run; of a mask, the number of True entries."""
        kind = np.intp if values.dtype == bool else values.dtype
        return np.add.reduceat(values[self.order], self.run_start, dtype=kind)

    def expected(self, values: FloatArray) -> FloatArray:
        """Expected value at each sorted position for random orders of tied rows: the mean of the run."""
        return np.repeat(self.run_total(values) / self.run_size, self.run_size)
