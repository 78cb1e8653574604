"""`rankwise leaderboard --task` answers as `ScoreTable` does, and writes a page."""

import numpy as np
import pandas as pd
import pytest

from commands import assert_close, run
from html_page import Page
from rankwise import ScoreTable
from rankwise.cli.main import main
from rankwise.leaderboard.score_statistics import STATISTICS

COLUMNS = ("--model", "m", "--task", "t", "--value", "v")


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"m": f"m{k}", "t": f"t{t}", "i": i, "v": rng.normal() + k / 3}
        for k in range(5)
        for t in range(11)
        for i in range(3)
    ]
    frame = pd.DataFrame(rows)
    frame.loc[rng.random(len(frame)) < 0.05, "v"] = np.nan
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    return path


def table_of(file, **options):
    names = {"model": "m", "task": "t", "value": "v"}
    return ScoreTable(pd.read_csv(file), **names, **options)


@pytest.mark.parametrize("score", list(STATISTICS))
def test_the_command_answers_as_python_does(capsys, file, score):
    for over in ("tasks", "instances", "both"):
        found = run(
            capsys, "leaderboard", file, *COLUMNS, "--instance", "i", "--score", score, "--over", over
        )
        table = table_of(file, instance="i")
        assert_close(found["leaderboard"], [row._asdict() for row in table.leaderboard(score, over)])
        expected = [row._asdict() for row in table.differences("neighbors", score, over)]
        assert_close(found["neighbors"], expected)


def test_lower_can_be_better_in_all_or_some_tasks(capsys, file):
    for given, meant in ((["--lower-is-better"], True), (["--lower-is-better", "t1", "t2"], {"t1", "t2"})):
        found = run(capsys, "leaderboard", file, *COLUMNS, *given, "--scale", "range")
        expected = table_of(file, lower_is_better=meant, scale="range").leaderboard()
        assert [row["item"] for row in found["leaderboard"]] == [row.item for row in expected]


@pytest.mark.parametrize("instances", [(), ("--instance", "i", "--over", "instances")])
def test_the_page_has_the_table(capsys, file, tmp_path, instances):
    page = tmp_path / "board.html"
    found = run(capsys, "leaderboard", file, *COLUMNS, *instances, "--fragility", "-o", page, "--top", 2)
    assert len(found["leaderboard"]) == 2
    html = Page(page.read_text(encoding="utf-8"))
    names = [row[0][0] for row in html.tables["leaderboard"][1:]]
    assert names[:2] == [row["item"] for row in found["leaderboard"]]
    assert len(names) == 5
    assert {"differences", "answers", "agreement"} <= set(html.tables)
    assert len(html.tables["answers"][0]) == 9
    assert "anytime" in page.read_text(encoding="utf-8")


def test_a_page_of_models_that_share_no_instances_has_their_means_alone(file, tmp_path, capsys):
    frame = pd.read_csv(file)
    frame["i"] = np.arange(len(frame))
    frame.to_csv(file, index=False)
    page = tmp_path / "board.html"
    run(capsys, "leaderboard", file, *COLUMNS, "--instance", "i", "--over", "instances", "-o", page)
    assert len(Page(page.read_text(encoding="utf-8")).tables["answers"][0]) == 3


def test_a_model_of_one_task_has_open_ends(capsys, file):
    frame = pd.read_csv(file)
    frame = frame[(frame.m != "m4") | (frame.t == "t3")]
    frame.to_csv(file, index=False)
    found = run(capsys, "leaderboard", file, *COLUMNS)
    assert next(row for row in found["leaderboard"] if row["item"] == "m4")["first"] is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--task", "t", "--value", "v"), "--task needs --model"),
        (("--task", "t", "--model", "m"), "--task needs --value"),
        ((*COLUMNS, "--alpha", "1"), "cannot be combined with --alpha"),
        ((*COLUMNS, "--a", "m"), "cannot be combined with --a"),
        (("--value", "v"), "--value needs --task"),
        (("--over", "tasks", "--a", "m", "--b", "t"), "--over needs --task"),
        (("--score", "rank", "--a", "m", "--b", "t"), "--score needs --task"),
        ((*COLUMNS, "--over", "instances"), "column of instances"),
        (("--task", "t", "--model", "m", "--value", "x"), "no column 'x'"),
    ],
)
def test_what_does_not_fit_is_refused(capsys, file, given, message):
    assert main(["leaderboard", str(file), *given]) != 0
    assert message in capsys.readouterr().err


def test_words_are_no_values(capsys, file):
    file.write_text("m,t,v\na,1,NA\nb,1,2\n")
    assert main(["leaderboard", str(file), *COLUMNS]) != 0
    assert "column of numbers" in capsys.readouterr().err


@pytest.fixture
def metrics(file):
    frame = pd.read_csv(file)
    other = frame.assign(metric="loss", v=-2 * frame["v"] + frame["i"])
    pd.concat([frame.assign(metric="accuracy"), other[other.m != "m0"]]).to_csv(file, index=False)
    return file


def test_a_leaderboard_per_metric(capsys, metrics, tmp_path):
    page = tmp_path / "board.html"
    given = ("--by", "metric", "--lower-is-better", "loss", "--fragility", "-o", page)
    found = run(capsys, "leaderboard", metrics, *COLUMNS, *given)["by"]
    frame = pd.read_csv(metrics)
    for metric, is_lower in (("accuracy", False), ("loss", True)):
        part = ScoreTable(
            frame[frame.metric == metric], model="m", task="t", value="v", lower_is_better=is_lower
        )
        assert_close(found[metric]["leaderboard"], [row._asdict() for row in part.leaderboard()])
        assert_close(found[metric]["separation"], part.separation()._asdict())
        assert_close(found[metric]["fragility"], part.fragility()._asdict())
    tables = Page(page.read_text(encoding="utf-8")).tables
    assert {"metrics", "leaderboard", "leaderboard-1", "answers-1"} <= set(tables)
    assert tables["metrics"][0][1::2] == [["accuracy"], ["loss"]] or len(tables["metrics"][0]) == 5
    assert len(tables["metrics"]) == 6  # a model without one of the metrics is there
    assert main(["leaderboard", str(metrics), *COLUMNS, "--by", "metric"]) == 0
    assert "metric: loss" in capsys.readouterr().out


def test_lower_is_better_names_metrics(capsys, metrics):
    given = ("--by", "metric", "--lower-is-better", "t1")
    assert main(["leaderboard", str(metrics), *COLUMNS, *given]) != 0
    assert "takes metrics: 'accuracy', 'loss'; got 't1'" in capsys.readouterr().err


def test_weights_and_anytime_intervals(capsys, file, tmp_path):
    frame = pd.read_csv(file)
    frame["w"] = 1 + frame["i"]
    frame.to_csv(file, index=False)
    page = tmp_path / "board.html"
    given = ("--instance", "i", "--weight", "w", "--intervals", "anytime", "-o", page)
    found = run(capsys, "leaderboard", file, *COLUMNS, *given)
    table = table_of(file, instance="i", weight="w")
    assert_close(found["leaderboard"], [row._asdict() for row in table.leaderboard()])
    expected = table.differences(intervals="anytime")
    assert_close(found["neighbors"], [row._asdict() for row in expected])
    assert "all looks at once" in page.read_text(encoding="utf-8")
    for wrong in ((*COLUMNS, "--intervals", "posterior"), ("--a", "m", "--b", "t", "--intervals", "anytime")):
        assert main(["leaderboard", str(file), *wrong]) != 0
        assert "--intervals" in capsys.readouterr().err
