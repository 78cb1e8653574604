"""Measures of rows on Dask: the values of memory, wherever the borders of the partitions lie."""

import logging
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankwise import NoPairsError, Preferences, RankSVM
from rankwise.data.backends import backend_of
from rankwise.datasets import make_ranking
from rankwise.distributed import scatter
from rankwise.metrics import (
    average_precision,
    concordance_index,
    concordance_interval,
    disagreement_error,
    kendall_tau,
    ndcg,
    pair_log_loss,
    precision,
    ranking_error,
    reciprocal_rank,
    wmw,
)

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")

MEASURES = {
    "error": ranking_error,
    "error, ties wrong": partial(ranking_error, ties="error"),
    "error of pairs": partial(ranking_error, average="pairs"),
    "tau": kendall_tau,
    "ndcg": ndcg,
    "ndcg@2": partial(ndcg, k=2, gain="linear", undefined=0.0),
    "map": average_precision,
    "mrr": reciprocal_rank,
    "p@2": partial(precision, k=2),
    "log loss": pair_log_loss,
    "log loss of pairs": partial(pair_log_loss, average="pairs"),
}
GRADES = st.integers(0, 3).map(float)
SCORES = st.one_of(st.integers(-3, 3).map(float), st.floats(-3, 3))


@pytest.fixture(autouse=True)
def one_thread():
    """Tasks run in this thread: starting threads takes longer than they do."""
    with dask.config.set(scheduler="synchronous"):
        yield


def result_of(measure, *columns, **options):
    """Return the value of a measure, or the type of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return measure(*columns, **options)
        except (ValueError, NoPairsError) as error:
            return type(error) if isinstance(error, NoPairsError) else ValueError


def assert_same(found, expected, exact=False):
    if isinstance(expected, type):
        assert isinstance(found, type)
    else:
        np.testing.assert_allclose(found, expected, rtol=0, atol=0 if exact else 1e-12)


@st.composite
def parted_rows(draw, labels=GRADES):
    """Labels, scores, queries, and the number of rows of each partition, which may be 0."""
    lengths = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any))
    n_rows = sum(lengths)
    y, scores = (
        np.array(draw(st.lists(kind, min_size=n_rows, max_size=n_rows))) for kind in (labels, SCORES)
    )
    return y, scores, lengths, draw(st.integers(0, 10_000))


def queries_of(lengths, seed, kind):
    """Return queries: inside partitions, anywhere, or words."""
    part = np.repeat(np.arange(len(lengths)), lengths)
    inside = np.random.default_rng(seed).integers(0, 3, sum(lengths))
    if kind == "anywhere":
        return inside
    # The order of the queries is not that of the partitions.
    numbers = 3 * ((7 * part) % 5 + 5 * part) + inside
    return numbers if kind == "inside" else np.array([f"q{100 - number}" for number in numbers])


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=12, deadline=None)
@given(rows=parted_rows(), kind=st.sampled_from(["inside", "anywhere", "words"]), columns=st.integers(1, 7))
def test_queries_have_the_values_of_memory(name, rows, kind, columns):
    y, scores, lengths, seed = rows
    qid = queries_of(lengths, seed, kind)
    given_columns = [
        da.from_array(column, chunks=(tuple(lengths),)) if columns >> k & 1 else column
        for k, column in enumerate((scores, y, qid))
    ]
    there = given_columns[1], given_columns[0], given_columns[2]
    for options in ({}, {"per_query": True}):
        expected = result_of(MEASURES[name], y, scores, qid, **options)
        assert_same(result_of(MEASURES[name], *there, **options), expected)


@pytest.mark.parametrize("name", [name for name in MEASURES if "pairs" not in name])
@settings(max_examples=15, deadline=None)
@given(rows=parted_rows(labels=st.one_of(GRADES, st.floats(-2, 9))))
def test_one_ranking_has_the_value_of_memory(name, rows):
    y, scores, lengths, _ = rows
    there = (da.from_array(column, chunks=(tuple(lengths),)) for column in (y, scores))
    assert_same(result_of(MEASURES[name], *there), result_of(MEASURES[name], y, scores), exact=True)


@pytest.mark.parametrize("labels", ["grades", "distinct"])
def test_counts_of_many_rows_are_exact(labels):
    generator = np.random.default_rng(0)
    y = (
        generator.integers(0, 5, 20_000).astype(float)
        if labels == "grades"
        else generator.normal(size=20_000)
    )
    scores = np.round(y + generator.normal(size=len(y)), 2)
    there = [da.from_array(column, chunks=3_000) for column in (y, scores)]
    assert ranking_error(*there) == ranking_error(y, scores)
    assert kendall_tau(*there) == kendall_tau(y, scores)


@pytest.mark.parametrize("lengths", [(20, 20, 20), (15, 0, 15, 30), (17, 23, 20), (1,) * 60], ids=str)
@pytest.mark.parametrize("options", [{}, {"average": "pairs"}, {"per_query": True}], ids=str)
def test_weights_of_rows(lengths, options):
    """Queries are whole, a few are cut, or most are; a query and a partition have no weight."""
    generator = np.random.default_rng(1)
    y, qid = generator.integers(0, 3, 60).astype(float), np.arange(60) // 5
    scores, weight = generator.normal(size=60), generator.random(60) * 10.0 ** (qid % 4)
    weight[:20] = weight[55:] = 0.0
    there = [da.from_array(column, chunks=(lengths,)) for column in (y, scores, qid)]
    for measure in (ranking_error, pair_log_loss):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = measure(*there, sample_weight=da.from_array(weight, chunks=(lengths,)), **options)
            expected = measure(y, scores, qid, sample_weight=weight, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_weights_that_are_all_zero_are_refused():
    there = da.from_array(np.arange(6.0), chunks=3)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        ranking_error(there, there, np.arange(6) // 3, sample_weight=np.zeros(6))
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        ranking_error(there, there, np.arange(6) // 3, sample_weight=-np.ones(6))


def test_only_the_rows_of_cut_queries_are_collected(monkeypatch):
    generator = np.random.default_rng(4)
    y, scores = generator.integers(0, 3, 60).astype(float), generator.normal(size=60)
    words = np.array([f"q{number}" for number in 100 - np.arange(60) // 5])
    there = [da.from_array(column, chunks=((18, 22, 20),)) for column in (y, scores, words)]
    monkeypatch.setattr(type(backend_of(there[0])), "column", None)
    options = {"per_query": True, "undefined": "nan"}
    for measure in (ranking_error, kendall_tau, ndcg):
        np.testing.assert_allclose(measure(*there, **options), measure(y, scores, words, **options))


def test_measures_of_order_graphs_pairs_and_survival_times_collect_scores():
    generator = np.random.default_rng(2)
    y, scores, event = generator.integers(0, 3, 40).astype(float), generator.normal(size=40), np.ones(40)
    there = [dask.delayed(part) for part in np.split(scores, 4)]
    pairs = Preferences.from_pairs([0, 5, 30], [1, 20, 3], n_rows=40)
    survival = Preferences.from_survival(event, np.abs(generator.normal(size=40)))
    assert wmw(da.from_array(y, chunks=10), there) == wmw(y, scores)
    assert disagreement_error(pairs, there) == disagreement_error(pairs, scores)
    assert concordance_index(survival, there) == concordance_index(survival, scores)
    assert concordance_interval(survival, there) == concordance_interval(survival, scores)


def test_columns_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="The partitions have 4 rows, but a column in memory has 3"):
        ranking_error([1.0, 2.0, 3.0], da.zeros(4, chunks=2), [0, 0, 1, 1])


class Counted:
    """The bytes of the results of `map`."""

    def __init__(self, monkeypatch, kind):
        self.total, original = 0, kind.map

        def counted(parts, function, *common):
            results = original(parts, function, *common)
            self.total += sum(np.asarray(one, dtype=float).nbytes for result in results for one in result)
            return results

        monkeypatch.setattr(kind, "map", counted)


def test_workers_send_values_per_query_and_no_scores(monkeypatch):
    from rankwise.distributed.row_parts import DaskParts

    X, y, qid = make_ranking(3_000, n_features=3, n_queries=30, n_levels=3, random_state=0)
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    borders = np.searchsorted(qid, [10, 20, 30])
    rows = da.from_array(X, chunks=(tuple(np.diff([0, *borders])), 3))
    model = RankSVM().fit(X, y, qid=qid)
    counted = Counted(monkeypatch, DaskParts)
    monkeypatch.setattr(type(backend_of(rows)), "column", None)  # nothing is collected
    assert model.score(rows, y, qid=qid) == model.score(X, y, qid=qid)
    assert counted.total == 4 * 8 * 30


def test_a_client(tmp_path):
    X, y, qid = make_ranking(400, n_features=3, n_queries=8, n_levels=4, noise=0.5, random_state=0)
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    model = RankSVM().fit(X, y, qid=qid)
    expected = model.score(X, y, qid=qid), 1 - ranking_error(X[:, 0], model.predict(X))
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as cluster,
        distributed.Client(cluster),
    ):
        for rows in (scatter(X, n_partitions=3), da.from_array(X, chunks=(130, 3))):
            assert model.score(rows, y, qid=qid) == pytest.approx(expected[0], abs=1e-12)
            found = ranking_error(da.from_array(X[:, 0], chunks=130), model.predict(rows))
            assert 1 - found == expected[1]


def test_columns_with_other_partitions_are_refused():
    y = np.arange(6.0)
    one, other = ([dask.delayed(part) for part in np.split(y, [end])] for end in (2, 4))
    with pytest.raises(ValueError, match="a partition has 2 rows in one and 4 in another"):
        ranking_error(one, other, one)
