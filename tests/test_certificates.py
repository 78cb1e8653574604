"""Certificates in floating point, on features of any scale and offset: against exact objectives and optima.

For every fit, two things hold: the objective at the weights, computed with more digits, is within the gap of
`objective_`; and `objective_ - gap_` is not above the objective of any point, that of an independent solver
among them. A gap above its goal is warned of: the tolerance times what can be won, or what rounding explains.
"""

import math
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import independent
import independent_hull
import independent_sparse
import reference
from rankwise import HullRanker, OrdinalSVM, Preferences, RankLogistic, RankRLS, RankSVM, RankSVMCV
from rankwise.data.design import as_design
from rankwise.data.precision import Precision, rounding_terms
from rankwise.losses import Hinge, PiecewiseLinear, SquaredHinge
from rankwise.losses.base import LossBounds
from rankwise.solvers import Monitor, solve_bundle, solve_newton
from rankwise.solvers.certificate import StoppingRule, certified_gap, remaining_tolerance
from rankwise.solvers.errors import ErrorModel, Errors, quotient, suboptimality
from rankwise.solvers.hull_certificate import HullOptimum, Penalty
from rankwise.solvers.run import finalise

SCALES = st.sampled_from([1e-8, 1e-4, 1.0, 1e4, 1e8])
OFFSETS = st.sampled_from([0.0, 1.0, 1e4, 1e8, 1e12])
ALPHAS = st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6])
ROWS = st.sampled_from(["dense", "fortran", "csr"])
TOLERANCES = st.sampled_from([1e-3, 1e-6, 1e-9, 1e-15])


@st.composite
def problems(draw, max_rows=16):
    """Draw rows with a scale and an offset for each column and a scale for all, labels and queries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    m, n = draw(st.integers(4, max_rows)), draw(st.integers(1, 4))
    X = rng.normal(size=(m, n))
    y = np.round(X @ rng.normal(size=n) + draw(st.sampled_from([0.0, 1.0])) * rng.normal(size=m), 1)
    y[:2] = 0.0, 1.0  # so that there is a pair
    qid = draw(st.sampled_from([np.zeros(m, dtype=int), np.arange(m) // (m // 2 + 1)]))
    X += np.array([draw(OFFSETS) for _ in range(n)])
    X *= np.array([draw(SCALES) for _ in range(n)]) * draw(SCALES)
    return X, y, qid


def kinds_of_rows(X, kind):
    return {"dense": X, "fortran": np.asfortranarray(X), "csr": sp.csr_array(X)}[kind]


def fitted(model, *arguments, **columns):
    """Fit; tell whether a lack of convergence was warned of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(*arguments, **columns)
    return any(issubclass(warning.category, ConvergenceWarning) for warning in told)


def differences(X, pairs):
    """The differences of the rows of each pair, exact to 64 bits however far the rows lie from zero."""
    better, worse = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
    return X[better].astype(np.longdouble) - X[worse].astype(np.longdouble)


def exact_objective(X, pairs, alpha, loss, coef):
    """Sum of weight l(d'w) + alpha ||w||^2 over pairs, in extended precision."""
    w, weight = coef.astype(np.longdouble), np.array([pair[2] for pair in pairs], dtype=np.longdouble)
    margin = differences(X, pairs) @ w
    target = np.array([pair[3] for pair in pairs]) if loss == "squares" else 1.0
    if loss == "logistic":
        return float(weight @ np.logaddexp(0, -margin) + alpha * (w @ w))
    rest = (target - margin) if loss == "squares" else np.maximum(0, 1 - margin)
    return float(weight @ (rest if loss == "hinge" else rest**2) + alpha * (w @ w))


def goal_of(model, start, rounded):
    """The gap to end with: a share of what can be won over a start, or what rounding explains."""
    wanted = model.tol * (start - model.objective_ + model.gap_)
    return max(wanted, min(rounded, model.tol * start))


def rounded_of(model, X, loss):
    """The part of a gap that rounding explains."""
    design = as_design(X).centred()
    errors = ErrorModel(design.precision, BOUNDS[loss])
    score_range = design.precision.score_range(model.coef_, design.matvec(model.coef_))
    found = errors.at(model.alpha, model.coef_, model.objective_, score_range)
    if loss == "hinge":
        return 2.0 * (found.objective + errors.plane(model.alpha, model.coef_, 1.0))
    return 2.0 * suboptimality(model.alpha, model.objective_, 0.0, found)


def assert_certified(model, exact, best, goal, warned):
    """The statement at the head of this file; `exact` and `best` are exact to about 1e-15 themselves.

    Below the first of two goals nothing is warned of, above the second it is.
    """
    least, most = goal if isinstance(goal, tuple) else (goal, goal)
    assert np.isfinite(model.objective_)
    assert model.gap_ >= 0
    assert abs(model.objective_ - exact) <= model.gap_ + 1e-15 * abs(exact)
    assert model.objective_ - model.gap_ <= best + 1e-15 * abs(best)
    assert not (warned and model.gap_ <= least)
    assert warned or model.gap_ <= most


BOUNDS = {
    "hinge": LossBounds(lipschitz=1.0),
    "logistic": LossBounds(lipschitz=1.0, curvature=0.25),
    "squared_hinge": LossBounds(curvature=2.0),
}
SVM_SOLVERS = {"bundle": "hinge", "bmrm": "hinge", "newton": "squared_hinge"}


@settings(max_examples=60, deadline=None)
@given(problems(), ALPHAS, TOLERANCES, st.sampled_from(list(SVM_SOLVERS)), ROWS)
def test_ranking_svms_of_any_scale(problem, alpha, tol, solver, kind):
    X, y, qid = problem
    loss = SVM_SOLVERS[solver]
    model = RankSVM(alpha, loss=loss, solver=solver, tol=tol, max_iter=60)
    warned = fitted(model, kinds_of_rows(X, kind), y, qid=qid)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    exact = exact_objective(X, pairs, alpha, loss, model.coef_)
    other = independent.solve(X - X.mean(axis=0), pairs, alpha, loss)
    points = [other.coef] if np.isfinite(other.coef).all() else []
    best = min([1.0, *(exact_objective(X, pairs, alpha, loss, coef) for coef in points)])
    assert_certified(model, exact, best, goal_of(model, 1.0, rounded_of(model, X, loss)), warned)


@settings(max_examples=60, deadline=None)
@given(problems(max_rows=12), ALPHAS, TOLERANCES, ROWS)
def test_logistic_rankings_of_any_scale(problem, alpha, tol, kind):
    X, y, qid = problem
    model = RankLogistic(alpha, tol=tol, max_iter=60)
    warned = fitted(model, kinds_of_rows(X, kind), y, qid=qid)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    exact = exact_objective(X, pairs, alpha, "logistic", model.coef_)
    other = independent.solve(X - X.mean(axis=0), pairs, alpha, "logistic").coef
    points = [other] if np.isfinite(other).all() else []
    best = min([np.log(2.0), *(exact_objective(X, pairs, alpha, "logistic", coef) for coef in points)])
    goal = goal_of(model, np.log(2.0), rounded_of(model, X, "logistic"))
    assert_certified(model, exact, best, goal, warned)


@pytest.mark.parametrize("solver", ["bundle", "bmrm"])
@pytest.mark.parametrize(("size", "alpha", "tol"), [(1e7, 1e-6, 1e-9), (1e8, 1e-6, 1e-8), (1e9, 1e-4, 1e-6)])
def test_scores_that_nearly_cancel(size, alpha, tol, solver):
    """The labels follow the difference of two large columns: scores lose what the gap must allow for."""
    for seed in range(8):
        large, small = np.random.default_rng(seed).normal(size=(2, 12))
        X, y = np.stack([size * large + small, size * large], axis=1), np.round(small, 1)
        model = RankSVM(alpha, solver=solver, tol=tol, max_iter=200)
        warned = fitted(model, X, y)
        pairs = reference.normalised(reference.ranking_pairs(y))
        exact = exact_objective(X, pairs, alpha, "hinge", model.coef_)
        goal = goal_of(model, 1.0, rounded_of(model, X, "hinge"))
        assert_certified(model, exact, min(1.0, exact), goal, warned)


@settings(max_examples=60, deadline=None)
@given(
    problems(),
    ALPHAS,
    TOLERANCES,
    st.sampled_from(["primal", "dual", "cg"]),
    ROWS,
    st.sampled_from([1.0, 1e-6, 1e6]),
)
def test_least_squares_of_any_scale(problem, alpha, tol, solver, kind, unit):
    X, y, qid = problem
    y = y * unit
    model = RankRLS(alpha, solver=solver, tol=tol, max_iter=200)
    warned = fitted(model, kinds_of_rows(X, kind), y, qid=qid)
    pairs = reference.kept_pairs(y, qid)
    start = float(sum(w * t**2 for _, _, w, t, _ in pairs))
    exact = exact_objective(X, pairs, alpha, "squares", model.coef_)
    coef = least_squares_point(X, pairs, alpha)
    best = min(start, exact_objective(X, pairs, alpha, "squares", coef))
    assert_certified(model, exact, best, (goal_of(model, start, 0.0), tol * start), warned)


SPARSE = {"logistic": RankLogistic, "squared_hinge": partial(RankSVM, loss="squared_hinge")}
SPARSE |= {"squares": partial(RankRLS, ties="drop")}


@settings(max_examples=80, deadline=None)
@given(
    problems(),
    ALPHAS,
    TOLERANCES,
    st.sampled_from(list(SPARSE)),
    ROWS,
    st.sampled_from([0.3, 0.9, 1.0]),
    st.booleans(),
)
def test_sparse_rankings_of_any_scale(problem, alpha, tol, loss, kind, ratio, free):
    X, y, qid = problem
    weights = np.append(0.0 if free else 1.0, np.ones(X.shape[1] - 1))
    assume(weights.any())
    model = SPARSE[loss](alpha, l1_ratio=ratio, penalty_weights=weights, tol=tol, max_iter=60)
    warned = fitted(model, kinds_of_rows(X, kind), y, qid=qid)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))

    def objective(coef):
        w = coef.astype(np.longdouble)
        penalty = weights @ (ratio * np.abs(w) + (1 - ratio) * w**2)
        return exact_objective(X, pairs, 0.0, loss, coef) + float(alpha * penalty)

    start, exact = objective(np.zeros(X.shape[1])), objective(model.coef_)
    net = alpha * ratio * weights, alpha * (1 - ratio) * weights
    points = [independent_sparse.solve(X - X.mean(axis=0), pairs, *net, loss)[0]]
    points += [independent_sparse.scaled(X - X.mean(axis=0), pairs, *net, loss)]
    best = min([start, *(objective(coef) for coef in points if np.isfinite(coef).all())])
    assert_certified(model, exact, best, (goal_of(model, start, 0.0), tol * start), warned)


def least_squares_point(X, pairs, alpha):
    """Weights near the optimum by the singular values of the scaled differences."""
    weight, target = (np.array([pair[k] for pair in pairs], dtype=float) for k in (2, 3))
    root = np.sqrt(weight)
    U, values, V = np.linalg.svd(root[:, None] * differences(X, pairs).astype(float), full_matrices=False)
    return V.T @ (values / (values**2 + alpha) * (U.T @ (root * target)))


@settings(max_examples=40, deadline=None)
@given(problems(), ALPHAS, TOLERANCES, st.sampled_from([1e-3, 1.0, 1e3]))
def test_kernel_least_squares_of_any_scale(problem, alpha, tol, unit):
    X, y, qid = problem
    Z = X - X.mean(axis=0)
    K = unit * (Z @ Z.T / np.maximum(np.trace(Z @ Z.T), 1e-300) + 0.1 * np.eye(len(Z)))
    model = RankRLS(alpha, kernel="precomputed", tol=tol)
    warned = fitted(model, K, y, qid=qid)
    pairs = reference.kept_pairs(y, qid)
    start = float(sum(w * t**2 for _, _, w, t, _ in pairs))
    wide, a = K.astype(np.longdouble), model.dual_coef_.astype(np.longdouble)

    def objective(a):
        scores = wide @ a
        rest = sum(w * (t - (scores[i] - scores[j])) ** 2 for i, j, w, t, _ in pairs)
        return float(rest + alpha * (a @ scores))

    M, N = reference.incidence(pairs, len(y))
    other = reference.dual_solution(M, N, K, alpha).astype(np.longdouble)
    goals = goal_of(model, start, 0.0), tol * start
    assert_certified(model, objective(a), min(start, objective(other)), goals, warned)


@settings(max_examples=30, deadline=None)
@given(problems(), ALPHAS, st.sampled_from(["hinge", "squared_hinge"]))
def test_ordinal_svms_of_any_scale(problem, alpha, loss):
    X, y, _ = problem
    ranks = np.digitize(y, [0.5, 1.5])
    model = OrdinalSVM(alpha, loss=loss, tol=1e-6, max_iter=60)
    warned = fitted(model, X, ranks)
    pairs = reference.normalised(reference.ranking_pairs(ranks))
    exact = exact_objective(X, pairs, alpha, loss, model.coef_)
    coef = independent.solve(X - X.mean(axis=0), pairs, alpha, loss).coef
    best = min(1.0, exact_objective(X, pairs, alpha, loss, coef)) if np.isfinite(coef).all() else 1.0
    assert_certified(model, exact, best, goal_of(model, 1.0, rounded_of(model, X, loss)), warned)


def test_scores_summed_along_lines_are_computed_again_where_they_cost_the_goal():
    X = np.random.default_rng(0).normal(size=(11, 2)) * np.array([1e-4, 1e4])
    ranks = np.array([0, 1, 1, 0, 0, 0, 2, 1, 0, 0, 1])
    model = OrdinalSVM(1e-12, loss="squared_hinge", tol=1e-6, max_iter=60)
    assert not fitted(model, X, ranks)
    assert model.gap_ <= goal_of(model, 1.0, 0.0)


def exact_hull_objective(X, ranks, alpha, slack, coef, intervals):
    """Mean slack of the rows outside the interval of their class plus alpha ||w||^2, in extended precision.

    Offsets of columns belong to the interval: scores are those of rows less their mean.
    """
    w, centre = coef.astype(np.longdouble), X.mean(axis=0)
    scores = (X.astype(np.longdouble) - centre) @ w
    low, high = (intervals - centre @ coef).astype(np.longdouble)[ranks].T
    slacks = np.maximum(0, np.maximum(low - scores, scores - high))
    return float(np.mean(slacks if slack == "absolute" else slacks**2) + alpha * (w @ w))


@settings(max_examples=40, deadline=None)
@given(
    problems(), ALPHAS, st.sampled_from(["squared", "absolute"]), SCALES, st.sampled_from([0.0, 1e4, 1e12])
)
def test_hull_rankers_of_any_scale(problem, alpha, slack, scale, offset):
    X, y, _ = problem
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-300)
    X = (X * np.logspace(-2, 2, X.shape[1]) + offset) * scale
    ranks = np.unique(np.digitize(y, [0.5, 1.5]), return_inverse=True)[1]
    model = HullRanker(alpha, slack=slack, slack_per="row")
    warned = fitted(model, X, ranks)
    # The intervals hold the offset, and so not the digits in which rows differ.
    exact = model.objective_
    if offset == 0:
        exact = exact_hull_objective(X, ranks, alpha, slack, model.coef_, model.intervals_)
    X = X - X.mean(axis=0)
    edges = [(k + 1, k) for k in range(ranks.max())]
    programme = (X, ranks, edges, alpha)
    coef, _, gamma = independent_hull.solution(*programme, slack=slack)
    points = [(np.zeros(X.shape[1]), -0.5 - np.arange(len(edges)))]
    points += [(coef, gamma)] if np.isfinite(coef).all() else []
    best = min(independent_hull.feasible_objective(*programme, slack, *point) for point in points)
    zero = np.zeros_like(X)
    none, _, gamma = independent_hull.solution(zero, ranks, edges, alpha, slack=slack)
    start = independent_hull.feasible_objective(zero, ranks, edges, alpha, slack, none, gamma)
    most = model.tol * model.objective_
    least = min(most, model.tol * (start - 1e-8 * abs(start) - model.objective_ + model.gap_))
    assert_certified(model, exact, best, (least, most), warned)


# What rounding is allowed to do


@st.composite
def points(draw):
    """Draw rows as the solvers see them, their pairs, and weights whose scores nearly cancel or do not."""
    X, y, qid = draw(problems())
    if draw(st.booleans()):
        X = np.hstack([X, X + np.abs(X).max() * 1e-6 * X[::-1]])
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    spread = np.maximum(np.ptp(X, axis=0), 1e-12 * np.abs(X).max())
    coef = draw(st.sampled_from([1e-3, 1.0, 1e3])) * rng.normal(size=X.shape[1]) / spread
    return X, Preferences.from_scores(y, qid), pairs, coef


def exact_slopes(X, pairs, coef, loss):
    """The gradient of the mean loss by the weights, in extended precision."""
    weight, apart = np.array([pair[2] for pair in pairs], dtype=np.longdouble), differences(X, pairs)
    short = np.maximum(0, 1 - apart @ coef.astype(np.longdouble))
    return -((weight * (short > 0 if loss == "hinge" else 2 * short)) @ apart)


@settings(max_examples=40, deadline=None)
@given(points(), ALPHAS)
def test_an_objective_is_off_by_no_more_than_its_allowance(point, alpha):
    X, preferences, pairs, coef = point
    design = as_design(X).centred()
    scores = design.matvec(coef)
    penalty, reach = alpha * float(coef @ coef), design.precision.score_range(coef, scores)
    hinge = exact_objective(X, pairs, alpha, "hinge", coef)
    value = Hinge(preferences).value(scores) + penalty
    allowed = ErrorModel(design.precision, BOUNDS["hinge"]).at(alpha, coef, value, reach).objective
    assert abs(value - hinge) <= allowed
    square = exact_objective(X, pairs, alpha, "squared_hinge", coef)
    value, coefficients = SquaredHinge(preferences).value_and_coefficients(scores)
    model = ErrorModel(design.precision, BOUNDS["squared_hinge"])
    allowed, slope_allowed = model.at(alpha, coef, value + penalty, reach)
    assert abs(value + penalty - square) <= allowed
    exact = exact_slopes(X, pairs, coef, "squared_hinge") + 2 * alpha * coef.astype(np.longdouble)
    off = design.rmatvec(coefficients) + 2 * alpha * coef - exact
    assert np.linalg.norm(off.astype(float)) <= slope_allowed


@settings(max_examples=40, deadline=None)
@given(points(), ALPHAS)
def test_the_minimum_of_a_plane_is_off_by_no_more_than_its_allowance(point, alpha):
    X, preferences, pairs, coef = point
    design = as_design(X).centred()
    scores = design.matvec(coef)
    apart = (differences(X, pairs) @ coef.astype(np.longdouble)).astype(float)
    assume(np.abs(apart - 1).min() > 1e-3 * max(1.0, np.abs(apart).max()))  # the same pairs are violated
    _, coefficients, offset = Hinge(preferences).plane(scores)
    slopes, exact = design.rmatvec(coefficients), exact_slopes(X, pairs, coef, "hinge")
    exact_offset = math.fsum(pair[2] for pair, d in zip(pairs, apart, strict=True) if d < 1)
    off = offset - slopes @ slopes / (4 * alpha) - (exact_offset - exact @ exact / (4 * alpha))
    allowed = ErrorModel(design.precision, BOUNDS["hinge"]).plane(alpha, -slopes / (2 * alpha), 1.0)
    assert abs(float(off)) <= allowed


def test_the_rounding_of_a_design_and_of_a_span():
    assert [rounding_terms(k) for k in (1, 64, 10_000)] == [3.0, 66.0, 802.0]
    precision = as_design(np.array([[1.0, -5.0], [-3.0, 2.0], [0.0, 0.0]])).precision
    assert precision.size.tolist() == [3.0, 5.0]
    assert (precision.rows, precision.columns) == (5 * 2.0**-53, 4 * 2.0**-53)
    span = Precision.of_span(2, 2.5)
    assert (span.size.tolist(), span.rows, span.columns) == ([2.5], 4 * 2.0**-53, 4 * 2.0**-53)
    assert precision.score_error == span.score_error == 0.0
    assert quotient(1e300, 1e-300) == np.inf
    assert (quotient(3.0, 2.0), remaining_tolerance(1.0, 0.25), remaining_tolerance(1.0, 0.75)) == (
        1.5,
        0.75,
        0.5,
    )


def test_the_penalty_of_a_matrix():
    rng = np.random.default_rng(0)
    root, w, g = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    for matrix in (None, root @ root.T):
        P = 0.5 * np.eye(3) + (0.0 if matrix is None else matrix)
        penalty = Penalty(0.5, matrix)
        np.testing.assert_allclose(penalty.gradient(w), 2 * P @ w, rtol=1e-13)
        np.testing.assert_allclose(penalty.solved(g), np.linalg.solve(P, g), rtol=1e-11)
        np.testing.assert_allclose(penalty.diagonal(3), np.diag(P), rtol=1e-13)
        assert penalty.value(w) == pytest.approx(w @ P @ w, rel=1e-13)
        best = np.linalg.solve(P, g) / 2
        assert penalty.conjugate(g) == pytest.approx(g @ best - best @ P @ best, rel=1e-11)
        assert penalty.magnitude(w) == pytest.approx(np.abs(w) @ np.abs(P) @ np.abs(w), rel=1e-13)


def test_the_better_halves_of_two_certificates():
    low = HullOptimum(np.ones(1), np.ones(2), "low", objective=1.0, bound=0.25, error=0.5)
    high = HullOptimum(np.zeros(1), np.zeros(2), "high", objective=2.0, bound=0.75, error=0.125)
    for both in (low.joined(high), high.joined(low)):
        assert (both.coef[0], both.thresholds[1], both.dual) == (1.0, 1.0, "high")
        assert (both.objective, both.bound, both.error, both.gap) == (1.0, 0.75, 0.5, 0.75)


# Regression tests from adversarial review


def column_far_from_zero(offset, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    X[:, 1] += offset
    return X, y


@pytest.mark.parametrize("offset", [1e10, 1e12])
@pytest.mark.parametrize("solver", SVM_SOLVERS)
@pytest.mark.parametrize("kind", ["dense", "fortran", "csr", "single"])
def test_a_column_far_from_zero_costs_no_digits(offset, solver, kind):
    X, y = column_far_from_zero(offset)
    rows = (X / 16).astype(np.float32) if kind == "single" else kinds_of_rows(X, kind)
    X = rows.astype(np.float64) if kind == "single" else X
    loss, pairs = SVM_SOLVERS[solver], reference.normalised(reference.ranking_pairs(y))
    model = RankSVM(1e-3, loss=loss, solver=solver, tol=1e-7)
    assert not fitted(model, rows, y)
    best = independent.solve(X - X[0], pairs, 1e-3, loss)
    exact = exact_objective(X, pairs, 1e-3, loss, model.coef_)
    assert model.objective_ == pytest.approx(exact, abs=1e-13)
    assert exact <= best.objective + 1e-7
    assert 0 < model.gap_ <= 1e-7


@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("n_features", [4, 40])
def test_least_squares_on_columns_far_from_zero(solver, kind, n_features):
    rng = np.random.default_rng(0)
    Z, y = np.round(rng.normal(size=(30, n_features)), 3), rng.normal(size=30)
    X = 1e6 + Z  # of which Z is known but for rounding
    pairs = reference.kept_pairs(y)
    coef = least_squares_point(X, pairs, 1e-3)
    model = RankRLS(1e-3, solver=solver, tol=1e-9)
    assert not fitted(model, kinds_of_rows(X, kind), y)
    best = exact_objective(X, pairs, 1e-3, "squares", coef)
    assert model.objective_ == pytest.approx(best, rel=1e-7)
    many = RankRLS(1e-3, solver=solver, tol=1e-9).fit(kinds_of_rows(X, kind), np.stack([y, -y], axis=1))
    np.testing.assert_allclose(many.coef_, [model.coef_, -model.coef_], atol=1e-5)


def test_sparse_rows_of_queries_far_from_zero():
    # The first column is far from zero in one query and not stored in the other.
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(30, 40)), rng.normal(size=30), np.arange(30) % 2
    X[:, :20] = np.where(qid[:, None] == 0, 1e6 + X[:, :20], 0.0)
    best = exact_objective(
        X,
        reference.kept_pairs(y, qid),
        1e-3,
        "squares",
        least_squares_point(X, reference.kept_pairs(y, qid), 1e-3),
    )
    model = RankRLS(1e-3, solver="dual")
    warned = fitted(model, sp.csr_array(X), y, qid=qid)
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    start = sum(w * t**2 for _, _, w, t, _ in reference.kept_pairs(y, qid))
    assert_certified(model, best, best, (goal_of(model, start, 0.0), 1e-6 * start), warned)


@pytest.mark.parametrize(
    "options", [{"solver": "primal"}, {"solver": "dual"}, {"solver": "cg"}, {"kernel": "rbf"}]
)
def test_closed_forms_warn_of_a_gap_above_tol(options):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)) * 1e8, rng.normal(size=30)
    model = RankRLS(1e-30, tol=1e-12, **options)
    assert fitted(model, X if "solver" in options else X / 1e9, y)
    assert model.gap_ > 1e-12
    assert model.gap_ <= 2 * model.objective_ + 1e-8  # no objective is negative


LARGE = [RankSVM(), RankSVM(loss="squared_hinge"), RankSVMCV([1.0], cv=2), HullRanker(), OrdinalSVM()]
LARGE += [RankRLS(solver=solver) for solver in ("primal", "dual", "cg")]


@pytest.mark.parametrize("model", LARGE, ids=str)
def test_features_whose_squares_overflow_are_refused_by_name(model):
    X, y = np.random.default_rng(0).normal(size=(12, 2)) * [1.0, 1e160], np.arange(12) % 3
    with pytest.raises(ValueError, match=r"Column 1 of X has values as large as .*e\+16.*; divide X by"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="Column 'income' of X has values as large as"):
        model.fit(pd.DataFrame(X, columns=["age", "income"]), y)


@pytest.mark.parametrize("model", [*LARGE, RankLogistic(), HullRanker(slack="none")], ids=str)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_features_whose_squares_vanish_are_refused(model, container):
    X, y = np.random.default_rng(0).normal(size=(12, 2)) * [1e-170, 1e-190], np.arange(12) % 3
    with pytest.raises(ValueError, match=r"no number above .*e-170, .*; multiply X by a power of ten\.$"):
        model.fit(container(X), y)


@pytest.mark.parametrize(
    "options", [{"solver": "primal"}, {"solver": "dual"}, {"solver": "cg"}, {"kernel": "rbf"}]
)
@pytest.mark.parametrize("outputs", [1, 2])
def test_labels_whose_squares_overflow_are_refused(options, outputs):
    X, y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0)
    labels = y * 1e200 if outputs == 1 else np.stack([y, y[::-1]], axis=1) * 1e200
    with pytest.raises(ValueError, match=r"y has values as large as 1.1e\+201"):
        RankRLS(**options).fit(X, labels)


@pytest.mark.parametrize("weight", [1e-300, 1e-160, 1e160, 1e300])
def test_weights_of_any_scale_are_shares(weight):
    X, y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0)
    for model in (RankSVM(), RankRLS()):
        plain, scaled = (clone(model).fit(X, y, sample_weight=np.full(12, w)) for w in (1.0, weight))
        np.testing.assert_allclose(scaled.coef_, plain.coef_, rtol=1e-9)


class SteepHinge(PiecewiseLinear):
    """100 times the hinge."""

    formula = "mean over pairs of 100 max(0, 1 - (f(better) - f(worse)))"
    lipschitz = 100.0

    def plane(self, scores):
        value, coefficients, offset = Hinge(self.preferences).plane(scores)
        return 100.0 * value, 100.0 * coefficients, 100.0 * offset


@settings(max_examples=30, deadline=None)
@given(problems(), ALPHAS, TOLERANCES)
def test_a_loss_with_slope_100_has_a_certificate_that_holds(problem, alpha, tol):
    X, y, qid = problem
    loss, design = SteepHinge(Preferences.from_scores(y, qid=qid)), as_design(X)
    result = solve_bundle(design, loss, 100.0 * alpha, tol=tol, max_iter=60)
    pairs = reference.normalised(reference.ranking_pairs(y, qid))
    exact = 100.0 * exact_objective(X, pairs, alpha, "hinge", result.coef)
    other = independent.solve(X - X.mean(axis=0), pairs, alpha, "hinge")
    points = [other.coef] if np.isfinite(other.coef).all() else []
    best = 100.0 * min([1.0, *(exact_objective(X, pairs, alpha, "hinge", coef) for coef in points)])
    assert abs(result.objective - exact) <= result.gap + 1e-15 * exact
    assert result.objective - result.gap <= best * (1 + 1e-15)
    plain = ErrorModel(design.centred().precision, BOUNDS["hinge"])
    steep = ErrorModel(design.centred().precision, loss.bounds)
    given = 1.0, 0.0 * result.coef, result.objective, 1.0
    assert steep.at(*given).objective == pytest.approx(100.0 * plain.at(*given).objective, rel=1e-12)


# The one place that decides


def test_a_bound_above_the_objective_counts_for_nothing():
    assert certified_gap(1.0, 0.9, 0.01) == pytest.approx(0.11)
    assert certified_gap(1.0, 1.005, 0.01) == pytest.approx(0.005)
    assert certified_gap(1.0, 1.5, 0.01) == 1.01


@pytest.mark.parametrize("gap", [2e-3, np.inf, np.nan])
def test_only_a_gap_within_its_goal_has_converged(gap):
    history, rule = Monitor().history, StoppingRule(1e-3, 2.0 - 1e-3)
    result = finalise(np.ones(2), 1.0, gap, 1, "converged", history, rule)
    assert result.status == "stalled"
    several = finalise(
        np.ones((2, 2)),
        np.ones(2),
        np.array([0.0, gap]),
        1,
        "converged",
        history,
        StoppingRule(1e-3, np.full(2, 1.9)),
    )
    assert several.status == "stalled"
    assert finalise(np.ones(2), 1.0, 1e-3, 1, "converged", history, rule).status == "converged"
    for ended, said in {"stalled": "converged", "max_iter": "converged", "stopped": "stopped"}.items():
        assert finalise(np.ones(2), 1.0, 1e-3, 1, ended, history, rule).status == said
        assert finalise(np.ones(2), 1.0, gap, 1, ended, history, rule).status == ended
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="The fit overflowed"):
            finalise(np.array([1.0, bad]), 1.0, 0.0, 1, "converged", history, rule)


def test_ordinary_rows_are_used_as_they_are():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1e-6, 1e6] + [5.0, 0.0, 3e6]
    X = np.hstack([X, np.ones((50, 1))])
    for rows in (X, np.asfortranarray(X), sp.csr_array(X), X.astype(np.float32)):
        design = as_design(rows)
        assert design.centred() is design


@pytest.mark.parametrize("kind", ["dense", "fortran", "csr"])
def test_centred_rows_have_the_products_of_the_differences(kind):
    rng = np.random.default_rng(0)
    Z = rng.integers(-(2**20), 2**20, size=(40, 3)) / 2.0**20
    X = Z + np.array([2.0**30, 0.0, -(2.0**31)])
    X = np.hstack([X, np.full((40, 1), 7e9)])
    rows = kinds_of_rows(X, kind)
    design = as_design(rows).centred()
    assert kind == "csr" or np.shares_memory(design.X, rows)
    w, c = rng.normal(size=4), rng.normal(size=40)
    c -= c.mean()
    scores = design.matvec(w)
    np.testing.assert_allclose(scores - scores[0], (Z - Z[0]) @ w[:3], atol=1e-14)
    np.testing.assert_allclose(design.rmatvec(c), np.append(Z.T @ c, 0.0), atol=1e-14)
    np.testing.assert_allclose(design.dense()[:, :3] - design.dense()[0, :3], Z - Z[0], atol=0)
    spread = np.sum((Z - Z.mean(axis=0)) ** 2, axis=0)
    np.testing.assert_allclose(
        design.weighted_spread(np.ones(40)), np.append(spread, 0.0), rtol=1e-12, atol=1e-12
    )
    assert design.column_scale().max() < 2


def test_the_bounds_allow_for_the_errors_of_gradients_and_planes(monkeypatch):
    assert suboptimality(0.5, 1.0, 0.0, Errors(0.0, 0.1)) == pytest.approx(0.1**2 / 2.0)
    assert suboptimality(0.5, 1.0, 0.3, Errors(0.05, 0.1)) == pytest.approx(0.4**2 / 2.0 + 0.05)
    X = np.random.default_rng(0).normal(size=(30, 3))
    loss = Hinge(Preferences.from_scores(X[:, 0]))
    exact = solve_bundle(as_design(X), loss, 1e-2, tol=1e-6)
    monkeypatch.setattr(ErrorModel, "plane", lambda *_: 1e-3)
    inexact = solve_bundle(as_design(X), loss, 1e-2, tol=1e-6)
    assert inexact.gap >= 1e-3 > exact.gap


@pytest.mark.parametrize(("solve", "loss"), [(solve_newton, SquaredHinge), (solve_bundle, Hinge)])
def test_a_start_that_is_worse_than_zero_is_not_taken(solve, loss):
    X = np.random.default_rng(0).normal(size=(30, 3))
    of = loss(Preferences.from_scores(X[:, 0]))
    found = solve(as_design(X), of, 1e-2, start=np.array([-50.0, 0.0, 0.0]), max_iter=0)
    assert not found.coef.any()
    assert found.objective == pytest.approx(of.at_zero)
