"""The choice of alpha on Dask: the folds, the errors and the choice of memory, in shared passes."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GroupKFold

from rankwise import Preferences, RankLogistic, RankLogisticCV, RankRLS, RankRLSCV, RankSVM, RankSVMCV
from rankwise.data.design import as_design
from rankwise.datasets import make_ranking
from rankwise.distributed import DaskDesign, whole_queries
from rankwise.losses import LeastSquares
from rankwise.model_selection import QueryKFold

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")

pytestmark = pytest.mark.filterwarnings("ignore::rankwise.model_selection.search.EdgeOfGridWarning")

MODELS = {
    "hinge": RankSVMCV(cv=3),
    "squared hinge": RankSVMCV(cv=3, loss="squared_hinge", tol=1e-6),
    "logistic": RankLogisticCV(cv=3, tol=1e-6),
    "least squares": RankRLSCV(cv=3),
    "least squares, no ties": RankRLSCV(cv=3, ties="drop", average="pairs"),
}
FEW, MANY = 240, 4800


def make_data(n_rows):
    X, y, qid = make_ranking(n_rows, 4, n_queries=n_rows // 20, n_levels=4, noise=1.0, random_state=0)
    return X + 2.0, y, np.sort(qid)


DATA = {n_rows: make_data(n_rows) for n_rows in (FEW, MANY)}


def clone(model):
    return type(model)(**model.get_params())


def on_dask(X, n_partitions=4):
    return da.from_array(X, chunks=(-(-len(X) // n_partitions) + 3, 2))


def assert_same_choice(model, X, rows, y, atol=1e-6, **columns):
    here = clone(model).fit(X, y, **columns)
    there = clone(model).fit(rows, y, **columns)
    np.testing.assert_allclose(there.alphas_, here.alphas_, rtol=1e-9)
    np.testing.assert_allclose(there.cv_errors_, here.cv_errors_, rtol=0, atol=atol)
    assert there.alpha_ == pytest.approx(here.alpha_)
    assert there.scoring_ == here.scoring_
    scale = np.abs(here.coef_).max()
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=2e-2 * scale)
    return there


@pytest.mark.parametrize("name", ["hinge", "logistic", "least squares"])
def test_the_choice_of_one_ranking_is_that_of_memory(name):
    X, y, _ = DATA[FEW]
    assert_same_choice(MODELS[name], X, on_dask(X), y)


@pytest.mark.parametrize(
    ("name", "n_rows"), [*((name, FEW) for name in MODELS), *((name, MANY) for name in list(MODELS)[:4])]
)
def test_the_choice_is_that_of_memory(name, n_rows):
    X, y, qid = DATA[n_rows]
    assert_same_choice(MODELS[name], X, on_dask(X), y, qid=qid)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("hinge", {"cv": GroupKFold(3)}),
        ("squared hinge", {"cv": QueryKFold(3), "scoring": "ndcg@10"}),
        ("logistic", {"cv": [(np.arange(FEW) % 2 == 0, np.arange(FEW) % 2 == 1)], "calibrated": True}),
        ("least squares", {"cv": GroupKFold(3), "pooled": True}),
        ("least squares", {"cv": QueryKFold(2), "alphas": [1e-2, 1.0, 1e-1]}),
    ],
)
def test_splitters_and_measures_are_those_of_memory(name, options):
    X, y, qid = DATA[FEW]
    model = clone(MODELS[name]).set_params(**options)
    assert_same_choice(model, X, on_dask(X), da.from_array(y), qid=da.from_array(qid))


def test_sparse_rows_and_explicit_pairs():
    X, y, qid = DATA[FEW]
    matrix = sp.csr_matrix(np.where(X > 2.5, X, 0.0))
    pieces = [dask.delayed(matrix[begin : begin + 50]) for begin in range(0, FEW, 50)]
    for name in ("squared hinge", "least squares"):
        assert_same_choice(MODELS[name], matrix, pieces, y, qid=qid)
    pairs = np.random.default_rng(0).integers(0, FEW, (400, 2))
    pairs = pairs[y[pairs[:, 0]] > y[pairs[:, 1]]]
    preferences = Preferences.from_pairs(*pairs.T, n_rows=FEW)
    for name in ("squared hinge", "least squares"):
        assert_same_choice(MODELS[name], X, on_dask(X), preferences)


def test_several_outputs_choose_as_in_memory():
    X, y, qid = DATA[FEW]
    labels = np.stack([y, X[:, 0].round()], axis=1)
    for options in ({}, {"ties": "drop", "alpha_per_output": True}):
        here, there = (RankRLSCV(cv=3, **options).fit(rows, labels, qid=qid) for rows in (X, on_dask(X)))
        np.testing.assert_allclose(there.alpha_, here.alpha_)
        np.testing.assert_allclose(there.cv_errors_, here.cv_errors_, atol=1e-9)


def test_columns_on_very_different_scales_have_the_grid_of_memory():
    X, y, qid = DATA[FEW]
    X = X * [1.0, 1.0, 1.0, 1e3]
    for model in (RankSVMCV(cv=2), RankRLSCV(cv=2)):
        grids = [clone(model).fit(rows, y, qid=qid).alphas_[0] for rows in (X, on_dask(X))]
        assert grids[1] == pytest.approx(grids[0], rel=1e-6)


@pytest.mark.parametrize("name", ["squared hinge", "least squares"])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_validation_rows_may_be_on_dask_or_in_memory(name, elsewhere):
    X, y, qid = DATA[FEW]
    train, test = slice(0, 160), slice(160, FEW)
    fitted = [
        clone(MODELS[name]).fit(
            on_dask(X[train]) if there else X[train],
            y[train],
            qid=qid[train],
            validation=(on_dask(X[test]) if there and elsewhere else X[test], y[test], qid[test]),
        )
        for there in (False, True)
    ]
    np.testing.assert_allclose(fitted[1].cv_errors_, fitted[0].cv_errors_, atol=1e-9)
    assert fitted[1].alpha_ == pytest.approx(fitted[0].alpha_)


@pytest.mark.parametrize("kind", [RankSVM, RankLogistic, RankRLS])
def test_alpha_auto_is_chosen_by_five_folds(kind):
    X, y, qid = DATA[FEW]
    found = kind(alpha="auto").fit(on_dask(X), y, qid=qid)
    searching = {RankSVM: RankSVMCV, RankLogistic: RankLogisticCV, RankRLS: RankRLSCV}[kind](cv=5)
    assert found.alpha_ == pytest.approx(searching.fit(X, y, qid=qid).alpha_)


@pytest.mark.parametrize("name", ["hinge", "logistic", "least squares"])
def test_workers_choose_as_in_memory(client, name, monkeypatch):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", 0)  # the final fit counts on the workers
    X, y, qid = DATA[MANY]
    assert_same_choice(MODELS[name], X, on_dask(X), y, qid=qid)


# What passes cost


@pytest.mark.parametrize("kind", [RankSVM, RankLogistic])
def test_eight_alphas_and_five_folds_take_the_rounds_of_a_few_fits(kind):
    X, y, qid = DATA[MANY]
    alphas = np.geomspace(1e-1, 1e-5, 8)
    searching = {RankSVM: RankSVMCV, RankLogistic: RankLogisticCV}[kind](alphas=alphas, cv=5)
    searched = searching.fit(on_dask(X), y, qid=qid).rounds_.rounds
    assert searched <= 6 * kind(alpha=searching.alpha_).fit(on_dask(X), y, qid=qid).rounds_.rounds


def test_least_squares_reads_the_rows_a_few_times_for_all_folds_and_alphas():
    X, y, qid = DATA[MANY]
    assert RankRLSCV(cv=5).fit(on_dask(X), y, qid=qid).rounds_.rounds <= 8


def test_equations_of_parts_add_up_to_those_of_all_rows():
    X, y, qid = DATA[FEW]
    parts = [np.flatnonzero(qid % 3 == k) for k in range(3)]
    design, here = DaskDesign.of(on_dask(X)), as_design(X)
    for cost in ("magnitude", "relative"):
        loss = LeastSquares(Preferences.from_scores(y, qid), cost=cost)
        found = design.equations_of_parts(loss, parts)
        for one, expected in zip(found, here.equations_of_parts(loss, parts), strict=True):
            np.testing.assert_allclose(one[0], expected[0], atol=1e-9)
            np.testing.assert_allclose(one[1], expected[1], atol=1e-9)
        np.testing.assert_allclose(
            sum(gram for gram, _ in found), design.normal_equations(loss)[0], atol=1e-9
        )


def test_one_pass_serves_several_vectors():
    X = DATA[FEW][0]
    design, generator = DaskDesign.of(on_dask(X)), np.random.default_rng(0)
    W, C = generator.standard_normal((3, 4)), generator.random((3, FEW))
    before = design.log.rounds
    np.testing.assert_allclose(design.matvecs(W), W @ X.T)
    np.testing.assert_allclose(design.rmatvecs(C), C @ X)
    assert design.log.rounds - before == 2
    rows = np.arange(0, FEW, 7)
    np.testing.assert_allclose(design.column_spread(rows), X[rows].std(axis=0))
    np.testing.assert_array_equal(design.sampled(rows).dense(), X[rows])


# What is refused


def test_what_needs_rows_in_memory_is_refused():
    X, y, qid = DATA[FEW]
    with pytest.raises(ValueError, match=r"cv='leave-query-out' needs all rows in one place.*use folds"):
        RankSVMCV(cv="leave-query-out", loss="squared_hinge").fit(on_dask(X), y, qid=qid)
    with pytest.raises(ValueError, match=r"cv='leave-pair-out' needs all rows in one place.*use folds"):
        RankRLSCV(cv="leave-pair-out").fit(on_dask(X), y)
    with pytest.raises(ValueError, match=r"A scorer takes rows in memory, but X is on Dask"):
        RankSVMCV(scoring=lambda model, X, y: 0.0).fit(on_dask(X), y, qid=qid)
    with pytest.raises(ValueError, match=r"X of validation has 3 features, but X has 4"):
        RankSVMCV().fit(on_dask(X), y, qid=qid, validation=(on_dask(X[:, :3]), y, qid))
    with warnings.catch_warnings(), pytest.raises(ValueError, match=r"kernel='rbf' needs all rows"):
        RankSVMCV(kernel="rbf").fit(on_dask(X), y)
