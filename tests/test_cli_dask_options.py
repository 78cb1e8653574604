"""Commands with --dask: run files, names of rows, survival times, one ranking, empty files."""

import gzip
import re

import numpy as np
import pytest

from commands import assert_close, result_of
from rankwise.cli.main import main
from rankwise.datasets import dump_svmlight, make_ranking

pytest.importorskip("dask")
THREADS = ["--dask", "threads"]
ENDS = (40, 40, 70, 90)  # the second file is empty


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows with names, queries, labels, times and events, in one file and in parts."""
    folder = tmp_path_factory.mktemp("parts")
    X, y, _ = make_ranking(90, n_features=3, n_queries=9, n_levels=3, noise=0.5, random_state=0)
    generator = np.random.default_rng(0)
    columns = np.arange(90) // 10, y, generator.permutation(90), generator.integers(0, 2, 90)
    borders = list(zip((0, *ENDS), ENDS, strict=False))
    names = ["all", *(f"part-{k}" for k in range(len(borders)))]
    for name, ends in zip(names, [(0, 90), *borders], strict=True):
        rows = slice(*ends)
        write(folder / name, X[rows], *(column[rows] for column in columns), np.arange(90)[rows])
    cut = np.arange(90) // 10
    dump_svmlight(X[:45], y[:45], folder / "cut-0.txt", qid=cut[:45])
    dump_svmlight(X[45:], y[45:], folder / "cut-1.txt", qid=cut[45:])
    train = ["train", str(folder / "all.txt"), "-q", "-o"]
    assert main([*train, str(folder / "model.json")]) == 0
    assert main([*train, str(folder / "logistic.json"), "--method", "rank-logistic", "--alpha", "1"]) == 0
    table = ["train", str(folder / "all.csv"), "-q", "--features", "a,b,c", "-o"]
    assert main([*table, str(folder / "table.json"), "--label", "grade", "--qid", "query"]) == 0
    return folder


def write(path, X, qid, y, time, event, number):
    dump_svmlight(X, y, path.with_suffix(".txt"), qid=qid)
    lines = path.with_suffix(".txt").read_text().splitlines()
    path.with_suffix(".names.txt").write_text(
        "".join(f"{line} #docid = D{k}\n" for line, k in zip(lines, number, strict=True))
    )
    plain = [re.sub(r" qid:\d+", "", line) + "\n" for line in lines]
    path.with_suffix(".plain.txt").write_text("".join(plain))
    rows = [
        ",".join(map(repr, [*row.tolist(), *map(float, more)])) + f",q{q},D{k}"
        for row, *more, q, k in zip(X, y, time, event, qid, number, strict=True)
    ]
    path.with_suffix(".csv").write_text("\n".join(["a,b,c,grade,time,event,query,name", *rows]) + "\n")


@pytest.mark.parametrize(
    ("model", "kind", "options"),
    [("model", "txt", []), ("model", "names.txt", ["--run-name", "svm"]),
     ("table", "csv", ["--qid", "query", "--id", "name"])],
)  # fmt: skip
def test_a_run_file_is_that_of_the_joined_file(folder, model, kind, options, tmp_path):
    command = ["predict", str(folder / f"{model}.json"), "--format", "trec", *options, "-q"]
    assert main([*command, str(folder / f"all.{kind}"), "-o", str(tmp_path / "here")]) == 0
    there = [str(folder / f"part-?.{kind}"), "-o", str(tmp_path / "there.gz"), *THREADS]
    if kind == "csv":
        there[0] = str(folder / f"part-[023].{kind}")
    assert main([*command, *there]) == 0
    found = gzip.decompress((tmp_path / "there.gz").read_bytes()).decode()
    assert found == (tmp_path / "here").read_text()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["cut-?.txt"], "A run file ranks each query as a whole, but the query 4 is in two files"),
        (["part-0.txt", "part-2.names.txt"], "Rows have names in some of the files, but not in all"),
        (["part-?.plain.txt"], "A run file needs the query of each row, but the data has none"),
        (["part-1.txt"], "The data has no rows."),
    ],
)
def test_runs_that_cannot_be_written(folder, files, message, tmp_path, capsys):
    command = ["predict", str(folder / "model.json"), "--format", "trec", "-o", str(tmp_path / "run")]
    assert main([*command, *(str(folder / file) for file in files), *THREADS]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_one_ranking_is_measured_on_collected_scores(folder, capsys):
    expected, _ = result_of(capsys, "evaluate", folder / "model.json", folder / "all.plain.txt")
    there = folder / "part-?.plain.txt"
    found, notes = result_of(capsys, "evaluate", folder / "model.json", there, *THREADS)
    assert_close(found, expected)
    assert "All rows are one ranking: 16 bytes per row were collected" in notes
    assert found["models"][0]["measures"]["error"]["low"] is not None


def test_an_empty_part_is_an_empty_partition(folder, capsys):
    told = []
    for data, more in (("all.txt", []), ("part-?.txt", THREADS)):
        output = folder / "trained.json"
        told.append(result_of(capsys, "train", folder / data, "-o", output, "--alpha", "0.1", *more)[0])
    assert told[0]["queries"] == told[1]["queries"] == 9
    assert told[1]["objective"] == pytest.approx(told[0]["objective"], rel=1e-3)
