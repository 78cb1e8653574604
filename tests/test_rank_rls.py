"""RankRLS: every closed form against the textbook equations, then as users meet it."""

import logging
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags

import reference
from rankwise import NoPairsError, Preferences, RankRLS
from rankwise.data.design import as_design
from rankwise.datasets import make_ranking
from rankwise.losses import LeastSquares
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold, alpha_path
from rankwise.solvers import least_squares, solve_path
from rankwise.solvers.least_squares import cheapest_solver
from rankwise.solvers.spectrum import Spectrum, solve_shifted
from strategies import cases

COSTS = ("unit", "magnitude", "relative")
AVERAGES = ("queries", "pairs")
# Each way to leave out or keep pairs, with the textbook list of its normalised pairs.
KINDS = [("magnitude", "keep"), ("magnitude", "drop"), ("unit", "drop"), ("relative", "drop")]
SHAPES = {"tall": (40, 4), "wide": (25, 60), "deficient": (30, 6)}


def data(n=40, n_features=4, n_queries=5, n_levels=4, seed=0):
    """Rows of several queries, in no order, among them ties."""
    X, y = make_ranking(n, n_features, n_levels=n_levels, noise=0.5, random_state=seed)
    return X, y, np.random.default_rng(seed).permutation(np.arange(n) % n_queries)


def shaped(shape, **options):
    X, y, qid = data(*SHAPES[shape], **options)
    if shape == "deficient":  # repeated and constant columns, repeated rows
        X[:, 3:] = X[:, :3] * [1.0, -2.0, 0.5]
        X[:, 0] = 7.0
        X[:5] = X[5:10]
    return X, y, qid


def textbook(y, qid, ties, average="queries", weight=None):
    if ties == "keep":
        return reference.kept_pairs(y, qid, weight, average)
    return reference.normalised(reference.ranking_pairs(y, qid, weight), average)


def close(actual, expected, tolerance=1e-8):
    size = 1 + np.abs(expected).max(initial=0)
    np.testing.assert_allclose(actual, expected, atol=tolerance * size, rtol=0)


# The quadratic form


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_form_is_that_of_the_textbook(cost, ties, average, weighted):
    _, y, qid = data()
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, size=len(y)) * 0.7 if weighted else None
    M, N = reference.incidence(textbook(y, qid, ties, average, weight), len(y), cost)
    preferences = Preferences.from_scores(y, qid, weight)
    form = LeastSquares(preferences, cost=cost, ties=ties, average=average)
    close(form.dense(), M @ M.T, 1e-13)
    close(form.diagonal, np.diag(M @ M.T), 1e-13)
    close(form.pull, M @ N, 1e-13)
    close(form.constant, N @ N, 1e-13)
    U = rng.normal(size=(len(y), 3)) + 5
    close(form.product(U), M @ M.T @ U, 1e-12)
    close(form.product(U[:, 0]), M @ M.T @ U[:, 0], 1e-12)
    value, coefficients = form.value_and_coefficients(U[:, 0])
    close(value, np.sum((N - M.T @ U[:, 0]) ** 2), 1e-12)
    close(coefficients, 2 * M @ (M.T @ U[:, 0] - N), 1e-12)
    root = form.root
    close(root.adjoint(root.apply(np.eye(len(y)))), M @ M.T, 1e-12)
    close(root.adjoint(root.target), M @ N, 1e-12)
    K = U @ U.T
    close(root.congruence(K.copy()), root.apply(root.apply(K).T), 1e-12)
    close(root.adjoint(root.apply(U)[:, 0]), (M @ M.T @ U)[:, 0], 1e-12)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        close(form.block(rows)(np.eye(len(rows))), (M @ M.T)[np.ix_(rows, rows)], 1e-12)


@pytest.mark.parametrize("ties", ["keep", "drop"])
@pytest.mark.parametrize("queries", [False, True])
def test_means_of_parts_of_the_rows_add_up(ties, queries):
    X, y, qid = data()
    root = LeastSquares(Preferences.from_scores(y, qid if queries else None), ties=ties).root
    parts = [slice(0, 7), slice(7, 30), slice(30, 40)]
    for rows in (X, X[:, 0], sp.csr_array(X)):
        whole = root.means(rows)
        pieces = zip(*(root.means(rows[part], part) for part in parts), strict=True)
        for of_all, of_parts in zip(whole, pieces, strict=True):
            if of_all is None:  # with ties kept the means of labels are not needed
                assert of_parts == (None, None, None)
            else:
                close(sum(of_parts), of_all, 1e-14)
    groups = qid if queries else np.zeros(40, dtype=int)
    expected = [X[groups == group].mean(axis=0) for group in np.unique(groups)]
    close(root.means(X)[0], expected, 1e-14)


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("weight", [0.01, 1.0, 100.0])
def test_rows_and_queries_without_weight_are_not_there(cost, ties, average, weight):
    _, y, qid = data()
    weights = np.where(qid == 3, weight, 1.0)
    weights[(qid == 2) | (np.arange(len(y)) % 7 == 0)] = 0.0
    weights[np.flatnonzero(qid == 4)[1:]] = 0.0  # one row is left, which has no partner
    kept = np.flatnonzero(weights)
    rows = np.random.default_rng(0).normal(size=(len(y), 2))
    form, rest = (
        LeastSquares(Preferences.from_scores(y[k], qid[k], weights[k]), cost=cost, ties=ties, average=average)
        for k in (np.arange(len(y)), kept)
    )
    L = np.zeros((len(y), len(y)))
    L[np.ix_(kept, kept)] = rest.dense()
    close(form.dense(), L, 1e-13)
    close(form.diagonal, np.diag(L), 1e-13)
    close(form.product(rows), L @ rows, 1e-13)
    close(form.pull[kept], rest.pull, 1e-13)
    close(form.root.adjoint(form.root.apply(np.eye(len(y)))), L, 1e-13)
    close(form.root.adjoint(form.root.target), form.pull, 1e-13)
    for query in np.unique(qid):
        block = np.flatnonzero(qid == query)
        close(form.block(block)(np.eye(len(block))), L[np.ix_(block, block)], 1e-13)


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from(AVERAGES), st.sampled_from(COSTS))
def test_the_form_of_any_structure(case, average, cost):
    pairs = case.normalised(average)
    assume(sum(w for *_, w, _, _ in pairs) == pytest.approx(1.0))
    assume(cost != "relative" or all(abs(t) > 1e-3 for *_, t, _ in pairs))
    n = len(case.scores)
    form = LeastSquares(case.preferences, cost=cost, average=average)
    M, N = reference.incidence(pairs, n, cost)
    size = np.abs(M @ M.T).max()
    np.testing.assert_allclose(form.dense(), M @ M.T, atol=1e-9 * size)
    np.testing.assert_allclose(form.pull, M @ N, atol=1e-9 * (1 + np.abs(M @ N).max()))
    np.testing.assert_allclose(form.constant, N @ N, rtol=1e-9, atol=1e-12)
    expected = np.sum((N - M.T @ case.scores) ** 2)
    scale = 1 + size * np.abs(case.scores).max() ** 2
    assert form.value(case.scores) == pytest.approx(expected, rel=1e-9, abs=1e-11 * scale)


@settings(max_examples=100, deadline=None)
@given(cases(), st.sampled_from(AVERAGES), st.sampled_from(COSTS), st.sampled_from(["keep", "drop"]))
def test_groups_are_blocks_whose_shares_sum_to_one(case, average, cost, ties):
    pairs = case.normalised(average)
    assume(sum(w for *_, w, _, _ in pairs) == pytest.approx(1.0))
    assume(cost != "relative" or all(abs(t) > 1e-3 for *_, t, _ in pairs))
    form = LeastSquares(case.preferences, cost=cost, ties=ties, average=average)
    L, groups, shares = form.dense(), case.preferences.groups(), form.row_shares()
    assert shares.sum() == pytest.approx(1.0)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        block = form.block(rows)(np.eye(len(rows)))
        np.testing.assert_allclose(block, L[np.ix_(rows, rows)], atol=1e-9 * np.abs(L).max())
        if not form.keeps_ties:
            share = sum(w for i, _, w, _, _ in pairs if groups[i] == group)
            assert shares[rows].sum() == pytest.approx(share, abs=1e-12)
        elif cost == "magnitude":
            assert np.trace(block) <= 2 * shares[rows].sum() + 1e-12


@pytest.mark.parametrize("weight", [[3.0, 2.0, 3.0, 2.0], [1e-6, 1e6, 1.0, 1e-6]])
@pytest.mark.parametrize(
    "options", [{"solver": name} for name in ("primal", "dual", "cg")] + [{"kernel": "rbf"}]
)
def test_pairs_that_are_all_ties_leave_nothing_to_learn(weight, options):
    lives = Preferences.from_survival([0, 1, 1, 0], [3.4, 3.4, 3.4, 2.0], weight)  # 3.4, and 3.4 or more
    form = LeastSquares(lives)
    assert (form.constant, np.abs(form.pull).max()) == (0.0, 0.0)
    model = RankRLS(0.1, tol=1e-11, **options).fit(np.random.default_rng(0).normal(size=(4, 3)), lives)
    assert (model.objective_, model.gap_) == (0.0, 0.0)


def test_targets_that_are_small_beside_the_labels_keep_their_digits():
    # The pair of most weight is a tie, and the rows of the others weigh 1e-12 of it.
    weight = np.array([1e6, 1e6, 1e-6, 1e-6])
    lives = Preferences.from_survival([1, 0, 1, 0], [3.0, 3.0, 1.1, 1 / 3], weight)
    form = LeastSquares(lives)
    pairs = reference.normalised(reference.survival_pairs([1, 0, 1, 0], [3.0, 3.0, 1.1, 1 / 3], weight))
    M, N = reference.incidence(pairs, 4, "magnitude")
    np.testing.assert_allclose(form.constant, N @ N, rtol=1e-12)
    np.testing.assert_allclose(form.pull, M @ N, rtol=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("importance", [None, [1.0, 2.0, 0.5, 1.0, 3.0]])
def test_weights_of_queries(average, importance):
    _, y, qid = data()
    query_weight = None if importance is None else np.array(importance)[qid]
    preferences = Preferences.from_scores(y, qid, query_weight=query_weight)
    form = LeastSquares(preferences, ties="keep", average=average)
    share = np.ones(5) if importance is None else np.array(importance)
    size = np.bincount(qid) ** 2 / 2
    factor = share / share.sum() / size if average == "queries" else share / (share @ size)
    L = np.diag(factor[qid]) @ reference.scoring_laplacian(qid)
    close(form.dense(), L, 1e-13)


def test_the_scoring_laplacians_of_section_3():
    _, y, qid = data()
    pairs = reference.ranking_pairs(y, qid)
    M, _ = reference.incidence(pairs, len(y))
    close(reference.scoring_laplacian(qid, y), M @ M.T, 1e-12)
    drop = LeastSquares(Preferences.from_scores(y, qid), ties="drop", average="pairs")
    close(drop.dense() * len(pairs), reference.scoring_laplacian(qid, y), 1e-11)
    keep = LeastSquares(Preferences.from_scores(y), ties="keep", average="pairs")
    close(keep.dense() * len(y) ** 2 / 2, reference.scoring_laplacian([0] * len(y)), 1e-11)


def test_a_row_with_nearly_all_the_weight_costs_no_digits():
    preferences = Preferences.from_scores([0.0, 1.0, 1.0], sample_weight=[1e-6, 1e6, 1e6])
    L = LeastSquares(preferences, cost="unit").dense()
    np.testing.assert_allclose(L, [[1, -0.5, -0.5], [-0.5, 0.5, 0], [-0.5, 0, 0.5]], atol=1e-12)
    rows = np.arange(3)
    block = LeastSquares(preferences, cost="unit").block(rows)(np.eye(3))
    np.testing.assert_allclose(block, L, atol=1e-12)


def test_unit_targets_count_lower_minus_higher_rows():
    y = np.array([3.0, 1, 1, 2, 5, 4, 4])
    qid = np.array([0, 0, 0, 0, 1, 1, 1])
    form = LeastSquares(Preferences.from_scores(y, qid), cost="unit", average="pairs")
    np.testing.assert_allclose(form.pull * 7, [3, -2, -2, 1, 2, -1, -1], atol=1e-14)


def test_a_large_offset_costs_no_digits():
    X, y, _ = data(60)
    plain = RankRLS(0.1).fit(X, y)
    close(RankRLS(0.1).fit(X + 1e6, y).coef_, plain.coef_, 1e-8)
    close(RankRLS(0.1).fit(X, y + 1e9).coef_, plain.coef_, 1e-6)
    for ties in ("keep", "drop"):
        first, second = (RankRLS(0.1, ties=ties, solver="dual").fit(A, y) for A in (X, X + 1e6))
        close(second.coef_, first.coef_, 1e-8)


# Closed forms


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("average", AVERAGES)
def test_primal_and_dual_are_the_textbook_equations(cost, ties, shape, average):
    X, y, qid = shaped(shape)
    pairs = textbook(y, qid, ties, average)
    M, N = reference.incidence(pairs, len(y), cost)
    for alpha in (1e-3, 1.0):
        expected = reference.primal_solution(X.T, M, N, alpha)
        close(X.T @ reference.dual_solution(M, N, X @ X.T, alpha), expected)
        for solver in ("primal", "dual", "auto", "cg"):
            model = RankRLS(alpha, cost=cost, ties=ties, average=average, solver=solver, tol=2e-12)
            model.fit(X, y, qid=qid)
            # A gap that rounding lets be certified leaves conjugate gradients this far away.
            close(model.coef_, expected, 5e-8 if solver == "cg" else 1e-8)
            objective = reference.least_squares_objective(
                pairs, X @ expected, cost, alpha * expected @ expected
            )
            assert model.objective_ == pytest.approx(objective, abs=1e-9)
            assert 0 <= model.gap_ <= 2e-12 * (N @ N)
        assert RankRLS().fit(X, y).solver_ == ("dual" if shape == "wide" else "primal")


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
def test_kernels_are_the_textbook_equation(cost, ties, solver):
    X, y, qid = data(30)
    K = rbf_kernel(X, gamma=0.3)
    pairs = textbook(y, qid, ties)
    M, N = reference.incidence(pairs, len(y), cost)
    expected = reference.dual_solution(M, N, K, 0.01)
    model = RankRLS(0.01, cost=cost, ties=ties, kernel="rbf", gamma=0.3, solver=solver, tol=4e-12)
    model.fit(X, y, qid=qid)
    assert model.solver_ == solver
    close(model.predict(X), K @ expected)
    close(model.dual_coef_, expected, 1e-7)
    norm = expected @ K @ expected
    objective = reference.least_squares_objective(pairs, K @ expected, cost, 0.01 * norm)
    assert model.objective_ == pytest.approx(objective, abs=1e-9)
    assert 0 <= model.gap_ <= 4e-12 * (N @ N)
    np.testing.assert_array_equal(model.basis_, X)
    same = RankRLS(0.01, cost=cost, ties=ties, kernel="precomputed", solver=solver, tol=4e-12)
    close(same.fit(K, y, qid=qid).predict(K[:7]), K[:7] @ expected)


@pytest.mark.parametrize(("cost", "ties"), KINDS)
def test_the_reduced_set_is_the_textbook_equation(cost, ties):
    X, y, qid = data(30)
    M, N = reference.incidence(textbook(y, qid, ties), len(y), cost)
    model = RankRLS(0.01, cost=cost, ties=ties, kernel="rbf", gamma=0.3, n_components=8, random_state=0)
    model.fit(X, y, qid=qid)
    assert model.solver_ == "primal"
    K_R = rbf_kernel(model.basis_, X, gamma=0.3)
    K_RR = rbf_kernel(model.basis_, gamma=0.3)
    expected = reference.reduced_solution(K_R, K_RR, M, N, 0.01)
    close(model.dual_coef_, expected, 1e-7)
    close(model.predict(X), K_R.T @ expected)
    for solver in ("dual", "cg"):
        other = clone(model).set_params(solver=solver, tol=1e-12).fit(X, y, qid=qid)
        close(other.predict(X), K_R.T @ expected)
    full = clone(model).set_params(n_components=30).fit(X, y, qid=qid)
    assert full.solver_ == "dual"
    close(full.predict(X), clone(model).set_params(n_components=None).fit(X, y, qid=qid).predict(X))


def test_a_singular_kernel_works():
    X, y, qid = data(20)
    twice = np.repeat(np.arange(20), 2)
    once = RankRLS(0.01, kernel="rbf").fit(X, y, qid=qid)
    K = rbf_kernel(X[twice], gamma=1 / 4)
    for solver in ("dual", "primal"):
        double = RankRLS(0.01, kernel="precomputed", solver=solver).fit(K, y[twice], qid=qid[twice])
        close(double.predict(K[::2]), once.predict(X))
        assert double.objective_ == pytest.approx(once.objective_, abs=1e-9)
    zero = RankRLS(0.01, kernel="precomputed").fit(np.zeros((20, 20)), y)
    np.testing.assert_array_equal(zero.predict(np.zeros((3, 20))), 0)
    tiny = RankRLS(1e-150, kernel="precomputed").fit(K, y[twice], qid=qid[twice])
    assert np.isfinite(tiny.predict(K)).all()


def test_closed_forms_and_iterations_agree_on_both_sides_of_their_limit(monkeypatch):
    X, y, qid = data(80, n_levels=4)
    closed = RankRLS(0.1, tol=1e-12).fit(X, y, qid=qid)
    monkeypatch.setattr(least_squares, "CLOSED_FORM_OPERATIONS", 0)
    monkeypatch.setattr(least_squares, "PASSES", 0)
    iterative = RankRLS(0.1, tol=1e-12).fit(X, y, qid=qid)
    assert (closed.solver_, iterative.solver_) == ("primal", "cg")
    close(iterative.coef_, closed.coef_, 1e-6)


def test_bipartite_costs_agree():
    X, y, qid = data(50, n_levels=2)
    y = (y > y.min()).astype(float) + 3
    first, *rest = (RankRLS(0.1, cost=cost, ties="drop").fit(X, y, qid=qid) for cost in COSTS)
    for other in rest:
        close(other.coef_, first.coef_, 1e-10)
        assert other.objective_ == pytest.approx(first.objective_, abs=1e-12)
    assert np.abs(RankRLS(0.1).fit(X, y, qid=qid).coef_ - first.coef_).max() > 1e-3
    keep_ignored = RankRLS(0.1, cost="unit", ties="keep").fit(X, y, qid=qid)
    close(keep_ignored.coef_, first.coef_, 1e-12)


def test_without_ties_keep_and_drop_differ_by_the_normaliser_alone():
    X, y, _ = data(30, n_levels=None)
    m = len(y)
    keep = RankRLS(0.1).fit(X, y)
    drop = RankRLS(0.1 * m / (m - 1), ties="drop").fit(X, y)
    close(keep.coef_, drop.coef_, 1e-10)


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("average", AVERAGES)
def test_an_integer_weight_equals_repeated_rows(cost, ties, average):
    X, y, qid = data(30)
    weight = np.random.default_rng(0).integers(0, 4, size=30)
    repeated = np.repeat(np.arange(30), weight)
    model = RankRLS(1e-2, cost=cost, ties=ties, average=average)
    twice = clone(model).fit(X[repeated], y[repeated], qid=qid[repeated])
    for solver in ("primal", "dual"):
        for size in (1.0, 1e6):
            weighted = clone(model).set_params(solver=solver)
            weighted.fit(X, y, qid=qid, sample_weight=size * weight)
            close(weighted.coef_, twice.coef_, 1e-9)
            assert weighted.objective_ == pytest.approx(twice.objective_, abs=1e-10)
    preferences = clone(model).fit(X, Preferences.from_scores(y, qid), sample_weight=weight)
    close(preferences.coef_, twice.coef_, 1e-9)


def with_lonely_rows(n_lonely=30):
    """Rows of three queries, and then queries of one row; with the rows of the three."""
    X, y, qid = data(24 + n_lonely, n_queries=3)
    qid[24:] = np.arange(n_lonely) + 3
    return X, y, qid, np.arange(24)


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
def test_queries_of_one_row_do_not_count(cost, ties, average, solver):
    X, y, qid, some = with_lonely_rows()
    model = RankRLS(0.1, cost=cost, ties=ties, average=average, solver=solver, tol=1e-12)
    close(clone(model).fit(X, y, qid=qid).coef_, clone(model).fit(X[some], y[some], qid=qid[some]).coef_)
    M, N = reference.incidence(textbook(y, qid, ties, average), len(y), cost)
    close(model.fit(X, y, qid=qid).coef_, reference.primal_solution(X.T, M, N, 0.1))


@pytest.mark.parametrize("ties", ["keep", "drop"])
def test_queries_of_one_row_do_not_count_in_paths(ties):
    X, y, qid, some = with_lonely_rows()
    model, alphas = RankRLS(ties=ties), [1e-3, 0.1, 10.0]
    close(model.path(X, y, alphas, qid=qid), model.path(X[some], y[some], alphas, qid=qid[some]))
    whole, part = (alpha_path(model, X[k], y[k], qid=qid[k]) for k in (slice(None), some))
    close(whole.alphas, part.alphas)
    close(whole.coef, part.coef)


def test_a_query_of_equal_labels_counts_if_ties_are_kept():
    X, y, qid = data(n_queries=2)
    y[qid == 1] = 5.0
    kept, dropped = (RankRLS(0.1, ties=ties).fit(X, y, qid=qid).coef_ for ties in ("keep", "drop"))
    alone = RankRLS(0.1, ties="drop").fit(X[qid == 0], y[qid == 0]).coef_
    M, N = reference.incidence(textbook(y, qid, "keep"), len(y))
    close(kept, reference.primal_solution(X.T, M, N, 0.1))
    close(dropped, alone)
    assert np.abs(kept - alone).max() > 0.01


# Several outputs and several alphas


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
def test_outputs_are_rankings_of_their_own(cost, ties, shape, solver):
    X, y, qid = shaped(shape)
    Y = np.stack([y, np.random.default_rng(1).permutation(y), -(y**2)], axis=1)
    model = RankRLS(0.1, cost=cost, ties=ties, solver=solver, tol=1e-12).fit(X, Y, qid=qid)
    singles = [clone(model).fit(X, column, qid=qid) for column in Y.T]
    assert model.coef_.shape == (3, X.shape[1])
    assert model.predict(X).shape == model.rank(X, qid).shape == (len(y), 3)
    for k, single in enumerate(singles):
        M, N = reference.incidence(textbook(Y[:, k], qid, ties), len(y), cost)
        close(model.coef_[k], reference.primal_solution(X.T, M, N, 0.1))
        close(model.coef_[k], single.coef_)
        assert model.objective_[k] == pytest.approx(single.objective_, abs=1e-9)
        assert model.gap_[k] <= 1e-10
        assert model.n_pairs_[k] == single.n_pairs_
        np.testing.assert_array_equal(model.rank(X, qid)[:, k], single.rank(X, qid))
        close(model.explain_pair(X[0], X[1])[k], single.explain_pair(X[0], X[1]))
    mean = np.mean([single.score(X, column, qid=qid) for single, column in zip(singles, Y.T, strict=True)])
    assert model.score(X, Y, qid=qid) == pytest.approx(mean, abs=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_outputs_that_are_not_solved_have_gaps_of_their_own():
    X, y, qid = shaped(next(iter(SHAPES)))
    Y = np.stack([y, 1e3 * np.random.default_rng(1).permutation(y)], axis=1)
    model = RankRLS(1.0, solver="cg", max_iter=1).fit(X, Y, qid=qid)
    for gap, column in zip(model.gap_, Y.T, strict=True):
        assert gap == pytest.approx(clone(model).fit(X, column, qid=qid).gap_, rel=1e-9)
        assert gap > 1e-4 * np.mean(column**2)  # of which some is left
    assert RankRLS(solver="primal").fit(X, Y, qid=qid).n_iter_ == 1


@pytest.mark.parametrize("n_components", [None, 9])
@pytest.mark.parametrize("ties", ["keep", "drop"])
def test_outputs_of_a_kernel(n_components, ties):
    X, y, qid = data(30)
    Y = np.stack([y, -y], axis=1)
    model = RankRLS(0.1, ties=ties, kernel="rbf", n_components=n_components, random_state=0)
    both = clone(model).fit(X, Y, qid=qid)
    assert both.dual_coef_.shape == (2, n_components or 30)
    for k in range(2):
        close(both.predict(X)[:, k], clone(model).fit(X, Y[:, k], qid=qid).predict(X))
    close(both.predict(X)[:, 0], -both.predict(X)[:, 1])


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kernel", ["linear", "rbf", "reduced"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_path_gives_what_single_fits_give(cost, ties, shape, kernel, n_outputs):
    X, y, qid = shaped(shape)
    Y = y if n_outputs == 1 else np.stack([y, np.random.default_rng(1).permutation(y), -y], axis=1)
    alphas = [10.0, 0.1, 1e-3]
    model = RankRLS(cost=cost, ties=ties, random_state=0)
    if kernel != "linear":
        model.set_params(kernel="rbf", n_components=7 if kernel == "reduced" else None)
    path = model.path(X, Y, alphas, qid=qid)
    for alpha, coef in zip(alphas, path, strict=True):
        single = clone(model).set_params(alpha=alpha).fit(X, Y, qid=qid)
        close(coef, single.coef_ if kernel == "linear" else single.dual_coef_, 1e-7)
    assert path.shape == (3, *np.shape(single._weights if kernel == "linear" else single.dual_coef_))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_solve_path_takes_any_features(shape, sparse):
    X, y, qid = shaped(shape)
    form = LeastSquares(Preferences.from_scores(y, qid), ties="keep")
    M, N = reference.incidence(reference.kept_pairs(y, qid), len(y))
    for features in (sp.csr_array(X), as_design(sp.csr_array(X))) if sparse else (X, as_design(X)):
        for alpha, coef in zip([1.0, 0.01], solve_path(features, form, [1.0, 0.01]), strict=True):
            close(coef, reference.primal_solution(X.T, M, N, alpha))


# Preferences of every kind


@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from(COSTS), st.sampled_from(AVERAGES), st.sampled_from(["primal", "dual", "cg"]))
def test_preferences_of_every_kind_solve_their_normal_equations(case, cost, average, solver):
    pairs = case.normalised(average)
    assume(sum(w for *_, w, _, _ in pairs) == pytest.approx(1.0))
    assume(cost != "relative" or all(abs(t) > 0.1 for *_, t, _ in pairs))
    n = len(case.scores)
    X = np.random.default_rng(n).normal(size=(n, 3))
    M, N = reference.incidence(pairs, n, cost)
    tol = 1e-11 if solver == "cg" else 1e-8  # a closed form is as good as rounding lets it be
    model = RankRLS(0.1, cost=cost, ties="drop", average=average, solver=solver, tol=tol)
    model.fit(X, case.preferences)
    close(model.coef_, reference.primal_solution(X.T, M, N, 0.1))
    assert model.n_pairs_ == case.preferences.n_pairs


def test_a_multigraph_with_magnitudes_and_weights():
    X = np.random.default_rng(0).normal(size=(6, 2))
    better, worse = [0, 0, 1, 1, 0], [1, 1, 2, 0, 5]
    magnitude, weight = [1.0, 2.0, 0.5, 0.1, 3.0], [1.0, 1.0, 2.0, 0.5, 1.0]
    preferences = Preferences.from_pairs(better, worse, magnitude, weight, n_rows=6)
    pairs = reference.normalised(reference.explicit_pairs(better, worse, magnitude, weight))
    for cost in COSTS:
        M, N = reference.incidence(pairs, 6, cost)
        for ties in ("keep", "drop"):
            model = RankRLS(0.1, cost=cost, ties=ties).fit(X, preferences)
            close(model.coef_, reference.primal_solution(X.T, M, N, 0.1), 1e-10)
            kernel = RankRLS(0.1, cost=cost, ties=ties, kernel="rbf").fit(X, preferences)
            K = rbf_kernel(X)
            close(kernel.predict(X), K @ reference.dual_solution(M, N, K, 0.1), 1e-10)


@pytest.mark.parametrize("cost", ["unit", "magnitude"])
def test_survival_and_orders_of_classes(cost):
    rng = np.random.default_rng(0)
    X, time, event = rng.normal(size=(30, 3)), rng.integers(1, 9, 30).astype(float), rng.random(30) < 0.6
    labels = rng.choice(list("abc"), size=30)
    for preferences, listed in (
        (Preferences.from_survival(event, time), reference.survival_pairs(event, time)),
        (Preferences.from_order(labels, [("c", "a")]), reference.order_pairs(labels, [("c", "a")])),
    ):
        M, N = reference.incidence(reference.normalised(listed), 30, cost)
        for options in ({"solver": "primal"}, {"solver": "dual"}, {"solver": "cg", "tol": 1e-12}):
            model = RankRLS(0.01, cost=cost, **options).fit(X, preferences)
            close(model.coef_, reference.primal_solution(X.T, M, N, 0.01))
    weighted = Preferences.from_scores(time, pair_weight="difference")
    M, N = reference.incidence(reference.normalised(reference.ranking_pairs(time, gain=time)), 30, cost)
    close(RankRLS(0.01, cost=cost).fit(X, weighted).coef_, reference.primal_solution(X.T, M, N, 0.01))


# The numbers of other programs


@pytest.mark.parametrize("lam", [0.1, 10.0])
def test_exchange_rates(lam):
    X, y, qid = data(30, n_queries=5)
    m = len(y)
    for L, N, options in (
        # (24) with (25), and GlobalRankRLS: the sum over all pairs.
        (reference.scoring_laplacian([0] * m), m**2 / 2, {}),
        # The sum over the pairs of each query.
        (reference.scoring_laplacian(qid), np.sum(np.bincount(qid) ** 2) / 2, {"average": "pairs"}),
        # QueryRankRLS: the centring matrix of each query; all have six rows.
        (reference.scoring_laplacian(qid) / 6, m / 2, {"average": "queries"}),
        (reference.scoring_laplacian(qid, y), len(reference.ranking_pairs(y, qid)), {"average": "pairs"}),
    ):
        expected = np.linalg.solve(X.T @ L @ X + lam * np.eye(4), X.T @ L @ y)
        ties = "drop" if len(reference.ranking_pairs(y, qid)) == N else "keep"
        model = RankRLS(lam / N, ties=ties, **options).fit(X, y, qid=qid if options else None)
        close(model.coef_, expected, 1e-9)
    per_query = reference.scoring_laplacian(qid) / (6**2 / 2)
    expected = np.linalg.solve(X.T @ per_query @ X + lam * np.eye(4), X.T @ per_query @ y)
    close(RankRLS(lam / 5).fit(X, y, qid=qid).coef_, expected, 1e-9)


# Solvers


def test_the_solver_is_the_cheapest():
    assert cheapest_solver(1000, 20, 20_000, True) == "primal"
    assert cheapest_solver(20, 1000, 20_000, False) == "dual"
    assert cheapest_solver(12_000, 24_000, 700_000, True) == "cg"
    assert cheapest_solver(2000, 2000, 4_000_000, False) == "primal"


@pytest.mark.parametrize(("cost", "ties"), KINDS)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("offset", [0.0, 1e5])
@pytest.mark.parametrize("form_of", [np.asarray, np.float32, sp.csr_array])
def test_parts_add_up_to_the_equations_of_the_textbook(cost, ties, average, offset, form_of):
    X, y, qid = data(n_queries=6)
    X = np.asarray(np.float32(X + offset), dtype=np.float64)
    form = LeastSquares(Preferences.from_scores(y, qid), cost=cost, ties=ties, average=average)
    M, N = reference.incidence(textbook(y, qid, ties, average), len(y), cost)
    H = X - X.mean(axis=0)  # which no pair sees
    parts = [np.flatnonzero(qid % 3 == k) for k in range(3)]
    design = as_design(form_of(X)).centred()
    for rows, (gram, pull) in zip(parts, design.equations_of_parts(form, parts), strict=True):
        within = np.isin(np.abs(M).argmax(axis=0), rows)  # the pairs of these rows
        close(gram, H.T @ M[:, within] @ M[:, within].T @ H, 1e-7)
        close(pull, H.T @ M[:, within] @ N[within], 1e-7)
    close(design.normal_equations(form)[0], H.T @ M @ M.T @ H, 1e-7)


def test_memory_decides_too(monkeypatch):
    monkeypatch.setattr("rankwise.solvers.least_squares.available_memory", lambda: 1_000_000)
    assert cheapest_solver(1000, 1000, 10_000, True) == "cg"
    assert cheapest_solver(1000, 100, 10_000, True) == "primal"


def sparse_data(n=300, n_features=400):
    rng = np.random.default_rng(0)
    X = sp.random_array((n, n_features), density=0.05, random_state=rng, format="csr") * 3
    return X, np.round(X @ rng.normal(size=n_features)), rng.integers(6, size=n)


@pytest.mark.parametrize(("cost", "ties"), KINDS)
def test_sparse_data(cost, ties):
    X, y, qid = sparse_data()
    expected = RankRLS(1e-3, cost=cost, ties=ties, solver="primal").fit(X.toarray(), y, qid=qid)
    for solver in ("primal", "dual", "cg"):
        model = RankRLS(1e-3, cost=cost, ties=ties, solver=solver, tol=3e-11).fit(X, y, qid=qid)
        close(model.coef_, expected.coef_)
        close(model.predict(X), expected.predict(X.toarray()))
    for A in (X.astype(np.float32), X.toarray().astype(np.float32)):
        for solver in ("primal", "dual"):
            single = RankRLS(1e-3, cost=cost, ties=ties, solver=solver).fit(A, y, qid=qid)
            close(single.coef_, expected.coef_, 1e-4)


def test_conjugate_gradients_certify_their_residual(monkeypatch):
    X, y, qid = sparse_data()
    M, N = reference.incidence(reference.kept_pairs(y, qid), len(y))
    H, right = X.T @ (M @ M.T) @ X + 1e-3 * np.eye(400), X.T @ M @ N
    states = []
    for tol in (1e-2, 1e-6, 1e-10):
        model = RankRLS(1e-3, solver="cg", tol=tol, callback=states.append).fit(X, y, qid=qid)
        residual = np.linalg.norm(right - H @ model.coef_) / np.linalg.norm(right)
        assert residual <= tol * (1 + 1e-6)
        exact = RankRLS(1e-3, solver="primal").fit(X, y, qid=qid)
        assert model.objective_ - exact.objective_ <= model.gap_ + 1e-12
        assert model.n_iter_ == len(model.history_["objective"])
        assert model.history_["objective"][-1] == pytest.approx(model.objective_, abs=1e-9)
        assert model.history_["gap"][-1] == pytest.approx(model.gap_, abs=1e-8)
    assert len(states) > 3
    one, two = (RankRLS(1e-3, solver="cg", n_jobs=n).fit(X, y, qid=qid) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_conjugate_gradients_that_stop_early_warn():
    X, y, _ = sparse_data()
    with pytest.warns(ConvergenceWarning, match="tol=1e-06 requires"):
        model = RankRLS(1e-3, solver="cg", max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
    assert model.gap_ > 0
    stopped = RankRLS(1e-3, solver="cg", callback=lambda state: state.iteration == 2).fit(X, y)
    assert stopped.n_iter_ == 2

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="Interrupted after 1 iteration"):
        RankRLS(1e-3, solver="cg", callback=interrupt).fit(X, y)
    for ties in ("keep", "drop"):
        with pytest.raises(KeyboardInterrupt):
            RankRLS(1e-3, solver="cg", ties=ties, callback=interrupt).fit(X, np.stack([y, -y], axis=1))


def test_a_matrix_that_is_singular_up_to_rounding_is_solved_by_its_spectrum():
    A = np.ones((5, 5))
    x = solve_shifted(A - 1e-17, 1e-30, np.ones(5))
    close(np.ones((5, 5)) @ x, np.ones(5), 1e-6)
    X = solve_shifted(np.diag([1.0, 2.0, -1e-20]), 1e-30, np.eye(3)[:, :2])
    close(X, [[1, 0], [0, 0.5], [0, 0]], 1e-14)
    with pytest.raises(ValueError, match=r"not positive semidefinite: .* is -1 times the largest"):
        Spectrum.of(np.diag([1.0, -1.0]), np.ones(2))


# As users meet it


def test_tags_clone_and_pickle():
    X, y, qid = data()
    assert get_tags(RankRLS()).target_tags.multi_output
    assert get_tags(RankRLS(kernel="precomputed")).input_tags.pairwise
    model = clone(RankRLS(0.5, kernel="rbf")).fit(X, y, qid=qid)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    model.set_params(kernel="linear").fit(X, y)
    assert not hasattr(model, "dual_coef_")


def test_qid_of_any_type_in_any_order():
    X, y, qid = data()
    base = RankRLS().fit(X, y, qid=qid)
    rows = np.random.default_rng(1).permutation(len(y))
    close(RankRLS().fit(X[rows], y[rows], qid=qid[rows]).coef_, base.coef_, 1e-10)
    for other in (np.array(["b", "", "zz", "A", "q"])[qid], qid / 3.0, pd.Series(qid, dtype="category")):
        close(RankRLS().fit(X, y, qid=other).coef_, base.coef_, 1e-10)


def test_frames_and_outputs_from_frames():
    X, y, qid = data()
    table = pd.DataFrame(X, columns=list("abcd"))
    labels = pd.DataFrame({"first": y, "second": -y})
    model = RankRLS().fit(table, labels, qid=pd.Series(qid))
    close(model.coef_, RankRLS().fit(X, labels.to_numpy(), qid=qid).coef_, 1e-12)
    single = RankRLS().fit(X, y, qid=qid)
    assert model.score(table, labels, qid=qid) == pytest.approx(single.score(X, y, qid=qid))


def test_grid_search_over_queries():
    X, y, qid = data(60)
    preferences = Preferences.from_scores(y, qid)
    search = GridSearchCV(RankRLS(), {"alpha": [1.0, 1e-3]}, cv=QueryKFold(3)).fit(X, preferences)
    train, test = next(QueryKFold(3).split(X, preferences))
    model = RankRLS(1.0).fit(X[train], y[train], qid=qid[train])
    error = ranking_error(y[test], model.predict(X[test]), qid[test])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(1 - error)


def test_learns_to_rank():
    X, y = make_ranking(400, 10, noise=0.1, random_state=0)
    for options in ({}, {"cost": "unit"}, {"cost": "relative"}, {"kernel": "rbf", "gamma": 0.01}):
        assert RankRLS(1e-4, **options).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"alpha": 0}, "alpha must be a positive number; got 0"),
        ({"tol": -1}, "tol must be a positive number; got -1"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0"),
        ({"cost": "hinge"}, "cost must be one of 'unit', 'magnitude', 'relative'; got 'hinge'"),
        ({"ties": "split"}, "ties must be one of 'keep', 'drop'; got 'split'"),
        ({"average": "rows"}, "average must be one of 'queries', 'pairs'; got 'rows'"),
        ({"solver": "qp"}, "solver must be one of 'auto', 'primal', 'dual', 'cg'; got 'qp'"),
        ({"kernel": "rbf", "n_components": 0}, "n_components must be None or a whole number"),
        ({"kernel": "rbf", "n_components": "all"}, "n_components must be None or a whole number"),
    ],
)
def test_bad_parameters(options, sentence):
    X, y, _ = data()
    with pytest.raises(ValueError, match=sentence):
        RankRLS(**options).fit(X, y)


def test_bad_input():
    X, y, qid = data()
    Y = np.stack([y, -y], axis=1)
    with pytest.raises(NoPairsError, match="all 40 labels are equal"):
        RankRLS().fit(X, np.ones(40))
    with pytest.raises(NoPairsError, match="Output 1 of y: There is nothing to rank: all 40"):
        RankRLS().fit(X, np.stack([y, np.ones(40)], axis=1))
    with pytest.raises(ValueError, match="X has 39 rows, but y has 40"):
        RankRLS().fit(X[:39], Y)
    with pytest.raises(ValueError, match="y contains NaN"):
        RankRLS().fit(X, np.where(Y[0] == Y, np.nan, Y))
    with pytest.raises(ValueError, match=r"one column for each of 2 outputs; got shape \(40,\)"):
        RankRLS().fit(X, Y).score(X, y)
    with pytest.raises(ValueError, match="alphas is empty"):
        RankRLS().path(X, y, [])
    with pytest.raises(ValueError, match=r"alphas must be positive numbers; got -1\.0"):
        RankRLS().path(X, y, [1.0, -1.0])
    with pytest.raises(ValueError, match="qid must be None when y is a Preferences"):
        RankRLS().fit(X, Preferences.from_scores(y), qid=qid)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        RankRLS(1e-9, kernel="precomputed").fit(-np.eye(40), y)
    with pytest.raises(ValueError, match="X must be symmetric"):
        RankRLS(kernel="precomputed").fit(np.triu(np.ones((40, 40))), y)
    ties = Preferences.from_pairs([0, 3], [1, 2], magnitude=[1.0, 0.0], n_rows=40)
    with pytest.raises(ValueError, match="that of rows 3 and 2 is 0; use cost='unit'"):
        RankRLS(cost="relative").fit(X, ties)


def test_the_memory_of_listed_pairs_is_said_beforehand(monkeypatch):
    X, y, _ = data(60, n_levels=None)
    monkeypatch.setattr("rankwise.core.memory.available_memory", lambda: 100_000)
    with pytest.raises(
        MemoryError, match=r"lists all 1770 pairs, needs 283\.2 kB .* 100 kB is free; cost='m"
    ):
        RankRLS(cost="relative").fit(X, y)
    RankRLS(cost="unit").fit(X, y)


def test_features_of_different_scales_are_hinted_at(caplog):
    X, y, _ = data()
    with caplog.at_level(logging.WARNING, logger="rankwise"):
        RankRLS().fit(X * [1, 1e6, 1, 1], y)
    assert "differ in scale" in caplog.text


def test_the_sparse_laplacian_adds_up_repeated_pairs():
    preferences = Preferences.from_pairs([0, 0, 1], [1, 1, 0], weight=[1.0, 2.0, 5.0], n_rows=3)
    L = LeastSquares(preferences, cost="relative").dense()
    np.testing.assert_array_equal(L, [[1, -1, 0], [-1, 1, 0], [0, 0, 0]])
