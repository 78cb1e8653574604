"""RankSVM and RankSVMCV as users meet them: scikit-learn's rules, invariances, conversions of C, errors."""

import logging
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import independent
import reference
from rankwise import (
    HullRanker,
    NoPairsError,
    Preferences,
    RankSVM,
    RankSVMCV,
    pair_data,
    scale_within_queries,
)
from rankwise.datasets import make_ranking
from rankwise.losses.pair_sums import partner_sums
from rankwise.model_selection import QueryKFold
from rankwise.solvers import InterruptedWarning

LOSSES = ("hinge", "squared_hinge")
# A few candidates do where it does not matter which is best.
FEW_CANDIDATES = pytest.mark.filterwarnings("ignore::rankwise.model_selection.EdgeOfGridWarning")


def data(n=80, n_features=4, n_queries=6, n_levels=4, noise=0.5, seed=0):
    """Rows of several queries, in no order; all queries have pairs."""
    X, y = make_ranking(n, n_features, n_levels=n_levels, noise=noise, random_state=seed)
    return X, y, np.random.default_rng(seed).permutation(np.arange(n) % n_queries)


def right_order(y, scores, qid=None):
    """The share of pairs in the right order, ties one half, queries alike: in plain loops."""
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    return sum(w * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j])) for i, j, w, *_ in pairs)


# scikit-learn's own checks


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("kernel", "n_features"), [("linear", 25), ("linear", 9000), ("rbf", 25), ("poly", 25)]
)
def test_equal_rows_have_equal_scores(dtype, kernel, n_features):
    X = np.random.default_rng(0).normal(size=(100, n_features)).astype(dtype)
    model = RankSVM(kernel=kernel, gamma=1 / n_features).fit(X, X[:, 0])
    scores = model.predict(X)
    np.testing.assert_array_equal(model.predict(X.copy()), scores)
    for row, score in zip(X[::3], scores[::3], strict=True):
        for copies in (np.tile(row, (7, 1)), np.asfortranarray(np.tile(row, (7, 1))), row[None]):
            np.testing.assert_array_equal(model.predict(copies), score)
        assert model.score(np.tile(row, (7, 1)), np.arange(7)) == 0.5


def test_tags():
    assert not is_classifier(RankSVM())
    assert not is_regressor(RankSVM())
    assert get_tags(RankSVM()).target_tags.required
    assert get_tags(RankSVM()).input_tags.sparse
    assert not get_tags(RankSVM()).input_tags.pairwise
    assert get_tags(RankSVM(kernel="precomputed")).input_tags.pairwise
    assert not get_tags(RankSVM(kernel=lambda a, b: a @ b)).input_tags.pairwise


@pytest.mark.parametrize("model", [RankSVM(alpha=0.1, tol=1e-4), RankSVMCV(alphas=[1.0], cv=3, n_jobs=2)])
def test_clone_pickle_and_parameters(model):
    X, y, qid = data()
    copy = clone(model).fit(X, y, qid=qid)
    assert copy.get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(copy))
    np.testing.assert_array_equal(again.predict(X), copy.predict(X))
    assert clone(model).set_params(tol=0.5).tol == 0.5
    with pytest.raises(ValueError, match="Invalid parameter 'gama'"):
        model.set_params(gama=1)
    assert ("alpha" in model.get_params()) == (type(model) is RankSVM)


# Invariances

SETTINGS = [("hinge", 1e-3, 1e-3), ("hinge", 1e-3, 1e-6), ("squared_hinge", 1e-3, 2e-11)]


def assert_same_model(first, second, alpha, tol):
    """Objective within tol; weights within 2 sqrt(tol / alpha), the squared hinge's within 1e-8."""
    assert abs(first.objective_ - second.objective_) <= tol + 1e-12
    distance = np.linalg.norm(first.coef_ - second.coef_)
    assert distance <= (1e-8 if first.loss == "squared_hinge" else 2 * np.sqrt(tol / alpha))


@pytest.mark.parametrize(("loss", "alpha", "tol"), SETTINGS)
@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_row_order_query_order_and_qid_type_do_not_matter(loss, alpha, tol, average):
    X, y, qid = data()
    model = RankSVM(alpha, loss=loss, tol=tol, average=average)
    base = clone(model).fit(X, y, qid=qid)
    rng = np.random.default_rng(1)
    for rows in (rng.permutation(len(y)), np.argsort(qid, kind="stable"), np.argsort(-qid), np.argsort(y)):
        assert_same_model(base, clone(model).fit(X[rows], y[rows], qid=qid[rows]), alpha, tol)
    names = np.array(["q7", "b", "", "zz", "A", "query"])
    for other in (
        5 - qid,
        qid * 1000 - 7,
        names[qid],
        qid / 3.0,
        list(names[qid]),
        pd.Series(qid, dtype="category"),
    ):
        assert_same_model(base, clone(model).fit(X, y, qid=other), alpha, tol)


@pytest.mark.parametrize(("loss", "alpha", "tol"), SETTINGS)
def test_a_vector_added_to_all_rows_of_a_query_changes_nothing(loss, alpha, tol):
    X, y, qid = data()
    moved = X + np.random.default_rng(2).normal(size=(6, X.shape[1]))[qid] * 10
    tol = max(tol, 1e-10)  # rows that lie further from zero have scores with fewer digits
    first, second = (RankSVM(alpha, loss=loss, tol=tol).fit(A, y, qid=qid) for A in (X, moved))
    assert_same_model(first, second, alpha, tol)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["one query", "queries", "sparse", "kernel"])
def test_thread_count_changes_no_bit(loss, kind):
    X, y, qid = data(300, n_features=6)
    X = sp.csr_array(np.where(np.abs(X) > 1, X, 0)) if kind == "sparse" else X
    model = RankSVM(1e-3, loss=loss, tol=1e-6, kernel="rbf" if kind == "kernel" else "linear")
    one, two, three = (
        clone(model).set_params(n_jobs=n).fit(X, y, qid=None if kind == "one query" else qid)
        for n in (1, 2, 3)
    )
    for other in (two, three):
        np.testing.assert_array_equal(one._weights, other._weights)
        assert (one.objective_, one.gap_, one.n_iter_) == (other.objective_, other.gap_, other.n_iter_)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True])
def test_thread_count_changes_no_bit_of_large_data(loss, sparse):
    n = 140_000
    rng = np.random.default_rng(0)
    X = (
        sp.random_array((n, 30), density=0.1, random_state=rng, format="csr")
        if sparse
        else rng.normal(size=(n, 3))
    )
    y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=n) * 0.3
    weights = []
    for n_jobs in (1, 2, 3):
        model = RankSVM(1e-4, loss=loss, tol=1e-12, max_iter=4, n_jobs=n_jobs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        weights.append(model.coef_)
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_an_integer_weight_equals_repeated_rows(loss, average):
    X, y, qid = data(40)
    weight = np.random.default_rng(0).integers(0, 4, size=40)
    repeated = np.repeat(np.arange(40), weight)
    model = RankSVM(1e-2, loss=loss, tol=1e-9, average=average)
    weighted = clone(model).fit(X, y, qid=qid, sample_weight=weight)
    twice = clone(model).fit(X[repeated], y[repeated], qid=qid[repeated])
    assert weighted.objective_ == pytest.approx(twice.objective_, abs=1e-9)
    np.testing.assert_allclose(weighted.coef_, twice.coef_, atol=2 * np.sqrt(1e-9 / 1e-2))
    preferences = clone(model).fit(X, Preferences.from_scores(y, qid), sample_weight=weight)
    np.testing.assert_allclose(preferences.coef_, weighted.coef_, rtol=1e-9)


# Optimality, and the numbers of other programs


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("pair_weight", [None, "difference"])
def test_the_objective_is_the_one_of_the_docstring(loss, average, pair_weight):
    X, y, qid = data(40)
    model = RankSVM(0.01, loss=loss, tol=1e-8, average=average, pair_weight=pair_weight).fit(X, y, qid=qid)
    pairs = reference.normalised(reference.ranking_pairs(y, qid, gain=y if pair_weight else None), average)
    best = independent.solve(X, pairs, 0.01, loss)
    assert best.lower - 1e-9 <= model.objective_ <= best.objective + 1e-8
    assert model.objective_ - best.objective - 1e-9 <= model.gap_ <= 1e-8
    value, _ = getattr(reference, loss)(pairs, model.predict(X))
    assert model.objective_ == pytest.approx(value + 0.01 * model.coef_ @ model.coef_, abs=1e-12)
    assert model.n_pairs_ == len(pairs)
    assert model.solver_ == ("bundle" if loss == "hinge" else "newton")


def test_the_published_methods_count_in_their_own_way_and_find_the_same(monkeypatch):
    X, y, qid = make_ranking(60, 4, n_queries=3, n_levels=6, noise=0.5, random_state=0)
    asked = []

    def recorded(*arguments, counting="merge", **options):
        asked.append(counting)
        return partner_sums(*arguments, counting=counting, **options)

    monkeypatch.setattr("rankwise.losses.base.partner_sums", recorded)
    merged = RankSVM(1e-2, tol=1e-6).fit(X, y, qid=qid)
    bmrm = RankSVM(1e-2, tol=1e-6, solver="bmrm").fit(X, y, qid=qid)
    for solver, counting in (("tree-rsvm", "tree"), ("pair-rsvm", "pairs")):
        model = RankSVM(1e-2, tol=1e-6, solver=solver).fit(X, y, qid=qid)
        assert model.solver_ == solver
        assert model.n_iter_ == bmrm.n_iter_
        np.testing.assert_allclose(model.coef_, merged.coef_, rtol=1e-2)
        assert model.objective_ == pytest.approx(merged.objective_, abs=2e-6)
        assert counting in asked


def test_bmrm_and_bundle_agree():
    X, y, qid = data()
    bundle, bmrm = (RankSVM(1e-3, solver=name, tol=1e-7).fit(X, y, qid=qid) for name in ("bundle", "bmrm"))
    assert bundle.objective_ == pytest.approx(bmrm.objective_, abs=1e-7)
    assert bundle.n_iter_ < bmrm.n_iter_


def three_queries():
    """Queries of five rows, four rows and, without pairs, three rows."""
    X = np.random.default_rng(4).normal(size=(12, 2))
    y = np.array([2, 1, 1, 0, 3, 1, 0, 1, 0, 5, 5, 5.0])
    qid = np.repeat([0, 1, 2], [5, 4, 3])
    return X, y, qid, reference.ranking_pairs(y, qid)


def with_half_squared_norm(X, pairs, loss="hinge"):
    """Solve 1/2 ||w||^2 + sum over pairs of weight times loss."""
    best = independent.solve(X, pairs, 0.5, loss)
    assert best.objective - best.lower <= 1e-8
    return best.coef


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 0.3, 5.0])
def test_exchange_rate_of_solvers_with_a_sum_over_pairs(loss, C):
    X, y, qid, pairs = three_queries()
    expected = with_half_squared_norm(X, [(i, j, C, t, q) for i, j, _, t, q in pairs], loss)
    alpha = 1 / (2 * C * len(pairs))
    model = RankSVM(alpha, loss=loss, average="pairs", tol=1e-11).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-4 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("c", [0.03, 1.0, 20.0])
def test_exchange_rate_of_svmrank_with_swapped_pairs(c):
    # svm_rank_learn -l 1: 1/2 ||w||^2 + c/n * sum over all pairs, n = 3 queries, one of them without pairs.
    X, y, qid, pairs = three_queries()
    expected = with_half_squared_norm(X, [(i, j, c / 3, t, q) for i, j, _, t, q in pairs])
    alpha = 3 / (2 * c * len(pairs))
    model = RankSVM(alpha, average="pairs", tol=1e-11).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-4 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("c", [0.03, 1.0, 20.0])
@pytest.mark.parametrize("n", [2, 3])
def test_exchange_rate_of_svmrank_with_fractions_of_swapped_pairs(c, n):
    # svm_rank_learn -l 2: 1/2 ||w||^2 + c/n * sum over queries of the mean over the query's pairs.
    X, y, qid, pairs = three_queries()
    X, y, qid = X[qid < n], y[qid < n], qid[qid < n]
    size = np.bincount([q for *_, q in pairs])
    expected = with_half_squared_norm(X, [(i, j, c / n / size[q], t, q) for i, j, _, t, q in pairs])
    alpha = n / (2 * c * 2)  # 1 / (2 c) where all queries have pairs
    model = RankSVM(alpha, average="queries", tol=1e-11).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, expected, atol=1e-4 * max(1, np.abs(expected).max()))


def test_weights_by_difference_prefer_the_large_steps():
    # One feature sets the grades 0 and 4 right, the other the grades 0 and 1; no weights satisfy both.
    X = np.array([[1.0, 0], [0, 1], [0, 0], [-1, 1]])
    preferences = [(0, 3, 4.0), (1, 2, 1.0), (3, 1, 1.0)]
    y, qid = np.array([4, 0, 1, 0, 1, 0.0]), np.array([0, 0, 1, 1, 2, 2])
    rows = [row for better, worse, _ in preferences for row in (better, worse)]
    pairs = reference.ranking_pairs(y, qid, gain=y)
    model = RankSVM(0.05, average="pairs", pair_weight="difference", tol=1e-9).fit(X[rows], y, qid=qid)
    best = independent.solve(X[rows], reference.normalised(pairs, "pairs"), 0.05)
    assert model.objective_ == pytest.approx(best.objective, abs=1e-8)
    plain = RankSVM(0.05, average="pairs", tol=1e-9).fit(X[rows], y, qid=qid)
    gain = [m.coef_ @ (X[0] - X[3]) for m in (model, plain)]
    assert gain[0] > gain[1]


# Kernels


def inner(a, b, factor=1.0):
    return factor * float(a @ b)


@pytest.mark.parametrize("loss", LOSSES)
def test_linear_kernels_of_all_kinds_agree(loss):
    X, y, qid = data(40)
    new = data(10, n_queries=2, seed=5)[0]
    model = RankSVM(1e-2, loss=loss, tol=1e-10)
    expected = clone(model).fit(X, y, qid=qid)
    spread = 2 * np.sqrt(1e-10 / 1e-2) * np.linalg.norm(X, axis=1).max()
    poly = clone(model).set_params(kernel="poly", degree=1, coef0=0, gamma=1.0)
    for other, A, B in (
        (clone(model).set_params(kernel="precomputed"), X @ X.T, new @ X.T),
        (clone(model).set_params(kernel=inner), X, new),
        (clone(model).set_params(kernel=inner, kernel_params={"factor": 1.0}), X, new),
        (poly, X, new),
    ):
        other.fit(A, y, qid=qid)
        assert other.objective_ == pytest.approx(expected.objective_, abs=1e-9)
        np.testing.assert_allclose(other.predict(B), expected.predict(new), atol=spread)
        assert not hasattr(other, "coef_")


@pytest.mark.parametrize("loss", LOSSES)
def test_a_kernel_model_is_the_optimum_in_its_space(loss):
    X, y, qid = data(30)
    K = rbf_kernel(X, gamma=0.3)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    root = np.linalg.cholesky(K)
    best = independent.solve(root, pairs, 0.01, loss)
    model = RankSVM(0.01, loss=loss, kernel="rbf", gamma=0.3, tol=1e-8).fit(X, y, qid=qid)
    assert best.lower - 1e-9 <= model.objective_ <= best.objective + 1e-8
    norm = model.dual_coef_ @ K @ model.dual_coef_
    value, _ = getattr(reference, loss)(pairs, K @ model.dual_coef_)
    assert model.objective_ == pytest.approx(value + 0.01 * norm, abs=1e-9)
    np.testing.assert_allclose(model.predict(X), K @ model.dual_coef_, atol=1e-9)
    np.testing.assert_allclose(model.predict(X), root @ best.coef, atol=2 * np.sqrt(1e-8 / 0.01))
    np.testing.assert_array_equal(model.basis_, X)


def test_n_components_restricts_the_basis():
    X, y, qid = data(60)
    full = RankSVM(1e-3, kernel="rbf", tol=1e-6).fit(X, y, qid=qid)
    objectives = []
    for b in (5, 20, 60):
        model = RankSVM(1e-3, kernel="rbf", n_components=b, random_state=0, tol=1e-6).fit(X, y, qid=qid)
        assert model.basis_.shape == (b, 4)
        assert model.dual_coef_.shape == (b,)
        np.testing.assert_array_equal(model.basis_, X[model.basis_indices_])
        np.testing.assert_allclose(
            model.predict(X), rbf_kernel(X, model.basis_) @ model.dual_coef_, atol=1e-8
        )
        objectives.append(model.objective_)
    assert objectives[0] > objectives[1] > objectives[2] - 1e-6
    assert objectives[2] == pytest.approx(full.objective_, abs=1e-6)
    K = rbf_kernel(X)
    part = RankSVM(1e-3, kernel="precomputed", n_components=20, random_state=0, tol=1e-6).fit(K, y, qid=qid)
    assert part.objective_ == pytest.approx(objectives[1], abs=1e-6)


def test_duplicated_rows_make_a_singular_kernel_that_works():
    X, y, qid = data(30)
    twice = np.repeat(np.arange(30), 2)
    once = RankSVM(0.01, kernel="rbf", tol=1e-8).fit(X, y, qid=qid)
    double = RankSVM(0.01, kernel="rbf", tol=1e-8).fit(X[twice], y[twice], qid=qid[twice])
    assert double.objective_ == pytest.approx(once.objective_, abs=2e-8)
    np.testing.assert_allclose(double.predict(X), once.predict(X), atol=4 * np.sqrt(1e-8 / 0.01))


def test_memory_is_refused_before_it_is_allocated(monkeypatch):
    X, y, qid = data(60)
    monkeypatch.setattr("rankwise.functions.kernel_map.available_memory", lambda: 30_000)
    with pytest.raises(
        MemoryError, match=r"60 rows with 60 basis rows needs .* kB .*n_components=15 would fit"
    ):
        RankSVM(kernel="rbf").fit(X, y, qid=qid)
    RankSVM(kernel="rbf", n_components=15).fit(X, y, qid=qid)
    RankSVM().fit(X, y, qid=qid)


def test_a_second_fit_with_another_kernel_forgets_the_first():
    X, y, _ = data(40)
    model = RankSVM(kernel="rbf").fit(X, y)
    expected = model.predict(X)
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "dual_coef_")
    model.set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "coef_")
    np.testing.assert_array_equal(model.predict(X), expected)


# Kinds of input


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_dense_single_precision_and_mapped_data_agree(loss, tmp_path):
    X, y, qid = data()
    X = np.where(np.abs(X) > 0.5, X, 0)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    tol = 1e-11
    model = RankSVM(1e-2, loss=loss, tol=tol)
    dense = clone(model).fit(X, y, qid=qid)
    best = independent.solve(X, independent.listed(Preferences.from_scores(y, qid)), 1e-2, loss)
    assert dense.objective_ == pytest.approx(best.objective, abs=1e-9)
    np.testing.assert_allclose(dense.coef_, best.coef, atol=1e-4)
    for A in (sp.csr_matrix(X), sp.csc_array(X), sp.coo_array(X), mapped, np.asfortranarray(X)):
        other = clone(model).fit(A, y, qid=qid)
        assert other.objective_ == pytest.approx(dense.objective_, abs=tol)
        np.testing.assert_allclose(other.predict(A), dense.predict(X), atol=5e-4)
    for A in (X.astype(np.float32), sp.csr_array(X.astype(np.float32))):
        single = clone(model).fit(A, y, qid=qid)
        assert single.coef_.dtype == np.float64
        assert single.objective_ == pytest.approx(dense.objective_, abs=1e-6)


@pytest.mark.parametrize(
    ("frame", "column"),
    [
        (pd.DataFrame, pd.Series),
        (pl.DataFrame, pl.Series),
        (pa.table, lambda values: pa.chunked_array([values])),
    ],
)
def test_frames_bring_feature_names(frame, column):
    X, y, qid = data()
    names = ["age", "size", "price", "colour"]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = RankSVM().fit(table, column(y), qid=column(qid.astype(str)))
    np.testing.assert_array_equal(model.feature_names_in_, names)
    plain = RankSVM().fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-12)
    np.testing.assert_allclose(model.predict(table), plain.predict(X), atol=1e-12)
    assert model.score(table, column(y), qid=column(qid)) == plain.score(X, y, qid=qid)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(dict(zip(reversed(names), X.T, strict=True))))


def test_preferences_as_y():
    X, y, qid = data()
    labels = RankSVM().fit(X, y, qid=qid)
    preferences = RankSVM().fit(X, Preferences.from_scores(y, qid))
    np.testing.assert_array_equal(labels.coef_, preferences.coef_)
    assert preferences.score(X, Preferences.from_scores(y, qid)) == labels.score(X, y, qid=qid)


def test_a_reward_head_from_chosen_and_rejected_rows():
    rng = np.random.default_rng(0)
    chosen = rng.normal(size=(50, 3)) + np.array([1.0, -0.5, 0.0])
    rejected = rng.normal(size=(50, 3))
    X, preferences = pair_data(chosen, rejected)
    model = RankSVM(0.01, loss="squared_hinge", tol=1e-12).fit(X, preferences)
    # The same as a squared-hinge SVM without intercept on the differences.
    pairs = [(k, 50 + k, 1 / 50, 1.0, 0) for k in range(50)]
    best = independent.solve(X, pairs, 0.01, "squared_hinge")
    np.testing.assert_allclose(model.coef_, best.coef, atol=1e-4)
    right = np.mean(chosen @ model.coef_ > rejected @ model.coef_)
    assert model.score(X, preferences) == pytest.approx(right)


def test_survival_times():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    time = np.exp(X[:, 0] + 0.3 * rng.normal(size=40))
    event = rng.random(40) < 0.7
    model = RankSVM(0.01, tol=1e-8).fit(X, Preferences.from_survival(event, time))
    pairs = reference.normalised(reference.survival_pairs(event, time))
    assert model.objective_ == pytest.approx(independent.solve(X, pairs, 0.01).objective, abs=1e-8)
    scores = model.predict(X)
    concordance = sum(w * (scores[i] > scores[j]) for i, j, w, *_ in pairs)
    assert model.score(X, Preferences.from_survival(event, time)) == pytest.approx(concordance)
    assert concordance > 0.85


def test_an_order_of_classes():
    rng = np.random.default_rng(0)
    labels = rng.choice(["bad", "fair", "good"], size=40)
    X = (
        rng.normal(size=(40, 2))
        + np.array([{"bad": 0, "fair": 1, "good": 2}[label] for label in labels])[:, None]
    )
    edges = [("good", "fair"), ("fair", "bad")]
    model = RankSVM(0.01, tol=1e-8).fit(X, Preferences.from_order(labels, edges))
    pairs = reference.normalised(reference.order_pairs(labels, edges))
    assert model.n_pairs_ == len(pairs)
    assert model.objective_ == pytest.approx(independent.solve(X, pairs, 0.01).objective, abs=1e-8)


# Model selection


def test_grid_search_over_preferences_scores_within_queries():
    X, y, qid = data(120, n_queries=12)
    y = y + 100 * qid  # across queries every order would be right
    preferences, alphas = Preferences.from_scores(y, qid), [10.0, 1e-3]
    search = GridSearchCV(RankSVM(), {"alpha": alphas}, cv=QueryKFold(3)).fit(X, preferences)
    for k, (train, test) in enumerate(QueryKFold(3).split(X, preferences)):
        assert not set(qid[train]) & set(qid[test])
        for row, alpha in enumerate(alphas):
            model = RankSVM(alpha).fit(X[train], y[train], qid=qid[train])
            expected = right_order(y[test], model.predict(X[test]), qid[test])
            assert search.cv_results_[f"split{k}_test_score"][row] == pytest.approx(expected, abs=1e-12)
    assert search.best_estimator_.n_pairs_ == preferences.n_pairs


def test_routing_passes_qid_to_scaler_ranker_score_and_folds_by_itself():
    X, y, qid = data(120, n_queries=12)
    names = np.array([f"query {q}" for q in qid])
    alphas = [10.0, 1e-3]
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RankSVM())
        search = GridSearchCV(pipeline, {"ranksvm__alpha": alphas}, cv=QueryKFold(3), error_score="raise")
        search.fit(X, y, qid=names)
    for k, (train, test) in enumerate(QueryKFold(3).split(X, groups=names)):
        assert not set(qid[train]) & set(qid[test])
        scaler = StandardScaler().fit(X[train])
        for row, alpha in enumerate(alphas):
            model = RankSVM(alpha).fit(scaler.transform(X[train]), y[train], qid=qid[train])
            expected = right_order(y[test], model.predict(scaler.transform(X[test])), qid[test])
            assert search.cv_results_[f"split{k}_test_score"][row] == pytest.approx(expected, abs=1e-12)
    assert search.best_estimator_[-1].fitted_with_qid_


@FEW_CANDIDATES
def test_a_precomputed_kernel_is_cut_along_both_axes():
    X, y, qid = data(60)
    preferences = Preferences.from_scores(y, qid)
    grid = {"alpha": [1.0, 1e-2]}
    plain, kernel = (
        GridSearchCV(RankSVM(kernel=kernel, tol=1e-9), grid, cv=QueryKFold(3)).fit(A, preferences)
        for kernel, A in (("linear", X), ("precomputed", X @ X.T))
    )
    np.testing.assert_allclose(kernel.cv_results_["mean_test_score"], plain.cv_results_["mean_test_score"])
    own = RankSVMCV(alphas=grid["alpha"], cv=QueryKFold(3), tol=1e-9, kernel="precomputed").fit(
        X @ X.T, y, qid=qid
    )
    np.testing.assert_allclose(1 - own.cv_errors_.mean(axis=1), plain.cv_results_["mean_test_score"])


def test_query_k_fold():
    X, y, qid = data(100, n_queries=17)
    for cv in (QueryKFold(4), QueryKFold(4, shuffle=True, random_state=1)):
        folds = list(cv.split(X, groups=qid))
        assert cv.get_n_splits() == len(folds) == 4
        np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(100))
        for train, test in folds:
            assert not set(qid[train]) & set(qid[test])
            assert len(train) + len(test) == 100
    by_preferences = list(QueryKFold(4).split(X, Preferences.from_scores(y, qid)))
    for (train, _), (train_2, _) in zip(QueryKFold(4).split(X, groups=qid), by_preferences, strict=True):
        np.testing.assert_array_equal(train, train_2)
    rows, components = np.zeros((6, 1)), Preferences.from_pairs([0, 2, 4], [1, 3, 5])
    one_ranking = Preferences.from_scores(np.arange(6))
    assert [len(test) for _, test in QueryKFold(4).split(rows, one_ranking)] == [2, 2, 1, 1]
    tests = sorted(test.tolist() for _, test in QueryKFold(3).split(rows, components))
    assert tests == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ValueError, match="3 folds need as many queries; got 2"):
        next(QueryKFold(3).split(X, groups=qid > 5))
    with pytest.raises(ValueError, match="groups has length 5, but must have length 100"):
        next(QueryKFold(3).split(X, groups=qid[:5]))


def test_query_k_fold_refuses_to_cut_queries():
    X, y, qid = data(40, n_queries=8)
    message = r"needs the query of each row.*split\(X, y, groups=qid\).*enable_metadata_routing=True"
    with pytest.raises(ValueError, match=message):
        next(QueryKFold(3).split(X, y))
    with pytest.raises(ValueError, match=message):
        cross_val_score(RankSVM(), X, y, cv=QueryKFold(3), params={"qid": qid}, error_score="raise")
    alone = RankSVMCV([0.1], cv=QueryKFold(3)).fit(X, y)  # a fit without qid has one ranking
    folds = list(QueryKFold(3).split(X, Preferences.from_scores(y)))
    np.testing.assert_array_equal(alone.cv_errors_, RankSVMCV([0.1], cv=folds).fit(X, y).cv_errors_)


def test_a_score_without_qid_names_the_line_to_write():
    X, y, qid = data(40, n_queries=8)
    with pytest.warns(UserWarning, match=r"score\(\.\.\., qid=qid\).*enable_metadata_routing=True"):
        RankSVM().fit(X, y, qid=qid).score(X, y)


# RankSVMCV


@FEW_CANDIDATES
@pytest.mark.parametrize("loss", LOSSES)
def test_cross_validation_keeps_queries_whole_and_takes_the_best_alpha(loss):
    X, y, qid = data(120, n_queries=12, noise=1.0)
    alphas = [1e-4, 10.0, 1e-2]
    model = RankSVMCV(alphas, cv=3, loss=loss, tol=1e-9).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.alphas_, [10.0, 1e-2, 1e-4])
    assert model.cv_errors_.shape == (3, 3)
    shuffled = QueryKFold(3, shuffle=True, random_state=0)
    folds = list(shuffled.split(X, groups=qid))
    for k, (train, test) in enumerate(folds):
        for row, alpha in enumerate(model.alphas_):
            pairs = independent.listed(Preferences.from_scores(y[train], qid[train]))
            best = independent.solve(X[train], pairs, alpha, loss)
            expected = 1 - right_order(y[test], X[test] @ best.coef, qid[test])
            assert model.cv_errors_[row, k] == pytest.approx(expected, abs=1e-12)
    assert model.alpha_ == model.alphas_[np.argmin(model.cv_errors_.mean(axis=1))]
    for cv in (np.int64(3), folds, GroupKFold(3, shuffle=True, random_state=0), shuffled):
        same = RankSVMCV(alphas, cv=cv, loss=loss, tol=1e-9).fit(X, y, qid=qid)
        np.testing.assert_array_equal(same.cv_errors_, model.cv_errors_)
    five = RankSVMCV(alphas, cv=None, loss=loss).fit(X, Preferences.from_scores(y, qid))
    np.testing.assert_array_equal(five.cv_errors_, RankSVMCV(alphas, loss=loss).fit(X, y, qid=qid).cv_errors_)


@FEW_CANDIDATES
@pytest.mark.parametrize("loss", LOSSES)
def test_warm_starts_along_the_path_reach_what_cold_fits_reach(loss):
    X, y, qid = data(120, n_queries=6, noise=0.1, n_levels=None)
    X *= 0.1
    model = RankSVMCV([1.0, 0.1, 1e-2, 1e-3, 1e-4], cv=3, loss=loss, tol=1e-5).fit(X, y, qid=qid)
    assert model.alpha_ <= 1e-2  # the path has at least three steps
    cold = RankSVM(model.alpha_, loss=loss, tol=1e-5).fit(X, y, qid=qid)
    assert model.gap_ <= 1e-5
    assert model.objective_ == pytest.approx(cold.objective_, abs=1e-5)
    pairs = independent.listed(Preferences.from_scores(y, qid))
    best = independent.solve(X, pairs, model.alpha_, loss)
    assert best.lower - 1e-9 <= model.objective_ <= best.objective + 1e-5


def test_default_alphas_follow_the_scale_of_the_data():
    X, y, qid = data(60)
    first, second = (RankSVMCV(cv=3, max_iter=1000, tol=1e-7).fit(A, y, qid=qid) for A in (X, 100 * X))
    assert len(first.alphas_) == 8
    # Where every pair falls short of its margin, the gradient is the mean difference of the two rows.
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    gradient = sum(weight * (X[worse] - X[better]) for better, worse, weight, *_ in pairs)
    assert first.alphas_[0] == pytest.approx(np.std(X @ gradient) / 2, rel=1e-9)
    np.testing.assert_allclose(second.alphas_, 1e4 * first.alphas_, rtol=1e-9)
    np.testing.assert_allclose(first.alphas_[1:] / first.alphas_[:-1], 0.1)
    np.testing.assert_allclose(second.cv_errors_, first.cv_errors_, atol=1e-12)


def test_folds_and_queries_without_pairs_are_left_out():
    X, y, qid = data(60)
    y = np.where(qid == 2, 1, y)
    model = RankSVMCV([1e-2], cv=6).fit(X, y, qid=qid)
    assert model.cv_errors_.shape == (1, 5)
    assert RankSVMCV([1e-2], cv=3).fit(X, y, qid=qid).cv_errors_.shape == (1, 3)
    with pytest.raises(NoPairsError, match="No fold has pairs both in its training and in its test rows"):
        RankSVMCV([1e-2], cv=2).fit(X[:20], np.arange(20) % 2 * (np.arange(20) < 10), qid=np.arange(20) // 10)


def test_bad_alphas_get_a_sentence():
    X, y, qid = data(40)
    with pytest.raises(ValueError, match=r"alphas must be positive numbers; got -1\.0"):
        RankSVMCV([1.0, -1.0]).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="alphas is empty"):
        RankSVMCV([]).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="7 folds need as many queries; got 6"):
        RankSVMCV([1.0], cv=7).fit(X, y, qid=qid)


def test_ctrl_c_during_cross_validation_ends_it():
    X, y, qid = data(60)
    calls = []

    def callback(state):
        calls.append(state)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        RankSVMCV([1.0, 1e-2, 1e-4], cv=3, callback=callback).fit(X, y, qid=qid)
    assert len(calls) == 1


def test_ctrl_c_during_the_last_fit_keeps_the_model():
    X, y, qid = data(60, noise=0.1, n_levels=None)
    starts = []

    def callback(state):
        starts.append(state.iteration == 1)
        if sum(starts) == 3 * 3 + 2:  # after three folds, the second alpha
            raise KeyboardInterrupt

    model = RankSVMCV([1.0, 1e-2, 1e-4], cv=3, callback=callback)
    with pytest.warns(InterruptedWarning, match=r"Interrupted after 1 iteration\. The best model so far"):
        model.fit(X, y, qid=qid)
    assert model.alpha_ == 1e-2
    assert model.score(X, y, qid=qid) > 0.8


# What one does with a model


def test_score_is_the_share_of_pairs_in_the_right_order():
    X, y, qid = data()
    model = RankSVM().fit(X, y, qid=qid)
    assert model.score(X, y, qid=qid) == pytest.approx(right_order(y, model.predict(X), qid), abs=1e-12)
    with pytest.warns(UserWarning, match="fitted with qid, but score got none"):
        across = model.score(X, y)
    assert across == pytest.approx(right_order(y, model.predict(X)), abs=1e-12)
    single = RankSVM().fit(X, y)
    assert single.score(X, y) == pytest.approx(right_order(y, single.predict(X)), abs=1e-12)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weight)
    expected = right_order(y[repeated], model.predict(X)[repeated], qid[repeated])
    assert model.score(X, y, qid=qid, sample_weight=weight) == pytest.approx(expected, abs=1e-12)


def test_rank_gives_positions_within_queries():
    X, y, qid = data()
    model = RankSVM().fit(X, y, qid=qid)
    scores, positions = model.predict(X), model.rank(X, qid=qid.astype(str))
    for q in range(6):
        inside = qid == q
        np.testing.assert_array_equal(
            np.argsort(positions[inside]), np.argsort(-scores[inside], kind="stable")
        )
        np.testing.assert_array_equal(np.sort(positions[inside]), np.arange(inside.sum()))
    np.testing.assert_array_equal(np.argsort(model.rank(X)), np.argsort(-scores))
    np.testing.assert_array_equal(model.rank(np.ones((3, 4))), [0, 1, 2])
    with pytest.raises(ValueError, match="qid has length 2, but must have length 80"):
        model.rank(X, qid=[1, 2])


def test_explain_pair_adds_up_to_the_difference():
    X, y, qid = data()
    model = RankSVM().fit(X, y, qid=qid)
    parts = model.explain_pair(X[3], X[5].tolist())
    np.testing.assert_allclose(parts, model.coef_ * (X[3] - X[5]))
    scores = model.predict(X)
    assert parts.sum() == pytest.approx(scores[3] - scores[5], abs=1e-12)
    with pytest.raises(ValueError, match="b has 2 features, but the model has 4"):
        model.explain_pair(X[3], [1.0, 2.0])
    with pytest.raises(ValueError, match="explain_pair needs a linear model"):
        RankSVM(kernel="rbf").fit(X, y).explain_pair(X[3], X[5])


def test_use_before_fit_and_wrong_feature_count():
    X, y, qid = data()
    for use in (
        lambda m: m.predict(X),
        lambda m: m.rank(X),
        lambda m: m.score(X, y),
        lambda m: m.explain_pair(X[0], X[1]),
    ):
        with pytest.raises(NotFittedError):
            use(RankSVM())
    for model in (RankSVM(), RankSVM(kernel="rbf")):
        with pytest.raises(ValueError, match="X has 3 features, but RankSVM is expecting 4 features"):
            model.fit(X, y, qid=qid).predict(X[:, :3])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_warm_start_saves_iterations(loss, kernel):
    X, y, qid = data(200, noise=1.0)
    model = RankSVM(1e-4, loss=loss, kernel=kernel, tol=1e-4, warm_start=True).fit(X, y, qid=qid)
    objective, iterations = model.objective_, model.n_iter_
    model.set_params(tol=1e-3).fit(X, y, qid=qid)
    assert model.n_iter_ < iterations
    assert model.objective_ <= objective + 1e-12
    model.fit(X[:, :2], y, qid=qid)  # another shape begins afresh
    assert model.n_features_in_ == 2
    assert model.gap_ <= 1e-3


def test_verbose_prints_a_line_an_iteration(capsys):
    X, y, qid = data()
    model = RankSVM(verbose=1).fit(X, y, qid=qid)
    output = capsys.readouterr()
    lines = output.err.splitlines()
    assert len(lines) == model.n_iter_
    assert output.out == ""
    assert re.fullmatch(r"iteration +1   objective 1   gap [\d.e+-]+   [\d.]+ s", lines[0])
    RankSVM().fit(X, y, qid=qid)
    assert capsys.readouterr().err == ""


def test_history_and_callback():
    X, y, qid = data()
    states = []
    model = RankSVM(1e-4, callback=lambda state: states.append(state) or len(states) == 3).fit(X, y, qid=qid)
    assert model.n_iter_ == 3
    assert {name: len(column) for name, column in model.history_.items()} == {
        "objective": 3,
        "bound": 3,
        "gap": 3,
        "seconds": 3,
    }
    np.testing.assert_array_equal(states[-1].coef, model.coef_)
    assert model.history_["objective"][0] == pytest.approx(1.0)
    assert model.gap_ == pytest.approx(states[-1].gap, rel=1e-9)
    assert model.gap_ > 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_ctrl_c_keeps_the_best_model_and_warns(loss):
    X, y, qid = data()
    seen = []

    def callback(state):
        seen.append(state.objective)
        if state.iteration == 3:
            raise KeyboardInterrupt

    model = RankSVM(1e-5, loss=loss, tol=1e-9, callback=callback)
    pattern = "Interrupted after 3 iterations. The best model so far is kept; its objective is within"
    with pytest.warns(UserWarning, match=pattern) as record:
        model.fit(X, y, qid=qid)
    assert record[0].filename == __file__
    assert model.objective_ == pytest.approx(min(seen), abs=1e-12)
    assert model.score(X, y, qid=qid) > 0.7


@pytest.mark.parametrize("loss", LOSSES)
def test_max_iter_warns(loss):
    X, y, qid = data()
    with pytest.warns(ConvergenceWarning, match="Stopped by max_iter after ") as record:
        model = RankSVM(1e-5, loss=loss, tol=1e-9, max_iter=2).fit(X, y, qid=qid)
    assert record[0].filename == __file__
    assert model.n_iter_ == 2
    sharp = RankSVM(1e-5, loss=loss, tol=1e-9).fit(X, y, qid=qid)
    assert model.gap_ >= model.objective_ - sharp.objective_ > 0


def test_a_hint_about_scale_is_logged_once(caplog):
    X, y, qid = data()
    with caplog.at_level(logging.WARNING, logger="rankwise"):
        RankSVM().fit(X, y, qid=qid)
        RankSVM(kernel="rbf").fit(X, y, qid=qid)
        assert caplog.messages == []
        stretched = X * np.array([1e6, 1.0, 1.0, 0.0])
        RankSVM().fit(stretched, y, qid=qid)
        assert len(caplog.messages) == 1
        assert re.match(
            r"The features differ in scale by a factor of \de\+06.*StandardScaler", caplog.messages[0]
        )
        RankSVM().fit(sp.csr_array(stretched), y, qid=qid)
        assert len(caplog.messages) == 2
        RankSVMCV([1e-2], cv=3).fit(stretched, y, qid=qid)
        assert len(caplog.messages) == 3


@pytest.mark.parametrize("kind", ["dense", "csr", "frame"])
@pytest.mark.parametrize("size", [1.7e9, 1.7e12, 1.7e18])
def test_a_timestamp_is_hinted_at(kind, size, caplog):
    X, y, qid = data()
    X[:, 2] = size + 1e3 * np.arange(len(X))[::-1]
    rows = {"dense": X, "csr": sp.csr_array(X), "frame": pd.DataFrame(X, columns=["a", "b", "seen", "d"])}
    with caplog.at_level(logging.WARNING, logger="rankwise"):
        RankSVM(1e9, tol=1.0).fit(rows[kind], y, qid=qid)
    name = "'seen'" if kind == "frame" else "2"
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith(f"Column {name} of X is a timestamp or an identifier by its size")


def test_a_column_that_numbers_the_rows_is_hinted_at(caplog):
    X, y, qid = data()
    counted = np.column_stack([X, 7 + np.arange(len(X))])
    with caplog.at_level(logging.WARNING, logger="rankwise"):
        RankSVM(tol=0.1).fit(counted, y, qid=qid)
        assert caplog.messages == [
            "Column 4 of X numbers the rows one by one: leave it out, or give what it says of a row (an age, "
            "a time of day)."
        ]
        HullRanker(tol=1e-3).fit(counted, y > np.median(y))
        assert len(caplog.messages) == 2
        RankSVM(tol=0.1).fit(counted[::2], y[::2], qid=qid[::2])  # it rises by 2
    assert len(caplog.messages) == 2


# Errors

BAD_PARAMETERS = [
    ({"alpha": 0}, "alpha must be a positive number; got 0"),
    ({"alpha": 1e-320}, "alpha must be at least 1e-150, or quotients overflow; got 1e-320"),
    ({"alpha": 1e308}, r"alpha must be at most 1e\+300, or products overflow; got 1e\+308"),
    ({"alpha": "small"}, "alpha must be a positive number; got 'small'"),
    ({"alpha": np.nan}, "alpha must be a positive number; got nan"),
    ({"tol": -1e-3}, "tol must be a positive number; got -0.001"),
    ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0"),
    ({"max_iter": 0.5}, "max_iter must be an integer of at least 1; got 0.5"),
    (
        {"loss": "x"},
        "loss must be one of 'hinge', 'squared_hinge', 'huber_hinge', 'logistic', 'plackett-luce'; got 'x'",
    ),
    (
        {"solver": "sgd"},
        "solver must be one of 'auto', 'bundle', 'bmrm', 'tree-rsvm', 'pair-rsvm', 'newton', "
        "'sparse-newton', 'interior-point'; got 'sgd'",
    ),
    (
        {"solver": "newton"},
        "solver='newton' does not solve loss='hinge'; use 'bundle' or 'bmrm' or 'tree-rsvm' or 'pair-rsvm'",
    ),
    ({"loss": "squared_hinge", "solver": "bmrm"}, "does not solve loss='squared_hinge'; use 'newton'"),
    ({"average": "x"}, "average must be one of 'queries', 'pairs'; got 'x'"),
    ({"pair_weight": "x"}, "pair_weight must be one of 'difference'; got 'x'"),
    ({"kernel": "x"}, "kernel, unless it is callable, must be one of .*; got 'x'"),
    ({"kernel": "rbf", "gamma": -1}, "gamma must be None, 'scale', 'median' or a positive number; got -1"),
    (
        {"kernel": "rbf", "n_components": 0},
        "n_components must be None or a whole number of at least 1; got 0",
    ),
    ({"kernel": "precomputed"}, r"X must be square when kernel='precomputed'; got shape \(80, 4\)"),
]


@pytest.mark.parametrize(("parameters", "sentence"), BAD_PARAMETERS)
def test_bad_parameters_get_a_sentence(parameters, sentence):
    X, y, qid = data()
    with pytest.raises(ValueError, match=sentence):
        RankSVM(**parameters).fit(X, y, qid=qid)
    if "alpha" not in parameters:
        with pytest.raises(ValueError, match=sentence):
            RankSVMCV([1.0], cv=3, **parameters).fit(X, y, qid=qid)


X_BAD, Y_BAD, QID_BAD = data()
BAD_INPUT = [
    ({"y": None}, ValueError, "requires y to be passed"),
    ({"y": Y_BAD[:50]}, ValueError, "qid has length 80, but must have length 50"),
    ({"y": Y_BAD[:50], "qid": None}, ValueError, "X has 80 rows, but y has 50"),
    ({"y": Preferences.from_pairs([0], [1]), "qid": None}, ValueError, "X has 80 rows, but y has 2"),
    ({"y": np.where(Y_BAD > 1, np.nan, Y_BAD)}, ValueError, "y contains NaN or infinity"),
    ({"y": np.where(Y_BAD > 1, np.inf, Y_BAD)}, ValueError, "y contains NaN or infinity"),
    ({"y": np.array(list("abcd"))[Y_BAD]}, ValueError, "y must be real numbers"),
    ({"X": np.where(X_BAD > 1, np.nan, X_BAD)}, ValueError, "Input X contains NaN"),
    ({"X": np.where(X_BAD > 1, np.inf, X_BAD)}, ValueError, "Input X contains infinity"),
    ({"X": X_BAD[:, 0]}, ValueError, "Expected 2D array"),
    ({"qid": []}, ValueError, "qid has length 0, but must have length 80"),
    ({"qid": QID_BAD[:50]}, ValueError, "qid has length 50, but must have length 80"),
    ({"qid": np.where(QID_BAD == 1, np.nan, QID_BAD)}, ValueError, "qid contains missing values"),
    ({"qid": np.arange(80)}, NoPairsError, "nothing to rank: every query has a single row"),
    ({"qid": Y_BAD}, NoPairsError, "nothing to rank: within each query all labels are equal"),
    ({"y": np.ones(80), "qid": None}, NoPairsError, r"nothing to rank: all 80 labels are equal \(1\)"),
    (
        {"X": X_BAD[:1], "y": [1.0], "qid": None},
        NoPairsError,
        "a ranking needs at least two rows; got 1 sample",
    ),
    ({"sample_weight": -np.ones(80)}, ValueError, "sample_weight must not be negative; the smallest is -1"),
    ({"sample_weight": np.zeros(80)}, ValueError, "sample_weight is zero for every row"),
    ({"sample_weight": np.ones(3)}, ValueError, "sample_weight has length 3, but must have length 80"),
    ({"sample_weight": np.full(80, np.nan)}, ValueError, "sample_weight contains NaN or infinity"),
    ({"sample_weight": (np.arange(80) == 3) * 1.0}, NoPairsError, "nothing to rank"),
    ({"y": Preferences.from_scores(Y_BAD)}, ValueError, "qid must be None when y is a Preferences"),
]


@pytest.mark.parametrize(("change", "error", "sentence"), BAD_INPUT)
@pytest.mark.parametrize("model", [RankSVM(), RankSVMCV([1.0], cv=3)])
def test_bad_input_gets_a_sentence(change, error, sentence, model):
    given = {"X": X_BAD, "y": Y_BAD, "qid": QID_BAD} | change
    with pytest.raises(error, match=sentence):
        clone(model).fit(**given)


def test_pair_weight_is_for_labels():
    with pytest.raises(ValueError, match="pair_weight must be None when y is a Preferences"):
        RankSVM(pair_weight="difference").fit(X_BAD, Preferences.from_scores(Y_BAD))
    with pytest.raises(ValueError, match="qid and sample_weight must be None when y is a Preferences"):
        RankSVM().fit(X_BAD, Y_BAD).score(X_BAD, Preferences.from_scores(Y_BAD), qid=QID_BAD)


# Scaling


def test_scale_within_queries():
    X = np.array([[1.0, 5, -1], [10, 5, 7], [3, 5, 0], [10, 2, 9], [2, 5, -0.5]])
    qid = ["a", "b", "a", "b", "a"]
    expected = [[0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1], [0.5, 0, 0.5]]
    np.testing.assert_array_equal(scale_within_queries(X, qid), expected)
    names = pd.DataFrame(X, columns=list("uvw"))
    np.testing.assert_array_equal(scale_within_queries(names, pd.Series(qid)), expected)
    np.testing.assert_array_equal(scale_within_queries(pl.DataFrame(X, schema=list("uvw")), qid), expected)
    with pytest.raises(TypeError, match="needs a dense X"):
        scale_within_queries(sp.csr_array(X), qid)
    with pytest.raises(ValueError, match="qid has length 2, but must have length 5"):
        scale_within_queries(X, qid[:2])
    with pytest.raises(ValueError, match="X must be two-dimensional"):
        scale_within_queries(X[0], qid)


def test_scaling_within_queries_makes_the_scale_of_a_query_irrelevant():
    X, y, qid = data()
    factor = np.array([1e-3, 1.0, 1e4, 1.0, 50.0, 7.0])[qid][:, None]
    first, second = (
        RankSVM(1e-3, loss="squared_hinge", tol=1e-11).fit(scale_within_queries(A, qid), y, qid=qid)
        for A in (X, X * factor + 3)
    )
    np.testing.assert_allclose(first.coef_, second.coef_, atol=1e-7)


def test_explain_pair_uses_the_feature_names():
    X, y, _ = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = RankSVM().fit(frame, y)
    expected = model.coef_ * (X[0] - X[1])
    np.testing.assert_allclose(model.explain_pair(frame.iloc[0], frame.iloc[1]), expected)
    np.testing.assert_allclose(model.explain_pair(frame.iloc[[0]], X[1]), expected)
    np.testing.assert_allclose(model.explain_pair(sp.csr_matrix(X[:1]), X[1]), expected)
    with pytest.raises(ValueError, match="features of a must be those of the fit"):
        model.explain_pair(frame[list("dcba")].iloc[0], X[1])


def test_a_callback_cannot_change_the_fit():
    X, y, _ = data()

    def meddle(state):
        state.coef[:] = 1.0

    with pytest.raises(ValueError, match="read-only"):
        RankSVM(callback=meddle).fit(X, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_gaps_hold_far_from_zero(loss):
    X, y, qid = data()
    for offset in (1e9, 1e12):
        rows = X + offset
        pairs = independent.listed(Preferences.from_scores(y, qid))
        best = independent.solve(rows - rows[0], pairs, 1e-2, loss)
        model = RankSVM(alpha=1e-2, loss=loss, tol=1e-7).fit(rows, y, qid=qid)
        assert best.lower - 1e-9 <= model.objective_ <= best.objective + 1e-7
        assert model.objective_ - best.objective - 1e-12 <= model.gap_ <= 1e-7


def test_folds_of_rows_share_the_labels_out():
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1.0])
    X = np.zeros((9, 1))
    for cv in (QueryKFold(3), QueryKFold(3, shuffle=True, random_state=0)):
        assert [y[test].sum() for _, test in cv.split(X, Preferences.from_scores(y))] == [1, 1, 1]
    model = RankSVMCV(alphas=[1e-2], cv=StratifiedKFold(3)).fit(np.arange(9.0)[:, None], y)
    np.testing.assert_array_equal(model.cv_errors_, 0.0)
