"""Choosing alpha by cross-validation over queries, fold by fold."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from rankwise.cli.data import Data
from rankwise.cli.models import Recipe, fit_ranker, scores_of

# Where the scale of the function space is not that of the features.
KERNEL_ALPHAS = tuple(10.0**-k for k in range(8))


def candidates(alphas: list[float] | None, recipe: Recipe, data: Data) -> Any:
    """Give the alphas to try from the largest down: those given, or powers of ten that fit the data."""
    from rankwise.design import as_design
    from rankwise.estimators.rank_svm_cv import default_alphas
    from rankwise.losses import Hinge
    from rankwise.preferences import Preferences

    if alphas is not None:
        return np.array(sorted(set(alphas), reverse=True))
    if not recipe.is_linear:
        return np.array(KERNEL_ALPHAS)
    scaler = recipe.scaler(data.X)
    X = data.X if scaler is None else scaler.fit_transform(data.X)
    return default_alphas(as_design(X), Hinge(Preferences.from_scores(data.y, data.qid)))


def folds_with_pairs(data: Data, n_folds: int, seed: int) -> list[tuple[Any, Any]]:
    """Deal the queries out to folds; leave out folds that have no pair to learn from or to judge by."""
    from rankwise.model_selection import QueryKFold
    from rankwise.preferences import NoPairsError, Preferences

    preferences = Preferences.from_scores(data.y, data.qid)
    splitter = QueryKFold(n_folds, shuffle=True, random_state=seed)
    splits = splitter.split(data.X, data.y, groups=data.qid)
    kept = [
        (train, test) for train, test in splits if preferences[train].n_pairs and preferences[test].n_pairs
    ]
    if not kept:
        raise NoPairsError("No fold has pairs both in its training and in its test rows; use fewer --folds.")
    return kept


def fold_errors(
    recipe: Recipe,
    data: Data,
    alphas: Any,
    fold: tuple[Any, Any],
    callback: Callable[[Any], Any] | None = None,
) -> list[float]:
    """Give the ranking error on the test rows of a fold for each alpha; scalers see training rows only."""
    from sklearn.exceptions import ConvergenceWarning

    train, test = (rows_of(data, rows) for rows in fold)
    scaler = recipe.scaler(data.X)
    if scaler is not None:
        train.X = scaler.fit_transform(train.X)
        test.X = scaler.transform(test.X)
    scores = {"rank-svm": svm_scores, "rank-rls": rls_scores}.get(recipe.method, scores_one_by_one)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [error_of(test, row) for row in scores(recipe, alphas, train, test.X, callback)]


def rows_of(data: Data, rows: Any) -> Data:
    """Give some of the rows."""
    qid = None if data.qid is None else np.asarray(data.qid)[rows]
    return Data(data.X[rows], np.asarray(data.y)[rows], qid)


def error_of(data: Data, scores: Any) -> float:
    """Give the ranking error, over the queries that have pairs."""
    from sklearn.exceptions import UndefinedMetricWarning

    from rankwise.metrics import ranking_error

    with warnings.catch_warnings():  # queries without pairs are common, and left out
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return float(ranking_error(data.y, scores, data.qid))


def svm_scores(recipe: Recipe, alphas: Any, train: Data, X: Any, callback: Any) -> Iterator[Any]:
    """Score rows for each alpha, the cutting planes of one being handed on to the next."""
    from rankwise.estimators import RankSVMCV
    from rankwise.estimators.base import one_blas_thread
    from rankwise.estimators.rank_svm import chosen_solver
    from rankwise.preferences import Preferences

    search = RankSVMCV(alphas, **recipe.parameters, callback=callback)
    search.solver_ = chosen_solver(search.loss, search.solver)
    preferences = Preferences.from_scores(train.y, train.qid, pair_weight=search.pair_weight)
    with one_blas_thread:
        design, kernel_map = search._function_space(train.X)
        results = list(search._path(design, preferences, alphas))
        if results[-1].status == "interrupted":
            raise KeyboardInterrupt
        scores = search._scores_of(X, np.array([result.coef for result in results]), kernel_map)
    yield from scores.T


def rls_scores(recipe: Recipe, alphas: Any, train: Data, X: Any, callback: Any) -> Iterator[Any]:
    """Score rows for each alpha; a linear model has one decomposition for all of them."""
    from rankwise.scores import row_scores

    if not recipe.is_linear:
        yield from scores_one_by_one(recipe, alphas, train, X, callback)
        return
    yield from row_scores(X, recipe.ranker().path(train.X, train.y, alphas, qid=train.qid)).T


def scores_one_by_one(recipe: Recipe, alphas: Any, train: Data, X: Any, callback: Any) -> Iterator[Any]:
    """Score rows after a fit for each alpha, each from where the last one ended if it can be."""
    ranker = recipe.ranker(callback=callback)
    if "warm_start" in ranker.get_params():
        ranker.set_params(warm_start=True)
    for alpha in alphas:
        fit_ranker(ranker.set_params(alpha=float(alpha)), train.X, train.y, train.qid)
        yield scores_of(ranker, X)
