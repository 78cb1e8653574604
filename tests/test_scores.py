"""The score of a row is a function of its numbers and the model: not of place, batch, layout or threads."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from threading import Barrier, Thread

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process.kernels import DotProduct
from threadpoolctl import threadpool_info, threadpool_limits

from rankwise import (
    BoostedRanker,
    CurveRanker,
    HullRanker,
    OrdinalSVM,
    RankLogistic,
    RankRLS,
    RankRLSCV,
    RankSVM,
    RankSVMCV,
    _native,
    load_model,
    save_model,
)
from rankwise.core.threads import one_blas_thread
from rankwise.data.scores import canonical_csr, compared_scores, owned_rows, row_scores
from rankwise.functions.kernel_values import kernel_scores
from rankwise.model_selection import EdgeOfGridWarning
from sparse_forms import in_halves


def histogram_intersection(x, z):
    return np.minimum(x, z).sum()


def product(x, z):
    return x @ z


KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.5, "degree": 3},
    "polynomial": {"degree": 2.5},
    "rbf": {},
    "laplacian": {},
    "exponential": {},
    "sigmoid": {"gamma": 0.01},
    "cosine": {},
    "chi2": {},
    "additive_chi2": {},
    "callable": {"kernel": histogram_intersection},
    "callable, by BLAS": {"kernel": product},
    "Gaussian process, by BLAS": {"kernel": DotProduct()},
    "precomputed": {},
}
TAKE_SPARSE_ROWS = ["linear", "poly", "polynomial", "rbf", "laplacian", "exponential", "sigmoid", "cosine"]


def rows(n_rows, n_features, seed=0, density=0.7):
    """Rows that float32 holds exactly and chi2 takes: zeros, numbers of many sizes, and one row twice."""
    random = np.random.default_rng(seed)
    X = random.lognormal(0, 2, size=(n_rows, n_features)) / n_features
    X = (X * (random.random(X.shape) < density)).astype(np.float32).astype(np.float64)
    X[-1] = X[0]
    return X


def linear_scorer(X, n_functions=None):
    n_features = X.shape[1]
    shape = n_features if n_functions is None else (n_functions, n_features)
    coef = np.random.default_rng(1).normal(size=shape)
    return lambda rows, n_threads=1: row_scores(rows, coef, n_threads)


def kernel_scorer(kernel, basis, n_functions=None):
    n_basis = basis.shape[0]
    a = np.random.default_rng(1).normal(size=n_basis if n_functions is None else (n_functions, n_basis))
    owned = None if kernel == "precomputed" else owned_rows(basis)

    def scorer(rows, n_threads=1):
        return kernel_scores(rows, owned, a, n_threads=n_threads, **({"kernel": kernel} | KERNELS[kernel]))

    return scorer


def layouts(X):
    """The same numbers in other places, orders and types."""
    yield X.copy()
    yield np.asfortranarray(X)
    yield X.astype(np.float32)
    yield np.asfortranarray(X.astype(np.float32))
    yield X.astype(">f8")
    wider = np.full((2 * len(X), 3 * X.shape[1]), np.nan)
    wider[::2, 1::3] = X
    yield wider[::2, 1::3]
    yield np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    for shift in (1, 8, 24):  # bytes
        shifted = np.zeros(X.nbytes + 64, dtype=np.uint8)[shift : shift + X.nbytes]
        shifted = shifted.view(np.float64) if shift % 8 == 0 else np.ndarray(X.size, buffer=shifted)
        shifted[:] = X.ravel()
        yield shifted.reshape(X.shape)


def check_places(score, X, expected):
    """Check rows one by one, in batches, in another order and on several threads."""
    one_by_one = np.concatenate([score(X[i : i + 1]) for i in range(X.shape[0])])
    np.testing.assert_array_equal(one_by_one, expected)
    borders = [0, *sorted({1, X.shape[0] // 3, X.shape[0] - 1, X.shape[0]})]
    batches = [score(X[begin:end]) for begin, end in pairwise(borders) if begin < end]
    np.testing.assert_array_equal(np.concatenate(batches), expected)
    order = np.random.default_rng(2).integers(0, X.shape[0], 3 * X.shape[0])
    np.testing.assert_array_equal(score(X[order]), expected[order])
    for n_threads in (2, 4):
        np.testing.assert_array_equal(score(X[order], n_threads), expected[order])


def check_layouts(score, X, expected):
    for layout in layouts(X):
        np.testing.assert_array_equal(layout, X)
        np.testing.assert_array_equal(score(layout), expected)


SHAPES = [(2, 1), (23, 7), (61, 25), (70, 300), (9, 8193), (14, 10_000)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_compared_scores_are_a_function_of_values(shape):
    X, coef = rows(*shape), np.random.default_rng(1).normal(size=(30, shape[1]))

    def score(rows, n_threads=1):
        return compared_scores(rows, coef, n_threads=n_threads).T

    expected = score(X)
    np.testing.assert_allclose(expected, X @ coef.T, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    check_layouts(score, X, expected)
    check_places(score, X, expected)
    some = np.random.default_rng(2).integers(0, len(X), 40)
    np.testing.assert_array_equal(compared_scores(X, coef, some).T, expected[some])
    sparse = compared_scores(sp.csr_array(X), coef, some).T
    np.testing.assert_allclose(sparse, expected[some], rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("n_functions", [None, 3])
def test_linear_scores_are_a_function_of_values(shape, n_functions):
    X = rows(*shape)
    score = linear_scorer(X, n_functions)
    expected = score(X)
    check_layouts(score, X, expected)
    check_places(score, X, expected)
    if n_functions:
        coef = np.random.default_rng(1).normal(size=(3, X.shape[1]))
        np.testing.assert_array_equal(row_scores(X, coef[1]), expected[:, 1])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_scores_are_a_function_of_values(shape, kernel):
    X = rows(*shape)
    n_basis = min(shape[0], 17)
    score = kernel_scorer(kernel, X[:n_basis])
    if kernel == "precomputed":
        X = rows(shape[0], n_basis)
    expected = score(X)
    assert np.isfinite(expected).all()
    check_layouts(score, X, expected)
    check_places(score, X, expected)


def stored_otherwise(X, seed=0):
    """The same rows as CSR: entries in another order, halves stored apart, zeros stored, wide indices."""
    random = np.random.default_rng(seed)
    coo = sp.coo_array(X)
    row = np.concatenate([coo.row, coo.row, random.integers(0, X.shape[0], 50)])
    column = np.concatenate([coo.col, coo.col, random.integers(0, X.shape[1], 50)])
    data = np.concatenate([coo.data * 0.25, coo.data * 0.75, np.zeros(50)])
    order = random.permutation(len(data))
    order = order[np.argsort(row[order], kind="stable")]
    indptr = np.searchsorted(row[order], np.arange(X.shape[0] + 1))
    return sp.csr_array((data[order], column[order].astype(np.int64), indptr), shape=X.shape)


def permuted(X, seed=0):
    X = X.copy()
    random = np.random.default_rng(seed)
    for begin, end in pairwise(X.indptr):
        order = begin + random.permutation(end - begin)
        X.indices[begin:end], X.data[begin:end] = X.indices[order], X.data[order]
    return type(X)((X.data, X.indices, X.indptr), shape=X.shape)


@pytest.mark.parametrize("shape", [(2, 1), (23, 7), (61, 25), (9, 10_000)], ids=str)
@pytest.mark.parametrize("kernel", [None, *TAKE_SPARSE_ROWS])
def test_sparse_scores_are_a_function_of_values(shape, kernel):
    X = rows(*shape, density=0.3)
    X = np.floor(X * 2**20) / 2**18  # so that a quarter and three quarters add up to the whole
    csr = sp.csr_array(X)
    score = linear_scorer(X) if kernel is None else kernel_scorer(kernel, permuted(csr, 3))
    expected = score(csr)
    for other in (
        sp.csr_matrix(X),
        permuted(csr),
        permuted(csr.astype(np.float32)),
        stored_otherwise(X),
        sp.csc_array(X),
    ):
        np.testing.assert_array_equal(score(other), expected)
    check_places(score, csr, expected)
    check_places(score, permuted(csr), expected)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_sparse_scores_far_from_zero_are_a_function_of_values(share):
    X = np.floor(rows(61, 25, density=0.3) * 2**10) / 2**8
    X[:, 3] += 1e7 * (np.random.default_rng(3).random(61) < share)  # some of the rows, or all
    X[-1] = X[0]
    csr = sp.csr_array(X)
    score = kernel_scorer("rbf", permuted(csr, 3))
    expected = score(csr)
    np.testing.assert_allclose(expected, kernel_scorer("rbf", X)(X), rtol=1e-10, atol=1e-10)
    for other in (permuted(csr), stored_otherwise(X), sp.csc_array(X), X):
        np.testing.assert_array_equal(score(other), expected)
    check_places(score, csr, expected)


@pytest.mark.parametrize("kernel", TAKE_SPARSE_ROWS)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_kernel_scores_of_dense_and_sparse_rows_are_the_same(kernel, container):
    X = rows(31, 12, density=0.4)
    score = kernel_scorer(kernel, container(X))
    np.testing.assert_array_equal(score(sp.csr_array(X)), score(X))


def test_entries_stored_several_times_are_summed_in_one_order():
    values = np.array([1e16, 1.0, -1e16, 1.0, 3.0])
    sums = set()
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(5)
        X = sp.csr_array((values[order], np.zeros(5, dtype=int), [0, 5]), shape=(1, 2))
        sums.add(float(row_scores(X, np.ones(2))[0]))
        assert X.nnz == 5, "the caller's matrix is left alone"
    assert len(sums) == 1


def test_canonical_rows_are_not_copied():
    X = sp.csr_array(rows(9, 4))
    assert canonical_csr(X) is X


@settings(max_examples=25)
@given(data=st.data(), n_features=st.integers(1, 40), n_rows=st.integers(1, 6), n_basis=st.integers(1, 14))
def test_sums_are_those_of_exact_arithmetic(data, n_features, n_rows, n_basis):
    seed = data.draw(st.integers(0, 2**32))
    scale = data.draw(st.sampled_from([1.0, 1e-8, 1e8]))
    random = np.random.default_rng(seed)
    X, Z = (scale * random.normal(size=(n, n_features)) + random.normal() for n in (n_rows, n_basis))
    X[0] = Z[-1]
    exact = [[[Fraction(number) for number in row] for row in matrix] for matrix in (X, Z)]
    rounding = (n_features + 4) * np.finfo(float).eps
    for i, x in enumerate(exact[0]):
        for j, z in enumerate(exact[1]):
            terms = [a * b for a, b in zip(x, z, strict=True)]
            size = float(sum(map(abs, terms)))
            for sums in (_native.row_products(X, Z), _native.row_scores(X, Z)):
                assert abs(sums[i, j] - float(sum(terms))) <= rounding * size
            distance = float(sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))
            assert abs(_native.squared_distances(X, Z)[i, j] - distance) <= rounding * distance
    assert _native.squared_distances(X, Z)[0, -1] == 0


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (130, 49, 257), (5, 24, 512)])
def test_sums_of_any_shape(shape):
    m, b, n = shape
    random = np.random.default_rng(0)
    X, Z = random.normal(size=(m, n)), random.normal(size=(b, n))
    distances = ((X[:, None] - Z) ** 2).sum(axis=2)
    for n_threads in (1, 3):
        np.testing.assert_allclose(_native.row_products(X, Z, n_threads), X @ Z.T, atol=1e-12)
        np.testing.assert_allclose(_native.row_scores(X, Z, n_threads), X @ Z.T, atol=1e-12)
        np.testing.assert_allclose(_native.squared_distances(X, Z, n_threads), distances, rtol=1e-13)


def test_sums_of_rows_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="same number of columns"):
        _native.row_products(np.ones((2, 3)), np.ones((2, 4)))


# Models


MODELS = [
    RankRLS(),
    RankSVM(),
    RankRLS(kernel="rbf"),
    RankRLS(kernel="rbf", n_components=20, random_state=0),
    RankSVM(kernel="poly", degree=2, gamma=0.5),
    RankRLS(kernel="cosine"),
    RankRLS(kernel="laplacian"),
    RankSVM(kernel="chi2", n_components=11, random_state=0),
    RankRLS(kernel=histogram_intersection),
    RankLogistic(),
    OrdinalSVM(),
    HullRanker(),
    HullRanker(laplacian_weight=0.1),
    CurveRanker(n_bins=8),
    BoostedRanker(n_estimators=5, min_child_samples=5),
]


def model_name(model):
    kernel = getattr(model, "kernel", None)
    options = [getattr(kernel, "__name__", kernel)]
    options += [getattr(model, name, None) for name in ("n_components", "laplacian_weight")]
    return "-".join([type(model).__name__, *(str(option) for option in options if option)])


def takes_sparse_rows(model):
    return getattr(model, "kernel", None) not in ("chi2", histogram_intersection)


def fitted_to(model, given_rows, y):
    """Fit a model; one of classes learns from thirds."""
    if isinstance(model, BoostedRanker):
        pytest.importorskip("lightgbm")
    if isinstance(model, OrdinalSVM | HullRanker):
        y = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    return clone(model).fit(given_rows, y)


def scores_of(model, X):
    return model.utility(X) if isinstance(model, OrdinalSVM) else model.predict(X)


@pytest.mark.parametrize("model", MODELS, ids=model_name)
@pytest.mark.parametrize("container", [np.array, np.asfortranarray, np.float32, sp.csr_array])
def test_a_model_gives_equal_rows_equal_scores(model, container, tmp_path):
    if container is sp.csr_array and not takes_sparse_rows(model):
        pytest.skip("not for sparse rows")
    X = rows(60, 8)
    given_rows = container(X)
    fitted = fitted_to(model, given_rows, X[:, 0] - X[:, 1])
    expected = scores_of(fitted, given_rows)
    np.testing.assert_array_equal(scores_of(fitted, given_rows.copy()), expected)
    np.testing.assert_array_equal(scores_of(pickle.loads(pickle.dumps(fitted)), given_rows), expected)
    if not callable(getattr(model, "kernel", None)):
        save_model(fitted, tmp_path / "model.json")
        np.testing.assert_array_equal(scores_of(load_model(tmp_path / "model.json"), given_rows), expected)
    for n_jobs in (2, 4):
        np.testing.assert_array_equal(scores_of(fitted.set_params(n_jobs=n_jobs), given_rows), expected)
    fitted.set_params(n_jobs=None)
    check_places(lambda rows, n_threads=1: scores_of(fitted, rows), given_rows, expected)
    if sp.issparse(given_rows):
        for form in (permuted(given_rows), in_halves(given_rows)):
            np.testing.assert_array_equal(scores_of(fitted, form), expected)
    stored = given_rows.data if sp.issparse(given_rows) else given_rows
    stored[:] = 1.0  # the model has rows of its own
    np.testing.assert_array_equal(scores_of(fitted, container(X)), expected)


@pytest.mark.parametrize("model", list(filter(takes_sparse_rows, MODELS)), ids=model_name)
def test_a_model_learns_the_same_from_entries_in_halves(model):
    X = rows(60, 8)
    whole, halved = (fitted_to(model, form(X), X[:, 0] - X[:, 1]) for form in (sp.csr_array, in_halves))
    expected = scores_of(whole, X)
    np.testing.assert_allclose(scores_of(halved, X), expected, atol=1e-6 * np.ptp(expected))


def test_scores_on_dask_are_those_in_memory():
    array = pytest.importorskip("dask.array")
    X = rows(50, 30)
    model = RankSVM().fit(X, X[:, 0])
    expected = model.predict(X)
    for chunks in ((7, 30), (1, 30), (50, 11)):
        np.testing.assert_array_equal(model.predict(array.from_array(X, chunks=chunks)).compute(), expected)


@pytest.mark.parametrize(
    ("kind", "kernel"),
    [(RankSVMCV, "linear"), (RankSVMCV, "rbf"), (RankSVMCV, "poly"), (RankRLSCV, "linear")],
)
def test_held_out_rows_that_are_equal_tie(kind, kernel):
    X, y = rows(48, 25), np.arange(48.0)
    X[30:] = X[30]
    folds = [(np.arange(30), np.arange(30, 48))]
    with pytest.warns(EdgeOfGridWarning):
        search = kind(alphas=[1.0, 1e-2, 1e-4], cv=folds, kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(search.cv_errors_, 0.5)


# Threads of BLAS


FITS = """
import hashlib, numpy as np
from rankwise import OrdinalSVM, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.model_selection import alpha_path, leave_pair_out, leave_query_out, permutation_test
random = np.random.default_rng(0)
X = random.normal(size=(400, 60))
y = X[:, 0] + np.sin(X[:, 1]) + random.normal(size=400)
wide = random.normal(size=(300, 500))
for model, rows in [
    (RankSVM(kernel="rbf"), X),
    (RankSVM(kernel="rbf", n_components=200, random_state=0), X),
    (RankSVM(loss="squared_hinge"), wide),
    (RankRLS(kernel="rbf"), X),
    (RankRLS(kernel="rbf", solver="cg"), X),
    (RankRLS(solver="cg"), wide),
    (RankRLS(solver="primal"), wide),
    (RankRLS(solver="dual"), wide),
    (RankSVMCV([1.0, 1e-2], cv=2, kernel="rbf"), X),
    (RankRLSCV([1.0, 1e-2], kernel="rbf"), X),
]:
    scores = model.fit(rows, y[: len(rows)]).predict(rows)
    print(model, hashlib.sha256(scores.tobytes()).hexdigest())
ordinal = OrdinalSVM(kernel="rbf").fit(X, np.digitize(y, [-1, 0, 1]))
kernel, qid = RankRLS(kernel="rbf"), np.arange(400) // 10
for name, found in {
    "utility": ordinal.utility(X),
    "path": RankRLS().path(wide, y[:300], [1e-2, 1e-4]),
    "certified path": alpha_path(kernel, X, y, (1e-1, 1e-2)).coef,
    "pairs": leave_pair_out(kernel, X, y).predictions,
    "pairs and alphas": leave_pair_out(kernel, X, y, alphas=[1.0, 1e-2]).predictions,
    "queries": leave_query_out(kernel, X, y, qid).predictions,
    "queries and alphas": leave_query_out(kernel, X, y, qid, alphas=[1.0, 1e-2]).predictions,
    "permutations": permutation_test(kernel, X, y, qid, 20, random_state=0).null_distribution,
}.items():
    print(name, hashlib.sha256(np.ascontiguousarray(found).tobytes()).hexdigest())
"""


def test_a_result_does_not_depend_on_the_threads_of_blas():
    outputs = []
    for n_threads in ("1", "2"):
        variables = {"OMP_NUM_THREADS": n_threads, "OPENBLAS_NUM_THREADS": n_threads}
        outputs.append(
            subprocess.run(
                [sys.executable, "-W", "ignore", "-c", FITS],
                env=os.environ | variables,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.splitlines()
        )
    assert len(outputs[0]) == 18
    assert outputs[0] == outputs[1]


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads():
    """Two threads for BLAS, however many the machine or the environment would give it."""
    before = {library["filepath"]: library["num_threads"] for library in threadpool_info()}
    for limits in ({"blas": 2}, before):
        thread = Thread(target=threadpool_limits, args=(limits,))  # its end lets other threads set limits
        thread.start()
        thread.join()
        if limits is not before:
            yield


def test_one_blas_thread_until_the_last_has_left(two_blas_threads):
    before = blas_threads()
    assert before == {2}
    with one_blas_thread, one_blas_thread:
        assert blas_threads() == {1}
    assert blas_threads() == before
    both_in, one_left = Barrier(2), Barrier(2)

    def first():
        with one_blas_thread:
            both_in.wait(60)
        one_left.wait(60)

    def second():
        with one_blas_thread:
            both_in.wait(60)
            one_left.wait(60)
            return blas_threads()

    with ThreadPoolExecutor(2) as pool:
        left, stayed = pool.submit(first), pool.submit(second)
        left.result()
        assert stayed.result() == {1}
    assert blas_threads() == before
