"""The names of rows: from comments and columns to run files, positions and the report."""

import json

import numpy as np
import pandas as pd
import pytest

from rankwise.cli.main import main
from rankwise.io.trec import read_run
from rankwise.report import Report

LETOR = """2 qid:1 1:1 2:0 #docid = GX229-87 inc = 1 prob = 0.1
0 qid:1 1:0 2:1 #docid = GX016-32
1 qid:2 1:1 2:1 #docid = A
0 qid:2 1:0 2:3 #docid=B
"""
TABLE = 'query,doc,grade,f1,f2\n1,"x, y",2,1,0\n1,z,0,0,1\n2,w,1,1,1\n2,z,0,0,3\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text(LETOR)
    (tmp_path / "rows.csv").write_text(TABLE)
    assert main(["train", "rows.txt", "-o", "model.json", "-q"]) == 0
    return tmp_path


def test_a_run_has_the_documents_of_a_letor_file(folder, capsys):
    command = ["predict", "model.json", "rows.txt", "--format", "trec", "--run-name", "svm"]
    assert main([*command, "-o", "svm.run.gz"]) == 0
    run = read_run("svm.run.gz")
    assert run.docid.tolist() == ["GX229-87", "GX016-32", "A", "B"]
    assert (run.qid.tolist(), run.tag) == (["1", "1", "2", "2"], "svm")
    assert main(["predict", "model.json", "rows.txt", "-o", "scores.txt"]) == 0
    assert run.score.tolist() == [float(line) for line in (folder / "scores.txt").read_text().split()]


def test_rows_without_names_have_their_numbers(folder):
    (folder / "bare.txt").write_text("2 qid:1 1:0\n0 qid:1 1:1 #docid = A\n")
    assert main(["predict", "model.json", "bare.txt", "--format", "trec", "-o", "bare.run"]) == 0
    assert sorted(read_run("bare.run").docid.tolist()) == ["0", "1"]
    assert read_run("bare.run").tag == "rankwise"


def test_positions_have_the_names_of_rows(folder, capsys):
    assert main(["rank", "model.json", "rows.txt"]) == 0
    assert capsys.readouterr().out == "id,position\nGX229-87,1\nGX016-32,2\nA,1\nB,2\n"
    columns = ["--qid", "query", "--id", "doc", "--features", "f1,f2"]
    assert main(["rank", "model.json", "rows.csv", *columns]) == 0
    assert capsys.readouterr().out == 'id,position\n"x, y",1\nz,2\nw,1\nz,2\n'


def test_an_id_column_is_no_feature(folder, capsys):
    columns = ["--qid", "query", "--id", "doc", "--label", "grade"]
    assert main(["predict", "model.json", "rows.csv", *columns]) == 0
    scores = capsys.readouterr().out
    assert main(["predict", "model.json", "rows.txt"]) == 0
    assert capsys.readouterr().out == scores


def test_a_run_of_a_table(folder, capsys):
    (folder / "words.csv").write_text(TABLE.replace('"x, y"', "x"))
    columns = ["--qid", "query", "--id", "doc", "--label", "grade", "--format", "trec", "-o", "t.run"]
    assert main(["predict", "model.json", "words.csv", *columns, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 4
    assert read_run("t.run").docid.tolist() == ["x", "z", "w", "z"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["rows.txt", "--id", "doc"], 2, "--id is for tables"),
        (["rows.txt", "--run-name", "x"], 2, "--run-name is for run files; use --format trec"),
        (["rows.txt", "--format", "trec", "--utility"], 2, "--format trec writes scores"),
        (["rows.csv", "--format", "trec", "--features", "f1,f2"], 1, "needs the query of each row"),
        (
            ["rows.csv", "--format", "trec", "--qid", "query", "--id", "doc", "--features", "f1,f2"],
            1,
            "one word",
        ),
        (
            ["gap.csv", "--qid", "query", "--id", "doc", "--format", "trec"],
            1,
            "row 2: the column 'doc' of --id",
        ),
    ],
)
def test_what_has_no_name_is_refused(folder, capsys, arguments, code, message):
    (folder / "gap.csv").write_text("query,doc,f1,f2\n1,a,1,0\n1,,0,1\n")
    assert main(["predict", "model.json", *arguments, "-o", "out.run"]) == code
    assert message in capsys.readouterr().err


def test_the_report_calls_rows_by_their_names(folder):
    (folder / "wrong.txt").write_text(
        LETOR.replace("2 qid:1", "0 qid:1").replace("0 qid:1 1:0", "2 qid:1 1:0")
    )
    assert main(["report", "model.json", "wrong.txt", "-o", "report.html", "-q"]) == 0
    page = (folder / "report.html").read_text()
    assert (
        "Worst pair of query 1: GX229-87 (label 0) is above GX016-32 (label 2), but should be below it."
        in page
    )
    assert "GX229-87 is above GX016-32, against the labels (0 and 2): " in page
    assert "1. GX229-87, label 0, score" in page
    assert "row 0" not in page


def test_the_report_of_a_table_has_the_column_of_names(folder):
    columns = ["--qid", "query", "--id", "doc", "--label", "grade"]
    assert main(["report", "model.json", "rows.csv", "-o", "report.html", "-q", *columns]) == 0
    assert "x, y is above z, as the labels require" in (folder / "report.html").read_text()


@pytest.mark.parametrize("index", [["a<b", "b", "c", "d"], [7, 5, 3, 1], None])
def test_names_are_given_or_in_the_index_of_a_frame(index):
    frame = pd.DataFrame({"x": [3.0, 1.0, 0.0, 2.0]}, index=index)
    y, qid = [0, 1, 0, 2], [0, 0, 1, 1]
    page = Report(frame["x"].to_numpy(), frame, y, qid).to_html()
    named = index is not None and isinstance(index[0], str)
    found = "a&lt;b (label 0) is above b (label 1)" if named else "row 0 (label 0) is above row 1 (label 1)"
    assert found in page
    given = Report(frame["x"].to_numpy(), frame, y, qid, row_names=["A", "B", "C", "D"]).to_html()
    assert "A (label 0) is above B (label 1)" in given


def test_names_must_be_one_per_row():
    with pytest.raises(ValueError, match="row_names has 1 name, but X has 2 rows"):
        Report([1.0, 2.0], np.zeros((2, 1)), [0, 1], row_names=["a"])
