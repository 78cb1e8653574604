"""Evaluation, comparison and calibration of rows on Dask: the results of memory, without their scores."""

import multiprocessing
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import HullRanker, OrdinalSVM, Preferences, RankLogistic, RankSVM
from rankwise.core.backends import backend_of
from rankwise.core.threads import thread_count
from rankwise.datasets import make_ranking
from rankwise.distributed import scatter
from rankwise.estimators.temperature import fit_temperature
from rankwise.evaluation import bootstrap, compare, evaluate, reliability
from rankwise.metrics import concordance_interval, kendall_tau, ndcg, pair_log_loss, ranking_error, wmw
from rankwise.preprocessing import QueryScaler
from rankwise.report import Report

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
distributed = pytest.importorskip("distributed", reason="needs rankwise[dask]")
da = pytest.importorskip("dask.array", reason="needs rankwise[dask]")


@pytest.fixture(autouse=True)
def one_thread():
    """Tasks run in this thread: starting threads takes longer than they do."""
    with dask.config.set(scheduler="synchronous"):
        yield


def make_rows(n_levels=3):
    X, y, qid = make_ranking(240, n_features=3, n_queries=12, n_levels=n_levels, noise=0.7, random_state=1)
    order = np.argsort(qid, kind="stable")
    return X[order], y[order], qid[order]


X, Y, QID = make_rows()
WHOLE = tuple(np.diff([0, *np.searchsorted(QID, [3, 4, 9]), len(QID)]).tolist())
CUT = (50, 0, 100, 90)
SHORT = (10,) * 24  # shorter than queries
NOTE = "A query is in several partitions: 8 bytes per row were collected, 1.92 kB; the features were not."
COLLECTED = {WHOLE: [], CUT: [NOTE], SHORT: [NOTE]}


def rows_on_dask(lengths=WHOLE):
    return da.from_array(X, chunks=(lengths, 2))


def column_on_dask(column, lengths=WHOLE):
    return da.from_array(column, chunks=(lengths,))


def assert_same_measures(found, expected):
    assert [one.measure.name for one in found] == [one.measure.name for one in expected]
    for there, here in zip(found, expected, strict=True):
        assert there.units == here.units
        np.testing.assert_allclose(there.values, here.values, rtol=0, atol=1e-12)
        ends = [(one.mean, one.low, one.high) for one in (there, here)]
        np.testing.assert_allclose(*ends, rtol=0, atol=1e-12)


def fitted(model):
    return model.fit(X, Y) if isinstance(model, OrdinalSVM | HullRanker) else model.fit(X, Y, qid=QID)


MODELS = {
    "linear": fitted(RankSVM()),
    "pipeline": make_pipeline(StandardScaler(), RankSVM()).fit(X, Y, ranksvm__qid=QID),
    "grades": fitted(OrdinalSVM()),
    "order graph": fitted(HullRanker()),
    "kernel": fitted(RankSVM(kernel="rbf")),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("lengths", COLLECTED, ids=["whole queries", "one query cut", "most queries cut"])
def test_an_evaluation_is_that_of_memory(name, lengths):
    model = MODELS[name]
    found, expected = evaluate(model, rows_on_dask(lengths), Y, qid=QID), evaluate(model, X, Y, qid=QID)
    assert_same_measures(found.measures, expected.measures)
    assert (found.n_rows, found.n_queries) == (expected.n_rows, expected.n_queries)
    assert repr(found) == repr(expected)
    assert found.notes == expected.notes
    assert found.collected == COLLECTED[lengths]


@settings(max_examples=30, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any),
    seed=st.integers(0, 1000),
    labels=st.sampled_from(["grades", "numbers", "constant"]),
    n_queries=st.sampled_from([1, 2, 5]),
    is_cut=st.booleans(),
)
def test_any_rows_have_the_evaluation_of_memory(lengths, seed, labels, n_queries, is_cut):
    generator, n_rows = np.random.default_rng(seed), sum(lengths)
    part = np.zeros(n_rows, dtype=int) if is_cut else np.repeat(np.arange(len(lengths)), lengths)
    qid = 10 * ((3 * part) % 7) + generator.integers(0, n_queries, n_rows)
    y = {
        "grades": generator.integers(0, 4, n_rows).astype(float),
        "numbers": generator.normal(size=n_rows),
        "constant": np.zeros(n_rows),
    }[labels]
    scores = np.round(generator.normal(size=n_rows), 1)
    columns = [column_on_dask(column, tuple(lengths)) for column in (scores, y, qid)]
    rows = da.from_array(generator.normal(size=(n_rows, 1)), chunks=(tuple(lengths), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = evaluate(columns[0], rows, columns[1], qid=columns[2])
        expected = evaluate(scores, np.empty((n_rows, 1)), y, qid=qid)
    assert_same_measures(found.measures, expected.measures)
    assert found.notes == expected.notes


def test_rows_without_a_label_are_left_out():
    model = MODELS["grades"]
    labels = Y.astype(object)
    labels[[3, 100, 101]] = None
    found = evaluate(model, rows_on_dask(), labels, qid=QID)
    expected = evaluate(model, X, labels, qid=QID)
    assert_same_measures(found.measures, expected.measures)
    assert (found.n_rows, repr(found)) == (237, repr(expected))


@pytest.mark.parametrize("lengths", COLLECTED)
@pytest.mark.parametrize("has_queries", [True, False])
def test_words_as_labels_and_queries(lengths, has_queries, monkeypatch):
    monkeypatch.setattr(bootstrap, "MAX_ROWS", 0)  # one ranking is not resampled
    words = np.array(["bad", "fair", "good"], dtype=object)[Y.astype(int)]
    qid = np.array([f"q{number}" for number in 50 - QID], dtype=object) if has_queries else None
    model = OrdinalSVM(categories=["bad", "fair", "good"]).fit(X, words)
    there = None if qid is None else column_on_dask(qid, lengths)
    found = evaluate(model, rows_on_dask(lengths), column_on_dask(words, lengths), qid=there)
    expected = evaluate(model, X, words, qid=qid)
    assert_same_measures(found.measures, expected.measures)
    assert repr(found) == repr(expected)


@pytest.mark.parametrize("measures", [None, ["error", "mrr", "P(rel=2)@5", "log_loss"]])
@pytest.mark.parametrize("lengths", COLLECTED)
def test_a_comparison_is_that_of_memory(measures, lengths):
    scores = {"one": X[:, 0], "sum": X.sum(axis=1), "model": MODELS["linear"].predict(X)}
    there = {name: column_on_dask(column, lengths) for name, column in scores.items()}
    found = compare(Y, there, column_on_dask(QID, lengths), measures=measures)
    expected = compare(Y, scores, QID, measures=measures)
    assert repr(found) == repr(expected)
    for name in scores:
        assert_same_measures(found.measures[name], expected.measures[name])
    assert len(found.collected) == (lengths != WHOLE)
    assert all("32 bytes per row were collected" in note for note in found.collected)


def test_one_ranking_and_preferences_collect_scores():
    model = MODELS["linear"]
    for y in (X[:, 0], Preferences.from_pairs([0, 5, 9], [1, 2, 200], n_rows=240)):
        found, expected = evaluate(model, rows_on_dask(), y), evaluate(model, X, y)
        assert_same_measures(found.measures, expected.measures)
        assert "8 bytes per row were collected" in found.collected[0]


def test_functions_of_columns_collect_them():
    """Lists of delayed parts, arrays, and columns that were collected already."""
    scores, weight = RankLogistic().fit(X, Y, qid=QID).predict(X), np.arange(240.0)
    there = [dask.delayed(part) for part in np.split(scores, 4)]
    y, qid, weights = (column_on_dask(column, SHORT) for column in (Y, QID, weight))
    for measure in (ranking_error, pair_log_loss):
        expected = measure(Y, scores, QID, sample_weight=weight)
        assert measure(y, there, qid, sample_weight=weights) == expected
    for measure in (ndcg, kendall_tau):
        np.testing.assert_array_equal(
            measure(y, there, qid, per_query=True), measure(Y, scores, QID, per_query=True)
        )
    assert wmw(y, there) == wmw(Y, scores)
    survival = Preferences.from_survival(Y > 0, np.abs(X[:, 0]))
    assert concordance_interval(survival, there) == concordance_interval(survival, scores)
    assert repr(reliability(y, there, qid)) == repr(reliability(Y, scores, QID))
    assert fit_temperature(there, y, qid=qid) == fit_temperature(scores, Y, qid=QID)
    assert MODELS["linear"].score(rows_on_dask(SHORT), y, qid=qid) == MODELS["linear"].score(X, Y, qid=QID)


def test_scaling_within_queries_needs_whole_queries():
    model = make_pipeline(QueryScaler(), RankSVM())
    model.fit(X, Y, queryscaler__qid=QID, ranksvm__qid=QID)
    found, expected = evaluate(model, rows_on_dask(), Y, qid=QID), evaluate(model, X, Y, qid=QID)
    assert_same_measures(found.measures, expected.measures)
    with pytest.raises(ValueError, match="QueryScaler needs queries that lie whole in partitions"):
        evaluate(model, rows_on_dask(CUT), Y, qid=QID)


def test_frames_on_dask():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = RankSVM().fit(frame, Y, qid=QID)
    table = dd.from_pandas(frame.assign(label=Y, query=QID), npartitions=3)
    found = evaluate(model, table[["a", "b", "c"]], table["label"], qid=table["query"])
    assert_same_measures(found.measures, evaluate(model, frame, Y, qid=QID).measures)
    with pytest.raises(ValueError, match="feature names"):
        evaluate(model, table[["a", "c", "b"]], table["label"], qid=table["query"])


def test_a_report_needs_rows_in_memory():
    with pytest.raises(ValueError, match="A report needs all rows in memory, but X is on Dask; take"):
        Report(MODELS["linear"], rows_on_dask(), Y, QID)


def test_no_score_is_collected(monkeypatch):
    monkeypatch.setattr(type(backend_of(rows_on_dask())), "column", None)
    rows, qid = rows_on_dask(), column_on_dask(QID)
    evaluate(MODELS["linear"], rows, column_on_dask(Y), qid=qid)
    scores = MODELS["linear"].predict(rows)
    compare(column_on_dask(Y), {"model": scores, "one": rows[:, 0]}, qid)


def test_a_model_with_threads_has_one_in_a_daemon(monkeypatch):
    """Workers of Dask are daemons, and joblib would warn of processes in each of them."""
    assert thread_count(2) == 2
    monkeypatch.setattr(multiprocessing, "current_process", lambda: SimpleNamespace(daemon=True))
    assert thread_count(2) == 1


def test_workers_of_a_client_evaluate(client):
    model = MODELS["pipeline"]
    expected = evaluate(model, X, Y, qid=QID)
    with dask.config.set(scheduler=None):
        for rows in (rows_on_dask(), scatter(X, n_partitions=3)):
            assert_same_measures(evaluate(model, rows, Y, qid=QID).measures, expected.measures)
