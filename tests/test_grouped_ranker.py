"""Rankers of LightGBM, XGBoost and CatBoost with queries as `qid`: equal to fits by hand, in any tool."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import AutoRanker, GroupedRanker, Preferences
from rankwise.datasets import make_ranking
from rankwise.evaluation import compare
from rankwise.metrics import ranking_error
from rankwise.model_selection import QueryKFold
from rankwise.report import Report


def data():
    """Rows whose queries are in no order."""
    X, y, qid = make_ranking(300, 4, n_queries=20, n_levels=4, noise=0.5, random_state=0)
    order = np.random.default_rng(0).permutation(300)
    return X[order], y[order].astype(int), np.array([f"q{one}" for one in qid])[order]


class Recorder(BaseEstimator):
    """A ranker that keeps what its fit is given, and scores by the first column."""

    def predict(self, X):
        return np.asarray(X)[:, 0]


class OfLightGBM(Recorder):
    def fit(self, X, y, sample_weight=None, group=None, eval_set=None, eval_group=None):
        self.given_ = {"X": X, "y": y, "sample_weight": sample_weight, "group": group, "eval_set": eval_set}
        self.eval_group_ = eval_group
        return self


class OfXGBoost(Recorder):
    def fit(
        self, X, y, *, group=None, qid=None, sample_weight=None, eval_set=None, eval_qid=None, verbose=True
    ):
        self.given_ = {"X": X, "y": y, "sample_weight": sample_weight, "qid": qid, "eval_qid": eval_qid}
        return self


def test_rows_are_sorted_by_query_and_queries_are_given_as_the_ranker_takes_them():
    X, y, qid = data()
    names, query = np.unique(qid, return_inverse=True)
    order = np.argsort(query, kind="stable")
    weight = np.arange(1.0, 301.0)
    model = GroupedRanker(OfLightGBM())
    given = model.fit(
        X, y, qid=qid, sample_weight=weight, validation=(X[:50], y[:50], qid[:50])
    ).estimator_.given_
    np.testing.assert_array_equal(given["X"], X[order])
    np.testing.assert_array_equal(given["y"], y[order])
    np.testing.assert_array_equal(given["sample_weight"], weight[order])
    np.testing.assert_array_equal(given["group"], np.bincount(query))
    (sizes,) = model.estimator_.eval_group_
    np.testing.assert_array_equal(sizes, np.unique(qid[:50], return_counts=True)[1])
    given = GroupedRanker(OfXGBoost()).fit(X, y, qid=qid, sample_weight=query + 1.0).estimator_.given_
    np.testing.assert_array_equal(given["qid"], query[order])
    np.testing.assert_array_equal(given["sample_weight"], np.arange(len(names)) + 1.0)


def test_without_queries_all_rows_are_one():
    X, y, _ = data()
    assert GroupedRanker(OfLightGBM()).fit(X, y).estimator_.given_["group"].tolist() == [300]


def test_mistakes():
    X, y, qid = data()
    with pytest.raises(ValueError, match="differs within a query"):
        GroupedRanker(OfXGBoost()).fit(X, y, qid=qid, sample_weight=np.arange(300.0))
    with pytest.raises(TypeError, match="LinearRegression needs no GroupedRanker"):
        GroupedRanker(LinearRegression()).fit(X, y, qid=qid)
    with pytest.raises(TypeError, match="take no Preferences"):
        GroupedRanker(OfLightGBM()).fit(X, Preferences.from_scores(y))
    with pytest.raises(ValueError, match="X has 300 rows, but y has 299"):
        GroupedRanker(OfLightGBM()).fit(X, y[:-1])


def lightgbm_ranker(**parameters):
    lightgbm = pytest.importorskip("lightgbm")
    options = {"n_estimators": 8, "min_child_samples": 5, "n_jobs": 1, "verbose": -1, "random_state": 0}
    return lightgbm.LGBMRanker(**(options | parameters))


def xgboost_ranker():
    return pytest.importorskip("xgboost").XGBRanker(n_estimators=8, n_jobs=1, random_state=0)


def catboost_ranker():
    options = {"iterations": 8, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    return pytest.importorskip("catboost").CatBoostRanker(random_seed=0, **options)


def by_hand(ranker, X, y, query):
    """The scores of a ranker that is given rows sorted by query."""
    order = np.argsort(query, kind="stable")
    name = type(ranker).__name__
    sizes = {"group": np.bincount(query)} if name == "LGBMRanker" else {"qid": query[order]}
    if name == "CatBoostRanker":
        sizes = {"group_id": query[order]}
    return clone(ranker).fit(X[order], y[order], **sizes).predict(X)


@pytest.mark.parametrize("make", [lightgbm_ranker, xgboost_ranker, catboost_ranker])
def test_models_are_those_of_rows_sorted_by_hand(make):
    X, y, qid = data()
    model = GroupedRanker(make()).fit(X, y, qid=qid)
    query = np.unique(qid, return_inverse=True)[1]
    np.testing.assert_allclose(model.predict(X), by_hand(make(), X, y, query), rtol=1e-6)
    errors = ranking_error(y, model.predict(X), qid, per_query=True)
    assert model.score(X, y, qid=qid) == pytest.approx(1 - np.nanmean(errors))
    assert model.rank(X, qid).max() == np.bincount(query).max() - 1
    assert make is catboost_ranker or model.feature_importances_.shape == (4,)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    judged = GroupedRanker(make()).fit(
        X[:200], y[:200], qid=qid[:200], validation=(X[200:], y[200:], qid[200:])
    )
    assert judged.n_features_in_ == 4


def test_a_ranker_in_searches_pipelines_and_comparisons():
    X, y, qid = data()
    model = GroupedRanker(lightgbm_ranker())
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), model)
        found = cross_validate(pipeline, X, y, cv=QueryKFold(3), params={"qid": qid})
        search = GridSearchCV(model, {"estimator__num_leaves": [2, 8]}, cv=QueryKFold(3))
        search.fit(X, y, qid=qid)
    assert np.isfinite(found["test_score"]).all()
    assert search.best_params_["estimator__num_leaves"] in (2, 8)
    fitted = clone(model).fit(X, y, qid=qid)
    assert "LGBM" in str(compare(y, {"LGBM": fitted.predict(X), "first column": X[:, 0]}, qid))
    assert "<html" in Report(fitted, X, y, qid=qid).to_html()


def test_early_stopping_by_rows_of_other_queries():
    X, y, qid = data()
    lightgbm = pytest.importorskip("lightgbm")
    first = np.isin(qid, np.unique(qid)[:14])
    model = GroupedRanker(lightgbm_ranker(n_estimators=300)).fit(
        X[first],
        y[first],
        qid=qid[first],
        validation=[(X[~first], y[~first], qid[~first])],
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
    )
    assert model.estimator_.best_iteration_ < 300


def test_frames_keep_their_names():
    X, y, qid = data()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = GroupedRanker(lightgbm_ranker()).fit(frame, y, qid=qid)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(
        model.predict(frame), GroupedRanker(lightgbm_ranker()).fit(X, y, qid=qid).predict(X)
    )


def test_a_candidate_of_the_user_joins_the_search():
    X, y, qid = data()
    own = [("LambdaMART", GroupedRanker(lightgbm_ranker())), GroupedRanker(OfLightGBM()), "linear"]
    model = AutoRanker(None, candidates=own, cv=2, prefer="best").fit(X, y, qid=qid)
    tried = {row.model: row for row in model.tried_}
    assert tried["LambdaMART"].folds == tried["OfLightGBM"].folds == tried["linear"].folds == 2
    assert tried["LambdaMART"].family == "own"
    with pytest.raises(ValueError, match="names of families"):
        AutoRanker(None, candidates=[3]).fit(X, y, qid=qid)
