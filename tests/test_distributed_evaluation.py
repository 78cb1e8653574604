"""Evaluation, comparison and calibration of rows on Dask: the results of memory, without their scores."""

import logging
import multiprocessing
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import HullRanker, OrdinalSVM, Preferences, RankLogistic, RankSVM
from rankwise.core.threads import thread_count
from rankwise.data.backends import backend_of
from rankwise.datasets import make_ranking
from rankwise.distributed import scatter
from rankwise.evaluation import bootstrap, compare, evaluate, reliability, shown
from rankwise.preprocessing import QueryScaler
from rankwise.report import Report, quality, queries

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
COLLECTED = {
    WHOLE: [],
    CUT: [
        "Queries in several partitions: 1 of 12. Of their rows, 24 bytes per row were collected, 360 bytes."
    ],
    SHORT: [
        "A query is in several partitions: 8 bytes per row were collected, 1.92 kB; the features were not."
    ],
}


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
    n_bytes = {WHOLE: None, CUT: "40 bytes per row were collected, 600 bytes", SHORT: "32 bytes per row"}
    assert len(found.collected) == (lengths != WHOLE)
    assert all(n_bytes[lengths] in note for note in found.collected)


def test_one_ranking_and_preferences_collect_scores():
    model = MODELS["linear"]
    for y in (X[:, 0], Preferences.from_pairs([0, 5, 9], [1, 2, 200], n_rows=240)):
        found, expected = evaluate(model, rows_on_dask(), y), evaluate(model, X, y)
        assert_same_measures(found.measures, expected.measures)
        assert "8 bytes per row were collected" in found.collected[0]


@pytest.mark.parametrize("average", ["queries", "pairs"])
@pytest.mark.parametrize("weight", [None, np.arange(240.0) * (QID > 3)], ids=["equal", "weights"])
@pytest.mark.parametrize("lengths", COLLECTED)
def test_reliability_is_that_of_memory(average, lengths, weight):
    scores = RankLogistic().fit(X, Y, qid=QID).predict(X)
    options = {"average": average, "sample_weight": weight}
    found = reliability(Y, column_on_dask(scores, lengths), QID, **options)
    expected = reliability(Y, scores, QID, **options)
    assert found.n_pairs == expected.n_pairs
    for name in ("share", "stated", "observed", "log_loss"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-11)
    assert len(found.notes) == (lengths != WHOLE)
    assert expected.notes == []


def test_reliability_of_one_ranking_notes_its_scores():
    scores = RankLogistic().fit(X, Y).predict(X)
    found = reliability(Y, column_on_dask(scores))
    assert repr(found) == repr(reliability(Y, scores))
    assert found.notes == ["All rows are one ranking: 8 bytes per row were collected, 1.92 kB."]


def test_scaling_within_queries_needs_whole_queries():
    model = make_pipeline(QueryScaler(), RankSVM())
    model.fit(X, Y, queryscaler__qid=QID, ranksvm__qid=QID)
    found, expected = evaluate(model, rows_on_dask(), Y, qid=QID), evaluate(model, X, Y, qid=QID)
    assert_same_measures(found.measures, expected.measures)
    with pytest.raises(ValueError, match="'model' scales features within queries, so each query must be"):
        evaluate(model, rows_on_dask(CUT), Y, qid=QID)
    with pytest.raises(ValueError, match="'model' scales features within queries, so each query must be"):
        evaluate(model, rows_on_dask(CUT), Y, qid=0 * QID, measures="error")


def test_frames_on_dask():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = RankSVM().fit(frame, Y, qid=QID)
    table = dd.from_pandas(frame.assign(label=Y, query=QID), npartitions=3)
    found = evaluate(model, table[["a", "b", "c"]], table["label"], qid=table["query"])
    assert_same_measures(found.measures, evaluate(model, frame, Y, qid=QID).measures)
    with pytest.raises(ValueError, match="feature names"):
        evaluate(model, table[["a", "c", "b"]], table["label"], qid=table["query"])


@pytest.fixture
def few_listed(monkeypatch):
    """Pages that list four queries, and a sample of three."""
    monkeypatch.setattr(queries, "MAX_NAMED", 4)
    monkeypatch.setattr(quality, "LISTED", 2)
    monkeypatch.setattr(shown, "SAMPLED_QUERIES", 3)


@pytest.mark.parametrize("lengths", [WHOLE, CUT], ids=["whole queries", "one query cut"])
@pytest.mark.parametrize("name", ["linear", "pipeline", "grades"])
def test_a_report_fetches_the_rows_that_it_shows(name, lengths, few_listed, monkeypatch):
    models = {"one": X[:, 0]}
    expected = Report(MODELS[name], X, Y, QID, models=models, name=name, pair=(100, 101))
    there = {"one": column_on_dask(X[:, 0], lengths)}
    monkeypatch.setattr(type(backend_of(rows_on_dask())), "column", None)
    rows = rows_on_dask(lengths), column_on_dask(Y, lengths), column_on_dask(QID, lengths)
    found = Report(MODELS[name], *rows, models=there, name=name, pair=(100, 101))
    for one in (name, "one"):
        assert_same_measures(found.measures[one], expected.measures[one])
    assert found.headline() == expected.headline()
    assert found.baseline() == "50% is chance."  # a feature would need all rows
    assert len(np.unique(found.data.query)) < 12
    assert len(np.unique(found.sample.query)) == 3
    np.testing.assert_array_equal(found.data.X[found.data.row_numbers], X[found.data.numbers])
    for pattern in (r"<div id=.documents.>.*?</table>", r"<table id=.pair-table.*?</table>"):
        here, far = (re.findall(pattern, one.to_html(), re.DOTALL) for one in (expected, found))
        assert here
        assert far == here


def test_a_report_of_many_queries_in_several_partitions_collects_all_rows():
    expected = Report(MODELS["linear"], X, Y, QID)
    found = Report(MODELS["linear"], rows_on_dask(SHORT), Y, QID)
    assert_same_measures(found.measures["RankSVM"], expected.measures["RankSVM"])
    assert found.about["Rows on workers"] == (
        "All rows were collected, 5.76 kB, as a query is in several partitions."
    )
    found = Report(MODELS["linear"], rows_on_dask(CUT), Y, QID)
    assert found.about["Rows on workers"].endswith(COLLECTED[CUT][0])


def test_slices_of_rows_on_dask_are_refused(few_listed):
    with pytest.raises(ValueError, match="slices must be None for rows on Dask"):
        Report(MODELS["linear"], rows_on_dask(), Y, QID, slices={"topic": QID % 2})


def test_no_score_is_collected(monkeypatch):
    monkeypatch.setattr(type(backend_of(rows_on_dask())), "column", None)
    rows, qid = rows_on_dask(), column_on_dask(QID)
    evaluate(MODELS["linear"], rows, column_on_dask(Y), qid=qid)
    scores = MODELS["linear"].predict(rows)
    compare(column_on_dask(Y), {"model": scores, "one": rows[:, 0]}, qid)
    reliability(column_on_dask(Y), scores, qid)


def test_a_model_with_threads_has_one_in_a_daemon(monkeypatch):
    """Workers of Dask are daemons, and joblib would warn of processes in each of them."""
    assert thread_count(2) == 2
    monkeypatch.setattr(multiprocessing, "current_process", lambda: SimpleNamespace(daemon=True))
    assert thread_count(2) == 1


def test_workers_of_a_client_evaluate():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    model = MODELS["pipeline"]
    expected = evaluate(model, X, Y, qid=QID)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as cluster,
        distributed.Client(cluster),
    ):
        for rows in (rows_on_dask(), rows_on_dask(CUT), scatter(X, n_partitions=3)):
            assert_same_measures(evaluate(model, rows, Y, qid=QID).measures, expected.measures)
        table = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=1)
        named = RankSVM().fit(table.compute(), Y, qid=QID)
        assert "data-measure" in Report(named, table, Y, QID).to_html()
