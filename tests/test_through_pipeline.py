"""What people wrap a ranker in: pipelines, searches, weights by routing, and labels that are words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import rankwise
from rankwise import (
    BoostedRanker,
    HullRanker,
    OrdinalSVM,
    Preferences,
    RankLogistic,
    RankRLS,
    RankRLSCV,
    RankSVM,
    metrics,
)
from rankwise.datasets import make_ranking
from rankwise.evaluation import compare
from rankwise.model_selection import QueryKFold, leave_pair_out, permutation_test
from rankwise.preprocessing import QueryScaler
from rankwise.report import Report


@pytest.fixture(scope="module")
def rows():
    X, y, qid = make_ranking(200, 4, n_queries=20, n_levels=4, noise=0.5, random_state=0)
    return 10 * X + 3, y, qid


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("front", [[StandardScaler()], [MinMaxScaler(), StandardScaler()], [PCA(3)], []])
def test_ranks_and_reasons_go_through_a_pipeline(rows, front):
    X, y, _ = rows
    qid = np.arange(200) % 7
    model = make_pipeline(*front, RankSVM()).fit(X, y)
    scores = model.predict(X)
    found = rankwise.rank(model, X, qid)
    for query in range(7):
        mine = qid == query
        np.testing.assert_array_equal(np.argsort(found[mine]), np.argsort(-scores[mine], kind="stable"))
    names, parts = rankwise.explain_pair(model, X[3], X[8])
    assert len(names) == len(parts) == (3 if front and isinstance(front[0], PCA) else 4)
    assert parts.sum() == pytest.approx(scores[3] - scores[8])


def test_ranks_and_reasons_of_a_search_of_other_models_and_of_a_query_scaler(rows, routing):
    X, y, qid = rows
    search = GridSearchCV(make_pipeline(StandardScaler(), RankRLS()), {"rankrls__alpha": [1.0, 0.1]}, cv=3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    search.fit(frame, y)
    np.testing.assert_array_equal(rankwise.rank(search, frame), RankRLS.rank(search, frame))
    names, parts = rankwise.explain_pair(search, frame.iloc[[0]], frame.iloc[[1]])
    assert names == list("abcd")
    scores = search.predict(frame)
    assert parts.sum() == pytest.approx(scores[0] - scores[1])
    ridge = Ridge().fit(X, y)
    np.testing.assert_array_equal(np.argsort(rankwise.rank(ridge, X)), np.argsort(-ridge.predict(X)))
    scaled = make_pipeline(QueryScaler(), RankSVM()).fit(X, y, qid=qid)
    expected = scaled[-1].rank(QueryScaler().fit_transform(X, qid=qid), qid)
    np.testing.assert_array_equal(rankwise.rank(scaled, X, qid), expected)
    with pytest.raises(ValueError, match="QueryScaler needs all rows of a query"):
        rankwise.explain_pair(scaled, X[0], X[1])
    with pytest.raises(ValueError, match="RankRLS is not a sum over features"):
        rankwise.explain_pair(RankRLS(kernel="rbf").fit(X, y), X[0], X[1])


@pytest.mark.parametrize("model", [RankSVM(), RankRLS(), RankLogistic(), OrdinalSVM(), HullRanker()])
def test_sample_weight_is_routed_without_a_request(rows, routing, model):
    X, y, _ = rows
    weight = np.random.default_rng(0).uniform(0.2, 2, 200)
    splits = [(np.arange(100), np.arange(100, 200))]
    found = cross_validate(model, X, y, cv=splits, params={"sample_weight": weight})["test_score"]
    fitted = model.fit(X[:100], y[:100], sample_weight=weight[:100])
    assert found[0] == pytest.approx(fitted.score(X[100:], y[100:], sample_weight=weight[100:]), abs=1e-9)


WORDS = ["poor", "fair", "good", "best"]  # not in the order of the alphabet


def columns(y):
    words = np.array(WORDS)[y]
    return {
        "pandas": pd.Series(pd.Categorical(words, WORDS, ordered=True)),
        "polars": pl.Series(words).cast(pl.Enum(WORDS)),
    }


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.filterwarnings("ignore:All 2 candidates for alpha")
def test_ordered_words_are_labels_everywhere(rows, kind):
    X, y, qid = rows
    words = columns(y)[kind]
    for model in (RankSVM(), RankRLS(), RankLogistic(), RankRLSCV([1.0, 0.1], cv=3)):
        by_words, by_numbers = (clone_fit(model, X, labels, qid) for labels in (words, y))
        np.testing.assert_array_equal(by_words.coef_, by_numbers.coef_)
        assert by_words.score(X, words, qid=qid) == by_numbers.score(X, y, qid=qid)
    scores = X[:, 0]
    for measure in (metrics.ranking_error, metrics.ndcg, metrics.kendall_tau, metrics.pair_log_loss):
        assert measure(words, scores, qid) == measure(y, scores, qid)
    assert Preferences.from_scores(words, qid).n_pairs == Preferences.from_scores(y, qid).n_pairs
    models = {"a": scores, "b": X[:, 1]}
    assert repr(compare(words, models, qid)) == repr(compare(y, models, qid))
    few = slice(0, 30)
    assert (
        leave_pair_out(RankRLS(), X[few], words[few]).error == leave_pair_out(RankRLS(), X[few], y[few]).error
    )
    tests = [
        permutation_test(RankRLS(), X[few], one[few], n_permutations=9, random_state=0) for one in (words, y)
    ]
    assert tests[0].pvalue == tests[1].pvalue
    report = Report(RankSVM().fit(X, words, qid=qid), X, words, qid)
    assert (
        report.measures["RankSVM"][0].mean
        == Report(report.data.models["RankSVM"], X, y, qid).measures["RankSVM"][0].mean
    )
    assert "best" in report.to_html()


def clone_fit(model, X, y, qid):
    return sklearn.base.clone(model).fit(X, y, qid=qid)


def test_boosted_rankers_take_ordered_words(rows):
    pytest.importorskip("lightgbm")
    X, y, qid = rows
    found = [
        BoostedRanker(n_estimators=3).fit(X, labels, qid=qid).predict(X)
        for labels in (columns(y)["pandas"], y)
    ]
    np.testing.assert_array_equal(*found)


def test_words_without_an_order_are_refused_with_the_way_out(rows):
    X, y, _ = rows
    with pytest.raises(ValueError, match="convert text to an ordered categorical column"):
        RankSVM().fit(X, np.array(WORDS)[y])
    with pytest.raises(ValueError, match="convert text to an ordered categorical column"):
        metrics.ranking_error(pd.Series(np.array(WORDS)[y], dtype="category"), X[:, 0])


def test_searches_over_queries_take_ordered_words(rows, routing):
    X, y, qid = rows
    search = GridSearchCV(RankSVM(), {"alpha": [1.0, 0.01]}, cv=QueryKFold(3))
    by_words = search.fit(X, columns(y)["pandas"], qid=qid).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(by_words, search.fit(X, y, qid=qid).cv_results_["mean_test_score"])


def test_rows_of_a_frame_with_booleans_are_explained():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.random(40) < 0.5})
    model = RankSVM().fit(frame, frame.a + frame.b)
    names, parts = rankwise.explain_pair(model, frame.iloc[0], frame.iloc[1])
    table = pa.Table.from_pandas(frame)
    _, equal = rankwise.explain_pair(model, table.slice(0, 1), table.slice(1, 1))
    np.testing.assert_array_equal(equal, parts)
    assert names == ["a", "b"]
    first, second = (frame.iloc[k].to_numpy(dtype=float) for k in (0, 1))
    np.testing.assert_allclose(parts, model.coef_ * (first - second))


def test_the_features_of_a_kernel_behind_columns_are_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "c": rng.choice(["u", "v"], 80)})
    front = make_column_transformer((OneHotEncoder(), ["c"]), (StandardScaler(), ["a"]))
    kernel = RankRLS(kernel="laplacian", gamma="learned", n_components=20)
    y = frame.a + (frame.c == "u")
    page = Report(make_pipeline(front, kernel).fit(frame, y), frame, y).to_html()
    assert "standardscaler__a" in page
    assert "onehotencoder__c_u" in page
