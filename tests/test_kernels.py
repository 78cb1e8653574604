"""The features of a kernel reproduce the kernel matrix, its functions and their norm."""

import pickle
import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import pairwise_kernels

from rankwise.core import memory as core_memory
from rankwise.core.memory import available_memory
from rankwise.functions import kernel_distances as distances
from rankwise.functions import kernel_map as memory
from rankwise.functions import kernel_values as values
from rankwise.functions.kernel_map import KernelMap
from rankwise.functions.kernel_values import kernel_scores, kernel_values, resolve_gamma


def histogram_intersection(x, z, power=1.0):
    return (np.minimum(x, z) ** power).sum()


KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "rbf, scaled": {"kernel": "rbf", "gamma": "scale"},
    "laplacian": {},
    "poly": {"gamma": 0.5, "degree": 2, "coef0": 0.7},
    "polynomial": {},
    "cosine": {},
    "chi2": {},
    "callable": {"kernel": histogram_intersection, "kernel_params": {"power": 0.5}},
    "Gaussian process": {"kernel": RBF(1.5)},
}
TAKE_SPARSE_ROWS = ["linear", "rbf", "rbf, scaled", "laplacian", "poly", "polynomial", "cosine"]

DENSE = list(product(KERNELS, [np.asarray, np.asfortranarray]))
SPARSE = list(product(TAKE_SPARSE_ROWS, [sp.csr_array, sp.csr_matrix]))


def make(name, **options):
    return KernelMap(**({"kernel": name} | KERNELS[name] | options))


def rows(n_rows=23, n_features=4, seed=0):
    """Rows that are not negative, as chi2 asks, with zeros and with duplicates."""
    random = np.random.default_rng(seed)
    X = random.uniform(0.1, 2, size=(n_rows, n_features)) * (random.random((n_rows, n_features)) < 0.7)
    X[-3:] = X[:3]
    return X


def textbook_kernel(X, Z, name):
    """The formulas, one entry at a time, with gamma fixed by the rows Z."""
    n = Z.shape[1]
    formulas = {
        "linear": lambda x, z: x @ z,
        "rbf": lambda x, z: np.exp(-0.3 * ((x - z) ** 2).sum()),
        "rbf, scaled": lambda x, z: np.exp(-((x - z) ** 2).sum() / (n * Z.var())),
        "laplacian": lambda x, z: np.exp(-np.abs(x - z).sum() / n),
        "poly": lambda x, z: (0.5 * x @ z + 0.7) ** 2,
        "polynomial": lambda x, z: (x @ z / n + 1) ** 3,
        "cosine": lambda x, z: x @ z / (np.sqrt((x @ x) * (z @ z)) or 1),
        "chi2": lambda x, z: np.exp(-((x - z) ** 2 / np.where(x + z > 0, x + z, 1)).sum()),
        "callable": lambda x, z: np.sqrt(np.minimum(x, z)).sum(),
        "Gaussian process": lambda x, z: np.exp(-((x - z) ** 2).sum() / (2 * 1.5**2)),
    }
    return np.array([[formulas[name](x, z) for z in Z] for x in X])


def reduced_kernel(K_XZ, K_ZZ):
    """Equation (43), with the pseudoinverse."""
    return K_XZ @ np.linalg.pinv(K_ZZ, rcond=1e-12, hermitian=True) @ K_XZ.T


def close(actual, expected, tolerance=1e-7):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))


def check_functions(kernel_map, Phi, X, X_new, K_ZZ):
    """Check scores, norm and round trip of three random functions."""
    W = np.random.default_rng(1).normal(size=(3, kernel_map.n_features_out_))
    A = kernel_map.dual_coef(W)
    basis = kernel_map.basis_indices_ if kernel_map.kernel == "precomputed" else kernel_map.basis_
    for data, features in ((X, Phi), (X_new, kernel_map.transform(X_new))):
        scores = kernel_scores(data, basis, A, **kernel_map.kernel_arguments)
        close(scores, features @ W.T, 1e-6)
        close(kernel_scores(data, basis, A[0], **kernel_map.kernel_arguments), scores[:, 0])
    close(kernel_map.dual_coef(W[0]), A[0], 1e-12)
    close(np.einsum("vi,ij,vj->v", A, K_ZZ, A), (W**2).sum(axis=1))


@pytest.mark.parametrize(("name", "container"), DENSE + SPARSE)
def test_full_basis_reproduces_the_kernel(name, container):
    X, X_new = rows(), rows(7, seed=5)
    K = textbook_kernel(X, X, name)
    kernel_map = make(name)
    Phi = kernel_map.fit_transform(container(X))
    close(Phi @ Phi.T, K, 1e-12)
    close(kernel_map.transform(container(X)), Phi, 1e-6)
    close(kernel_map.transform(container(X_new)) @ Phi.T, textbook_kernel(X_new, X, name))
    check_functions(kernel_map, Phi, container(X), container(X_new), K)
    assert kernel_map.n_features_out_ == Phi.shape[1] == np.linalg.matrix_rank(K, hermitian=True)
    np.testing.assert_array_equal(kernel_map.basis_indices_, np.arange(len(X)))


@pytest.mark.parametrize(("name", "container"), DENSE + SPARSE)
def test_reduced_set_gives_equation_43(name, container):
    X, X_new = rows(), rows(7, seed=5)
    kernel_map = make(name, n_components=9, random_state=3)
    Phi = kernel_map.fit_transform(container(X))
    chosen = kernel_map.basis_indices_
    K = textbook_kernel(X, X, name)
    close(Phi @ Phi.T, reduced_kernel(K[:, chosen], K[np.ix_(chosen, chosen)]))
    check_functions(kernel_map, Phi, container(X), container(X_new), K[np.ix_(chosen, chosen)])
    assert type(kernel_map.basis_) is type(container(X))
    basis = kernel_map.basis_.toarray() if sp.issparse(kernel_map.basis_) else kernel_map.basis_
    np.testing.assert_array_equal(basis, X[chosen])


@pytest.mark.parametrize("n_components", [None, 9])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sp.csr_array])
def test_precomputed_matches_the_kernel_it_holds(n_components, container):
    X, X_new = rows(), rows(7, seed=5)
    K, K_new = kernel_values(X, gamma=0.3), kernel_values(X_new, X, gamma=0.3)
    by_rows = make("rbf", n_components=n_components, random_state=3)
    by_matrix = KernelMap("precomputed", n_components=n_components, random_state=3)
    given_matrix = container(K)
    Phi = by_matrix.fit_transform(given_matrix)
    expected = by_rows.fit_transform(X)
    close(Phi @ Phi.T, expected @ expected.T)
    close(by_matrix.transform(container(K_new)) @ Phi.T, by_rows.transform(X_new) @ expected.T)
    chosen = by_matrix.basis_indices_
    np.testing.assert_array_equal(chosen, by_rows.basis_indices_)
    check_functions(by_matrix, Phi, container(K), container(K_new), K[np.ix_(chosen, chosen)])
    assert by_matrix.basis_ is None
    np.testing.assert_array_equal(given_matrix.toarray() if sp.issparse(given_matrix) else given_matrix, K)


def far_rows(n_rows, share, seed=0):
    """CSR rows of few small entries, and a column far from zero that a share of the rows stores."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 30)) * (random.random((n_rows, 30)) < 0.2)
    X[:, 7] = (1e7 + random.normal(size=n_rows)) * (random.random(n_rows) < share)
    X[-1] = X[0]
    return sp.csr_array(X)


def exact_squares(X, Z):
    return ((X.toarray()[:, None] - Z.toarray()) ** 2).sum(axis=2)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_sparse_rows_far_from_zero_keep_their_distances(share, monkeypatch):
    X, Z = far_rows(50, share), far_rows(20, share, seed=1)
    for block_entries in (1, 300, distances._BLOCK_ENTRIES):
        monkeypatch.setattr(distances, "_BLOCK_ENTRIES", block_entries)
        squares = distances.sparse_squared_distances(X, Z)
        np.testing.assert_allclose(squares, exact_squares(X, Z), rtol=1e-12)
    squares = distances.sparse_squared_distances(X, X)
    np.testing.assert_array_equal(squares, squares.T)
    np.testing.assert_allclose(squares, exact_squares(X, X), rtol=1e-12)
    assert squares.diagonal().tolist() == [0.0] * 50
    assert squares[0, -1] == 0.0


@pytest.mark.parametrize("kernel", ["exponential", "rbf"])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_sparse_rows_far_from_zero_have_the_kernel_of_dense_rows(kernel, share):
    X = far_rows(40, share)
    K = kernel_values(X, kernel=kernel, gamma=0.5)
    np.testing.assert_allclose(K, kernel_values(X.toarray(), kernel=kernel, gamma=0.5), rtol=1e-11)
    assert KernelMap(kernel, gamma=0.5).fit(X).n_features_out_ == 39


def test_sparse_rows_too_long_for_a_number_are_compared():
    X = sp.csr_array(
        [[1e200, 0.0, 0.0], [1e200, 3.0, 0.0], [0.0, 0.0, 4.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    )
    expected = kernel_values(X.toarray(), gamma=0.1)
    np.testing.assert_allclose(kernel_values(X, gamma=0.1), expected, rtol=1e-14)


@pytest.mark.parametrize("kernel", ["exponential", "rbf"])
def test_wide_sparse_rows_are_not_made_dense(kernel):
    n_rows, n_features = 200, 10**6
    columns = np.stack([np.zeros(n_rows), np.arange(1, n_rows + 1)], axis=1).ravel().astype(int)
    X = sp.csr_array((np.ones(2 * n_rows), columns, 2 * np.arange(n_rows + 1)), shape=(n_rows, n_features))
    tracemalloc.start()
    try:
        K = kernel_values(X, kernel=kernel, gamma=1.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * n_rows * n_features / 10
    apart = np.exp(-2.0 if kernel == "rbf" else -np.sqrt(2.0))
    np.testing.assert_allclose(K, apart + (1 - apart) * np.eye(n_rows))


def test_precomputed_without_basis_scores_all_columns():
    K = kernel_values(rows(), gamma=0.3)
    a = np.arange(23.0)
    np.testing.assert_allclose(kernel_scores(K[:4], None, a, "precomputed"), K[:4] @ a)


def test_linear_kernel_of_many_rows_has_as_many_features_as_columns():
    X = np.random.default_rng(0).normal(size=(200, 3))
    kernel_map = KernelMap("linear")
    Phi = kernel_map.fit_transform(X)
    assert Phi.shape == (200, 3)
    assert Phi.base is None, "a view would keep all eigenvectors in memory"
    close(Phi @ Phi.T, X @ X.T, 1e-13)
    w = np.array([1.0, -2.0, 0.5])
    # The scores are those of the linear function with coefficients X' a, and its norm is theirs.
    coefficients = X.T @ kernel_map.dual_coef(w)
    close(X @ coefficients, Phi @ w, 1e-12)
    assert coefficients @ coefficients == pytest.approx(w @ w, rel=1e-12)


def test_ridge_on_the_features_is_kernel_ridge():
    X, y = rows(), np.sin(np.arange(23.0))
    kernel_map = make("rbf")
    Phi = kernel_map.fit_transform(X)
    w = np.linalg.solve(Phi.T @ Phi + 0.1 * np.eye(Phi.shape[1]), Phi.T @ y)
    K = kernel_values(X, gamma=0.3)
    X_new = rows(7, seed=5)
    expected = kernel_values(X_new, X, gamma=0.3) @ np.linalg.solve(K + 0.1 * np.eye(23), y)
    scores = kernel_scores(X_new, kernel_map.basis_, kernel_map.dual_coef(w), gamma=0.3)
    close(scores, expected, 1e-9)


SMALL_DATA = arrays(
    float, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.integers(0, 4).map(lambda k: k / 2)
)


@given(X=SMALL_DATA, name=st.sampled_from(sorted(KERNELS)), n_components=st.integers(1, 14))
def test_any_small_data(X, name, n_components):
    kernel_map = make(name, n_components=n_components, random_state=0)
    Phi = kernel_map.fit_transform(X)
    chosen = kernel_map.basis_indices_
    assert len(chosen) == min(n_components, len(X))
    assert (np.diff(chosen) > 0).all()
    K = kernel_values(X, **kernel_map.kernel_arguments)
    close(Phi @ Phi.T, reduced_kernel(K[:, chosen], K[np.ix_(chosen, chosen)]), 1e-6)
    w = np.linspace(-1, 1, Phi.shape[1])
    a = kernel_map.dual_coef(w)
    close(kernel_scores(X, kernel_map.basis_, a, **kernel_map.kernel_arguments), Phi @ w, 1e-6)


@pytest.mark.parametrize("n_components", [None, 4])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_kernel_that_is_zero_has_one_feature_that_is_zero(n_components, container):
    X = container(np.zeros((6, 2)))
    kernel_map = KernelMap("linear", n_components=n_components, random_state=0)
    np.testing.assert_array_equal(kernel_map.fit_transform(X), np.zeros((6, 1)))
    np.testing.assert_array_equal(kernel_map.dual_coef(np.ones(1)), np.zeros(n_components or 6))


@pytest.mark.parametrize("block_bytes", [1, 8 * 23 * 5, 10**9])
def test_blocks_do_not_change_the_result(monkeypatch, block_bytes):
    X, a = rows(), np.cos(np.arange(23.0))
    kernel_map = make("rbf", n_components=11, random_state=0)
    expected, scores = kernel_map.fit_transform(X), kernel_values(X, gamma=0.3) @ a
    seen = []
    original = values.kernel_values
    monkeypatch.setattr(values, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(
        values, "kernel_values", lambda X, *rest, **kw: seen.append(len(X)) or original(X, *rest, **kw)
    )
    close(kernel_scores(X, X, a, gamma=0.3), scores, 1e-13)
    assert max(seen) == {1: 1, 8 * 23 * 5: 5, 10**9: 23}[block_bytes]
    assert sum(seen) == 23
    close(kernel_map.transform(X), expected, 1e-9)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_float32_rows_give_float64_kernel_values(container):
    X = rows().astype(np.float32)
    exact = kernel_values(X.astype(np.float64), gamma=0.3)
    K = kernel_values(container(X), gamma=0.3)
    assert K.dtype == np.float64
    close(K, exact, 1e-14)
    kernel_map = make("rbf")
    Phi = kernel_map.fit_transform(container(X))
    close(Phi @ Phi.T, exact, 1e-13)
    assert kernel_map.basis_.dtype == np.float64


def test_float32_matrix_is_cut_at_its_own_precision():
    X = np.random.default_rng(0).normal(size=(60, 3))
    kernel_map = KernelMap("precomputed")
    Phi = kernel_map.fit_transform((X @ X.T).astype(np.float32))
    assert kernel_map.n_features_out_ == 3
    close(Phi @ Phi.T, X @ X.T, 1e-6)


def test_repeated_csr_entries_are_summed():
    repeated = sp.csr_array(
        (np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    dense = np.array([[3.0, 0.0], [0.0, 5.0]])
    np.testing.assert_allclose(kernel_values(repeated, gamma=0.1), kernel_values(dense, gamma=0.1))
    assert resolve_gamma("scale", repeated) == pytest.approx(resolve_gamma("scale", dense))
    assert repeated.nnz == 3


@pytest.mark.parametrize("name", ["rbf", "laplacian", "polynomial", "sigmoid", "linear", "cosine", "chi2"])
def test_defaults_are_those_of_scikit_learn(name):
    X, Z = rows(), rows(5, seed=2)
    expected = pairwise_kernels(X, Z, metric=name)
    np.testing.assert_allclose(kernel_values(X, Z, name), expected, rtol=1e-14, atol=1e-14)


def test_scale_is_fixed_by_the_training_rows():
    X = rows()
    for data in (X, X.astype(np.float32), sp.csr_array(X)):
        kernel_map = KernelMap(gamma="scale", n_components=5, random_state=0).fit(data)
        assert kernel_map.gamma_ == pytest.approx(1 / (4 * X.var()), rel=1e-6)
    close(
        kernel_map.transform(sp.csr_array(10 * X)),
        KernelMap(gamma=kernel_map.gamma_, n_components=5, random_state=0).fit(X).transform(10 * X),
    )
    assert resolve_gamma("scale", np.full((3, 2), 7.0)) == 1
    assert resolve_gamma(None, X) is None
    assert resolve_gamma(np.float32(0.5), X) == 0.5


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_median_is_the_inverse_of_a_typical_distance(container):
    X = np.random.default_rng(0).normal(size=(400, 4))
    difference = X[:, None] - X
    squared = np.median((difference**2).sum(axis=2))
    absolute = np.median(np.abs(difference).sum(axis=2))
    assert resolve_gamma("median", container(X), "rbf") == pytest.approx(0.5 / squared, rel=0.1)
    assert resolve_gamma("median", container(X), "exponential") == pytest.approx(squared**-0.5, rel=0.1)
    assert resolve_gamma("median", container(X), "laplacian") == pytest.approx(1 / absolute, rel=0.1)
    assert resolve_gamma("median", container(1e3 * X)) == pytest.approx(
        1e-6 * resolve_gamma("median", container(X))
    )
    with pytest.raises(ValueError, match="kernel, with gamma='median', must be one of 'exponential'"):
        resolve_gamma("median", container(X), "poly")


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("scale", [1e200, 1e160, 1e-160, 1e-200])
def test_a_scale_that_no_number_holds_is_refused(container, scale):
    with pytest.raises(ValueError, match=r"gamma='scale'.*entries from 0 to .*: scale the features.*ten\.$"):
        resolve_gamma("scale", container(rows() * scale))
    assert resolve_gamma("scale", container(np.full((3, 2), scale))) == 1


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("scale", [2.0**1000, 1e160, 1e-200, 2.0**-1074])
def test_angles_do_not_depend_on_the_size_of_rows(container, scale):
    X = np.array([[1.0, 0.0, 2.0], [-3.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    K = kernel_values(container(X * scale), container(X), "cosine")
    np.testing.assert_allclose(K, textbook_kernel(X, X, "cosine"), rtol=1e-15)


def test_random_state_decides_the_basis():
    X = rows(60)
    chosen = [
        KernelMap(n_components=9, random_state=seed).fit(X).basis_indices_.tolist() for seed in (0, 0, 1)
    ]
    assert chosen[0] == chosen[1] != chosen[2]
    shared = np.random.RandomState(0)
    drawn = [KernelMap(n_components=9, random_state=shared).fit(X).basis_indices_.tolist() for _ in range(2)]
    assert drawn[0] == chosen[0] != drawn[1]


@pytest.mark.parametrize("n_components", [23, np.int64(24), 10**9])
def test_as_many_components_as_rows_is_exact(n_components):
    X = rows()
    Phi = make("rbf", n_components=n_components).fit_transform(X)
    np.testing.assert_array_equal(Phi, make("rbf").fit_transform(X))


def test_features_shared_with_the_map_cannot_be_changed():
    Phi = make("rbf").fit_transform(rows())
    with pytest.raises(ValueError, match="read-only"):
        Phi -= Phi.mean(axis=0)


def test_pickled_map_gives_the_same_features():
    kernel_map = make("poly", n_components=9, random_state=0).fit(rows())
    copy = pickle.loads(pickle.dumps(kernel_map))
    np.testing.assert_array_equal(copy.transform(rows()), kernel_map.transform(rows()))


def wrong_precomputed(K):
    return lambda: KernelMap("precomputed").fit(np.asarray(K, dtype=float))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: KernelMap("rfb").fit(rows()), r"'chi2'.*'rbf'.*'precomputed'; got 'rfb'"),
        (lambda: kernel_values(rows(), kernel=3), "kernel.*must be one of.*; got 3"),
        (lambda: KernelMap(n_components=0).fit(rows()), "n_components must be.*at least 1; got 0"),
        (lambda: KernelMap(n_components=2.0).fit(rows()), "n_components must be.*got 2.0"),
        (lambda: KernelMap(n_components=True).fit(rows()), "n_components must be.*got True"),
        (lambda: KernelMap(gamma="auto").fit(rows()), "gamma must be None, 'scale', 'median' or.*got 'auto'"),
        (lambda: KernelMap(gamma=-1.0).fit(rows()), "gamma must be.*positive number; got -1.0"),
        (
            lambda: kernel_values(rows(), gamma="scale"),
            "gamma must be None or a positive number; got 'scale'",
        ),
        (lambda: KernelMap(kernel_params={"power": 2}).fit(rows()), "kernel_params is for callable.*'rbf'"),
        (wrong_precomputed(np.ones((3, 2))), r"must be square.*\(3, 2\)"),
        (wrong_precomputed([[1, 2], [1, 1]]), "must be symmetric.*differ by 1"),
        (wrong_precomputed([[1, 2], [2, 1]]), "not positive semidefinite.*'precomputed'.* is -0.333 times"),
        (wrong_precomputed([[-1, 0], [0, -2]]), "not positive semidefinite.* is -1 times"),
        (lambda: KernelMap("sigmoid", coef0=-2).fit(rows()), "not positive semidefinite.*'sigmoid'"),
        (lambda: KernelMap("additive_chi2").fit(rows()), "not positive semidefinite.*'additive_chi2'"),
        (lambda: KernelMap(lambda x, z: -x @ z).fit(rows()), "not positive semidefinite.*lambda"),
        (lambda: KernelMap(lambda x, z: np.nan).fit(rows()), "contain NaN or infinity"),
        (
            lambda: KernelMap("precomputed", n_components=2).fit(np.eye(4)).transform(np.ones((1, 2))),
            "all 4 training rows; got 2 columns",
        ),
        (lambda: kernel_scores(rows(), rows(), np.ones(5)), "each of 23 basis rows; got 5"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        call()
    assert str(caught.value).endswith(".")


class Untouchable:
    """Stands for data so large that only its shape may be looked at."""

    dtype = np.dtype(np.float64)

    def __init__(self, *shape):
        self.shape = shape


def test_too_large_a_kernel_is_refused_before_it_is_computed(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 16_000_000_000)
    with pytest.raises(MemoryError, match=r"200000 rows.*640 GB.*16 GB is free; n_components=6250 would fit"):
        KernelMap().fit(Untouchable(200_000, 10))
    with pytest.raises(MemoryError, match=r"n_components=\d+ would fit"):
        KernelMap("precomputed", n_components=50_000).fit(Untouchable(200_000, 200_000))


def test_suggested_number_of_components_passes(monkeypatch):
    X = rows(400)
    monkeypatch.setattr(memory, "available_memory", lambda: 700_000)
    with pytest.raises(MemoryError, match=r"2\.586 MB of memory, but 700 kB is free; n_components=50 "):
        KernelMap().fit(X)
    assert len(KernelMap(n_components=50).fit(X).basis_indices_) == 50
    monkeypatch.setattr(memory, "available_memory", lambda: 10)
    with pytest.raises(MemoryError, match="10 bytes is free; even n_components=1 would not fit"):
        KernelMap().fit(X)


def test_unknown_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    assert KernelMap("linear").fit(rows()).n_features_out_ == 4


@pytest.mark.parametrize("name", ["rbf", "poly", "laplacian"])
@pytest.mark.parametrize("n_components", [None, 150])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_counted_bytes_cover_the_peak(name, n_components, container):
    X = container(np.random.default_rng(0).random((700, 3)).astype(np.float32))
    kernel_map = make(name, n_components=n_components, random_state=0)
    make(name).fit_transform(X[:5])

    def peak():
        tracemalloc.start()
        try:
            kernel_map.fit_transform(X)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    counted = memory._bytes_needed(X, n_components or 700, precomputed=False)
    # The least of three: what is loaded or collected beside the fit is not part of it.
    assert min(peak() for _ in range(3)) <= 1.1 * counted


def files(monkeypatch, contents):
    monkeypatch.setattr(core_memory, "_read", lambda path: contents.get(path.as_posix(), ""))


def test_memory_of_linux(monkeypatch):
    contents = {"/proc/meminfo": "MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable:   50 kB\n"}
    files(monkeypatch, contents)
    assert available_memory() == 50 * 1024
    contents["/proc/self/cgroup"] = "0::/user/job\n"
    contents |= {"/sys/fs/cgroup/user/memory.max": "max\n", "/sys/fs/cgroup/user/memory.current": "7\n"}
    assert available_memory() == 50 * 1024
    contents |= {
        "/sys/fs/cgroup/user/job/memory.max": "9000\n",
        "/sys/fs/cgroup/user/job/memory.current": "8000\n",
        "/sys/fs/cgroup/user/job/memory.stat": "anon 5\ninactive_file 500\n",
    }
    assert available_memory() == 1500


def test_memory_of_a_container_with_the_older_control_groups(monkeypatch):
    folder = "/sys/fs/cgroup/memory"
    contents = {
        "/proc/meminfo": "MemAvailable: 50 kB\n",
        "/proc/self/cgroup": "4:cpu,memory:/docker/abc\n3:cpuset:/\n",
        f"{folder}/memory.limit_in_bytes": "9000\n",
        f"{folder}/memory.usage_in_bytes": "9500\n",
    }
    files(monkeypatch, contents)
    assert available_memory() == 0


def test_memory_of_other_systems(monkeypatch):
    files(monkeypatch, {})
    numbers = {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}

    def sysconf(name):
        if name not in numbers:
            raise ValueError("unrecognized configuration name")
        return numbers[name]

    monkeypatch.setattr(core_memory.os, "sysconf", sysconf, raising=False)
    assert available_memory() == 40_960
    numbers["SC_AVPHYS_PAGES"] = 2
    assert available_memory() == 8192
    monkeypatch.delattr(core_memory.os, "sysconf")
    assert available_memory() is None


def test_memory_of_this_machine():
    free = available_memory()
    assert free is None or free > 1_000_000


def test_fit_kernel_gives_the_matrix_and_leaves_the_callers_alone():
    X = np.random.default_rng(0).normal(size=(12, 3))
    kernel_map = KernelMap("rbf", gamma="scale")
    K = kernel_map.fit_kernel(X)
    np.testing.assert_array_equal(K, kernel_values(X, **kernel_map.kernel_arguments))
    np.testing.assert_array_equal(kernel_map.basis_, X)
    assert not np.shares_memory(kernel_map.basis_, X)
    given = K.copy()
    own = KernelMap("precomputed").fit_kernel(given)
    assert not np.shares_memory(own, given)
    with pytest.raises(ValueError, match="contain NaN or infinity"):
        KernelMap(lambda a, b: np.inf).fit_kernel(X)


@pytest.mark.parametrize("sparse", [False, True])
def test_basis_rows_near_means_cover_the_rows(sparse):
    random = np.random.default_rng(0)
    centres = 10.0 * np.arange(20)[:, None] * np.ones(3)
    place = np.repeat(np.arange(20), np.where(np.arange(20) == 0, 400, 10))  # at random, few of most places
    X = centres[place] + random.normal(size=(len(place), 3))
    rows = sp.csr_array(X) if sparse else X
    chosen = {
        basis: KernelMap("rbf", n_components=40, basis=basis, random_state=0).fit(rows).basis_indices_
        for basis in ("uniform", "kmeans")
    }
    for indices in chosen.values():
        assert len(np.unique(indices)) == 40
        assert (np.diff(indices) > 0).all()
    assert len(np.unique(place[chosen["kmeans"]])) > len(np.unique(place[chosen["uniform"]]))


def test_basis_rows_near_means_see_the_scales():
    X = np.random.default_rng(0).normal(size=(300, 2)) * [1.0, 1e3]
    kernel_map = KernelMap(
        "rbf", scales=np.array([1.0, 0.0]), n_components=30, basis="kmeans", random_state=0
    )
    alone = KernelMap("rbf", n_components=30, basis="kmeans", random_state=0)
    np.testing.assert_array_equal(kernel_map.fit(X).basis_indices_, alone.fit(X * [1.0, 0.0]).basis_indices_)


def test_equal_rows_still_give_as_many_basis_rows():
    X = np.repeat(np.arange(3.0), 20)[:, None]
    kernel_map = KernelMap("rbf", n_components=10, basis="kmeans", random_state=0).fit(X)
    assert len(np.unique(kernel_map.basis_indices_)) == 10
    assert set(X[kernel_map.basis_indices_, 0]) == {0.0, 1.0, 2.0}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"basis": "best"}, "basis must be one of"),
        ({"kernel": "precomputed", "basis": "kmeans"}, "basis='kmeans' needs rows"),
    ],
)
def test_what_cannot_be_a_basis_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        KernelMap(n_components=2, **options).fit(np.eye(3))
