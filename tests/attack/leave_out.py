"""Leave-out predictions and searches against refits, and paths over alpha against fits."""

import numpy as np
from sklearn.base import clone

import independent
import rankwise
import reference
from attack.draws import choice, labels, problem
from rankwise import NoPairsError, Preferences, RankLogisticCV, RankRLS, RankRLSCV, RankSVMCV
from rankwise.model_selection import QueryKFold, alpha_path, leave_pair_out, leave_query_out
from test_certified_path import MODELS, exact_objective
from test_leave_out import assert_equal_pairs, retrained_folds, retrained_pairs
from test_search import textbook_error

ALPHAS = np.array([1e-3, 0.1, 10.0])
CLOSE = {"rtol": 1e-7, "atol": 1e-7}


def case(rng):
    """Draw one of the four."""
    return choice(rng, [pairs, queries, search, path])(rng)


def model_of(rng):
    """A ranker with a closed form."""
    kernel = choice(rng, [{}, {"kernel": "rbf", "gamma": 0.2}, {"kernel": "poly", "degree": 2}])
    return RankRLS(**kernel)


def rows(rng, n):
    return rng.normal(size=(n, int(rng.integers(1, 6)))) + choice(rng, [0.0, 2.0])


def pairs(rng):
    """Leave-pair-out."""
    n = int(rng.integers(5, 10))
    X, y, model = rows(rng, n), labels(rng, n), model_of(rng)
    try:
        result = leave_pair_out(model, X, y, alphas=ALPHAS)
        expected = retrained_pairs(model, X, y, ALPHAS)
    except NoPairsError:
        return 0
    assert_equal_pairs(result, y, expected)
    return int((y[:, None] != y).sum()) // 2


def queries(rng):
    """Leave-query-out."""
    n = int(rng.integers(8, 30))
    X, y, qid = rows(rng, n), labels(rng, n), rng.integers(0, 4, n)
    model = model_of(rng).set_params(average=choice(rng, ["queries", "pairs"]))
    model.set_params(ties=choice(rng, ["keep", "drop"]))
    try:
        expected = retrained_folds(model, X, y, qid, qid, ALPHAS)
        found = leave_query_out(model, X, y, qid, alphas=ALPHAS).predictions
    except NoPairsError:
        return 0
    np.testing.assert_allclose(found, expected, **CLOSE)
    return n


def search(rng):
    """The errors of a search are those of fits without each fold."""
    n, folds = int(rng.integers(20, 50)), int(rng.integers(2, 5))
    X, y, qid = rows(rng, n), labels(rng, n), rng.integers(0, 8, n)
    estimator = choice(rng, [RankSVMCV, RankRLSCV, RankLogisticCV])
    options = {"scoring": "error"} if estimator is RankLogisticCV else {}
    splits = list(QueryKFold(folds, shuffle=True, random_state=0).split(X, Preferences.from_scores(y, qid)))
    try:
        model = estimator(ALPHAS, cv=splits, tol=1e-9, **options).fit(X, y, qid=qid)
        return compare_errors(model, X, y, qid, splits)
    except NoPairsError:
        return 0


def compare_errors(model, X, y, qid, splits):
    """A fold without pairs has no error; a pair of equal scores up to the tolerance may count as either."""
    found = model.cv_errors_
    if found.ndim == 1:
        return 0
    splits = [(train, test) for train, test in splits if reference.ranking_pairs(y[test], qid[test])]
    base = type(model).__name__.removesuffix("CV")
    for row, alpha in enumerate(model.alphas_):
        for k, (train, test) in enumerate(splits):
            fitted = getattr(rankwise, base)(alpha, tol=1e-9).fit(X[train], y[train], qid=qid[train])
            expected = textbook_error(y[test], fitted.predict(X[test]), qid[test])
            assert abs(found[row, k] - expected) <= 0.02, (
                f"{base} {alpha}, fold {k}: {found[row, k]}, {expected}"
            )
    assert model.alpha_ == model.alphas_[np.argmin(np.nanmean(found, axis=1))]
    return found.size


def path(rng):
    """At any alpha the optimum is within the gap of the path."""
    X, y, qid = problem(rng, most_rows=14, most_features=4)
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    preferences = Preferences.from_scores(y, qid)
    loss, tol = choice(rng, list(MODELS)), choice(rng, [1e-1, 1e-2, 1e-3])
    found = alpha_path(clone(MODELS[loss]), X, preferences, (10.0, 1e-3), tol=tol)
    listed = independent.listed(preferences)
    for alpha in 10.0 ** rng.uniform(-3, 1, size=3):
        optimum, model = independent.solve(X, listed, alpha, loss), found.model(alpha)
        reached = exact_objective(model, X, preferences, alpha)
        assert abs(reached - model.objective_) <= 1e-9 * reached + 1e-12
        assert found.bound(alpha) <= optimum.objective + 1e-12
        assert reached - optimum.objective <= model.gap_ + 1e-12
    return 9
