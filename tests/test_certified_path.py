"""Paths over alpha with a proof at every alpha: against an independent solver and closed forms."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import independent
import reference
from rankwise import CurveRanker, HullRanker, OrdinalSVM, RankLogistic, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.datasets import make_ranking
from rankwise.model_selection import alpha_path
from rankwise.model_selection.certified_path import Knot, _Path
from rankwise.preferences import Preferences
from rankwise.solvers import SolverResult
from strategies import cases

MODELS = {
    "hinge": RankSVM(),
    "squared_hinge": RankSVM(loss="squared_hinge"),
    "logistic": RankLogistic(),
}


def data(seed=0, rows=120, features=4, noise=1.0):
    return make_ranking(rows, features, n_queries=6, n_levels=4, noise=noise, random_state=seed)


def exact_objective(model, X, preferences, alpha):
    """The objective of a model by the list of its pairs."""
    value = getattr(reference, model.loss)(independent.listed(preferences), X @ model.coef_)[0]
    return value + alpha * model.coef_ @ model.coef_


@pytest.mark.parametrize("loss", MODELS)
@settings(max_examples=12, deadline=None)
@given(case=cases(max_rows=9), seed=st.integers(0, 10**6), tol=st.sampled_from([1e-1, 1e-2, 1e-3]))
def test_at_any_alpha_the_optimum_is_within_the_gap(loss, case, seed, tol):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(len(case.preferences), 3))
    assume(any(pair[2] > 0 for pair in case.pairs))
    with warnings.catch_warnings(record=True) as told:
        path = alpha_path(MODELS[loss], X, case.preferences, (10.0, 1e-3), tol=tol)
    pairs = independent.listed(case.preferences)
    for alpha in 10.0 ** generator.uniform(-3, 1, size=3):
        optimum = independent.solve(X, pairs, alpha, loss)
        model = path.model(alpha)
        reached = exact_objective(model, X, case.preferences, alpha)
        assert reached == pytest.approx(model.objective_, rel=1e-9, abs=1e-12)
        assert path.bound(alpha) <= optimum.objective + 1e-12
        assert reached - optimum.objective <= model.gap_ + 1e-12
        winnable = path.at_zero - path.bound(alpha)
        if told:  # pairs that contradict each other may leave next to nothing to win
            assert path.at_zero - path.bound(1e-3) < 1e-6
        else:
            assert model.gap_ <= tol * winnable * (1 + 1e-9) + 1e-13


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), tol=st.sampled_from([1e-1, 1e-2, 1e-3]), wide=st.booleans())
def test_least_squares_has_a_path_from_one_decomposition(seed, tol, wide):
    X, y, qid = data(seed, rows=12 if wide else 60, features=30 if wide else 3)
    path = alpha_path(RankRLS(), X, y, (1e3, 1e-6), qid=qid, tol=tol)
    for alpha in 10.0 ** np.random.default_rng(seed).uniform(-6, 3, size=5):
        exact = RankRLS(alpha).fit(X, y, qid=qid)
        model = path.model(alpha)
        assert path.bound(alpha) <= exact.objective_ + 1e-12
        assert model.objective_ <= exact.objective_ + model.gap_ + exact.gap_
        assert model.gap_ <= tol * (path.at_zero - path.bound(alpha)) * (1 + 1e-9)
    for alpha, coef in zip(path.alphas[::7], path.coef[::7], strict=True):
        np.testing.assert_allclose(coef, RankRLS(alpha).fit(X, y, qid=qid).coef_, rtol=1e-6, atol=1e-9)


def one_pair(tol, ends):
    """The path of (1 - w)^2 + alpha w^2, which is alpha / (1 + alpha) at w = 1 / (1 + alpha)."""
    path = alpha_path(RankRLS(cost="unit"), [[1.0], [0.0]], [1.0, 0.0], ends, tol=tol)
    return path, lambda alpha: alpha / (1.0 + alpha)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3, 1e-4])
def test_the_steps_are_as_long_as_the_tolerance_allows(tol):
    path, minimum = one_pair(tol, (100.0, 1e-3))
    alphas = np.geomspace(100.0, 1e-3, 4001)[1:-1]
    share = (path.objective(alphas) - minimum(alphas)) / (1.0 - minimum(alphas))
    assert tol / 4 < share.max() <= path.share(alphas).max() <= tol
    # What is missed between knots h apart is h^2 p'' / 4 at most, half of it below and half of it above.
    below = (minimum(alphas) - path.bound(alphas)) / (1.0 - path.bound(alphas))
    assert tol / 4 < below.max() <= tol
    assert len(path.alphas) <= 3 + 1.2 * np.log(1e5) / np.sqrt(2 * tol)


def test_lines_and_chords_by_hand():
    path, minimum = one_pair(1e-2, (4.0, 0.25))
    np.testing.assert_allclose(path.coef[:, 0], 1 / (1 + path.alphas))
    np.testing.assert_allclose(path.objectives, minimum(path.alphas))
    (upper, lower), (first, second) = path.alphas[:2], path.coef[:2, 0]
    for alpha in np.linspace(lower, upper, 9):
        lines = [(1 - w) ** 2 + alpha * w**2 for w in (first, second)]
        part = (alpha - lower) / (upper - lower)
        chord = part * minimum(upper) + (1 - part) * minimum(lower)
        assert path.knot(alpha) == np.argmin(lines) or lines[0] == pytest.approx(lines[1])
        assert path.objective(alpha) == pytest.approx(min(lines), abs=1e-12)
        assert path.bound(alpha) == pytest.approx(chord, abs=1e-12)
        assert path.gap(alpha) == pytest.approx(min(lines) - chord, abs=1e-12)


@pytest.mark.parametrize("loss", MODELS)
def test_a_knot_has_the_certificate_of_its_fit(loss):
    X, y, qid = data()
    path = alpha_path(MODELS[loss], X, y, qid=qid, tol=1e-2)
    np.testing.assert_allclose(path.bound(path.alphas), path.objectives - path.gaps, rtol=1e-9)
    assert (path.objective(path.alphas) <= path.objectives * (1 + 1e-9)).all()  # a neighbour may be better
    assert (path.gaps <= 0.3 * 1e-2 * (path.at_zero - path.objectives + path.gaps)).all()


def test_rounding_is_added_to_the_line_and_to_the_gap():
    result = SolverResult(np.array([3.0, 4.0]), 26.0, 0.5, 1, "converged", {}, rounding=0.25)
    knot = Knot.of(1.0, result, 25.0)
    assert (knot.intercept, knot.bound) == (1.125, 25.5)
    assert 25.0 < knot.slope <= 25.0 * (1 + 1e-15)


@pytest.mark.parametrize(("search", "plain"), [(RankSVMCV(), RankSVM()), (RankRLSCV(), RankRLS())])
def test_a_search_has_the_path_of_its_model_and_its_grid(search, plain):
    X, y, qid = data()
    path = alpha_path(search, X, y, qid=qid, tol=1e-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        grid = search.fit(X, y, qid=qid).alphas_
    assert path.alphas[0] == grid[0]
    assert path.alphas[-1] <= grid[-1]  # the search may stop early
    np.testing.assert_array_equal(path.coef, alpha_path(plain, X, y, qid=qid, tol=1e-1).coef)
    assert type(path.model(grid[2])) is type(plain)


@pytest.mark.parametrize("model", [RankSVM(kernel="rbf"), RankRLS(kernel="rbf", n_components=20)])
def test_a_kernel_has_dual_coefficients(model):
    model = model.set_params(random_state=0)
    X, y, qid = data(rows=60)
    path = alpha_path(model, X, y, (1.0, 1e-3), qid=qid, tol=1e-3)
    alpha = float(path.alphas[2])
    expected = clone(model).set_params(alpha=alpha, tol=1e-6).fit(X, y, qid=qid)
    assert path.model(alpha).objective_ == pytest.approx(expected.objective_, rel=2e-3)
    np.testing.assert_allclose(path.model(alpha).predict(X), expected.predict(X), atol=0.05)


@pytest.mark.parametrize("monotone", [None, {0: 1}])
def test_curves_have_a_path(monotone):
    X, y, qid = data()
    path = alpha_path(CurveRanker(monotone=monotone), X, y, (1.0, 1e-2), qid=qid, tol=1e-2)
    for alpha in (0.9, 0.2, 0.011):
        exact = CurveRanker(alpha, monotone=monotone, tol=1e-5).fit(X, y, qid=qid)
        assert path.bound(alpha) <= exact.objective_
        assert path.objective(alpha) - exact.objective_ <= path.gap(alpha)
        assert path.share(alpha) <= 1e-2


def test_a_model_of_the_path_is_fitted():
    X, y, qid = data()
    path = alpha_path(RankSVM(alpha=7.0, tol=0.3), X, y, (1.0, 1e-3), qid=qid)
    model = path.model(0.02)
    assert (model.alpha, model.tol, model.n_features_in_) == (0.02, 1e-3, 4)
    assert model.n_pairs_ == Preferences.from_scores(y, qid).n_pairs
    assert model.score(X, y, qid=qid) > 0.7
    assert model.alpha_path_ is path
    np.testing.assert_array_equal(model.coef_, path.coef[path.knot(0.02)])


def test_where_nothing_can_be_won_few_models_do():
    y = [1.0, 0.0, 2.0]
    path = alpha_path(RankSVM(), np.zeros((3, 2)), y, (1.0, 1e-6))
    assert not path.coef.any()
    assert path.gap(1e-3) <= 1e-12
    assert len(path.alphas) < 10


def test_one_end_is_one_fit():
    X, y, qid = data()
    path = alpha_path(RankLogistic(), X, y, (0.1, 0.1), qid=qid)
    assert path.alphas.tolist() == [0.1]
    assert path.gap(0.1) == pytest.approx(path.gaps[0], abs=1e-9)


def test_fits_that_end_early_are_warned_of_and_the_shares_stay_true():
    X, y, qid = data()
    with pytest.warns(ConvergenceWarning, match="attainable improvement, above tol=0.001"):
        path = alpha_path(RankSVM(max_iter=1), X, y, (1.0, 1e-3), qid=qid, tol=1e-3)
    assert path.share(path.alphas).max() > 1e-3
    for alpha in (0.5, 0.01, 0.002):
        exact = RankSVM(alpha, tol=1e-5).fit(X, y, qid=qid)
        assert path.bound(alpha) <= exact.objective_


def test_ctrl_c_ends_a_path():
    X, y, qid = data()

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alpha_path(RankSVM(callback=interrupt), X, y, qid=qid)


def test_models_without_a_path_raise_an_error():
    X, y, qid = data()
    with pytest.raises(TypeError, match=r"model must be a RankSVM, RankLogistic, RankRLS or .*HullRanker"):
        alpha_path(HullRanker(), X, y)
    with pytest.raises(TypeError, match=r"model must be .* got OrdinalSVM"):
        alpha_path(OrdinalSVM(), X, y)  # whose boundaries a path does not place
    with pytest.raises(ValueError, match=r"one output .* got 2"):
        alpha_path(RankRLS(), X, np.column_stack([y, -y]), qid=qid)
    with pytest.raises(ValueError, match="tol"):
        alpha_path(RankSVM(), X, y, tol=0)
    path = alpha_path(RankSVM(), X, y, (1.0, 0.1), qid=qid, tol=0.1)
    with pytest.raises(ValueError, match=r"alpha must be between 0.1 and 1, the ends of the path; got 2.0"):
        path.model(2.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), min_size=2, max_size=6), st.integers(0, 10**6))
def test_any_lines_are_met_however_badly_they_are_solved(lines, seed):
    """The lowest of some lines R_k + alpha s_k, found with gaps of any size below the goal."""
    generator, at_zero, tol = np.random.default_rng(seed), 6.0, 1e-2
    values, squares = np.array(lines).T

    def solve(alpha, start):
        k = np.argmin(values + alpha * squares)
        objective = float(values[k] + alpha * squares[k])
        gap = generator.uniform(0, 0.3 * tol) * max(at_zero - objective, 0.0)
        return SolverResult(np.sqrt(squares[k : k + 1]), objective, gap, 1, "converged", {})

    assume(values.min() + squares[values.argmin()] < at_zero)
    fits = SimpleNamespace(solve=solve, at_zero=at_zero, penalty=lambda coef: float(coef @ coef))
    knots = _Path(fits, tol).between(1.0, 1e-4)
    for alpha in np.geomspace(1.0, 1e-4, 50):
        minimum = (values + alpha * squares).min()
        upper = min(knot.intercept + knot.slope * alpha for knot in knots)
        bounds = [knot.bound for knot in knots[::-1]]
        lower = np.interp(alpha, [knot.alpha for knot in knots[::-1]], bounds)
        assert lower <= minimum + 1e-12
        assert minimum <= upper + 1e-12
        assert upper - lower <= tol * (at_zero - lower) + 1e-12
