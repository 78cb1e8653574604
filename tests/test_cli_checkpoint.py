"""Checkpoints: what is kept, what is refused, and that a training that goes on ends where it would have."""

import itertools
import json
import signal

import numpy as np
import pytest

from rankwise.cli import checkpoint, training
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.estimators.fits import PairwiseFits
from rankwise.io.model_file import load_model
from rankwise.io.svmlight import dump_svmlight
from rankwise.model_selection.search import AlphaSearch

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


def test_the_folds_of_a_cross_validation_are_kept(train, tmp_path, capsys, monkeypatch):
    options = ["--tune", "--alphas", "1,0.01", "--folds", "4"]
    whole = objective_of([*train, *options], capsys)
    computed = []
    scores = PairwiseFits.scores

    def counted(*arguments):
        if len(computed) == 2:
            signal.raise_signal(signal.SIGINT)
        computed.append(1)
        return scores(*arguments)

    monkeypatch.setattr(PairwiseFits, "scores", counted)
    assert main([*train, *options]) == 130
    assert "has 2 folds of the cross-validation" in capsys.readouterr().err
    computed[:] = [1] * 10
    resumed = objective_of([*train, *options, "--resume"], capsys)
    assert len(computed) == 12
    assert resumed["cross_validation"] == whole["cross_validation"]
    assert resumed["objective"] == whole["objective"]


def test_the_candidates_of_a_default_grid_are_kept(train, tmp_path, capsys, monkeypatch):
    options = ["--tune", "--folds", "3"]
    whole = objective_of([*train, *options], capsys)
    visited, kept = [], AlphaSearch.judged

    def counted(*arguments):
        if len(visited) == 6:  # of two candidates
            signal.raise_signal(signal.SIGINT)
        visited.append(1)
        return kept(*arguments)

    monkeypatch.setattr(AlphaSearch, "judged", counted)
    assert main([*train, *options]) == 130
    assert "has 2 alphas of the cross-validation" in capsys.readouterr().err
    visited[:] = [1] * 10
    resumed = objective_of([*train, *options, "--resume"], capsys)
    found, expected = resumed["cross_validation"], whole["cross_validation"]
    assert len(visited) == 10 + 3 * (len(found["alphas"]) - 2)
    assert found["errors"][:2] == expected["errors"][:2]
    assert found["best_alpha"] == expected["best_alpha"]  # by fits from other starts


def test_the_interval_is_kept_to(train, tmp_path, capsys, monkeypatch):
    written = []

    def write(self):
        written.append(self.state.iteration)
        self.put_off()

    monkeypatch.setattr(training.RunCheckpoint, "write", write)
    values = objective_of([*train, *SETTINGS, "--checkpoint-every", "0"], capsys)
    assert written == list(range(1, values["iterations"] + 1))
    written.clear()
    monkeypatch.setattr(checkpoint, "monotonic", itertools.count(0, 25).__next__)
    objective_of([*train, *SETTINGS, "--checkpoint-every", "50"], capsys)
    assert written == list(range(2, values["iterations"] + 1, 2))


def test_a_full_disk_does_not_end_the_training(train, tmp_path, capsys, monkeypatch):
    def full(self):
        raise OSError(28, "No space left on device", str(self.path))

    monkeypatch.setattr(training.RunCheckpoint, "write", full)
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


@pytest.mark.parametrize(
    "changed",
    [
        {"second": 1.0},
        {"iteration": None},
        {"iteration": [3]},
        {"gap": "small"},
        {"fold_errors": [0.5]},
        {"fold_errors": [["a"]]},
    ],
)
def test_a_state_of_another_form_is_refused(tmp_path, changed):
    state = {"fold_errors": [[0.5]], "iteration": 3, "objective": 0.5, "gap": None, "seconds": 1.0}
    read = checkpoint.RunCheckpoint(str(tmp_path / "m.json"), "print", 0.0)

    def write(state, coef):
        header = json.dumps({"version": checkpoint.VERSION, "fingerprint": "print", "state": state}).encode()
        with open(read.path, "wb") as file:
            np.savez(file, header=np.frombuffer(header, dtype=np.uint8), coef=coef)

    write(state, np.ones(2))
    assert read.load()
    assert (read.state.iteration, read.state.fold_errors, read.state.gap) == (3, [[0.5]], None)
    for damaged in ((state | changed, np.ones(2)), (state, np.array(["a", "b"]))):
        write(*damaged)
        with pytest.raises(ValueError, match=r"m\.json\.checkpoint' is not a complete checkpoint"):
            read.load()
