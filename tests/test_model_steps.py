"""Model files with what people put in front of a ranker: searches, imputers, encoders and columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from rankwise import ModelFileError, RankRLS, RankSVM, load_model, save_model
from rankwise.io.model_file import model_info


@pytest.fixture(scope="module")
def table():
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.normal(size=(90, 3)), columns=["age", "dose", "weight"])
    frame["town"] = generator.choice(["Turku", "Oulu", "Ähtäri"], 90)
    frame["grade"] = generator.integers(0, 3, 90)
    y = frame["age"] + (frame["town"] == "Oulu") + generator.normal(0, 0.3, 90)
    frame.loc[::7, "dose"] = np.nan
    return frame, y.to_numpy()


NUMBERS = ["age", "dose", "weight"]


def fronts():
    impute = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return {
        "names": make_column_transformer(
            (impute, NUMBERS), (OneHotEncoder(drop="first"), ["town"]), ("passthrough", ["grade"])
        ),
        "dropped": ColumnTransformer(
            [("n", SimpleImputer(fill_value=-1.0, strategy="constant"), NUMBERS), ("g", "drop", ["grade"])],
            remainder=OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        ),
        "selected": make_column_transformer(
            (impute, make_column_selector(dtype_include="float")),
            (OrdinalEncoder(), ["town"]),
            remainder=MinMaxScaler(),
            verbose_feature_names_out=False,
        ),
        "weighted": ColumnTransformer(
            [("n", impute, NUMBERS), ("c", OneHotEncoder(), ["town", "grade"])],
            transformer_weights={"n": 2.0},
            sparse_threshold=1.0,
        ),
    }


@pytest.mark.parametrize("kind", fronts())
def test_columns_are_the_same_after_loading(table, tmp_path, kind):
    frame, y = table
    model = make_pipeline(fronts()[kind], RankSVM()).fit(frame, y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(loaded.predict(frame.iloc[::-1]), model.predict(frame.iloc[::-1]))
    front, expected = loaded[0], model[0]
    assert front.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    assert front.output_indices_ == expected.output_indices_
    assert front.sparse_output_ == expected.sparse_output_
    again = loaded.fit(frame, y)  # it can learn anew
    np.testing.assert_allclose(again.predict(frame), model.predict(frame), atol=1e-6)


def test_columns_by_number_slice_and_mask(table, tmp_path):
    frame, y = table
    X = frame[NUMBERS].fillna(0.0).to_numpy()
    for columns in (slice(0, 2), [2, 0], np.array([True, False, True])):
        front = ColumnTransformer([("a", RobustScaler(), columns)], remainder="passthrough")
        model = make_pipeline(front, MaxAbsScaler(), RankRLS()).fit(X, y)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("keep", [False, True])
def test_imputers_fill_as_before(table, tmp_path, strategy, keep):
    frame, y = table
    X = frame[NUMBERS].to_numpy(copy=True)
    X[:, 2] = np.nan  # a column without values is dropped, or kept as zeros
    front = SimpleImputer(strategy=strategy, keep_empty_features=keep)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Skipping features without any observed values")
        model = make_pipeline(front, RankRLS()).fit(X, y)
        save_model(model, tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_the_best_estimator_of_a_search_is_stored(table, tmp_path):
    frame, y = table
    front = fronts()["names"]
    search = GridSearchCV(
        Pipeline([("front", front), ("rank", RankRLS())]), {"rank__alpha": [10.0, 0.1]}, cv=3
    )
    search.fit(frame, y)
    save_model(search, tmp_path / "model.json", metadata={"from": "search"})
    loaded = load_model(tmp_path / "model.json")
    assert loaded["rank"].alpha == search.best_params_["rank__alpha"]
    np.testing.assert_array_equal(loaded.predict(frame), search.predict(frame))
    info = model_info(tmp_path / "model.json")
    assert info.feature_names == list(frame.columns)
    assert info.estimator == "ColumnTransformer > RankRLS"


@pytest.mark.parametrize("missing", [np.nan, 0, -1])
def test_imputers_indicate_the_columns_of_the_fit(missing, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    X[::7, 2] = X[3, 0] = missing
    model = make_pipeline(SimpleImputer(missing_values=missing, add_indicator=True), RankRLS()).fit(X, y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    X[:5, 1:3] = missing
    np.testing.assert_array_equal(loaded[0].transform(X), model[0].transform(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded[0].get_feature_names_out().tolist() == model[0].get_feature_names_out().tolist()


def test_what_a_file_cannot_hold_is_refused_by_name(table, tmp_path):
    frame, y = table
    X = frame[NUMBERS]

    def refused(front, words):
        with pytest.raises(ModelFileError, match=words):
            save_model(make_pipeline(front, RankRLS()).fit(X, y), tmp_path / "model.json")

    refused(make_pipeline(SimpleImputer(), FunctionTransformer(np.tanh)), "must be one of StandardScaler, .*")
    refused(
        make_column_transformer((OneHotEncoder(min_frequency=2), ["age"]), (SimpleImputer(), ["dose"])),
        "must not have min_frequency",
    )
    with pytest.raises(ModelFileError, match=r"must be one of .*RankSVM"):
        save_model(GridSearchCV(RankRLS(), {"alpha": [1.0]}), tmp_path / "model.json")
