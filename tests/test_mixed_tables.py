"""Tables with words, booleans, dates and gaps, as text and as frames."""

import datetime
import importlib.util

import numpy as np
import pandas as pd
import pytest

from rankwise.io.table_columns import ANY_NUMBER, WORDS
from rankwise.io.tables import TableError, read_columns, read_table, read_text_columns, stacked

TEXT = """grape,price,organic,tasted,code,empty
merlot,8.5,true,2024-05-01,01,
"pinot, noir",,FALSE,2024-05-02T12:00,02,NA
,21,n/a,,01,null
syrah,1e1,True,2024-05-03,10,
"""
NAMES = ["grape", "price", "organic", "tasted", "code", "empty"]


HIDDEN = {"pandas": ("polars",), "polars": ("pandas", "pyarrow"), "pandas, csv": ("polars", "pyarrow")}


@pytest.fixture(params=HIDDEN)
def package(request, monkeypatch):
    """Leave only some of the packages to be found; the name is that of the frames."""
    find, hidden = importlib.util.find_spec, HIDDEN[request.param]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in hidden else find(name))
    return request.param.partition(",")[0]


def written(folder, text=TEXT, name="wines.csv"):
    path = folder / name
    path.write_text(text)
    return path


def values_of(frame):
    """The columns of a frame of pandas or polars as lists, with None for what is missing."""
    found = {}
    for name in list(frame.columns):
        values = frame[name].to_list()
        found[name] = [
            None if value is pd.NA or value is pd.NaT or value != value else value for value in values
        ]
    return found


def test_the_kinds_of_columns_of_text(tmp_path, package):
    frame, kinds = read_columns(written(tmp_path), NAMES).inferred(["code"])
    assert type(frame).__module__.startswith(package)
    assert kinds == [WORDS, "number", "boolean", "date", WORDS, "number"]
    found = values_of(frame)
    assert found["grape"] == ["merlot", "pinot, noir", None, "syrah"]
    assert found["price"] == [8.5, None, 21.0, 10.0]
    assert found["organic"] == [True, False, None, True]
    dates = [None if value is None else pd.Timestamp(value) for value in found["tasted"]]
    assert dates == [pd.Timestamp(2024, 5, 1), pd.Timestamp(2024, 5, 2, 12), None, pd.Timestamp(2024, 5, 3)]
    assert found["code"] == ["01", "02", "01", "10"]
    assert found["empty"] == [None] * 4


def test_the_columns_of_a_model(tmp_path, package):
    kinds = [["syrah", "merlot"], ANY_NUMBER, ANY_NUMBER, ANY_NUMBER, [1, 2, 3], "number"]
    found = values_of(read_columns(written(tmp_path), NAMES).known(kinds))
    assert found["grape"] == ["merlot", "pinot, noir", None, "syrah"]
    assert found["organic"] == [1.0, 0.0, None, 1.0]
    day = (datetime.date(2024, 5, 1) - datetime.date(1970, 1, 1)).days
    assert found["tasted"] == [day, day + 1.5, None, day + 2]
    assert found["code"] == [1, 2, 1, "10"]


def test_levels_that_are_no_words(tmp_path, package):
    path = written(tmp_path, "a,b,c\n1.0,TRUE,none\n2,false,x\n,,\n")
    found = values_of(read_columns(path, ["a", "b", "c"]).known([[1, 2], [True, False], ["none", "x"]]))
    assert found == {"a": [1, 2, None], "b": [True, False, None], "c": ["none", "x", None]}


def test_parquet_keeps_its_types(tmp_path, package):
    if importlib.util.find_spec("pyarrow") is importlib.util.find_spec("polars") is None:
        pytest.skip("neither pyarrow nor polars")
    table = pd.DataFrame(
        {
            "size": pd.Categorical(["s", "l", None], ["s", "m", "l"], ordered=True),
            "n": [1, 2, 3],
            "day": pd.to_datetime(["2024-05-01", None, "2024-05-02"]),
            "word": ["x", None, "7"],
        },
        index=[7, 3, 5],
    )
    table.to_parquet(tmp_path / "t.parquet")
    read = read_columns(tmp_path / "t.parquet", list(table.columns))
    frame, kinds = read.inferred(["n"])
    assert kinds == [WORDS, WORDS, "date", WORDS]
    assert values_of(frame)["n"] == ["1", "2", "3"]
    assert values_of(frame)["word"] == ["x", None, "7"]
    later = values_of(read.known([["s", "m", "l"], [1, 2], "date", [7]]))
    assert later["n"] == [1, 2, 3]
    assert later["word"] == ["x", None, 7]
    assert later["day"][1] is None
    with pytest.raises(TableError, match=r"t\.parquet, row 1: column 'word' is not a number \(it is 'x'\)"):
        read.chosen(["word"]).numbers()
    table.assign(n=[1.0, np.inf, np.nan]).to_parquet(tmp_path / "inf.parquet")
    with pytest.raises(TableError, match=r"inf\.parquet, row 2: column 'n' is not finite"):
        read_columns(tmp_path / "inf.parquet", ["n"]).inferred()
    twice = stacked([read, read])
    assert twice.shape == (6, 4)
    assert values_of(twice.inferred()[0])["size"] == ["s", "l", None] * 2


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        ("1 2 three 4", r"wines\.csv, row 3: column 'x' is not a number \(it is 'three'\), but most"),
        ("true false maybe true", r"row 3: column 'x' is not true or false \(it is 'maybe'\), but most"),
        ("2024-05-01 2024-13-01 2024-05-02", r"row 2: column 'x' is not a date \(it is '2024-13-01'\), but"),
        ("1,5 2,5 3", "Column 'x' has numbers with a decimal comma, such as '1,5'; write a point"),
        ("1 inf", r"row 2: column 'x' is not finite \(it is 'inf'\)"),
    ],
)
def test_columns_with_wrong_values(tmp_path, column, sentence):
    path = written(tmp_path, "x;y\n" + "".join(f"{value};1\n" for value in column.split()))
    table = read_columns(path, ["x"])
    with pytest.raises(TableError, match=sentence):
        table.inferred()
    if "inf" not in column:
        assert table.inferred(["x"])[1] == [WORDS]


def test_rows_of_several_files_are_named(tmp_path):
    tables = [
        read_columns(written(tmp_path, f"x\n1\n{word}\n3\n", f"{word}.csv"), ["x"]) for word in ("2", "b")
    ]
    with pytest.raises(TableError, match=r"b\.csv, row 2: column 'x' is not a number \(it is 'b'\)"):
        stacked(tables).inferred()
    with pytest.raises(TableError, match=r"b\.csv, row 2"):
        stacked(tables).known(["number"])
    with pytest.raises(TableError, match=r"gap\.csv, row 2: column 'x' is missing"):
        read_columns(written(tmp_path, "x,y\n1,1\n,1\n", "gap.csv"), ["x"]).numbers()
    pd.DataFrame({"x": ["b"]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(TableError, match="all text"):
        stacked([*tables, read_columns(tmp_path / "x.parquet", ["x"])])


def test_columns_that_a_table_lacks_or_has_twice(tmp_path):
    with pytest.raises(TableError, match="has no column 'z'; its columns are 'x', 'y'"):
        read_columns(written(tmp_path, "x,y\n1,1\n"), ["z"])
    with pytest.raises(TableError, match="more than one column 'x'"):
        read_columns(written(tmp_path, "x,x\n1,1\n"), ["x"])


@pytest.mark.parametrize(
    ("text", "separator"),
    [("x;y\n1,5;2\n", None), ('"x, m";y\n1;2\n', None), ("x|y\n1|2\n", "|"), ("x y\n1 2\n", " ")],
)
def test_other_separators(tmp_path, package, text, separator):
    path = written(tmp_path, text)
    assert read_text_columns(path, ["y"], separator) == {"y": ["2"]}
    table = read_table(path, label=None, features=["y"], separator=separator)
    np.testing.assert_array_equal(table.X, [[2.0]])


def test_quoted_fields_may_hold_separators_and_line_breaks(tmp_path, package):
    path = written(tmp_path, 'y,x\n1,"a;\nb"\n2,"c ""d"", e"\n')
    assert values_of(read_columns(path, ["x"]).inferred()[0]) == {"x": ["a;\nb", 'c "d", e']}
    assert read_table(path, label=None, features=["y"]).X.tolist() == [[1.0], [2.0]]
