"""The interior point method for the hinge of explicit pairs: right, certified, and chosen if it pays."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import independent
from rankwise import Preferences, RankSVM, RankSVMCV, pair_data
from rankwise.data.design import as_design
from rankwise.losses import Hinge, HuberHinge
from rankwise.solvers import chosen_solver, solve_bundle
from rankwise.solvers.interior_point import solve_interior_point


def votes(n_pairs, n_features, seed=0):
    """Pairs of rows whose better one was drawn by a logistic law."""
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(2, n_pairs, n_features))
    weights = generator.normal(size=n_features) / np.sqrt(n_features)
    wins = generator.random(n_pairs) < 1 / (1 + np.exp(-(first - second) @ weights))
    return pair_data(
        np.where(wins[:, None], first, second),
        np.where(wins[:, None], second, first),
        weight=generator.uniform(0.0, 2.0, size=n_pairs),
    )


@pytest.mark.parametrize("alpha", [10.0, 1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e5])
def test_the_gap_bounds_the_distance_from_an_independent_optimum(alpha, scale):
    X, pairs = votes(60, 7)
    alpha *= scale**2
    found = solve_interior_point(as_design(scale * X), Hinge(pairs), alpha, tol=1e-8)
    best = independent.solve(scale * X, independent.listed(pairs), alpha)
    assert found.status == "converged"
    assert found.objective - found.gap <= best.objective + 1e-12
    assert best.lower <= found.objective + 1e-12
    assert found.gap <= 1e-8


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), alpha=st.floats(1e-6, 10.0), listed=st.booleans())
def test_both_solvers_of_the_hinge_certify_one_optimum(seed, alpha, listed):
    generator = np.random.default_rng(seed)
    n_rows, n_features = int(generator.integers(2, 30)), int(generator.integers(1, 8))
    X = generator.normal(size=(n_rows, n_features)) * 10.0 ** generator.integers(-2, 3)
    structure = Preferences.from_scores(generator.permutation(np.arange(n_rows) // 2 + np.arange(n_rows) % 2))
    if listed:
        better = generator.integers(n_rows, size=40)
        worse = (better + generator.integers(1, n_rows, size=40)) % n_rows
        weight = generator.uniform(0.1, 2.0, size=40)
        structure = Preferences.from_pairs(better, worse, weight=weight, n_rows=n_rows)
    loss = Hinge(structure)
    first = solve_interior_point(as_design(X), loss, alpha, tol=1e-6)
    second = solve_bundle(as_design(X), loss, alpha, tol=1e-6)
    assert first.objective - first.gap <= second.objective + 1e-12
    assert second.objective - second.gap <= first.objective + 1e-12


def test_equal_rows_and_contradicting_pairs():
    """No order is better than another: the optimum is zero."""
    X = np.zeros((4, 3))
    found = solve_interior_point(as_design(X), Hinge(Preferences.from_pairs([0, 1], [1, 2], n_rows=4)), 1.0)
    assert (found.status, found.objective) == ("converged", 1.0)
    X = np.random.default_rng(0).normal(size=(2, 40))
    found = solve_interior_point(as_design(X), Hinge(Preferences.from_pairs([0, 1], [1, 0])), 1e-3, tol=1e-6)
    assert found.status == "converged"
    np.testing.assert_allclose(found.coef, 0.0, atol=1e-6)


def test_bits_do_not_depend_on_threads():
    X, pairs = votes(3000, 33)
    models = [RankSVM(1e-3, solver="interior-point", n_jobs=n).fit(X, pairs) for n in (1, 2)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")
def test_wide_pairs_converge_at_any_alpha():
    """Cutting planes need hundreds of iterations here, and more for small alphas."""
    X, pairs = votes(400, 64)
    for alpha in (1e-1, 1e-3, 1e-6):
        model = RankSVM(alpha).fit(X, pairs)
        assert model.solver_ == "interior-point"
        assert model.n_iter_ < 30
        assert model.gap_ <= 1e-3
    search = RankSVMCV([1e2, 1e-1, 1e-3, 1e-5], cv=3).fit(X, pairs)
    assert search.solver_ == "interior-point"
    assert search.n_iter_ < 30


def test_the_choice_depends_on_the_data():
    X, pairs = votes(100, 64)
    assert chosen_solver("hinge", "auto") == "bundle"
    assert chosen_solver("hinge", "auto", as_design(X), pairs) == "interior-point"
    assert chosen_solver("hinge", "bundle", as_design(X), pairs) == "bundle"
    assert chosen_solver("squared_hinge", "auto", as_design(X), pairs) == "newton"
    assert chosen_solver("hinge", "auto", as_design(X[:, :8]), pairs) == "bundle"
    assert chosen_solver("hinge", "auto", as_design(sp.csr_matrix(X)), pairs) == "bundle"
    ranking = Preferences.from_scores(np.arange(200) % 5)
    assert chosen_solver("hinge", "auto", as_design(X), ranking) == "bundle"
    rbf = RankSVM(1e-2, kernel="rbf").fit(X, pairs)
    assert rbf.gap_ <= 1e-3


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_the_choice_depends_on_alpha_and_not_on_the_scale_of_features(scale):
    """Cutting planes need few iterations for large alphas, and some fifty where the choice changes."""
    X, pairs = votes(400, 64)
    for alpha, expected in ((2.0, "bundle"), (0.4, "bundle"), (0.1, "interior-point")):
        model = RankSVM(alpha * scale**2).fit(scale * X, pairs)
        assert model.solver_ == expected
        assert RankSVM(alpha * scale**2, solver="bundle").fit(scale * X, pairs).n_iter_ < 100
    assert chosen_solver("hinge", "auto", as_design(X), pairs) == "interior-point"


def test_unsuitable_rows_are_refused():
    X, pairs = votes(20, 4)
    with pytest.raises(ValueError, match="solver='interior-point' needs dense rows in memory"):
        RankSVM(solver="interior-point").fit(sp.csr_matrix(X), pairs)
    with pytest.raises(ValueError, match="solver='interior-point' does not solve loss='squared_hinge'"):
        RankSVM(loss="squared_hinge", solver="interior-point").fit(X, pairs)


def test_a_callback_stops_the_method_and_keeps_the_best_weights():
    X, pairs = votes(200, 40)
    model = RankSVM(1e-2, callback=lambda state: state.iteration == 6).fit(X, pairs)
    assert model.n_iter_ == 6
    assert model.objective_ < 1.0
    assert model.objective_ - model.gap_ <= RankSVM(1e-2, tol=1e-8).fit(X, pairs).objective_


@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-6, 1e-8])
def test_pairs_with_little_noise_converge_at_any_alpha(alpha):
    """Most pairs can be ordered: if alpha is small, the weights are large."""
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 2000, 50)) * np.logspace(0, -0.5, 50)
    margin = (first - second) @ generator.normal(size=50)
    wins = margin / margin.std() + 0.05 * generator.logistic(size=2000) > 0
    X, y = pair_data(np.where(wins[:, None], first, second), np.where(wins[:, None], second, first))
    found = solve_interior_point(as_design(X), Hinge(y), alpha)
    other = solve_bundle(as_design(X), Hinge(y), alpha, tol=0.01)
    assert found.status == "converged"
    assert found.gap <= 1e-3
    assert other.objective - other.gap <= found.objective <= other.objective + 1e-3


def test_searches_compare_the_smoothed_hinge_and_certify_the_hinge():
    X, y = votes(300, 40)
    alphas = [1.0, 0.1, 0.01]
    found = RankSVMCV(alphas, cv=3).fit(X, y)
    smoothed = RankSVMCV(alphas, cv=3, loss=HuberHinge(width=0.25)).fit(X, y)
    np.testing.assert_array_equal(found.cv_errors_, smoothed.cv_errors_)
    best = RankSVM(found.alpha_, solver="interior-point").fit(X, y)
    np.testing.assert_array_equal(found.coef_, best.coef_)
    assert (found.loss, found.gap_ <= found.tol) == ("hinge", True)


@pytest.mark.filterwarnings("ignore:The best alpha")
def test_searches_with_a_named_solver_compare_the_hinge_itself():
    X, y = votes(300, 40)
    named = RankSVMCV([1.0, 0.1, 0.01], cv=3, solver="interior-point", tol=1e-6).fit(X, y)
    planes = RankSVMCV([1.0, 0.1, 0.01], cv=3, solver="bundle", tol=1e-6).fit(X, y)
    smoothed = RankSVMCV([1.0, 0.1, 0.01], cv=3, tol=1e-6).fit(X, y)
    np.testing.assert_array_equal(named.cv_errors_, planes.cv_errors_)
    assert (named.cv_errors_ != smoothed.cv_errors_).any()
    np.testing.assert_allclose(named.cv_errors_, smoothed.cv_errors_, atol=0.05)
