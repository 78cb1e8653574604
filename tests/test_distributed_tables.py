"""Tables in parts: row groups, folders with partitions, words, dates and gaps, by the names of columns."""

import importlib.util
from itertools import pairwise

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankwise import CurveRanker, CurveRankerCV, RankRLS
from rankwise.distributed import fit_pipeline, from_files, gathered
from rankwise.io.tables import TableError, read_columns
from rankwise.preprocessing import TableEncoder

dask = pytest.importorskip("dask", reason="needs rankwise[dask]")
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

rng = np.random.default_rng(2)
X = np.round(rng.normal(size=(90, 3)), 3)
Y = np.round(2 * X[:, 0] + rng.normal(size=90))
NUMBERS = pd.DataFrame(X, columns=["a", "b", "c"]).assign(label=Y, qid=np.arange(90) // 15)
WORDS = NUMBERS.assign(
    b=np.where(rng.random(90) < 0.2, np.nan, X[:, 1]),
    grape=np.array(["merlot", "syrah", None], dtype=object)[rng.integers(0, 3, 90)],
    bottled=pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 40, 90), "D"),
    organic=rng.random(90) < 0.5,
)


def rows_of(data):
    return np.concatenate([block.X for block in dask.compute(*data.X.blocks)])


@pytest.mark.parametrize("cached", [False, True])
def test_row_groups_are_partitions(tmp_path, cached):
    NUMBERS.to_parquet(tmp_path / "all.parquet", row_group_size=20)
    options = {"cache": tmp_path / "copies"} if cached else {}
    for _ in range(2):
        data = from_files(tmp_path / "all.parquet", rows_per_partition=45, **options)
        assert data.X.lengths == [40, 40, 10]
        np.testing.assert_array_equal(rows_of(data), X)
        np.testing.assert_array_equal(data.y, Y)
        np.testing.assert_array_equal(data.qid, NUMBERS["qid"])
    assert from_files(tmp_path / "all.parquet", rows_per_partition=5).X.lengths == [20, 20, 20, 20, 10]
    assert from_files(tmp_path / "all.parquet").X.lengths == [90]
    with pytest.raises(ValueError, match="rows_per_partition"):
        from_files(tmp_path / "all.parquet", rows_per_partition=0)


def test_polars_reads_a_range_of_rows(tmp_path, monkeypatch):
    polars = pytest.importorskip("polars")
    NUMBERS.to_parquet(tmp_path / "all.parquet", row_group_size=20)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else find(name))
    data = from_files(tmp_path / "all.parquet", rows_per_partition=45)
    np.testing.assert_array_equal(rows_of(data), X)
    assert polars.read_parquet(tmp_path / "all.parquet").shape == (90, 5)


def test_folders_name_columns(tmp_path):
    for (qid, c), table in NUMBERS.assign(c=np.arange(90) % 2 * 0.5).groupby(["qid", "c"]):
        folder = tmp_path / "data" / f"qid={qid}" / f"c={c}"
        folder.mkdir(parents=True)
        table.drop(columns=["qid", "c"]).to_parquet(folder / "part-0.parquet", index=False)
    (tmp_path / "data" / "_SUCCESS").write_text("")
    data = from_files(tmp_path / "data")
    assert data.X.feature_names == ["a", "b", "c"]
    assert np.unique(data.qid).tolist() == [0, 1, 2, 3, 4, 5]
    order = np.lexsort((np.arange(90) % 2, NUMBERS["qid"]))
    np.testing.assert_array_equal(rows_of(data), np.column_stack([X[:, :2], np.arange(90) % 2 / 2])[order])
    np.testing.assert_array_equal(data.y, Y[order])
    same = from_files(str(tmp_path / "data" / "qid=*" / "*" / "*.parquet"), features=["b"])
    np.testing.assert_array_equal(rows_of(same), X[order][:, [1]])
    # A file by its own name has no columns of folders.
    (file, *_) = sorted((tmp_path / "data").rglob("*.parquet"))
    assert from_files(file).X.feature_names == ["a", "b"]


def test_values_of_folders_are_words_or_missing(tmp_path):
    for place, name in enumerate(["city=New%20York", "city=__HIVE_DEFAULT_PARTITION__", "city=Oslo"]):
        (tmp_path / name).mkdir()
        NUMBERS[30 * place : 30 * place + 30].to_csv(tmp_path / name / "rows.csv", index=False)
    data = from_files(tmp_path)
    frame = pd.concat(dask.compute(*data.X.blocks))
    assert frame["city"].value_counts(dropna=False).to_dict() == {"New York": 30, "Oslo": 30, None: 30}
    with pytest.raises(TableError, match="The folder of the query column 'city' has no value"):
        from_files(tmp_path, qid="city")


def write(table, folder, suffix, borders=(0, 40, 90)):
    folder.mkdir(exist_ok=True)
    for number, (begin, end) in enumerate(pairwise(borders)):
        part = table[begin:end] if number == 0 else table[begin:end][table.columns[::-1]]
        path = folder / f"{number}.{suffix}"
        part.to_parquet(path) if suffix == "parquet" else part.to_csv(path, index=False)
    return folder


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_words_dates_and_gaps_are_those_of_memory(tmp_path, suffix):
    table = WORDS.copy()
    table.loc[:39, "b"] = np.nan  # no value in the first part
    features = ["a", "b", "c", "grape", "bottled", "organic"]
    whole = write(table, tmp_path / "whole", suffix, (0, 90)) / f"0.{suffix}"
    here, kinds = read_columns(whole, features).inferred()
    data = from_files(write(table, tmp_path / "parts", suffix))
    assert data.X.feature_names == features
    assert data.kinds == kinds
    for frame, begin, end in zip(dask.compute(*data.X.blocks), (0, 40), (40, 90), strict=True):
        pd.testing.assert_frame_equal(frame, here[begin:end].reset_index(drop=True))
    pipeline = make_pipeline(TableEncoder(), StandardScaler(), RankRLS(1e-2))
    there = fit_pipeline(pipeline, data.X, data.y, qid=data.qid)
    expected = make_pipeline(TableEncoder(), StandardScaler(), RankRLS(1e-2))
    expected[-1].fit(expected[:-1].fit_transform(here), Y, qid=NUMBERS["qid"])
    np.testing.assert_allclose(there.predict(here), expected.predict(here), atol=1e-9)
    curves = CurveRanker(1e-2, n_bins=4).fit(here, Y, qid=NUMBERS["qid"])
    np.testing.assert_array_equal(gathered(curves.predict(data.X)), curves.predict(here))
    for model in (curves, CurveRanker(), CurveRankerCV()):
        with pytest.raises(
            ValueError, match=r"CurveRanker(CV)? needs all rows in one place.*lazy_predictions"
        ):
            model.fit(data.X, data.y, qid=data.qid)
    with pytest.raises(
        ValueError, match=r"strings or categories in 'grape', but a linear model.*fit_pipeline"
    ):
        RankRLS().fit(data.X, data.y)


def test_columns_that_are_taken_as_words(tmp_path):
    codes = NUMBERS.assign(c=np.arange(90) % 3)
    data = from_files(write(codes, tmp_path / "parts", "csv"), categorical=["c"])
    encoder = fit_pipeline(make_pipeline(TableEncoder(), RankRLS()), data.X, data.y, qid=data.qid)[0]
    assert encoder.categories_ == {2: ["0", "1", "2"]}
    with pytest.raises(TableError, match=r"0\.csv has no column 'z'"):
        from_files(tmp_path / "parts", categorical=["z"])


def test_kinds_of_parts_are_joined(tmp_path):
    parts = {"0.csv": "label,x,u,d\n1,1.5,red,true\n2,,2,false\n", "1.csv": "u,d,x,label\n7,3,4,0\n,1,2,1\n"}
    for name, text in parts.items():
        (tmp_path / name).write_text(text)
    data = from_files(tmp_path / "*.csv")
    assert data.kinds == ["number", "words", "number"]
    first, second = dask.compute(*data.X.blocks)
    assert first["d"].tolist() == [1.0, 0.0]
    assert second["u"].tolist() == ["7", None]
    (tmp_path / "1.csv").write_text("u,d,x,label\n7,3,2020-01-01,0\n")
    with pytest.raises(
        TableError,
        match=r"Column 'x' is a number in .*0\.csv, but a date in .*1\.csv; make it a column of one",
    ):
        from_files(tmp_path / "*.csv")


def test_a_missing_column_is_named_with_its_file(tmp_path):
    write(WORDS, tmp_path / "parts", "csv")
    table = WORDS.drop(columns="organic")
    table.to_csv(tmp_path / "parts" / "2.csv", index=False)
    with pytest.raises(TableError, match=r"2\.csv has no column 'organic'"):
        from_files(tmp_path / "parts")
    table.assign(organic=1, more=2).to_csv(tmp_path / "parts" / "2.csv", index=False)
    with pytest.raises(ValueError, match=r"2\.csv has the column 'more', which .*0\.csv has not"):
        from_files(tmp_path / "parts")
    NUMBERS.iloc[[3, 1, 2]].to_parquet(tmp_path / "index.parquet")
    with pytest.raises(TableError, match="has a column without a name, probably the index of a frame"):
        from_files(tmp_path / "index.parquet")
    with pytest.raises(ValueError, match="features must be a sequence of column names; got the string 'a'"):
        from_files(tmp_path / "parts", features="a")
