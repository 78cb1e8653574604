"""The experiments in small on generated data, their page, and RankBoost against its definition."""

import argparse
import doctest
import json
import platform
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import ordinal  # noqa: E402
from rank_boost import RankBoost, row_potential  # noqa: E402
from reproduce import hull_l1, inventory, isolated, ohsumed, page, record, reuters, runner, shared, text  # noqa: E402
from reproduce.__main__ import main  # noqa: E402
from reproduce.data import Data, MissingDataError  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
COMMITTED = {path.stem: json.loads(path.read_text()) for path in RESULTS.glob("*.json")}
ON_PAGE = [name for name in (*runner.EXPERIMENTS, runner.RACE) if name in COMMITTED]


def reproduce(folder, *names, force=False):
    options = argparse.Namespace(
        only=list(names) or None, quick=True, force=force, busy=False, output=folder, page=False, quiet=True
    )
    return runner.reproduce(options)


def in_this_process(function, arguments, **limits):
    """Call a function as `isolated.run` does, without a process, which takes longer than a small fit."""
    module, name = function.split(":")
    return {"status": "done"} | getattr(import_module(module), name)(**arguments)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """All experiments in small, without real data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RANKWISE_DATA", raising=False)
        patch.setattr(isolated, "run", in_this_process)
        folder = tmp_path_factory.mktemp("results")
        assert reproduce(folder) == ([], folder / "reproduction.md")
    return folder


@pytest.mark.parametrize("name", runner.EXPERIMENTS)
def test_result_file_records_its_provenance(quick, name):
    found = record.load(quick / f"{name}.json")
    assert found["machine"]["cores"] >= 1
    assert {"python", "numpy", "scipy", "scikit-learn", "rankwise"} <= set(found["versions"])
    assert found["seconds"] >= 0
    assert "before" in found["load"]
    assert platform.node() not in json.dumps(found["machine"])


@pytest.mark.parametrize("name", runner.EXPERIMENTS)
def test_numbers_of_a_section_come_from_its_result(quick, name):
    found = record.load(quick / f"{name}.json")
    assert page.unexplained(page.section(name, found), record.concluded(name, found)) == []


def test_four_points_are_ordered_by_relevant_pairs_and_reversed_by_all(quick):
    found = record.load(quick / "irrelevant_pairs.json")["result"]
    assert found["relevant_pairs"]["error"] == 0
    assert found["all_pairs"]["error"] == 1


def test_generated_data_are_named(quick):
    assert record.load(quick / "ohsumed.json")["generated_data"] == ["letor2_ohsumed"]
    assert "generated data replaced letor2_ohsumed" in (quick / "reproduction.md").read_text()


def test_results_with_the_same_settings_are_kept(quick, monkeypatch):
    path = quick / "irrelevant_pairs.json"
    before = path.read_text()
    reproduce(quick, "irrelevant_pairs")
    assert path.read_text() == before
    reproduce(quick, "irrelevant_pairs", force=True)
    changed = json.loads(path.read_text())
    assert changed["result"] == json.loads(before)["result"]
    changed["settings"]["alpha"] = 0.5
    path.write_text(json.dumps(changed))
    reproduce(quick, "irrelevant_pairs")
    assert json.loads(path.read_text())["settings"]["alpha"] == 0.001


def test_missing_data_are_named_in_a_sentence(tmp_path):
    with pytest.raises(MissingDataError, match=r"RANKWISE_DATA names no folder with covtype/covtype.npz"):
        Data(tmp_path).covtype()


def test_command(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("RANKWISE_DATA", raising=False)
    monkeypatch.setattr(runner, "wait_for_idle_machine", lambda options: 0.0)
    assert main(["--quick", "--only", "irrelevant_pairs", "--output", str(tmp_path), "-q"]) == 0
    assert "Four rows on a line" in (tmp_path / "reproduction.md").read_text()
    assert main(["--only", "covtype", "--output", str(tmp_path), "-q"]) == 1
    assert "covtype: left out" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["--only", "everything"])
    assert ended.value.code == 2


def test_the_module_runs_from_the_repository(tmp_path):
    command = [
        sys.executable,
        "-m",
        "benchmarks.reproduce",
        "--page",
        "--quick",
        "--output",
        str(tmp_path),
        "-q",
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    assert (tmp_path / "reproduction.md").exists()


# The page in docs/


@pytest.mark.parametrize("name", ON_PAGE)
def test_committed_numbers_come_from_committed_results(name):
    found = record.concluded(name, COMMITTED[name])
    heading = f"## {found['title']}\n"
    whole = (ROOT / "docs" / "reproduction.md").read_text()
    part = whole[whole.index(heading) :]
    part = part[: part.index("</small>")]
    assert page.unexplained(part, found) == []
    changed, n_changed = re.subn(r"(?<![\d.,])\d\.\d{3}(?!\d)", "7.919", part, count=1)
    changed += "" if n_changed else " 7.919"
    assert page.unexplained(changed, found) == ["7.919"]


@pytest.mark.skipif(not COMMITTED, reason="There are no result files.")
def test_committed_page_is_what_the_results_give():
    records = {name: COMMITTED[name] for name in ON_PAGE}
    assert (ROOT / "docs" / "reproduction.md").read_text() == page.render(records)


@pytest.mark.skipif(not COMMITTED, reason="There are no result files.")
def test_every_table_and_figure_is_accounted_for():
    records = {name: record.concluded(name, COMMITTED[name]) for name in ON_PAGE}
    lines = inventory.section(records)
    assert page.unexplained(page.LABELS.sub(" ", "\n".join(lines)), records) == []
    told = {name for _, _, name, _, _ in inventory.entries() if name}
    assert told == set(runner.EXPERIMENTS)
    trec = next(line for line in lines if "TREC" in line)
    assert "data not available" in trec
    absent = inventory.section({name: found for name, found in records.items() if name != "cost"})
    assert sum("| not run | - |" in line for line in absent) == 2


def options(folder, **more):
    chosen = {"only": ["trec"], "quick": False, "force": False, "busy": False, "page": False, "quiet": False}
    return argparse.Namespace(**chosen | {"output": folder} | more)


def test_a_busy_machine_is_refused_until_it_is_idle(tmp_path):
    now, waited = [0.0], []

    def sleep(seconds):
        waited.append(seconds)
        now[0] += seconds

    loads = iter([1.9, 0.7, 0.4])
    clock = {"clock": lambda: now[0], "sleep": sleep}
    assert runner.wait_for_idle_machine(options(tmp_path), load=lambda: next(loads), **clock) == 0.4
    assert len(waited) == 2
    with pytest.raises(runner.BusyError, match=r"keep 0\.6 cores busy, more than 0\.5"):
        runner.wait_for_idle_machine(options(tmp_path), load=lambda: 0.6, **clock)
    assert runner.wait_for_idle_machine(options(tmp_path, busy=True), load=lambda: 3.0, **clock) == 3.0
    assert runner.wait_for_idle_machine(options(tmp_path), load=lambda: None, **clock) is None


def test_an_interrupted_run_resumes_and_prints_its_time(tmp_path, monkeypatch, capsys):
    loads = iter([0.1, 2.0, 0.2])
    monkeypatch.setattr(runner, "wait_for_idle_machine", lambda options: next(loads))
    assert runner.run(options(tmp_path)) == []
    assert "0 of 1 experiments are done" in capsys.readouterr().err
    assert runner.run(options(tmp_path)) == []  # kept: it had the machine to itself
    assert "1 of 1 experiments are done" in capsys.readouterr().err
    runner.run(options(tmp_path, force=True))  # shared, and so to be run again
    path = tmp_path / "trec.json"
    found = json.loads(path.read_text())
    assert found["load"]["before"] == 2.0
    found["seconds"] = 100.0
    path.write_text(json.dumps(found))
    capsys.readouterr()
    assert runner.is_done("trec", options(tmp_path, busy=True))
    assert runner.run(options(tmp_path)) == []
    assert "0 of 1 experiments are done" in (told := capsys.readouterr().err)
    assert "about 2 minutes left" in told
    assert json.loads(path.read_text())["load"]["before"] == 0.2


def test_an_experiment_that_fails_does_not_end_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "wait_for_idle_machine", lambda options: 0.0)
    monkeypatch.setattr(runner.experiment("trec"), "run", lambda *arguments: 1 / 0)
    both = options(tmp_path, only=["trec", "irrelevant_pairs"])
    assert runner.run(both) == ["trec"]
    assert "ZeroDivisionError" in capsys.readouterr().err
    assert (tmp_path / "irrelevant_pairs.json").exists()

    def refuse(options):
        raise runner.BusyError("Others are at work.")

    monkeypatch.setattr(runner, "wait_for_idle_machine", refuse)
    assert runner.run(options(tmp_path, only=["trec", "cost"])) == ["trec", "cost"]

    def interrupt(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "wait_for_idle_machine", interrupt)
    with pytest.raises(KeyboardInterrupt):
        runner.reproduce(options(tmp_path, only=["trec"]))
    assert "Four rows on a line" in (tmp_path / "reproduction.md").read_text()


def test_cores_in_use_are_counted():
    assert 0 <= record.current_load(0.05) < 10_000


def test_results_are_small():
    assert sum(path.stat().st_size for path in RESULTS.glob("*.json")) < 450_000


# The parts


@pytest.mark.parametrize("module", [text, page, runner, shared])
def test_doctests(module):
    tried = doctest.testmod(module)
    assert tried.attempted > 0
    assert tried.failed == 0


def test_row_potential_is_the_sum_over_pairs():
    generator = np.random.default_rng(0)
    scores, relevant, query = generator.normal(size=30), generator.random(30) < 0.4, np.arange(30) % 3
    expected, total = np.zeros(30), 0.0
    for i in range(30):
        for j in range(30):
            if relevant[i] and not relevant[j] and query[i] == query[j]:
                weight = np.exp(scores[j] - scores[i])
                expected[i] += weight
                expected[j] -= weight
                total += weight
    np.testing.assert_allclose(row_potential(scores, relevant, query), expected / total, atol=1e-12)


def test_rank_boost_lowers_its_loss_every_round():
    generator = np.random.default_rng(0)
    X = generator.random((200, 5))
    y, query = (X[:, 0] + 0.3 * generator.normal(size=200) > 0.6).astype(float), np.arange(200) % 4
    scores = RankBoost(n_rounds=15).fit(X, y, query).staged_scores(X)
    pairs = (y[:, None] > y) & (query[:, None] == query)
    losses = [np.exp(s[None, :] - s[:, None])[pairs].mean() for s in scores.T]
    assert losses[0] < 1
    assert np.all(np.diff(losses) < 0)


def test_regressors_agree_with_ridge():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(40, 6)), generator.normal(size=40)
    plain = Ridge(alpha=2.0, fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(ohsumed.ridge_path(X, y, [2.0])[0], plain)
    for intercept in (False, True):
        weights = reuters.Regressor(X @ X.T, intercept).fit(lambda t: t, np.arange(40), y, np.array([2.0]))[0]
        expected = Ridge(alpha=2.0, fit_intercept=intercept).fit(X, y).coef_
        np.testing.assert_allclose(X.T @ weights, expected, atol=1e-10)


def test_a_failed_isolated_run_reports_the_reason():
    assert isolated.run("time:sleep", {})["status"].startswith("failed: TypeError")
    assert isolated.run("no_such_module:f", {})["status"] == "not installed"


def test_isolated_run_ends_at_its_limits():
    endless, large = {"stmt": "while True: pass"}, {"stmt": "bytearray(20_000_000_000)"}
    assert isolated.run("timeit:timeit", endless, time_limit=1)["status"] == "time limit"
    assert isolated.run("timeit:timeit", endless, processor_limit=1)["status"] == "time limit"
    assert isolated.run("timeit:timeit", large, memory_limit=4e9)["status"] == "memory limit"


def test_weston_and_watkins_of_two_classes_is_the_support_vector_machine(monkeypatch):
    pytest.importorskip("clarabel")
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(20, 2)), np.arange(20) % 2
    X[:, 0] += y
    monkeypatch.setattr(ordinal, "C", 3.0)
    plain = SVC(C=3.0, kernel="linear", tol=1e-9).fit(X, y)
    coef, bias = ordinal.solve_weston_watkins(X, y)
    np.testing.assert_allclose((coef[1] - coef[0]) / 2, plain.coef_[0], atol=1e-5)
    assert (bias[1] - bias[0]) / 2 == pytest.approx(plain.intercept_[0], abs=1e-4)


@pytest.mark.parametrize("slack_per", ["row", "edge"])
def test_hulls_with_the_l1_norm_have_the_least_objective(slack_per):
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(12, 1)), np.arange(12) % 2
    X[:, 0] += y

    def objective(w):
        upper, lower = w * X[y == 1, 0], w * X[y == 0, 0]
        bounds = np.concatenate([upper, lower + 1])  # at one of them the sum of the slacks is least
        slacks = np.maximum(bounds[:, None] - upper, 0).sum(1) + np.maximum(
            1 + lower - bounds[:, None], 0
        ).sum(1)
        return slacks.min() / 12 + 0.05 * abs(w)

    found = hull_l1.hull_weights(X, y, "chain", slack_per, 0.05)[0]
    assert objective(found) == pytest.approx(min(map(objective, np.linspace(-2, 5, 7001))), abs=1e-3)
    assert found != 0
    assert hull_l1.hull_weights(X, y, "chain", slack_per, 10.0)[0] == 0
