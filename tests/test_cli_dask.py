"""`rankwise train --dask`: the same model from files that stay where they are."""

import json

import numpy as np
import pytest

from rankwise import load_model
from rankwise.cli import checkpoint
from rankwise.cli.main import main
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


@pytest.mark.parametrize("options", [[], ["--method", "rank-rls", "--metric", "tau"], ["--folds", "3"]])
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
        (["--scale", "standard"], "cannot be used with --dask"),
        (["--kernel", "rbf"], "cannot be used with --dask"),
        (["--method", "hull"], "cannot be used with --dask"),
    ],
)
def test_what_needs_all_rows_is_refused(folder, options, message, capsys):
    command = ["train", str(folder / "part-*.txt.gz"), "-o", str(folder / "m.json"), "--dask", "threads"]
    assert main([*command, *options]) == 2
    assert message in capsys.readouterr().err


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
        patch.setattr(checkpoint.Checkpoint, "delete", lambda self: None)
        assert main(command) == 0
    write(2 * X)
    assert main([*command, "--resume"]) == 1
    assert "is a checkpoint of other data or settings" in capsys.readouterr().err
    write(X)
    assert main([*command, "--resume"]) == 0
