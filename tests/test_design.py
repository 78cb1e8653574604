"""Every kind of data gives the products of the dense float64 matrix it stands for."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from rankwise import _native
from rankwise.data.design import DenseDesign, Design, SparseDesign, TiledDesign, as_design

SPARSE_KINDS = [(value, index) for value in (np.float32, np.float64) for index in (np.int32, np.int64)]


def csr(X, index=np.int32):
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


def memory_map(folder, X):
    mapped = np.memmap(folder / "X.bin", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


KINDS = {
    "float64 C": np.ascontiguousarray,
    "float64 F": np.asfortranarray,
    "float64 strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32 C": lambda X: X.astype(np.float32),
    "float32 F": lambda X: np.asfortranarray(X, dtype=np.float32),
    "float32 strided": lambda X: np.repeat(X.astype(np.float32), 2, axis=1)[:, ::2],
    "int8": lambda X: X.astype(np.int8),
    "csr matrix": sp.csr_matrix,
    "csr array": sp.csr_array,
    "csr float32": lambda X: sp.csr_matrix(X, dtype=np.float32),
    "csr int64 indices": lambda X: csr(sp.csr_matrix(X), np.int64),
    "csr float32 int64 indices": lambda X: csr(sp.csr_array(X.astype(np.float32)), np.int64),
    "csr of integers": lambda X: sp.csr_matrix(X.astype(np.int64)),
    "csc": sp.csc_matrix,
    "coo array": sp.coo_array,
}


@st.composite
def integer_matrices(draw):
    """Small integers, exact in every type; whole rows and columns of zeros are frequent."""
    n_rows, n_columns = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = generator.integers(-100, 101, (n_rows, n_columns)) * (generator.random((n_rows, n_columns)) < 0.5)
    X[generator.random(n_rows) < 0.2] = 0
    X[:, generator.random(n_columns) < 0.2] = 0
    return X.astype(np.float64)


@st.composite
def sparse_parts(draw):
    """The three arrays of a CSR matrix with unsorted and repeated indices and empty rows."""
    value, index = draw(st.sampled_from(SPARSE_KINDS))
    n_columns = draw(st.integers(1, 9))
    lengths = draw(st.lists(st.integers(0, 14), min_size=1, max_size=10))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    indices = generator.integers(0, n_columns, indptr[-1]).astype(index)
    return indptr, indices, generator.standard_normal(indptr[-1]).astype(value), n_columns


def dense_sum(indptr, indices, data, n_columns):
    """What the parts mean: repeated entries add up, in float64."""
    X = np.zeros((len(indptr) - 1, n_columns))
    np.add.at(X, (np.repeat(np.arange(len(X)), np.diff(indptr)), indices), data.astype(np.float64))
    return X


def assert_same_operator(design, X):
    generator = np.random.default_rng(0)
    w, c = generator.standard_normal(X.shape[1]), generator.standard_normal(X.shape[0])
    W, C = generator.standard_normal((X.shape[1], 3)), generator.standard_normal((X.shape[0], 3))
    assert isinstance(design, Design)
    assert design.shape == X.shape
    assert design.dtype == np.float64
    for ours, expected in [
        (design.matvec(w), X @ w),
        (design.rmatvec(c), X.T @ c),
        (design.weighted_squares(c), (X**2).T @ c),
        (aslinearoperator(design).T @ c, X.T @ c),
        (design.matmat(W), X @ W),
        (design.matmat(W[:, :0]), X @ W[:, :0]),
        (design.rmatmat(C), X.T @ C),
        (design.matvec(w.astype(np.float32)), X @ w.astype(np.float32)),
    ]:
        assert ours.dtype == np.float64
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(design.column_scale(), np.abs(X).max(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@given(X=integer_matrices())
def test_every_kind_is_the_dense_matrix(kind, X):
    assert_same_operator(as_design(KINDS[kind](X)), X)


@given(parts=sparse_parts(), n_threads=st.integers(1, 3))
def test_unsorted_and_repeated_indices(parts, n_threads):
    indptr, indices, data, n_columns = parts
    before = [part.copy() for part in (indptr, indices, data)]
    X = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns))
    assert_same_operator(as_design(csr(X, indices.dtype), n_threads), dense_sum(*parts))
    for part, old in zip((indptr, indices, data), before, strict=True):
        np.testing.assert_array_equal(part, old)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, ">f8"])
def test_memory_map_is_read_in_place(tmp_path, dtype):
    X = np.random.default_rng(0).integers(-100, 101, (50, 7)).astype(np.float64)
    mapped = memory_map(tmp_path, X.astype(dtype))
    for view in (mapped, np.asarray(mapped), mapped[10:40], mapped[:, 1:5]):
        design = as_design(view)
        assert np.shares_memory(design.X, mapped)
    assert_same_operator(as_design(mapped), X)
    assert_same_operator(as_design(mapped[10:40, 1:5]), X[10:40, 1:5])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(40, 30), (1, 300), (300, 1)])
def test_tiles_cover_the_matrix(monkeypatch, order, shape):
    monkeypatch.setattr("rankwise.data.design._TILE_ENTRIES", 64)
    monkeypatch.setattr("rankwise.data.design._TILE_LENGTH", 16)
    X = np.random.default_rng(0).standard_normal(shape).astype(np.float32, order=order)
    assert_same_operator(TiledDesign(X), X.astype(np.float64))


def test_float32_is_summed_in_float64():
    X = np.array([[1e8, 1.0, -1e8]], dtype=np.float32)
    for kind in (np.asarray, np.asfortranarray, sp.csr_matrix):
        assert as_design(kind(X)).matvec(np.ones(3))[0] == 1.0
        assert as_design(kind(X.T)).rmatvec(np.ones(3))[0] == 1.0


@pytest.mark.parametrize(("value", "index"), SPARSE_KINDS)
@pytest.mark.parametrize("shape", [(20_000, 30), (3_000, 5_000), (2_000, 20_000), (40, 200_000)])
def test_threads_do_not_change_a_bit(value, index, shape):
    """The shapes use the most buffers, a few, a few that are added in pieces, and none."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(0, 2 * 600_000 // shape[0], shape[0])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(index)
    indices = generator.integers(0, shape[1], indptr[-1]).astype(index)
    data = generator.standard_normal(indptr[-1]).astype(value)
    w, c = generator.standard_normal(shape[1]), generator.standard_normal(shape[0])
    scores = [_native.csr_matvec(indptr, indices, data, w, n) for n in (1, 2, 3)]
    gradients = [_native.csr_rmatvec(indptr, indices, data, c, shape[1], n) for n in (1, 2, 3)]
    for other in (1, 2):
        np.testing.assert_array_equal(scores[other], scores[0])
        np.testing.assert_array_equal(gradients[other], gradients[0])
    X = sp.csr_matrix((data.astype(np.float64), indices, indptr), shape=shape)
    np.testing.assert_allclose(scores[0], X @ w, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gradients[0], X.T @ c, rtol=1e-10, atol=1e-10)


def test_rows_without_a_coefficient_do_not_matter():
    X = sp.csr_matrix(np.arange(1.0, 7.0).reshape(3, 2))
    np.testing.assert_array_equal(as_design(X).rmatvec(np.array([0.0, 2.0, 0.0])), [6.0, 8.0])


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("kind", [np.zeros, sp.csr_matrix, lambda shape: np.zeros(shape, np.float32)])
def test_empty_matrices(kind, shape):
    design = as_design(kind(shape))
    np.testing.assert_array_equal(design.matvec(np.ones(shape[1])), np.zeros(shape[0]))
    np.testing.assert_array_equal(design.rmatvec(np.ones(shape[0])), np.zeros(shape[1]))
    np.testing.assert_array_equal(design.column_scale(), np.zeros(shape[1]))


def test_nothing_is_copied_that_can_be_shared():
    X = np.ones((4, 3))
    assert as_design(X).X is X
    assert as_design(X.T).X.base is X
    assert isinstance(as_design(X.T), DenseDesign)
    single = X.astype(np.float32)
    assert np.shares_memory(as_design(single).X, single)
    for sparse in (sp.csr_matrix(X), sp.csr_array(single)):
        design = as_design(sparse)
        assert isinstance(design, SparseDesign)
        assert np.shares_memory(design.X.data, sparse.data)
        assert np.shares_memory(design.X.indices, sparse.indices)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_columns", [1, 5, 33, 64, 65, 130])
@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 127, 500])
def test_the_range_of_each_column_is_exact(n_rows, n_columns, order, dtype):
    values = np.random.default_rng(n_rows).normal(size=(n_rows, n_columns))
    X = np.asarray(values + np.arange(n_columns), dtype=dtype, order=order)
    lowest, highest = _native.column_range(X)
    np.testing.assert_array_equal(lowest, X.min(axis=0))
    np.testing.assert_array_equal(highest, X.max(axis=0))


# Wide ones are summed in pieces, tall ones in blocks of rows.
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (6, 5), (3, 20_001), (20_001, 3), (9_000, 130), (130, 9_000)])
def test_dense_products_are_those_of_the_textbook_on_any_number_of_threads(shape, order, dtype):
    random = np.random.default_rng(shape[0])
    X = np.asarray(random.normal(size=shape), dtype=dtype, order=order)
    w, c = random.normal(size=shape[1]), random.normal(size=shape[0])
    c[::7] = 0.0
    exact, design = X.astype(np.longdouble), as_design(X)
    assert isinstance(design, DenseDesign)
    assert np.max(np.abs(design.matvec(w) - exact @ w)) <= 1e-14 * np.max(np.abs(exact) @ np.abs(w))
    assert np.max(np.abs(design.rmatvec(c) - exact.T @ c)) <= 1e-14 * np.max(np.abs(exact).T @ np.abs(c))
    for n_threads in (2, 3):
        threaded = as_design(X, n_threads)
        np.testing.assert_array_equal(threaded.matvec(w), design.matvec(w))
        np.testing.assert_array_equal(threaded.rmatvec(c), design.rmatvec(c))


def test_equal_rows_have_equal_products_wherever_they_stand():
    row = np.random.default_rng(0).normal(size=10_003)
    for dtype in (np.float64, np.float32):
        products = as_design(np.tile(row.astype(dtype), (11, 1))).matvec(row)
        np.testing.assert_array_equal(products, products[0])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0, 3), (7, 5), (1001, 33), (30, 9000)])
def test_one_pass_for_several_vectors_gives_the_bits_of_each_alone(shape, order, dtype):
    generator = np.random.default_rng(0)
    X = np.asarray(generator.normal(size=shape), dtype=dtype, order=order)
    W, C = generator.normal(size=(5, shape[1])), generator.normal(size=(5, shape[0]))
    C[:, ::3] = 0.0
    for n_threads, k in product((1, 3), (1, 2, 5)):
        design = as_design(X, n_threads)
        np.testing.assert_array_equal(design.matvecs(W[:k]), [as_design(X).matvec(w) for w in W[:k]])
        np.testing.assert_array_equal(design.rmatvecs(C[:k]), [as_design(X).rmatvec(c) for c in C[:k]])
    sparse = as_design(sp.csr_array(X))
    np.testing.assert_array_equal(sparse.matvecs(W), [sparse.matvec(w) for w in W])
    np.testing.assert_array_equal(sparse.rmatvecs(C), [sparse.rmatvec(c) for c in C])


def test_rows_are_read_in_stretches(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 7))
    whole = as_design(X)
    expected = whole.matvec(np.arange(7.0)), whole.rmatvec(np.arange(50.0))
    monkeypatch.setattr("rankwise.data.design._STRETCH_ENTRIES", 60)
    assert len(whole._stretches()) == 7
    np.testing.assert_allclose(whole.matvec(np.arange(7.0)), expected[0], rtol=1e-14)
    np.testing.assert_allclose(whole.rmatvec(np.arange(50.0)), expected[1], rtol=1e-13)


def test_a_memory_map_is_read_in_large_pieces(tmp_path):
    status, wish = Path("/proc/self/smaps"), Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not (status.exists() and "VmFlags" in status.read_text() and wish.exists()):
        pytest.skip("this system tells nothing about its maps, or has no huge pages")
    mapped = memory_map(tmp_path, np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(as_design(np.asarray(mapped)[:2]).matvec([1.0, 1.0]), [1.0, 5.0])
    flags = status.read_text().partition(str(tmp_path))[2].partition("VmFlags:")[2].partition("\n")[0]
    assert "hg" in flags.split()


@pytest.mark.parametrize("kind", ["csr32", "csr64"])
@given(X=integer_matrices(), full=st.booleans())
def test_scale_and_full_columns_of_sparse_rows(kind, X, full):
    X[:, :1] += 1000.0 * full
    rows = csr(sp.csr_matrix(X), np.int32 if kind == "csr32" else np.int64)
    scale, stored = _native.csr_scale(rows.indptr, rows.indices, rows.data, X.shape[1])
    np.testing.assert_array_equal(scale, np.abs(X).max(axis=0, initial=0.0))
    np.testing.assert_array_equal(stored, (X != 0).all(axis=0))


def test_column_scale_leaves_the_matrix_alone_and_adds_duplicates():
    X = sp.csr_matrix((np.array([1.0, -5.0, 3.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    np.testing.assert_array_equal(as_design(X).column_scale(), [5.0, 4.0])
    np.testing.assert_array_equal(X.indices, [1, 0, 1])
    np.testing.assert_array_equal(X.data, [1.0, -5.0, 3.0])


def test_column_scale_of_the_smallest_integer():
    design = TiledDesign(np.array([[-128, 1]], dtype=np.int8))
    np.testing.assert_array_equal(design.column_scale(), [128.0, 1.0])


def test_design_passes_through():
    design = as_design(np.eye(2))
    assert as_design(design) is design


@pytest.mark.parametrize("kind", KINDS)
def test_rows_can_be_taken(kind):
    X = np.arange(-6.0, 6.0).reshape(4, 3)
    rows = np.array([3, 0, 0])
    assert_same_operator(as_design(KINDS[kind](X)).take(rows), X[rows])


def test_a_small_subclass_is_a_whole_design():
    class Diagonal(Design):
        def __init__(self, diagonal):
            super().__init__((len(diagonal), len(diagonal)))
            self.diagonal = diagonal

        def _matvec(self, w):
            return self.diagonal * w.ravel()

        _rmatvec = _matvec

        def weighted_squares(self, c):
            return self.diagonal**2 * c

        def column_scale(self):
            return np.abs(self.diagonal)

    diagonal = np.array([1.0, -2.0, 3.0])
    assert_same_operator(Diagonal(diagonal), np.diag(diagonal))


@pytest.mark.parametrize("X", [np.ones(3), np.ones((2, 2, 2))])
def test_other_dimensions_are_refused(X):
    with pytest.raises(ValueError, match="two-dimensional"):
        as_design(X)


@pytest.mark.parametrize("bad_index", [-1, 2])
def test_index_out_of_range_is_refused(bad_index):
    X = sp.csr_matrix(np.eye(2))
    X.indices[0] = bad_index
    with pytest.raises(ValueError, match="index is out of range"):
        as_design(X)


def test_decreasing_indptr_is_refused():
    X = sp.csr_matrix(np.ones((3, 2)))
    X.indptr[1] = 5
    with pytest.raises(ValueError, match="indptr decreases"):
        as_design(X)


def test_native_refuses_arrays_that_do_not_fit():
    indptr, indices, data = np.array([0, 2], np.int32), np.array([0], np.int32), np.ones(1)
    with pytest.raises(ValueError, match="indptr"):
        _native.csr_matvec(indptr, indices, data, np.ones(1), 1)
    with pytest.raises(ValueError, match="indptr is empty"):
        _native.csr_matvec(indptr[:0], indices, data, np.ones(1), 1)
    with pytest.raises(ValueError, match="each row"):
        _native.csr_rmatvec(indptr // 2, indices, data, np.ones(2), 1, 1)
    with pytest.raises(TypeError):
        _native.csr_matvec(indptr // 2, indices, data, np.ones(1, np.float32), 1)


@pytest.mark.parametrize("sparse", [False, True])
def test_weighted_spread_is_about_the_weighted_mean(sparse):
    rng = np.random.default_rng(0)
    X, c = rng.normal(size=(30, 4)) + 2, rng.random(30)
    mean = c @ X / c.sum()
    design = as_design(sp.csr_array(X) if sparse else X)
    np.testing.assert_allclose(design.weighted_spread(c), c @ (X - mean) ** 2, rtol=1e-12)
    np.testing.assert_array_equal(design.weighted_spread(np.zeros(30)), 0)
