"""The choice of alpha with labels that stay on the workers: the folds and the errors of memory."""

import numpy as np
import pytest

from rankwise import Preferences, RankLogisticCV, RankRLS, RankRLSCV, RankSVMCV
from rankwise.datasets import make_ranking
from rankwise.distributed import DaskDesign, whole_queries
from rankwise.distributed.remote_labels import remote_preferences
from rankwise.model_selection import QueryKFold

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")

pytestmark = pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")
# Models, rows, whether rows have weights, and the average.
SEARCHES = {
    "hinge": (RankSVMCV([0.5, 0.005], cv=2), "many", False, "queries"),
    "squared hinge": (RankSVMCV(cv=2, loss="squared_hinge"), "many", True, "pairs"),
    "logistic": (RankLogisticCV([0.05], cv=2), "many", False, "pairs"),
    "certified": (RankSVMCV([0.05], cv=2, loss="squared_hinge", tol=1e-6), "few", True, "queries"),
    "least squares": (RankRLSCV(cv=3), "few", False, "queries"),
    "weighted least squares": (RankRLSCV(cv=3), "many", True, "pairs"),
    "least squares, no ties": (RankRLSCV(cv=3, ties="drop"), "many", True, "queries"),
}
FEW, MANY = 240, 4800


def make_data(n_rows):
    """Queries that are in no order of partitions, some of them without pairs."""
    X, y, qid = make_ranking(n_rows, 4, n_queries=n_rows // 20, n_levels=4, noise=1.0, random_state=0)
    qid = np.sort(qid)
    y = np.where(qid % 7 == 3, 1.0, y)
    return X + 2.0, y, np.random.default_rng(0).permutation(n_rows // 20)[qid]


DATA = {"few": make_data(FEW), "many": make_data(MANY)}


def on_dask(X, y, qid, *more):
    """Return columns in two partitions and an empty one, with a border between queries."""
    starts = np.flatnonzero(np.diff(qid)) + 1
    middle = starts[np.searchsorted(starts, len(y) // 2)]
    borders = [0, middle, middle, len(y)]
    sizes = tuple(np.diff(borders).tolist())
    return [da.from_array(one, chunks=(sizes, *one.shape[1:])) for one in (X, y, qid, *more)]


def clone(model, **changes):
    return type(model)(**(model.get_params() | changes))


@pytest.mark.parametrize("name", SEARCHES)
def test_the_choice_is_that_of_memory(no_driver, name):
    model, rows, weighted, average = SEARCHES[name]
    X, y, qid = DATA[rows]
    weight = np.random.default_rng(1).random(len(y)) * (np.arange(len(y)) % 7 > 0)
    there, here = clone(model, average=average), clone(model, average=average)
    rows, labels, queries, weights = on_dask(X, y, qid, weight)
    there.fit(rows, labels, qid=queries, **({"sample_weight": weights} if weighted else {}))
    here.fit(X, y, qid=qid, **({"sample_weight": weight} if weighted else {}))
    assert there.rounds_.mode == "whole queries"
    np.testing.assert_allclose(there.alphas_, here.alphas_, rtol=1e-9)
    np.testing.assert_allclose(there.cv_errors_, here.cv_errors_, rtol=0, atol=1e-6)
    assert there.alpha_ == pytest.approx(here.alpha_)
    assert there.scoring_ == here.scoring_
    assert getattr(there, "cv_", "") in ("", "folds of queries")
    scale = np.abs(here.coef_).max()
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=2e-2 * scale)


def test_alpha_is_chosen_inside_a_fit(no_driver):
    rows, labels, queries = on_dask(*DATA["few"])
    X, y, qid = DATA["few"]
    there = RankRLS(alpha="auto").fit(rows, labels, qid=queries)
    assert there.alpha_ == pytest.approx(RankRLSCV(cv=5).fit(X, y, qid=qid).alpha_)


@pytest.mark.parametrize("name", ["few", "many"])
def test_samples_and_folds_are_those_of_memory(no_driver, name):
    X, y, qid = DATA[name]
    rows, labels, queries = on_dask(X, y, qid)
    there, here = remote_preferences(DaskDesign.of(rows), labels, queries), Preferences.from_scores(y, qid)
    lengths = rows.chunks[0]
    starts = np.cumsum([0, *lengths[:-1]])
    for fraction in (0.1, 0.5, 1.0):
        drawn = there.engine.execute(lambda fraction=fraction: there.sample(fraction).handles)
        found = np.concatenate([part + start for part, start in zip(drawn, starts, strict=True)])
        np.testing.assert_array_equal(found, here.sample(fraction))
    folds = there.pair_folds(3, seed=0)
    splits = QueryKFold(3, shuffle=True, random_state=0).split(X, here)
    for (train, test), (rows_train, rows_test) in zip(folds, splits, strict=True):
        assert (train.n_pairs, test.n_pairs) == (here[rows_train].n_pairs, here[rows_test].n_pairs)


def test_few_queries_and_folds_without_pairs_are_refused_as_in_memory(no_driver):
    X, y, qid = DATA["few"]
    rows, labels, queries = on_dask(X, y, qid)
    with pytest.raises(ValueError, match="100 folds need as many queries; got 12"):
        RankSVMCV(cv=100).fit(rows, labels, qid=queries)
    alone = np.where(qid == qid[0], y, 1.0)
    with pytest.raises(ValueError, match="No fold has pairs both in its training and in its test rows"):
        RankSVMCV(cv=2).fit(rows, on_dask(X, alone, qid)[1], qid=queries)


@pytest.mark.parametrize("options", [{"cv": QueryKFold(2)}, {"cv": 2, "scoring": "ndcg@10"}])
def test_other_folds_and_measures_bring_labels_to_the_driver(client, monkeypatch, options):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))
    X, y, qid = DATA["few"]
    rows, labels, queries = on_dask(X, y, qid)
    there = RankRLSCV([1.0, 0.1], **options).fit(rows, labels, qid=queries)
    here = RankRLSCV([1.0, 0.1], **options).fit(X, y, qid=qid)
    np.testing.assert_allclose(there.cv_errors_, here.cv_errors_)
