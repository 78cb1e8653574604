"""Labels and queries that stay on the workers: the same solutions, and nothing per row on the driver."""

from itertools import pairwise

import numpy as np
import pytest

from rankwise import Preferences, RankLogistic, RankRLS, RankSVM
from rankwise.data.design import Design
from rankwise.datasets import make_ranking
from rankwise.distributed import DaskDesign, whole_queries
from rankwise.distributed.groups import ranges_overlap
from rankwise.distributed.remote_labels import (
    RemotePreferences,
    local_labels,
    remote_preferences,
)
from rankwise.estimators.inputs import check_driver
from rankwise.losses import Hinge, Logistic, SquaredHinge

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")

N_ROWS, CHUNK = 480, 120
X, Y = make_ranking(N_ROWS, 4, n_levels=4, noise=1.0, random_state=0)
QID = np.arange(N_ROWS) // 20
WEIGHTS = np.random.default_rng(0).random(N_ROWS) * (np.arange(N_ROWS) % 7 > 0)
MODELS = {
    "hinge": RankSVM(1e-1, tol=1e-4),
    "squared hinge": RankSVM(1e-2, tol=1e-10, loss="squared_hinge"),
    "logistic": RankLogistic(1e-2, tol=1e-10),
}

SQUARES = {
    "magnitude": RankRLS(1e-2),
    "untied": RankRLS(1e-2, ties="drop"),
    "unit": RankRLS(1e-2, cost="unit"),
    "relative": RankRLS(1e-2, cost="relative", tol=1e-10),
    "primal of listed pairs": RankRLS(1e-2, cost="relative", solver="primal"),
    "cg": RankRLS(1e-2, solver="cg", tol=1e-10),
    "cg, untied": RankRLS(1e-2, ties="drop", solver="cg", tol=1e-10),
}
# Queries of 20 rows, some without pairs: with one label, one row, or one row of positive weight.
ODD_QID = np.where(np.arange(N_ROWS) % 40 == 7, 1000 + np.arange(N_ROWS), QID) + 10_000 * (
    np.arange(N_ROWS) // CHUNK
)
ODD_Y = np.where((QID % 5 == 2) | (QID // 6 == 1), 1.0, Y)


def clone(model, **changes):
    return type(model)(**(model.get_params() | changes))


def column(values):
    return da.from_array(values, chunks=CHUNK)


def pieces_of(values, borders=range(0, N_ROWS + 1, CHUNK)):
    return [dask.delayed(values[begin:end]) for begin, end in pairwise(borders)]


ROWS = da.from_array(X, chunks=(CHUNK, -1))


@pytest.mark.parametrize(("weighted", "average"), [(False, "queries"), (True, "pairs")])
@pytest.mark.parametrize("name", MODELS)
def test_the_solution_is_that_of_memory(no_driver, name, weighted, average):
    weights = {"sample_weight": WEIGHTS} if weighted else {}
    there, here = clone(MODELS[name], average=average), clone(MODELS[name], average=average)
    there.fit(ROWS, column(Y), qid=column(QID), **{key: column(value) for key, value in weights.items()})
    here.fit(X, Y, qid=QID, **weights)
    assert there.rounds_.mode == "whole queries"
    assert there.n_pairs_ == here.n_pairs_
    assert there.fitted_with_qid_
    tol = 1e-8 if name != "hinge" else 3e-2
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=0, atol=tol * np.abs(here.coef_).max())
    assert there.objective_ == pytest.approx(here.objective_, abs=MODELS[name].tol)


@pytest.mark.parametrize(
    ("name", "weighted", "average"),
    [
        *((name, True, "pairs") for name in SQUARES),
        *((name, weighted, "queries") for name in ("magnitude", "untied") for weighted in (False, True)),
    ],
)
def test_least_squares_are_those_of_memory(no_driver, name, weighted, average):
    weights = {"sample_weight": WEIGHTS} if weighted else {}
    there, here = clone(SQUARES[name], average=average), clone(SQUARES[name], average=average)
    there.fit(
        ROWS, column(ODD_Y), qid=column(ODD_QID), **{key: column(value) for key, value in weights.items()}
    )
    here.fit(X, ODD_Y, qid=ODD_QID, **weights)
    assert there.rounds_.mode == "whole queries"
    assert there.n_pairs_ == here.n_pairs_
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-8, atol=1e-10)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)


def test_the_normal_equations_take_few_bytes(no_driver):
    model = RankRLS(1e-2).fit(ROWS, column(Y), qid=column(QID))
    assert model.solver_ == "primal"
    assert model.rounds_.received < 2000


def test_several_outputs_are_brought_to_the_driver(client, monkeypatch):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))
    both = np.column_stack([Y, -Y])
    there = RankRLS(1e-2).fit(ROWS, pieces_of(both), qid=column(QID))
    np.testing.assert_allclose(there.coef_, RankRLS(1e-2).fit(X, both, qid=QID).coef_, rtol=1e-8)


def test_labels_whose_squares_overflow_are_refused(no_driver):
    with pytest.raises(ValueError, match="y has values as large as 1e\\+200"):
        RankRLS().fit(ROWS, column(np.where(Y > 1, 1e200, Y)), qid=column(QID))


def test_pairs_may_weigh_the_difference_of_labels(no_driver):
    model = clone(MODELS["logistic"], pair_weight="difference", average="pairs")
    there, here = clone(model).fit(ROWS, column(Y), qid=column(QID)), clone(model).fit(X, Y, qid=QID)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)


@pytest.mark.parametrize("kind", [Hinge, SquaredHinge, Logistic])
def test_the_loss_of_zero_scores_and_its_bounds_are_those_of_memory(no_driver, kind):
    design = DaskDesign.of(ROWS)
    remote = remote_preferences(design, column(Y), column(QID))
    _, there = whole_queries.whole_queries(design, kind(remote))
    here = kind(Preferences.from_scores(Y, QID))
    assert there.at_zero == pytest.approx(here.at_zero)
    assert there.bounds.at_zero == pytest.approx(here.bounds.at_zero)
    assert (remote.n_rows, remote.n_pairs, remote.n_queries) == (N_ROWS, here.preferences.n_pairs, 24)


def test_a_start_from_a_sample_is_drawn_on_the_workers(no_driver, monkeypatch):
    monkeypatch.setattr("rankwise.solvers.registry.MIN_ROWS", 100)
    monkeypatch.setattr("rankwise.solvers.registry.FRACTION", 0.5)
    model = MODELS["squared hinge"]
    there, here = clone(model).fit(ROWS, column(Y), qid=column(QID)), clone(model).fit(X, Y, qid=QID)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-5)


@pytest.mark.parametrize("model", [MODELS["squared hinge"], SQUARES["magnitude"], SQUARES["cg"]])
def test_words_name_queries_and_partitions_may_be_empty(no_driver, model):
    borders = [0, 0, 200, 200, 480]
    words = np.array([f"query {number:03}" for number in QID])
    pieces = [pieces_of(values, borders) for values in (X, Y, words)]
    there, here = clone(model).fit(*pieces[:2], qid=pieces[2]), clone(model).fit(X, Y, qid=QID)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)


@pytest.mark.parametrize("kind", [int, str, lambda number: (number,)])
def test_queries_need_no_order_if_they_are_few(no_driver, kind):
    names = np.empty(24, dtype=object)
    names[:] = [kind(number) for number in np.random.default_rng(1).permutation(24)]
    there = RankRLS(1e-2).fit(ROWS, column(Y), qid=column(names[QID]))
    np.testing.assert_allclose(there.coef_, RankRLS(1e-2).fit(X, Y, qid=QID).coef_, rtol=1e-8)


def test_frames(no_driver):
    pandas = pytest.importorskip("pandas")
    dataframe = pytest.importorskip("dask.dataframe")
    names = ["a", "b", "c", "d"]
    frame = pandas.DataFrame(X, columns=names).assign(label=Y, query=QID)
    table = dataframe.from_pandas(frame, npartitions=3, sort=False)
    model = MODELS["squared hinge"]
    there = clone(model).fit(table[names], table["label"], qid=table["query"])
    here = clone(model).fit(X, Y, qid=QID)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)
    assert there.feature_names_in_.tolist() == names


@pytest.mark.parametrize(
    ("y", "qid"),
    [
        (Y, column(QID)),
        (column(Y), QID),
        (column(Y), column(QID % 7)),
        (column(Y), column(np.arange(N_ROWS) // 50)),
        (da.from_array(Y, chunks=100), column(QID)),
        (da.from_array(Y, chunks=(120, 110, 130, 120)), column(QID)),
        (column(Y), column(np.where(np.arange(N_ROWS) % 2, QID, 1000 + np.arange(N_ROWS)))),
    ],
)
def test_columns_that_do_not_suit_are_brought_to_the_driver(client, monkeypatch, y, qid):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))
    assert remote_preferences(DaskDesign.of(ROWS), y, qid) is None


def test_queries_in_two_partitions_are_ranked_by_the_driver(client, monkeypatch):
    monkeypatch.setattr(whole_queries, "ROUND_BYTES", -(10**6))
    model, qid = MODELS["squared hinge"], np.arange(N_ROWS) // 50
    there, here = clone(model).fit(ROWS, column(Y), qid=column(qid)), clone(model).fit(X, Y, qid=qid)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-8)


def test_few_rows_are_ranked_by_the_driver(client):
    model = RankSVM(1e-1).fit(ROWS, column(Y), qid=column(QID))
    assert model.rounds_.mode == "scores"


def test_invalid_labels_are_refused_with_their_partition(no_driver):
    bad = Y.astype(float)
    bad[130] = np.nan
    with pytest.raises(ValueError, match=r"Partition 1: y contains NaN"):
        RankSVM().fit(ROWS, column(bad), qid=column(QID))
    with pytest.raises(ValueError, match=r"There is nothing to rank"):
        RankSVM().fit(ROWS, column(np.zeros(N_ROWS)), qid=column(QID))


def test_labels_are_ranked_again_when_results_were_lost(no_driver):
    design = DaskDesign.of(ROWS)
    placed, loss = whole_queries.whole_queries(
        design, Hinge(remote_preferences(design, column(Y), column(QID)))
    )
    w = np.ones(4)
    before = loss.plane(placed.matvec(w))[0]
    design.engine.generation += 1
    assert loss.plane(placed.matvec(w))[0] == before


def test_summaries_are_those_of_a_list_of_pairs():
    found = local_labels(Y[:60], QID[:60], WEIGHTS[:60], "difference")
    expected = Preferences.from_scores(Y[:60], QID[:60], WEIGHTS[:60], pair_weight="difference").pairs()
    assert found.summary.n_pairs == len(expected.weight)
    assert found.summary.mass == pytest.approx(expected.weight.sum())
    assert (found.summary.first, found.summary.last, found.summary.n_queries) == (0, 2, 3)


def test_ranges_that_share_a_border_overlap():
    assert not ranges_overlap([])
    assert not ranges_overlap([("b", "c"), ("a", "a")])
    assert ranges_overlap([(0, 9), (3, 4), (10, 11)])


def test_more_rows_than_one_ranking_holds_are_refused():
    design = Design((2**31 - 1, 3))
    design.location = "on Dask"
    with pytest.raises(
        ValueError, match=r"at most 2\^31 - 2 rows and takes about 50 bytes per row.*partitions of X"
    ):
        check_driver(design)


def test_pairs_on_workers_are_not_listed():
    remote = RemotePreferences(None, None, [])
    with pytest.raises(TypeError, match="cannot be listed"):
        remote.pairs()
    with pytest.raises(TypeError, match="have their weights"):
        remote.weighted([1.0])


def in_pieces(values):
    return [dask.delayed(values[begin : begin + 40]) for begin in (0, 40, 80)]


def few_rows():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(120, 3))
    return rows, np.clip(np.round(1.0 + rows[:, 0] + generator.normal(size=120)), 0.0, 2.0)


@pytest.mark.parametrize("kind", [RankSVM, RankRLS])
def test_the_weights_of_a_partition_may_all_be_zero(no_driver, kind):
    (X, y), qid, weight = few_rows(), np.repeat(np.arange(12), 10), np.repeat([0.0, 1.0], [40, 80])
    there = kind(0.1).fit(in_pieces(X), in_pieces(y), qid=in_pieces(qid), sample_weight=in_pieces(weight))
    here = kind(0.1).fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [RankSVM, RankRLS])
def test_labels_stay_on_the_workers_while_alpha_is_chosen(no_driver, monkeypatch, kind):
    monkeypatch.setattr("rankwise.estimators.alpha_choice.DEFAULT_FOLDS", 2)
    (X, y), qid = few_rows(), np.repeat(np.arange(12), 10)
    model = kind("auto", tol=0.1).fit(in_pieces(X), in_pieces(y), qid=in_pieces(qid))
    assert model.alpha_ > 0


def test_numbers_and_words_name_the_same_queries(client, monkeypatch):
    """As they do if the driver joins them."""
    (X, y), numbers = few_rows(), np.repeat([1, 2, 3, 4], 10)
    qid = [dask.delayed(numbers), dask.delayed(numbers.astype(str)), dask.delayed(np.repeat("x", 40))]
    found = []
    for size in (-(10**6), 10**9):
        monkeypatch.setattr(whole_queries, "ROUND_BYTES", size)
        found.append(RankSVM(0.1).fit(in_pieces(X), in_pieces(y), qid=qid).n_pairs_)
    assert found[0] == found[1]


@pytest.mark.parametrize("categories", [[2, 1, 0], ["low", "mid", "high"]])
def test_the_order_of_categories_is_kept(client, categories):
    (X, y), qid = few_rows(), np.repeat(np.arange(12), 10)
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    labels = pd.Series(pd.Categorical.from_codes(y.astype(int), categories=categories, ordered=True))
    expected = RankSVM(0.1).fit(X, y, qid=qid).coef_
    frame = dd.from_pandas(labels, npartitions=3, sort=False)
    for there in (in_pieces(labels), frame):
        np.testing.assert_allclose(RankSVM(0.1).fit(in_pieces(X), there, qid=qid).coef_, expected, rtol=1e-4)
