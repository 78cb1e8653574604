"""The console scripts, as people run them: processes, pipes, exit codes and signals."""

import gzip
import importlib
import json
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from rankwise import RankSVM, __version__
from rankwise.cli.main import main
from rankwise.datasets import make_ranking
from rankwise.io.model_file import load_model
from rankwise.io.svmlight import dump_svmlight

unix = pytest.mark.skipif(sys.platform == "win32", reason="sends signals of Unix")
MODULES = {
    "rankwise": ["rankwise.cli.main"],
    "svm_rank_learn": ["rankwise.cli.svm_rank", "learn"],
    "svm_rank_classify": ["rankwise.cli.svm_rank", "classify"],
}


def command(name, *arguments):
    """The installed script beside this Python, or its module where the package runs from its sources."""
    script = shutil.which(name, path=str(Path(sys.executable).parent))
    start = [script] if script else [sys.executable, "-m", *MODULES[name]]
    return [*start, *map(str, arguments)]


def run(name, *arguments, code=0, **options):
    done = subprocess.run(command(name, *arguments), capture_output=True, text=True, **options)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("scripts")
    X, y, qid = make_ranking(120, 4, n_queries=8, n_levels=3, noise=0.5, random_state=0)
    dump_svmlight(X, y, path / "train.txt", qid=qid)
    X, y, qid = make_ranking(2000, 150, n_queries=20, noise=1.0, random_state=0)
    dump_svmlight(X, y, path / "slow.txt", qid=qid)
    return path


SLOW = ["--alpha", "1e-5", "--tol", "2e-5", "--json"]


# A training that prints a line after its third checkpoint, and then waits for the end of its input: a
# signal that comes before it waits is not lost.
PAUSED = """
import sys
from rankwise.cli.checkpoint import RunCheckpoint
from rankwise.cli.main import main

write = RunCheckpoint.write

def write_and_wait(self):
    write(self)
    if self.saved.iteration == 3:
        RunCheckpoint.write = write
        print("written", flush=True)
        sys.stdin.read()

RunCheckpoint.write = write_and_wait
sys.exit(main(sys.argv[1:]))
"""


def paused_at_a_checkpoint(*arguments):
    """Start a training, and return when it has written checkpoints and waits."""
    arguments = [sys.executable, "-c", PAUSED, *map(str, arguments), "--checkpoint-every", "0"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(arguments, **pipes)
    assert process.stdout.readline() == b"written\n"
    return process


def test_the_scripts_that_are_installed_exist():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert set(project["scripts"]) == set(MODULES)
    for target in project["scripts"].values():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_the_version_is_printed():
    assert run("rankwise", "--version").stdout == f"rankwise {__version__}\n"


def test_a_whole_session_with_pipes(folder, tmp_path):
    text = (folder / "train.txt").read_bytes()
    with gzip.open(tmp_path / "train.txt.gz", "wb") as file:
        file.write(text.replace(b"\n", b" # comment\r\n"))
    trained = run("rankwise", "train", tmp_path / "train.txt.gz", "-o", tmp_path / "m.json", "--json")
    model = load_model(tmp_path / "m.json")
    assert json.loads(trained.stdout)["objective"] == model.objective_
    assert trained.stderr == ""
    predict = command("rankwise", "predict", tmp_path / "m.json", "-")
    scores = subprocess.run(predict, input=text, capture_output=True, check=True).stdout
    assert [float(line) for line in scores.splitlines()] == model.predict(
        make_ranking(120, 4, n_queries=8, n_levels=3, noise=0.5, random_state=0)[0]
    ).tolist()


def test_exit_codes_of_processes(tmp_path):
    said = run("rankwise", "train", tmp_path / "none.txt", "-o", tmp_path / "m.json", code=1).stderr
    assert said == f"rankwise: {str(tmp_path / 'none.txt')!r}: No such file or directory.\n"
    assert "-w must be 3" in run("svm_rank_learn", "-w", "9", "a", "b", code=2).stderr


@pytest.mark.parametrize(
    "predict",
    [
        ["rankwise", "predict", "m.json", "many.txt"],
        ["svm_rank_classify", "-v", "0", "many.txt", "m.json", "-"],
    ],
    ids=lambda predict: predict[0],
)
def test_a_reader_may_close_the_pipe_before_all_is_written(predict, folder, tmp_path):
    assert main(["train", str(folder / "train.txt"), "-o", str(tmp_path / "m.json"), "-q"]) == 0
    (tmp_path / "many.txt").write_text("1 1:1\n0 1:1\n" * 150_000)
    process = subprocess.Popen(
        command(*predict), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 1
    process.stderr.close()


@unix
def test_scores_may_go_to_the_device_of_standard_output(folder, tmp_path, capsys):
    assert main(["train", str(folder / "train.txt"), "-o", str(tmp_path / "m.json"), "-q"]) == 0
    predict = ["predict", str(tmp_path / "m.json"), str(folder / "train.txt"), "-q"]
    capsys.readouterr()
    assert main(predict) == 0
    assert run("rankwise", *predict, "-o", "/dev/stdout").stdout == capsys.readouterr().out


@unix
@pytest.mark.parametrize(
    ("closed", "said"),
    [
        ("0<&-", "Standard input (-) is closed; give the path of a file."),
        (">&-", "Standard output is closed"),
    ],
)
def test_closed_streams_are_reported(closed, said, folder, tmp_path):
    assert main(["train", str(folder / "train.txt"), "-o", str(tmp_path / "m.json"), "-q"]) == 0
    predict = shlex.join(command("rankwise", "predict", tmp_path / "m.json", "-"))
    done = subprocess.run(["/bin/sh", "-c", f"{predict} {closed}"], input=b"1 1:1\n", capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"rankwise: {said}")


def test_svmrank_scripts_work_unchanged(folder, tmp_path):
    files = [folder / "train.txt", tmp_path / "model.dat"]
    learned = run("svm_rank_learn", "-c", "20.0", "-l", "2", *files).stdout
    assert "Writing learned model...done" in learned
    classified = run("svm_rank_classify", *files, tmp_path / "predictions").stdout
    assert "Zero/one-error on test set: " in classified
    X, y, qid = make_ranking(120, 4, n_queries=8, n_levels=3, noise=0.5, random_state=0)
    scores = RankSVM(1 / 40).fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(np.loadtxt(tmp_path / "predictions"), scores, atol=1e-12)


@unix
def test_a_killed_training_resumes_to_the_same_objective(folder, tmp_path):
    old = b"a model of before"
    (tmp_path / "m.json").write_bytes(old)
    train = ["train", folder / "slow.txt", "-o", tmp_path / "m.json", *SLOW]
    process = paused_at_a_checkpoint(*train)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert (tmp_path / "m.json").read_bytes() == old
    resumed = json.loads(run("rankwise", *train, "--resume").stdout)
    assert resumed["resumed"]
    assert resumed["gap"] <= 2e-5
    X, y, qid = make_ranking(2000, 150, n_queries=20, noise=1.0, random_state=0)
    whole = RankSVM(1e-5, tol=2e-5).fit(X, y, qid=qid)
    assert resumed["objective"] == pytest.approx(whole.objective_, abs=4e-5)
    assert load_model(tmp_path / "m.json").objective_ == resumed["objective"]
    assert not list(tmp_path.glob("*.checkpoint"))


@unix
def test_ctrl_c_keeps_a_checkpoint_and_has_the_exit_code_of_shells(folder, tmp_path):
    train = ["train", folder / "slow.txt", "-o", tmp_path / "m.json", *SLOW]
    process = paused_at_a_checkpoint(*train)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate()
    assert process.returncode == 130
    assert out == b""
    assert b"has iteration" in said
    assert b"Use --resume to continue" in said
    assert (tmp_path / "m.json.checkpoint").exists()
    assert not (tmp_path / "m.json").exists()


WITHOUT_EXTRAS = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        extras = {"pandas", "polars", "pyarrow", "dask", "distributed", "clarabel", "onnx", "networkx"}
        if name.split(".")[0] in extras:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refused())
from rankwise.cli.main import main
sys.exit(main(["demo", "--output", sys.argv[1]]))
"""


def test_demo_needs_no_extra_but_the_report(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.md").read_text()
    assert done.stdout.startswith(text)
    for name in ("search", "leaderboard", "patients"):
        assert f"{name}.html" in done.stdout
        assert f"]({name}.png)" in text
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{name}.html").read_text().startswith("<!DOCTYPE html>")
