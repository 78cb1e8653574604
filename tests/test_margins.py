"""The margin between ranks, and the bound of theorem 2 of Herbrich et al. (1999)."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from rankwise import OrdinalSVM, RankSVM
from rankwise.datasets import make_ordinal
from rankwise.evaluation import margin_bound, rank_margin
from rankwise.metrics import ranking_error


@pytest.mark.parametrize("seed", range(20))
def test_the_margin_is_the_smallest_difference_of_all_pairs(seed):
    generator = np.random.default_rng(seed)
    y = np.r_[0, 1, generator.integers(4, size=10)]
    utility = generator.normal(size=12) + (seed % 3) * y
    pairs = [a - b for a, i in zip(utility, y, strict=True) for b, j in zip(utility, y, strict=True) if i > j]
    assert rank_margin(y, utility) == min(pairs)
    assert (rank_margin(y, utility) > 0) == (ranking_error(y, utility, ties="error") == 0)


def separated(n_rows=40):
    X, _ = make_ordinal(n_rows, random_state=0)
    utility = 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)
    return X, np.digitize(utility, np.quantile(utility, [0.3, 0.7]))


def printed(t, k, delta):
    """Theorem 2 as printed."""
    return 2 / t * (k * math.log2(8 * math.e * t / k) * math.log2(32 * t) + math.log2(8 * t / delta))


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_the_bound_is_that_of_the_paper(kernel):
    X, y = separated()
    if kernel == "linear":
        X = np.column_stack([X, (X[:, 0] - 0.5) * (X[:, 1] - 0.5)])
    model = OrdinalSVM(1e-6, kernel=kernel, degree=2, gamma=None if kernel == "linear" else 1.0)
    model.fit(X, y)
    found = margin_bound(model, X, y, delta=0.1)
    utility = model.utility(X)
    assert found.margin == rank_margin(y, utility) > 0
    assert found.n_pairs == model.n_pairs_ == sum(a > b for a in y for b in y)
    K = X @ X.T if kernel == "linear" else (X @ X.T + 1) ** 2
    distance = np.diag(K) - 2 * K.mean(axis=1) + K.mean()
    assert found.radius == pytest.approx(np.sqrt(distance.max()))
    squared = model.coef_ @ model.coef_ if kernel == "linear" else model.dual_coef_ @ K @ model.dual_coef_
    assert found.norm == pytest.approx(np.sqrt(squared), rel=1e-6)
    k = 64 * squared * distance.max() / found.margin**2
    assert found.dimension == pytest.approx(k, rel=1e-6)
    t = found.n_pairs
    assert found.bound == (pytest.approx(printed(t, k, 0.1), rel=1e-6) if k <= math.e * t else math.inf)


def test_wide_margins_of_many_rows_bound_the_risk():
    generator = np.random.default_rng(0)
    y = generator.integers(2, size=20_000)
    X = (y + generator.uniform(-0.1, 0.1, size=len(y)))[:, None]
    found = margin_bound(RankSVM(1e-6).fit(X, y), X, y)
    assert found.bound < 0.01
    assert found.bound == pytest.approx(printed(found.n_pairs, found.dimension, 0.05))
    assert found.bound_disjoint == pytest.approx(printed(found.n_pairs / (len(y) - 1), found.dimension, 0.05))
    sparse = margin_bound(RankSVM(1e-6).fit(sp.csr_matrix(X), y), sp.csr_matrix(X), y)
    assert sparse.bound == pytest.approx(found.bound)


def test_a_wrong_pair_leaves_no_bound():
    X, y = separated()
    found = margin_bound(RankSVM().fit(X, y), X, y)
    assert found.margin <= 0
    assert found.bound == found.bound_disjoint == math.inf


def test_words_are_ranks_of_the_model():
    X, y = separated()
    words = np.array(["bad", "fair", "good"])[y]
    model = OrdinalSVM(1e-6, kernel="poly", categories=["bad", "fair", "good"]).fit(X, words)
    assert margin_bound(model, X, words).margin == rank_margin(y, model.utility(X))
    with pytest.raises(ValueError, match="y has the label 'best', which the model was not fitted to"):
        margin_bound(model, X, ["best"] * len(X))


def test_bad_input_gets_a_sentence():
    X, y = separated()
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        margin_bound(RankSVM().fit(X, y), X, y, delta=1.0)
    with pytest.raises(ValueError, match="all labels of y are equal"):
        rank_margin([1, 1], [0.0, 1.0])
