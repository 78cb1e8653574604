"""Truncated Newton from the inside: its products, its steps, its sums of scores and the bound by the dual."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import independent
from rankwise import Preferences
from rankwise.data.design import DenseDesign, as_design
from rankwise.data.precision import UNIT
from rankwise.losses import Logistic, SquaredHinge
from rankwise.solvers import solve_newton
from rankwise.solvers.errors import ErrorModel, suboptimality
from rankwise.solvers.newton import DualBound, Newton
from rankwise.solvers.objective import Objective

LOSSES = {"squared_hinge": SquaredHinge, "logistic": Logistic}


def task(seed=0, n_rows=40, n_features=6, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    return X, Preferences.from_scores(X @ rng.normal(size=n_features) + noise * rng.normal(size=n_rows))


def newton(X, loss, alpha, coef):
    """Newton's method at given weights."""
    method = Newton(Objective.of(as_design(X), loss, alpha, by_planes=False))
    method.point = method.objective.at(coef)
    return method


class CountingDesign(DenseDesign):
    """Counts its products."""

    def __init__(self, X):
        super().__init__(X)
        self.counts = {"X w": 0, "X' c": 0, "diagonal": 0}

    def _matvec(self, w):
        self.counts["X w"] += 1
        return super()._matvec(w)

    def _rmatvec(self, c):
        self.counts["X' c"] += 1
        return super()._rmatvec(c)

    def weighted_squares(self, c):
        self.counts["diagonal"] += 1
        return super().weighted_squares(c)


class CountingLoss(Logistic):
    """Counts its evaluations and the products with its Hessian."""

    def __init__(self, preferences):
        super().__init__(preferences)
        self.values = self.products = 0

    def value_and_coefficients(self, scores):
        self.values += 1
        return super().value_and_coefficients(scores)

    def hessian(self, scores):
        hessian = super().hessian(scores)
        multiply = hessian.product

        def product(direction):
            self.products += 1
            return multiply(direction)

        hessian.product = product
        return hessian


def test_nothing_is_computed_twice():
    X, preferences = task(n_rows=300)
    design, loss = CountingDesign(X), CountingLoss(preferences)
    result = solve_newton(design, loss, 1e-4, tol=1e-5)
    steps = result.n_iter - 1
    assert (result.status, steps > 1) == ("converged", True)
    diagonals = design.counts["diagonal"]
    assert diagonals == 1 + (loss.products > 10)
    # One product for the start, one for each product with the Hessian; none at the end.
    assert design.counts["X w"] == 1 + loss.products
    # One for the start and each step, one for each product with the Hessian, one for the mean of a diagonal.
    assert design.counts["X' c"] == 1 + steps + loss.products + diagonals
    # One for the start, and one or two for each step: the loss at the ends of a line is known.
    assert loss.values <= 1 + 1.5 * steps


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_reports_its_residual_and_minimises_it(loss):
    X, preferences = task(n_features=12)
    X *= np.logspace(0, 2, 12)
    method = newton(X, LOSSES[loss](preferences), 1e-3, np.full(12, 1e-3))
    point = method.point
    hessian = method.objective.loss.hessian(point.scores)
    matrix = np.array([X.T @ hessian.product(column) for column in X.T]) + 2e-3 * np.eye(12)
    norms = []
    for n_products in range(1, 12):
        step = stopped_step(method, n_products)
        np.testing.assert_allclose(step.residual, -point.gradient - matrix @ step.coef, atol=1e-8)
        np.testing.assert_allclose(step.scores, X @ step.coef, atol=1e-9)
        assert step.coef @ point.gradient < 0
        norms.append(np.sqrt(step.square))
    assert (np.diff(norms) <= 1e-12).all()
    plain = [np.linalg.norm(matrix @ x + point.gradient) for x in conjugate_gradients(method, matrix)]
    assert (np.array(norms) <= np.minimum.accumulate(plain)[: len(norms)] * (1 + 1e-9)).all()
    assert max(plain) > max(norms)  # conjugate gradients alone go up on the way


def stopped_step(method, n_products):
    """A step after so many products, whose residual is then small enough."""

    class Enough(float):
        def __new__(cls):
            cls.asked = 0
            return super().__new__(cls, 0.0)

        def __ge__(self, other):
            type(self).asked += 1
            return type(self).asked == n_products

    return method.newton_step(Enough())


def conjugate_gradients(method, matrix):
    """The points of the textbook algorithm for matrix x = -gradient, with the same preconditioner."""
    point, scaled = method.point, method._precondition
    x, residual = np.zeros_like(point.coef), -point.gradient
    direction = scaled(residual)
    for _ in range(11):
        length = (residual @ scaled(residual)) / (direction @ matrix @ direction)
        x = x + length * direction
        following = residual - length * matrix @ direction
        ratio = (following @ scaled(following)) / (residual @ scaled(residual))
        residual, direction = following, scaled(following) + ratio * direction
        yield x


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**31),
    st.sampled_from(list(LOSSES)),
    st.sampled_from([1e-6, 1.0, 1e6]),
    st.sampled_from([0.0, 10.0]),
)
def test_scores_summed_along_lines_are_off_by_no_more_than_their_drift(seed, loss, scale, offset):
    X, preferences = task(seed % 1000, n_rows=20, n_features=4)
    X = (X + offset) * np.logspace(-1, 1, 4) * scale
    method = newton(X, LOSSES[loss](preferences), 1e-4 * scale**2, np.zeros(4))
    precision = method.objective.design.precision
    for _ in range(6):
        point = method.point
        exact = X.astype(np.longdouble) @ point.coef.astype(np.longdouble)
        assert np.abs(point.scores - exact).max() <= point.drift + precision.scores(point.coef)
        if not method.step(target_gap=1e-4):
            break
        assert method.point.drift > point.drift


def test_drift_is_part_of_the_certificate():
    X, preferences = task()
    model, coef = ErrorModel(as_design(X).precision, SquaredHinge(preferences).bounds), np.ones(6)
    errors = (model.at(1e-3, coef, 0.5, 3.0, drift) for drift in (0.0, 1e-7))
    without, drifted = (suboptimality(1e-3, 0.5, 1e-5, error) for error in errors)
    # Slopes add up to at most 4 (objective)^(1/2), which is what the objective moves by for each score.
    assert drifted - without >= 4 * np.sqrt(0.5) * 1e-7


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(list(LOSSES)), st.floats(-8, 1), st.floats(-2, 2))
def test_a_loss_moves_by_no_more_than_allowed_where_scores_do(seed, loss, power, spread):
    rng = np.random.default_rng(seed)
    preferences = Preferences.from_scores(rng.integers(4, size=30))
    scores, score = 10.0**spread * rng.normal(size=30), 10.0**power
    value, slopes = LOSSES[loss](preferences).value_and_coefficients(scores)
    moved, turned = LOSSES[loss](preferences).bounds.change(value, score)
    for change in (rng.choice([-score, score], size=30), score * np.sign(slopes), -score * np.sign(slopes)):
        other, others = LOSSES[loss](preferences).value_and_coefficients(scores + change)
        size = 1e-14 * (1 + 10.0**spread) ** 2
        assert abs(other - value) <= moved + size
        assert np.abs(others - slopes).sum() <= turned + size


# The dual


def planes_at(X, loss, points):
    """Slopes and offset of the plane that touches the loss at each point, as functions of the weights."""
    for coef in points:
        value, coefficients = loss.value_and_coefficients(X @ coef)
        yield X.T @ coefficients, value - coefficients @ (X @ coef)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_one_plane_proves_what_strong_convexity_does(loss, alpha):
    X, preferences = task()
    coef = np.random.default_rng(1).normal(size=6)
    point = newton(X, LOSSES[loss](preferences), alpha, coef).point
    [(slopes, offset)] = planes_at(X, LOSSES[loss](preferences), [coef])
    dual = offset - slopes @ slopes / (4 * alpha)
    assert dual == pytest.approx(point.objective - point.gradient_square / (4 * alpha), rel=1e-12)
    bound = DualBound(alpha, 6)
    bound.add(slopes, offset, 0.0, 0.0)
    assert bound.certified(0.0) >= max(dual, 0.0) - 1e-12  # the plane at zero height lies below a loss too


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.floats(-4, 1))
def test_the_mean_of_two_planes_is_the_best_one(seed, power):
    rng = np.random.default_rng(seed)
    alpha, (first, second) = 10.0**power, rng.normal(size=(2, 3))
    offsets = 5.0 + rng.normal(size=2)
    bound = DualBound(alpha, 3)
    bound._slopes, bound._offset = first, offsets[0]
    bound.add(second, offsets[1], 0.0, 0.0)
    share = np.linspace(0, 1, 2001)[:, None]
    slopes = (1 - share) * first + share * second
    best = ((1 - share[:, 0]) * offsets[0] + share[:, 0] * offsets[1]) - (slopes**2).sum(axis=1) / (4 * alpha)
    step = np.sum((second - first) ** 2) / (4 * alpha) / 2000**2  # of the grid, at its largest curvature
    found = bound.certified(0.0)
    assert best.max() - 1e-9 * (1 + abs(best.max())) <= found <= best.max() + step + 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(list(LOSSES)), st.floats(-4, 0))
def test_the_bound_of_any_points_is_below_the_optimum(seed, loss, power):
    X, preferences = task(seed % 997, n_rows=14, n_features=3)
    alpha = 10.0**power
    best = independent.solve(X, independent.listed(preferences), alpha, loss)
    bound, rng, values = DualBound(alpha, 3), np.random.default_rng(seed), []
    for plane in planes_at(
        X, LOSSES[loss](preferences), best.coef + 0.1 * rng.normal(size=(8, 3)) * np.abs(best.coef)
    ):
        bound.add(*plane, 0.0, 0.0)
        values.append(bound.certified(0.0))
    assert (np.diff(values) >= -1e-12).all()
    assert values[-1] <= best.objective + 1e-12


def test_errors_of_planes_are_taken_off():
    alpha, slopes = 0.5, np.array([1.8, 2.4])
    bound = DualBound(alpha, 2)
    bound.add(slopes, 20.0, 0.1, 0.2)
    assert bound.certified(0.0) == pytest.approx(20.0 - 0.2 - 3.1**2 / (4 * alpha), rel=1e-12)
    bound.add(slopes, 0.0, 0.0, 0.7)  # a plane that is worse leaves its error, as a mean would have it
    assert bound.certified(0.0) == pytest.approx(20.0 - 0.7 - 3.1**2 / (4 * alpha), rel=1e-12)


def test_the_rounding_of_planes_by_hand():
    bound = DualBound(0.25, 2)
    bound.add(np.array([2.0, 0.0]), 8.0, 0.0, 0.0)  # so high that the plane itself is kept
    assert bound.certified(0.0) == (8.0 - 32 * UNIT) - (4.0 + 48 * UNIT)
    assert bound.certified(0.5) == pytest.approx(8.0 - 9.0, rel=1e-12)
    bound.add(np.array([2.0, 0.0]), 8.5, 0.0, 0.0)  # and the higher of two that are parallel
    assert bound.certified(0.0) == pytest.approx(4.5, rel=1e-12)


def test_a_plane_that_a_tiny_alpha_makes_worthless_is_not_kept():
    bound = DualBound(1e-310, 1)
    bound.add(np.array([1.0]), 5.0, 0.0, 0.0)
    assert (bound._slopes.tolist(), bound._offset) == ([0.0], 0.0)
    bound._slopes[:] = 1.0
    bound.add(np.array([-1.0]), 5.0, 0.0, 0.0)  # which is steeper than any number
    assert (bound._slopes.tolist(), bound._offset) == ([1.0], 0.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_points_on_two_sides_prove_more_than_strong_convexity_does(loss):
    X, preferences = task()
    alpha = 1e-3
    sharp = solve_newton(as_design(X), LOSSES[loss](preferences), alpha, tol=1e-10)
    method = newton(X, LOSSES[loss](preferences), alpha, sharp.coef)
    aside = 0.002 * np.random.default_rng(2).normal(size=6)
    points = [method.objective.at(sharp.coef + side * aside) for side in (1.0, -1.0)]
    convex = [point.gradient_square / (4 * alpha) for point in points]
    gaps = [method.certified(point).certified_gap for point in points]
    assert gaps[0] == pytest.approx(convex[0], rel=1e-2)
    assert gaps[1] <= 0.5 * convex[1]
    assert points[1].objective - gaps[1] <= sharp.objective <= points[1].objective
    assert method.bound == pytest.approx(points[1].objective - gaps[1], rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_features_so_small_that_their_squares_are_barely_numbers(loss):
    X, preferences = task()
    coefs = [
        solve_newton(as_design(rows), LOSSES[loss](preferences), 1e-3).coef
        for rows in (1e-90 * X, 1e-160 * X)
    ]
    directions = [coef / np.abs(coef).max() for coef in coefs]
    np.testing.assert_allclose(directions[1], directions[0], atol=0.01)


# What the squared hinge remembers


def test_the_hessian_of_the_squared_hinge_is_that_of_its_own_scores():
    _, preferences = task()
    rng = np.random.default_rng(0)
    first, second, direction = rng.normal(size=(3, 40))
    loss = SquaredHinge(preferences)
    loss.value_and_coefficients(first)
    for scores in (second, first, first + 1.0):
        plain, after = SquaredHinge(preferences).hessian(scores), loss.hessian(scores)
        np.testing.assert_allclose(after.diagonal, plain.diagonal, rtol=1e-13)
        np.testing.assert_allclose(after.product(direction), plain.product(direction), rtol=1e-12)
