"""Processes killed at any moment: files are the old or the new ones, and a resumed run ends alike."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from attack.draws import choice
from rankwise import RankSVM, load_model, save_model
from rankwise.datasets import make_ranking

TOLERANCE = 1e-6
SETTINGS = ["--alpha", "1e-5", "--tol", str(TOLERANCE), "--label", "y", "--qid", "q", "--json"]
# Saves two models in turn; the second is much larger.
SAVING = """
import sys
from rankwise import load_model, save_model
models = [load_model(f"{sys.argv[1]}/{name}.json") for name in ("small", "large")]
print("ready", flush=True)
while True:
    for model in models:
        save_model(model, f"{sys.argv[1]}/model.json")
"""


def case(rng):
    """Draw what is killed."""
    with tempfile.TemporaryDirectory() as folder:
        return choice(rng, [training, training, saving])(rng, Path(folder))


def killed(rng, arguments, most_seconds, ready):
    """Start Python, wait for its first line if it writes one, kill it at random; return whether it ran."""
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    if ready:
        assert process.stdout.readline() == "ready\n", f"{arguments} ended"
    time.sleep(float(rng.uniform(0, most_seconds)))
    process.kill()
    process.communicate()
    return process.returncode == -9


def training(rng, folder):
    """Kill a training a few times, then resume: the objective is that of a run that nobody killed."""
    import pandas

    options = {"n_queries": 40, "n_levels": 5, "noise": 2.0, "random_state": int(rng.integers(99))}
    X, y, qid = make_ranking(2000, 30, **options)
    pandas.DataFrame(X, columns=[f"c{k}" for k in range(30)]).assign(y=y, q=qid).to_csv(
        folder / "data.csv", index=False
    )
    begin = ["-m", "rankwise.cli.main", "train", str(folder / "data.csv"), *SETTINGS]
    output = folder / "model.json"
    command = [*begin, "-o", str(output), "--checkpoint-every", "0", "--resume"]
    kills = sum(killed(rng, command, 3.0, False) for _ in range(int(rng.integers(1, 4))))
    if output.exists():
        load_model(output)
    resumed = finished(command)
    whole = finished([*begin, "-o", str(folder / "whole.json")])
    distance = abs(resumed["objective"] - whole["objective"])
    assert distance <= 2 * TOLERANCE + resumed["gap"] + whole["gap"], f"{resumed}, {whole}"
    assert load_model(output).objective_ == resumed["objective"]
    left = sorted(path.name for path in folder.iterdir() if path.name.startswith("model.json."))
    assert not left, f"left behind: {left}"
    return kills + 1


def finished(command):
    """Run to the end."""
    run = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr, run.stderr
    return json.loads(run.stdout)


def saving(rng, folder):
    """Kill while models are saved over each other: the file is one of them."""
    models = {}
    for name, n in (("small", 3), ("large", 100_000)):
        model = RankSVM()
        model.coef_, model.n_features_in_ = rng.normal(size=n), n
        models[n] = model
        save_model(model, folder / f"{name}.json")
    save_model(models[3], folder / "model.json")
    kills = sum(killed(rng, ["-c", SAVING, str(folder)], 0.3, True) for _ in range(3))
    found = load_model(folder / "model.json")
    assert np.array_equal(found.coef_, models[found.n_features_in_].coef_)
    return kills
