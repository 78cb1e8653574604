import gzip
import importlib.util
import struct

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyarrow import feather

from rankwise.io import table_formats
from rankwise.io.streams import DamagedFileError
from rankwise.io.tables import TableError, iter_table, read_table, read_text_columns

TABLE = pd.DataFrame(
    {
        "query": [3, 3, 5, 5, 5],
        "price": [80.5, 1 / 3, -2.0, 5e-324, 1e22],
        "label": [1, 0, 2, 1, 0],
        "stars": [4, 3, 5, 1, 2],
        "open": [True, False, True, True, False],
    }
)
FEATURES = ["price", "stars", "open"]


HIDDEN = {"all": (), "polars": ("pandas", "pyarrow"), "csv": ("pandas", "polars", "pyarrow")}


@pytest.fixture(params=HIDDEN)
def package(request, monkeypatch):
    """Hide packages; the reader of CSV and those of other formats are chosen by what is installed."""
    find, hidden = importlib.util.find_spec, HIDDEN[request.param]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in hidden else find(name))
    return request.param


def write(folder, suffix, table=TABLE):
    path = folder / f"table{suffix}"
    if suffix in TYPED and importlib.util.find_spec("pyarrow") is importlib.util.find_spec("polars") is None:
        pytest.skip("neither pyarrow nor polars")
    if suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif suffix in TYPED:
        feather.write_feather(pa.Table.from_pandas(table, preserve_index=False), path)
    else:
        table.to_csv(path, index=False, sep="\t" if ".tsv" in suffix else ",")
    return path


TYPED = (".parquet", ".arrow", ".feather")
SUFFIXES = pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".csv.xz", *TYPED])


@SUFFIXES
def test_columns_by_name(tmp_path, suffix, package):
    path = write(tmp_path, suffix)
    data = read_table(path, label="label", qid="query")
    assert data.feature_names == FEATURES
    np.testing.assert_array_equal(data.X, TABLE[FEATURES].to_numpy(dtype=float))
    assert data.y.tolist() == [1, 0, 2, 1, 0]
    assert data.qid.tolist() == [3, 3, 5, 5, 5]
    assert data.X.dtype == data.y.dtype == np.float64
    assert data.qid.dtype == np.int64
    chosen = read_table(str(path), label=None, features=["stars", "price"])
    np.testing.assert_array_equal(chosen.X, TABLE[["stars", "price"]].to_numpy())
    assert chosen.y is None
    assert chosen.qid is None


@SUFFIXES
@pytest.mark.parametrize(("chunk_rows", "sizes"), [(1, [2, 3]), (2, [2, 3]), (4, [2, 3]), (5, [5]), (9, [5])])
def test_chunks_end_at_query_borders(tmp_path, suffix, package, chunk_rows, sizes):
    path = write(tmp_path, suffix)
    chunks = list(iter_table(path, label="label", qid="query", chunk_rows=chunk_rows))
    assert [len(chunk.y) for chunk in chunks] == sizes
    whole = read_table(path, label="label", qid="query")
    for name in ("X", "y", "qid"):
        joined = np.concatenate([getattr(chunk, name) for chunk in chunks])
        np.testing.assert_array_equal(joined, getattr(whole, name))


def test_chunks_without_label_and_qid(tmp_path, package):
    path = write(tmp_path, ".csv")
    chunks = list(iter_table(path, label=None, features=["stars"], chunk_rows=2))
    assert [chunk.X.ravel().tolist() for chunk in chunks] == [[4, 3], [5, 1], [2]]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(["01", "2"], ["01", "2"]), (["7", "-3"], [7, -3]), (["a", "1"], ["a", "1"])],
)
def test_queries_in_csv_are_tokens(tmp_path, package, tokens, expected):
    path = tmp_path / "table.csv"
    path.write_text("q,y,x\n" + "".join(f"{token},1,1\n" for token in tokens))
    assert read_table(path, label="y", qid="q").qid.tolist() == expected


def test_queries_of_several_kinds_in_chunks(tmp_path, package):
    path = tmp_path / "table.csv"
    path.write_text("q,y,x\n1,1,1\n1,1,2\n1,1,3\na,1,4\n2,1,5\n")
    chunks = list(iter_table(path, label="y", qid="q", chunk_rows=2))
    assert [[str(q) for q in chunk.qid] for chunk in chunks] == [["1", "1", "1"], ["a", "2"]]


@SUFFIXES
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"label": "grade"}, "has no column 'grade'; its columns are 'query', 'price', 'label'"),
        ({"label": "label", "qid": "q"}, "has no column 'q'"),
        ({"label": "label", "features": ["price", "size"]}, "has no column 'size'"),
        ({"label": "label", "features": ["price", "label"]}, "column 'label' of .* more than once"),
        ({"label": "label", "features": []}, "no columns for features"),
    ],
)
def test_missing_columns_are_named(tmp_path, suffix, package, arguments, sentence):
    with pytest.raises(TableError, match=sentence):
        read_table(write(tmp_path, suffix), **arguments)


@SUFFIXES
@pytest.mark.parametrize(
    ("column", "values", "sentence"),
    [
        ("price", [1.0, None, 3.0, 4.0, 5.0], "row 2: column 'price' is missing."),
        (
            "price",
            [1.0, None, 3.0, None, np.inf],
            "row 2: column 'price' is missing; the table has 3 invalid entries.",
        ),
        ("price", [1.0, 2.0, np.inf, 4.0, 5.0], "row 3: column 'price' is not finite (it is 'inf')."),
        ("label", [1.0, 2.0, 3.0, 4.0, None], "row 5: column 'label' is missing."),
        ("query", ["a", None, "b", "b", "b"], "row 2: column 'query' is missing."),
    ],
)
@pytest.mark.parametrize("chunk_rows", [None, 1, 2])
def test_entries_that_are_no_numbers_are_named(
    tmp_path, suffix, package, column, values, sentence, chunk_rows
):
    path = write(tmp_path, suffix, TABLE.assign(**{column: pd.Series(values)}))
    assert outcome(path, chunk_rows, label="label", qid="query") == f"{path}, {sentence}"


def outcome(path, chunk_rows, **columns):
    """Return the features, or the sentence that refuses them."""
    try:
        if chunk_rows is None:
            return read_table(path, **columns).X.tolist()
        return [
            row for chunk in iter_table(path, **columns, chunk_rows=chunk_rows) for row in chunk.X.tolist()
        ]
    except TableError as error:
        return str(error)


def test_text_in_a_column_of_numbers_is_the_culprit(tmp_path, package):
    path = tmp_path / "table.csv"
    path.write_text("y,f\n0,0.5\n1,abc\n")
    sentence = f"{path}, row 2: column 'f' is not a number (it is 'abc')."
    assert outcome(path, None, label="y") == outcome(path, 1, label="y") == sentence
    path.write_text("y,f,g\n0,1,\nx,abc,2\n")
    sentence = f"{path}, row 1: column 'g' is missing; the table has 3 invalid entries."
    assert outcome(path, None, label="y") == outcome(path, 1, label="y") == sentence


WORDS = [
    "1",
    "-2.5",
    "1e3",
    "true",
    "False",
    "99999999999999999999",
    "abc",
    "",
    "inf",
    "1 0",
    "0x1",
    "NaN",
    "NA",
]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(*2 * [st.sampled_from(WORDS)]), min_size=1, max_size=6))
@example([("true", "1"), ("1", "False")])
def test_what_a_word_means_does_not_depend_on_the_rows_read_with_it(tmp_path, package, rows):
    path = tmp_path / "table.csv"
    path.write_text("f,g\n" + "".join(f"{f},{g}\n" for f, g in rows))
    whole = outcome(path, None, label=None)
    assert all(outcome(path, chunk_rows, label=None) == whole for chunk_rows in (1, 2, 3))
    wanted = {"1": 1.0, "-2.5": -2.5, "1e3": 1e3, "true": 1.0, "False": 0.0, "99999999999999999999": 1e20}
    if all(word in wanted for row in rows for word in row):
        assert whole == [[wanted[word] for word in row] for row in rows]
    else:
        row, column = next((i, k) for i, row in enumerate(rows) for k in (0, 1) if row[k] not in wanted)
        assert whole.startswith(f"{path}, row {row + 1}: column {'fg'[column]!r} is ")


def test_text_in_a_typed_file_is_no_number(tmp_path, package):
    path = write(tmp_path, ".parquet", TABLE.assign(price=["1", "2", "3", "4", "5"]))
    with pytest.raises(
        TableError,
        match=r"row 1: column 'price' is not a number \(it is '1'\); the table has 5 invalid entries",
    ):
        read_table(path, label="label", qid="query")


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
def test_csv_reads_the_nearest_double(tmp_path, package, values):
    path = tmp_path / "table.csv"
    path.write_text("x\n" + "".join(f"{value!r}\n" for value in values))
    X = read_table(path, label=None).X
    assert [struct.pack("<d", x) for x in X.ravel()] == [struct.pack("<d", value) for value in values]


@SUFFIXES
def test_a_table_without_rows(tmp_path, suffix, package):
    data = read_table(write(tmp_path, suffix, TABLE[:0]), label="label", qid="query")
    assert data.X.shape == (0, 3)
    assert len(data.y) == len(data.qid) == 0


def test_nullable_and_large_integers(tmp_path, package):
    if package == "csv":
        pytest.skip("neither pyarrow nor polars")
    path = tmp_path / "table.parquet"
    pl.DataFrame(
        {"q": [2**63, 1], "x": [1, 2], "y": [0.5, 1]}, schema_overrides={"q": pl.UInt64}
    ).write_parquet(path)
    assert read_table(path, label="y", qid="q").qid.tolist() == ["9223372036854775808", "1"]
    TABLE.astype({"stars": "Int64", "query": "Int64", "open": "boolean"}).to_parquet(path)
    data = read_table(path, label="label", qid="query")
    np.testing.assert_array_equal(data.X, TABLE[FEATURES].to_numpy(dtype=float))
    assert data.qid.tolist() == [3, 3, 5, 5, 5]


LARGE = 2**53


@pytest.mark.parametrize("kind", ["int64", "Int64", "uint64", "Decimal", "csv", "128 bits"])
@pytest.mark.parametrize("chunk_rows", [None, 1])
def test_labels_beyond_float_precision_raise_an_error(tmp_path, package, kind, chunk_rows):
    if package == "csv" and kind not in ("csv", "128 bits"):
        pytest.skip("neither pyarrow nor polars")
    path = tmp_path / ("table.csv" if kind in ("csv", "128 bits") else "table.parquet")
    labels = [LARGE + 1, 10**20 if kind == "128 bits" else 7, LARGE]
    if path.suffix == ".csv":
        path.write_text("y,x\n" + "".join(f"{label},1\n" for label in labels))
    elif kind == "Decimal":
        frame = pl.DataFrame({"y": labels, "x": [1, 2, 3]})
        frame.with_columns(pl.col("y").cast(pl.Decimal(20, 0))).write_parquet(path)
    else:
        pd.DataFrame({"y": pd.array(labels, dtype=kind), "x": [1, 2, 3]}).to_parquet(path)
    sentence = f"{path}: column 'y' has distinct integers above 2^53 that are equal as float64; use "
    assert outcome(path, chunk_rows, label="y").startswith(sentence)
    assert outcome(path, chunk_rows, label=None, features=["x"])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_within_float_precision_are_read(tmp_path, package, suffix):
    labels = [LARGE + 1, LARGE + 2, -LARGE, LARGE + 1]
    path = write(tmp_path, suffix, pd.DataFrame({"y": labels, "x": range(4)}))
    assert read_table(path, label="y").y.tolist() == [LARGE, LARGE + 2, -LARGE, LARGE]


def test_large_labels_beside_fractions(tmp_path, package):
    path = tmp_path / "table.csv"
    path.write_text(f"y,x\n{LARGE + 1},1\n{LARGE},2\n0.5,3\n")
    with pytest.raises(TableError, match=r"distinct integers above 2\^53 that are equal as float64"):
        read_table(path, label="y")
    path.write_text(f"y,x\n{LARGE}.0,1\n{LARGE},2\n0.5,3\n")
    assert read_table(path, label="y").y.tolist() == [LARGE, LARGE, 0.5]
    if package != "csv":
        fractions = pd.DataFrame({"y": [2.0**60, 2.0**60, 0.5], "x": range(3)})
        assert read_table(write(tmp_path, ".parquet", fractions), label="y").y[0] == 2.0**60


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n1,2,3,4\n", "a,b\n1,2,3\n1,2,3\n"])
def test_text_that_is_no_table(tmp_path, package, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=r"table\.csv"):
        read_table(path, label="a")


def test_a_damaged_packed_table(tmp_path, package):
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 10_000)[:50])
    with pytest.raises(DamagedFileError, match="is truncated"):
        read_table(path, label="y")


def test_the_index_of_a_frame_is_not_a_feature(tmp_path, package):
    frame = pd.DataFrame({"grade": [1, 0], "price": [2.5, 3.5]})
    frame.to_csv(tmp_path / "frame.csv")
    with pytest.raises(TableError, match="a column without a name, probably the index of a frame"):
        read_table(tmp_path / "frame.csv", label="grade")
    named = read_table(tmp_path / "frame.csv", label="grade", features=["price"])
    assert named.X.tolist() == [[2.5], [3.5]]


def test_wrong_arguments(tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.csv"):
        read_table(tmp_path / "table.xlsx", label="y")
    with pytest.raises(ValueError, match=r"path must end in \.csv"):
        read_table(tmp_path / "table.parquet.gz", label="y")
    with pytest.raises(ValueError, match="got the string 'price'"):
        read_table(write(tmp_path, ".csv"), label="label", features="price")
    with pytest.raises(ValueError, match="chunk_rows"):
        iter_table(write(tmp_path, ".csv"), label="label", chunk_rows=0)
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv", label="y")


def test_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path, ".parquet")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"Parquet files need .* pip install pyarrow"):
        read_table(path, label="label")
    assert read_table(write(tmp_path, ".csv"), label="label").y.tolist() == TABLE["label"].tolist()


def test_what_was_read_of_a_parquet_file_is_not_kept(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    numbers = np.random.default_rng(0).random(1_000_000)
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table({"y": numbers, "x": numbers}), path, row_group_size=10_000)
    before, held = pa.total_allocated_bytes(), []
    for _ in iter_table(path, label="y", chunk_rows=5000):
        held.append(pa.total_allocated_bytes() - before)
    assert len(held) == 200
    # Arrow reads some of it ahead, more if the machine is busy.
    assert max(held) < path.stat().st_size * 3 / 4


@pytest.mark.parametrize("label", ["y", "a"])
def test_a_column_that_occurs_twice_is_refused(tmp_path, label):
    path = tmp_path / "twice.csv"
    path.write_text("y,a,b,y\n1,2,3,4\n")
    with pytest.raises(TableError, match="more than one column 'y'"):
        read_table(path, label=label)


def test_dates_of_a_table_are_days(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "dates.parquet"
    dates = pandas.to_datetime(["1970-01-02 12:00", "1970-01-03 00:00"])
    pandas.DataFrame({"y": [0, 1], "s": dates.astype("datetime64[ms]"), "n": dates}).to_parquet(path)
    assert read_table(path, label="y").X.tolist() == [[1.5, 1.5], [2.0, 2.0]]


NUMBERS = ["1", "-2.5", "1e400", "-inf", "+4", "0x1", ".5", "5.", "9007199254740993", "1e-400", "01", "1_0"]
TEXTS = ["nan", "NA", "", "  7 ", '"3"', '"a,b"', '"x\ny"', "true", "é", "1 0", 'a"b', '"a""b"', '"a"b', " "]
TOKENS = [*NUMBERS, *TEXTS]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.lists(st.lists(st.sampled_from(TOKENS) | st.floats().map(repr), min_size=2, max_size=3), max_size=5),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
    st.sampled_from([b"", b"\xff,1"]),
)
@example([["1", "2"], ["3"]], "\n", b"", b"")
def test_python_and_pyarrow_read_the_same_text(tmp_path, rows, end, mark, damage):
    path = tmp_path / "table.csv"
    path.write_bytes(mark + end.join(["q,x", *map(",".join, rows)]).encode() + damage)

    def read():
        try:
            return read_text_columns(path, ["q", "x"]), outcome(path, None, label=None, qid="q")
        except TableError as error:
            return str(error)

    by_pyarrow = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        assert read() == by_pyarrow


def test_rows_of_other_lengths_are_named(tmp_path, package):
    path = tmp_path / "table.csv"
    for row, fields in (("1,2,3", "3 fields"), ("1", "1 field")):
        path.write_text(f"y,x\n1,2\n{row}\n")
        with pytest.raises(TableError, match=rf"table\.csv, row 2: {fields} for 2 columns\."):
            read_table(path, label="y")


def test_names_that_occur_twice_matter_only_if_they_are_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("y,a,b,a\n1,2,3,4\n")
    assert read_text_columns(path, ["b"]) == {"b": ["3"]}
    with pytest.raises(TableError, match="more than one column 'a'"):
        read_text_columns(path, ["a"])


def test_a_format_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(table_formats.FORMATS, ".psv", table_formats.TextFormat("PSV", "|"))
    path = tmp_path / "table.psv"
    path.write_text("y|x\n1|2.5\n")
    assert read_table(path, label="y").X.tolist() == [[2.5]]
    assert table_formats.is_table(path)
