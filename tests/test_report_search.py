"""The report for search: all models, and kinds of queries."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rankwise import RankSVM
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.evaluation.slices import slices_of
from rankwise.io.svmlight import dump_svmlight
from rankwise.metrics import ranking_error
from rankwise.report import Report

X, Y, QID = make_ranking(400, 4, n_queries=20, n_levels=4, noise=0.5, random_state=0)
MODEL = RankSVM().fit(X[:200], Y[:200], qid=QID[:200])


def cells(html, name):
    """The text of each cell of a table, by row."""
    body = re.search(rf'<table id="{name}".*?<tbody>(.*?)</tbody>', html, re.DOTALL)[1]
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in re.findall("<tr>(.*?)</tr>", body, re.DOTALL)
    ]


def fraction(text):
    """The number of a cell in per cent."""
    assert text.endswith("%")
    return float(text.removesuffix("%")) / 100


def report(**options):
    others = {"first feature": X[:, 0], "copy": MODEL.predict(X) * 2.0, "noise": np.sin(1e6 * X[:, 0])}
    return Report(MODEL, X, Y, QID, models=others, **options)


def test_the_best_model_is_bold():
    table = cells(report().to_html(), "models")
    assert [row[0] for row in table] == ["RankSVM", "first feature", "copy", "noise"]
    assert f"<strong>{table[0][1]}</strong>" in report().to_html()


def test_kinds_of_queries():
    topic = np.where(QID % 2 == 0, "web", "news")
    html = report(slices={"Topic": topic, "Number": QID * 1.0}).to_html()
    errors = ranking_error(Y, MODEL.predict(X), QID, per_query=True)
    names = np.unique(QID)
    for kind, n_queries, error, *_ in cells(html, "slice-1"):
        inside = (names % 2 == 0) == (kind == "web")
        assert int(n_queries) == inside.sum()
        assert fraction(error) == pytest.approx(1 - np.nanmean(errors[inside]), abs=6e-4)
    assert len(cells(html, "slice-2")) == 4  # quartiles
    assert sum(int(row[1]) for row in cells(html, "slice-2")) == 20


def test_slices_are_checked():
    with pytest.raises(ValueError, match=r"slices\['topic'\] must have one value for each of 400 rows"):
        report(slices={"topic": ["web"]})
    with pytest.raises(ValueError, match="different values; group them first"):
        Report(
            MODEL,
            np.tile(X, (4, 1)),
            np.tile(Y, 4),
            np.arange(1600) // 8,
            slices={"id": np.arange(1600).astype(str)},
        )


def test_one_ranking_has_no_such_sections():
    html = Report(MODEL, X, Y, models={"first": X[:, 0]}).to_html()
    assert "By kinds of" not in html
    assert slices_of(Report(MODEL, X, Y).data, {}) == []


def test_columns_of_rows_divide_the_pairs():
    frame = pd.DataFrame(X, columns=["bm25", "age", "links", "title"])
    frame["kind"] = np.where(X[:, 1] > 0, "old", "new")
    scores = MODEL.predict(X)
    for qid in (QID, None):
        html = Report(scores, frame, Y, qid, models={"first": X[:, 0]}, slices=["kind", "links"]).to_html()
        assert "By kinds of rows" in html
        number = 0 if qid is None else 1
        for kind, n_rows, *errors in cells(html, f"slice-{number}"):
            inside = (frame["kind"] == kind).to_numpy()
            assert int(n_rows) == inside.sum()
            group = None if qid is None else qid[inside]
            expected = [ranking_error(Y[inside], one[inside], group) for one in (scores, X[:, 0])]
            assert [1 - fraction(error) for error in errors] == pytest.approx(expected, abs=6e-4)
        quartiles = cells(html, f"slice-{number + 1}")
        assert [int(row[1]) for row in quartiles] == [100] * 4
    with pytest.raises(ValueError, match="slices names the column 'topic', which X does not have"):
        Report(scores, frame, Y, QID, slices=["topic"])


def test_a_column_that_is_the_same_in_each_query_divides_queries():
    data = Report(MODEL, X, Y, QID).data
    missing = np.where(QID % 3 == 0, np.nan, QID % 2)
    _, found = slices_of(data, {"third": missing})
    assert found.of_queries
    assert list(found.members()) == ["0", "1", "missing"]
    sparse = Report(MODEL, sparse_rows(), Y, QID)
    assert slices_of(sparse.data, "f2")[1].groups == slices_of(data, "f2")[1].groups


def sparse_rows():
    return sp.csr_array(X)


def test_the_command_divides_by_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(X, columns=["bm25", "age", "links", "title"]).assign(grade=Y, query=QID)
    table.to_csv("train.csv", index=False)
    table.assign(topic=np.where(QID % 2, "web", "news"), kind=np.where(X[:, 1] > 0, "old", None)).to_csv(
        "test.csv", index=False
    )
    columns = ["--label", "grade", "--qid", "query"]
    assert main(["train", "train.csv", "-o", "model.json", "-q", *columns]) == 0
    command = ["report", "model.json", "test.csv", "-o", "report.html", *columns]
    assert main([*command, "--slice", "topic,kind,age"]) == 0
    assert "50% is chance. The best single feature, " in capsys.readouterr().out
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [row[:2] for row in cells(html, "slice-1")] == [["news", "10"], ["web", "10"]]
    assert [row[0] for row in cells(html, "slice-2")] == ["missing", "old"]
    assert len(cells(html, "slice-3")) == 4
    assert main([*command, "--slice", "nothing"]) == 1
    assert "nothing" in capsys.readouterr().err


def test_the_command_divides_by_features_of_svmlight_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    dump_svmlight(X, Y, "rows.txt", qid=QID)
    assert main(["train", "rows.txt", "-o", "model.json", "-q"]) == 0
    command = ["report", "model.json", "rows.txt", "-o", "report.html", "-q"]
    assert main([*command, "--slice", "f2"]) == 0
    assert len(cells((tmp_path / "report.html").read_text(encoding="utf-8"), "slice-1")) == 4
    assert main([*command, "--slice", "topic"]) == 1
    assert "slices names the column 'topic'" in capsys.readouterr().err
