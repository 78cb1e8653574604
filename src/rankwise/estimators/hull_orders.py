"""Comparison of order graphs of classes by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import get_tags, indexable

from rankwise.core.checks import as_alphas, as_array, check_count
from rankwise.core.pipelines import last_step
from rankwise.core.types import FloatArray
from rankwise.data.rows import some_rows
from rankwise.evaluation.pair_measures import wmw
from rankwise.preferences import NoPairsError
from rankwise.preferences.order_graph import present_edges


@dataclass
class OrderComparison:
    """Held-out ranking quality of models with different order graphs; it prints as a table.

    Attributes
    ----------
    names : list of str
        The candidates, in the order in which they were given.
    orders : list
        Their graphs, as `HullRanker` takes them.
    scores : array of shape (n_orders, n_folds)
        The generalized Wilcoxon-Mann-Whitney statistic of each fold over the same edges for all candidates.
    alphas : array of shape (n_orders,)
        The best alpha of each candidate.
    n_edges : list of int
    """

    names: list[str]
    orders: list[Any]
    scores: FloatArray
    alphas: FloatArray
    n_edges: list[int]

    @property
    def mean(self) -> FloatArray:
        """The mean over folds for each order."""
        return self.scores.mean(axis=1)

    @property
    def best(self) -> int:
        """The index of the order with the highest mean; the first one if there are ties."""
        return int(np.argmax(self.mean))

    @property
    def best_order(self) -> Any:
        """The order with the highest mean."""
        return self.orders[self.best]

    @property
    def behind(self) -> FloatArray:
        """The difference of each order to the best one per fold: shape (n_orders, n_folds)."""
        return self.scores[self.best] - self.scores

    def __str__(self) -> str:
        """Return the table, best first, with the range over folds and the difference to the best."""
        width = max(5, *map(len, self.names))
        lines = [f"{'order':<{width}} edges    alpha    mean   least    most  behind the best"]
        n_folds = self.scores.shape[1]
        for k in np.argsort(-self.mean, kind="stable"):
            fold, behind = self.scores[k], self.behind[k]
            error = behind.std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.nan
            lines.append(
                f"{self.names[k]:<{width}} {self.n_edges[k]:>5} {self.alphas[k]:>8.2g} {fold.mean():>7.4f} "
                f"{fold.min():>7.4f} {fold.max():>7.4f}  {behind.mean():.4f} ± {error:.4f}"
            )
        return "\n".join(lines)


def compare_orders(
    model: Any,
    X: Any,
    y: Any,
    orders: Mapping[str, Any] | Sequence[Any] = ("chain", "full"),
    *,
    judge: Any = "full",
    alphas: ArrayLike | None = None,
    cv: Any = 10,
) -> OrderComparison:
    """Compare order graphs by the held-out ranking quality of models fitted with them.

    A graph with more edges has more constraints and may rank worse: section 3 of Fung et al. (2005) leaves
    open how to find a good one. All candidates have the same folds and are scored over the same edges,
    `judge`, so their scores are comparable; the `score` of a model is over the edges of its own graph.

    Cost: one fit per order, alpha and fold.

    Parameters
    ----------
    model : HullRanker, or a pipeline that ends in one
        It is not changed, and need not be fitted.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        The class of each row.
    orders : dict of names and orders, or sequence of orders
        Each is "chain", "full", a list of (higher, lower) labels or a networkx.DiGraph.
    judge : as one of `orders`
        The edges to score over; by default all pairs of rows of different classes.
    alphas : array, optional
        Candidates; the best one is used for each order. By default, the alpha of the model.
    cv : int, splitter or iterable of (train, test)
        An int assigns rows to folds at random, the same in each call. Folds without pairs to score are left
        out.

    Returns
    -------
    OrderComparison

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import HullRanker
    >>> from rankwise.datasets import load_diabetes_ranking
    >>> from rankwise.model_selection import compare_orders
    >>> X, progress = load_diabetes_ranking(return_X_y=True)
    >>> fifth = np.searchsorted(np.quantile(progress, [0.2, 0.4, 0.6, 0.8]), progress)
    >>> ends = [(4, 0), (4, 1), (3, 0)]
    >>> found = compare_orders(HullRanker(), X, fifth, {"chain": "chain", "ends": ends}, cv=3)
    >>> found.names, found.n_edges, found.mean.round(2).tolist()
    (['chain', 'ends'], [4, 3], [0.79, 0.79])
    """
    X, y = indexable(X, y)
    named = _named(orders)
    tried = np.array([last_step(model).alpha]) if alphas is None else as_alphas(alphas)
    folds = [fold for fold in _folds(cv, X, y) if _has_pairs(_rows(y, fold[1]), judge)]
    if not folds:
        raise NoPairsError("No fold has pairs of rows to score; use fewer folds.")
    comparison = OrderComparison(list(named), list(named.values()), np.empty((0, len(folds))), tried[:0], [])
    for order in named.values():
        scores = np.empty((len(tried), len(folds)))
        for k, alpha in enumerate(tried):
            for fold, (train, test) in enumerate(folds):
                scores[k, fold], n_edges = _held_out(model, X, y, order, float(alpha), judge, train, test)
        best = int(np.argmax(scores.mean(axis=1)))
        comparison.scores = np.vstack([comparison.scores, scores[best]])
        comparison.alphas = np.append(comparison.alphas, tried[best])
        comparison.n_edges.append(n_edges)
    return comparison


def _named(orders: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return the orders by name; an unnamed order is named by its keyword or its number."""
    if isinstance(orders, Mapping):
        named = dict(orders)
    elif isinstance(orders, str):
        named = {orders: orders}
    else:
        named = {
            order if isinstance(order, str) else f"order {k}": order for k, order in enumerate(orders, 1)
        }
    if not named:
        raise ValueError("orders must hold at least one order; got none.")
    return named


def _folds(cv: Any, X: Any, y: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(cv, Integral):
        check_count("cv", cv)
        return KFold(int(cv), shuffle=True, random_state=0).split(X)
    return check_cv(cv).split(X, y)


def _held_out(
    model: Any, X: Any, y: Any, order: Any, alpha: float, judge: Any, train: Any, test: Any
) -> tuple[float, int]:
    """Return the statistic of one fold, and the number of edges in the fit."""
    step = f"{model.steps[-1][0]}__" if hasattr(model, "steps") else ""
    fitted = clone(model).set_params(**{f"{step}order": order, f"{step}alpha": alpha})
    X_train, X_test = _rows(X, train), _rows(X, test)
    if get_tags(fitted).input_tags.pairwise:
        X_train, X_test = X_train[:, train], X_test[:, train]
    with warnings.catch_warnings():  # a constant fit has a score of 1/2
        warnings.simplefilter("ignore", UserWarning)
        scores = fitted.fit(X_train, _rows(y, train)).predict(X_test)
    return _judged(_rows(y, test), scores, judge), len(last_step(fitted).edges_)


def _rows(values: Any, rows: Any) -> Any:
    """Return rows of a frame, an array, a sparse matrix or a list."""
    return some_rows(values if hasattr(values, "shape") else as_array(values), rows)


def _judged(y: Any, scores: FloatArray, judge: Any) -> float:
    """Return the statistic over the edges of classes that are present."""
    edges = judge if isinstance(judge, str) else present_edges(list(getattr(judge, "edges", judge)), y)
    return wmw(y, scores, order=edges)


def _has_pairs(y: Any, judge: Any) -> bool:
    try:
        _judged(y, np.zeros(len(y)), judge)
    except NoPairsError:
        return False
    return True
