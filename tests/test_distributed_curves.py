"""Curves on Dask: the bins and the tables of memory."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from rankwise import CurveRanker, load_model, save_model
from rankwise.distributed import gathered
from rankwise.model_selection import alpha_path

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
pd = pytest.importorskip("pandas")

BORDERS = (0, 70, 70, 71, 150, 240)  # an empty partition, and one of a single row
rng = np.random.default_rng(3)
X = np.round(rng.normal(size=(240, 4)), 2)
Y = np.round(np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=240), 1)
QID = np.arange(240) // 30  # the borders cut queries
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
WEIGHT = np.where(np.arange(240) % 5 > 0, 1.0 + np.arange(240) % 3, 0.0)

MODELS = {
    "steps": CurveRanker(1e-2, loss="squared_hinge", tol=1e-10, n_bins=12),
    "lines": CurveRanker(1e-2, loss="logistic", tol=1e-10, n_bins=6, shape="lines"),
    "searched pairs": CurveRanker(1e-2, loss="squared_hinge", tol=1e-10, n_bins=8, interactions=1),
    "levels": CurveRanker(1e-2, loss="squared_hinge", tol=1e-10, n_bins=8, categorical_features=[3]),
    "hinge": CurveRanker(1e-2, n_bins=8),
    "monotone": CurveRanker(1e-2, n_bins=8, monotone={0: 1, 1: -1}),
}


def blocks(rows, borders=BORDERS):
    return [dask.delayed(rows[begin:end]) for begin, end in pairwise(borders)]


def assert_same_model(there, here):
    for name in ("knots_", "pair_knots_"):
        for left, right in zip(getattr(there, name), getattr(here, name), strict=True):
            np.testing.assert_array_equal(left, right)
    for left, right in zip(there.counts_, here.counts_, strict=True):
        np.testing.assert_allclose(left, right)
    assert there.kinds_ == here.kinds_
    assert there.pairs_.tolist() == here.pairs_.tolist()
    assert there.categories_ == here.categories_
    assert there.n_pairs_ == here.n_pairs_
    if here.loss == "hinge":
        assert there.objective_ == pytest.approx(here.objective_, abs=here.tol)
        assert there.gap_ <= here.tol
        return
    for left, right in zip(there.values_ + there.pair_values_, here.values_ + here.pair_values_, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-5)


@pytest.mark.parametrize("columns", [{}, {"qid": QID}, {"qid": QID, "sample_weight": WEIGHT}])
@pytest.mark.parametrize("name", MODELS)
def test_curves_are_those_of_memory(name, columns):
    rows = np.round(GAPS) if name == "levels" else GAPS
    there, here = (clone(MODELS[name]) for _ in range(2))
    there.fit(blocks(rows), Y, **columns)
    here.fit(rows, Y, **columns)
    assert_same_model(there, here)
    scores = there.predict(blocks(rows))
    np.testing.assert_array_equal(gathered(scores), there.predict(rows))
    if name == "monotone":
        assert (np.diff(there.values_[0][:-1]) >= 0).all()
        assert (np.diff(there.values_[1][:-1]) <= 0).all()


def test_sparse_rows_and_arrays_of_dask():
    da = pytest.importorskip("dask.array")
    model = MODELS["steps"]
    sparse = sp.csr_matrix(np.where(np.abs(X) < 0.7, 0.0, X))
    here = clone(model).fit(sparse, Y, qid=QID)
    assert_same_model(clone(model).fit(blocks(sparse), Y, qid=QID), here)
    there = clone(model).fit(da.from_array(X, chunks=(50, 2)), da.from_array(Y, chunks=40), qid=QID)
    assert_same_model(there, clone(model).fit(X, Y, qid=QID))
    assert there.score(da.from_array(X, chunks=(50, 2)), Y, qid=QID) == there.score(X, Y, qid=QID)
    assert there.rounds_.rounds > 0


def test_words_and_dates(tmp_path):
    frame = pd.DataFrame(
        {
            "x": GAPS[:, 0],
            "grape": np.array(["merlot", "syrah", None], dtype=object)[rng.integers(0, 3, 240)],
            "bottled": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, 240), "D"),
        }
    )
    frame.loc[:80, "grape"] = "syrah"
    there, here = (clone(MODELS["steps"]) for _ in range(2))
    assert_same_model(there.fit(blocks(frame), Y), here.fit(frame, Y))
    assert there.feature_names_in_.tolist() == ["x", "grape", "bottled"]
    save_model(there, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(gathered(loaded.predict(blocks(frame))), there.predict(frame))


def test_terms_need_rows_in_memory():
    model = CurveRanker(1e-2).fit(X, Y)
    with pytest.raises(ValueError, match="CurveRanker needs all rows in memory, but X is on Dask"):
        model.terms(blocks(X))


def test_the_path_over_alphas_is_that_of_memory():
    model = CurveRanker(loss="squared_hinge", n_bins=6)
    there, here = (alpha_path(model, rows, Y, qid=QID) for rows in (blocks(X), X))
    np.testing.assert_allclose(there.alphas, here.alphas)
    np.testing.assert_allclose(there.objectives, here.objectives, rtol=1e-6)
