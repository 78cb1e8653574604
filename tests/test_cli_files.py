"""Outputs of commands that are their inputs, and standard input and output by name."""

import io
import os
import sys

import pytest

from rankwise.cli.main import main
from rankwise.cli.svm_rank import classify, learn
from rankwise.datasets import make_ranking
from rankwise.io.svmlight import dump_svmlight

MATCHES = "winner,loser\nann,bob\nbob,cid\ncid,ann\nann,cid\n"


@pytest.fixture
def inside(tmp_path, monkeypatch):
    """A folder with rows d.txt, a model m.json and matches g.csv, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    X, y, qid = make_ranking(40, 3, n_queries=4, n_levels=3, noise=0.5, random_state=0)
    dump_svmlight(X, y, "d.txt", qid=qid + 1)
    dump_svmlight(X, y, "v.txt", qid=qid + 1)
    (tmp_path / "g.csv").write_text(MATCHES)
    assert main(["train", "d.txt", "-o", "m.json", "-q"]) == 0
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(command, words, folder, capsys):
    """Run a command that must be refused as wrong usage and leave all files as they are."""
    before = contents(folder)
    assert command(words.split()) == 2
    assert contents(folder) == before
    return capsys.readouterr().err


PLAYERS = "--a winner --b loser"


@pytest.mark.parametrize(
    "words",
    [
        "train d.txt -o d.txt",
        "train d.txt -o ./../{folder}/d.txt",
        "train d.txt v.txt -o v.txt",
        "train d.txt --tune --valid v.txt -o v.txt",
        "train d.txt --method rank-logistic --calibration-data v.txt -o v.txt",
        "train [d].txt -o d.txt --dask threads",
        "train nothing.txt -o nothing.txt",
        "tune d.txt -o d.txt",
        "predict m.json d.txt -o d.txt",
        "predict m.json d.txt -o m.json",
        "export m.json -o m.json --format sql",
        "report m.json d.txt -o d.txt",
        "report m.json d.txt -o m.json",
        "report m.json d.txt --compare v.txt -o v.txt",
        f"leaderboard g.csv {PLAYERS} -o g.csv",
        f"leaderboard g.csv {PLAYERS} --model g.csv",
    ],
)
def test_an_output_that_is_an_input_is_refused(words, inside, capsys):
    told = refused(main, words.format(folder=inside.name), inside, capsys)
    assert "is also an input, which it would replace. See rankwise" in told


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_to_an_input_are_the_input(link, inside, capsys):
    link("d.txt", "link")
    assert "'link' is also an input" in refused(main, "train d.txt -o link", inside, capsys)
    assert "'d.txt' is also an input" in refused(main, "train link -o d.txt", inside, capsys)


def test_two_outputs_must_differ(inside, capsys):
    told = refused(main, f"leaderboard g.csv {PLAYERS} --model x -o ./x", inside, capsys)
    assert "'./x' is named twice" in told or "'x' is named twice" in told


def test_a_checkpoint_does_not_replace_an_input(inside, capsys):
    os.rename("d.txt", "n.json.checkpoint")
    told = refused(main, "train n.json.checkpoint -o n.json", inside, capsys)
    assert "'n.json.checkpoint' is also an input" in told


@pytest.mark.parametrize(
    ("command", "words"),
    [(learn, "d.txt d.txt"), (classify, "d.txt m.json d.txt"), (classify, "d.txt m.json m.json")],
)
def test_svm_rank_refuses_an_output_that_is_an_input(command, words, inside, capsys):
    assert "is also an input" in refused(command, f"-v 0 {words}", inside, capsys)


def test_other_outputs_are_replaced_as_before(inside, capsys):
    for _ in range(2):
        assert main(["train", "d.txt", "-o", "n.json", "-q"]) == 0
        assert main(["predict", "n.json", "d.txt", "-o", "scores.txt", "-q"]) == 0
        assert main(f"leaderboard g.csv {PLAYERS} --model x -o y -q".split()) == 0
        assert main(["train", "d.txt", "-o", os.devnull, "-q"]) == 0


@pytest.mark.parametrize(
    "words",
    [
        "train d.txt -o -",
        "tune d.txt -o -",
        "export m.json -o - --format c",
        "report m.json d.txt -o -",
        f"leaderboard g.csv {PLAYERS} -o -",
        f"leaderboard g.csv {PLAYERS} --model -",
    ],
)
def test_a_dash_is_no_output_file(words, inside, capsys):
    assert "The output must be a file, and - is none" in refused(main, words, inside, capsys)


def test_svm_rank_learn_has_no_dash_either(inside, capsys):
    assert "- is none" in refused(learn, "d.txt -", inside, capsys)


def test_a_leaderboard_is_read_from_standard_input(inside, capsys, monkeypatch):
    assert main(f"leaderboard g.csv {PLAYERS}".split()) == 0
    expected = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MATCHES.encode())))
    assert main(f"leaderboard - {PLAYERS}".split()) == 0
    assert capsys.readouterr().out == expected
