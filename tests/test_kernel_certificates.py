"""Certificates of fits with kernels, on features of any scale and offset: objectives with more digits."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import reference
from rankwise import RankLogistic, RankRLS, RankSVM
from rankwise.functions.kernel_map import KernelMap

LOSSES = {
    "hinge": lambda d, t: np.maximum(0, 1 - d),
    "squared_hinge": lambda d, t: np.maximum(0, 1 - d) ** 2,
    "logistic": lambda d, t: np.logaddexp(0, -d),
    "unit": lambda d, t: (1 - d) ** 2,
    "magnitude": lambda d, t: (t - d) ** 2,
}
KERNELS = {
    "poly": lambda A, B, gamma: (gamma * (A @ B.T) + 1) ** 3,
    "laplacian": lambda A, B, gamma: np.exp(-gamma * np.abs(A[:, None] - B).sum(axis=2)),
    "rbf": lambda A, B, gamma: np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2)),
}
more_digits = pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 2e-19, reason="needs more digits than those of a double"
)


def model_of(loss, solver="auto", **options):
    if loss in ("unit", "magnitude"):
        return RankRLS(cost=loss, solver=solver, max_iter=200, random_state=0, **options)
    if loss == "logistic":
        return RankLogistic(max_iter=60, random_state=0, **options)
    return RankSVM(loss=loss, max_iter=60, random_state=0, **options)


def exact_objective(model, X, y, qid, loss):
    """The objective of the function that a model has learned, in extended precision."""
    rows, basis, a = (part.astype(np.longdouble) for part in (X, model.basis_, model.dual_coef_))
    gamma, values = np.longdouble(model.gamma), KERNELS[model.kernel]
    listed = reference.kept_pairs(y, qid) if loss == "magnitude" else reference.ranking_pairs(y, qid)
    pairs = listed if loss == "magnitude" else reference.normalised(listed)
    better, worse, weight, target = (np.array([pair[k] for pair in pairs]) for k in range(4))
    scores = values(rows, basis, gamma) @ a
    margin = scores[better] - scores[worse]
    return weight @ LOSSES[loss](margin, target) + model.alpha * (a @ values(basis, basis, gamma) @ a)


@st.composite
def problems(draw):
    """Draw rows with a scale and an offset for each column, labels and queries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    m, n = draw(st.integers(4, 15)), draw(st.integers(1, 4))
    X = rng.normal(size=(m, n))
    y = np.round(X @ rng.normal(size=n) + draw(st.sampled_from([0.0, 1.0])) * rng.normal(size=m), 1)
    y[:2] = 0.0, 1.0  # so that there is a pair
    X += [draw(st.sampled_from([0.0, 1.0, 1e4, 1e8])) for _ in range(n)]
    X *= [draw(st.sampled_from([1e-4, 1.0, 1e4])) for _ in range(n)]
    return X, y, draw(st.sampled_from([np.zeros(m, dtype=int), np.arange(m) // (m // 2 + 1)]))


FAR, NOISE = np.split(np.random.default_rng(0).normal(size=(40, 4)), [3], axis=1)
FAR_LABELS = np.round(FAR @ [1.0, 2.0, 3.0] + NOISE[:, 0], 1)
FAR[:, 0] += 1e4
ONE = np.array([[1.0], [2.0], [3.0], [4.0]])
# Of three basis rows two are nearly equal, and their coefficients large.
NEAR = np.array([[-3.88852650e-05], [7.21997987e-05], [3.03397725e-05], [-2.95150171e-04]])
NEAR = np.vstack([NEAR, [[-5.34855001e-05], [-1.25545128e-04], [3.03906790e-05]]])
NEAR_LABELS = np.array([0.0, 1.0, 0.0, -0.2, 0.0, -0.1, 0.0])


@more_digits
@given(
    problems(),
    st.sampled_from(sorted(LOSSES)),
    st.sampled_from(sorted(KERNELS)),
    st.sampled_from([1e-6, 1e-2, 1.0, 1e3]),
    st.sampled_from([None, 1, 3]),
    st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3, 1.0, 1e3]),
    st.sampled_from(["auto", "primal", "dual", "cg"]),
)
@example((FAR, FAR_LABELS, np.zeros(40)), "hinge", "poly", 1.0, None, 1e-3, "auto")
@example((NEAR, NEAR_LABELS, np.zeros(7)), "hinge", "poly", 1.0, 3, 1.0, "auto")
@example((ONE, np.arange(4.0), np.zeros(4)), "squared_hinge", "poly", 1.0, 1, 1e-3, "auto")
def test_the_objective_is_right_within_the_gap(problem, loss, kernel, width, n_components, alpha, solver):
    X, y, qid = problem
    gamma = width / np.ptp(X, axis=0).max() ** (1 if kernel == "laplacian" else 2)
    options = {"kernel": kernel, "gamma": float(gamma), "n_components": n_components, "alpha": alpha}
    model = model_of(loss, solver, tol=1e-6, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y, qid=qid)
        except ValueError as error:  # with offsets so large that rounding hides the rows
            if "positive semidefinite" not in str(error):
                raise
            return
    exact = exact_objective(model, X, y, qid, loss)
    assert abs(model.objective_ - exact) <= model.gap_ * (1 + 1e-9) + 1e-10 * (1 + abs(exact))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "unit"])
def test_a_gap_at_the_rounding_floor_warns(loss):
    with pytest.warns(ConvergenceWarning):
        model_of(loss, "cg", kernel="poly").fit(FAR, FAR_LABELS)


def cubic_features(X):
    """Features whose inner products are (x'z + 1)^3, centred, from numbers with more digits."""
    Z = np.column_stack([np.ones(len(X)), X]).astype(np.longdouble)
    columns = list(itertools.product(range(Z.shape[1]), repeat=3))
    Phi = np.column_stack([Z[:, list(column)].prod(axis=1) for column in columns])
    return (Phi - Phi.mean(axis=0)).astype(np.float64)


@more_digits
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("seed", range(3))
def test_no_function_is_better_than_the_bound(loss, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 2))
    y = np.round(X @ [1.0, 2.0] + random.normal(size=40), 1)
    X[:, 0] += 1e5  # the kernel values lose what tells the rows apart, the features do not
    with pytest.warns(ConvergenceWarning):
        model = model_of(loss, kernel="poly", gamma=1.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = model_of(loss).fit(cubic_features(X), y)
    assert model.objective_ - model.gap_ <= best.objective_


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "magnitude"])
@pytest.mark.parametrize("n_components", [1, 2])
def test_one_basis_row_gives_the_fit_on_its_features(loss, n_components):
    X = ONE.repeat(2, axis=1)[:, : 2 if n_components == 2 else 1]  # all rows on one line: one feature
    kernel_map = KernelMap("linear", n_components=n_components, random_state=0)
    Phi = kernel_map.fit_transform(X)
    model = model_of(loss, "cg", kernel="precomputed", n_components=n_components, tol=1e-10)
    model.fit(9.0 * X @ X.T, np.arange(4.0))
    linear = model_of(loss, "cg", tol=1e-10).fit(3.0 * Phi, np.arange(4.0))
    assert model.objective_ == pytest.approx(linear.objective_, rel=1e-7)
    np.testing.assert_allclose(model.predict(9.0 * X @ X.T), linear.predict(3.0 * Phi), rtol=1e-4)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "magnitude"])
@pytest.mark.parametrize("size", [1e-9, 1e4, 1e7])
def test_kernel_values_of_any_size_are_preconditioned(loss, size):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5))
    y = X @ random.normal(size=5)
    kernel = (X @ X.T) ** 3 * size**6  # far beyond what single precision holds, or far below
    model = model_of(loss, "cg", kernel="precomputed", n_components=5, alpha=size**6).fit(kernel, y)
    plain = model_of(loss, "cg", kernel="precomputed", n_components=5, alpha=1.0).fit((X @ X.T) ** 3, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-3)
