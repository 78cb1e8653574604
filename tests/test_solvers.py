"""Solvers against an explicit quadratic programme over all pairs, and what a run tells while it goes on."""

import os
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import independent
import reference
from rankwise import Preferences
from rankwise.data.design import as_design
from rankwise.losses import Hinge, SquaredHinge
from rankwise.solvers import Monitor, solve_bundle, solve_newton
from rankwise.solvers.line_search import Point, minimise_on_line
from rankwise.solvers.planes import Planes
from strategies import cases

ALPHAS = (1e-4, 1e-2, 1.0)
COUNTING = ("merge", "tree", "pairs")


def bmrm(design, loss, alpha, **options):
    return solve_bundle(design, loss, alpha, line_search=False, **options)


def bundle_by_newton(*arguments, **options):
    """Cutting planes as with very many rows, where Newton steps are tried."""
    return solve_bundle(*arguments, newton_rows=0, **options)


def bundle_from_larger_alphas(*arguments, **options):
    """Newton steps where the first plane alone must bound the objective, or larger alphas come first."""
    return bundle_by_newton(
        *arguments,
        after=1,
        is_vacuous=lambda bound, objective, shape: bound <= 0.1 * objective,
        **options,
    )


SOLVERS = {
    "bundle": ("hinge", Hinge, solve_bundle),
    "bundle by Newton": ("hinge", Hinge, bundle_by_newton),
    "bundle from larger alphas": ("hinge", Hinge, bundle_from_larger_alphas),
    "bmrm": ("hinge", Hinge, bmrm),
    "newton": ("squared_hinge", SquaredHinge, solve_newton),
}


def structures():
    """One small example of every kind of preferences, 18 rows each."""
    rng = np.random.default_rng(3)
    labels = np.round(rng.normal(size=18), 1)
    grades, qid, weight = rng.integers(3, size=18), rng.integers(4, size=18), rng.integers(0, 4, size=18)
    better, worse = rng.permuted(np.tile(np.arange(18), (25, 1)), axis=1)[:, :2].T
    event, time = rng.random(18) < 0.6, rng.integers(1, 9, size=18)
    return {
        "scores": Preferences.from_scores(labels),
        "grades in queries": Preferences.from_scores(grades, qid),
        "weighted rows": Preferences.from_scores(grades, qid, sample_weight=weight),
        "weighted queries": Preferences.from_scores(grades, qid, query_weight=np.array([1, 0, 5, 0.2])[qid]),
        "weighted differences": Preferences.from_scores(labels, qid, weight, pair_weight="difference"),
        "survival": Preferences.from_survival(event, time),
        "weighted survival": Preferences.from_survival(event, time, weight),
        "pairs": Preferences.from_pairs(better, worse, weight=rng.random(25), n_rows=18),
        "chain": Preferences.from_order(grades, "chain"),
        "order graph": Preferences.from_order(qid, [(3, 0), (2, 0), (3, 1)], weight),
    }


STRUCTURES = structures()


def rows(seed=0, n_rows=18, n_features=4):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def objective(X, pairs, alpha, loss, coef):
    value, _ = getattr(reference, loss)(pairs, X @ coef)
    return value + alpha * coef @ coef


def assert_optimal(result, best, tol):
    """The result is within tol of the optimum, its status is right, and its certificate is valid."""
    assert best.objective - best.lower <= 1e-8
    assert result.status == "converged"
    assert best.lower - 1e-9 <= result.objective <= best.objective + tol
    assert result.objective - best.objective - 1e-9 <= result.gap <= tol


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("average", ["queries", "pairs"])
def test_optimum_of_every_structure_is_that_of_the_quadratic_programme(name, solver, average):
    X, preferences = rows(), STRUCTURES[name]
    loss, loss_type, solve = SOLVERS[solver]
    pairs = independent.listed(preferences, average)
    for alpha in ALPHAS:
        best = independent.solve(X, pairs, alpha, loss)
        for tol in (1e-3, 1e-7):
            result = solve(as_design(X), loss_type(preferences, average=average), alpha, tol=tol)
            assert_optimal(result, best, tol)
            assert result.objective == pytest.approx(objective(X, pairs, alpha, loss, result.coef), abs=1e-12)
            # Strong convexity: ||w - w*||^2 <= (objective - optimum) / alpha.
            assert np.linalg.norm(result.coef - best.coef) <= np.sqrt((tol + 1e-8) / alpha)


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from(list(SOLVERS)), st.sampled_from(["queries", "pairs"]), st.integers(0, 2**31))
def test_optimum_of_random_structures_is_that_of_the_quadratic_programme(case, solver, average, seed):
    pairs = case.normalised(average)
    assume(sum(w for *_, w, _, _ in pairs) == pytest.approx(1.0))
    rng = np.random.default_rng(seed)
    X, alpha = rng.normal(size=(len(case.scores), 3)), 10 ** rng.uniform(-4, 0)
    loss, loss_type, solve = SOLVERS[solver]
    best = independent.solve(X, pairs, alpha, loss)
    assume(best.objective - best.lower <= 1e-8)
    result = solve(as_design(X), loss_type(case.preferences, average=average), alpha, tol=1e-6)
    assert_optimal(result, best, 1e-6)


@pytest.mark.parametrize("name", ["scores", "grades in queries", "weighted differences", "weighted survival"])
def test_solvers_and_counting_methods_reach_the_same_optimum(name):
    X, preferences, tol = as_design(rows()), STRUCTURES[name], 1e-9
    hinge = [
        solve(X, Hinge(preferences, counting=counting), 1e-3, tol=tol)
        for solve in (solve_bundle, bmrm)
        for counting in COUNTING
    ]
    squared = [
        solve_newton(X, SquaredHinge(preferences, counting=counting), 1e-3, tol=1e-11)
        for counting in COUNTING
    ]
    for results, spread in ((hinge, tol), (squared, 1e-11)):
        assert {result.status for result in results} == {"converged"}
        assert np.ptp([result.objective for result in results]) <= spread
    for result in squared:
        np.testing.assert_allclose(result.coef, squared[0].coef, atol=1e-6)


def test_the_bundle_does_not_find_the_same_plane_for_ever():
    # Here the line search once ended far beyond the model's minimiser, with a plane that said nothing of it.
    rng = np.random.default_rng(0)
    for _ in range(3):
        X, y, qid = rng.normal(size=(25, 4)), rng.integers(3, size=25), rng.integers(3, size=25)
    preferences = Preferences.from_scores(y, qid)
    result = solve_bundle(as_design(X), Hinge(preferences), 0.01, tol=1e-8)
    assert_optimal(result, independent.solve(X, independent.listed(preferences), 0.01), 1e-8)
    assert result.n_iter <= 40


def test_the_bundle_ends_to_any_tolerance_on_many_problems():
    iterations = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X, y, qid = rng.normal(size=(25, 4)), rng.integers(3, size=25), rng.integers(3, size=25)
        loss = Hinge(Preferences.from_scores(y, qid))
        result = solve_bundle(as_design(X), loss, 10.0 ** rng.integers(-4, 0), tol=1e-9, max_iter=100)
        assert result.status == "converged", seed
        iterations.append(result.n_iter)
    assert np.median(iterations) <= 25


def test_newton_steps_save_evaluations_where_pairs_are_many():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 200)) / np.sqrt(200) * np.geomspace(0.1, 3, 200)
    y = X @ rng.normal(size=200) + rng.normal(size=6000)
    start = solve_bundle(as_design(X[:1000]), Hinge(Preferences.from_scores(y[:1000])), 1e-4).coef
    found = {}
    for solve in (solve_bundle, bundle_by_newton):
        loss = Hinge(Preferences.from_scores(y))
        with mock.patch.object(loss, "plane", wraps=loss.plane) as plane:
            found[solve] = solve(as_design(X), loss, 1e-4, start=start, tol=1e-3), plane.call_count
    (planes, many), (newton, few) = found.values()
    assert planes.status == newton.status == "converged"
    assert abs(planes.objective - newton.objective) <= max(planes.gap, newton.gap)
    assert few < 0.6 * many


def never_rises(objectives):
    """Tell whether none is above the last one but by rounding: larger alphas have theirs from other sums."""
    return (np.diff(objectives) <= 1e-14 * np.abs(objectives[1:])).all()


def test_larger_alphas_lead_to_a_tiny_one_in_few_iterations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5)) @ rng.normal(size=(5, 40)) + 0.3 * rng.normal(size=(3000, 40))
    y = X @ rng.normal(size=40) + 10 * rng.normal(size=3000)
    problem = as_design(X), Hinge(Preferences.from_scores(y)), 1e-10
    led = bundle_by_newton(*problem)
    alone = bundle_by_newton(*problem, after=0)
    assert led.status == alone.status == "converged"
    assert abs(led.objective - alone.objective) <= max(led.gap, alone.gap)
    assert led.n_iter < 0.5 * alone.n_iter
    assert never_rises(led.history["objective"])


def test_the_bundle_takes_fewer_iterations_than_bmrm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    loss = Hinge(Preferences.from_scores(X @ rng.normal(size=8) + rng.normal(size=2000)))
    bundle, plain = (solve(as_design(X), loss, 1e-5, tol=1e-3) for solve in (solve_bundle, bmrm))
    assert abs(bundle.objective - plain.objective) <= 1e-3
    assert bundle.n_iter <= plain.n_iter / 4


def test_a_gradient_of_exactly_zero_ends_newton_steps():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40_000, 5)) + 10
    y = (X @ rng.normal(size=5)).round(1)
    preferences = Preferences.from_scores(y, qid=np.sort(rng.integers(40, size=40_000)))
    result = solve_bundle(as_design(X), Hinge(preferences), 100.0, tol=1e-13, max_iter=60)
    assert result.gap <= 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_features_that_differ_by_a_million_in_scale(solver):
    loss, loss_type, solve = SOLVERS[solver]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scale = np.array([1e-3, 1.0, 1e3, 1.0])
        X = rng.normal(size=(40, 4)) * scale + np.array([0.0, 5.0, 1e4, 0.0])
        y = np.round(X @ (1 / scale) + rng.normal(size=40))
        preferences = Preferences.from_scores(y, np.arange(40) % 3)
        alpha = 10.0 ** rng.uniform(-5, 1)
        best = independent.solve(X, independent.listed(preferences), alpha, loss)
        assert_optimal(solve(as_design(X), loss_type(preferences), alpha, tol=1e-6), best, 1e-6)


DEGENERATE = {
    "duplicated rows": lambda X: np.repeat(X[:6], 3, axis=0),
    "duplicated features": lambda X: np.hstack([X, X]),
    "zero features": lambda X: np.hstack([np.zeros((18, 2)), X, np.zeros((18, 1))]),
    "one feature": lambda X: X[:, :1],
    "all zero": lambda X: np.zeros((18, 3)),
    "constant": lambda X: np.full((18, 3), 7.0),
    "more features than rows": lambda X: np.hstack(
        [X @ rows(seed=k, n_rows=4, n_features=10) for k in (1, 2)]
    ),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_singular_gram_matrix_does_no_harm(name, solver):
    X, preferences = DEGENERATE[name](rows()), STRUCTURES["scores"]
    loss, loss_type, solve = SOLVERS[solver]
    pairs = independent.listed(preferences)
    for alpha in (1e-4, 1e-1):
        result = solve(as_design(X), loss_type(preferences), alpha, tol=1e-7)
        assert_optimal(result, independent.solve(X, pairs, alpha, loss), 1e-7)


def test_constant_rows_leave_the_objective_at_one():
    for loss_type, solve in ((Hinge, solve_bundle), (Hinge, bmrm), (SquaredHinge, solve_newton)):
        result = solve(as_design(np.full((18, 3), 7.0)), loss_type(STRUCTURES["scores"]), 1e-3)
        assert result.objective == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(result.coef, 0, atol=1e-6)


def raw_cadata():
    path = Path(os.environ.get("RANKWISE_DATA", "/nowhere")) / "cadata" / "cadata.svm.gz"
    if not path.exists():
        pytest.skip("RANKWISE_DATA names no folder with cadata")
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path))
    return X[:2000].toarray(), y[:2000]


def test_raw_cadata():
    X, y = raw_cadata()
    loss, alpha = Hinge(Preferences.from_scores(y)), 1e-3
    assert as_design(X).column_scale().max() > 1e3 * as_design(X).column_scale().min()
    bundle, plain = (
        solve(as_design(X), loss, alpha, tol=tol) for solve, tol in ((solve_bundle, 1e-3), (bmrm, 1e-3))
    )
    sharp = solve_bundle(as_design(X), loss, alpha, tol=1e-7)
    for result in (bundle, plain):
        assert result.status == "converged"
        assert result.objective - sharp.objective - 1e-9 <= result.gap <= 1e-3
    assert sharp.gap <= 1e-7


def test_dense_and_sparse_designs_give_the_same_bits_of_certificate():
    X = rows()
    X[np.abs(X) < 0.5] = 0
    for loss, solve in (
        (Hinge(STRUCTURES["scores"]), solve_bundle),
        (SquaredHinge(STRUCTURES["scores"]), solve_newton),
    ):
        dense, sparse = (solve(as_design(A), loss, 1e-3, tol=1e-9) for A in (X, sp.csr_array(X)))
        assert dense.objective == pytest.approx(sparse.objective, abs=1e-9)


def test_planes_of_one_alpha_serve_another():
    X, loss = as_design(rows(n_rows=18)), Hinge(STRUCTURES["scores"])
    planes = Planes(4)
    first = solve_bundle(X, loss, 1e-2, tol=1e-6, planes=planes)
    cold = solve_bundle(X, loss, 5e-3, tol=1e-6)
    warm = solve_bundle(X, loss, 5e-3, tol=1e-6, start=first.coef, planes=planes)
    assert warm.objective == pytest.approx(cold.objective, abs=1e-6)
    assert warm.gap <= 1e-6
    assert warm.n_iter < cold.n_iter


class Curve:
    """a + sum_i weight_i max(0, offset_i + slope_i k) + curve (k - centre)^2, counting its evaluations."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        n = rng.integers(1, 60)
        self.weight, self.offset = rng.random(n) / n, rng.normal(size=n)
        self.slope = rng.normal(size=n) * 10 ** rng.uniform(-2, 2)
        self.curve, self.centre = 10 ** rng.uniform(-6, 1), rng.normal() * 2
        self.evaluations = 0

    def value(self, k):
        return self.weight @ np.maximum(0, self.offset + self.slope * k) + self.curve * (k - self.centre) ** 2

    def __call__(self, k):
        self.evaluations += 1
        active = self.offset + self.slope * k > 0
        return Point(
            k, self.value(k), self.weight @ (active * self.slope) + 2 * self.curve * (k - self.centre)
        )

    def minimum(self):
        """Look at each kink and at the vertex of each parabola between two kinks."""
        kinks = np.unique(np.concatenate([[0.0], -self.offset / self.slope]))
        kinks = kinks[kinks >= 0]
        inside = np.append((kinks[1:] + kinks[:-1]) / 2, kinks[-1] + 1)
        slopes = ((self.offset + self.slope * inside[:, None]) > 0) @ (self.weight * self.slope)
        vertices = self.centre - slopes / (2 * self.curve)
        vertices = np.clip(vertices, kinks, np.append(kinks[1:], np.inf))
        return min(map(self.value, [*kinks, *vertices]))


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_line_search_finds_the_minimum_in_few_evaluations(share):
    counts = []
    for seed in range(400):
        curve = Curve(seed)
        origin = curve(0.0)
        lowest = curve.minimum()
        tol = share * max(origin.value - lowest, 1e-3)
        found = minimise_on_line(curve, origin, guess=1.0, tol=tol, max_evaluations=60)
        assert lowest - 1e-12 <= found.best.value <= lowest + tol + 1e-12, seed
        assert found.best.value == curve.value(found.best.step)
        assert found.beyond is None or found.beyond.slope >= 0
        counts.append(curve.evaluations - 1)
    assert np.mean(counts) <= 10
    assert np.quantile(counts, 0.9) <= 16


def test_line_search_stays_where_the_slope_rises():
    found = minimise_on_line(lambda k: Point(k, 1 + k, 1.0), Point(0.0, 1.0, 1.0), guess=1.0, tol=1e-9)
    assert (found.best.step, found.beyond.step) == (0.0, 1.0)


@pytest.mark.parametrize("slope", [0.0, 2.0, 1e-320])
def test_line_search_looks_once_where_the_function_does_not_fall(slope):
    steps = []

    def evaluate(step):
        steps.append(step)
        return Point(step, 1.0 + slope * step, slope)

    # Newton's method asks for a share of what the slope promises, which is less than nothing here.
    found = minimise_on_line(evaluate, Point(0.0, 1.0, slope), guess=0.5, tol=-0.01 * slope)
    assert steps == [0.5]
    assert (found.best.step, found.beyond.step) == (0.0, 0.5)


def test_line_search_on_equal_slopes_and_kinks():
    for slope in (-1.0, -1e-320):
        found = minimise_on_line(lambda k, a=slope: Point(k, a * k, a), Point(0.0, 0.0, slope), 1.0, 0.0)
        assert found.beyond is None
        assert found.best.step >= 1.0
    bent = minimise_on_line(
        lambda k: Point(k, abs(k - 2.0), -1.0 if k < 2 else 1.0), Point(0.0, 2.0, -1.0), 1.0, 1e-9
    )
    assert bent.best.step == pytest.approx(2.0, abs=1e-9)


def test_line_search_where_slope_times_step_overflows():
    steps = []

    def evaluate(step):
        steps.append(step)
        return Point(step, 2.5e306 * (step - 4.0) ** 2, 5e306 * (step - 4.0))

    found = minimise_on_line(evaluate, evaluate(0.0), guess=12.0, tol=0.0)
    assert steps == [0.0, 12.0, 4.0]  # the slope of a parabola is its own secant
    assert found.best.step == 4.0


@pytest.mark.parametrize("share", [0.5, 0.1, 1e-3])
def test_line_search_ends_where_the_slope_is_small_enough(share):
    counts = []
    for seed in range(100):
        curve = Curve(seed)
        origin = curve(0.0)
        best = minimise_on_line(curve, origin, 1.0, 0.0, 60, slope_fraction=share).best
        if origin.slope < 0:
            near = [best.step * (1 + side * 1e-9) for side in (-1, 1)]  # it may be at a kink
            assert (
                abs(best.slope) <= -share * origin.slope or curve(near[0]).slope < 0 <= curve(near[1]).slope
            )
            assert best.value < origin.value
        counts.append(curve.evaluations)
    assert np.mean(counts) <= {0.5: 8, 0.1: 10, 1e-3: 16}[share]


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_line_search_takes_steps_back_that_overflow(bad):
    def evaluate(step):
        return Point(step, bad, bad) if step > 3 else Point(step, (step - 1.0) ** 2, 2.0 * (step - 1.0))

    found = minimise_on_line(evaluate, Point(0.0, 1.0, -2.0), guess=1000.0, tol=1e-9)
    assert found.best.value <= 1e-9
    nowhere = minimise_on_line(lambda k: Point(k, bad, bad), Point(0.0, 1.0, -2.0), guess=1.0, tol=1e-9)
    assert (nowhere.best.step, nowhere.beyond) == (0.0, None)


RUNS = {
    "bundle": lambda **more: solve_bundle(as_design(rows()), Hinge(STRUCTURES["scores"]), 1e-4, **more),
    "bundle from larger alphas": lambda **more: bundle_from_larger_alphas(
        as_design(rows()), Hinge(STRUCTURES["scores"]), 1e-4, **more
    ),
    "bmrm": lambda **more: bmrm(as_design(rows()), Hinge(STRUCTURES["scores"]), 1e-4, **more),
    "newton": lambda **more: solve_newton(
        as_design(rows()), SquaredHinge(STRUCTURES["scores"]), 1e-4, **more
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_history_holds_one_entry_an_iteration(name):
    states = []
    result = RUNS[name](tol=1e-6, monitor=Monitor(callback=states.append))
    history = result.history
    assert set(history) == {"objective", "bound", "gap", "seconds"}
    assert {len(column) for column in history.values()} == {result.n_iter} == {len(states)}
    assert [state.iteration for state in states] == list(range(1, result.n_iter + 1))
    np.testing.assert_array_equal(history["gap"], history["objective"] - history["bound"])
    assert (np.diff(history["bound"]) >= 0).all()
    assert never_rises(history["objective"])
    assert (np.diff(history["seconds"]) >= 0).all()
    assert history["objective"][0] == pytest.approx(1.0, rel=1e-14)
    assert history["gap"][-1] <= 1e-6
    np.testing.assert_array_equal(states[-1].coef, result.coef)


@pytest.mark.parametrize("name", RUNS)
def test_a_callback_stops_the_run(name):
    result = RUNS[name](tol=1e-12, monitor=Monitor(callback=lambda state: state.iteration == 3))
    assert (result.status, result.n_iter) == ("stopped", 3)
    assert result.gap == pytest.approx(result.history["gap"][-1], rel=1e-6)


@pytest.mark.parametrize("name", RUNS)
def test_an_interrupt_keeps_the_best_point(name):
    seen = []

    def callback(state):
        seen.append(state)
        if state.iteration == 4:
            raise KeyboardInterrupt

    result = RUNS[name](tol=1e-12, monitor=Monitor(callback=callback))
    assert (result.status, result.n_iter) == ("interrupted", 4)
    np.testing.assert_array_equal(result.coef, seen[-1].coef)
    assert result.objective == pytest.approx(min(state.objective for state in seen), abs=1e-12)
    assert result.gap == pytest.approx(seen[-1].gap, rel=1e-6)
    assert len(result.history["gap"]) == 4


@pytest.mark.parametrize("name", RUNS)
def test_max_iter_is_reported_with_a_valid_gap(name):
    result = RUNS[name](tol=1e-12, max_iter=2)
    sharp = RUNS[name](tol=1e-10)
    assert (result.status, result.n_iter) == ("max_iter", 2)
    assert result.gap >= result.objective - sharp.objective > 0


@pytest.mark.parametrize("name", RUNS)
def test_a_start_at_the_optimum_ends_at_once(name):
    sharp = RUNS[name](tol=1e-9)
    again = RUNS[name](tol=1e-3, start=sharp.coef)
    assert again.objective <= sharp.objective + 1e-12
    assert again.n_iter <= (1 if name == "newton" else sharp.n_iter)


def test_monitor_prints_a_line_an_iteration(capsys):
    RUNS["bundle"](tol=1e-2, monitor=Monitor(verbose=1))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("iteration    1   objective 1   gap ")
    assert all(line.endswith(" s") for line in lines)
