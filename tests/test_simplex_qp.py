"""The dual of the bundle method: maximise b'z - z'Qz/2 over the simplex, with a certified gap."""

from fractions import Fraction

import clarabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from rankwise import _native

EPSILON = np.finfo(float).eps
seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=60, deadline=None, derandomize=True)


def solve(Q, b, start=None, tol=1e-10, max_iter=10_000):
    start = np.zeros(len(b)) if start is None else start
    return _native.simplex_qp(np.ascontiguousarray(Q), np.asarray(b, float), start, tol, max_iter)


def objective(Q, b, z):
    return b @ z - 0.5 * z @ (Q @ z)


def certificate(Q, b, z):
    gradient = b - Q @ z
    return gradient.max() - z @ gradient


def exact_gap(Q, b, z, Q_low=None, z_low=None):
    """The gap in rational arithmetic, of z scaled to sum exactly one."""
    zeros = np.zeros_like(Q)
    pair = np.vectorize(lambda high, low: Fraction(float(high)) + Fraction(float(low)), otypes=[object])
    Q = pair(Q, zeros if Q_low is None else Q_low)
    z = pair(z, zeros[0] if z_low is None else z_low)
    z = z / z.sum()
    gradient = pair(b, zeros[0]) - Q @ z
    return float(max(gradient) - z @ gradient)


def rounding(Q, b, z):
    """What evaluating b - Qz in double precision may be off by."""
    return 16 * EPSILON * (abs(b) + abs(Q) @ z).max()


def assert_feasible(z):
    assert np.isfinite(z).all()
    assert z.min() >= 0
    assert abs(z.sum() - 1) <= 1e-12


def assert_solved(Q, b, z, gap, tol=1e-10):
    """The gap holds, as reported and as numpy computes it, up to what rounding allows for this Q and z."""
    assert_feasible(z)
    slack = rounding(Q, b, z)
    assert 0 <= gap <= max(tol, slack)
    assert abs(certificate(Q, b, z) - gap) <= max(tol, slack)


def reachable_gap(Q, b, tol):
    """What rounding the optimum to doubles may cost; the optimum itself, in extended precision, costs tol."""
    z, _, gap, _ = _native.simplex_qp_extended(Q, np.zeros_like(Q), b, np.zeros(len(b)), tol, 10_000)
    assert_feasible(z)
    assert 0 <= gap <= tol
    return max(tol, rounding(Q, b, z))


def clarabel_optimum(Q, b):
    n = len(b)
    constraints = sparse.csc_matrix(np.vstack([np.ones((1, n)), -np.eye(n)]))
    right = np.append(1.0, np.zeros(n))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    upper = sparse.csc_matrix(np.triu(Q))
    return -clarabel.DefaultSolver(upper, -b, constraints, right, cones, options).solve().obj_val


def random_program(seed, n, rank, scale=1.0):
    rng = np.random.default_rng(seed)
    planes = scale * rng.normal(size=(n, rank))
    return planes @ planes.T, rng.normal(size=n)


def test_one_plane():
    z, gap, n_iter = solve([[4.0]], [3.0])
    assert (z.tolist(), gap, n_iter) == ([1.0], 0.0, 0)


@pytest.mark.parametrize(
    ("Q", "b", "expected"),
    [
        (np.diag([1.0, 1.0]), [0.0, 0.5], [0.25, 0.75]),
        (np.diag([1.0, 1.0]), [0.0, 2.0], [0.0, 1.0]),
        (np.diag([1.0, 2.0, 4.0]), [0.0, 0.0, 0.0], [4 / 7, 2 / 7, 1 / 7]),
        ([[1.0, -1.0], [-1.0, 1.0]], [0.0, 0.0], [0.5, 0.5]),
        (np.zeros((3, 3)), [1.0, 3.0, 2.0], [0.0, 1.0, 0.0]),
        (np.diag([1e-12, 1e14]), [0.0, 1.0], [1 - 1e-14, 1e-14]),
    ],
)
def test_closed_forms(Q, b, expected):
    Q, b = np.asarray(Q), np.asarray(b)
    z, gap, _ = solve(Q, b, tol=0.0)
    np.testing.assert_allclose(z, expected, rtol=1e-14, atol=1e-16)
    assert gap <= rounding(Q, b, z)


def test_the_uniform_point_of_a_large_identity():
    z, gap, _ = solve(np.eye(300), np.zeros(300))
    np.testing.assert_allclose(z, 1 / 300, rtol=1e-12)
    assert gap <= 1e-10


@quick
@given(seeds, st.integers(1, 25), st.integers(0, 25), st.sampled_from([1e-3, 1.0, 1e2]))
def test_any_rank_against_clarabel(seed, n, rank, scale):
    Q, b = random_program(seed, n, rank, scale)
    z, gap, _ = solve(Q, b)
    assert_solved(Q, b, z, gap)
    assert gap <= 1e-10
    reference = clarabel_optimum(Q, b)
    assert abs(objective(Q, b, z) - reference) <= 1e-6 * max(1, abs(reference))


planes_of_small_integers = st.tuples(st.integers(1, 8), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(-3, 3)),
        arrays(np.int64, shape[0], elements=st.integers(-3, 3)),
        arrays(np.int64, shape[0], elements=st.integers(-20, 20)),
    )
)


@settings(quick, max_examples=200)
@given(planes_of_small_integers)
def test_degenerate_planes_in_rational_arithmetic(drawn):
    """Small integers give duplicates, zero planes, ties and flat directions; powers of two give scales."""
    planes, b, exponents = drawn
    planes = planes * np.exp2(exponents)[:, None]
    Q, b = planes @ planes.T, b.astype(float)
    z, gap, _ = solve(Q, b, tol=1e-12)
    assert_feasible(z)
    exact = exact_gap(Q, b, z)
    assert exact <= reachable_gap(Q, b, 1e-12)
    assert abs(gap - exact) <= max(1e-12, rounding(Q, b, z))


@quick
@given(seeds, st.integers(1, 20), st.integers(1, 8))
def test_duplicated_planes_change_nothing(seed, n, rank):
    Q, b = random_program(seed, n, rank)
    twice = np.tile(np.arange(n), 2)
    z, gap, _ = solve(Q[np.ix_(twice, twice)], b[twice])
    assert_solved(Q, b, z[:n] + z[n:], gap)
    assert abs(objective(Q, b, z[:n] + z[n:]) - objective(Q, b, solve(Q, b)[0])) <= 1e-9


@quick
@given(seeds, st.integers(2, 30), st.integers(1, 10), st.sampled_from([1e-3, 1e-6, 1e-10]))
def test_planes_of_extreme_norms(seed, n, rank, alpha):
    """Integers times powers of two: Q spans 1e-12 to 1e14 over 2 alpha and is PSD without rounding."""
    rng = np.random.default_rng(seed)
    planes = rng.integers(-9, 10, size=(n, rank)) * np.exp2(rng.integers(-20, 21, size=(n, 1)))
    Q, b = planes @ planes.T * np.exp2(np.round(-np.log2(2 * alpha))), rng.normal(size=n)
    z, gap, _ = solve(Q, b, tol=1e-9)
    assert_feasible(z)
    assert 0 <= gap <= reachable_gap(Q, b, 1e-9)
    assert abs(certificate(Q, b, z) - gap) <= max(1e-9, rounding(Q, b, z))


def extended_gram(planes):
    columns = [_native.extended_products(planes, plane) for plane in planes]
    return np.array([high for high, _ in columns]), np.array([low for _, low in columns])


@quick
@given(seeds, st.integers(2, 10), st.integers(1, 6))
def test_features_of_extreme_scales_in_extended_precision(seed, n, rank):
    """Where 1e-16 max|Q| is above the tolerance, z + z_low still reaches it, in rational arithmetic."""
    rng = np.random.default_rng(seed)
    planes = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-6, 7, size=rank)
    Q, Q_low = extended_gram(planes)
    b = rng.normal(size=n)
    z, z_low, gap, _ = _native.simplex_qp_extended(Q, Q_low, b, np.zeros(n), 1e-10, 10_000)
    assert_feasible(z)
    exact = exact_gap(Q, b, z, Q_low, z_low)
    assert gap <= 1e-10
    assert exact <= 2e-10


@quick
@given(seeds, st.integers(1, 20))
def test_extended_products_and_combinations_are_exact_to_rounding(seed, n):
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(3, n)) * 10.0 ** rng.uniform(-8, 8, size=n), rng.normal(size=n)
    high, low = _native.extended_products(A, x)
    for row, leading, trailing in zip(A, high, low, strict=True):
        exact = sum(Fraction(p) * Fraction(q) for p, q in zip(row.tolist(), x.tolist(), strict=True))
        assert abs(Fraction(leading) + Fraction(trailing) - exact) <= 1e-30 * (abs(row) @ abs(x))
    z, z_low = rng.normal(size=3), 1e-17 * rng.normal(size=3)
    combined = _native.extended_combination(A, z, z_low)
    np.testing.assert_allclose(combined, z @ A + z_low @ A, rtol=0, atol=1e-14 * abs(A).max())


def test_growing_by_warm_starts_equals_a_cold_start():
    Q, b = random_program(0, 150, 20)
    z, iterations = np.zeros(0), []
    for n in range(1, len(b) + 1):
        z, gap, n_iter = _native.simplex_qp(Q, b[:n], np.append(z, 0.0), 1e-11, 1000)
        assert_solved(Q[:n, :n], b[:n], z, gap, tol=1e-11)
        iterations.append(n_iter)
    assert np.mean(iterations) < 3
    cold, gap, n_iter = solve(Q, b, tol=1e-11)
    assert n_iter > iterations[-1]
    assert abs(objective(Q, b, z) - objective(Q, b, cold)) <= 2e-11


def test_only_the_leading_block_is_read():
    Q, b = random_program(1, 12, 5)
    padded = np.full((15, 20), np.nan)
    padded[:12, :12] = Q
    np.testing.assert_array_equal(solve(padded, b)[0], solve(Q, b)[0])


@pytest.mark.parametrize("start", [0.0, -1.0, np.nan, np.inf, 1e-320, 1e300, 7.0])
def test_any_start_will_do(start):
    Q, b = random_program(2, 30, 6)
    z, gap, _ = solve(Q, b, start=np.full(30, start))
    assert_solved(Q, b, z, gap)


def test_a_start_outside_the_simplex_is_brought_inside():
    Q, b = random_program(2, 30, 6)
    z, gap, _ = solve(Q, b, start=np.linspace(-1.0, 3.0, 30))
    assert_solved(Q, b, z, gap)


@pytest.mark.parametrize("max_iter", [0, 1, 5])
def test_an_early_stop_is_feasible_and_reports_its_gap(max_iter):
    Q, b = random_program(3, 60, 40)
    z, gap, n_iter = solve(Q, b, max_iter=max_iter)
    assert_feasible(z)
    assert n_iter == max_iter
    assert gap == pytest.approx(certificate(Q, b, z), rel=1e-9)
    assert gap > 1e-3


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_numbers_near_the_ends_of_the_range(scale):
    Q, b = random_program(4, 20, 6)
    z, gap, _ = solve(scale * Q, scale * b, tol=0.0)
    assert_feasible(z)
    assert gap / scale <= 1e-13
    assert abs(objective(Q, b, z) - objective(Q, b, solve(Q, b)[0])) <= 1e-10


def test_a_matrix_that_is_not_psd_still_ends_in_a_feasible_point():
    rng = np.random.default_rng(5)
    Q = rng.normal(size=(40, 40))
    z, gap, _ = solve(Q + Q.T, rng.normal(size=40), max_iter=2000)
    assert_feasible(z)
    assert np.isfinite(gap)


@pytest.mark.parametrize(
    ("Q", "b", "start", "message"),
    [
        (np.eye(2), np.zeros(3), np.zeros(3), "Q must have at least"),
        (np.eye(2), np.zeros(2), np.zeros(3), "z0 must have the length of b"),
        (np.eye(2), np.zeros(0), np.zeros(0), "b is empty"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(Q, b, start, message):
    with pytest.raises(ValueError, match=message):
        solve(Q, b, start)


class PairwiseHinge:
    """Mean hinge loss over the preferences of 60 rows with features of scales 1 to 1e6."""

    def __init__(self, seed=0, n=60, scales=(1.0, 1e1, 1e2, 1e3, 1e4, 1e6)):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(n, len(scales)))
        labels = np.round(features @ rng.normal(size=len(scales)) + rng.normal(size=n))
        better, worse = np.nonzero(labels[:, None] > labels[None, :])
        self.differences = (features[better] - features[worse]) * scales

    def value(self, w):
        return np.maximum(1 - self.differences @ w, 0).mean()

    def plane(self, w):
        """Slope and offset. The offset is counted: risk minus slope'w loses its digits where w is large."""
        violated = self.differences @ w < 1
        return -self.differences[violated].sum(axis=0) / len(violated), violated.mean()


def cutting_planes(loss, alpha, solve_dual, max_planes=250, tol=1e-6):
    """The plain bundle method. Returns the certified outer gap and the number of planes."""
    w = np.zeros(loss.differences.shape[1])
    planes, offsets, best, bound = np.zeros((0, len(w))), np.zeros(0), np.inf, -np.inf
    z = np.zeros(0)
    while best - bound > tol and len(offsets) < max_planes:
        slope, offset = loss.plane(w)
        planes, offsets, z = np.vstack([planes, slope]), np.append(offsets, offset), np.append(z, 0.0)
        best = min(best, loss.value(w) + alpha * w @ w)
        z, w = solve_dual(planes, offsets, alpha, z)
        bound = max(bound, offsets @ z - alpha * w @ w)
    return best - bound, len(offsets)


def dual_in_double(planes, offsets, alpha, z):
    z, _, _ = solve(planes @ planes.T / (2 * alpha), offsets, z, tol=1e-9)
    return z, -(z @ planes) / (2 * alpha)


class ExtendedDual:
    """Keeps the Gram matrix in two parts; b and the tolerance carry the 2 alpha so that it stays exact."""

    def __init__(self, max_planes=250):
        self.Q, self.Q_low = np.zeros((2, max_planes, max_planes))

    def __call__(self, planes, offsets, alpha, z):
        n = len(offsets)
        high, low = _native.extended_products(planes, planes[-1])
        self.Q[:n, n - 1] = self.Q[n - 1, :n] = high
        self.Q_low[:n, n - 1] = self.Q_low[n - 1, :n] = low
        program = (self.Q, self.Q_low, 2 * alpha * offsets, z, 2 * alpha * 1e-9, 2000)
        z, z_low, gap, _ = _native.simplex_qp_extended(*program)
        assert gap <= 2 * alpha * 1e-9
        return z, -_native.extended_combination(planes, z, z_low) / (2 * alpha)


@pytest.mark.parametrize("alpha", [1e-3, 1e-4])
def test_a_bundle_run_with_unscaled_features_in_double_precision(alpha):
    outer_gap, n_planes = cutting_planes(PairwiseHinge(), alpha, dual_in_double)
    assert -1e-9 <= outer_gap <= 1e-6
    assert n_planes < 200


@pytest.mark.parametrize("alpha", [1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10])
def test_a_bundle_run_with_unscaled_features_in_extended_precision(alpha):
    outer_gap, n_planes = cutting_planes(PairwiseHinge(), alpha, ExtendedDual())
    assert -1e-9 <= outer_gap <= 1e-6
    assert n_planes < 200
