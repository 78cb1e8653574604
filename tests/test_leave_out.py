"""Fast cross-validation of RankRLS: equal to retraining, on random and on real data."""

import gzip
import itertools
import os
import pickle
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning

from rankwise import NoPairsError, Preferences, RankRLS, RankSVM
from rankwise.core.progress import Progress
from rankwise.functions.kernel_map import KernelMap
from rankwise.metrics import ranking_error
from rankwise.model_selection import (
    QueryKFold,
    leave_out,
    leave_pair_out,
    leave_query_out,
    pair_downdates,
    pair_formulas,
    permutation_test,
    query_weights,
)
from rankwise.model_selection.pair_downdates import AnyPairs
from rankwise.model_selection.permutation import permuted_labels, permuted_preferences

ALPHAS = np.array([1e-3, 0.1, 10.0])
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def labels(kind, X, seed=0):
    """Labels without ties, with ties, or of two values, that one feature explains in part."""
    hidden = X[:, 0] + 0.7 * np.random.default_rng(seed).normal(size=len(X))
    if kind == "real":
        return hidden
    if kind == "graded":
        return np.digitize(hidden, np.quantile(hidden, [0.3, 0.6, 0.9])) * 1.5
    return np.where(hidden > np.quantile(hidden, 0.6), 3.0, 0.5)


def rows(m, n, kind="real", seed=0):
    X = np.random.default_rng(seed).normal(size=(m, n)) + 2.0
    return X, labels(kind, X, seed)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def retrained_pairs(model, X, y, alphas):
    """Scores (n_alphas, m, m) of clones fitted without two rows, pair by pair."""
    m = len(y)
    scores = np.full((len(alphas), m, m), np.nan)
    for i, j in itertools.combinations(range(m), 2):
        if y[i] == y[j]:
            continue
        rest, pair = np.delete(np.arange(m), [i, j]), [i, j]
        for k, alpha in enumerate(alphas):
            scores[k, i, j], scores[k, j, i] = held_out(model, X, y, None, rest, pair, alpha)
    return scores


def held_out(model, X, y, qid, train, test, alpha):
    precomputed = isinstance(model.kernel, str) and model.kernel == "precomputed"
    X_train, X_test = (X[train][:, train], X[test][:, train]) if precomputed else (X[train], X[test])
    refitted = clone(model).set_params(alpha=alpha)
    return refitted.fit(X_train, y[train], qid=None if qid is None else qid[train]).predict(X_test)


def retrained_folds(model, X, y, qid, fold_of_row, alphas):
    """Scores (n_alphas, m, ...) of clones fitted without a fold, fold by fold."""
    scores = np.empty((len(alphas), *np.shape(y)))
    for fold in np.unique(fold_of_row):
        test = np.flatnonzero(fold_of_row == fold)
        train = np.flatnonzero(fold_of_row != fold)
        for k, alpha in enumerate(alphas):
            scores[k, test] = held_out(model, X, y, qid, train, test, alpha)
    return scores


def pair_error(y, scores):
    """The share of left-out pairs in the wrong order, from scores (m, m), in plain loops."""
    wrong, count = 0.0, 0
    for i, j in itertools.product(range(len(y)), repeat=2):
        if y[i] > y[j]:
            wrong += (scores[i, j] < scores[j, i]) + 0.5 * (scores[i, j] == scores[j, i])
            count += 1
    return wrong / count


def assert_equal_pairs(result, y, scores):
    """Scores of pairs with different labels, and the error that they make."""
    found = np.where(np.isnan(scores), np.nan, result.predictions)
    np.testing.assert_allclose(found, scores, **CLOSE)
    expected = [pair_error(y, one) for one in scores]
    np.testing.assert_allclose(result.error, expected, atol=1e-12)
    np.testing.assert_allclose(result.auc, 1 - np.array(expected), atol=1e-12)


# Leave-pair-out

MODELS = {
    "primal": (RankRLS(), (18, 4)),
    "more features than rows": (RankRLS(), (13, 20)),
    "gaussian": (RankRLS(kernel="rbf", gamma=0.2), (16, 3)),
    "polynomial": (RankRLS(kernel="poly", degree=2), (15, 3)),
    "singular kernel": (RankRLS(kernel="poly", degree=1, gamma=1.0, coef0=0.0), (16, 3)),
}


@pytest.mark.parametrize("kind", ["real", "graded", "two"])
@pytest.mark.parametrize("name", MODELS)
def test_leave_pair_out_equals_retraining(name, kind):
    model, shape = MODELS[name]
    X, y = rows(*shape, kind)
    result = leave_pair_out(model, X, y, alphas=ALPHAS)
    assert result.method == "closed form"
    assert_equal_pairs(result, y, retrained_pairs(model, X, y, ALPHAS))


@pytest.mark.parametrize("cost", ["unit", "magnitude", "relative"])
@pytest.mark.parametrize("name", ["primal", "more features than rows", "gaussian"])
def test_leave_pair_out_of_two_classes_without_ties_equals_retraining(name, cost):
    model, shape = MODELS[name]
    model = clone(model).set_params(cost=cost, ties="drop")
    X, y = rows(*shape, "two")
    result = leave_pair_out(model, X, y, alphas=ALPHAS)
    assert result.method == "closed form"
    assert_equal_pairs(result, y, retrained_pairs(model, X, y, ALPHAS))


@pytest.mark.parametrize(
    ("kind", "options"),
    [("real", {}), ("graded", {}), ("two", {}), ("two", {"ties": "drop"}), ("two", {"cost": "relative"})],
)
@pytest.mark.parametrize("name", MODELS)
def test_one_alpha_is_one_of_several(name, kind, options):
    """For one alpha a kernel matrix is factored, not decomposed."""
    model, shape = MODELS[name]
    model = clone(model).set_params(**options)
    X, y = rows(*shape, kind)
    several = leave_pair_out(model, X, y, alphas=ALPHAS)
    for k, alpha in enumerate(ALPHAS):
        one = leave_pair_out(clone(model).set_params(alpha=alpha), X, y)
        assert one.error == pytest.approx(several.error[k], abs=1e-12)
        np.testing.assert_allclose(one.predictions, several.predictions[k], **CLOSE)


@pytest.mark.parametrize("options", [{}, {"ties": "drop"}, {"cost": "unit"}, {"cost": "relative"}])
@pytest.mark.parametrize("kind", ["graded", "two"])
def test_the_lambda_of_a_sum_over_pairs_may_be_kept(options, kind):
    """Equations (33) and (36): the sum over the pairs that remain plus the lambda of all rows."""
    X, y, qid = queries(24, 3, kind, 4)
    qid[5] = 0  # all queries have pairs
    model = RankRLS(kernel="rbf", gamma=0.2, average="pairs", **options)
    n_pairs = partial(weight_of_pairs, keeps_ties=not options)

    def without(left, query):
        rest = np.delete(np.arange(len(y)), left)
        part = None if query is None else query[rest]
        alpha = 0.1 * n_pairs(y, query) / n_pairs(y[rest], part)
        return held_out(model, X, y, query, rest, left, alpha)

    result = leave_query_out(model.set_params(alpha=0.1), X, y, qid, keep="lambda")
    expected = np.empty(len(y))
    for query in np.unique(qid):
        expected[qid == query] = without(np.flatnonzero(qid == query), qid)
    np.testing.assert_allclose(result.predictions, expected, **CLOSE)
    pairs = leave_pair_out(model, X, y, keep="lambda").predictions
    for i, j in itertools.combinations(range(0, 24, 5), 2):
        if y[i] != y[j]:
            np.testing.assert_allclose([pairs[i, j], pairs[j, i]], without([i, j], None), **CLOSE)


def weight_of_pairs(y, qid, keeps_ties):
    """What the sum over pairs is divided by: untied pairs, or m^2 / 2 for each query."""
    same = np.ones((len(y), len(y)), bool) if qid is None else qid[:, None] == qid
    return np.sum(same if keeps_ties else same & (y[:, None] != y)) / 2


@pytest.mark.parametrize("cost", ["unit", "magnitude", "relative"])
def test_leave_pair_out_without_a_closed_form_equals_retraining(cost):
    model = RankRLS(cost=cost, ties="drop")
    X, y = rows(12, 3, "graded")
    result = leave_pair_out(model, X, y, alphas=ALPHAS)
    assert result.method == "downdates"
    assert_equal_pairs(result, y, retrained_pairs(model, X, y, ALPHAS))


def structures(y):
    """Preferences of every kind that have no formula of their own."""
    generator = np.random.default_rng(1)
    weight, n = generator.uniform(0.5, 2.0, len(y)), len(y)
    better, worse = np.array([p for p in itertools.permutations(range(n), 2) if sum(p) % 3 == 0]).T
    listed = {"magnitude": weight[better] ** 2, "weight": weight[worse], "n_rows": n}
    return {
        "survival": Preferences.from_survival(generator.random(n) < 0.6, np.round(np.exp(y), 1)),
        "weighted survival": Preferences.from_survival(np.arange(n) % 3 > 0, y, weight),
        "weights": Preferences.from_scores(y, sample_weight=weight),
        "a weight of zero": Preferences.from_scores(y, sample_weight=np.maximum(weight - 0.7, 0.0)),
        "gains": Preferences.from_scores(y, sample_weight=weight, pair_weight="difference"),
        "order graph": Preferences.from_order(np.digitize(y, [1.5, 2.5]), "chain", weight),
        "pairs": Preferences.from_pairs(better, worse, **listed),
    }


@pytest.mark.parametrize("cost", ["unit", "magnitude"])
@pytest.mark.parametrize("ties", ["keep", "drop"])
@pytest.mark.parametrize("kind", structures(np.arange(9.0)))
def test_leave_pair_out_of_any_preferences_equals_retraining(kind, ties, cost):
    X, y = rows(11, 3)
    preferences = structures(y)[kind]
    model = RankRLS(cost=cost, ties=ties)
    result = leave_pair_out(model, X, preferences, alphas=[0.01, 1.0])
    assert result.method == "downdates"
    wrong = np.zeros(2)
    for i, j, _, w in zip(*preferences.pairs(), strict=True):
        rest = np.delete(np.arange(11), [i, j])
        for k, alpha in enumerate([0.01, 1.0]):
            scores = clone(model).set_params(alpha=alpha).fit(X[rest], preferences[rest]).predict(X[[i, j]])
            np.testing.assert_allclose(result.predictions[k, [i, j], [j, i]], scores, **CLOSE)
            wrong[k] += w * (scores[0] < scores[1])
    np.testing.assert_allclose(result.error, wrong / preferences.pairs().weight.sum())


def test_the_penalty_of_the_sum_can_be_kept_instead_of_that_of_the_mean():
    X, y = rows(11, 3)
    preferences = structures(y)["weighted survival"]
    cost = {"cost": "magnitude", "ties": "drop", "average": "queries"}
    found = AnyPairs(X, preferences, **cost, keep="lambda").predictions(0.3)[..., 0]
    total = preferences.pairs().weight.sum()
    for i, j in zip(*preferences.pairs()[:2], strict=True):
        rest = np.delete(np.arange(11), [i, j])
        alpha = 0.3 * total / preferences[rest].pairs().weight.sum()
        scores = RankRLS(alpha, ties="drop").fit(X[rest], preferences[rest]).predict(X[[i, j]])
        np.testing.assert_allclose(found[[i, j], [j, i]], scores, **CLOSE)


def test_many_alphas_and_kernels_are_taken_out_alike():
    X, y = rows(14, 3)
    preferences = structures(y)["survival"]
    alphas = np.logspace(-3, 1, 12)
    for model in (RankRLS(), RankRLS(kernel="rbf", gamma=0.3)):
        found = leave_pair_out(model, X, preferences, alphas=alphas)
        for k, alpha in enumerate(alphas):
            one = leave_pair_out(clone(model).set_params(alpha=alpha), X, preferences)
            np.testing.assert_allclose(found.predictions[k], one.predictions, **CLOSE)
            assert found.error[k] == pytest.approx(one.error)


def test_two_rows_involved_in_all_pairs_raise_an_error():
    X, _ = rows(6, 2)
    with pytest.raises(NoPairsError, match="Without some pairs of rows, no pair remains"):
        leave_pair_out(
            RankRLS(), X, Preferences.from_survival([True, False, False, False, False, False], X[:, 0])
        )


@pytest.mark.parametrize("kind", ["survival", "weights", "pairs"])
def test_the_permutation_test_shuffles_the_rows_of_preferences(kind):
    X, y = rows(16, 3)
    preferences = structures(y)[kind]
    result = permutation_test(RankRLS(0.1), X, preferences, n_permutations=8, random_state=2)
    assert result.method == "leave-pair-out"
    assert result.statistic == pytest.approx(leave_pair_out(RankRLS(0.1), X, preferences).auc)
    shuffled = list(permuted_preferences(preferences, 8, np.random.default_rng(2)))
    expected = [leave_pair_out(RankRLS(0.1), X, one).auc for one in shuffled]
    np.testing.assert_allclose(result.null_distribution, expected)
    assert len(set(expected)) > 4
    for one in shuffled:  # the same pairs among other rows
        np.testing.assert_allclose(np.sort(one.pairs().weight), np.sort(preferences.pairs().weight))


def test_the_permutation_test_finds_survival_and_weighted_queries():
    X, y, qid = queries()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    preferences = Preferences.from_scores(y, qid, sample_weight=weight)
    result = permutation_test(RankRLS(0.1), X, preferences, n_permutations=19, random_state=0)
    assert result.method == "leave-query-out"
    assert result.statistic == pytest.approx(leave_query_out(RankRLS(0.1), X, preferences).auc)
    shuffled = permuted_preferences(preferences, 19, np.random.default_rng(0))
    expected = [leave_query_out(RankRLS(0.1), X, one).auc for one in shuffled]
    np.testing.assert_allclose(result.null_distribution, expected)
    X, y = rows(30, 3)
    lives = Preferences.from_survival(np.arange(30) % 4 > 0, np.exp(y))
    assert permutation_test(RankRLS(0.1), X, lives, n_permutations=49, random_state=0).pvalue == 0.02


def test_leave_pair_out_with_basis_rows_keeps_them():
    X, y = rows(18, 3, "graded")
    model = RankRLS(kernel="rbf", gamma=0.3, n_components=6, random_state=0)
    Phi = KernelMap("rbf", gamma=0.3, n_components=6, random_state=0).fit_transform(X)
    result = leave_pair_out(model, X, y, alphas=ALPHAS)
    assert_equal_pairs(result, y, retrained_pairs(RankRLS(), Phi, y, ALPHAS))


def test_leave_pair_out_of_several_outputs_is_that_of_each():
    X, _ = rows(15, 4)
    Y = np.column_stack([labels(kind, X, seed) for seed, kind in enumerate(("real", "graded", "two"))])
    for ties, columns in (("keep", Y), ("drop", np.column_stack([Y[:, 2], Y[::-1, 2]]))):
        model = RankRLS(ties=ties)
        together = leave_pair_out(model, X, columns, alphas=ALPHAS)
        assert together.error.shape == (3, columns.shape[1])
        for k, y in enumerate(columns.T):
            alone = leave_pair_out(model, X, y, alphas=ALPHAS)
            np.testing.assert_allclose(together.error[:, k], alone.error, atol=1e-12)
            np.testing.assert_allclose(together.predictions[..., k], alone.predictions, **CLOSE)


def test_shapes_follow_what_was_asked_for():
    X, y = rows(12, 3)
    Y = np.column_stack([y, -y])
    assert isinstance(leave_pair_out(RankRLS(), X, y).error, float)
    assert leave_pair_out(RankRLS(), X, y).predictions.shape == (12, 12)
    assert leave_pair_out(RankRLS(), X, Y).error.shape == (2,)
    assert leave_pair_out(RankRLS(), X, Y, alphas=[1.0]).predictions.shape == (1, 12, 12, 2)
    qid = np.arange(12) % 3
    assert isinstance(leave_query_out(RankRLS(), X, y, qid).error, float)
    assert leave_query_out(RankRLS(), X, Y, qid, alphas=[1.0]).predictions.shape == (1, 12, 2)


def test_leave_pair_out_on_real_data():
    X, y = load_diabetes(return_X_y=True)
    X, y = standardised(X)[:22], y[:22]
    for model in (RankRLS(), RankRLS(kernel="rbf")):
        assert_equal_pairs(
            leave_pair_out(model, X, y, alphas=ALPHAS), y, retrained_pairs(model, X, y, ALPHAS)
        )
    X, y = load_breast_cancer(return_X_y=True)
    X, y = standardised(X)[:26], y[:26]
    for ties in ("keep", "drop"):
        model = RankRLS(ties=ties)
        assert_equal_pairs(
            leave_pair_out(model, X, y, alphas=ALPHAS), y, retrained_pairs(model, X, y, ALPHAS)
        )


def test_equal_rows_are_tied_and_count_one_half():
    X, y = rows(20, 3, "two")
    X[1] = X[0]
    y[:2] = 0.5, 3.0
    for model in (RankRLS(0.1), RankRLS(0.1, ties="drop"), RankRLS(0.1, kernel="rbf")):
        result = leave_pair_out(model, X, y)
        others = pair_error(
            y, np.where(np.add.outer(np.arange(20), np.arange(20)) == 1, 0, result.predictions)
        )
        assert result.error == pytest.approx(others, abs=1e-12)


def test_sparse_rows_and_precomputed_kernels_agree_with_dense_rows():
    X, y = rows(20, 4, "graded")
    dense = leave_pair_out(RankRLS(), X, y, alphas=ALPHAS)
    for model, data in (
        (RankRLS(), sp.csr_array(X)),
        (RankRLS(kernel="precomputed"), X @ X.T),
    ):
        other = leave_pair_out(model, data, y, alphas=ALPHAS)
        np.testing.assert_allclose(other.predictions, dense.predictions, **CLOSE)
    wide, y = rows(9, 15)
    first, second = (leave_pair_out(RankRLS(0.1), data, y) for data in (wide, sp.csr_array(wide)))
    np.testing.assert_allclose(first.predictions, second.predictions, **CLOSE)


def test_a_constant_added_to_labels_or_rows_changes_no_order():
    X, y = rows(25, 3, "graded")
    base = leave_pair_out(RankRLS(), X, y, alphas=ALPHAS)
    np.testing.assert_allclose(leave_pair_out(RankRLS(), X, y + 1e4, alphas=ALPHAS).error, base.error)
    np.testing.assert_allclose(leave_pair_out(RankRLS(), X + 1e3, y, alphas=ALPHAS).error, base.error)


@pytest.mark.parametrize("alpha", [1e-10, 1e10])
def test_extreme_alphas(alpha):
    X, y = rows(20, 3, "graded")
    assert_equal_pairs(
        leave_pair_out(RankRLS(), X, y, alphas=[alpha]), y, retrained_pairs(RankRLS(), X, y, [alpha])
    )


def test_leave_pair_out_is_an_auc_without_bias():
    """Labels that have nothing to do with the rows: one half on average, where pooling says less."""
    generator = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], 10)
    estimates = [leave_pair_out(RankRLS(1.0), generator.normal(size=(20, 3)), y).auc for _ in range(400)]
    assert abs(np.mean(estimates) - 0.5) < 3 * np.std(estimates) / 20


# Leave-query-out

QUERY_MODELS = {
    "primal": RankRLS(),
    "gaussian": RankRLS(kernel="rbf", gamma=0.1),
    "linear kernel": RankRLS(kernel=lambda a, b: float(a @ b)),
    "ties dropped": RankRLS(ties="drop"),
    "ties dropped, gaussian": RankRLS(ties="drop", kernel="rbf", gamma=0.1),
    "unit": RankRLS(cost="unit"),
    "relative": RankRLS(cost="relative"),
}


def queries(m=40, n=4, kind="graded", n_queries=7, seed=0):
    """Rows of queries of different sizes in no order, the last a single row."""
    X, y = rows(m, n, kind, seed)
    qid = np.random.default_rng(seed).integers(0, n_queries, size=m)
    qid[5] = 99
    return X, y, qid


@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("shape", [(40, 4), (21, 30)])
@pytest.mark.parametrize("name", QUERY_MODELS)
def test_leave_query_out_equals_retraining(name, shape, average):
    model = clone(QUERY_MODELS[name]).set_params(average=average)
    X, y, qid = queries(*shape)
    result = leave_query_out(model, X, y, qid, alphas=ALPHAS)
    scores = retrained_folds(model, X, y, qid, qid, ALPHAS)
    np.testing.assert_allclose(result.predictions, scores, **CLOSE)
    preferences = Preferences.from_scores(y, qid)
    with pytest.warns(match="the mean leaves"):
        expected = [ranking_error(preferences, one) for one in scores]
    np.testing.assert_allclose(result.error, expected, atol=1e-12)


@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("name", ["primal", "gaussian", "ties dropped"])
def test_folds_of_several_queries_equal_retraining(name, average):
    model = clone(QUERY_MODELS[name]).set_params(average=average)
    X, y, qid = queries()
    fold_of_row = np.array([{99: 0}.get(q, q % 3) for q in qid])
    result = leave_query_out(model, X, y, qid, folds=fold_of_row, alphas=ALPHAS)
    np.testing.assert_allclose(
        result.predictions, retrained_folds(model, X, y, qid, fold_of_row, ALPHAS), **CLOSE
    )
    numbers = np.empty(len(y))
    for number, (_, test) in enumerate(QueryKFold(3, shuffle=True, random_state=0).split(X, groups=qid)):
        numbers[test] = number
    result = leave_query_out(model, X, y, qid, folds=3, alphas=ALPHAS)
    np.testing.assert_allclose(
        result.predictions, retrained_folds(model, X, y, qid, numbers, ALPHAS), **CLOSE
    )


def with_close_labels(difference):
    """Labels that differ by 1 or more, but for two rows of the first query."""
    generator = np.random.default_rng(0)
    X, qid = generator.normal(size=(40, 4)), np.arange(40) // 5
    y = np.round(X @ [1, 2, 0, 1] + generator.normal(size=40))
    y[1] = y[0] + difference
    return X, y, qid


@pytest.mark.parametrize("folds", [None, 3])
@pytest.mark.parametrize("difference", [1e-2, 1e-4])
def test_leaving_out_a_query_with_nearly_all_of_the_weight_equals_retraining(difference, folds):
    X, y, qid = with_close_labels(difference)
    model = RankRLS(cost="relative")
    numbers = qid.copy()
    if folds:
        for number, (_, test) in enumerate(QueryKFold(3, shuffle=True, random_state=0).split(X, groups=qid)):
            numbers[test] = number
    for alphas in ([1e-3], ALPHAS):
        result = leave_query_out(model, X, y, qid, folds=folds, alphas=alphas)
        expected = retrained_folds(model, X, y, qid, numbers, alphas)
        np.testing.assert_allclose(result.predictions, expected, rtol=0, atol=1e-15 / difference**2)


def test_leaving_out_warns_of_rounding_as_a_fit_does():
    X, y, qid = with_close_labels(1e-6)
    model = RankRLS(1e-3, cost="relative")
    with pytest.warns(ConvergenceWarning, match="No further progress was possible") as fitted:
        model.fit(X, y, qid=qid)
    with pytest.warns(ConvergenceWarning, match="No further progress was possible") as left_out:
        result = leave_query_out(model, X, y, qid)
    assert str(left_out[0].message)[:40] == str(fitted[0].message)[:40]
    with pytest.warns(ConvergenceWarning, match="No further progress was possible") as tested:
        permutation_test(model, X, y, qid, n_permutations=5, random_state=0)
    assert len(tested) == 1
    alone = qid == qid[0]  # the others have labels that differ more
    expected = RankRLS(1e-3, cost="relative").fit(X[~alone], y[~alone], qid=qid[~alone]).predict(X[alone])
    np.testing.assert_allclose(result.predictions[alone], expected, atol=1e-7)


def exact_scores(X, y, i, j, alpha):
    """Scores of two rows of two features by the equations of the others under cost (22), in fractions."""
    rest = [k for k in range(len(y)) if k not in (i, j)]
    pairs = [(a, b) for a in rest for b in rest if y[a] > y[b]]
    gram, right = [[Fraction(0)] * 2 for _ in range(2)], [Fraction(0)] * 2
    for a, b in pairs:
        apart = [Fraction(float(X[a, k])) - Fraction(float(X[b, k])) for k in range(2)]
        target = Fraction(float(y[a])) - Fraction(float(y[b]))
        for k in range(2):
            right[k] += apart[k] / target
            for n in range(2):
                gram[k][n] += apart[k] * apart[n] / target**2
    for k in range(2):
        gram[k][k] += len(pairs) * Fraction(alpha)
    determinant = gram[0][0] * gram[1][1] - gram[0][1] ** 2
    w = [
        (gram[1][1] * right[0] - gram[0][1] * right[1]) / determinant,
        (gram[0][0] * right[1] - gram[0][1] * right[0]) / determinant,
    ]
    return [float(sum(Fraction(float(X[row, k])) * w[k] for k in range(2))) for row in (i, j)]


@pytest.mark.parametrize("difference", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("alphas", [[1e-2], [1e-3, 1e-2, 0.1]])
def test_leave_pair_out_keeps_the_digits_beside_labels_that_hardly_differ(difference, alphas):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    y[3], y[5] = y[7] + difference, y[7] - 3 * difference
    result = leave_pair_out(RankRLS(cost="relative"), X, y, alphas=alphas)
    for k, alpha in enumerate(alphas):
        for i, j in itertools.combinations(range(9), 2):
            found = result.predictions[k][[i, j], [j, i]]
            np.testing.assert_allclose(found, exact_scores(X, y, i, j, alpha), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["primal", "gaussian", "unit"])
def test_several_outputs_of_queries(name):
    X, y, qid = queries()
    Y = np.column_stack([y, labels("real", X, 3), -y])
    result = leave_query_out(QUERY_MODELS[name], X, Y, qid, alphas=ALPHAS)
    scores = retrained_folds(QUERY_MODELS[name], X, Y, qid, qid, ALPHAS)
    np.testing.assert_allclose(result.predictions, scores, **CLOSE)
    assert result.error.shape == (3, 3)


def test_basis_rows_stay_when_queries_leave():
    X, y, qid = queries()
    model = RankRLS(kernel="rbf", gamma=0.3, n_components=8, random_state=0)
    Phi = KernelMap("rbf", gamma=0.3, n_components=8, random_state=0).fit_transform(X)
    result = leave_query_out(model, X, y, qid, alphas=ALPHAS)
    np.testing.assert_allclose(
        result.predictions, retrained_folds(RankRLS(), Phi, y, qid, qid, ALPHAS), **CLOSE
    )


@pytest.mark.parametrize("ties", ["keep", "drop"])
@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_weights_of_rows_and_queries_leave_with_their_queries(average, ties):
    X, y, qid = queries()
    generator = np.random.default_rng(2)
    weight = generator.uniform(0.0, 3.0, size=len(y)).round()
    importance = generator.uniform(0.5, 2.0, size=100)[qid]
    preferences = Preferences.from_scores(y, qid, weight, query_weight=importance)
    model = RankRLS(0.1, average=average, ties=ties)
    result = leave_query_out(model, X, preferences)
    for query in np.unique(qid):
        test, train = np.flatnonzero(qid == query), np.flatnonzero(qid != query)
        scores = clone(model).fit(X[train], preferences[train]).predict(X[test])
        np.testing.assert_allclose(result.predictions[test], scores, **CLOSE)


def test_components_of_listed_pairs_leave_together():
    X, _ = rows(12, 3)
    better, worse = [0, 1, 3, 4, 6, 6, 9], [1, 2, 4, 5, 7, 8, 10]
    preferences = Preferences.from_pairs(better, worse, magnitude=np.arange(1.0, 8), n_rows=12)
    result = leave_query_out(RankRLS(0.1), X, preferences)
    for component in ([0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10]):
        train = np.setdiff1d(np.arange(12), component)
        scores = RankRLS(0.1).fit(X[train], preferences[train]).predict(X[component])
        np.testing.assert_allclose(result.predictions[component], scores, **CLOSE)


def ohsumed(n_queries):
    folder = Path(os.environ.get("RANKWISE_DATA", "")) / "letor2_ohsumed"
    if not folder.is_dir():
        pytest.skip("RANKWISE_DATA names no folder with letor2_ohsumed")
    with gzip.open(folder / "S1.txt.gz") as file:
        X, y, qid = load_svmlight_file(file, n_features=25, query_id=True)
    part = np.isin(qid, np.unique(qid)[:n_queries])
    return X.toarray()[part], y[part], qid[part]


@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("ties", ["keep", "drop"])
def test_leave_query_out_on_documents_of_ohsumed(average, ties):
    X, y, qid = ohsumed(6)
    for model in (RankRLS(), RankRLS(kernel="rbf", gamma=0.5)):
        model.set_params(average=average, ties=ties)
        result = leave_query_out(model, X, y, qid, alphas=ALPHAS)
        scores = retrained_folds(model, X, y, qid, qid, ALPHAS)
        np.testing.assert_allclose(result.predictions, scores, **CLOSE)


# Sentences


def test_bad_input_gets_a_sentence():
    X, y, qid = queries()
    with pytest.raises(TypeError, match="model must be a RankRLS; got RankSVM"):
        leave_pair_out(RankSVM(), X, y)
    with pytest.raises(ValueError, match="alphas must be positive numbers"):
        leave_pair_out(RankRLS(), X, y, alphas=[1.0, 0.0])
    with pytest.raises(ValueError, match="alphas is empty"):
        leave_query_out(RankRLS(), X, y, qid, alphas=[])
    with pytest.raises(ValueError, match="use leave_query_out"):
        leave_pair_out(RankRLS(), X, Preferences.from_scores(y, qid))
    with pytest.raises(ValueError, match="qid must be None"):
        leave_query_out(RankRLS(), X, Preferences.from_scores(y, qid), qid)
    with pytest.raises(ValueError, match="at least two queries"):
        leave_query_out(RankRLS(), X, y)
    with pytest.raises(ValueError, match="must not split queries"):
        leave_query_out(RankRLS(), X, y, qid, folds=np.arange(len(y)))
    with pytest.raises(ValueError, match="X has 39 rows, but y has 40"):
        leave_pair_out(RankRLS(), X[:-1], y)
    with pytest.raises(ValueError, match="cost must be one of"):
        leave_pair_out(RankRLS(cost="square"), X, y)


def test_nothing_left_to_learn_from_gets_a_sentence():
    X, _ = rows(6, 2)
    model = RankRLS(ties="drop")
    with pytest.raises(NoPairsError, match="all remaining labels are equal"):
        leave_pair_out(model, X, [1, 0, 0, 0, 0, 0])
    with pytest.raises(NoPairsError, match="involve"):
        leave_pair_out(model, X, [1, 2, 0, 0, 0, 0])
    assert 0 <= leave_pair_out(RankRLS(), X, [1, 1, 0, 0, 0, 0]).error <= 1
    with pytest.raises(NoPairsError, match="All pairs are in one fold"):
        leave_query_out(RankRLS(), X, [1, 0, 1, 1, 0, 0], [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 2), (2, 9)])
def test_classes_of_two_rows(sizes):
    y = np.repeat([1.0, 0.0], sizes)
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    for ties in ("keep", "drop"):
        model = RankRLS(ties=ties)
        result = leave_pair_out(model, X, y, alphas=ALPHAS)
        assert result.method == ("downdates" if sizes == (2, 2) and ties == "drop" else "closed form")
        assert_equal_pairs(result, y, retrained_pairs(model, X, y, ALPHAS))


def test_results_can_be_stored():
    X, y, qid = queries()
    for result in (leave_pair_out(RankRLS(), X, y), leave_query_out(RankRLS(), X, y, qid)):
        again = pickle.loads(pickle.dumps(result))
        np.testing.assert_array_equal(again.predictions, result.predictions)
        assert again.error == result.error


def test_the_model_is_not_changed():
    X, y = rows(12, 3)
    model = RankRLS(0.5)
    leave_pair_out(model, X, y, alphas=[1.0])
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")
    assert model.alpha == 0.5


def test_small_alphas_make_no_ties():
    """With more features than rows and little penalty all pair determinants are tiny, and must stay apart."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(40, 200))
    y = X[:, :5].sum(axis=1)
    higher, lower = np.nonzero(y[:, None] > y)
    for scale, alpha in ((1.0, 1.0), (1.0, 1e-8), (1000.0, 1e-3), (3000.0, 1e-3)):
        result = leave_pair_out(RankRLS(alpha), scale * X, y)
        difference = result.predictions[higher, lower] - result.predictions[lower, higher]
        assert result.error == pytest.approx(np.mean(difference < 0), abs=1e-12)
        assert result.error == pytest.approx(0.417949, abs=1e-6)


@pytest.mark.parametrize("model", [RankRLS(), RankRLS(ties="drop"), RankRLS(kernel="rbf", gamma=0.2)])
@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_queries_of_one_row_do_not_count(model, average):
    X, y = rows(54, 3)
    qid, some = np.r_[np.arange(24) % 4, 4:34], np.arange(24)
    model = clone(model).set_params(average=average)
    for keep in ("alpha", "lambda"):
        whole, part = (
            leave_query_out(model, X[k], y[k], qid[k], alphas=ALPHAS, keep=keep) for k in (slice(None), some)
        )
        np.testing.assert_allclose(whole.predictions[:, some], part.predictions, **CLOSE)
        np.testing.assert_allclose(whole.error, part.error)
    whole, part = (
        permutation_test(model, X[k], y[k], qid[k], n_permutations=20, random_state=0)
        for k in (slice(None), some)
    )
    assert whole.statistic == pytest.approx(part.statistic)


def test_a_class_with_one_row_raises_an_error():
    X = np.random.default_rng(0).normal(size=(12, 3))
    with pytest.raises(NoPairsError, match="remain"):
        leave_pair_out(RankRLS(ties="drop"), X, np.eye(12)[0])


@pytest.mark.parametrize(
    "y", [np.eye(9)[0], np.eye(9)[0] + 2 * np.eye(9)[4], [0.0, 1.0, 0.0], [3.0, 1.0, 2.0]]
)
@pytest.mark.parametrize("model", [RankRLS(0.1), RankRLS(0.1, kernel="rbf")])
@pytest.mark.parametrize("alphas", [None, [10.0, 0.1]])
def test_labels_of_one_row_leave_if_ties_are_kept(y, model, alphas):
    """Equation (36) is defined although the rows that remain may have equal labels: all scores are then 0."""
    X = np.random.default_rng(0).normal(size=(len(y), 3))
    result = leave_pair_out(model, X, y, alphas=alphas)
    penalties = [0.1] if alphas is None else alphas
    scores = np.full((len(penalties), len(y), len(y)), np.nan)
    for i, j in itertools.permutations(range(len(y)), 2):
        if y[i] == y[j]:
            continue
        rest = np.delete(np.arange(len(y)), [i, j])
        for k, alpha in enumerate(penalties):
            equal = len(np.unique(np.asarray(y)[rest])) == 1
            scores[k, i, j] = 0.0 if equal else held_out(model, X, y, None, rest, [i, j], alpha)[0]
    found = result.predictions.reshape(scores.shape)
    # Scores have an arbitrary constant for the mean of the labels of a pair: differences count.
    np.testing.assert_allclose(
        found - found.transpose(0, 2, 1), scores - scores.transpose(0, 2, 1), rtol=1e-7, atol=1e-9
    )
    expected = [pair_error(np.asarray(y), one) for one in scores]
    np.testing.assert_allclose(np.atleast_1d(result.error), expected, atol=1e-12)


@pytest.mark.parametrize("by_query", [True, False])
def test_the_lambda_of_the_permutation_test_can_be_kept(by_query):
    X, y = rows(14, 3)
    qid = np.arange(14) % 4 if by_query else None
    options = {"n_permutations": 3, "random_state": 0}
    found = permutation_test(RankRLS(), X, y, qid, keep="lambda", **options)
    assert (
        found.statistic
        == (
            leave_query_out(RankRLS(), X, y, qid, keep="lambda")
            if by_query
            else leave_pair_out(RankRLS(), X, y, keep="lambda")
        ).auc
    )


@pytest.mark.parametrize("options", [{}, {"cost": "unit"}, {"ties": "drop"}])
def test_pairs_that_are_not_left_out_have_no_scores(options):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 2
    predictions = leave_pair_out(RankRLS(**options), X, y).predictions
    np.testing.assert_array_equal(np.isnan(predictions), y[:, None] == y)


def test_tiles_of_any_size_count_the_same_pairs(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 4, 40)
    outputs = np.column_stack([y, rng.permutation(y)])
    for labels, options in ((y, {}), (outputs, {}), (y > 1, {"cost": "unit"})):
        whole = leave_pair_out(RankRLS(**options), X, labels, alphas=[1.0, 0.01]).error
        monkeypatch.setattr(pair_formulas, "_TILE", (7, 5))
        monkeypatch.setattr(pair_formulas, "_BLOCK_BYTES", 50)
        np.testing.assert_array_equal(
            leave_pair_out(RankRLS(**options), X, labels, alphas=[1.0, 0.01]).error, whole
        )
        monkeypatch.undo()


class Clock:
    """A clock that goes on by so many seconds each time it is looked at."""

    def __init__(self, step):
        self.step, self.now = step, 0.0

    def __call__(self):
        self.now += self.step
        return self.now


def test_progress_shows_the_remaining_time(capsys, caplog):
    progress = Progress("Work", 10, verbose=1, clock=Clock(2.0))
    for _ in range(10):
        progress.advance(1)
    assert capsys.readouterr().err.splitlines() == [
        "Work: 10% done, about 18 seconds left",
        "Work: 40% done, about 12 seconds left",
        "Work: 70% done, about 6 seconds left",
    ]
    silent = Progress("Work", 1000, clock=Clock(2.0))
    for _ in range(1000):
        silent.advance(1)
    assert [record.getMessage() for record in caplog.records] == [
        "Work will take about 33 minutes; verbose=1 prints the progress."
    ]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("queries", [None, np.arange(24) // 6])
def test_a_permutation_test_compares_with_shuffled_labels(queries):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), rng.normal(size=24)
    result = permutation_test(RankRLS(), X, y, queries, n_permutations=19, random_state=3)
    query = np.zeros(24, dtype=np.int64) if queries is None else queries
    shuffled = permuted_labels(y, query, 19, np.random.default_rng(3))
    for q in np.unique(query):
        expected = np.sort(y[query == q])
        np.testing.assert_array_equal(np.sort(shuffled[query == q], axis=0).T, [expected] * 19)
    assert len(np.unique(shuffled, axis=1).T) == 19

    def held_out(labels):
        left_out = leave_pair_out if queries is None else partial(leave_query_out, qid=queries)
        return left_out(RankRLS(), X, labels).auc

    null = [held_out(column) for column in shuffled.T]
    assert result.statistic == pytest.approx(held_out(y), abs=1e-12)
    np.testing.assert_allclose(result.null_distribution, null, atol=1e-12)
    as_good = np.count_nonzero(np.array(null) >= result.statistic - 1e-9)
    assert result.pvalue == pytest.approx((1 + as_good) / 20)


def test_a_long_permutation_test_logs_its_time_before_the_start(monkeypatch, caplog):
    def begun(*arguments):
        raise InterruptedError

    monkeypatch.setattr("rankwise.model_selection.permutation.permuted_labels", begun)
    X, y = np.zeros((20_000, 1)), np.arange(20_000.0)
    for options in ({"n_permutations": 1}, {"qid": y // 10}, {"n_permutations": 1000}):
        assert not caplog.records
        with pytest.raises(InterruptedError):
            permutation_test(RankRLS(), X, y, **options)
    told = "The permutation test will take about 33 minutes; verbose=1 prints the progress."
    assert [record.getMessage() for record in caplog.records] == [told]


def test_outputs_one_by_one_are_progress(monkeypatch):
    steps = []
    monkeypatch.setattr(Progress, "advance", lambda self, amount: steps.append(amount))
    rng = np.random.default_rng(0)
    leave_pair_out(RankRLS(), rng.normal(size=(12, 2)), rng.normal(size=(12, 3)), alphas=[1.0, 0.1])
    assert steps == [144.0] * 6


@pytest.mark.parametrize("cost", ["magnitude", "unit", "relative"])
def test_leaving_out_reports_progress(cost, monkeypatch):
    shares = []

    def advance(self, amount):
        self._done += amount
        shares.append(self._done / self.total)

    monkeypatch.setattr(Progress, "advance", advance)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.arange(12) % 3
    leave_pair_out(RankRLS(cost=cost), X, y)
    assert 0.5 <= shares[-1] <= 2
    shares.clear()
    leave_query_out(RankRLS(cost=cost), X, y, np.repeat([0, 1, 2, 3], 3))
    assert shares == [0.25, 0.5, 0.75, 1.0]


def test_the_matrices_of_all_pairs_are_refused_by_a_sentence(monkeypatch):
    monkeypatch.setattr("rankwise.core.memory.available_memory", lambda: 1_000_000)
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 4
    result = leave_pair_out(RankRLS(), X, y)
    with pytest.raises(MemoryError, match=r"all pairs of 200 rows.* error and auc need no such matrix"):
        _ = result.predictions
    with pytest.raises(MemoryError, match="Leaving out pairs of 300 rows needs"):
        leave_pair_out(RankRLS(cost="unit"), np.vstack([X, X[:100]]), np.arange(300) % 3)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("parameters", [{}, {"cost": "unit"}, {"average": "pairs"}])
def test_steps_without_a_query_lead_where_a_decomposition_does(n_outputs, parameters, monkeypatch):
    generator = np.random.default_rng(6)
    X, qid = generator.normal(size=(900, 6)) + 1e4, generator.permutation(np.arange(900) % 60)
    y = generator.integers(0, 4, (900, n_outputs)) + (X[:, :1] - 1e4 > 0)
    y = y[:, 0] if n_outputs == 1 else y
    alphas, model = [100.0, 1.0, 1e-2, 1e-9], RankRLS(**parameters)
    found = []
    by_steps = query_weights._weights_by_steps
    monkeypatch.setattr(
        query_weights, "_weights_by_steps", lambda *given: found.append(by_steps(*given)) or found[-1]
    )
    steps = leave_query_out(model, X, y, qid, alphas=alphas)
    assert found
    assert all(weights is not None for weights in found)
    monkeypatch.setattr(query_weights, "_weights_by_steps", lambda *given: None)
    decomposed = leave_query_out(model, X, y, qid, alphas=alphas)
    np.testing.assert_allclose(steps.predictions, decomposed.predictions, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(steps.error, decomposed.error)


def test_steps_are_given_up_where_a_query_is_most_of_the_rows(monkeypatch):
    generator = np.random.default_rng(7)
    X, y, qid = generator.normal(size=(60, 6)), generator.normal(size=60), np.arange(60) // 30
    found = []
    by_steps = query_weights._weights_by_steps
    monkeypatch.setattr(
        query_weights, "_weights_by_steps", lambda *given: found.append(by_steps(*given)) or found[-1]
    )
    result = leave_query_out(RankRLS(), X, y, qid, alphas=[1e-1, 1e-6])
    assert found == [None, None]
    for k, alpha in enumerate((1e-1, 1e-6)):
        fitted = RankRLS(alpha).fit(X[30:], y[30:])
        np.testing.assert_allclose(result.predictions[k, :30], fitted.predict(X[:30]), **CLOSE)


def test_many_alphas_and_few_parts_give_the_same_errors_as_systems(monkeypatch):
    """Above some number of alphas each pair is decomposed; pairs are solved in parts."""
    generator = np.random.default_rng(8)
    X, time = generator.normal(size=(20, 3)), generator.exponential(size=20)
    lives = Preferences.from_survival(generator.random(20) < 0.7, time)
    alphas = np.logspace(-4, 1, 5)
    systems = leave_pair_out(RankRLS(), X, lives, alphas=alphas)
    monkeypatch.setattr(pair_downdates, "FEW_ALPHAS", 2)
    monkeypatch.setattr(pair_downdates, "_ENTRIES_AT_ONCE", 20)
    decomposed = leave_pair_out(RankRLS(), X, lives, alphas=alphas)
    np.testing.assert_array_equal(systems.error, decomposed.error)
    np.testing.assert_allclose(systems.predictions, decomposed.predictions, **CLOSE)


@pytest.mark.parametrize("limit", [0, np.inf])
def test_little_that_remains_is_summed_anew_with_the_same_scores(limit, monkeypatch):
    X, qid = np.random.default_rng(9).normal(size=(60, 4)), np.arange(60) % 6
    y = labels("real", X)
    expected = leave_query_out(RankRLS(), X, y, qid, alphas=ALPHAS)
    monkeypatch.setattr(query_weights, "LITTLE", limit)
    found = leave_query_out(RankRLS(), X, y, qid, alphas=ALPHAS)
    np.testing.assert_allclose(found.predictions, expected.predictions, **CLOSE)


@pytest.mark.parametrize("factors", [0, 100])
def test_factors_of_the_kernel_matrix_give_the_scores_of_its_spectrum(factors, monkeypatch):
    X, qid = np.random.default_rng(9).normal(size=(60, 4)), np.arange(60) % 6
    y = labels("real", X)
    model = RankRLS(kernel="rbf", gamma=0.2)
    expected = leave_query_out(model, X, y, qid, alphas=ALPHAS)
    monkeypatch.setattr(leave_out, "FACTORS", factors)
    found = leave_query_out(model, X, y, qid, alphas=ALPHAS)
    np.testing.assert_allclose(found.predictions, expected.predictions, **CLOSE)
