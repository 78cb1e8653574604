"""Tables of mixed columns: what a column is, the encoder, and the errors of estimators that need numbers."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import (
    BoostedRanker,
    CurveRanker,
    RankLogistic,
    RankRLS,
    RankSVM,
    explain_pair,
    load_model,
    pair_data,
    save_model,
)
from rankwise.data.columns import kind_of
from rankwise.evaluation.names import feature_names
from rankwise.io.model_layout import ModelFileError
from rankwise.preprocessing import TableEncoder

DAY = datetime.date(2024, 5, 1)
COLUMNS = {
    "price": [8.0, None, 21.0, 12.0] * 25,
    "stars": [1, 2, 3, 4] * 25,
    "organic": [True, False, None, True] * 25,
    "grape": ["merlot", "syrah", None, "merlot"] * 25,
    "tasted": [DAY, None, DAY + datetime.timedelta(2), DAY] * 25,
}
Y = np.tile([0, 1, 3, 2], 25)
NAMES = [
    "price", "price is missing", "stars", "organic", "organic is missing", "grape=merlot", "grape=syrah",
    "grape is missing", "tasted", "tasted is missing",
]  # fmt: skip
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("library", FRAMES)
def test_columns_of_a_frame(library):
    encoder = TableEncoder().fit(FRAMES[library](COLUMNS))
    assert encoder.kinds_ == ["number", "number", "boolean", "category", "date"]
    assert encoder.get_feature_names_out().tolist() == NAMES
    assert encoder.source_columns_.tolist() == [0, 0, 1, 2, 2, 3, 3, 3, 4, 4]
    rows = encoder.transform(FRAMES[library](COLUMNS))
    day = float((DAY - datetime.date(1970, 1, 1)).days)
    np.testing.assert_array_equal(rows[0], [8, 0, 1, 1, 0, 1, 0, 0, day, 0])
    np.testing.assert_array_equal(rows[1], [12, 1, 2, 0, 0, 0, 1, 0, day, 1])
    np.testing.assert_array_equal(rows[2], [21, 0, 3, 1, 1, 0, 0, 1, day + 2, 0])


def test_all_libraries_give_the_same_numbers():
    encoders = {name: TableEncoder().fit(frame(COLUMNS)) for name, frame in FRAMES.items()}
    rows = [encoders[fitted].transform(frame(COLUMNS)) for fitted in FRAMES for frame in FRAMES.values()]
    for other in rows[1:]:
        np.testing.assert_array_equal(rows[0], other)


def test_an_ordered_category_is_one_column():
    sizes = pd.Categorical(["small", "large", None, "medium"], ["small", "medium", "large"], ordered=True)
    encoder = TableEncoder().fit(pd.DataFrame({"size": sizes}))
    assert encoder.get_feature_names_out().tolist() == ["size", "size is missing"]
    rows = encoder.transform(pd.DataFrame({"size": sizes}))
    assert rows.tolist() == [[0, 0], [2, 0], [1, 1], [1, 0]]


def test_levels_and_missing_values_that_the_fit_did_not_have():
    frame = pd.DataFrame({"grape": ["merlot", "syrah"], "price": [1.0, 3.0]})
    later = pd.DataFrame({"grape": ["zinfandel", None, "syrah"], "price": [None, 5.0, 6.0]})
    assert TableEncoder().fit(frame).transform(later).tolist() == [[0, 0, 2], [0, 0, 5], [0, 1, 6]]


def test_a_column_without_values_is_zero():
    frame = pd.DataFrame({"empty": [np.nan, np.nan], "x": [1.0, 2.0]})
    assert TableEncoder().fit_transform(frame).tolist() == [[0, 1, 1], [0, 1, 2]]


@pytest.mark.parametrize("library", FRAMES)
def test_names_and_text_are_refused_by_the_name_of_the_column(library):
    frame = FRAMES[library]({"x": range(300), "id": [f"W{k:05d}" for k in range(300)]})
    with pytest.raises(ValueError, match=r"Column 'id' has 300 different strings in 300 rows.*Leave it out"):
        TableEncoder().fit(frame)


def test_declared_categories_are_not_limited():
    frame = pd.DataFrame({"id": pd.Categorical([f"W{k:05d}" for k in range(300)])})
    assert TableEncoder().fit_transform(frame).shape == (300, 300)


def test_columns_of_several_types_are_refused():
    for values, message in (([1.0, "two"], "numbers and 'two'"), (["one", 2.0], "words and 2.0")):
        with pytest.raises(ValueError, match=f"Column 'x' holds {message}; make it a column of one type"):
            TableEncoder().fit(pd.DataFrame({"x": pd.Series(values * 3, dtype=object)}))
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0]}))
    with pytest.raises(ValueError, match="Column 'x' holds strings, but held a number in the fit"):
        encoder.transform(pd.DataFrame({"x": ["one", "two"]}))


def test_numbers_as_objects_are_numbers():
    assert kind_of(pd.Series([1, 2.5, None], dtype=object)) == "number"
    assert kind_of(pd.Series([None, None], dtype=object)) == "number"
    assert kind_of(pl.Series([1, None])) == "number"


def test_other_columns_than_those_of_the_fit_are_refused():
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0], "b": ["x"]}))
    with pytest.raises(ValueError, match="feature names"):
        encoder.transform(pd.DataFrame({"b": ["x"], "a": [1.0]}))


def table_pipeline():
    return make_pipeline(TableEncoder(), StandardScaler(), RankLogistic(alpha=1e-3))


@pytest.mark.parametrize("library", FRAMES)
def test_a_model_behind_the_encoder_is_saved_with_it(library, tmp_path):
    frame = FRAMES[library](COLUMNS)
    model = table_pipeline().fit(frame, Y)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded[0].get_feature_names_out().tolist() == NAMES


def test_a_damaged_encoder_is_refused(tmp_path):
    model = table_pipeline().fit(pd.DataFrame(COLUMNS), Y)
    model[0].kinds_[1] = "colour"
    save_model(model, tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="TableEncoder are inconsistent"):
        load_model(tmp_path / "model.json")


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("model", [RankSVM(), RankLogistic(), RankRLS(kernel="rbf")])
def test_estimators_of_numbers_name_the_column_and_the_way_out(library, model):
    frame = FRAMES[library](COLUMNS)
    way_out = r"make_pipeline\(rankwise.preprocessing.TableEncoder\(\), StandardScaler\(\)"
    with pytest.raises(
        ValueError, match=f"strings or categories in 'grape', but {type(model).__name__}.*{way_out}"
    ):
        model.fit(frame, Y)
    numbers = FRAMES[library]({name: COLUMNS[name] for name in ("price", "stars")})
    with pytest.raises(ValueError, match=f"missing values in 'price', but .*{way_out}"):
        model.fit(numbers, Y)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("model", [CurveRanker(), BoostedRanker(n_estimators=5, min_child_samples=5)])
def test_curves_and_trees_take_mixed_columns_as_they_are(library, model, tmp_path):
    frame = FRAMES[library](COLUMNS)
    model.fit(frame, Y)
    assert model.categories_ == {3: ["merlot", "syrah"]}
    save_model(model, tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(frame), model.predict(frame))


@pytest.mark.parametrize("library", FRAMES)
def test_the_levels_of_a_column_are_explained_as_one(library):
    frame = FRAMES[library](COLUMNS)
    model = table_pipeline().fit(frame, Y)
    names, parts = explain_pair(model, frame[2:3], frame[1:2])
    assert names == list(COLUMNS)
    after = model[:-1].transform(frame)
    pieces = model[-1].coef_ * (after[2] - after[1])
    np.testing.assert_allclose(parts[3], pieces[5:8].sum())
    scores = model.predict(frame)
    np.testing.assert_allclose(parts.sum(), scores[2] - scores[1])


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("model", [CurveRanker(), BoostedRanker(n_estimators=5, min_child_samples=5)])
def test_later_rows_may_have_any_number_of_unknown_words(library, model):
    model.fit(FRAMES[library](COLUMNS), Y)
    later = FRAMES[library](
        {**{name: values[:1] * 300 for name, values in COLUMNS.items()}, "grape": list(map(str, range(300)))}
    )
    missing = FRAMES[library](
        {name: values[:1] if name != "grape" else [None] for name, values in COLUMNS.items()}
    )
    np.testing.assert_array_equal(model.predict(later), np.repeat(model.predict(missing), 300))


def test_an_array_of_numbers_is_refused_if_the_fit_had_categories():
    encoder = TableEncoder().fit(np.array([[1.0, "merlot"], [2.0, "syrah"]], dtype=object))
    with pytest.raises(ValueError, match="column 1 held categories in the fit; pass a frame"):
        encoder.transform(np.ones((2, 2)))


def test_words_on_dask_are_refused_by_name():
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"price": np.arange(8.0), "grape": ["merlot", "syrah"] * 4})
    rows = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(
        ValueError, match="strings or categories in 'grape', but a linear model on Dask needs numbers"
    ):
        RankSVM().fit(rows, np.arange(8))
    with pytest.raises(ValueError, match=r"needs all rows in memory, but X is on Dask.*fit_pipeline"):
        TableEncoder().fit(rows)
    encoder = TableEncoder().fit(frame)
    meta = pd.DataFrame(encoder.transform(frame), columns=encoder.get_feature_names_out())
    encoded = rows.map_partitions(lambda part: meta.loc[part.index], meta=meta.head(0))
    expected = RankSVM().fit(meta, np.arange(8))
    np.testing.assert_allclose(RankSVM().fit(encoded, np.arange(8)).coef_, expected.coef_, atol=1e-6)


@pytest.mark.parametrize("library", FRAMES)
def test_results_know_columns_by_name(library):
    frame = FRAMES[library](COLUMNS)
    model = CurveRanker().fit(frame, Y)
    assert feature_names(frame, model, None, 5) == list(COLUMNS)
    numbers = FRAMES[library]({"size": np.arange(100.0), "price": np.arange(100.0) ** 2 % 7})
    turned = FRAMES[library]({"price": np.arange(100.0) ** 2 % 7, "size": np.arange(100.0)})
    found = RankSVM().fit(numbers, Y).inference(numbers, Y)
    assert found.names == ["size", "price"]
    with pytest.raises(ValueError, match="same columns in the same order"):
        pair_data(numbers, turned)
