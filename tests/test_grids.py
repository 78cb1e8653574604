"""Default candidates for alpha: columns with large values cannot make a search worse than a plain fit."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from rankwise import RankLogistic, RankLogisticCV, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.datasets import make_ranking
from rankwise.model_selection.grids import FAR_ABOVE, far_columns, near_share

# A search chooses among noisy errors, so that it may be worse than the plain fit by this much.
NOISE = 0.01
PAIRS = {
    "hinge": (RankSVM(), RankSVMCV()),
    "squared hinge": (RankSVM(loss="squared_hinge"), RankSVMCV(loss="squared_hinge")),
    "logistic": (RankLogistic(), RankLogisticCV()),
    "least squares": (RankRLS(), RankRLSCV()),
    "least squares, folds": (RankRLS(), RankRLSCV(cv=5)),
}
pytestmark = pytest.mark.filterwarnings("ignore:The best alpha")


def rows(n_rows=1200):
    return make_ranking(n_rows, 10, n_queries=40, n_levels=4, noise=1.0, random_state=0)


def with_large_column(X):
    return X * np.where(np.arange(X.shape[1]) == 3, 1e6, 1.0)


def with_large_noise(X):
    return np.column_stack([X, 1e6 * np.random.default_rng(1).normal(size=len(X))])


def with_many_scales(X):
    return X * 10.0 ** np.random.default_rng(1).uniform(-3, 6, size=X.shape[1])


@pytest.mark.parametrize("change", [with_large_column, with_large_noise, with_many_scales])
@pytest.mark.parametrize("name", PAIRS)
def test_unscaled_features_do_not_make_a_search_worse_than_a_plain_fit(name, change):
    X, y, qid = rows()
    X = change(X)
    train, new = qid < 25, qid >= 25
    plain, search = (model.fit(X[train], y[train], qid=qid[train]) for model in PAIRS[name])
    lost = plain.score(X[new], y[new], qid=qid[new]) - search.score(X[new], y[new], qid=qid[new])
    assert lost < NOISE


def test_the_grid_of_scaled_features_is_relative_to_their_scale():
    X, y, qid = rows(300)
    for change, model in itertools.product((np.asarray, with_large_column), (RankSVMCV(), RankRLSCV())):
        alphas, smaller = (model.grid(model.problem(rows, y, qid)) for rows in (change(X), change(X) / 1024))
        np.testing.assert_allclose(smaller, alphas / 2.0**20)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_far_columns_are_damped(form):
    X = np.random.default_rng(0).normal(size=(200, 5))
    np.testing.assert_array_equal(far_columns(form(X)), 1.0)
    np.testing.assert_array_equal(far_columns(form(np.zeros((4, 2)))), 1.0)
    X[:, 2] *= 1e6
    factors = far_columns(form(X))
    np.testing.assert_array_equal(np.delete(factors, 2), 1.0)
    assert near_share(form(X)) < 1e-8
    assert (factors * X.std(axis=0))[2] == pytest.approx(FAR_ABOVE * np.median(X.std(axis=0)))
