"""`rankwise train --dask`: the same model from files that stay where they are."""

import json
import re

import numpy as np
import pytest

from rankwise import load_model
from rankwise.cli import checkpoint
from rankwise.cli.main import main
from rankwise.cli.output import Progress
from rankwise.datasets import dump_svmlight, make_ranking

pytest.importorskip("dask")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three parts, the second of which ends in the middle of a query, and a file with all rows."""
    folder = tmp_path_factory.mktemp("parts")
    X, y, qid = make_ranking(90, n_features=4, n_queries=9, random_state=0)[:3]
    order = np.argsort(qid, kind="stable")
    X, y, qid = X[order], y[order], qid[order]
    for name, rows in {
        "all": slice(None),
        "part-0": slice(40),
        "part-1": slice(40, 55),
        "part-2": slice(55, 90),
    }.items():
        dump_svmlight(X[rows], y[rows], folder / f"{name}.txt.gz", qid=qid[rows])
    return folder


@pytest.mark.parametrize("options", [["--loss", "squared-hinge", "--tol", "1e-9"], ["--method", "rank-rls"]])
def test_partitions_give_the_same_model(folder, options, capsys):
    models = folder / "whole.json", folder / "parts.json"
    assert main(["train", str(folder / "all.txt.gz"), "-o", str(models[0]), *options]) == 0
    command = ["train", str(folder / "part-*.txt.gz"), "-o", str(models[1]), *options, "--dask", "threads"]
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    whole, parts = map(load_model, models)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-7)
    assert (told["rows"], told["features"], told["queries"]) == (90, 4, 9)
    assert told["pairs"] == whole.n_pairs_


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--method", "rank-rls", "--metric", "tau"],
        ["--folds", "3"],
    ],
)
@pytest.mark.parametrize("command", ["tune", "train"])
def test_partitions_give_the_same_choice(folder, command, options, capsys):
    told = []
    for data, more in (("all", []), ("part-*", ["--dask", "threads"])):
        line = [command, str(folder / f"{data}.txt.gz"), "-o", str(folder / "tuned.json"), *options, *more]
        assert main([*line, *(["--tune"] if command == "train" else []), "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
        told[-1] = told[-1].get("cross_validation", told[-1])
    assert told[1]["best_alpha"] == pytest.approx(told[0]["best_alpha"])
    assert told[1]["alphas"] == pytest.approx(told[0]["alphas"])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], r"candidate 3 of \d+, iteration 1, gap \S+ of \S+, round \d+, \S+ s"),
        (["--alphas", "1,0.1"], r"candidate 1 of 2, iteration 2, gap \S+ of \S+, round \d+, \S+ s"),
    ],
)
def test_a_search_shows_its_step_its_gap_and_its_rounds(folder, options, text, monkeypatch):
    shown = []
    monkeypatch.setattr(Progress, "show", lambda self, fraction, line: shown.append(line))
    assert main(["tune", str(folder / "part-*.txt.gz"), "-q", *options, "--dask", "threads"]) == 0
    assert any(re.match(text, line) for line in shown), shown[:20]


def test_validation_files_are_read_like_the_rows(folder, capsys):
    told = []
    for data, valid, more in (("all", "part-0", []), ("part-[0-9]", "part-0", ["--dask", "threads"])):
        names = [str(folder / f"{name}.txt.gz") for name in (data, valid)]
        assert main(["tune", names[0], "--valid", names[1], "--json", *more]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[1]["best_alpha"] == pytest.approx(told[0]["best_alpha"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kernel", "rbf"], "cannot be used with --dask"),
        (["--method", "hull"], "cannot be used with --dask"),
        (["--method", "curve"], "fit it to a sample, and score all rows by predict --dask"),
    ],
)
def test_what_needs_all_rows_is_refused(folder, options, message, capsys):
    command = ["train", str(folder / "part-*.txt.gz"), "-o", str(folder / "m.json"), "--dask", "threads"]
    assert main([*command, *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scale", "minmax"], "--scale minmax would make the sparse data dense"),
        (["--scale", "query-minmax"], "is split over several of them"),
    ],
)
def test_scales_that_the_rows_do_not_allow_are_refused(folder, options, message, capsys):
    command = ["train", str(folder / "part-*.txt.gz"), "-o", str(folder / "m.json"), "--dask", "threads"]
    assert main([*command, *options]) == 1
    assert message in capsys.readouterr().err


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Tables with words, dates and gaps, in a folder of parts with whole queries and in one file."""
    pd = pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("tables")
    generator = np.random.default_rng(1)
    X, y, qid = make_ranking(120, n_features=3, n_queries=12, n_levels=4, noise=0.5, random_state=0)[:3]
    order = np.argsort(qid, kind="stable")
    table = pd.DataFrame(X[order], columns=["a", "b", "c"]).assign(grade=y[order], query=qid[order])
    table["plain"] = table["a"] ** 2
    table["b"] = table["b"].mask(generator.random(120) < 0.2)
    table["code"] = generator.integers(1, 4, 120)
    table["grape"] = np.array(["merlot", "syrah"])[generator.integers(0, 2, 120)]
    table["bottled"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(generator.integers(0, 60, 120), "D")
    (folder / "parts").mkdir()
    for number, part in table.groupby(table["query"] // 4):
        part.to_csv(folder / "parts" / f"part-{number}.csv", index=False)
    table.to_csv(folder / "all.csv", index=False)
    return folder


LINEAR = ["--loss", "squared-hinge", "--tol", "1e-9"]


@pytest.mark.parametrize(
    "options",
    [
        LINEAR,
        [*LINEAR, "--categorical", "code"],
        [*LINEAR, "--features", "a,plain", "--scale", "query-rank"],
        [*LINEAR, "--features", "a,c,plain", "--scale", "minmax"],
        ["--method", "rank-rls", "--features", "a,b", "--scale", "maxabs"],
    ],
)
def test_tables_in_parts_give_the_model_of_memory(tables, options, tmp_path):
    models, scores = (tmp_path / "m.json", tmp_path / "n.json"), (tmp_path / "s.txt", tmp_path / "t.txt")
    common = ["--label", "grade", "--qid", "query", "-q", *options]
    assert main(["train", str(tables / "all.csv"), "-o", str(models[0]), *common]) == 0
    assert main(["train", str(tables / "parts"), "-o", str(models[1]), *common, "--dask", "threads"]) == 0
    for model, path in zip(models, scores, strict=True):
        predict = ["predict", str(model), str(tables / "all.csv"), "--label", "grade", "--qid", "query"]
        assert main([*predict, "-o", str(path), "-q"]) == 0
    here, there = map(np.loadtxt, scores)
    np.testing.assert_allclose(there, here, atol=1e-5)


def test_sparse_rows_are_scaled(folder, tmp_path):
    command = [*LINEAR, "--scale", "standard", "-q"]
    models = tmp_path / "m.json", tmp_path / "n.json"
    assert main(["train", str(folder / "all.txt.gz"), "-o", str(models[0]), *command]) == 0
    parts = ["train", str(folder / "part-*.txt.gz"), "-o", str(models[1]), *command, "--dask", "threads"]
    assert main(parts) == 0
    here, there = map(load_model, models)
    np.testing.assert_allclose(there[0].scale_, here[0].scale_, rtol=1e-12)
    np.testing.assert_allclose(there[-1].coef_, here[-1].coef_, rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        ["--scale", "standard"],
        ["--scale", "query-rank"],
        ["--method", "rank-rls", "--scale", "maxabs"],
        ["--method", "ordinal-svm"],
        ["--method", "ordinal-svm", "--scale", "standard"],
    ],
    ids=" ".join,
)
def test_scaled_rows_and_grades_choose_as_in_memory(tmp_path, options, capsys):
    X, y, qid = make_ranking(240, n_features=4, n_queries=12, n_levels=3, noise=1.0, random_state=0)
    rows = np.argsort(qid, kind="stable")
    is_first = qid[rows] < 5
    for name, some in (("all", rows), ("part-0", rows[is_first]), ("part-1", rows[~is_first])):
        dump_svmlight(X[some] * [1, 10, 100, 1], y[some], tmp_path / f"{name}.txt", qid=qid[some])
    told = []
    for data, more in (("all", []), ("part-*", ["--dask", "threads"])):
        line = ["tune", str(tmp_path / f"{data}.txt"), "--alphas", "10,0.1,0.001", "--json", *options, *more]
        assert main(line) == 0
        told.append(json.loads(capsys.readouterr().out))
    # All rows are scaled at once, not those of each fold, so that errors differ a little.
    tolerance = 0.03 if "--scale" in options else 1e-9
    np.testing.assert_allclose(told[1]["mean_error"], told[0]["mean_error"], atol=tolerance)
    assert "--scale" in options or told[1]["best_alpha"] == told[0]["best_alpha"]


def test_scaled_rows_with_validation_files_are_refused(folder, capsys):
    names = [str(folder / f"{name}.txt.gz") for name in ("part-*", "part-1")]
    line = ["tune", names[0], "--valid", names[1], "--scale", "standard", "--dask", "threads"]
    assert main(line) == 2
    assert "--scale and --valid cannot be used together with --dask" in capsys.readouterr().err


def test_file_in_the_place_of_the_address(folder, capsys):
    file = str(folder / "all.txt.gz")
    assert main(["train", file, "-o", str(folder / "m.json"), "--dask", file]) == 2
    assert "name the files before --dask" in capsys.readouterr().err


def test_a_checkpoint_of_other_rows_is_refused(tmp_path, capsys, monkeypatch):
    X, y, qid = make_ranking(60, n_features=3, n_queries=6, noise=0.5, random_state=0)[:3]
    command = ["train", str(tmp_path / "part-*.txt"), "-o", str(tmp_path / "m.json"), "--dask", "threads"]
    command += ["--checkpoint-every", "0"]

    def write(X):
        for part, rows in enumerate((slice(0, 25), slice(25, 60))):
            dump_svmlight(X[rows], y[rows], tmp_path / f"part-{part}.txt", qid=qid[rows])

    write(X)
    with monkeypatch.context() as patch:  # a training that was killed before its end
        patch.setattr(checkpoint.RunCheckpoint, "delete", lambda self: None)
        assert main(command) == 0
    write(2 * X)
    assert main([*command, "--resume"]) == 1
    assert "is a checkpoint of other data or settings" in capsys.readouterr().err
    write(X)
    assert main([*command, "--resume"]) == 0
