"""The rankers of LightGBM, XGBoost and CatBoost with queries as `qid`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankwise.core.checks import as_array, as_codes, as_vector
from rankwise.core.text import plural
from rankwise.core.types import FloatArray, FloatVector
from rankwise.data.columns import column_names, is_frame
from rankwise.data.rows import n_rows_of, some_rows
from rankwise.estimators.base import BaseRanker
from rankwise.preferences import Preferences


class QueryRows(NamedTuple):
    """Rows in the order of their queries, which are numbered from 0."""

    X: Any
    y: Any
    query: NDArray[np.int64]
    weight: FloatVector | None = None

    @classmethod
    def sorted(cls, X: Any, y: Any, qid: Any = None, weight: Any = None) -> QueryRows:
        """Sort rows by query; the rows of each query keep their order."""
        X = X if hasattr(X, "shape") else np.asarray(X)
        n_rows = n_rows_of(X)
        if isinstance(y, Preferences):
            raise TypeError("y must be labels: these rankers take no Preferences. BoostedRanker does.")
        labels = as_array(y)
        if len(labels) != n_rows:
            raise ValueError(f"X has {plural(n_rows, 'row')}, but y has {len(labels)}.")
        query = np.zeros(n_rows, np.int64) if qid is None else as_codes(qid, "qid", n_rows)[1]
        weight = None if weight is None else as_vector(weight, "sample_weight", n_rows)
        if (np.diff(query) >= 0).all():
            return cls(X, labels, query, weight)
        order = np.argsort(query, kind="stable")
        weight = None if weight is None else weight[order]
        return cls(some_rows(X, order), labels[order], query[order], weight)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each query."""
        return np.bincount(self.query)

    @property
    def weight_of_query(self) -> FloatVector | None:
        """The weight of each query; rows of different weights are refused."""
        if self.weight is None:
            return None
        first = self.weight[np.flatnonzero(np.diff(self.query, prepend=-1))]
        if not np.array_equal(first[self.query], self.weight):
            raise ValueError("XGBRanker has one weight per query, but sample_weight differs within a query.")
        return first


def _of_lightgbm(train: QueryRows, judged: list[QueryRows], known: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"group": train.sizes}
    if train.weight is not None:
        given["sample_weight"] = train.weight
    if judged:
        given["eval_group"] = [part.sizes for part in judged]
        if "eval_X" in known:
            columns = {"eval_X": tuple(part.X for part in judged), "eval_y": tuple(part.y for part in judged)}
        else:
            columns = {"eval_set": [(part.X, part.y) for part in judged]}  # type: ignore[dict-item]
        given |= columns
    return given


def _of_xgboost(train: QueryRows, judged: list[QueryRows], known: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"qid": train.query, "verbose": False}
    if train.weight is not None:
        given["sample_weight"] = train.weight_of_query
    if judged:
        given["eval_set"] = [(part.X, part.y) for part in judged]
        given["eval_qid"] = [part.query for part in judged]
    return given


def _of_catboost(train: QueryRows, judged: list[QueryRows], known: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"group_id": train.query}
    if train.weight is not None:
        given["sample_weight"] = train.weight
    if judged:
        pool = import_module("catboost").Pool
        given["eval_set"] = [pool(part.X, part.y, group_id=part.query) for part in judged]
    return given


# How queries are given to `fit`, by the name of the parameter that takes them. XGBoost has `group`, too.
INTERFACES: dict[str, Callable[..., dict[str, Any]]] = {
    "group_id": _of_catboost,
    "qid": _of_xgboost,
    "group": _of_lightgbm,
}


class GroupedRanker(BaseRanker):
    """`LGBMRanker`, `XGBRanker` or `CatBoostRanker` with queries as `qid`, in any order, as everywhere here.

    Inside `fit`, rows are sorted by query, and what the ranker asks for is made of `qid`: sizes of groups,
    sorted numbers, those of evaluation sets. So their rankers work in cross-validation, searches and
    pipelines that keep queries whole, in `compare`, `Report` and `AutoRanker(candidates=...)`.

    Parameters
    ----------
    estimator : LGBMRanker, XGBRanker or CatBoostRanker
        Its parameters are reached as `estimator__num_leaves` and so on.

    Attributes
    ----------
    estimator_ : the fitted ranker
    n_features_in_, feature_names_in_ :
        As in every scikit-learn estimator.

    See Also
    --------
    BoostedRanker : LightGBM's trees with a loss over all pairs.

    Examples
    --------
    >>> import sklearn
    >>> from lightgbm import LGBMRanker
    >>> from sklearn.model_selection import GridSearchCV
    >>> from rankwise import GroupedRanker
    >>> from rankwise.datasets import make_ranking
    >>> from rankwise.model_selection import QueryKFold
    >>> X, y, qid = make_ranking(600, 4, n_queries=40, n_levels=4, random_state=0)
    >>> model = GroupedRanker(LGBMRanker(n_estimators=20, n_jobs=1, verbose=-1))
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(model, {"estimator__num_leaves": [4, 8]}, cv=QueryKFold(3))
    ...     search = search.fit(X, y, qid=qid)
    >>> search.best_estimator_.score(X, y, qid=qid) > 0.9
    True
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = tags.input_tags.allow_nan = tags.input_tags.categorical = True
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation: Any = None,
        **options: Any,
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Labels, higher is better, as the ranker takes them.
        qid : array of shape (n_rows,), optional
            The query of each row. Without it, all rows are one query.
        sample_weight : array of shape (n_rows,), optional
            XGBoost has one weight per query: rows of a query must weigh the same.
        validation : tuple (X, y) or (X, y, qid), or a list of them, optional
            Rows to evaluate on, by which the ranker may stop early.
        **options :
            Given to the ranker's `fit`, such as `callbacks`.
        """
        model = clone(self.estimator)
        known = signature(model.fit).parameters
        interface = next((make for name, make in INTERFACES.items() if name in known), None)
        if interface is None:
            raise TypeError(
                f"estimator must be a ranker whose fit takes queries (group, qid or group_id); "
                f"{type(model).__name__} needs no GroupedRanker."
            )
        train = QueryRows.sorted(X, y, qid, sample_weight)
        parts = [] if validation is None else validation if isinstance(validation, list) else [validation]
        judged = [QueryRows.sorted(*part) for part in parts]
        self.estimator_ = model.fit(train.X, train.y, **interface(train, judged, known) | options)
        self.fitted_with_qid_ = qid is not None
        self.n_features_in_ = int(train.X.shape[1])
        self.__dict__.pop("feature_names_in_", None)  # of a previous fit
        if is_frame(train.X):
            self.feature_names_in_ = np.array(column_names(train.X), dtype=object)
        return self

    @property
    def feature_importances_(self) -> FloatArray:
        """The importances of the features, as the ranker has them."""
        check_is_fitted(self)
        found = self.estimator_.feature_importances_
        if found is None:
            raise AttributeError(f"{type(self.estimator_).__name__} has no importances without its rows.")
        return np.asarray(found)

    def predict(self, X: Any) -> FloatVector:
        """Return the score of each row; within a query, sort by it.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X), dtype=np.float64)
