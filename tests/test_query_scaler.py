"""Scaling within queries: the textbook formulas, sparse rows, pipelines, model files and the command line."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from rankwise import RankRLS, RankSVM, export_model, load_model, save_model, scale_within_queries
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.io.svmlight import dump_svmlight
from rankwise.model_selection import QueryKFold
from rankwise.preprocessing import QueryScaler
from rankwise.report import Report
from sparse_forms import in_halves

METHODS = ("minmax", "standard", "rank")


def reference(X, qid, method):
    """Scale feature by feature and query by query."""
    scaled = np.zeros(X.shape)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        for k in range(X.shape[1]):
            x = X[rows, k]
            if len(np.unique(x)) == 1:
                continue
            if method == "minmax":
                scaled[rows, k] = (x - x.min()) / (x.max() - x.min())
            elif method == "standard":
                scaled[rows, k] = (x - x.mean()) / x.std()
            else:
                scaled[rows, k] = (rankdata(x, "min") - 1) / (len(x) - 1)
    return scaled


@st.composite
def tables(draw, smallest=-3):
    n, m = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    values = st.integers(smallest, 3).map(lambda v: v * 0.75)
    X = np.array(draw(st.lists(st.lists(values, min_size=m, max_size=m), min_size=n, max_size=n)))
    return X, np.array(draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n)))


@given(tables(), st.sampled_from(METHODS))
def test_each_query_is_scaled_by_its_own_rows(table, method):
    X, qid = table
    found = QueryScaler(method).fit_transform(X, qid=qid)
    np.testing.assert_allclose(found, reference(X, qid, method), atol=1e-12)


@given(tables(smallest=0), st.sampled_from(["minmax", "rank"]))
def test_sparse_rows_stay_sparse(table, method):
    X, qid = table
    found = QueryScaler(method).fit_transform(sp.csr_matrix(X), qid=qid)
    assert sp.issparse(found)
    assert found.nnz <= np.count_nonzero(X)
    np.testing.assert_allclose(found.toarray(), reference(X, qid, method), atol=1e-12)


@pytest.mark.parametrize("method", ["minmax", "rank"])
def test_entries_stored_in_parts_are_scaled_as_one(method):
    X, qid = np.array([[1.0, 0.0], [3.0, 2.0], [0.0, 5.0], [4.0, 5.0]]), [0, 0, 1, 1]
    given = in_halves(X)
    found = QueryScaler(method).fit_transform(given, qid=qid)
    np.testing.assert_allclose(found.toarray(), reference(X, np.array(qid), method))
    assert given.nnz == 2 * np.count_nonzero(X), "the caller's matrix is left alone"


@pytest.mark.parametrize("method", ["minmax", "rank"])
def test_features_of_sparse_rows_are_kept_apart_however_many_there_are(method):
    """Features times queries may pass the range of 32 bits."""
    narrow = np.array([[1.0, 10.0], [2.0, 30.0], [4.0, 20.0], [5.0, 60.0]] * 4)
    qid = np.repeat(np.arange(4), 4)
    entries = (
        narrow.ravel(),
        np.tile([3, 3 + 2**30], 16).astype(np.int32),
        np.arange(0, 33, 2, dtype=np.int32),
    )
    wide = QueryScaler(method).fit_transform(sp.csr_array(entries, shape=(16, 2**30 + 4)), qid=qid).tocoo()
    found = np.zeros((16, 2))
    found[wide.row, (wide.col > 3).astype(int)] = wide.data
    np.testing.assert_allclose(found, reference(narrow, qid, method), atol=1e-12)


def test_what_would_become_dense_is_refused_by_name():
    X = sp.csr_matrix([[0.0, 1.0], [-2.0, 3.0], [4.0, -5.0]])
    with pytest.raises(ValueError, match=r"feature 0 has zeros and the negative value -2 in one query"):
        QueryScaler().fit_transform(X, qid=[0, 0, 0])
    # In queries of one sign each there is nothing to refuse.
    found = QueryScaler().fit_transform(X, qid=[0, 1, 1]).toarray()
    np.testing.assert_array_equal(found, [[0, 0], [0, 1], [1, 0]])
    with pytest.raises(ValueError, match="would make sparse rows dense"):
        QueryScaler("standard").fit_transform(X, qid=[0, 0, 0])


def test_constant_features_are_zero_whatever_their_size():
    X = np.array([[0.1, 1e300], [0.1, 1e300], [0.1, 1e300], [7.0, 1.0]])
    for method in METHODS:
        assert (QueryScaler(method).fit_transform(X, qid=[0, 0, 0, 1]) == 0).all()


def test_names_frames_and_errors():
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "price": [5.0, 5.0, 9.0]})
    scaler = QueryScaler().fit(frame, qid=["a", "a", "b"])
    assert scaler.get_feature_names_out().tolist() == ["age", "price"]
    shown = QueryScaler().set_output(transform="pandas").fit_transform(frame, qid=["a", "a", "b"])
    assert list(shown.columns) == ["age", "price"]
    np.testing.assert_array_equal(shown.to_numpy(), scale_within_queries(frame, ["a", "a", "b"]))
    with pytest.raises(ValueError, match="fitted with qid, but transform got none"):
        scaler.transform(frame)
    with pytest.raises(ValueError, match="qid has length 2, but must have length 3"):
        scaler.transform(frame, qid=[0, 1])
    with pytest.raises(ValueError, match="method must be one of 'minmax', 'standard', 'rank'; got 'max'"):
        QueryScaler("max").fit(frame)


@pytest.mark.parametrize("method", METHODS)
def test_it_is_a_transformer_of_scikit_learn(method):
    # A row is scaled by the others that come with it: that is what it is for.
    by_batch = {"check_methods_subset_invariance": "a query is scaled by its own rows"}
    check_estimator(QueryScaler(method), expected_failed_checks=by_batch, on_skip=None)


@pytest.fixture(scope="module")
def rows():
    X, y, qid = make_ranking(240, 4, n_queries=24, n_levels=3, noise=0.3, random_state=0)
    offset = np.random.default_rng(0).uniform(1, 100, 24)
    return np.abs(X * offset[qid][:, None]) + offset[qid][:, None], y, qid


def test_pipelines_and_searches_pass_qid_on(rows):
    X, y, qid = rows
    scaled = QueryScaler("rank").fit_transform(X, qid=qid)
    ranker = RankRLS(0.1)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(QueryScaler("rank"), ranker).fit(X, y, qid=qid)
        np.testing.assert_array_equal(model.predict(X, qid=qid), ranker.predict(scaled))
        assert model.score(X, y, qid=qid) == ranker.score(scaled, y, qid=qid)
        with pytest.raises(ValueError, match="pass qid=qid"):
            model.predict(X)
        cv = QueryKFold(4)
        found = cross_val_score(model, X, y, cv=cv, params={"qid": qid})
        np.testing.assert_allclose(found, cross_val_score(ranker, scaled, y, cv=cv, params={"qid": qid}))
        search = GridSearchCV(model, {"queryscaler__method": METHODS}, cv=cv)
        search.fit(X, y, qid=qid)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_model_files_keep_it_and_exports_refuse_it(rows, tmp_path):
    X, y, qid = rows
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), QueryScaler("standard"), RankSVM()).fit(X, y, qid=qid)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict(X, qid=qid), model.predict(X, qid=qid))
        assert loaded[1].get_params() == {"method": "standard"}
    with pytest.raises(TypeError, match="QueryScaler scales by the other rows of a query"):
        export_model(model, None, "sql")


def test_a_report_scales_within_its_queries(rows):
    X, y, qid = rows
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(QueryScaler(), RankSVM()).fit(X, y, qid=qid)
        expected = model.score(X, y, qid=qid)
    report = Report(model, X, y, qid, models={"ridge": Ridge().fit(X, y)})
    assert 1 - report.measures["RankSVM"][0].mean == pytest.approx(expected, abs=1e-12)
    assert "Weight" in report.to_html()


@pytest.mark.parametrize("method", METHODS)
def test_the_command_line_scales_within_queries(rows, tmp_path, method, capsys):
    X, y, qid = rows
    data, model, scores = (str(tmp_path / name) for name in ("data.txt", "model.json", "scores.txt"))
    dump_svmlight(X, y, data, qid=qid)
    main(["train", data, "-o", model, "--scale", f"query-{method}", "--alpha", "0.01", "-q"])
    scaled = QueryScaler(method).fit_transform(X, qid=qid)
    expected = RankSVM(0.01, random_state=0, n_jobs=1).fit(scaled, y, qid=qid)
    main(["predict", model, data, "-o", scores, "-q"])
    np.testing.assert_allclose(np.loadtxt(scores), expected.predict(scaled), rtol=1e-6, atol=1e-9)
    capsys.readouterr()
    main(["evaluate", model, data])
    assert f"{1 - expected.score(scaled, y, qid=qid):.4f}" in capsys.readouterr().out
    main(["report", model, data, "-o", str(tmp_path / "report.html"), "-q"])


def test_the_command_line_tunes_behind_it_and_refuses_rows_without_queries(rows, tmp_path, capsys):
    X, y, qid = rows
    data, model = str(tmp_path / "data.txt"), str(tmp_path / "model.json")
    dump_svmlight(X, y, data, qid=qid)
    main(["train", data, "-o", model, "--scale", "query-rank", "--tune", "--alphas", "1,0.1", "-q"])
    assert isinstance(load_model(model)[0], QueryScaler)
    dump_svmlight(X, y, data)
    assert main(["train", data, "-o", model, "--scale", "query-rank", "-q"]) == 1
    assert "scales within queries, but the data has none" in capsys.readouterr().err
    assert main(["predict", model, data, "-q"]) == 1
    assert "scales features within queries" in capsys.readouterr().err
    assert main(["train", data, "-o", model, "--scale", "query-rank", "--method", "hull"]) == 2


@pytest.mark.parametrize("size", [1e308, 1e200, 1e155, 1e-155, 1e-200, 1e-307])
@pytest.mark.parametrize("method", METHODS)
def test_values_of_any_size_are_scaled(method, size):
    values, qid = np.array([[-1.0], [0.5], [1.5], [-1.5], [1.0], [0.7], [0.7]]), [0, 0, 0, 1, 1, 2, 2]
    expected = QueryScaler(method).fit_transform(values, qid=qid)
    np.testing.assert_allclose(
        QueryScaler(method).fit_transform(values * size, qid=qid), expected, atol=1e-15
    )
    if method != "standard":
        dense = sp.csr_array(values * size)
        np.testing.assert_allclose(
            QueryScaler(method).fit_transform(dense, qid=qid).toarray(), expected, atol=1e-15
        )


def test_the_largest_numbers_are_scaled():
    largest = np.finfo(np.float64).max
    rows = np.array([[-largest], [largest]])
    assert QueryScaler("minmax").fit_transform(rows).ravel().tolist() == [0.0, 1.0]
    assert scale_within_queries(rows, [0, 0]).ravel().tolist() == [0.0, 1.0]
    assert QueryScaler("standard").fit_transform(rows).ravel().tolist() == [-1.0, 1.0]
