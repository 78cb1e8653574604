"""Checkpoints: what is kept, what is refused, and that a training that goes on ends where it would have."""

import itertools
import json
import signal

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from rankwise import Preferences
from rankwise.cli import checkpoint, training
from rankwise.cli.data import Data
from rankwise.cli.main import main
from rankwise.core.text import plural
from rankwise.datasets import make_ranking
from rankwise.estimators.fits import PairwiseFits
from rankwise.io import checkpoint as io_checkpoint
from rankwise.io.model_file import load_model
from rankwise.io.svmlight import dump_svmlight
from rankwise.model_selection.folds import Folds

SETTINGS = ["--alpha", "1e-4", "--tol", "1e-6"]


@pytest.fixture
def train(tmp_path):
    X, y, qid = make_ranking(300, 20, n_queries=12, n_levels=6, noise=1.0, random_state=0)
    dump_svmlight(X, y, tmp_path / "train.txt", qid=qid)
    return ["train", str(tmp_path / "train.txt"), "-o", str(tmp_path / "m.json"), "--json"]


def objective_of(arguments, capsys):
    capsys.readouterr()
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def interrupted(monkeypatch):
    """Have a signal come at a certain iteration of the fit to all rows."""

    def at(iteration, number=signal.SIGINT):
        hear = training.Watch.__call__

        def hear_and_raise(self, state):
            hear(self, state)
            if state.iteration == iteration:
                signal.raise_signal(number)

        monkeypatch.setattr(training.Watch, "__call__", hear_and_raise)

    yield at
    monkeypatch.undo()


@pytest.mark.parametrize(
    "options",
    [
        SETTINGS,
        [*SETTINGS, "--loss", "squared-hinge", "--scale", "standard"],
        [*SETTINGS, "--kernel", "rbf", "--n-components", "40"],
        [*SETTINGS, "--method", "ordinal-svm"],
    ],
    ids=["hinge", "squared hinge", "kernel", "ordinal"],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_training_resumes_to_the_same_objective(
    options, number, train, tmp_path, capsys, interrupted, monkeypatch
):
    whole = objective_of([*train, *options], capsys)
    (tmp_path / "m.json").unlink()
    interrupted(3, number)
    assert main([*train, *options]) == 128 + number
    said = capsys.readouterr()
    assert said.out == ""
    assert "m.json.checkpoint has iteration 3 (objective" in said.err
    assert not (tmp_path / "m.json").exists()
    monkeypatch.undo()
    resumed = objective_of([*train, *options, "--resume"], capsys)
    assert resumed["resumed"]
    assert resumed["iterations"] > 3
    assert resumed["gap"] <= 1e-6
    assert resumed["objective"] == pytest.approx(whole["objective"], abs=2e-6)
    assert not list(tmp_path.glob("*.checkpoint*"))
    assert not list(tmp_path.glob(".*"))


def test_a_resumed_training_begins_with_the_weights_kept(train, tmp_path, capsys, interrupted, monkeypatch):
    interrupted(20)
    assert main([*train, *SETTINGS]) == 130
    monkeypatch.undo()
    kept = np.load(tmp_path / "m.json.checkpoint", allow_pickle=False)["coef"]
    loose = ["--alpha", "1e-4", "--tol", "1e9", "--resume"]
    values = objective_of([*train, *loose], capsys)
    assert values["iterations"] == 21
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").coef_, kept)


SEARCHES = {
    "hinge": [],
    "candidates that are given": ["--alphas", "1,0.1,0.01,0.001", "--folds", "4"],
    "logistic": ["--method", "rank-logistic"],
    "scaled": ["--scale", "standard", "--loss", "squared-hinge", "--metric", "ndcg@5"],
    "ordinal": ["--method", "ordinal-svm", "--folds", "3"],
}


def weights_of(path):
    model = load_model(path)
    return (model[-1] if hasattr(model, "steps") else model).coef_


@pytest.mark.parametrize("name", SEARCHES)
def test_a_resumed_search_ends_as_one_without_an_interruption(name, train, tmp_path, capsys, monkeypatch):
    options, searched = ["--tune", *SEARCHES[name]], training.Watch.searched
    whole = objective_of([*train, *options], capsys)
    expected = weights_of(tmp_path / "m.json")
    n_visited = len(whole["cross_validation"]["alphas"])
    for most in range(1, n_visited + 1):
        (tmp_path / "m.json").unlink()

        def interrupted_after(self, progress, most=most):
            searched(self, progress)
            if len(progress.errors) + len(progress.above) == most and not progress.is_over:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(training.Watch, "searched", interrupted_after)
        assert main([*train, *options]) == 130
        assert f"has {plural(most, 'candidate')} of the search" in capsys.readouterr().err
        monkeypatch.undo()
        resumed = objective_of([*train, *options, "--resume"], capsys)
        assert resumed["resumed"]
        found, first = resumed["cross_validation"], whole["cross_validation"]
        assert (found["best_alpha"], found["alphas"]) == (first["best_alpha"], first["alphas"])
        np.testing.assert_allclose(found["errors"], first["errors"], rtol=1e-12)
        np.testing.assert_allclose(weights_of(tmp_path / "m.json"), expected, rtol=1e-12)


def test_the_last_fit_of_a_search_is_resumed(train, tmp_path, capsys, interrupted, monkeypatch):
    options = ["--tune", "--tol", "1e-7"]
    whole = objective_of([*train, *options], capsys)
    in_search, call = [], training.Watch.__call__

    def watched(self, state):
        call(self, state)
        in_search.append(bool(self._searched))
        if not in_search[-1] and state.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(training.Watch, "__call__", watched)
    assert main([*train, *options]) == 130
    assert "has iteration 3 (objective" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr(Folds, "errors", None)  # the search is not repeated
    resumed = objective_of([*train, *options, "--resume"], capsys)
    assert any(in_search)
    assert resumed["cross_validation"] == whole["cross_validation"]
    assert resumed["alpha"] == whole["alpha"]
    assert resumed["objective"] == pytest.approx(whole["objective"], abs=1e-6)
    assert resumed["iterations"] > 3


def test_the_interval_is_kept_to(train, tmp_path, capsys, monkeypatch):
    written, write = [], io_checkpoint.write_checkpoint

    def recorded(path, header, arrays):
        written.append(header["saved"]["iteration"])
        write(path, header, arrays)

    monkeypatch.setattr(io_checkpoint, "write_checkpoint", recorded)
    values = objective_of([*train, *SETTINGS, "--checkpoint-every", "0"], capsys)
    assert written == list(range(1, values["iterations"] + 1))
    written.clear()
    monkeypatch.setattr(checkpoint, "monotonic", itertools.count(0, 25).__next__)
    objective_of([*train, *SETTINGS, "--checkpoint-every", "50"], capsys)
    assert written == list(range(2, values["iterations"] + 1, 2))


def test_a_full_disk_does_not_end_the_training(train, tmp_path, capsys, monkeypatch):
    def full(path, header, arrays):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(io_checkpoint, "write_checkpoint", full)
    assert main([*train, *SETTINGS, "--checkpoint-every", "0"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["converged"]
    assert "the checkpoint could not be written" in said.err
    assert "No space left" in said.err


def test_a_checkpoint_of_other_data_or_settings_is_refused(train, tmp_path, capsys, interrupted, monkeypatch):
    interrupted(3)
    assert main([*train, *SETTINGS]) == 130
    monkeypatch.undo()
    checkpoint = (tmp_path / "m.json.checkpoint").read_bytes()
    text = (tmp_path / "train.txt").read_text()
    for change in ["--alpha", "1e-3"], ["--alpha", "1e-4", "--scale", "maxabs"], SETTINGS:
        if change is SETTINGS:
            (tmp_path / "train.txt").write_text(text.replace(" qid:3 ", " qid:4 ", 1))
        assert main([*train, *change, "--resume"]) == 1
        assert "is a checkpoint of other data or settings" in capsys.readouterr().err
    (tmp_path / "train.txt").write_text(text)
    for content in checkpoint[:100], b"", b"not a checkpoint":
        (tmp_path / "m.json.checkpoint").write_bytes(content)
        assert main([*train, *SETTINGS, "--resume"]) == 1
        assert "is not a complete checkpoint" in capsys.readouterr().err
    assert main([*train, *SETTINGS]) == 0
    assert "use --resume to continue it" in capsys.readouterr().err


def test_the_mark_of_a_checkpoint_has_all_data():
    X, pairs = np.arange(8.0).reshape(4, 2), ([0, 1], [2, 3])
    y, chosen = X[:, 0], Preferences.from_pairs(*pairs)
    data = [Data(X, chosen), Data(-X, chosen), Data(X, Preferences.from_pairs(*pairs[::-1]))]
    data += [Data(X, Preferences.from_pairs(*pairs, magnitude=[1.0, 2.0])), Data(csr_matrix(X), y)]
    data += [Data(X, y), Data(X, y, y)]
    marks = [checkpoint.fingerprint(one, {}) for one in data]
    assert len({*marks}) == len(marks)
    assert checkpoint.fingerprint(Data(X.copy(), Preferences.from_pairs(*pairs)), {}) == marks[0]


def test_without_a_checkpoint_the_training_begins_anew(train, capsys):
    assert main([*train, *SETTINGS, "--resume"]) == 0
    said = capsys.readouterr()
    assert "starting from the beginning" in said.err
    assert not json.loads(said.out)["resumed"]


def test_an_interruption_before_the_first_model_is_reported(train, tmp_path, capsys, monkeypatch):
    def interrupt(*arguments):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(training, "fit_ranker", interrupt)
    assert main([*train, "--method", "rank-rls"]) == 130
    assert "Interrupted before there was anything to save" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.checkpoint"))
    monkeypatch.setattr(PairwiseFits, "scores", interrupt)
    assert main(["tune", *train[1:2]]) == 130
    assert "Interrupted before there was anything to save" in capsys.readouterr().err


ERRORS = {"search/errors": np.ones((1, 1, 3)), "search/above": np.ones((0, 0, 0)), "search/grid": np.ones(2)}


@pytest.mark.parametrize(
    ("numbers", "arrays"),
    [
        ({"seconds": "long"}, {}),
        ({"iteration": None}, {}),
        ({"iteration": [3]}, {}),
        ({"gap": "small"}, {}),
        ({}, {"search/errors": np.ones(2)}),
        ({}, {"search/grid": np.ones((2, 2))}),
        ({}, {"coef": np.array(["a", "b"])}),
        ({}, {"coef": np.array([np.nan])}),
    ],
)
def test_a_state_of_another_form_is_refused(tmp_path, numbers, arrays):
    saved = {"iteration": 3, "objective": 0.5, "gap": None, "seconds": 1.0, "identity": {}}
    read = checkpoint.RunCheckpoint(str(tmp_path / "m.json"), "print", 0.0)
    header, content = {"fingerprint": "print", "saved": saved}, {"coef": np.ones(2)} | ERRORS
    io_checkpoint.write_checkpoint(read.path, header, content)
    assert read.load()
    assert (read.saved.iteration, read.saved.n_compared, read.saved.gap) == (3, 1, None)
    io_checkpoint.write_checkpoint(read.path, header | {"saved": saved | numbers}, content | arrays)
    with pytest.raises(ValueError, match=r"m\.json\.checkpoint' is not a complete checkpoint"):
        read.load()
