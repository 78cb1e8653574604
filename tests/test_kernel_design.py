"""The function space of few basis rows, by products: against the features and closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import laplacian_kernel

from rankwise import Preferences, RankLogistic, RankRLS, RankSVM
from rankwise.data.design import as_design
from rankwise.functions import kernel_map as memory
from rankwise.functions.kernel_design import centred_gram
from rankwise.functions.kernel_map import KernelMap
from rankwise.functions.kernel_values import kernel_values
from rankwise.losses import LeastSquares, SquaredHinge
from rankwise.solvers import least_squares, solve_conjugate_gradients, solve_newton

KERNELS = ("rbf", "laplacian", "exponential")


def problem(n_rows=300, n_features=4, seed=0, n_queries=1):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * random.normal(size=n_rows)
    return X, y, random.integers(n_queries, size=n_rows)


def reduced(X, kernel="laplacian", n_components=40, **options):
    kernel_map = KernelMap(kernel, gamma=0.5, n_components=n_components, random_state=0, **options)
    return kernel_map, kernel_map.fit_design(X)


@given(
    st.sampled_from(KERNELS), st.integers(2, 60), st.integers(1, 30), st.integers(1, 3), st.integers(0, 99)
)
def test_products_are_those_of_the_features(kernel, n_rows, n_components, n_columns, seed):
    X, _, _ = problem(n_rows, seed=seed)
    kernel_map, design = reduced(X, kernel, min(n_components, n_rows - 1))
    Phi = kernel_map.transform(X)
    random = np.random.default_rng(seed)
    W, C = random.normal(size=(Phi.shape[1], n_columns)), random.normal(size=(n_rows, n_columns))
    for actual, expected in [
        (design @ W, Phi @ W),
        (design.matvec(W[:, 0]), Phi @ W[:, 0]),
        (design.rmatmat(C), Phi.T @ C),
        (design.X, Phi),
        (design.weighted_squares(np.abs(C[:, 0])), (Phi**2).T @ np.abs(C[:, 0])),
        (design.take(np.array([1, 0])).matvec(W[:, 0]), (Phi @ W[:, 0])[[1, 0]]),
    ]:
        np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    assert (np.abs(Phi) <= design.column_scale() * (1 + 1e-6)).all()
    assert (np.linalg.norm(Phi, axis=1) <= design.precision.row_norm * (1 + 1e-6)).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("cost", "ties"), [("magnitude", "keep"), ("magnitude", "drop"), ("unit", "drop")])
def test_normal_equations_are_those_of_the_features(kernel, cost, ties):
    X, y, qid = problem(n_queries=7)
    kernel_map, design = reduced(X, kernel)
    form = LeastSquares(Preferences.from_scores(y, qid), cost=cost, ties=ties)
    expected = as_design(kernel_map.transform(X)).normal_equations(form)
    for ours, theirs in zip(design.normal_equations(form), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@given(st.integers(1, 30), st.integers(1, 5), st.sampled_from([np.float32, np.float64]), st.integers(0, 99))
def test_the_centred_gram_is_the_mean_of_centred_products(n_rows, n_groups, dtype, seed):
    random = np.random.default_rng(seed)
    K, weight = random.normal(size=(n_rows, 3)), random.uniform(0.1, 1.0, size=n_rows)
    group = random.integers(n_groups, size=n_rows)
    expected = np.zeros((3, 3))
    for i in range(n_rows):
        same = group == group[i]
        centred = K[i] - np.average(K[same], axis=0, weights=weight[same])
        expected += weight[i] / weight.sum() * np.outer(centred, centred)
    actual = centred_gram(lambda part: K[part].astype(dtype), group, weight)
    np.testing.assert_allclose(actual, expected, atol=1e-5 if dtype is np.float32 else 1e-13)
    alone, grown = np.r_[group, n_groups], np.r_[K, random.normal(size=(1, 3))]
    actual = centred_gram(lambda part: grown[part].astype(dtype), alone, np.r_[weight, 0.0])
    np.testing.assert_allclose(actual, expected, atol=1e-5 if dtype is np.float32 else 1e-13)


@pytest.mark.parametrize("model", [RankRLS, RankSVM, RankLogistic])
def test_scales_are_learned_where_queries_have_no_pairs(model):
    X, y, qid = problem()
    qid[0] = qid.max() + 1
    assert np.isfinite(
        model(kernel="laplacian", gamma="learned", random_state=0).fit(X, y, qid=qid).predict(X)
    ).all()


def test_the_square_of_the_triangle_is_the_kernel_of_the_basis():
    kernel_map, design = reduced(problem()[0])
    expected = kernel_values(kernel_map.basis_[kernel_map._pivots], kernel="laplacian", gamma=0.5)
    np.testing.assert_allclose(design._square, expected, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_queries", [1, 9])
def test_the_preconditioner_is_near_to_the_inverse(kernel, n_queries):
    X, y, qid = problem(n_queries=n_queries)
    _, design = reduced(X, kernel, 80)
    form = LeastSquares(Preferences.from_scores(y, qid), ties="keep")
    matrix = design.normal_equations(form)[0] + 1e-4 * np.eye(design.shape[1])
    precondition = design.preconditioner(form, form.diagonal, 1e-4)
    eigenvalues = np.linalg.eigvals(precondition(matrix)).real
    assert 0.5 < eigenvalues.min() <= eigenvalues.max() < 2.0


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("alpha", [1e-2, 1e-5])
def test_least_squares_by_iterations_is_the_closed_form(kernel, alpha, monkeypatch):
    X, y, _ = problem(600)
    options = {"kernel": kernel, "gamma": 0.5, "n_components": 50, "random_state": 0, "tol": 1e-10}
    exact = RankRLS(alpha, **options).fit(X, y)
    monkeypatch.setattr(least_squares, "FEW_OPERATIONS", 0)
    model = RankRLS(alpha, **options).fit(X, y)
    assert exact.n_iter_ == 1 < model.n_iter_ <= 40
    assert model.gap_ <= 1e-10 * y.var() * 2
    assert abs(model.objective_ - exact.objective_) <= model.gap_ + exact.gap_
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=2e-4)


@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_newton_steps_with_the_preconditioner_are_few(alpha):
    X, y, _ = problem(600)
    kernel_map, design = reduced(X, n_components=60)
    loss = SquaredHinge(Preferences.from_scores(y))
    result = solve_newton(design, loss, alpha, tol=1e-6)
    dense = solve_newton(as_design(kernel_map.transform(X)), loss, alpha, tol=1e-6)
    assert result.status == "converged"
    assert abs(result.objective - dense.objective) <= 1e-6
    scores = kernel_map.scores(X, kernel_map.dual_coef(result.coef))
    norm = kernel_map.dual_coef(result.coef)
    K = kernel_values(kernel_map.basis_, kernel="laplacian", gamma=0.5)
    assert loss.value(scores) + alpha * norm @ K @ norm == pytest.approx(result.objective, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_kernel_values_that_do_not_fit_are_computed_anew(loss, monkeypatch):
    X, y, _ = problem(600)
    options = {"kernel": "laplacian", "gamma": 0.5, "n_components": 30, "random_state": 0}
    kept = RankSVM(1e-3, loss=loss, **options).fit(X, y)
    needed = [memory._bytes_needed(X, 30, False, keeps) for keeps in (True, False)]
    monkeypatch.setattr(memory, "available_memory", lambda: sum(needed) // 2)
    assert reduced(X, n_components=30)[1]._kept is None
    np.testing.assert_array_equal(RankSVM(1e-3, loss=loss, **options).fit(X, y).dual_coef_, kept.dual_coef_)
    monkeypatch.setattr(memory, "available_memory", lambda: needed[1] - 1)
    with pytest.raises(MemoryError, match=r"n_components=\d+ would fit"):
        RankSVM(1e-3, loss=loss, **options).fit(X, y)


def test_values_in_single_precision_are_summed_in_double():
    X, _, _ = problem(600)
    kernel_map, design = reduced(X, dtype="float32")
    K = kernel_values(X, kernel_map.basis_[kernel_map._pivots], "laplacian", gamma=0.5)
    w = np.random.default_rng(0).normal(size=design.shape[1])
    a = np.linalg.solve(design._triangle, w)
    np.testing.assert_allclose(
        design.matvec(w), K.astype(np.float32).astype(float) @ a, rtol=1e-10, atol=1e-10
    )


def test_conjugate_gradients_need_few_iterations():
    X, y, _ = problem(2000)
    _, design = reduced(X, n_components=100)
    form = LeastSquares(Preferences.from_scores(y), ties="keep")
    assert solve_conjugate_gradients(design, form, 1e-6, tol=1e-8).n_iter <= 60


@pytest.mark.parametrize(
    "model",
    [
        RankRLS(1e-4),
        RankSVM(1e-3),
        RankSVM(1e-3, loss="squared_hinge"),
        RankLogistic(1e-3),
    ],
    ids=str,
)
def test_threads_do_not_change_a_bit(model, monkeypatch):
    monkeypatch.setattr("rankwise.functions.kernel_design._BLOCK_ENTRIES", 1000)
    monkeypatch.setattr("rankwise.functions.kernel_design._GRAM_ROWS", 40)
    monkeypatch.setattr(least_squares, "FEW_OPERATIONS", 0)
    X, y, qid = problem(400, n_queries=3)
    model.set_params(kernel="laplacian", gamma=0.3, n_components=50, random_state=0)
    one, two = (model.set_params(n_jobs=n).fit(X, y, qid=qid).dual_coef_ for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_basis_rows_that_depend_on_others_have_no_weight():
    X, y, _ = problem(60)
    X = np.concatenate([X, X[:30]])
    model = RankRLS(1e-3, kernel="rbf", n_components=80, random_state=0).fit(X, np.concatenate([y, y[:30]]))
    _, first = np.unique(model.basis_, axis=0, return_index=True)
    repeated = np.setdiff1d(np.arange(80), first)
    assert len(repeated) > 0
    assert np.count_nonzero(model.dual_coef_) == len(first)


def test_kernels_of_distances():
    X, Z = np.random.default_rng(0).normal(size=(2, 7, 3))
    np.testing.assert_allclose(kernel_values(X, Z, "laplacian", gamma=0.7), laplacian_kernel(X, Z, gamma=0.7))
    expected = np.exp(-0.7 * cdist(X, Z))
    np.testing.assert_allclose(kernel_values(X, Z, "exponential", gamma=0.7), expected)
    scales = np.array([0.5, 0.0, 2.0])
    np.testing.assert_allclose(
        kernel_values(X, Z, "exponential", gamma=0.7, scales=scales),
        np.exp(-0.7 * cdist(X * scales, Z * scales)),
    )
    matrix = np.random.default_rng(1).normal(size=(3, 3))
    np.testing.assert_allclose(
        kernel_values(X, Z, "rbf", gamma=0.2, scales=matrix),
        np.exp(-0.2 * cdist(X @ matrix, Z @ matrix, "sqeuclidean")),
    )


@pytest.mark.parametrize("n_components", [None, 6])
def test_the_size_of_sums_is_that_of_the_weights_asked_about(n_components):
    X = np.random.default_rng(0).normal(size=(20, 3))
    kernel_map = KernelMap("rbf", gamma=0.3, n_components=n_components, random_state=0)
    design = kernel_map.fit_design(X)
    w = np.random.default_rng(1).normal(size=design.shape[1])

    def size():
        of_products = design.column_scale() @ np.abs(w) if n_components is None else 0.0
        return of_products + np.linalg.norm(kernel_map.dual_coef(w))  # the largest kernel value is 1

    for _ in range(2):
        for _ in range(2):  # the second answer is a remembered one
            np.testing.assert_allclose(design.magnitude(w), size(), rtol=1e-12)
        w[0] += 10.0  # in place
