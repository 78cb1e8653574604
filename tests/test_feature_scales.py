"""Scales that a kernel learns: found where few features matter; in the model, its file and its report."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from rankwise import OrdinalSVM, Preferences, RankLogistic, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.estimators import feature_scales
from rankwise.estimators.feature_scales import (
    ALPHAS,
    FALL,
    _dual_coef,
    _gradients,
    _near_rows,
    _parts,
    _values,
    learn_scales,
)
from rankwise.estimators.spaces import strength
from rankwise.functions.kernel_values import kernel_scores, kernel_values
from rankwise.io.model_file import load_model, save_model
from rankwise.losses import LeastSquares
from rankwise.report import Report

KERNELS = ("exponential", "laplacian", "rbf")


@pytest.fixture(autouse=True)
def _small_fits(monkeypatch):
    monkeypatch.setattr(feature_scales, "BASIS_ROWS", 80)
    monkeypatch.setattr(feature_scales, "LOCAL_ROWS", 150)


def two_of_ten(n_rows=700, seed=0):
    """Only features 3 and 7 matter; the features have very different units."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 10))
    y = 2 * X[:, 3] + X[:, 7] ** 2
    return X * 10.0 ** np.arange(-5, 5), y


@given(
    st.sampled_from(KERNELS), st.integers(1, 5), st.integers(1, 4), st.floats(0.05, 2.0), st.integers(0, 99)
)
@example("exponential", 4, 1, 1.0, 61)  # a basis row is 0.0014 from u
def test_gradients_are_those_of_the_function(kernel, n_basis, n_features, gamma, seed):
    random = np.random.default_rng(seed)
    Z, a, u = (
        random.normal(size=(n_basis, n_features)),
        random.normal(size=n_basis),
        random.normal(size=n_features),
    )
    error = check_grad(
        lambda x: kernel_scores(x[None], Z, a, kernel, gamma=gamma)[0],
        lambda x: _gradients(x[None], Z, a, kernel, gamma)[0],
        u,
    )
    assert error < 1e-5 * (1 + np.abs(a).sum() * (1 + gamma) ** 2)


@given(st.sampled_from(KERNELS), st.integers(1, 40), st.floats(0.05, 2.0), st.integers(0, 99))
def test_values_in_single_precision_are_near(kernel, n_rows, gamma, seed):
    U, Z = np.random.default_rng(seed).normal(size=(2, n_rows, 3)).astype(np.float32)
    expected = kernel_values(U, Z, kernel, gamma=gamma)
    actual = _values(U, Z, kernel, gamma)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, atol=5e-3 if kernel == "exponential" else 1e-4)


def test_alpha_falls_as_rows_are_added(monkeypatch):
    monkeypatch.setattr(feature_scales, "ROWS_PER_BASIS_ROW", 4)
    monkeypatch.setattr(feature_scales, "HELD_OUT_ROWS", 100)
    X, y = two_of_ten(840)
    found = learn_scales(X, Preferences.from_scores(y), "laplacian", random_state=0)
    best = found.alpha * (840 / 320) ** FALL  # of the 320 rows of a fit
    steps = np.log(best / ALPHAS[:, None]) / np.log(3)
    assert np.abs(steps - np.round(steps)).min() < 1e-9


@given(st.sampled_from(KERNELS), st.integers(2, 30), st.floats(0.01, 2.0), st.integers(0, 99))
def test_functions_of_near_rows_solve_their_equations(kernel, n_rows, ridge, seed):
    random = np.random.default_rng(seed)
    U, target = random.normal(size=(n_rows, 3)), random.normal(size=n_rows)
    ridges = ridge * random.uniform(0.5, 1, n_rows)
    K = kernel_values(U, kernel=kernel, gamma=0.5)
    bordered = np.block(
        [[K + np.diag(ridges), np.ones((n_rows, 1))], [np.ones((1, n_rows)), np.zeros((1, 1))]]
    )
    expected = np.linalg.solve(bordered, np.append(target, 0.0))[:-1]
    actual = _dual_coef(K.astype(np.float32), ridges, target)
    np.testing.assert_allclose(actual, expected, atol=2e-2 * np.abs(expected).max())


def test_functions_of_near_rows_are_those_of_least_squares():
    X, y = two_of_ten(100)
    U = X / X.std(axis=0)
    preferences = Preferences.from_scores(y)
    expected = RankRLS(1e-3, kernel="rbf", gamma=0.05).fit(U, preferences)
    form = LeastSquares(preferences, ties="keep")
    K = kernel_values(U, gamma=0.05)
    a = _dual_coef(K.astype(np.float32), 1e-3 / form.diagonal, form.pull / form.diagonal)
    np.testing.assert_allclose(a, expected.dual_coef_, atol=0.03 * np.abs(expected.dual_coef_).max())


@given(st.integers(1, 400), st.integers(1, 3), st.integers(0, 99))
def test_near_rows_are_in_equal_parts(n_rows, n_features, seed):
    U = np.random.default_rng(seed).integers(3, size=(n_rows, n_features)).astype(float)
    rows = np.arange(n_rows)[::2]
    parts = _near_rows(U, rows)
    assert sorted(np.concatenate(parts)) == list(rows)
    sizes = [len(part) for part in parts]
    assert max(sizes) <= 150
    assert max(sizes) - min(sizes) <= 2


def test_parts_are_cut_along_the_widest_feature():
    U = np.stack([np.arange(300) % 2, np.arange(300)[::-1]], axis=1)
    assert [set(part) for part in _near_rows(U, np.arange(300))] == [set(range(150, 300)), set(range(150))]


def test_the_gradient_at_a_basis_row_is_finite():
    Z = np.array([[0.0, 1.0]])
    assert _gradients(Z, Z, np.ones(1), "exponential", 1.0).tolist() == [[0.0, 0.0]]


@given(st.lists(st.integers(0, 12), min_size=2, max_size=60), st.integers(0, 99))
def test_rows_held_out_are_whole_queries_and_disjoint(codes, seed):
    group = np.unique(codes, return_inverse=True)[1]
    judged, fitted = _parts(group, len(group), np.random.RandomState(seed))
    assert not set(judged) & set(fitted)
    if group.max() + 1 >= 5:
        assert not set(group[judged]) & set(group[fitted])
        assert sorted([*judged, *fitted]) == list(range(len(group)))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("full", [False, True])
def test_the_features_that_matter_are_found(kernel, full):
    X, y = two_of_ten()
    found = learn_scales(X, Preferences.from_scores(y), kernel, full=full, random_state=0)
    part = (found.scales if not full else np.linalg.norm(found.scales, axis=1)) * X.std(axis=0)
    others = np.delete(part, [3, 7])
    assert part[[3, 7]].min() > 2 * others.max()
    assert found.errors[-1] < 0.8 * found.errors[0]


# The alpha of least squares would be far too large for the logistic loss.
@pytest.mark.parametrize(
    "model",
    [RankRLS(), RankSVM(loss="squared_hinge"), RankSVM(), RankLogistic()],
    ids=["least_squares", "squared_hinge", "hinge", "logistic"],
)
def test_learned_scales_rank_new_rows_better(model):
    X, y = two_of_ten(1000)
    standard = X / X.std(axis=0)
    options = {"kernel": "laplacian", "n_components": 150, "random_state": 0}
    plain = model.set_params(alpha=1e-4, gamma=0.1, **options).fit(standard[:600], y[:600])
    plain_score = plain.score(standard[600:], y[600:])
    learned = model.set_params(alpha="learned", gamma="learned").fit(X[:600], y[:600])
    assert 1 - learned.score(X[600:], y[600:]) < 0.7 * (1 - plain_score)
    assert strength(learned) > 0
    expected = kernel_values(
        X, learned.basis_, "laplacian", gamma=learned.gamma_, scales=learned.feature_scales_
    )
    np.testing.assert_allclose(learned.predict(X), expected @ learned.dual_coef_, atol=1e-8)


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")
def test_searches_learn_the_scales_once():
    X, y = two_of_ten(100)
    for model in (RankRLSCV(cv=2), RankRLSCV(), RankSVMCV([1e-2, 1e-4], cv=2, loss="squared_hinge")):
        model.set_params(kernel="laplacian", gamma="learned", n_components=20, random_state=0).fit(X, y)
        expected = learn_scales(X, Preferences.from_scores(y), "laplacian", random_state=0)
        np.testing.assert_array_equal(model.feature_scales_, expected.scales)
        assert model.gamma_ == expected.gamma


def test_queries_are_held_out_whole():
    X, y = two_of_ten(600)
    qid = np.arange(600) // 20
    shift = np.random.default_rng(1).normal(size=30)[qid]  # no pair sees what is common to a query
    model = RankRLS("learned", kernel="rbf", gamma="learned", n_components=100, random_state=0)
    model.fit(X, y + 10 * shift, qid=qid)
    part = model.feature_scales_ * X.std(axis=0)
    assert sorted(np.argsort(-part)[:2]) == [3, 7]


@pytest.mark.parametrize("kernel", ["exponential", "rbf"])
def test_features_far_from_zero_have_the_scales_of_those_near(kernel):
    X, y = two_of_ten(300)
    model = RankRLS("learned", kernel=kernel, gamma="learned", n_components=60, random_state=0)
    near, far = (model.fit(rows, y).scale_errors_.min() for rows in (X, X + 1e5 * X.std(axis=0)))
    assert far == pytest.approx(near, abs=0.01)


@pytest.mark.parametrize("gamma", ["learned", "learned-matrix"])
def test_the_file_and_the_report_have_the_scales(tmp_path, gamma):
    X, y = two_of_ten(200)
    model = RankRLS("learned", kernel="exponential", gamma=gamma, n_components=40, random_state=0).fit(X, y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.feature_scales_, model.feature_scales_)
    assert "Most important features of the kernel" in Report(model, X, y).to_html()


def test_the_same_bits_for_one_and_two_threads():
    X, y = two_of_ten(400)
    model = RankRLS("learned", kernel="laplacian", gamma="learned", n_components=60, random_state=0)
    one, two = (model.set_params(n_jobs=n).fit(X, y).predict(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (RankRLS(kernel="poly", gamma="learned"), np.eye(4), "kernel, with gamma='learned', must be one of"),
        (RankRLS(kernel="rbf", gamma="learned"), sp.csr_array(np.eye(4)), "needs dense rows"),
        (RankSVM("learned", kernel="rbf"), np.eye(4), "alpha='learned' goes with a kernel"),
        (RankSVM("learnt"), np.eye(4), "alpha must be a positive number; got 'learnt'"),
        (OrdinalSVM(kernel="rbf", gamma="learned"), np.eye(4), "gamma='learned' is for the fits of RankSVM"),
    ],
    ids=str,
)
def test_what_cannot_be_learned_is_refused(model, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, [0, 1, 2, 3])
