"""The generators make what their docstrings promise, in numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes

from rankwise.datasets import load_diabetes_ranking, make_ordinal, make_ranking, make_text_ranking


def residual(X, y):
    """What no weight vector explains: root mean square."""
    X = X.toarray() if sp.issparse(X) else X
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    return np.sqrt(np.mean((X @ w - y) ** 2))


@pytest.mark.parametrize("density", [None, 0.3])
def test_make_ranking_is_linear_but_for_noise(density):
    X, y = make_ranking(2000, 10, noise=0, density=density, random_state=0)
    assert residual(X, y) < 1e-12
    assert 0.8 < y.std() < 1.2
    X, y = make_ranking(2000, 10, noise=0.5, density=density, random_state=0)
    assert 0.47 < residual(X, y) < 0.53


def test_make_ranking_density():
    X, _ = make_ranking(300, 50, density=0.1, random_state=0)
    assert sp.issparse(X)
    assert X.format == "csr"
    assert X.nnz == 1500
    assert isinstance(make_ranking(random_state=0)[0], np.ndarray)


@given(
    n_samples=st.integers(1, 60),
    n_queries=st.integers(1, 60),
    n_levels=st.integers(1, 8),
    seed=st.integers(0, 2**31 - 1),
)
def test_make_ranking_levels_and_queries(n_samples, n_queries, n_levels, seed):
    n_queries = min(n_queries, n_samples)
    arguments = {"n_queries": n_queries, "random_state": seed}
    X, grades, qid = make_ranking(n_samples, 4, n_levels=n_levels, **arguments)
    X_again, scores, qid_again = make_ranking(n_samples, 4, **arguments)
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(qid, qid_again)
    np.testing.assert_array_equal(np.unique(qid), np.arange(n_queries))
    assert np.all(np.diff(qid) >= 0)
    assert np.all(np.diff(grades[np.argsort(scores)]) >= 0)
    sizes = np.bincount(grades, minlength=n_levels)
    assert len(sizes) == n_levels
    assert sizes.max() - sizes.min() <= 1


def test_make_ranking_queries_vary_in_size():
    qid = make_ranking(1000, 2, n_queries=20, random_state=0)[2]
    sizes = np.bincount(qid)
    assert sizes.sum() == 1000
    assert sizes.max() > 2 * sizes.min()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_queries": 101}, "n_queries must lie between 1 and n_samples=100, got 101"),
        ({"n_queries": 0}, "n_queries"),
        ({"n_levels": 0}, "n_levels must be at least 1, got 0"),
        ({"density": 0}, "density must be None or lie in"),
        ({"density": 1.5}, "density"),
    ],
)
def test_make_ranking_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_ranking(**arguments)


def test_make_text_ranking_looks_like_text():
    X, y = make_text_ranking(10_000, random_state=0)
    assert X.shape == (10_000, 47_236)
    assert X.has_canonical_format
    assert X.indices.dtype == np.int32
    assert 70 < X.nnz / 10_000 < 82
    assert X.data.min() > 0
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1)
    frequency = np.sort(np.bincount(X.indices, minlength=X.shape[1]))[::-1]
    assert frequency[0] > 1000
    assert frequency[0] > 10 * frequency[200] > 100 * frequency[20_000]
    assert y.min() == 0
    assert 0.05 < y.max() < 0.7
    assert len(np.unique(y)) > 8000


def test_make_text_ranking_has_topics():
    """Two documents of one topic share words, so similarities spread more than without topics."""
    X, _ = make_text_ranking(1000, random_state=0)
    similarity = (X @ X.T).toarray()[np.triu_indices(1000, 1)]
    assert np.quantile(similarity, 0.99) > 5 * np.median(similarity)


@settings(max_examples=10, deadline=None)
@given(n_samples=st.integers(1, 5000), seed=st.integers(0, 2**31 - 1))
def test_make_text_ranking_prefix(n_samples, seed):
    X, y = make_text_ranking(5000, 300, mean_length=10, n_topics=3, random_state=seed)
    prefix, prefix_y = make_text_ranking(n_samples, 300, mean_length=10, n_topics=3, random_state=seed)
    assert (prefix != X[:n_samples]).nnz == 0
    np.testing.assert_array_equal(prefix_y, y[:n_samples])


def test_make_text_ranking_differs_by_seed():
    assert (make_text_ranking(5, random_state=0)[0] != make_text_ranking(5, random_state=1)[0]).nnz > 0


def test_make_text_ranking_refuses_no_rows():
    with pytest.raises(ValueError, match="n_samples must be at least 1, got 0"):
        make_text_ranking(0)


def test_make_ordinal_without_noise_is_the_cut_utility():
    X, y = make_ordinal(2000, noise=0, random_state=0)
    assert X.min() >= 0
    assert X.max() <= 1
    utility = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    expected = sum((utility >= cut).astype(int) for cut in (-1, -0.1, 0.25, 1))
    np.testing.assert_array_equal(y, expected)


def test_make_ordinal_noise_is_a_standard_deviation():
    """Where the utility is 0.25 the noise decides between grades 2 and 3: half of the points go each way."""
    X, y = make_ordinal(200_000, random_state=0)
    utility = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    one_deviation_above = np.abs(utility - 0.25 - 0.125) < 0.01
    assert abs(np.mean(y[one_deviation_above] >= 3) - 0.841) < 0.02
    np.testing.assert_array_equal(np.unique(y), np.arange(5))


def test_load_diabetes_ranking():
    original = load_diabetes()
    bunch = load_diabetes_ranking()
    X, y = load_diabetes_ranking(return_X_y=True)
    for data, target in ((bunch.data, bunch.target), (X, y)):
        np.testing.assert_array_equal(data, original.data)
        np.testing.assert_array_equal(target, original.target)
    assert bunch.feature_names == original.feature_names
    assert "442" in bunch.DESCR
