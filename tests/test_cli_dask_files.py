"""`predict` and `evaluate` with --dask: the results of memory from files."""

import re

import numpy as np
import pytest

from commands import assert_close, result_of
from rankwise.cli import dask
from rankwise.cli.main import main
from rankwise.cli.output import Console, Progress
from rankwise.datasets import dump_svmlight, make_ranking

pytest.importorskip("dask")
THREADS = ["--dask", "threads"]
PARTS = {"whole": (40, 40, 60, 90), "cut": (40, 55, 90)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows in one file and in parts, as text and as tables, and models; one part of "whole" is empty."""
    folder = tmp_path_factory.mktemp("parts")
    X, y, qid = make_ranking(90, n_features=4, n_queries=9, n_levels=3, noise=0.5, random_state=0)
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], np.arange(90) // 10
    write(folder, "all", X, y, qid)
    for name, ends in PARTS.items():
        for k, (begin, end) in enumerate(zip((0, *ends), ends, strict=False)):
            write(folder, f"{name}-{k}", X[begin:end], y[begin:end], qid[begin:end])
    train = ["train", str(folder / "all.txt"), "-q", "-o"]
    assert main([*train, str(folder / "model.json")]) == 0
    assert main([*train, str(folder / "logistic.json"), "--method", "rank-logistic", "--alpha", "0.1"]) == 0
    assert main([*train, str(folder / "scaled.json"), "--scale", "query-minmax"]) == 0
    assert main([*train, str(folder / "grades.json"), "--method", "ordinal-svm", "--calibrated"]) == 0
    table = ["train", str(folder / "all.csv"), "-q", "--label", "grade", "--qid", "query", "-o"]
    assert main([*table, str(folder / "table.json")]) == 0
    assert main(["predict", str(folder / "model.json"), str(folder / "all.txt"), "-q", "-o",
                 str(folder / "scores.txt")]) == 0  # fmt: skip
    return folder


def write(folder, name, X, y, qid):
    dump_svmlight(X, y, folder / f"{name}.txt", qid=qid)
    lines = [",".join(map(repr, [*row, label, query])) for *row, label, query in
             zip(*X.T.tolist(), y.tolist(), qid.tolist(), strict=True)]  # fmt: skip
    (folder / f"{name}.csv").write_text("\n".join(["a,b,c,d,grade,query", *lines]) + "\n")


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(
    "options",
    [["model.json"], ["logistic.json", "--per-query"], ["grades.json"], ["scores.txt"],
     ["model.json", "--compare", "logistic.json"], ["scores.txt", "--compare", "model.json"]],
    ids=" ".join,
)  # fmt: skip
def test_an_evaluation_is_that_of_memory(folder, parts, options, capsys):
    model, *others = [folder / word if "." in word else word for word in options]
    expected, _ = result_of(capsys, "evaluate", model, folder / "all.txt", *others)
    found, notes = result_of(capsys, "evaluate", model, folder / f"{parts}-*.txt", *others, *THREADS)
    assert_close(found, expected)
    assert ("A query is in several partitions: " in notes) == (parts == "cut")


def test_numbers_are_words_if_another_file_names_queries_by_words(folder, capsys, tmp_path):
    generator = np.random.default_rng(0)
    for name, queries in (("named-1", "123"), ("named-2", "34x"), ("named-3", "y1")):
        lines = [f"{label} qid:{query} 1:{label + generator.normal():.3f} 2:0 3:0 4:1"
                 for query in queries for label in (0, 1, 0, 1)]  # fmt: skip
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    files = sorted(tmp_path.glob("named-*.txt"))
    expected, _ = result_of(capsys, "evaluate", folder / "model.json", *files)
    found, _ = result_of(capsys, "evaluate", folder / "model.json", tmp_path / "named-*.txt", *THREADS)
    assert found["queries"] == expected["queries"] == 6
    files = {"data": None}
    assert_close(found | files, expected | files)


def test_tables_are_read_by_the_names_of_their_columns(folder, capsys):
    options = ["--label", "grade", "--qid", "query"]
    expected, _ = result_of(capsys, "evaluate", folder / "table.json", folder / "all.csv", *options)
    there = folder / "whole-[023].csv"
    found, _ = result_of(capsys, "evaluate", folder / "table.json", there, *options, *THREADS)
    assert_close(found, expected)


@pytest.mark.parametrize(
    "options", [["model.json"], ["scaled.json"], ["grades.json"], ["grades.json", "--proba"],
                ["grades.json", "--utility"]], ids=" ".join
)  # fmt: skip
def test_predictions_are_written_in_the_order_of_the_rows(folder, options, capsys, tmp_path):
    model, *others = options
    command = ["predict", str(folder / model)]
    assert main([*command, str(folder / "all.txt"), "-o", str(tmp_path / "here"), *others]) == 0
    there = [str(folder / "whole-*.txt"), "-o", str(tmp_path / "there"), *others, *THREADS]
    found, _ = result_of(capsys, *command, *there)
    assert found["rows"] == 90
    assert (tmp_path / "there").read_text() == (tmp_path / "here").read_text()


def test_a_query_that_a_model_scales_is_in_one_file(folder, capsys, tmp_path):
    output = tmp_path / "scores.txt"
    output.write_text("before\n")
    command = ["predict", str(folder / "scaled.json"), str(folder / "cut-*.txt"), "-o", str(output)]
    assert main([*command, *THREADS]) == 1
    assert "the query 5 is in two files" in capsys.readouterr().err
    assert output.read_text() == "before\n"
    assert main(["evaluate", str(folder / "scaled.json"), str(folder / "cut-*.txt"), *THREADS]) == 1
    assert (
        "the query 5 is in two files; omit --dask, or keep each query in one file" in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("predict", ["--format", "trec", "--proba"], "--format trec writes scores; omit --proba"),
        ("predict", ["-"], "Standard input (-) cannot be used with --dask"),
        ("evaluate", ["--dask", "{folder}/all.txt"], "name the files before --dask"),
        ("evaluate", ["--survival", "time,event"], "--survival cannot be used with --dask"),
    ],
)
def test_options_that_exclude_each_other(folder, command, options, message, capsys):
    given = [option.format(folder=folder) for option in options]
    arguments = [command, str(folder / "model.json"), *given[: 1 if given == ["-"] else 0]]
    arguments += [] if given == ["-"] else [str(folder / "whole-*.txt")]
    arguments += THREADS if "--dask" not in given else []
    assert main([*arguments, *([] if given == ["-"] else given)]) == 2
    assert message in capsys.readouterr().err


def test_missing_files_are_refused(folder, capsys):
    assert main(["evaluate", str(folder / "model.json"), str(folder / "none-*.txt"), *THREADS]) == 1
    assert "no file has the name or pattern" in capsys.readouterr().err


def test_the_dashboard_is_printed_if_there_is_one(capsys, monkeypatch):
    class Client:
        dashboard_link = "http://127.0.0.1:8787/status"

    class WithoutDashboard:
        @property
        def dashboard_link(self):
            raise KeyError("dashboard")

    for has_dashboard, client in ((False, Client()), (True, WithoutDashboard()), (True, Client())):
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(dask, "has_dashboard", lambda found=has_dashboard: found)
        dask.print_dashboard(client, Console())
    assert "dashboard of Dask: http://127.0.0.1:8787/status" in capsys.readouterr().err


def test_workers_of_a_cluster(folder, capsys, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(Progress, "show", lambda self, fraction, text: shown.append(text))
    expected, _ = result_of(capsys, "evaluate", folder / "logistic.json", folder / "all.txt")
    there = [folder / "logistic.json", folder / "whole-*.txt"]
    import distributed

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        address = ["--dask", cluster.scheduler_address]
        found, _ = result_of(capsys, "evaluate", *there, *address)
        assert_close(found, expected)
        output = ["-o", tmp_path / "scores.txt"]
        assert result_of(capsys, "predict", *there, *output, *address)[0]["rows"] == 90
        shown.clear()
        result_of(capsys, "train", folder / "cut-*.txt", "-o", tmp_path / "model.json", *address)
    assert re.search(r"iteration 1, round \d+, [\d.]+ k?B?(bytes)? moved, gap .* of 1e-03", shown[0])
