"""Scaling of features within each query, as a pipeline step or as a function."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rankwise.core.checks import as_array, as_codes, check_choice
from rankwise.core.types import FloatArray, IntArray
from rankwise.data.frames import with_days
from rankwise.data.scores import canonical_csr

METHODS = ("minmax", "standard", "rank")


class QueryScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale each feature within each query, by the rows of that query alone.

        minmax:    (x - min) / (max - min)
        standard:  (x - mean) / deviation
        rank:      the fraction of the other rows of the query with a lower value

    and 0 if all rows of a query have the same value. Features then have comparable scales in all queries.
    "minmax" is the scaling that Pahikkala et al. (2009, section 5.3) use for LETOR data.

    Nothing is learned from the training rows: each query is scaled by its own rows. Pass whole queries to
    `transform`, with all rows that are to be compared. Cost: O(entries), and O(entries log m) for ranks.

    Pipelines and searches route `qid` without a request, after
    ``sklearn.set_config(enable_metadata_routing=True)``.

    Parameters
    ----------
    method : {"minmax", "standard", "rank"}

    Attributes
    ----------
    n_features_in_, feature_names_in_ :
        As in every scikit-learn transformer.
    fitted_with_qid_ : bool
        Whether `fit` got queries; then `transform` needs them too.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.pipeline import make_pipeline
    >>> from rankwise import RankSVM
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.data.query_scaler import QueryScaler
    >>> QueryScaler().fit_transform([[1.0], [3.0], [70.0], [60.0]], qid=["a", "a", "b", "b"]).ravel()
    array([0., 1., 1., 0.])
    >>> X, y, qid = make_ranking(200, 4, n_queries=20, random_state=0)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     model = make_pipeline(QueryScaler("rank"), RankSVM()).fit(X, y, qid=qid)
    ...     scores = model.predict(X, qid=qid)
    """

    # Pipelines and searches pass qid on without a request by the user.
    __metadata_request__fit = {"qid": True}  # noqa: RUF012
    __metadata_request__transform = {"qid": True}  # noqa: RUF012

    def __init__(self, method: str = "minmax"):
        self.method = method

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None, *, qid: ArrayLike | None = None) -> Self:
        """Store the number and the names of the features; nothing else is learned.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : ignored
        qid : array of shape (n_rows,), optional
            The query of each row; by default all rows are one query.
        """
        check_choice(self.method, "method", METHODS)
        self._validated(X, reset=True)
        self.fitted_with_qid_ = qid is not None
        return self

    def transform(self, X: Any, *, qid: ArrayLike | None = None) -> Any:
        """Return the rows, scaled query by query.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
            Sparse rows stay sparse. "minmax" and "rank" accept them if no feature has both zeros and negative
            values in a query, so that zeros stay zeros.
        qid : array of shape (n_rows,), optional
            The query of each row; required if `fit` got it.
        """
        check_is_fitted(self, "fitted_with_qid_")
        rows = self._validated(X, reset=False)
        if qid is None and self.fitted_with_qid_:
            raise ValueError(
                "QueryScaler was fitted with qid, but transform got none, and rows of different queries must "
                "not be scaled together: pass qid=qid, in a pipeline as pipeline.predict(X, qid=qid) after "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        query = np.zeros(rows.shape[0], np.int64) if qid is None else as_codes(qid, "qid", rows.shape[0])[1]
        return _sparse(rows, query, self.method) if sp.issparse(rows) else _DENSE[self.method](rows, query)

    def fit_transform(self, X: Any, y: Any = None, *, qid: ArrayLike | None = None) -> Any:
        """Fit and transform the same rows."""
        return self.fit(X, y, qid=qid).transform(X, qid=qid)

    def _validated(self, X: Any, reset: bool) -> Any:
        return validate_data(self, with_days(X), reset=reset, accept_sparse="csr", dtype=np.float64)


def scale_within_queries(X: Any, qid: ArrayLike) -> FloatArray:
    """Scale each feature to 0..1 within each query: (x - min) / (max - min), and 0 if it is constant.

    The same as `QueryScaler("minmax")` for dense rows; missing values stay missing.

    Parameters
    ----------
    X : array or frame of shape (n_rows, n_features)
        The rows.
    qid : array of shape (n_rows,)
        The query of each row.

    Returns
    -------
    array of shape (n_rows, n_features)

    Examples
    --------
    >>> scale_within_queries([[1.0, 5.0], [3.0, 5.0], [10.0, 0.0]], qid=["a", "a", "b"])
    array([[0., 0.],
           [1., 0.],
           [0., 0.]])
    """
    if sp.issparse(X):
        raise TypeError(
            "scale_within_queries shifts features and so needs a dense X; call X.toarray() first."
        )
    rows = np.asarray(as_array(X), dtype=np.float64)
    if rows.ndim != 2:
        raise ValueError(f"X must be two-dimensional; got shape {rows.shape}.")
    return _min_max(rows, as_codes(qid, "qid", len(rows))[1])


def _min_max(rows: FloatArray, query: IntArray) -> FloatArray:
    order = np.argsort(query, kind="stable")
    begin = np.flatnonzero(np.diff(query[order], prepend=-1))
    lowest, highest = (extreme.reduceat(rows[order], begin) for extreme in (np.minimum, np.maximum))
    factor = _safe_factor(lowest, highest)
    lowest *= factor
    spread = highest * factor - lowest
    spread[spread == 0] = 1.0
    return (rows * factor[query] - lowest[query]) / spread[query]


def _safe_factor(lowest: FloatArray, highest: FloatArray) -> FloatArray:
    """Return a factor for each range with which its ends can be subtracted: 1, or 1/2 for the largest."""
    with np.errstate(over="ignore"):
        return np.where(np.isinf(highest - lowest), 0.5, 1.0)


def _standardised(rows: FloatArray, query: IntArray) -> FloatArray:
    """Standardize within each query; a deviation at the level of rounding errors counts as zero."""
    size = np.bincount(query)[:, None]
    largest = np.zeros((len(size), rows.shape[1]))
    np.maximum.at(largest, query, np.abs(rows))
    largest, exponent = np.frexp(largest)
    rows = np.ldexp(rows, -exponent[query])  # up to 1, so that no square overflows or underflows
    centred = rows - (_query_sums(rows, query) / size)[query]
    deviation = np.sqrt(_query_sums(centred**2, query) / size)
    constant = deviation <= 1e-14 * largest
    return np.where(constant[query], 0.0, centred / np.where(constant, 1.0, deviation)[query])


def _query_sums(rows: FloatArray, query: IntArray) -> FloatArray:
    order = np.argsort(query, kind="stable")
    return np.add.reduceat(rows[order], np.flatnonzero(np.diff(query[order], prepend=-1)))


def _ranks(rows: FloatArray, query: IntArray) -> FloatArray:
    others = np.maximum(np.bincount(query) - 1, 1)[query]
    columns = [_n_lower(column, query) / others for column in rows.T]
    return np.column_stack(columns) if columns else rows.copy()


def _n_lower(values: FloatArray, group: IntArray) -> IntArray:
    """Count the values of the same group that are lower than each.

    Examples
    --------
    >>> _n_lower(np.array([3.0, 1.0, 1.0, 5.0]), np.array([0, 0, 0, 1]))
    array([2, 0, 0, 0])
    """
    order = np.lexsort((values, group))
    new_group = np.diff(group[order], prepend=-1) != 0
    new_run = new_group | np.append(True, values[order][1:] != values[order][:-1])[: len(order)]
    place = np.arange(len(order))
    first_of_group = np.maximum.accumulate(np.where(new_group, place, 0))
    first_of_run = np.maximum.accumulate(np.where(new_run, place, 0))
    lower = np.empty(len(order), dtype=np.int64)
    lower[order] = first_of_run - first_of_group
    return lower


_DENSE = {"minmax": _min_max, "standard": _standardised, "rank": _ranks}


def _sparse(rows: Any, query: IntArray, method: str) -> Any:
    """Scale the stored entries; a cell is a feature within a query."""
    if method == "standard":
        raise ValueError(
            "method='standard' subtracts the mean and would make sparse rows dense; use method='minmax' or "
            "'rank', or X.toarray()."
        )
    scaled = canonical_csr(rows).copy()
    n_queries = int(query.max(initial=-1)) + 1
    row = np.repeat(np.arange(rows.shape[0]), np.diff(scaled.indptr))
    _, cell = np.unique(scaled.indices.astype(np.int64) * n_queries + query[row], return_inverse=True)
    size = np.bincount(query, minlength=n_queries)[query[row]]
    n_zeros = size - np.bincount(cell)[cell]
    _check_zeros(scaled, n_zeros)
    if method == "rank":
        lower = _n_lower(scaled.data, cell) + n_zeros
        scaled.data = lower / np.maximum(size - 1, 1)
    else:
        scaled.data = _between_extremes(scaled.data, cell, n_zeros > 0)
    scaled.eliminate_zeros()
    return scaled


def _between_extremes(values: FloatArray, cell: IntArray, has_zeros: Any) -> FloatArray:
    """Return (x - min) / (max - min) per cell; the minimum is 0 if a cell has zeros."""
    low, high = np.full(cell.max(initial=-1) + 1, np.inf), np.full(cell.max(initial=-1) + 1, -np.inf)
    np.minimum.at(low, cell, values)
    np.maximum.at(high, cell, values)
    smallest, largest = np.where(has_zeros, 0.0, low[cell]), high[cell]
    factor = _safe_factor(smallest, largest)
    smallest *= factor
    spread = largest * factor - smallest
    return (values * factor - smallest) / np.where(spread > 0, spread, 1.0)


def _check_zeros(rows: Any, n_zeros: IntArray) -> None:
    """Raise an error if a feature has zeros and negative values in a query: its zeros would change."""
    bad = np.flatnonzero((rows.data < 0) & (n_zeros > 0))
    if len(bad):
        raise ValueError(
            f"X is sparse, and feature {int(rows.indices[bad[0]])} has zeros and the negative value "
            f"{rows.data[bad[0]]:g} in one query: scaling would make X dense; use X.toarray()."
        )
